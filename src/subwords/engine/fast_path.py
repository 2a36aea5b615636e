"""The fast path of short texts and of batches: what comes before words in Python, the rest by addresses of kernels.

See `kernels/fastpath.py`. Whatever the fast path cannot do, callers do by the general path.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.kernels.layout import Normalized
from subwords.kernels.named import fast_rows, fast_text
from subwords.kernels.plan_layout import (
    BUFFER,
    FIELDS,
    MOST_AROUND,
    MOST_STAGES,
    NEVER,
    PLAN_FIELDS,
    SPARE_BYTES,
    WORD_ENDS,
    CallPlan,
    StagePlan,
    stage_row,
)
from subwords.spec.token_batch import list_functions
from subwords.split.routes import CHUNK_TEXTS, SplitBuffers, SplitCall, StageCall
from subwords.support.errors import InputError

if TYPE_CHECKING:
    from subwords.engine.encoder import EncoderState
    from subwords.kernels.entry import Kernel
    from subwords.models.segmenter import Segmenter, WordSource


class Cuts(Protocol):
    """Finds tokens in text."""

    def occurs(self, text: str) -> bool:
        """Whether one of the tokens occurs."""

    def cut(self, text: str) -> list[str | int]:
        """Return the ids of the tokens, and the text between them, in order."""


Around: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]  # the ids before and after those of a text
Pieces: TypeAlias = Callable[[object], "list[int] | None"]
NOTHING_AROUND: Around = ((), ())
LONGEST_SCRATCH = 1 << 16  # bytes of a word; buffers for a longer word are freed after the text
FEW_IDS = 256  # that are as fast made anew
MOST_POLICIES = 64  # sets of special tokens whose functions are kept


def make_room(state: EncoderState, plan: CallPlan) -> bool:
    """Provide what the encoding kernel of a call stopped for: whether it can go on."""
    status = plan.numbers[FIELDS.status]
    if status == layout.NEED_SCRATCH and state.counters[layout.COUNTER.needed] > LONGEST_SCRATCH:
        return False
    return state.make_room(status)


class FastPath:
    """Functions of one short text, or of a few; None means: nothing was done, use the general path.

    slot: of the encoder; None if no function does anything. strings: texts with one of them need the general path.
    around: the ids around those of a text. pieces: the ids of a text that has tokens, without these.
    Row: calls, "encode(line) to a list": 8.5 us without it, 0.8 with it when it was made.
    """

    def __init__(
        self,
        slot: FastPathSlot | None,
        strings: Sequence[str] = (),
        around: Around = NOTHING_AROUND,
        pieces: Pieces | None = None,
    ) -> None:
        self._slot, self._around, self._pieces = slot, around, pieces
        if slot is None or sum(map(len, around)) > MOST_AROUND:
            self._slot = None
        else:
            self._strings = string_table(strings)

    @property
    def works(self) -> bool:
        """Whether the functions of whole texts ever return a result."""
        return self._slot is not None

    @cached_property
    def encode(self) -> Callable[[object], list[int] | None]:
        """The ids of a text as a list."""
        return self._function(fast_text, layout.AS_LIST)

    @cached_property
    def count_ids(self) -> Callable[[object], int | None]:
        """How many these are."""
        return self._function(fast_text, layout.AS_NUMBER)

    @cached_property
    def array(self) -> Callable[[object], NDArray[np.uint32] | None]:
        """The ids of a text as an array."""
        return self._function(fast_text, layout.AS_ARRAY)

    @cached_property
    def rows(self) -> Callable[[object], list[NDArray[Any]] | None]:
        """The ids of a list of texts and their offsets, as in `TokenBatch`; without ids around them.

        Row: calls_special, "BERT, 32 sentences to padded arrays": 52 us without it, 25 with it.
        """
        return self._function(fast_rows)

    def _function(self, kernel: Kernel, form: int = layout.AS_ARRAY) -> Callable[[object], Any]:
        if self._slot is None:
            return _nothing
        from subwords.kernels.entry import api, built_in

        held, ints, (before, after) = self._slot.held, self._slot.ints, self._around
        arrays = self._strings, np.array([len(before), len(after), form, *before, *after], np.int64), ints.array
        kinds = map(np.dtype, (np.uint32, np.int64))
        # The last item is there for its end, which is that of the last function.
        return built_in(kernel, (api(), held, *arrays, make_room, np.empty, *kinds, ints))

    def listed(self, ids: NDArray[np.uint32]) -> list[int]:
        """Return ids as a list of ints that are made once.

        Row: requests_lists, "GPT-2": 15 ns an id without it, 5 with it.
        """
        found: list[int]
        if self._slot is None or len(ids) < FEW_IDS:
            found = ids.tolist()
        else:
            make, _ = list_functions()
            (found,) = make((ids, np.array([0, len(ids)]), np.array([0, 1]), self._slot.ints.array))
        return found

    def count(self, text: object) -> int | None:
        """Return how many ids a text has."""
        if (found := self.count_ids(text)) is None and (ids := self.in_pieces(text)) is not None:
            return len(ids)
        return found

    def in_pieces(self, text: object) -> list[int] | None:
        """Return the ids of a text that has tokens."""
        if self._pieces is None or (found := self._pieces(text)) is None:
            return None
        before, after = self._around
        return [*before, *found, *after]

    def array_in_pieces(self, text: object) -> NDArray[np.uint32] | None:
        """Return the ids of a text that has tokens as an array."""
        found = self.in_pieces(text)
        return None if found is None else np.frombuffer(array("I", found), np.uint32)  # np.array: 3 times as long


class FastPaths(dict[str | frozenset[str], FastPath]):
    """The fast path for each way to treat special tokens; for anything else one that does nothing."""

    def __init__(self, make: Callable[[str | frozenset[str], Around], FastPath], around: Around | None) -> None:
        super().__init__()
        self._make, self._around = make, around

    def of(self, special: object) -> FastPath:
        """Return the fast path; special: also a set of tokens."""
        if isinstance(special, str):  # first: to ask for a set takes 0.27 us of 0.9
            return self[special]
        return self[frozenset(special)] if isinstance(special, AbstractSet) else FastPath(None)

    def __missing__(self, special: str | frozenset[str]) -> FastPath:
        try:
            found = FastPath(None) if self._around is None else self._make(special, self._around)
        except InputError:
            return FastPath(None)
        if len(self) >= MOST_POLICIES:
            self.clear()
        self[special] = found
        return found


def string_table(strings: Iterable[str]) -> NDArray[np.int64]:
    """Return strings in the layout of `kernels.fastpath.occurs`."""
    groups: dict[int, list[bytes]] = {}
    for string in strings:
        groups.setdefault(string.encode()[0], []).append(string.encode())
    found = bytearray(8 * 257)
    found[0] = bool(groups)
    for first, group in groups.items():
        found[8 + 8 * first : 16 + 8 * first] = len(found).to_bytes(8, "little")
        least, most = min(group), max(group)  # all begin with what these two begin with
        same = next((k for k, (a, b) in enumerate(zip(least, most, strict=False)) if a != b), len(least))
        found += same.to_bytes(8, "little")
        for data in group:
            found += len(data).to_bytes(8, "little") + data + bytes(-len(data) % 8)
        found += bytes(8)
    return np.frombuffer(bytes(found), np.int64)


def between(tokens: Cuts, encode: Pieces) -> Pieces:
    """Return the function for texts with tokens, each of which is one id; `encode` is for the text between them."""
    if not tokens:
        return encode
    occurs, cut = tokens.occurs, tokens.cut

    def call(text: object) -> list[int] | None:
        if type(text) is not str or len(text) > layout.SHORT_TEXT:
            return None
        if not occurs(text):
            return encode(text)
        found: list[int] = []
        for piece in cut(text):
            more = [piece] if type(piece) is int else encode(piece)
            if more is None:
                return None
            found += more
        return found

    return call


def changed_first(change: Callable[[str], str], encode: Pieces) -> Pieces:
    """Return the function for texts that are changed first; not for those for which `change` raises InputError."""

    def call(text: object) -> list[int] | None:
        if type(text) is not str or len(text) > layout.SHORT_TEXT:
            return None
        try:
            return encode(change(text))
        except InputError:
            return None

    return call


def _nothing(text: object) -> None:
    """Do nothing."""


class FastPathSlot(NamedTuple):
    """Where built-in functions of one encoder find its call plan and its state, and the functions around that."""

    held: list[Any]
    ints: Ints
    take: Callable[[], tuple[CallPlan, EncoderState] | None]
    put: Callable[[tuple[CallPlan, EncoderState]], bool]


class Ints:
    """The int of each id below `size`, made when a list first has it: `array` has the size, then addresses or 0."""

    def __init__(self, size: int) -> None:
        from subwords.kernels.entry import api, built_in
        from subwords.kernels.named import release_ints

        self.array = np.zeros(size + 1, np.int64)
        self.array[0] = size
        self._release = built_in(release_ints, (api(),))

    def __del__(self) -> None:
        self._release(self.array[1:])


def new_slot(size: int) -> FastPathSlot:
    """Return a new slot; size: of the vocabulary."""
    from subwords.kernels.entry import api, built_in
    from subwords.kernels.named import put_plan, take_plan

    held: list[Any] = [None]
    carried = api(), held
    return FastPathSlot(held, Ints(size), built_in(take_plan, carried, argument=False), built_in(put_plan, carried))


def has_fast_path(segmenter: Segmenter, splitter: WordSource) -> SplitCall | None:
    """Return the calls before those of the segmenter; None if more is to do, or if the fast path is not available."""
    from subwords.kernels.entry import available

    call = splitter.fast_path(SplitBuffers()) if available() and not segmenter.joins else None
    return call if call is not None and len(call.stages) <= MOST_STAGES else None


def new_plan(state: EncoderState, call: SplitCall, *, prefixed: bool, marked: bool) -> CallPlan:
    """Return a call plan for a state; see `Encoder.prefixed` and `Encoder.marked`."""
    from subwords.kernels.entry import address_of

    drops, fields = call.drops is not None, np.zeros(PLAN_FIELDS, np.int64)
    kernels = (FIELDS.split, call.kernel), (FIELDS.keep, call.keep), (FIELDS.ascii_split, call.ascii_kernel)
    for field, kernel in kernels:
        fields[field] = 0 if kernel is None else address_of(kernel)
    fields[FIELDS.encode] = address_of(state.segmenter.kernel)
    fields[FIELDS.wide] = 0 if state.segmenter.has_cuts else NEVER
    fields[FIELDS.two_tables], fields[FIELDS.stages] = len(call.tables) == 2, len(call.stages)
    fields[FIELDS.prefixed], fields[FIELDS.marked], fields[FIELDS.room] = prefixed, marked, BUFFER
    for number, stage in enumerate(call.stages):
        fields[stage_row(number)] = address_of(stage.kernel), stage.scratch is not None
    return CallPlan(
        fields=fields,
        buffer=np.empty(BUFFER + SPARE_BYTES, np.uint8),
        bounds=np.zeros(CHUNK_TEXTS + 1, np.int64),
        tables=call.tables[0],
        tail=call.tables[-1],
        ascii_tables=call.ascii_tables or None,
        word_ends=state.word_ends,
        text_ends=state.buffers.text_ends,
        drops=call.drops,
        kept_text=np.empty(BUFFER * (1 + call.widens) + layout.LANES if drops else 0, np.uint8),
        kept_ends=np.empty(WORD_ENDS if drops else 0, np.uint32),
        stages=tuple(map(_stage_plan, call.stages)),
        counters=state.counters,
        numbers=memoryview(fields.data),
    )


def _stage_plan(stage: StageCall) -> StagePlan:
    out = Normalized(
        np.empty(BUFFER + 2 * layout.BLOCK_GROWTH, np.uint8), np.empty(0, np.int64), np.zeros(CHUNK_TEXTS + 1, np.int64)
    )
    return StagePlan(stage.tables, stage.scratch, out, np.zeros(layout.PROGRESS.width, np.int64))


def text_of_words(plan: CallPlan) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """Return the text that the words of a plan's last texts are of, and more room; and the array of their ends."""
    if plan.drops is not None:
        return plan.kept_text, plan.kept_ends
    return (plan.stages[-1].out.text if plan.stages else plan.buffer), plan.word_ends
