"""Unigram training: word counts to a model. Python orchestrates, kernels loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, log
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords.components import decoder
from subwords.components.normalizer import Steps
from subwords.components.space_rule import SPACE, kept_whole, space_rule
from subwords.components.splitter import NAMED, Rule
from subwords.components.unescaped import unescaped, writes_prefix, writes_spaces
from subwords.components.vocab import Vocab
from subwords.corpus.counts import MOST, WordCounts
from subwords.errors import InputError, TrainingError
from subwords.kernels import layout
from subwords.learning.limits import Step, check_words
from subwords.spec import TokenizerSpec
from subwords.support.checks import check_flag, check_integer, check_string, check_strings, check_token
from subwords.support.options import option
from subwords.support.threads import thread_count
from subwords.unigram.em import estimated, expected_counts, logarithms, pruned, raised, unit_bits
from subwords.unigram.model import BYTE_PIECES, GRAINS, Unigram
from subwords.unigram.seeds import Lattice, find_seeds, text_of

__all__ = ["Round", "UnigramSettings", "assemble_unigram", "learned_from", "train_unigram", "untrained_unigram"]

# Called at each round with: its step, the pieces, their scores, and which of them are kept.
Round: TypeAlias = "Callable[[str, Lattice, NDArray[np.float64], NDArray[np.bool_] | None], object]"

MOST_LENGTH = 512
MOST_CHARACTERS = 2**53  # limit on the total count, so that scores of initial pieces are exact


@dataclass(frozen=True, kw_only=True)
class UnigramSettings:
    """The settings of `train_unigram`; see there and `subwords.train`."""

    vocab_size: int
    special_tokens: Sequence[str] = ()
    unk_token: str | None = option("<unk>", "As for bpe.")
    user_defined: Sequence[str] = option((), "A piece that is always kept whole. May be repeated.", metavar="PIECE")
    byte_fallback: bool = option(False, "As for bpe.")
    seed_size: int = option(1_000_000, "Number of initial pieces.", least=0)
    shrinking_factor: float = option(0.75, "Share of pieces kept in each round of pruning.", least=0.01, most=0.99)
    sub_iterations: int = option(2, "EM steps per round.", least=1, most=100)
    max_piece_length: int = option(16, "In characters.", least=1, most=MOST_LENGTH)
    min_frequency: int = option(2, "As for bpe.")
    character_coverage: float = option(1.0, "Share of the text whose characters become tokens.", least=0.01, most=1.0)
    required_chars: str = option("", "Characters that always become tokens.", metavar="TEXT")

    def __post_init__(self) -> None:
        for name, least, most in (
            ("vocab_size", 1, layout.MOST_PIECES),
            ("seed_size", 0, MOST),
            ("sub_iterations", 1, 100),
            ("max_piece_length", 1, MOST_LENGTH),
            ("min_frequency", 1, MOST),
        ):
            check_integer(name, getattr(self, name), least, most)
        for name, low, high in (("shrinking_factor", 0.01, 0.99), ("character_coverage", 0.01, 1.0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
                raise InputError(f"expected {name} to be a number from {low} to {high}, not {value!r:.60}")
        for name in ("special_tokens", "user_defined"):
            object.__setattr__(self, name, check_strings(name, getattr(self, name)))  # a tuple, even from an iterator
        check_flag("byte_fallback", self.byte_fallback)
        check_string("required_chars", self.required_chars)
        if self.unk_token is not None:
            check_token("unk_token", self.unk_token)
        if twice := [token for token, times in Counter(self.reserved).items() if times > 1]:
            raise InputError(f"expected special, byte and user-defined tokens to differ; {twice[0]!r} is given twice")

    @property
    def specials(self) -> list[str]:
        """The special tokens; unk_token is added first if it is missing."""
        if self.unk_token is None or self.unk_token in self.special_tokens:
            return [*self.special_tokens]
        return [self.unk_token, *self.special_tokens]

    @property
    def cut_out(self) -> tuple[str, ...]:
        """The texts that are removed from the corpus before it is counted."""
        return tuple(self.special_tokens)

    @property
    def reserved(self) -> list[str]:
        """The tokens that are not learned, in order of id."""
        pieces = [piece.decode() for piece in BYTE_PIECES] if self.byte_fallback else []
        return [*self.specials, *pieces, *self.user_defined]


def train_unigram(
    counts: WordCounts,
    settings: UnigramSettings,
    *,
    threads: int | None = None,
    on_step: Step | None = None,
    on_round: Round | None = None,
) -> Unigram:
    """Learn a model from word counts (U1-U3); TrainingError if settings and counts do not fit together.

    The initial pieces are all characters and the `seed_size` substrings with the greatest count x length, of at most
    `max_piece_length` characters and at least `min_frequency` occurrences. Each round runs `sub_iterations` steps of
    expectation maximisation, which drops pieces of low expected count, and then prunes the pieces of smallest loss down
    to the share `shrinking_factor`. The rounds end when 10 % too many pieces are left. The lowest scores are then cut
    off, and the rest is estimated once more. A piece whose text other pieces give with a greater sum then gets that
    sum, so that each piece is in use. The result has exactly `vocab_size` ids.

    Ids: special tokens (with `unk_token`, unless None), 256 byte pieces for `byte_fallback`, user-defined pieces, and
    learned pieces, best first. Scores: natural logarithms of probabilities in multiples of 1/128; 0 for pieces that are
    not learned. character_coverage: keep the most frequent characters that cover this share of the text, and
    `required_chars`; any other character, and bytes that are not UTF-8, split the word. Equal counts give equal bits
    for any number of threads and any order. `on_step(phase, done, expected)` reports progress. `on_round(why, lattice,
    scores, kept)` is called before pieces are removed, and at the end.

    >>> import subwords
    >>> from subwords.unigram.train import UnigramSettings, train_unigram
    >>> counts = subwords.count(["hug pug pun bun hugs " * 9], splitter="bert")
    >>> list(train_unigram(counts, UnigramSettings(vocab_size=12)).vocab)
    [b'<unk>', b'hug', b's', b'bun', b'pug', b'pun', b'b', b'g', b'h', b'n', b'p', b'u']
    """
    counts = learned_from(counts, settings)
    check_words(counts)
    _check_total(counts)
    step = on_step or (lambda phase, done, total: None)
    step("seeds", 0, 1)
    alphabet, kept = _alphabet(counts, settings)
    reserved = {*settings.reserved}
    # Reserved characters, and characters that the text lacks, are not learned.
    needed = len(reserved.union(map(chr, alphabet)))
    if needed > settings.vocab_size:
        raise TrainingError(
            f"vocab_size {settings.vocab_size} is too small: the text has {len(alphabet)} characters, and there are "
            f"{len(reserved)} special, byte and user-defined tokens, {needed} in all. Raise vocab_size, or lower "
            f"character_coverage"
        )
    size = settings.vocab_size - needed + len(kept)
    text = text_of(counts, kept)
    if not len(text.weights):
        raise TrainingError("no words to learn from: no character of the corpus is left")
    threads = thread_count(threads)
    lattice, shares = find_seeds(
        text, settings.seed_size, settings.max_piece_length, settings.min_frequency, settings.reserved, threads
    )
    if size > len(lattice):
        raise TrainingError(
            f"vocab_size {settings.vocab_size} is too large: these counts and settings give at most "
            f"{settings.vocab_size - size + len(lattice)} tokens. Lower vocab_size or min_frequency, "
            f"or train on more text"
        )
    step("seeds", 1, 1)
    scores = _learn(lattice, shares, size, settings, threads, step, on_round or _unwatched)
    return _model(lattice, scores, alphabet, settings)


def learned_from(counts: WordCounts, settings: UnigramSettings) -> WordCounts:
    """Return the counts without the words that are user-defined pieces: nothing is learned from these."""
    sizes, kept = np.diff(counts.offsets), np.ones(len(counts), np.bool_)
    for piece in settings.user_defined:
        symbols = np.frombuffer(piece.encode(), np.uint8)
        same = np.flatnonzero(sizes == len(symbols))
        equal = counts.data[counts.offsets[same][:, None] + np.arange(len(symbols))] == symbols
        kept[same[equal.all(axis=1)]] = False
    return counts if kept.all() else counts.chosen(kept)


def _check_total(counts: WordCounts) -> None:
    total = float(np.dot(np.diff(counts.offsets).astype(np.float64), counts.counts.astype(np.float64)))
    if total >= MOST_CHARACTERS:
        raise TrainingError(f"expected fewer than 2**53 bytes in all words together, not {total:.3g}")


def _alphabet(counts: WordCounts, settings: UnigramSettings) -> tuple[list[int], NDArray[np.int64]]:
    """Return the code points required in the vocabulary, and those of them that occur in the text."""
    from subwords.kernels.named import symbol_weights

    weights = np.zeros(layout.CODE_POINTS, np.uint64)
    symbol_weights(counts.data, counts.offsets, counts.counts, 1, weights)
    required = np.array(sorted({*map(ord, settings.required_chars)}), np.int64)
    used = np.flatnonzero(weights)
    order = used[np.argsort(-weights[used].astype(np.int64), kind="stable")]
    order = np.concatenate([required, order[~np.isin(order, required)]])
    before = np.cumsum(weights[order]) - weights[order]
    covered = before < settings.character_coverage * float(weights.sum())
    covered[: len(required)] = True
    alphabet = np.sort(order[covered])
    return alphabet.tolist(), alphabet[weights[alphabet] > 0]


def _unwatched(why: str, lattice: Lattice, scores: NDArray[np.float64], kept: NDArray[np.bool_] | None) -> None:
    pass


def _learn(
    lattice: Lattice,
    shares: NDArray[np.int64],
    size: int,
    settings: UnigramSettings,
    threads: int,
    step: Step,
    note: Round,
) -> NDArray[np.float64]:
    """Estimate and prune until `size` pieces are left in the lattice; return their scores."""
    most = size + size // 10
    rounds = 1 + max(0, ceil(log(len(lattice) / most) / -log(settings.shrinking_factor)))
    probabilities = shares.astype(np.float64) / float(shares.sum())
    done = 0
    while True:
        probabilities = _maximise(lattice, probabilities, size, settings, threads)
        done += 1
        if len(lattice) <= most:
            step("pruning", done, done)
            break
        step("pruning", done, max(done + 1, rounds))
        room = max(most, int(settings.shrinking_factor * len(lattice)))
        scores = logarithms(probabilities)
        kept = pruned(lattice, scores, room, size, threads)
        note("remove the pieces of the smallest loss", lattice, scores, kept)
        lattice.keep(kept)
        probabilities = probabilities[kept]
    scores = logarithms(probabilities)
    order = np.lexsort((-scores, lattice.lengths > 1))
    kept = np.zeros(len(lattice), np.bool_)
    kept[order[:size]] = True
    note("remove the pieces of the lowest scores", lattice, scores, kept)
    lattice.keep(kept)
    step("estimating", 0, 1)
    probabilities = _maximise(lattice, probabilities[kept], size, settings, threads)
    scores = logarithms(probabilities)
    note("the pieces that are left, estimated once more", lattice, scores, None)
    rounded = _rounded(scores)
    sums = raised(lattice, rounded)
    step("estimating", 1, 1)
    if (low := sums > rounded).any():
        scores = np.where(low, sums, scores)
        note("pieces that others spelled with a greater sum get that sum", lattice, scores, None)
    return scores


def _rounded(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    # Multiples of 1/128 sum exactly in 32-bit floats: SentencePiece, HF and this package give the same ids.
    rounded: NDArray[np.float64] = np.round(scores * GRAINS) / GRAINS
    return rounded


def _maximise(
    lattice: Lattice, probabilities: NDArray[np.float64], size: int, settings: UnigramSettings, threads: int
) -> NDArray[np.float64]:
    for _ in range(settings.sub_iterations):
        expected = expected_counts(lattice, probabilities, threads)
        kept, probabilities = estimated(expected, lattice.lengths, unit_bits(lattice), size)
        if not kept.all():
            lattice.keep(kept)
    return probabilities


def _model(lattice: Lattice, scores: NDArray[np.float64], alphabet: list[int], settings: UnigramSettings) -> Unigram:
    reserved = settings.reserved
    learned = dict.fromkeys(map(chr, alphabet), float(scores.min()))
    learned |= dict(zip(map(lattice.string, range(len(lattice))), scores.tolist(), strict=True))
    for token in reserved:
        learned.pop(token, None)
    order = sorted(learned, key=lambda piece: (-learned[piece], piece))
    specials = len(settings.specials)
    unseen = specials + len(BYTE_PIECES) * settings.byte_fallback
    return Unigram(
        Vocab([token.encode() for token in (*reserved, *order)]),
        _rounded(np.array([0.0] * len(reserved) + [learned[piece] for piece in order])),
        unk_id=None if settings.unk_token is None else settings.specials.index(settings.unk_token),
        byte_fallback=settings.byte_fallback,
        special_ids=frozenset(range(unseen)),
        user_ids=frozenset(range(unseen, len(reserved))),
    )


def assemble_unigram(model: Unigram, settings: UnigramSettings, rule: Rule, steps: Steps) -> TokenizerSpec:
    """Return the spec of a trained model: with a decoder, and a splitter that leaves user-defined pieces whole.

    The default splitter makes cuts that no learned piece crosses. So cutting only before spaces gives the same ids,
    and these are SentencePiece's ids, because SentencePiece makes no other cuts.
    """
    if writes_spaces(rule, steps) and not writes_prefix(rule, steps):
        made: decoder.Decoder | None = unescaped(rule, steps, _joining(model))
    else:
        made = _decoder(model, tuple(settings.special_tokens), writes_spaces(rule, steps))
    words, steps = kept_whole(settings.user_defined, rule, steps)
    if rule == NAMED["sentencepiece"]:
        tokens = [token for i, token in enumerate(model.vocab) if i not in model.special_ids]
        known = SPACE.encode() in tokens or model.byte_fallback
        words = space_rule(tokens, unk_space=not known)
    return TokenizerSpec.trained(model, settings.special_tokens, words, steps, made)


def untrained_unigram(settings: UnigramSettings) -> Unigram:
    """Return a model of the reserved tokens and one character."""
    reserved, specials = settings.reserved, settings.specials
    tokens = [token.encode() for token in dict.fromkeys([*reserved, "▁", "▁a", "a"])]
    first_user = len(reserved) - len(settings.user_defined)
    return Unigram(
        Vocab(tokens),
        np.zeros(len(tokens)),
        unk_id=None if settings.unk_token is None else specials.index(settings.unk_token),
        byte_fallback=settings.byte_fallback,
        special_ids=frozenset(range(first_user)),
        user_ids=frozenset(range(first_user, len(reserved))),
    )


def _decoder(model: Unigram, special_tokens: tuple[str, ...], writes_spaces: bool) -> decoder.Decoder | None:
    if not writes_spaces:
        return decoder.DecoderSequence(_joining(model)) if model.byte_fallback else None
    unknown = {special_tokens[model.unk_id]} if model.unk_id is not None else set()
    control = frozenset(special_tokens) - unknown
    return decoder.SentencePieceDecoder(frozenset(unknown), control, byte_fallback=model.byte_fallback)


def _joining(model: Unigram) -> tuple[decoder.DecoderStep, ...]:
    return (decoder.ByteFallback(), decoder.Fuse()) if model.byte_fallback else (decoder.Fuse(),)
