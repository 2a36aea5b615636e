"""WordPiece training: word counts to a model. Python orchestrates, kernels loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from decimal import Decimal, localcontext
from functools import cmp_to_key
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.counts import WordCounts
from subwords.kernels import layout
from subwords.kernels.layout import ScoreTraining
from subwords.models.learning import (
    Limits,
    MergeLoop,
    Step,
    check_size,
    check_words,
    grown,
    live_in,
    merge_words,
    pair_table,
)
from subwords.models.settings import WordPieceSettings
from subwords.models.wordpiece.model import MAX_CHARS, WordPiece
from subwords.spec.decoder import Decoder, Fuse, Replace, WordPieceDecoder, unescaped, writes_spaces
from subwords.spec.normalizer import Steps
from subwords.spec.splitter import Rule
from subwords.spec.template import bert
from subwords.spec.tokenizer import TokenizerSpec
from subwords.spec.vocab import Vocab
from subwords.support.errors import TrainingError
from subwords.support.memory import zeros
from subwords.support.threads import thread_count

# ---------------------------------------------------------------------------------------------------------------------
# Exact comparison of two likelihood gains, for cases that floating point cannot decide (P1).

Counts = tuple[int, int, int]  # merges, and the counts of both tokens; for a token with itself: n, c, c - n


def compare_gains(x: Counts, y: Counts, total: int) -> int:
    """Return -1, 0 or 1: merging a pair with the counts x gains less than, as much as, or more than with y.

    A gain is the logarithm of a product of powers of the counts. Two gains are equal if the powers cancel; otherwise
    they differ in some digit.
    """
    powers = Counter(_powers(x, total))
    powers.subtract(_powers(y, total))
    if _is_one(powers):
        return 0
    digits = 50
    while True:
        with localcontext(prec=digits):
            difference = sum((exponent * Decimal(base).ln() for base, exponent in powers.items() if base), Decimal(0))
            # Sixteen terms, each below 2**63 * 44.
            if abs(difference) > Decimal(10) ** (25 - digits):
                return 1 if difference > 0 else -1
        digits *= 2


def _powers(counts: Counts, total: int) -> dict[int, int]:
    """Return the exponents of the counts in the factor by which the likelihood rises; 0 ** 0 is 1."""
    n, left, right = counts
    powers = Counter[int]()
    for base, exponent in ((n, n), (left - n, left - n), (right - n, right - n), (total, total)):
        powers[base] += exponent
    for base in (left, right, total - n):
        powers[base] -= base
    return powers


def _is_one(powers: Mapping[int, int]) -> bool:
    """Whether a product of powers is 1: over coprime bases, all exponents must be 0."""
    todo = [(base, exponent) for base, exponent in powers.items() if base > 1 and exponent]
    coprime = list[tuple[int, int]]()
    while todo:
        base, exponent = todo.pop()
        for i, (other, power) in enumerate(coprime):
            common = gcd(base, other)
            if common > 1:
                del coprime[i]
                parts = ((common, exponent + power), (base // common, exponent), (other // common, power))
                todo += [(part, raised) for part, raised in parts if part > 1]
                break
        else:
            coprime.append((base, exponent))
    return all(exponent == 0 for _, exponent in coprime)


# ---------------------------------------------------------------------------------------------------------------------
# The arrays of the training loop in kernels/wordpiece/train.py, and exact comparison of likelihood gains.

SCORES = {"likelihood": layout.LIKELIHOOD, "course": layout.COURSE, "count": layout.COUNT}
ENTRY_COUNTS = slice(layout.ENTRY.pairs, layout.ENTRY.low + 1)


def read_arena_words(counts: WordCounts, symbol_ids: NDArray[np.int32]) -> NDArray[np.uint32]:
    """Return the words as symbols, in the arena layout of kernels/wordpiece/heap.py."""
    from subwords.kernels.named import fill_arena

    size = len(counts.data) + layout.HEADER.width * len(counts)
    check_size(counts, size)
    arena = zeros(size + len(counts.data), np.uint32)
    used = fill_arena(counts.data, counts.offsets, counts.counts, symbol_ids, arena)
    words: NDArray[np.uint32] = arena[: used + 1]
    return words


class ScoreLoop(MergeLoop):
    """Merges the pair with the highest score.

    times: the count of each token of `base`.
    """

    lowering = 2

    def __init__(
        self,
        arena: NDArray[np.uint32],
        words: int,
        base: list[bytes],
        times: list[int],
        settings: Limits,
        *,
        score: str,
        prefix: str,
    ) -> None:
        threshold = max(1, settings.min_frequency)
        if score == "likelihood":  # other scores may prefer a rare pair, or get words that forbid pruning
            threshold = max(threshold, words // (8 * settings.vocab_size))
        super().__init__(settings, threshold)
        self.arena, self.used = arena, len(arena) - 1
        self.lead = prefix.encode()
        self.settings[
            [layout.TRAIN.specials, layout.TRAIN.prefix_bytes, layout.TRAIN.score, layout.TRAIN.prefix_chars]
        ] = 0, len(self.lead), SCORES[score], len(prefix)
        self.counters[[layout.TALLY.total, layout.TALLY.chosen]] = sum(times), layout.MISSING
        self.postings = self.buffer = np.zeros(0, np.uint32)
        self.records = self.finder = self.heap = self.choices = np.zeros(
            layout.FIND_ROW, np.int64
        )  # replaced in `_index`
        self._name_base(base)
        self._enter_names(times)

    def _enter_names(self, times: list[int]) -> None:
        from subwords.kernels.named import enter_names

        self.symbols = np.zeros(layout.SYMBOL.width * (self.size + 2), np.int64)
        self.symbols.reshape(-1, layout.SYMBOL.width)[: len(times), layout.SYMBOL.times] = times
        self.names = np.full(1 << (2 * self.size).bit_length(), layout.MISSING, np.int64)
        enter_names(self._training)

    def _merge(self) -> int:
        from subwords.kernels.named import merge_scored

        return merge_scored(self._training)

    def _answer(self, status: int) -> None:
        if status == layout.UNDECIDED:
            self.counters[layout.TALLY.chosen] = self._decide()
        else:
            assert status in (layout.NEED_PAIRS, layout.NEED_INDEX)
            self._index()

    @property
    def _training(self) -> ScoreTraining:
        """Return everything that the kernels work on."""
        return ScoreTraining(
            self.arena,
            self.postings,
            self.buffer,
            self.records,
            self.finder,
            self.heap,
            self.choices,
            self.tokens,
            self.symbols,
            self.strings,
            self.names,
            self.counters,
            self.settings,
        )

    def _index(self) -> None:
        """Count all pairs of the words; create records of the live ones, their postings, and the heap."""
        from subwords.kernels.named import count_word_pairs, fill_records, open_records, start_scores

        threshold, longest = int(self.settings[layout.TRAIN.threshold]), int(self.settings[layout.TRAIN.max_length])
        every = pair_table(1 << 12)
        self.counters[[layout.TALLY.pairs_used, layout.TALLY.arena_at]] = 0
        while count_word_pairs(self.arena, self.used, every, self.tokens, longest, self.counters) == layout.NEED_PAIRS:
            every = grown(every, self.counters)
        room = 2 * live_in(every, threshold) + 4 * self.size + 64
        self.records = zeros(layout.RECORD.width * room, np.int64)
        self.heap = zeros(layout.ENTRY.width * room, np.int64)
        self.choices = zeros(room, np.int64)
        self.finder = zeros(layout.FIND_ROW << (2 * room).bit_length(), np.int64)
        self.finder[:] = layout.MISSING
        rows = self.symbols.reshape(-1, layout.SYMBOL.width)
        rows[:, layout.SYMBOL.doubles] = 0
        rows[:, [layout.SYMBOL.first_as_left, layout.SYMBOL.first_as_right]] = layout.MISSING
        self.postings = zeros(3 * self.used + 64, np.uint32)
        self.buffer = zeros(layout.BUFFER.width * self.used + 64, np.uint32)
        self.counters[[layout.TALLY.pairs_used, layout.TALLY.warm]] = 0, layout.ALL_IN_HEAP
        open_records(every, self._training)
        fill_records(self._training, self.used)
        start_scores(self._training)

    def _decide(self) -> int:
        """Return the record of the pair with the largest gain, among those the kernel could not distinguish."""
        rows = self.heap.reshape(-1, layout.ENTRY.width)[self.choices[: self.counters[layout.TALLY.choices]]].tolist()
        total = int(self.counters[layout.TALLY.total])
        gain = cmp_to_key(lambda x, y: compare_gains(x, y, total))  # type: ignore[arg-type]
        gains = [gain(tuple(row[ENTRY_COUNTS])) for row in rows]
        most = max(gains)
        tied = [row for row, value in zip(rows, gains, strict=True) if value == most]
        return int(min(tied, key=self._tie)[layout.ENTRY.record])

    def _tie(self, row: list[int]) -> Any:
        key = row[layout.ENTRY.tie]
        if self.settings[layout.TRAIN.tie] != layout.TIE_BYTES:
            return key
        bounds = self.tokens.reshape(-1, layout.TOKEN.width)[:, layout.TOKEN.string]
        pair = key >> 32, key & 0xFFFFFFFF
        return [self.strings[bounds[token] : bounds[token + 1]].tobytes() for token in pair]


def train_wordpiece(
    counts: WordCounts, settings: WordPieceSettings, *, threads: int | None = None, on_step: Step | None = None
) -> WordPiece:
    """Learn a model from word counts (P1, P2, B2-B6); TrainingError if settings and counts do not fit together.

    A word's first character is a symbol by itself, the others get the prefix; bytes that are not UTF-8 split a word.
    Ids: special tokens, symbols in string order, merges. Each step merges the pair with the highest score. Let n be the
    count of the pair, a and b the counts of its tokens, and N the count of all tokens in the current segmentation:

    - "likelihood": n ln n + (a-n) ln (a-n) + (b-n) ln (b-n) - a ln a - b ln b - (N-n) ln (N-n) + N ln N, the gain in
      log-likelihood of a unigram model of the tokens. A token that pairs with itself counts as often as a merge would
      join it. As in BPE, frequent words become tokens, but chance neighbours of frequent tokens merge later: with
      30,522 tokens from 60 MB of English, other English text takes 1.07 tokens per word.
    - "course": n / (a * b), as taught in courses. Hazard: it merges rare pairs first, so rare words become tokens and
      common words are spelled out (3.06 tokens per word) unless min_frequency is large: 20 or more for a book, 200 for
      this English text (1.15 tokens per word).
    - "count": n, the merges of BPE, which HF tokenizers trains under the name of WordPiece (1.06 tokens per word).

    Scores are compared exactly, and `tie_break` decides ties (B2): equal counts give the same model everywhere. Merging
    continues until vocab_size, even with a negative gain, or until no pair occurs min_frequency times. max_token_length
    is in characters, without the prefix. limit_alphabet keeps the N most frequent characters; any other character
    splits the word. max_chars: nothing is learned from longer words, which encoding makes unk_token; None is the
    length of the longest word, but at least 100. `on_step`: see `train_bpe`.

    >>> import subwords
    >>> from subwords.models.settings import WordPieceSettings
    >>> from subwords.models.wordpiece.train import train_wordpiece
    >>> counts = subwords.count(["hug pug pun bun hugs " * 9], splitter="bert")
    >>> list(train_wordpiece(counts, WordPieceSettings(vocab_size=16)).vocab)[5:]
    [b'##g', b'##n', b'##s', b'##u', b'b', b'h', b'p', b'##ug', b'##un', b'hug', b'bun']
    """
    check_words(counts)
    counts, longest = known_words(counts, settings.max_chars)
    names, ids, times = first_tokens(counts, settings)
    if settings.score == "count" and not _may_spell_prefix(counts, settings.prefix):
        prefix = len(settings.prefix.encode())
        workers = thread_count(threads)
        vocab, _ = merge_words(counts, ids, names, settings, on_step, prefix=prefix, threads=workers)
    else:
        arena = read_arena_words(counts, ids)
        loop = ScoreLoop(arena, counts.total, names, times, settings, score=settings.score, prefix=settings.prefix)
        loop.run(on_step or (lambda phase, done, total: None))
        vocab = loop.vocab
    return _wordpiece_model(vocab, settings, longest)


def characters_of(counts: WordCounts) -> NDArray[np.int64]:
    """Return the number of characters of each word."""
    begins = (counts.data & 0xC0) != 0x80
    lengths: NDArray[np.int64] = np.add.reduceat(begins, counts.offsets[:-1], dtype=np.int64)
    return lengths


def known_words(counts: WordCounts, most: int | None) -> tuple[WordCounts, int]:
    """Return the words that encoding can segment, and the limit on their characters."""
    if not np.any(np.diff(counts.offsets) > (MAX_CHARS if most is None else most)):  # bytes
        return counts, MAX_CHARS if most is None else most
    lengths = characters_of(counts)
    if most is None:
        return counts, max(MAX_CHARS, int(lengths.max()))
    if not np.any(lengths <= most):
        raise TrainingError(
            f"no words to learn from: all have more than {most} characters (max_chars), and are unknown in encoding. "
            f"Raise max_chars to {lengths.max()}, or split text into shorter words"
        )
    return counts.chosen(lengths <= most), most


def _wordpiece_model(vocab: Vocab, settings: WordPieceSettings, max_chars: int) -> WordPiece:
    specials = list(settings.special_tokens)
    return WordPiece(
        vocab,
        specials.index(settings.unk_token),
        prefix=settings.prefix,
        max_chars=max_chars,
        special_ids=frozenset(range(len(specials))),
    )


def first_tokens(counts: WordCounts, settings: WordPieceSettings) -> tuple[list[bytes], NDArray[np.int32], list[int]]:
    """Return the initial tokens in order of id (B3, B6), the id of every symbol, and the count of each token.

    A symbol is a code point if it begins a word, otherwise its code point + CODE_POINTS.
    """
    from subwords.kernels.named import wordpiece_weights

    weights = zeros(2 * layout.CODE_POINTS, np.uint64)
    wordpiece_weights(counts.data, counts.offsets, counts.counts, weights)
    if settings.limit_alphabet is not None:
        _limit(weights, settings.limit_alphabet)
    used = np.flatnonzero(weights).tolist()
    strings = {
        symbol: settings.prefix * (symbol >= layout.CODE_POINTS) + chr(symbol % layout.CODE_POINTS) for symbol in used
    }
    names = list(dict.fromkeys([*settings.special_tokens, *sorted(strings.values())]))
    settings.check_room(len(names) - len(settings.special_tokens))
    numbers = {name: i for i, name in enumerate(names)}
    ids = np.full(2 * layout.CODE_POINTS, layout.MISSING, np.int32)
    times = [0] * len(names)
    for symbol, name in strings.items():
        ids[symbol] = numbers[name]
        times[numbers[name]] += int(weights[symbol])
    return [name.encode() for name in names], ids, times


def _limit(weights: NDArray[np.uint64], most: int) -> None:
    """Drop the symbols of all but the `most` most frequent characters; at a tie the earlier character stays."""
    both = weights[: layout.CODE_POINTS] + weights[layout.CODE_POINTS :]
    used = np.flatnonzero(both)
    order = np.argsort(np.iinfo(np.int64).max - both[used].astype(np.int64), kind="stable")
    dropped = used[order[most:]]
    weights[dropped] = 0
    weights[dropped + layout.CODE_POINTS] = 0


def _may_spell_prefix(counts: WordCounts, prefix: str) -> bool:
    """Whether a word begins with the prefix: a merge at its start may create a continuation string (B5)."""
    text = prefix.encode()
    starts = counts.offsets[:-1][np.diff(counts.offsets) > len(text)] if text else counts.offsets[:0]
    for k, byte in enumerate(text):
        starts = starts[counts.data[starts + k] == byte]
    return len(starts) > 0


def assemble_wordpiece(model: WordPiece, settings: WordPieceSettings, rule: Rule, steps: Steps) -> TokenizerSpec:
    """Return the spec of a trained model, with BERT's template if [CLS] and [SEP] are special tokens."""
    tokens = list(settings.special_tokens)
    framed = {"[CLS]", "[SEP]"} <= {*tokens}
    template = bert(tokens.index("[CLS]"), tokens.index("[SEP]")) if framed else None
    made: Decoder = WordPieceDecoder(model.prefix)
    if writes_spaces(rule, steps):  # all spaces are then those between two words
        joining = WordPieceDecoder(model.prefix, cleanup=False), Fuse(), Replace(" ", "")
        made = unescaped(rule, steps, joining)
    return TokenizerSpec.trained(model, tokens, splitter=rule, normalizer=steps, decoder=made, template=template)


def untrained_wordpiece(settings: WordPieceSettings) -> WordPiece:
    """Return a model of the special tokens and one character."""
    specials = list(settings.special_tokens)
    tokens = dict.fromkeys([*specials, "a", f"{settings.prefix}a"])
    return WordPiece(
        Vocab([token.encode() for token in tokens]),
        specials.index(settings.unk_token),
        prefix=settings.prefix,
        max_chars=MAX_CHARS if settings.max_chars is None else settings.max_chars,
        special_ids=frozenset(range(len(specials))),
    )
