"""What the trainers share: symbols, pairs and where they are, limits, and the merge loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.counts import WordCounts
from subwords.kernels import layout
from subwords.kernels.layout import MergeRules, MergeTraining, SymbolWords
from subwords.spec.vocab import Vocab
from subwords.support.errors import TrainingError
from subwords.support.memory import zeros
from subwords.support.threads import in_threads

FEW_PAIRS = 1 << 12
MANY_SYMBOLS = 1 << 22  # of fewer, threads cost more than they save
FEW_SYMBOLS = 1 << 9  # each of whose pairs has an element of an array: half of the time that a table takes
AT_ONCE = 64  # pairs
LOOK = 1 << 12  # symbols

Table = NDArray[np.uint64]


class Unindexed(NamedTuple):
    """What decides which pairs are live: words, tokens, rules, and settings with the threshold."""

    words: SymbolWords
    tokens: NDArray[np.int64]
    rules: MergeRules
    settings: NDArray[np.int64]

    @property
    def spans(self) -> NDArray[np.uint32]:
        """The number of symbols that each token covers; empty if each covers one."""
        found = self.tokens.reshape(-1, layout.TOKEN.width)[:, layout.TOKEN.span].astype(
            np.uint32
        )  # as rows: in no cache
        return found if int(found.max()) > 1 else found[:0]


def index_pairs(
    source: Unindexed, counters: NDArray[np.int64], room: Callable[[int], int], threads: int = 1
) -> tuple[Table, NDArray[np.uint32]]:
    """Return the table of the pairs that reach the threshold, and their postings.

    room: for how many pairs the table is, by the number of those. Sets TALLY.pairs_used and TALLY.postings_used of
    `counters`.
    """
    size, spans, tokens = len(source.words.symbols), source.spans, _tokens_of(source)
    postings = zeros(3 * size + 64, np.uint32, random=True)
    parts = _divide(source.words, spans, threads)
    if tokens <= FEW_SYMBOLS and not len(spans):
        return _index_of_few(source, parts, tokens, counters, room, postings), postings
    return _index_of_many(source, parts, spans, counters, room, postings), postings


def _index_of_few(
    source: Unindexed,
    parts: list[tuple[int, int]],
    tokens: int,
    counters: NDArray[np.int64],
    room: Callable[[int], int],
    postings: NDArray[np.uint32],
) -> Table:
    """Return the table of the pairs of a few symbols, and write the postings."""
    from subwords.kernels.named import count_few, move_pairs, place_few

    def counted(part: tuple[int, int]) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
        counts, times = np.zeros(tokens * tokens, np.uint64), np.zeros(tokens * tokens, np.uint32)
        count_few(source.words, *part, tokens, counts, times)
        return counts, times

    found = in_threads(counted, parts, len(parts))
    counts = sum((counts for counts, _ in found[1:]), start=found[0][0])
    live = np.flatnonzero(counts >= np.uint64(source.settings[layout.TRAIN.threshold]))
    if source.settings[layout.TRAIN.ruled]:
        live = live[_allowed(source, *np.divmod(live, tokens))]
    times = np.array([times[live] for _, times in found], np.int64)
    ends = np.cumsum(times.sum(0))
    # The postings of a pair: those of the first part, then those of the second, ...
    starts = ends - times.sum(0) + np.cumsum(times, 0) - times
    rows = np.empty((len(live), layout.PAIR.width), np.uint64)
    rows[:, layout.PAIR.key] = live // tokens << 32 | live % tokens
    rows[:, layout.PAIR.count], rows[:, layout.PAIR.words] = counts[live], times.sum(0)
    rows[:, layout.PAIR.place] = starts[0]
    pairs = pair_table(room(len(live)))
    move_pairs(rows.ravel(), pairs, 0, counters)
    counters[layout.TALLY.postings_used] = ends[-1] if len(ends) else 0

    def write(number: int) -> None:
        places = np.full(tokens * tokens, layout.END, np.uint32)
        places[live] = starts[number]
        place_few(source.words, *parts[number], tokens, places, postings)

    in_threads(write, range(len(parts)), len(parts))
    return pairs


def _allowed(source: Unindexed, lefts: NDArray[np.int64], rights: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether the rules let these pairs merge."""
    rules, longest = source.rules, int(source.settings[layout.TRAIN.max_length])
    kinds = math.isqrt(len(rules.joined))
    classes, lengths = rules.classes.astype(np.int64), rules.lengths.astype(np.int64)
    found: NDArray[np.bool_] = rules.joined[classes[lefts] * kinds + classes[rights]] != layout.APART
    return found & (lengths[lefts] + lengths[rights] <= longest) if longest else found


def _index_of_many(
    source: Unindexed,
    parts: list[tuple[int, int]],
    spans: NDArray[np.uint32],
    counters: NDArray[np.int64],
    room: Callable[[int], int],
    postings: NDArray[np.uint32],
) -> Table:
    """Return the table of the pairs of any symbols, and write the postings."""
    from subwords.kernels.named import fill_postings, move_pairs, place_pairs, place_postings

    threshold, size = int(source.settings[layout.TRAIN.threshold]), len(source.words.symbols)
    numbers = postings[size : 2 * size]  # behind the first postings: the next ones come here later
    tables = in_threads(lambda part: _counted(source, part, spans, numbers), parts, len(parts))
    every = tables[0] if len(tables) == 1 else _sum(tables)
    pairs = pair_table(room(live_in(every, threshold)))
    move_pairs(every, pairs, threshold, counters)
    counters[layout.TALLY.postings_used] = place_pairs(pairs)
    places = [np.full(len(table) // layout.PAIR.width // 2 + 1, layout.END, np.uint32) for table in tables]
    for table, found in zip(reversed(tables), reversed(places), strict=True):
        place_postings(table, pairs, found)
    in_threads(lambda at: fill_postings(numbers, *at[0], at[1], postings), zip(parts, places, strict=True), len(parts))
    return pairs


def _tokens_of(source: Unindexed) -> int:
    return int(np.count_nonzero(source.tokens.reshape(-1, layout.TOKEN.width)[:, layout.TOKEN.span]))


def _divide(words: SymbolWords, spans: NDArray[np.uint32], threads: int) -> list[tuple[int, int]]:
    """Return the first place and the place after the last of each thread's words."""
    size = len(words.symbols)
    most = 1 if len(spans) or size < MANY_SYMBOLS else threads  # with spans, END may be inside a token
    cuts = [0, *(_end_from(words.symbols, k * size // most) for k in range(1, most)), size]
    return list(pairwise(cuts))


def _end_from(symbols: NDArray[np.uint32], at: int) -> int:
    while at < len(symbols):
        ends = np.flatnonzero(symbols[at : at + LOOK] == layout.END)
        if len(ends):
            return at + int(ends[0])
        at += LOOK
    return len(symbols)


def _counted(
    source: Unindexed,
    part: tuple[int, int],
    spans: NDArray[np.uint32],
    numbers: NDArray[np.uint32],
) -> Table:
    """Return a table of the pairs of a part, and set its `numbers`."""
    from subwords.kernels.named import count_pairs

    table, counters = pair_table(FEW_PAIRS), np.zeros(layout.TALLY.width, np.int64)
    scratch = np.zeros(2 * AT_ONCE, np.uint64)
    counters[layout.TALLY.arena_at], stop = part
    words, rules, settings = source.words, source.rules, source.settings
    while count_pairs(words, stop, table, spans, rules, numbers, scratch, settings, counters) == layout.NEED_PAIRS:
        table = grown(table, counters)
    return table


def _sum(tables: list[Table]) -> Table:
    from subwords.kernels.named import add_pairs

    found, counters = pair_table(sum(live_in(table, 0) for table in tables)), np.zeros(layout.TALLY.width, np.int64)
    for table in tables:
        add_pairs(table, found, counters)
    return found


def grown(table: Table, counters: NDArray[np.int64]) -> Table:
    """Return a larger table of the same pairs."""
    from subwords.kernels.named import move_pairs

    larger = pair_table(len(table) // layout.PAIR.width // 2)
    move_pairs(table, larger, 0, counters)
    return larger


def live_in(table: Table, threshold: int) -> int:
    """Return the number of pairs that reach the threshold."""
    rows = table.reshape(-1, layout.PAIR.width)
    return int(
        np.count_nonzero(
            (rows[:, layout.PAIR.key] != layout.NO_KEY) & (rows[:, layout.PAIR.count] >= np.uint64(threshold))
        )
    )


def pair_table(pairs: int) -> Table:
    """Return an empty table that is less than half full with this many pairs."""
    table = zeros((1 << (2 * pairs).bit_length()) * layout.PAIR.width, np.uint64, random=True)
    table[:] = layout.NO_KEY
    return table


# ---------------------------------------------------------------------------------------------------------------------
# Merges that cut no character: which bytes may join, so that a token is whole characters or a part of one (B8).

_ANY, _LOW, _MIDDLE, _HIGH = range(0x80, 0xC0), range(0x80, 0x90), range(0x90, 0xA0), range(0xA0, 0xC0)
_TAILS = (_LOW, _MIDDLE, _HIGH)  # bytes that end or continue a character
_WHOLE, _OTHER = "whole", "other"
# What is missing from the first bytes of a character: the range of each byte (Unicode 16.0, table 3-7).
_HEADS: dict[range, tuple[range, ...]] = {
    range(0xC2, 0xE0): (_ANY,),
    range(0xE0, 0xE1): (_HIGH, _ANY),
    range(0xE1, 0xED): (_ANY, _ANY),
    range(0xED, 0xEE): (range(0x80, 0xA0), _ANY),
    range(0xEE, 0xF0): (_ANY, _ANY),
    range(0xF0, 0xF1): (range(0x90, 0xC0), _ANY, _ANY),
    range(0xF1, 0xF4): (_ANY, _ANY, _ANY),
    range(0xF4, 0xF5): (_LOW, _ANY, _ANY),
}
_Class = str | range | tuple[range, ...]  # whole, other; a tail; what is missing


def character_rules(tokens: Sequence[bytes]) -> MergeRules:
    """Return rules by which tokens of bytes merge only within a character, or as whole characters.

    >>> rules = character_rules([b"a", b"\\xc3", b"\\xa9"])
    >>> (rules.joined.reshape(12, 12)[np.ix_(rules.classes, rules.classes)] != layout.APART).tolist()
    [[True, False, False], [False, False, True], [False, False, False]]
    """
    numbers = {kind: number for number, kind in enumerate(_classes())}
    found = np.fromiter((numbers[_class_of(token)] for token in tokens), np.uint8, len(tokens))
    lengths = np.fromiter(map(len, tokens), np.int32, len(tokens))
    return MergeRules(lengths, found, _joined_classes(), np.zeros(0, np.int32))


@cache
def _classes() -> tuple[_Class, ...]:
    missing = {rest[k:] for rest in _HEADS.values() for k in range(len(rest))}
    return (_WHOLE, _OTHER, *_TAILS, *sorted(missing, key=lambda rest: (len(rest), rest[0].start, rest[0].stop)))


@cache
def _joined_classes() -> NDArray[np.uint8]:
    kinds = _classes()
    return np.array(
        [
            layout.APART if (kind := _joined_class(left, right)) is None else kinds.index(kind)
            for left in kinds
            for right in kinds
        ],
        np.uint8,
    )


def _joined_class(left: _Class, right: _Class) -> _Class | None:
    """Return the class of two tokens together, None if they must not merge."""
    if left == right == _WHOLE:
        return _WHOLE
    if isinstance(left, tuple) and isinstance(right, range) and right.start in left[0] and right[-1] in left[0]:
        return left[1:] or _WHOLE
    return None


def _class_of(token: bytes) -> _Class:
    try:
        token.decode()
    except UnicodeDecodeError:
        pass
    else:
        return _WHOLE if token else _OTHER
    kind: _Class | None = next((rest for first, rest in _HEADS.items() if token[0] in first), None)
    if len(token) == 1 and kind is None:
        return next((tail for tail in _TAILS if token[0] in tail), _OTHER)
    for byte in token[1:]:
        kind = None if kind is None else _joined_class(kind, next((tail for tail in _TAILS if byte in tail), _OTHER))
    return _OTHER if kind is None else kind


# ---------------------------------------------------------------------------------------------------------------------
# Settings that trainers share, and their checks.

TIES = {"ids": layout.TIE_IDS, "first": layout.TIE_FIRST, "bytes": layout.TIE_BYTES}

Step = Callable[[str, int, int], object]  # phase, number of steps done, number of steps expected


class Limits(Protocol):
    """The settings that all trainers by merges have."""

    @property
    def vocab_size(self) -> int:
        """The number of tokens to reach."""

    @property
    def reserved(self) -> Sequence[str]:
        """Tokens that are not learned and get the first ids."""

    @property
    def tie_break(self) -> str:
        """One of TIES."""

    @property
    def min_frequency(self) -> int:
        """The smallest count of a merged pair."""

    @property
    def max_token_length(self) -> int | None:
        """The largest number of symbols in a token."""


def check_words(counts: WordCounts) -> None:
    """Raise TrainingError if there are no words."""
    if not len(counts):
        raise TrainingError("no words to learn from: the corpus is empty")


# ---------------------------------------------------------------------------------------------------------------------
# The loop that merges the best pair. Python orchestrates, kernels loop.

MOST_SYMBOLS = 2**32 - 1
MOST_RARE = 1 << 10  # words with a smaller count are sorted by it
BETWEEN_LOOKS = 256  # merges between two updates of the progress line


def read_symbol_words(
    counts: WordCounts, symbol_ids: NDArray[np.int32], *, in_order: bool, threads: int = 1
) -> SymbolWords:
    """Return the words as symbols, in the layout of kernels/bpe/index.py; `in_order`: in the order of the counts.

    Otherwise frequent words come first, and nearly all words of equal count are in one run.
    """
    parts = threads if len(counts.data) >= MANY_SYMBOLS else 1
    room = len(counts.data) + len(counts) + parts
    check_size(counts, room)
    order = np.arange(len(counts)) if in_order else order_of(counts.counts)
    cuts = [len(counts) * part // parts for part in range(parts + 1)]
    sizes = [0] if parts == 1 else [int(np.diff(counts.offsets)[order[:cut]].sum()) + cut for cut in cuts[:-1]]
    edges = [*(size + part for part, size in enumerate(sizes)), room]
    symbols = zeros(room, np.uint32, random=True)
    found = in_threads(
        lambda part: _fill_part(
            counts, symbol_ids, order[cuts[part] : cuts[part + 1]], symbols[edges[part] : edges[part + 1]]
        ),
        range(parts),
        parts,
    )
    starts = [one.starts[:-1] + np.uint32(edge) for one, edge in zip(found, edges, strict=False)]
    return SymbolWords(
        symbols[: edges[-2] + len(found[-1].symbols)],
        np.concatenate([*starts, np.full(1, layout.END, np.uint32)]),
        np.concatenate([one.weights for one in found]),
    )


def _fill_part(
    counts: WordCounts, symbol_ids: NDArray[np.int32], order: NDArray[np.int64], symbols: NDArray[np.uint32]
) -> SymbolWords:
    """Write the words of this order as symbols; what they leave free becomes END."""
    from subwords.kernels.named import fill_symbols

    starts, weights = zeros(len(order) + 2, np.uint32), zeros(len(order), np.uint64)
    runs = fill_symbols(
        counts.data, counts.offsets, counts.counts, order, symbol_ids, SymbolWords(symbols, starts, weights)
    )
    symbols[starts[runs + 1] :] = layout.END
    return SymbolWords(symbols[: starts[runs + 1]], starts[: runs + 1], weights[:runs])


def order_of(counts: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the order in which frequent words come first; rare words are sorted by count."""
    rare = (MOST_RARE - np.minimum(counts, np.uint64(MOST_RARE))).astype(np.uint16)
    return np.argsort(rare, kind="stable")  # of 16 bits: a radix sort


def check_size(counts: WordCounts, size: int) -> None:
    """Raise TrainingError for too many words: their arena would have `size` elements."""
    if counts.total * (1 + int(np.diff(counts.offsets).max())) >= 2**63 or size > MOST_SYMBOLS:
        raise TrainingError(f"too many symbols or pairs: {counts!r} exceeds 2**32 symbols or 2**63 pairs")


def merge_words(
    counts: WordCounts,
    symbol_ids: NDArray[np.int32],
    base: Sequence[bytes],
    settings: Limits,
    on_step: Step | None = None,
    *,
    prefix: int = 0,
    rules: MergeRules | None = None,
    threads: int = 1,
) -> tuple[Vocab, NDArray[np.int64]]:
    """Learn tokens from words of `base` tokens; return the vocabulary and the merges (left, right, merged).

    symbol_ids: see kernels/bpe/index.py. `prefix`: the number of leading bytes of the right token that a merge drops.
    rules: which pairs may merge, for the tokens of `base`; None for all. threads: that find the first pairs.
    """
    words = read_symbol_words(counts, symbol_ids, in_order=settings.tie_break == "first", threads=threads)
    threshold = counts.total // (16 * settings.vocab_size)
    return merge_symbols(words, threshold, base, settings, on_step, prefix=prefix, rules=rules, threads=threads)


def merge_symbols(
    words: SymbolWords,
    threshold: int,
    base: Sequence[bytes],
    settings: Limits,
    on_step: Step | None = None,
    *,
    prefix: int = 0,
    rules: MergeRules | None = None,
    threads: int = 1,
) -> tuple[Vocab, NDArray[np.int64]]:
    """As `merge_words`, with words as symbols, the ids of `base`. threshold, threads: see `CountLoop`."""
    loop = CountLoop(words, threshold, base, settings, prefix, rules, threads)
    loop.run(on_step or (lambda phase, done, total: None))
    return loop.vocab, loop.learned[0]


class CountLoop:
    """Merges the most frequent pair.

    threshold: about the least count of a pair that will be merged. Counts down to the least are found in any case: only
    the time depends on it. threads: that find the first pairs of many symbols; one thread merges.
    """

    lowering = 4  # the threshold is divided by this if no pair reaches it

    def __init__(
        self,
        words: SymbolWords,
        threshold: int,
        base: Sequence[bytes],
        settings: Limits,
        prefix: int,
        rules: MergeRules | None = None,
        threads: int = 1,
    ) -> None:
        self.size, self.words, self.threads = settings.vocab_size, words, threads
        self.counters = np.zeros(layout.TALLY.width, np.int64)
        self.settings = train_settings(settings, max(1, settings.min_frequency, threshold))
        self.settings[layout.TRAIN.ruled] = rules is not None or settings.max_token_length is not None
        self.rules = merge_rules(len(base), self.size, rules) if self.settings[layout.TRAIN.ruled] else NO_RULES
        self.settings[layout.TRAIN.prefix_bytes] = prefix
        self.merges = np.empty(layout.MERGE.width * self.size, np.int32)
        self._name_base(base)
        self.tokens.reshape(-1, layout.TOKEN.width)[: len(base), layout.TOKEN.span] = 1

    def _name_base(self, base: Sequence[bytes]) -> None:
        """Enter the strings of the first tokens."""
        self.tokens = np.zeros(layout.TOKEN.width * (self.size + 2), np.int64)
        rows = self.tokens.reshape(-1, layout.TOKEN.width)
        rows[:, [layout.TOKEN.last_left, layout.TOKEN.last_right]] = layout.MISSING
        first = Vocab.of(base)
        ends = first.offsets
        rows[: len(ends), layout.TOKEN.string] = ends
        self.strings = np.empty(max(1 << 16, 16 * self.size + int(ends[-1])), np.uint8)
        self.strings[: ends[-1]] = first.data[: ends[-1]]
        self.counters[[layout.TALLY.tokens, layout.TALLY.strings_used]] = len(base), ends[-1]

    @property
    def vocab(self) -> Vocab:
        """The tokens learned so far."""
        offsets = self.tokens.reshape(-1, layout.TOKEN.width)[
            : self.counters[layout.TALLY.tokens] + 1, layout.TOKEN.string
        ]
        return Vocab(self.strings[: self.counters[layout.TALLY.strings_used]].tobytes(), offsets.copy())

    def run(self, on_step: Step) -> None:
        """Merge until vocab_size is reached or no pair is frequent enough (B4)."""
        on_step("indexing", 0, 1)
        self._index()
        on_step("indexing", 1, 1)
        base = int(self.counters[layout.TALLY.tokens])
        while True:  # the kernel returns every BETWEEN_LOOKS merges, which also lets an interrupt through
            self.settings[layout.TRAIN.pause] = self.counters[layout.TALLY.merges] + BETWEEN_LOOKS
            status = self._merge()
            learned = int(self.counters[layout.TALLY.tokens]) - base
            on_step("merging", learned, self.size - base)
            if status == layout.NEED_STRINGS:
                self.strings = np.concatenate([self.strings, np.empty_like(self.strings)])
            elif (
                status == layout.EXHAUSTED and self.settings[layout.TRAIN.threshold] > self.settings[layout.TRAIN.floor]
            ):
                self.settings[layout.TRAIN.threshold] = max(
                    self.settings[layout.TRAIN.floor], self.settings[layout.TRAIN.threshold] // self.lowering
                )
                self._index()
            elif status in (layout.DONE, layout.EXHAUSTED):
                on_step("merging", learned, learned)
                return
            elif status != layout.PAUSED:
                self._answer(status)

    @property
    def learned(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The merges so far (left, right, merged), and the count of each pair at its turn."""
        rows = (
            self.merges[: layout.MERGE.width * self.counters[layout.TALLY.merges]]
            .astype(np.int64)
            .reshape(-1, layout.MERGE.width)
        )
        return rows[:, : layout.MERGE.merged + 1], rows[:, layout.MERGE.count_low] | rows[
            :, layout.MERGE.count_high
        ] << layout.COUNT_BITS

    def _merge(self) -> int:
        """Merge until the kernel needs something; return its status."""
        from subwords.kernels.named import merge_pairs

        return merge_pairs(self._training)

    def _answer(self, status: int) -> None:
        """Do the work that the kernel needs before it can continue."""
        assert status == layout.NEED_PAIRS
        self._grow_pairs()

    @property
    def _training(self) -> MergeTraining:
        """Return everything that the kernel works on."""
        return MergeTraining(
            self.words,
            self.pairs,
            self.postings,
            self.heap,
            self.buffer,
            self.touched,
            self.tokens,
            self.strings,
            self.merges,
            self.rules,
            self.counters,
            self.settings,
        )

    def _index(self) -> None:
        """Find the live pairs of the words, with their postings and the heap."""
        from subwords.kernels.named import start_heap

        source = Unindexed(self.words, self.tokens, self.rules, self.settings)
        self.pairs, self.postings = index_pairs(source, self.counters, self._room, self.threads)
        self.buffer = zeros(layout.BUFFER.width * len(self.words.symbols) + 64, np.uint32, random=True)
        self.heap = zeros(layout.HEAP.width * (len(self.pairs) // layout.PAIR.width), np.uint64)
        self.touched = np.empty(2 * self.size + 4, np.int32)
        start_heap(self._training)

    def _room(self, pairs: int) -> int:
        return 2 * pairs + FEW_PAIRS

    def _grow_pairs(self) -> None:
        from subwords.kernels.named import move_pairs

        threshold, needed = int(self.settings[layout.TRAIN.threshold]), int(self.counters[layout.TALLY.needed])
        pairs = pair_table(self._room(live_in(self.pairs, threshold)) + needed)
        move_pairs(self.pairs, pairs, threshold, self.counters)
        self.pairs = pairs
        used = int(self.counters[layout.TALLY.heap_size])
        if len(self.heap) // layout.HEAP.width < used + needed:
            heap = zeros(2 * layout.HEAP.width * (used + needed), np.uint64)
            heap[: layout.HEAP.width * used] = self.heap[: layout.HEAP.width * used]
            self.heap = heap


NO_RULES = MergeRules(np.zeros(0, np.int32), np.zeros(0, np.uint8), np.zeros(0, np.uint8), np.zeros(0, np.int32))


def merge_rules(base: int, size: int, rules: MergeRules | None = None) -> MergeRules:
    """Return rules with room for all tokens, of which there are `base` now; by default all may merge."""
    if rules is None:
        rules = MergeRules(np.ones(base, np.int32), np.zeros(base, np.uint8), np.zeros(1, np.uint8), NO_RULES.taken)
    lengths, classes = np.zeros(size + 2, np.int32), np.zeros(size + 2, np.uint8)
    lengths[:base], classes[:base] = rules.lengths, rules.classes
    return MergeRules(lengths, classes, rules.joined, rules.taken)


def train_settings(settings: Limits, threshold: int) -> NDArray[np.int64]:
    """Return a trainer's settings in the layout of the kernels."""
    found = np.zeros(layout.TRAIN.width, np.int64)
    found[layout.TRAIN.threshold], found[layout.TRAIN.floor] = threshold, max(1, settings.min_frequency)
    found[layout.TRAIN.vocab_size], found[layout.TRAIN.tie] = settings.vocab_size, TIES[settings.tie_break]
    found[layout.TRAIN.max_length] = settings.max_token_length or 0
    found[layout.TRAIN.specials] = len(settings.reserved)
    return found
