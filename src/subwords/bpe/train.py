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
    "read_words",
    "train_bpe",
]

TIES = {"ids": 0, "first": 1, "bytes": 2}
# Fields of the trainer's state and settings, as in kernels/bpe/index.py.
USED, HEAP, POSTINGS, TOKENS, MERGES, STRINGS, WORD = range(7)
SPAN, STRING = 6, 7
HEADER, ENTRY = 4, 4
EMPTY = np.iinfo(np.uint64).max
MOST_SYMBOLS = 2**32 - 1
PAUSE = 256  # merges between two looks at the progress line

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
    code_ids = np.full(256 if settings.byte_level else 0x110000, -1, np.int32)
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

    order = np.frombuffer(BYTES, np.uint8) if settings.byte_level else np.arange(0x110000)
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
    """The words as symbols, in the arena of kernels/bpe/index.py."""
    from subwords.kernels.bpe.index import fill_arena

    size = len(counts.data) + HEADER * len(counts)
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
    merges = loop.merges[: 3 * loop.state[MERGES]].astype(np.int64).reshape(-1, 3)
    return Vocab(loop.strings[: loop.state[STRINGS]].tobytes(), loop.offsets), merges


class _Loop:
    """The arrays of one training run."""

    def __init__(self, arena: NDArray[np.uint32], total: int, base: list[bytes], settings: Limits, prefix: int) -> None:
        self.arena, self.used = arena, len(arena) - 1
        self.size = settings.vocab_size
        self.state = np.zeros(7, np.int64)
        self.floor = max(1, settings.min_frequency)
        self.threshold = max(self.floor, total // (16 * self.size))
        self.longest = settings.max_token_length or 0
        self.tie = TIES[settings.tie_break]
        self.specials, self.prefix = len(settings.special_tokens), prefix
        self.merges = np.empty(3 * self.size, np.int32)
        self._name_base(base)

    def _name_base(self, base: list[bytes]) -> None:
        self.tokens = np.zeros(8 * (self.size + 2), np.int64)
        rows = self.tokens.reshape(-1, 8)
        rows[:, 4:6] = -1
        ends = np.cumsum([0, *map(len, base)])
        rows[: len(ends), STRING] = ends
        rows[: len(base), SPAN] = 1
        self.strings = np.empty(max(1 << 16, 16 * self.size + int(ends[-1])), np.uint8)
        self.strings[: ends[-1]] = np.frombuffer(b"".join(base), np.uint8)
        self.state[[TOKENS, STRINGS]] = len(base), ends[-1]

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each token's bytes begin in `strings`."""
        return self.tokens.reshape(-1, 8)[: self.state[TOKENS] + 1, STRING].copy()

    def run(self, on_step: Step) -> None:
        """Merge until there are enough tokens or no pair is frequent enough (B4)."""
        from subwords.kernels.bpe.index import DONE, EXHAUSTED, NEED_PAIRS, NEED_STRINGS, PAUSED
        from subwords.kernels.bpe.train import merge_pairs

        on_step("indexing", 0, 1)
        self._index()
        on_step("indexing", 1, 1)
        base = int(self.state[TOKENS])
        while True:  # PAUSE also bounds how long an interrupt waits
            settings = self._settings(int(self.state[MERGES]) + PAUSE)
            status = merge_pairs(
                self.arena, self.pairs, self.postings, self.heap, self.buffer, self.tokens, self.strings, self.merges,
                self.state, settings,
            )  # fmt: skip
            learned = int(self.state[TOKENS]) - base
            on_step("merging", learned, self.size - base)
            if status == NEED_PAIRS:
                self._grow_pairs()
            elif status == NEED_STRINGS:
                self.strings = np.concatenate([self.strings, np.empty_like(self.strings)])
            elif status == EXHAUSTED and self.threshold > self.floor:
                self.threshold = max(self.floor, self.threshold // 4)
                self._index()
            elif status != PAUSED:
                assert status in (DONE, EXHAUSTED)
                on_step("merging", learned, learned)
                return

    def _settings(self, pause: int) -> NDArray[np.int64]:
        settings = self.threshold, self.floor, self.size, self.tie, self.longest, pause, self.specials, self.prefix
        return np.array(settings, np.int64)

    def _index(self) -> None:
        """Read the words: count all pairs, keep the live ones, write their postings and the heap."""
        from subwords.kernels.bpe.index import NEED_PAIRS, count_pairs, fill_postings, move_pairs
        from subwords.kernels.bpe.train import start_heap

        every = _table(1 << 12)
        self.state[[USED, WORD]] = 0
        while count_pairs(self.arena, self.used, every, self.tokens, self.longest, self.state) == NEED_PAIRS:
            larger = _table(len(every) // ENTRY)
            move_pairs(every, larger, 0, 0, self.state)
            every = larger
        live = every.reshape(-1, ENTRY)
        number = int(np.count_nonzero((live[:, 0] != EMPTY) & (live[:, 1] >= np.uint64(self.threshold))))
        self.pairs = _table(number + 2 * self.size + 4)
        move_pairs(every, self.pairs, self.threshold, 1, self.state)
        symbols = self.used
        self.postings = zeros(3 * symbols + 64, np.uint32)
        self.buffer = zeros(2 * symbols + 64, np.uint32)
        self.heap = zeros(3 * (len(self.pairs) // ENTRY), np.uint64)
        fill_postings(self.arena, self.used, self.pairs, self.postings)
        start_heap(
            self.arena, self.pairs, self.postings, self.heap, self.tokens, self.strings, self.merges, self.state,
            self._settings(0),
        )  # fmt: skip

    def _grow_pairs(self) -> None:
        from subwords.kernels.bpe.index import move_pairs

        pairs = _table(2 * int(self.state[USED]) + 2 * self.size + 4)
        move_pairs(self.pairs, pairs, self.threshold, 0, self.state)
        self.pairs = pairs
        heap = np.empty(max(len(self.heap), 3 * (2 * int(self.state[HEAP]) + 2 * self.size + 4)), np.uint64)
        heap[: 3 * self.state[HEAP]] = self.heap[: 3 * self.state[HEAP]]
        self.heap = heap


def _table(pairs: int) -> NDArray[np.uint64]:
    """An empty table, less than half full with this many pairs."""
    table = zeros((1 << (2 * pairs).bit_length()) * ENTRY, np.uint64)
    table[:] = EMPTY
    return table
