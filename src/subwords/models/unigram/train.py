"""Unigram training: word counts to a model. Python orchestrates, kernels loop."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, log
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.counts import WordCounts
from subwords.kernels import layout
from subwords.kernels.layout import (
    BestPath,
    ForwardBackward,
    LatticeWords,
    PiecePlaces,
    Pieces,
    SortStacks,
    Substrings,
    Suffixes,
    Words,
)
from subwords.models.learning import Step, check_words
from subwords.models.settings import PieceSettings, UnigramSettings
from subwords.models.unigram.model import BYTE_PIECES, GRAINS, Unigram
from subwords.spec import decoder
from subwords.spec.decoder import unescaped, writes_prefix
from subwords.spec.normalizer import Steps
from subwords.spec.splitter import NAMED, SPACE, Rule, kept_whole, space_rule, writes_spaces
from subwords.spec.tokenizer import TokenizerSpec
from subwords.spec.vocab import Vocab
from subwords.support.errors import TrainingError
from subwords.support.memory import zeros
from subwords.support.threads import in_threads, thread_count

# ---------------------------------------------------------------------------------------------------------------------
# Initial pieces of Unigram training: substrings of the words, found by a suffix array (U1).

Result = TypeVar("Result")

MOST_SYMBOLS = 2**31 - 1


@dataclass(frozen=True, eq=False)
class NumberedText:
    """Words as numbered characters: 1 and up, in order of code point; 0 ends a word.

    Word i begins at starts[i] and occurs weights[i] times; `alphabet` maps each number to its code point.
    """

    symbols: NDArray[np.int32]
    starts: NDArray[np.int64]
    weights: NDArray[np.int64]
    alphabet: NDArray[np.int64]

    @property
    def characters(self) -> int:
        """The number of characters in the corpus, repetitions of words included."""
        return int(((np.diff(self.starts) - 1) * self.weights).sum())

    @property
    def longest(self) -> int:
        """The length of the longest word in characters."""
        return int(np.diff(self.starts).max()) - 1


@dataclass(eq=False)
class SeedIndex:
    """Pieces in string order, and their positions in the text.

    links: for each piece, the next shorter piece at the same position, + 1, and its length. at: one position of each
    piece. longest: the longest piece that begins at each position.
    """

    text: NumberedText
    links: NDArray[np.int64]
    at: NDArray[np.int32]
    longest: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.links)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The length of each piece in characters."""
        return self.links & ((1 << layout.LENGTH_BITS) - 1)

    def symbols(self, piece: int) -> list[int]:
        """The character numbers of a piece."""
        start, length = int(self.at[piece]), int(self.links[piece]) & ((1 << layout.LENGTH_BITS) - 1)
        found: list[int] = self.text.symbols[start : start + length].tolist()
        return found

    def string(self, piece: int) -> str:
        """The piece as a string."""
        return "".join(map(chr, self.text.alphabet[self.symbols(piece)].tolist()))

    def find(self, string: str) -> int | None:
        """Return the number of a piece, or None."""
        piece = bisect_left(range(len(self)), string, key=self.string)
        return piece if piece < len(self) and self.string(piece) == string else None

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Drop all pieces that are not in `kept`."""
        from subwords.kernels.named import renumber

        numbers = np.empty(len(self), np.int32)
        used = renumber(kept.view(np.uint8), self.links, numbers)
        self.links = self.links[:used].copy()
        self.at = self.at[kept]
        np.take(numbers, self.longest, out=self.longest, mode="clip")


def number_text(counts: WordCounts, alphabet: NDArray[np.int64]) -> NumberedText:
    """Return the words as text; characters outside the alphabet and bytes that are not UTF-8 split them."""
    from subwords.kernels.named import fill_characters

    ids = np.zeros(layout.CODE_POINTS, np.int32)
    ids[alphabet] = np.arange(1, len(alphabet) + 1)
    room = len(counts.data) + len(counts) + 1
    if room > MOST_SYMBOLS:
        raise TrainingError(
            f"expected fewer than 2**31 bytes of distinct words, not {room}: train on less text, or set a splitter"
        )
    symbols, starts, weights = zeros(room, np.int32), zeros(room, np.int64), zeros(room, np.int64)
    sizes = np.zeros(layout.FILLED.width, np.int64)
    fill_characters(Words(counts.data, counts.offsets, counts.counts), ids, symbols, starts, weights, sizes)
    used, words = int(sizes[layout.FILLED.symbols]), int(sizes[layout.FILLED.words])
    codes = np.concatenate([np.zeros(1, np.int64), alphabet])
    return NumberedText(symbols[:used].copy(), starts[: words + 1].copy(), weights[:words].copy(), codes)


def find_seeds(
    text: NumberedText, seed_size: int, longest: int, least: int, reserved: Iterable[str], threads: int
) -> tuple[SeedIndex, NDArray[np.int64]]:
    """Choose the initial pieces with count x length: all characters, and the `seed_size` best substrings.

    Of substrings with the same positions the longest is taken, cut to `longest` characters. Strings in `reserved` are
    excluded.
    """
    from subwords.kernels.named import attach_suffixes

    order = _sorted_suffixes(text, longest, threads)
    substrings, shares = _substrings(text, order, longest, least)
    chosen = _best(substrings, shares, seed_size)
    lefts, rights, lengths = (array[chosen] for array in substrings)
    links, places = np.empty(len(lefts), np.int64), zeros(len(text.symbols), np.int32)
    attach_suffixes(order, lefts, rights, lengths, np.empty(longest + 2, np.int64), links, places)
    lattice = SeedIndex(text, links, order[lefts], places)
    shares, kept = shares[chosen], np.ones(len(lattice), np.bool_)
    for string in reserved:
        if len(string) > 1 and (piece := lattice.find(string)) is not None:
            kept[piece] = False
    if not kept.all():
        lattice.keep(kept)
    return lattice, shares[kept]


def on_ranges(run: Callable[[int, int], Result], bounds: Sequence[int]) -> list[Result]:
    """Run a function on each range between consecutive bounds, one thread per range."""
    return in_threads(lambda ends: run(*ends), pairwise(bounds), len(bounds) - 1)


def _sorted_suffixes(text: NumberedText, longest: int, threads: int) -> NDArray[np.int32]:
    """Sort the positions of the text by their suffixes, up to `longest` characters within the word."""
    from subwords.kernels.named import pack_suffixes, sort_suffixes

    bits, shift = len(text.alphabet).bit_length(), len(text.symbols).bit_length()
    known, length = (63 - shift) // bits, 63 // bits
    keys = np.empty(len(text.symbols) - len(text.weights), np.int64)
    pack_suffixes(text.symbols, bits, known, shift, keys)
    keys.sort()
    order = (keys & ((1 << shift) - 1)).astype(np.int32)
    keys >>= shift
    limits = np.zeros(layout.LIMIT.width, np.int64)
    limits[[layout.LIMIT.char_bits, layout.LIMIT.key_chars, layout.LIMIT.sort_chars, layout.LIMIT.known_chars]] = (
        bits,
        length,
        longest,
        known,
    )

    def run(first: int, last: int) -> None:
        stacks = SortStacks(
            np.empty(layout.RANGE_STACK, np.int64), np.empty(layout.FRAME.width * (longest // length + 2), np.int64)
        )
        sort_suffixes(text.symbols, first, last, limits, order, keys, stacks)

    # Bounds lie between suffixes with different first characters.
    bounds = [len(keys) * part // threads for part in range(1, threads)]
    every = [0, *(int(np.searchsorted(keys, keys[bound])) for bound in bounds), len(keys)]
    on_ranges(run, every)
    return order


def _substrings(
    text: NumberedText, order: NDArray[np.int32], longest: int, least: int
) -> tuple[Substrings, NDArray[np.int64]]:
    """Return the longest substrings per set of positions, and their count x length."""
    from subwords.kernels.named import find_substrings, sum_weights

    word_of = np.repeat(np.arange(len(text.weights), dtype=np.int32), np.diff(text.starts))
    sums = np.empty(len(order) + 1, np.int64)
    sum_weights(order, word_of, text.weights, sums)
    room = Substrings(*(zeros(3 * len(order) + 1, np.int32) for _ in range(3)))
    stack = np.zeros(2 * longest + 4, np.int64)
    suffixes = Suffixes(text.symbols, word_of, text.starts, order)
    number = find_substrings(suffixes, sums, longest, least, stack, room)
    found = Substrings(*(array[:number] for array in room))
    return found, (sums[found.rights] - sums[found.lefts]) * found.lengths


def _best(found: Substrings, shares: NDArray[np.int64], seed_size: int) -> NDArray[np.int64]:
    """Return the characters and the `seed_size` other substrings of largest share, in string order."""
    lefts, _, lengths = found
    many = np.flatnonzero(lengths > 1)
    if len(many) > seed_size:
        least = np.partition(shares[many], len(many) - seed_size)[len(many) - seed_size] if seed_size else 0
        above, tied = many[shares[many] > least], many[shares[many] == least]
        tied = tied[np.lexsort((lengths[tied], lefts[tied]))]
        many = np.concatenate([above, tied])[:seed_size]
    chosen = np.concatenate([np.flatnonzero(lengths == 1), many])
    return chosen[np.lexsort((lengths[chosen], lefts[chosen]))]


# ---------------------------------------------------------------------------------------------------------------------
# Expectation maximisation over the words' lattices, and the losses of pieces (U2).

LN2 = 0.6931471805599453
SQRT2 = 1.4142135623730951


def unit_bits(lattice: SeedIndex) -> int:
    """Return the number of fractional bits of expected counts, chosen so that sums stay below 2**62."""
    return min(32, 62 - lattice.text.characters.bit_length())


def expected_counts(lattice: SeedIndex, probabilities: NDArray[np.float64], threads: int) -> NDArray[np.int64]:
    """Return the expected count of each piece over all segmentations, weighted by probability (E-step).

    In units of 2**-unit_bits: integer sums do not depend on threads or on the order of words (U3).
    """
    from subwords.kernels.named import expect

    words = LatticeWords(lattice.text.starts, lattice.text.weights, lattice.longest)
    pieces = Pieces(lattice.links, probabilities)
    longest, room = int(lattice.lengths.max()), lattice.text.longest + 1
    bits = unit_bits(lattice)

    def run(first: int, last: int) -> NDArray[np.int64]:
        expected = np.zeros(len(lattice), np.int64)
        scratch = ForwardBackward(np.empty(room), np.empty(room), np.empty(room, np.uint8))
        expect(words, pieces, first, last, bits, longest, scratch, expected)
        return expected

    return _summed(on_ranges(run, _word_bounds(lattice, threads)))


def estimated(
    expected: NDArray[np.int64], lengths: NDArray[np.int64], bits: int, least: int
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return which pieces are kept and their probabilities, from expected counts (M-step).

    A probability is e**digamma(count) / e**digamma(total), which favours few pieces. Pieces with an expected count
    below 0.5 are dropped, except characters and the best others needed to keep `least`.
    """
    half = 1 << bits >> 1
    kept = (expected >= half) | (lengths == 1)
    if missing := max(0, least - int(np.count_nonzero(kept))):
        rare = np.flatnonzero(~kept)
        kept[rare[np.argsort(-expected[rare], kind="stable")[:missing]]] = True
    numbers = np.maximum(expected[kept], half)
    values = _exp_digamma(np.append(numbers, numbers.sum()).astype(np.float64) / 2.0**bits)
    return kept, values[:-1] / values[-1]


def pruned(lattice: SeedIndex, scores: NDArray[np.float64], most: int, least: int, threads: int) -> NDArray[np.bool_]:
    """Choose at most `most` and at least `least` pieces: characters first, then useful pieces by loss.

    The loss of a piece is the drop in corpus likelihood if every occurrence in a best segmentation is replaced by its
    second-best segmentation. A piece is useless if it does not occur there, or has a better segmentation itself.
    """
    losses, _ = losses_of(lattice, scores, threads)
    kept: NDArray[np.bool_] = losses == layout.ALWAYS
    useful = np.flatnonzero((losses != layout.ALWAYS) & (losses != layout.NEVER))
    best = np.argsort(-losses[useful], kind="stable")[: most - int(np.count_nonzero(kept))]
    kept[useful[best]] = True
    if missing := max(0, least - int(np.count_nonzero(kept))):
        useless = np.flatnonzero(losses == layout.NEVER)
        kept[useless[np.argsort(-scores[useless], kind="stable")[:missing]]] = True
    return kept


def losses_of(
    lattice: SeedIndex, scores: NDArray[np.float64], threads: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the loss of each piece, or ALWAYS or NEVER, and how often the best segmentations use it."""
    from subwords.kernels.named import count_best, lose

    words = LatticeWords(lattice.text.starts, lattice.text.weights, lattice.longest)
    pieces, places = Pieces(lattice.links, scores), PiecePlaces(lattice.at, lattice.longest)
    room = max(lattice.text.longest, int(lattice.lengths.max())) + 1

    def count(first: int, last: int) -> NDArray[np.int64]:
        counts = np.zeros(len(lattice), np.int64)
        count_best(words, pieces, first, last, BestPath(np.empty(room), np.empty(room, np.int32)), counts)
        return counts

    counts = _summed(on_ranges(count, _word_bounds(lattice, threads)))
    losses, total = np.empty(len(lattice)), int(counts.sum())

    def write(first: int, last: int) -> None:
        scratch = BestPath(np.empty(room), np.empty(room, np.int32))
        lose(places, pieces, counts, first, last, total, scratch, losses)

    on_ranges(write, [len(lattice) * part // threads for part in range(threads + 1)])
    return losses, counts


def raise_scores(lattice: SeedIndex, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the scores, but at least the greatest sum that other pieces give for the text of a piece.

    Shorter pieces are raised first: their scores are in the sums of longer ones. At a tie the one with the longest last
    piece is taken (U5), which is the piece itself.
    """
    from subwords.kernels.named import raise_to_others

    values, lengths = scores.copy(), lattice.lengths
    room = int(lengths.max()) + 1
    scratch = BestPath(np.empty(room), np.empty(room, np.int32))
    order = np.argsort(lengths, kind="stable")
    raise_to_others(PiecePlaces(lattice.at, lattice.longest), Pieces(lattice.links, values), order, scratch)
    return values


def _word_bounds(lattice: SeedIndex, threads: int) -> list[int]:
    """Return bounds of ranges of words with about the same number of characters."""
    starts = lattice.text.starts
    inner: list[int] = np.searchsorted(starts, [starts[-1] * part // threads for part in range(1, threads)]).tolist()
    return [0, *inner, len(starts) - 1]


def _summed(arrays: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    first, *rest = arrays
    for other in rest:
        first += other
    return first


# ------------------------------------------------------------------ arithmetic with the same bits on every machine


def logarithms(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return natural logarithms, bit for bit as reference.unigram.ln."""
    y, exponents = np.frexp(x)
    low = 2.0 * y <= SQRT2
    y, exponents = np.where(low, 2.0 * y, y), exponents - low
    s = (y - 1.0) / (y + 1.0)
    z = s * s
    p: Any = 0.0
    for divisor in range(21, 2, -2):
        p = (p + 1 / divisor) * z
    logs: NDArray[np.float64] = exponents * LN2 + 2.0 * s * (p + 1.0)
    return logs


def _exp_digamma(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return e**digamma(x), bit for bit as reference.unigram.exp_digamma."""
    small = x < 8.0
    y = np.where(small, x + 8.0, x) - 0.5
    z = 1.0 / (y * y)
    values: NDArray[np.float64] = y + ((10313 / 2903040 * z - 37 / 5760) * z + 1 / 24) / y
    s = np.zeros(int(np.count_nonzero(small)))
    for k in range(8):
        s += 1.0 / (x[small] + k)
    r, power = s / 64.0, np.ones(len(s))
    for k in range(8, 0, -1):
        power = power * r / k + 1.0
    for _ in range(6):
        power *= power
    values[small] /= power
    return values


# Called at each round with: its step, the pieces, their scores, and which of them are kept.
Round: TypeAlias = "Callable[[str, SeedIndex, NDArray[np.float64], NDArray[np.bool_] | None], object]"

MOST_CHARACTERS = 2**53  # limit on the total count, so that scores of initial pieces are exact


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
    >>> from subwords.models.settings import UnigramSettings
    >>> from subwords.models.unigram.train import train_unigram
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
    text = number_text(counts, kept)
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
    return _trained_model(lattice, scores, alphabet, settings)


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


def _unwatched(why: str, lattice: SeedIndex, scores: NDArray[np.float64], kept: NDArray[np.bool_] | None) -> None:
    pass


def _learn(
    lattice: SeedIndex,
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
    sums = raise_scores(lattice, rounded)
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
    lattice: SeedIndex, probabilities: NDArray[np.float64], size: int, settings: UnigramSettings, threads: int
) -> NDArray[np.float64]:
    for _ in range(settings.sub_iterations):
        expected = expected_counts(lattice, probabilities, threads)
        kept, probabilities = estimated(expected, lattice.lengths, unit_bits(lattice), size)
        if not kept.all():
            lattice.keep(kept)
    return probabilities


def _trained_model(
    lattice: SeedIndex, scores: NDArray[np.float64], alphabet: list[int], settings: UnigramSettings
) -> Unigram:
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


def assemble_unigram(model: Unigram, settings: PieceSettings, rule: Rule, steps: Steps) -> TokenizerSpec:
    """Return the spec of a trained model: with a decoder, and a splitter that leaves user-defined pieces whole.

    The default splitter makes cuts that no learned piece crosses. So cutting only before spaces gives the same ids,
    and these are SentencePiece's ids, because SentencePiece makes no other cuts.
    """
    if writes_spaces(rule, steps) and not writes_prefix(rule, steps):
        made: decoder.Decoder | None = unescaped(rule, steps, _joining(model))
    else:
        made = _decoder(model, tuple(settings.special_tokens), writes_spaces(rule, steps))
    words, steps = kept_whole(settings.users, rule, steps)
    if rule == NAMED["sentencepiece"]:
        tokens = [token for i, token in enumerate(model.vocab) if i not in model.special_ids]
        known = SPACE.encode() in tokens or model.byte_fallback
        words = space_rule(tokens, unk_space=not known)
    return TokenizerSpec.trained(model, settings.special_tokens, splitter=words, normalizer=steps, decoder=made)


def untrained_unigram(settings: PieceSettings) -> Unigram:
    """Return a model of the reserved tokens and one character."""
    reserved, specials = settings.reserved, settings.specials
    tokens = [token.encode() for token in dict.fromkeys([*reserved, "▁", "▁a", "a"])]
    first_user = len(reserved) - len(settings.users)
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
