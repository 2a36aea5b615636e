"""BPE training: word counts to a model. Python decides, kernels loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from subwords.bpe.model import BPE, MOST_IDS
from subwords.components.byte_alphabet import BYTES
from subwords.components.vocab import Vocab
from subwords.corpus.counts import MOST, WordCounts
from subwords.errors import InputError, TrainingError
from subwords.kernels.layout import CODE_POINTS, DONE, EXHAUSTED, MISSING, NEED_PAIRS, NEED_STRINGS, PAUSED
from subwords.kernels.train_layout import (
    ARENA_AT,
    BUFFER_ROW,
    FLOOR,
    HEAP_ROW,
    HEAP_SIZE,
    LAST_LEFT,
    LAST_RIGHT,
    MAX_LENGTH,
    MERGE_ROW,
    MERGES,
    NO_KEY,
    PAIR_COUNT,
    PAIR_KEY,
    PAIR_ROW,
    PAIRS_USED,
    PAUSE,
    PREFIX_BYTES,
    SPAN,
    SPECIALS,
    STRING,
    STRINGS_USED,
    THRESHOLD,
    TIE,
    TIE_BYTES,
    TIE_FIRST,
    TIE_IDS,
    TOKEN_ROW,
    TOKENS,
    TRAIN_COUNTERS,
    TRAIN_SETTINGS,
    VOCAB_SIZE,
    WORD_HEADER,
    MergeTraining,
)
from subwords.support.checks import check_choice, check_flag, check_integer, check_strings, check_token
from subwords.support.memory import zeros

__all__ = [
    "TIES",
    "BPESettings",
    "Limits",
    "Step",
    "check_limits",
    "check_room",
    "check_words",
    "merge_words",
    "pairs_of",
    "read_words",
    "train_bpe",
    "train_settings",
]

TIES = {"ids": TIE_IDS, "first": TIE_FIRST, "bytes": TIE_BYTES}
MOST_SYMBOLS = 2**32 - 1
BETWEEN_LOOKS = 256  # merges between two updates of the progress line

Step = Callable[[str, int, int], object]  # a phase, how many of its steps are done, and how many are expected


class Limits(Protocol):
    """What every trainer that merges is told."""

    @property
    def vocab_size(self) -> int:
        """How many tokens there are to be."""

    @property
    def special_tokens(self) -> Sequence[str]:
        """Tokens that are there from the start."""

    @property
    def tie_break(self) -> str:
        """One of TIES."""

    @property
    def min_frequency(self) -> int:
        """The least count of a merged pair."""

    @property
    def max_token_length(self) -> int | None:
        """The most symbols of a token."""

    @property
    def limit_alphabet(self) -> int | None:
        """How many symbols to keep."""


@dataclass(frozen=True, kw_only=True)
class BPESettings:
    """What to learn; see `subwords.train`."""

    vocab_size: int
    byte_level: bool = True
    alphabet: Literal["full", "corpus"] = "full"
    special_tokens: Sequence[str] = ()
    tie_break: Literal["ids", "first", "bytes"] = "ids"
    min_frequency: int = 0
    max_token_length: int | None = None
    limit_alphabet: int | None = None
    unk_token: str | None = None

    def __post_init__(self) -> None:
        check_limits(self)
        check_flag("byte_level", self.byte_level)
        check_choice("alphabet", self.alphabet, ("full", "corpus"))
        if self.unk_token is not None:
            check_token("unk_token", self.unk_token)
            if self.unk_token not in self.special_tokens:
                raise InputError(f"expected unk_token {self.unk_token!r} to be among special_tokens")
        if self.byte_level and self.alphabet == "full" and self.limit_alphabet is None:
            check_room(256, self)


def check_limits(settings: Limits) -> None:
    """Raise InputError where special tokens, a number or the tie rule cannot be used; special tokens become a tuple."""
    # As a tuple, for an iterator can be read once only.
    object.__setattr__(settings, "special_tokens", check_strings("special_tokens", settings.special_tokens))
    check_integer("vocab_size", settings.vocab_size, 1, MOST_IDS)
    check_integer("min_frequency", settings.min_frequency, 0, MOST)
    for name in ("max_token_length", "limit_alphabet"):
        if getattr(settings, name) is not None:
            check_integer(name, getattr(settings, name), 1, MOST)
    check_choice("tie_break", settings.tie_break, TIES)


def check_room(symbols: int, settings: Limits) -> None:
    """Raise TrainingError where vocab_size does not hold the alphabet and the special tokens (B6)."""
    specials = len(settings.special_tokens)
    if symbols + specials > settings.vocab_size:
        raise TrainingError(
            f"expected vocab_size to hold the {symbols} symbols of the alphabet and {specials} special tokens, "
            f"{symbols + specials} in all; it is {settings.vocab_size}. Raise it, or set limit_alphabet"
        )


def check_words(counts: WordCounts) -> None:
    """Raise TrainingError where there is nothing to learn from."""
    if not len(counts):
        raise TrainingError("expected words to learn from; the corpus is empty")


def train_bpe(
    counts: WordCounts, settings: BPESettings, *, threads: int | None = None, on_step: Step | None = None
) -> BPE:
    """Learn a model from word counts (B1-B7); TrainingError says what does not fit.

    `on_step` is called with the name of a phase, and how many of its steps are done and expected: "indexing" of the
    words, and "merging", of which a step is a token.
    """
    check_words(counts)
    symbols = _alphabet(counts, settings)
    specials = [token.encode() for token in settings.special_tokens]
    names = [_name(symbol, settings) for symbol in symbols]
    base = [*specials, *(name for name in names if name not in set(specials))]
    check_room(len(base) - len(specials), settings)
    ids = {name: i for i, name in reversed(list(enumerate(base)))}
    code_ids = np.full(256 if settings.byte_level else CODE_POINTS, MISSING, np.int32)
    code_ids[symbols] = [ids[name] for name in names]
    vocab, merges = merge_words(read_words(counts, code_ids), counts.total, base, settings, on_step)
    unk_id = None if settings.unk_token is None else ids[settings.unk_token.encode()]
    special_ids = frozenset(range(len(specials)))
    return BPE(vocab, merges, byte_level=settings.byte_level, unk_id=unk_id, special_ids=special_ids)


def _name(symbol: int, settings: BPESettings) -> bytes:
    return bytes([symbol]) if settings.byte_level else chr(symbol).encode()


def _alphabet(counts: WordCounts, settings: BPESettings) -> list[int]:
    """The bytes or code points to start from, in the order of their ids (B3, B6)."""
    from subwords.kernels.bpe.index import symbol_weights

    order = np.frombuffer(BYTES, np.uint8) if settings.byte_level else np.arange(CODE_POINTS)
    full = settings.byte_level and settings.alphabet == "full"
    if full and settings.limit_alphabet is None:
        return list(BYTES)
    weights = np.zeros(len(order), np.uint64)
    symbol_weights(counts.data, counts.offsets, counts.counts, int(not settings.byte_level), weights)
    kept = order if full else order[weights[order] > 0]
    if settings.limit_alphabet is not None and settings.limit_alphabet < len(kept):
        # The most frequent ones; a stable sort lets the earlier symbol win a tie.
        order = np.argsort(np.iinfo(np.int64).max - weights[kept].astype(np.int64), kind="stable")
        kept = kept[np.sort(order[: settings.limit_alphabet])]
    symbols: list[int] = kept.tolist()
    return symbols


def read_words(counts: WordCounts, symbol_ids: NDArray[np.int32]) -> NDArray[np.uint32]:
    """The words as symbols: the arena of kernels/bpe/index.py."""
    from subwords.kernels.bpe.index import fill_arena

    size = len(counts.data) + WORD_HEADER * len(counts)
    if counts.total * (1 + int(np.diff(counts.offsets).max())) >= 2**63 or size > MOST_SYMBOLS:
        raise TrainingError(f"expected fewer than 2**32 symbols and 2**63 pairs; {counts!r} has more")
    arena = zeros(size + len(counts.data), np.uint32)
    used = fill_arena(counts.data, counts.offsets, counts.counts, symbol_ids, arena)
    words: NDArray[np.uint32] = arena[: used + 1]
    return words


def merge_words(
    arena: NDArray[np.uint32],
    total: int,
    base: list[bytes],
    settings: Limits,
    on_step: Step | None = None,
    *,
    prefix: int = 0,
) -> tuple[Vocab, NDArray[np.int64]]:
    """Learn tokens from words of `base` tokens, `total` words in all; the vocabulary, and left, right, merged a merge.

    `prefix`: how many bytes of the right token a merge leaves out.
    """
    loop = _Loop(arena, total, base, settings, prefix)
    loop.run(on_step or (lambda phase, done, total: None))
    merges = loop.merges[: MERGE_ROW * loop.counters[MERGES]].astype(np.int64).reshape(-1, MERGE_ROW)
    return Vocab(loop.strings[: loop.counters[STRINGS_USED]].tobytes(), loop.offsets), merges


class _Loop:
    """The arrays of one training run."""

    def __init__(self, arena: NDArray[np.uint32], total: int, base: list[bytes], settings: Limits, prefix: int) -> None:
        self.arena, self.used = arena, len(arena) - 1
        self.size = settings.vocab_size
        self.counters = np.zeros(TRAIN_COUNTERS, np.int64)
        self.settings = train_settings(settings, max(1, settings.min_frequency, total // (16 * self.size)))
        self.settings[PREFIX_BYTES] = prefix
        self.merges = np.empty(MERGE_ROW * self.size, np.int32)
        self._name_base(base)

    def _name_base(self, base: list[bytes]) -> None:
        self.tokens = np.zeros(TOKEN_ROW * (self.size + 2), np.int64)
        rows = self.tokens.reshape(-1, TOKEN_ROW)
        rows[:, [LAST_LEFT, LAST_RIGHT]] = -1
        ends = np.cumsum([0, *map(len, base)])
        rows[: len(ends), STRING] = ends
        rows[: len(base), SPAN] = 1
        self.strings = np.empty(max(1 << 16, 16 * self.size + int(ends[-1])), np.uint8)
        self.strings[: ends[-1]] = np.frombuffer(b"".join(base), np.uint8)
        self.counters[[TOKENS, STRINGS_USED]] = len(base), ends[-1]

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each token's bytes begin in `strings`."""
        return self.tokens.reshape(-1, TOKEN_ROW)[: self.counters[TOKENS] + 1, STRING].copy()

    def run(self, on_step: Step) -> None:
        """Merge until there are enough tokens or no pair is frequent enough (B4)."""
        from subwords.kernels.bpe.train import merge_pairs

        on_step("indexing", 0, 1)
        self._index()
        on_step("indexing", 1, 1)
        base = int(self.counters[TOKENS])
        while True:  # BETWEEN_LOOKS also limits how long an interrupt waits
            self.settings[PAUSE] = self.counters[MERGES] + BETWEEN_LOOKS
            status = merge_pairs(self._training)
            learned = int(self.counters[TOKENS]) - base
            on_step("merging", learned, self.size - base)
            if status == NEED_PAIRS:
                self._grow_pairs()
            elif status == NEED_STRINGS:
                self.strings = np.concatenate([self.strings, np.empty_like(self.strings)])
            elif status == EXHAUSTED and self.settings[THRESHOLD] > self.settings[FLOOR]:
                self.settings[THRESHOLD] = max(self.settings[FLOOR], self.settings[THRESHOLD] // 4)
                self._index()
            elif status != PAUSED:
                assert status in (DONE, EXHAUSTED)
                on_step("merging", learned, learned)
                return

    @property
    def _training(self) -> MergeTraining:
        """All that the kernel works on."""
        return MergeTraining(
            self.arena,
            self.pairs,
            self.postings,
            self.heap,
            self.buffer,
            self.tokens,
            self.strings,
            self.merges,
            self.counters,
            self.settings,
        )

    def _index(self) -> None:
        """Read the words: count all pairs, keep the live ones, write their postings and the heap."""
        from subwords.kernels.bpe.index import fill_postings, move_pairs
        from subwords.kernels.bpe.train import start_heap

        threshold = int(self.settings[THRESHOLD])
        every, number = pairs_of(self.arena, self.used, self.tokens, self.settings, self.counters)
        self.pairs = pair_table(number + 2 * self.size + 4)
        move_pairs(every, self.pairs, threshold, 1, self.counters)
        symbols = self.used
        self.postings = zeros(3 * symbols + 64, np.uint32)
        self.buffer = zeros(BUFFER_ROW * symbols + 64, np.uint32)
        self.heap = zeros(HEAP_ROW * (len(self.pairs) // PAIR_ROW), np.uint64)
        fill_postings(self.arena, self.used, self.pairs, self.postings)
        start_heap(self._training)

    def _grow_pairs(self) -> None:
        from subwords.kernels.bpe.index import move_pairs

        pairs = pair_table(2 * int(self.counters[PAIRS_USED]) + 2 * self.size + 4)
        move_pairs(self.pairs, pairs, int(self.settings[THRESHOLD]), 0, self.counters)
        self.pairs = pairs
        used = HEAP_ROW * int(self.counters[HEAP_SIZE])
        heap = np.empty(max(len(self.heap), 2 * used + HEAP_ROW * (2 * self.size + 4)), np.uint64)
        heap[:used] = self.heap[:used]
        self.heap = heap


def train_settings(settings: Limits, threshold: int) -> NDArray[np.int64]:
    """Return the settings of a trainer as kernels read them."""
    found = np.zeros(TRAIN_SETTINGS, np.int64)
    found[THRESHOLD], found[FLOOR] = threshold, max(1, settings.min_frequency)
    found[VOCAB_SIZE], found[TIE] = settings.vocab_size, TIES[settings.tie_break]
    found[MAX_LENGTH], found[SPECIALS] = settings.max_token_length or 0, len(settings.special_tokens)
    return found


def pairs_of(
    arena: NDArray[np.uint32],
    used: int,
    tokens: NDArray[np.int64],
    settings: NDArray[np.int64],
    counters: NDArray[np.int64],
) -> tuple[NDArray[np.uint64], int]:
    """Count all pairs of the words: the table, and how many pairs reach the threshold."""
    from subwords.kernels.bpe.index import count_pairs, move_pairs

    every = pair_table(1 << 12)
    counters[[PAIRS_USED, ARENA_AT]] = 0
    while count_pairs(arena, used, every, tokens, int(settings[MAX_LENGTH]), counters) == NEED_PAIRS:
        larger = pair_table(len(every) // PAIR_ROW)
        move_pairs(every, larger, 0, 0, counters)
        every = larger
    rows = every.reshape(-1, PAIR_ROW)
    live = (rows[:, PAIR_KEY] != NO_KEY) & (rows[:, PAIR_COUNT] >= np.uint64(settings[THRESHOLD]))
    return every, int(np.count_nonzero(live))


def pair_table(pairs: int) -> NDArray[np.uint64]:
    """Return an empty table, less than half full with this many pairs."""
    table = zeros((1 << (2 * pairs).bit_length()) * PAIR_ROW, np.uint64)
    table[:] = NO_KEY
    return table
