"""Extend: more tokens for a tokenizer, learned from a corpus; all ids keep their tokens."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords import TokenBatch, Tokenizer, WordCounts
from subwords import splitter as make_splitter
from subwords.adapt.pruning import letters_of
from subwords.adapt.words import apart_ids, symbol_words_of_ids, threshold_of
from subwords.machine import (
    APART,
    BPE,
    GRAINS,
    MOST_COUNTED,
    NO_MERGES,
    TIES,
    CountLoop,
    MergeRules,
    Model,
    Provenance,
    SplitBuffers,
    SplitterEngine,
    Step,
    TokenizerLike,
    Unigram,
    Vocab,
    WordPiece,
    batch_of,
    character_rules,
    check_memory,
    counts_of,
    family_of,
    logarithms,
    merge_symbols,
    property_members,
    rules_like,
    tokenizer_of,
    word_ids,
)
from subwords.machine import progress as progress_line
from subwords.support.checks import bytes_of, check_choice, check_flag, check_integer, check_strings
from subwords.support.errors import InputError, SubwordsWarning, TrainingError
from subwords.support.threads import thread_count

if TYPE_CHECKING:
    from subwords import Reading
    from subwords.machine import Source, SplitterLike


# ---------------------------------------------------------------------------------------------------------------------
# Whole words only: which ids of a coarse word are words of a finer rule (B12).

JOINING = " _'\u2019"  # allowed in a word besides letters and marks


def whole_words_only(ids: TokenBatch, model: BPE, counts: WordCounts, inner: SplitterEngine) -> TokenBatch:
    """Return the ids of coarse words; the id after the last token replaces each one that is not a word of `inner`.

    A word has at least one letter, and only letters, marks, spaces, underscores and apostrophes. InputError for a model
    that does not spell each byte, and for a rule that drops text.
    """
    if not (model.byte_level and model.knows_all) or model.prefix or model.suffix or not inner.keeps_text:
        raise InputError("whole_words needs a byte-level model with all bytes, and a splitter that keeps all text")
    borders = _borders(counts, inner)
    sizes = np.diff(model.vocab.offsets)[ids.ids]
    ends = np.cumsum(sizes)
    kept = borders[ends - sizes] & borders[ends] & _are_words(model)[ids.ids]
    return batch_of(np.where(kept, ids.ids, len(model.vocab)).astype(ids.ids.dtype), ids.offsets)


def _borders(counts: WordCounts, inner: SplitterEngine) -> NDArray[np.bool_]:
    """Return where the words of the finer rule begin and end, for each byte of the coarse words."""
    found, at = np.zeros(len(counts.data) + 1, np.bool_), 0
    found[0] = True
    for chunk in inner.texts(np.ascontiguousarray(counts.data), counts.offsets, SplitBuffers()):
        ends = chunk.ends[: int(chunk.text_ends[-1])].astype(np.int64)
        found[at + ends] = True
        at += int(ends[-1]) if len(ends) else 0
    assert at == len(counts.data)
    return found


def _are_words(model: BPE) -> NDArray[np.bool_]:
    """Return which tokens are words: at least a letter, and nothing but letters, marks and what joins them."""
    letters, allowed = property_members("L"), property_members("L") | property_members("M")
    found = np.zeros(len(model.vocab), np.bool_)
    for index, token in enumerate(model.vocab):
        try:
            text = token.decode()
        except UnicodeDecodeError:
            continue
        codes = [ord(character) for character in text if character not in JOINING]
        found[index] = bool(codes) and all(allowed[code] for code in codes) and any(letters[code] for code in codes)
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Rules of merging: how many words a token may span, and several rules at once.

MOST_CLASSES = 14  # so that all pairs of classes of two rules fit into a byte


def word_rules(tokens: Sequence[bytes], space: bytes, most: int) -> MergeRules:
    """Return rules by which a token begins at most `most` words, each with a space; longer tokens merge with none."""
    vocab, most = Vocab.of(tokens), min(most, MOST_CLASSES - 2)
    counts = np.minimum(_times(vocab, space), most + 1).astype(np.uint8)
    kinds = np.arange(most + 2)
    sums = kinds[:, None] + kinds
    joined = np.where((sums <= most) & (kinds[:, None] <= most) & (kinds <= most), sums, APART).astype(np.uint8)
    lengths = np.diff(vocab.offsets).astype(np.int32)
    return MergeRules(lengths, counts, joined.ravel(), np.zeros(0, np.int32))


def _times(vocab: Vocab, space: bytes) -> NDArray[np.int64]:
    """Return how often each token holds a space."""
    begins = np.ones(int(vocab.offsets[-1]), np.bool_)
    for k, byte in enumerate(space):
        begins &= vocab.data[k : k + len(begins)] == byte
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(begins)])
    starts, ends = vocab.offsets[:-1], vocab.offsets[1:] - (len(space) - 1)  # a space that begins later is cut
    found: NDArray[np.int64] = before[np.maximum(starts, ends)] - before[starts]
    return found


def joint(first: MergeRules, second: MergeRules) -> MergeRules:
    """Return rules that allow what both allow; lengths and taken ids are those of the first."""
    a, b = (round(len(rules.joined) ** 0.5) for rules in (first, second))
    pairs = first.joined.reshape(a, 1, a, 1).astype(np.int64), second.joined.reshape(1, b, 1, b).astype(np.int64)
    joined = np.where((pairs[0] == APART) | (pairs[1] == APART), APART, pairs[0] * b + pairs[1])
    return MergeRules(
        first.lengths, first.classes * np.uint8(b) + second.classes, joined.astype(np.uint8).ravel(), first.taken
    )


# ---------------------------------------------------------------------------------------------------------------------
# Extend a BPE model: resume training where it stopped (B9).

SPACES = {True: b" ", False: "\u2581".encode()}  # by byte_level: what a word begins with


@dataclass(frozen=True, kw_only=True)
class Extension:
    """The settings of `extend`; those that are None do not apply. inner: join only whole words of this rule."""

    count: int
    min_frequency: int = 0
    tie_break: Literal["ids", "first", "bytes"] = "ids"
    max_token_length: int | None = None
    whole_characters: bool = False
    max_words: int | None = None
    inner: SplitterEngine | None = None

    def __post_init__(self) -> None:
        check_integer("count", self.count, 1, MOST_COUNTED)
        check_integer("min_frequency", self.min_frequency, 0, MOST_COUNTED)
        check_choice("tie_break", self.tie_break, TIES)
        check_flag("whole_characters", self.whole_characters)
        for name in ("max_token_length", "max_words"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), 1, MOST_COUNTED)


class NewTokens(NamedTuple):
    """What a model gets: tokens with the next ids; merges (left id, right id, id) of BPE, scores of Unigram."""

    tokens: list[bytes]
    merges: NDArray[np.int64] = NO_MERGES
    scores: Sequence[float] = ()


@dataclass(frozen=True)
class MergeLimits:
    """The limits of the loop of merges."""

    vocab_size: int
    tie_break: str
    min_frequency: int = 0
    max_token_length: int | None = None
    reserved: tuple[str, ...] = ()


def extend_bpe(
    model: BPE, counts: WordCounts, settings: Extension, *, threads: int | None = None, on_step: Step | None = None
) -> NewTokens:
    """Return the tokens and the merges that a model gets; InputError if it cannot get any."""
    _check_extendable(model, settings)
    ids = word_ids(model, counts, threads)
    if settings.inner is not None:
        ids = whole_words_only(ids, model, counts, settings.inner)
    size, in_order = len(model.vocab), settings.tie_break == "first"
    threshold = threshold_of(ids, counts.counts, settings.count)
    words = symbol_words_of_ids(ids, counts.counts, apart_ids(model), in_order=in_order)
    del ids  # the index takes as much memory
    limits = MergeLimits(size + settings.count, settings.tie_break, settings.min_frequency, settings.max_token_length)
    vocab, merges = merge_symbols(
        words,
        threshold,
        model.vocab,
        limits,
        on_step,
        prefix=len(model.prefix),
        rules=_rules(model, settings),
        threads=thread_count(threads),
    )
    return NewTokens(list(vocab.after(size)), merges)


def _check_extendable(model: BPE, settings: Extension) -> None:
    if model.words_only or model.parts or model.unused_ids:
        raise InputError(
            "expected a BPE model that only merges: this one has only whole words, unused pieces, or merges of "
            "characters outside the vocabulary"
        )
    if settings.whole_characters and not model.byte_level:
        raise InputError("whole_characters needs a byte-level model: in others no token cuts a character")


def _rules(model: BPE, settings: Extension) -> MergeRules:
    base, sizes = model.vocab, np.diff(model.vocab.offsets)
    made = np.zeros(len(base), np.bool_)
    made[model.merges[:, 2]] = True
    if made[list(model.special_ids)].any():
        made[:] = False  # no text yields a special token, nor what is merged from one
    # Words are in a state that has no pair left that makes an old token, but for tokens that no text yields.
    taken = np.flatnonzero(~made & (sizes > 1)).astype(np.int32)
    if model.byte_level:
        lengths = sizes.astype(np.int32)
    else:
        lengths = np.fromiter((len(token.decode("utf-8", "replace")) for token in base), np.int32, len(base))
    rules = MergeRules(lengths, np.zeros(len(base), np.uint8), np.zeros(1, np.uint8), taken)
    if settings.whole_characters:
        rules = joint(rules, character_rules(base))
    if settings.max_words is not None:
        rules = joint(rules, word_rules(base, SPACES[model.byte_level], settings.max_words))
    return rules


def extend(
    tokenizer: TokenizerLike,
    source: Source | WordCounts,
    *,
    count: int,
    scripts: Sequence[str] | None = None,
    splitter: SplitterLike | None = None,
    min_frequency: int = 0,
    max_token_length: int | None = None,
    max_words: int | None = None,
    whole_words: bool = False,
    whole_characters: bool = False,
    tie_break: Literal["ids", "first", "bytes"] = "ids",
    reading: Reading | None = None,
    memory: int | str | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Tokenizer:
    """Return a tokenizer with `count` more tokens, learned from a corpus (see `count`) or from word counts.

    Defined in ALGORITHMS.md, B9, P5, U6.

    The words, as the tokenizer encodes them, are merged further. All old ids keep their tokens, the new tokens get the
    next ids, and each of them is reached. In BPE, a text keeps its ids unless the two sides of a new merge are
    neighbours in these ids; in WordPiece and Unigram, unless a word of it holds the string of a new token. Warns
    (SubwordsWarning) if there are fewer than `count` new tokens. Raises InputError for a tokenizer of whole words and
    for counts of another splitter, TrainingError if the corpus has nothing to merge.

    scripts: learn from text of these scripts only ("Myanmar", "Mymr"); a space before it is included, so that text of
    others keeps its ids; with bytes, add whole_characters, since scripts share bytes. BPE takes the parts of words that
    are of them, WordPiece and Unigram whole words.
    count: how many tokens to add. splitter: a coarser rule, which the result has too, lets tokens of BPE span words
    ("superwords"); None is the tokenizer's. max_words: the most spaces in a new token. whole_words: join only words
    that are one token each, and consist of letters (BoundlessBPE). max_token_length: in bytes, or in characters if
    words do not start as bytes. whole_characters: new tokens are whole characters or a part of one. min_frequency: the
    least count of a pair. tie_break: as in `train`. The others: as in `count` and `train`.
    Hazard: a model knows nothing of the new ids until its embeddings have rows for them.

    >>> import subwords
    >>> tok = subwords.train(["low lower lowest"] * 9, vocab_size=260)
    >>> more = subwords.adapt.extend(tok, ["slowest slower"] * 9, count=3)
    >>> more.tokenize("slowest"), more.encode("low") == tok.encode("low")
    (['slowe', 'st'], True)

    Source: continued BPE training, Purason et al., arXiv 2512.03989.
    """
    tokenizer = tokenizer_of(tokenizer)
    check_flag("whole_words", whole_words)
    settings = Extension(
        count=count,
        min_frequency=min_frequency,
        tie_break=tie_break,
        max_token_length=max_token_length,
        whole_characters=whole_characters,
        max_words=max_words,
        inner=SplitterEngine.of(tokenizer.splitter) if whole_words else None,
    )
    model, family = tokenizer.model, family_of(tokenizer.model)
    learn = family.tool("extend")
    if splitter is not None and not family.keeps_merges:
        raise InputError(f"splitter is for BPE: in {family.name}, no piece spans words")
    if whole_words and splitter is None:
        raise InputError(
            "whole_words needs BPE and a coarser splitter, whose words contain several words of the tokenizer"
        )
    rule = tokenizer.splitter if splitter is None else make_splitter(splitter)
    most, rules = None if memory is None else bytes_of(memory), rules_like(tokenizer)._replace(splitter=rule)
    counts = counts_of(source, rules, reading=reading, memory=most, threads=threads, progress=progress)
    if scripts is not None:
        counts = of_scripts_only(counts, check_strings("scripts", scripts), whole=not family.keeps_merges)
    if most is not None:
        check_memory(counts, most)
    with progress_line(None, "indexing", unit="tokens", enabled=progress) as bar:
        found: NewTokens = learn(model, counts, settings, threads=thread_count(threads), on_step=bar.phase)
    tokens = found.tokens
    if not tokens:
        raise TrainingError("nothing to add: in this corpus no two tokens of a word can merge")
    if len(tokens) < count:
        warnings.warn(
            f"fewer tokens than asked for: {len(tokens)} instead of {count}; no pair is left to merge. Use more text, "
            "or lower `count`",
            SubwordsWarning,
            stacklevel=2,
        )
    if tokenizer.spec.foreign.sentencepiece is not None:
        from subwords.machine import with_pieces

        return Tokenizer(with_pieces(tokenizer.spec, tokens, found.scores or None))
    spec = replace(tokenizer.spec, model=model.grown(*found), splitter=rule.rule)
    # In a tokenizer.json, the new tokens stand in the model, after the added ones.
    return Tokenizer(replace(spec, foreign=replace(spec.foreign, model_size=None)))


def of_scripts_only(counts: WordCounts, scripts: tuple[str, ...], *, whole: bool) -> WordCounts:
    """Return the parts of words that are of some scripts, with their marks and a space before; or such whole words."""
    allowed = letters_of(scripts)[1] | property_members("sc=Inherited") & property_members("M")
    ends = np.flatnonzero(np.diff(allowed, prepend=False, append=False)).reshape(-1, 2).tolist()
    ranges = "".join(f"\\U{first:08x}-\\U{after - 1:08x}" for first, after in ends)
    part, found = re.compile(f"[ \u2581]?[{ranges}]+"), Counter[bytes]()
    for word, number in counts:
        text = word.decode("utf-8", "replace")
        for piece in part.findall(text) if not whole or part.fullmatch(text) else ():
            found[piece.encode()] += number
    if not found:
        raise TrainingError(f"nothing to add: this corpus has no {'word' if whole else 'text'} of {', '.join(scripts)}")
    offsets = np.cumsum([0, *map(len, found)], dtype=np.int64)
    times = np.array([*found.values()], np.uint64)
    return WordCounts(np.frombuffer(b"".join(found), np.uint8), offsets, times, counts.provenance)


# ---------------------------------------------------------------------------------------------------------------------
# Extend a WordPiece or Unigram model: merge its pieces further, and keep what its own rule then uses (P5, U6).

ROUNDS = 20  # of replacing pieces that are not used
MORE_CANDIDATES = 64  # candidates besides twice as many as asked for: those that are not used are replaced


def extend_wordpiece(
    model: WordPiece,
    counts: WordCounts,
    settings: Extension,
    *,
    threads: int | None = None,
    on_step: Step | None = None,
) -> NewTokens:
    """Return up to `add` pieces that a model gets, which all occur when it encodes the counted words."""
    tokens = _Extending(model, counts, threads).learned(settings, on_step)[0]
    return NewTokens(tokens)


def extend_unigram(
    model: Unigram, counts: WordCounts, settings: Extension, *, threads: int | None = None, on_step: Step | None = None
) -> NewTokens:
    """Return up to `add` pieces and their scores, which all occur when the model encodes the counted words."""
    tokens, found = _ExtendingUnigram(model, counts, threads).learned(settings, on_step)
    return NewTokens(tokens, scores=[found.score(len(model.vocab) + k) or 0.0 for k in range(len(tokens))])


class _Extending:
    """The search for pieces that the counted words use; the scores of pieces do not matter."""

    rescores = False  # whether pieces get scores by how often they are used

    def __init__(self, model: Model, counts: WordCounts, threads: int | None) -> None:
        self.model, self.counts, self.threads = model, counts, threads
        self.total = float(_uses(model, counts, threads).sum())

    def grown(self, tokens: list[bytes], times: list[float]) -> Model:
        """Return the model with more pieces, used so many times."""
        return self.model.grown(tokens)

    def learned(self, settings: Extension, on_step: Step | None) -> tuple[list[bytes], Model]:
        """Return the new pieces, and the model with them."""
        _check_extension(settings)
        tokens, times = _candidates(self.model, self.counts, settings, self.threads, on_step or (lambda *_: None))
        left: int = min(settings.count, len(tokens))
        chosen = list(range(left))
        weights = dict(enumerate(times))
        for turn in range(ROUNDS):
            found = self.grown([tokens[k] for k in chosen], [weights[k] for k in chosen])
            used = self._used(found)
            if used.all() and (turn or not self.rescores):
                return [tokens[k] for k in chosen], found
            # Integer counts of the best paths: expectation maximisation as Viterbi training does it.
            weights |= {k: float(use) for k, use in zip(chosen, used.tolist(), strict=True) if use}
            missing = int((used == 0).sum())
            stop: int = min(left + missing, len(tokens)) if turn < ROUNDS // 2 else left
            chosen = [k for k, use in zip(chosen, used.tolist(), strict=True) if use] + [*range(left, stop)]
            left = stop
        while True:
            found = self.grown([tokens[k] for k in chosen], [weights[k] for k in chosen])
            used = self._used(found)
            if used.all():
                return [tokens[k] for k in chosen], found
            # A piece that no best path uses is on none without it either: the paths stay.
            chosen = [k for k, use in zip(chosen, used.tolist(), strict=True) if use]

    def _used(self, found: Model) -> NDArray[np.float64]:
        """Return how often each new piece is used."""
        return _uses(found, self.counts, self.threads)[len(self.model.vocab) :]


class _ExtendingUnigram(_Extending):
    """The same for Unigram: a piece has the logarithm of its share of all pieces as score."""

    model: Unigram
    rescores = True

    def grown(self, tokens: list[bytes], times: list[float]) -> Unigram:
        """Return the model with more pieces, used so many times."""
        model = self.model
        learned = np.ones(len(model.vocab), np.bool_)
        learned[list(model.special_ids | model.user_ids)] = False
        # No score is below the least one, which decides about unknown characters.
        least = float(model.scores[learned].min()) if learned.any() else 0.0
        shares = logarithms(np.array(times, np.float64) / self.total)
        scores = np.maximum(np.ceil(least * GRAINS), np.round(shares * GRAINS)) / GRAINS
        return _spared(model, model.grown(tokens, scores=scores.tolist()), learned)


def _check_extension(settings: Extension) -> None:
    if settings.whole_characters or settings.max_words is not None:
        name = "whole_characters" if settings.whole_characters else "max_words"
        raise InputError(f"{name} is for BPE: pieces of WordPiece and Unigram are characters of one word")


def _candidates(
    model: Model, counts: WordCounts, settings: Extension, threads: int | None, on_step: Step
) -> tuple[list[bytes], list[float]]:
    """Return the strings of merged neighbours, best first, and how often each was merged."""
    base = list(model.vocab)
    prefix = model.marks[0]
    ids = word_ids(model, counts, threads)
    words = symbol_words_of_ids(ids, counts.counts, apart_ids(model), in_order=settings.tie_break == "first")
    lengths = np.fromiter((len(token.removeprefix(prefix).decode("utf-8", "replace")) for token in base), np.int32)
    taken = np.flatnonzero(lengths > 1).astype(np.int32)
    rules = MergeRules(lengths, np.zeros(len(base), np.uint8), np.zeros(1, np.uint8), taken)
    most = len(base) + 2 * settings.count + MORE_CANDIDATES
    limits = MergeLimits(most, settings.tie_break, settings.min_frequency, settings.max_token_length)
    threshold = threshold_of(ids, counts.counts, settings.count)
    loop = CountLoop(words, threshold, base, limits, len(prefix), rules)
    loop.run(on_step)
    return list(loop.vocab.after(len(base))), loop.learned[1].astype(np.float64).tolist()


def _spared(model: Unigram, found: Unigram, learned: NDArray[np.bool_]) -> Unigram:
    """Lower new scores until each old piece that was the best path of its own text is the best again."""
    ids = np.flatnonzero(learned & (np.diff(model.vocab.offsets) > 0))
    texts = _as_words([model.vocab[k] for k in ids.tolist()])
    own = _alone(word_ids(model, texts), ids)
    scores, size = found.scores.copy(), len(model.vocab)
    for _ in range(ROUNDS):
        found = replace(found, scores=scores)
        paths = word_ids(found, texts)
        lost = np.flatnonzero(own & ~_alone(paths, ids))
        if not len(lost):
            break
        sums, path_scores = scores.copy(), found.path_scores
        for k in lost.tolist():
            path = paths.ids[paths.offsets[k] : paths.offsets[k + 1]]
            new = path[path >= size]
            ahead = max(0.0, float(path_scores[path].sum() - path_scores[ids[k]]))
            sums[new] = np.minimum(sums[new], scores[new] - np.ceil(ahead / max(1, len(new)) * GRAINS + 1) / GRAINS)
        scores = sums
    return found


def _as_words(texts: list[bytes]) -> WordCounts:
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    return WordCounts(np.frombuffer(b"".join(texts), np.uint8), offsets, np.ones(len(texts), np.uint64), Provenance(""))


def _alone(paths: TokenBatch, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which words are one id, the given one."""
    found: NDArray[np.bool_] = np.diff(paths.offsets) == 1
    found[found] = paths.ids[paths.offsets[:-1][found]] == ids[found]
    return found


def _uses(model: Model, counts: WordCounts, threads: int | None) -> NDArray[np.float64]:
    """Return how often each id occurs in the counted words; exact below 2**53."""
    found = word_ids(model, counts, threads)
    weights = np.repeat(counts.counts.astype(np.float64), np.diff(found.offsets))
    uses: NDArray[np.float64] = np.bincount(found.ids, weights=weights, minlength=len(model.vocab)).astype(np.float64)
    return uses[: len(model.vocab)]
