"""The fast path of short texts and of batches: what comes before words in Python, the rest by addresses of kernels.

See `kernels/fastpath.py`. Whatever the fast path cannot do, callers do by the general path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.kernels.layout import Normalized
from subwords.kernels.plan_layout import BUFFER, FIELDS, MOST_STAGES, PLAN_FIELDS, SPARE, CallPlan, StagePlan, stage_row
from subwords.split.routes import CHUNK_TEXTS, CHUNK_WORDS, SplitBuffers, SplitCall, StageCall
from subwords.support.errors import InputError

if TYPE_CHECKING:
    from subwords.engine.encoder import EncoderState
    from subwords.models.segmenter import Segmenter, WordSource


class Finds(Protocol):
    """Finds strings in text."""

    def occurs(self, text: str) -> bool:
        """Whether one of the strings occurs."""


class Cuts(Finds, Protocol):
    """Finds tokens in text."""

    def cut(self, text: str) -> list[str | int]:
        """Return the ids of the tokens, and the text between them, in order."""


class FastPath(NamedTuple):
    """Functions of one short text; None means: nothing was done, use the general path."""

    encode: Callable[[object], list[int] | None]
    count_ids: Callable[[object], int | None]

    @classmethod
    def never(cls) -> FastPath:
        """Return functions that always return None."""
        return cls(_nothing, _nothing)

    @property
    def works(self) -> bool:
        """Whether the functions ever return a result."""
        return self.encode is not _nothing

    def unless(self, found: Finds | None) -> FastPath:
        """Return the functions for texts in which strings do not occur."""
        if not found:
            return self
        occurs = found.occurs

        def checked(function: Callable[[object], Any]) -> Callable[[object], Any]:
            return lambda text: None if type(text) is not str or occurs(text) else function(text)

        return FastPath(*map(checked, self))

    def after(self, change: Callable[[str], str]) -> FastPath:
        """Return the functions for texts that are changed first; not for those for which `change` raises InputError."""

        def changed(function: Callable[[object], Any]) -> Callable[[object], Any]:
            def call(text: object) -> Any:
                if type(text) is not str or len(text) > layout.SHORT_TEXT:
                    return None
                try:
                    return function(change(text))
                except InputError:
                    return None

            return call

        return FastPath(*map(changed, self))

    def around(self, tokens: Cuts) -> FastPath:
        """Return the functions for texts with tokens, each of which is one id."""
        if not tokens:
            return self
        occurs, cut = tokens.occurs, tokens.cut

        def joined(
            function: Callable[[object], Any], kind: Callable[[], Any], of_token: Callable[[int], Any]
        ) -> Callable[[object], Any]:
            def call(text: object) -> Any:
                if type(text) is not str or len(text) > layout.SHORT_TEXT:
                    return None
                if not occurs(text):
                    return function(text)
                found = kind()
                for part in cut(text):
                    more = of_token(part) if type(part) is int else function(part)
                    if more is None:
                        return None
                    found += more
                return found

            return call

        return FastPath(joined(self.encode, list, lambda token: [token]), joined(self.count_ids, int, lambda token: 1))


def _nothing(text: object) -> None:
    """Do nothing."""


class FastPathSlot(NamedTuple):
    """Built-in functions of one encoder, and those around the slot that has their call plan, and its state."""

    encode: Callable[[object], list[int] | None]
    count_ids: Callable[[object], int | None]
    take: Callable[[], tuple[CallPlan, EncoderState] | None]
    put: Callable[[tuple[CallPlan, EncoderState]], bool]


def new_slot() -> FastPathSlot:
    """Return the functions around a new slot."""
    from subwords.kernels.entry import api, built_in
    from subwords.kernels.named import count_text, fast_encode, put_plan, take_plan

    carried = api(), [None]
    return FastPathSlot(
        built_in(fast_encode, carried),
        built_in(count_text, carried),
        built_in(take_plan, carried, argument=False),
        built_in(put_plan, carried),
    )


def has_fast_path(segmenter: Segmenter, splitter: WordSource) -> SplitCall | None:
    """Return the calls before those of the segmenter; None if more is to do, or if the fast path is not available."""
    from subwords.kernels.entry import available

    call = splitter.fast_path(SplitBuffers()) if available() and not segmenter.joins else None
    return call if call is not None and len(call.stages) <= MOST_STAGES else None


def new_plan(state: EncoderState, call: SplitCall, *, prefixed: bool, marked: bool) -> CallPlan:
    """Return a call plan for a state; see `Encoder.prefixed` and `Encoder.marked`."""
    from subwords.kernels.entry import address_of

    drops, fields = call.drops is not None, np.zeros(PLAN_FIELDS, np.int64)
    for field, kernel in ((FIELDS.split, call.kernel), (FIELDS.keep, call.keep)):
        fields[field] = 0 if kernel is None else address_of(kernel)
    fields[FIELDS.encode] = address_of(state.segmenter.kernel)
    fields[FIELDS.two_tables], fields[FIELDS.stages] = len(call.tables) == 2, len(call.stages)
    fields[FIELDS.prefixed], fields[FIELDS.marked] = prefixed, marked
    for number, stage in enumerate(call.stages):
        fields[stage_row(number)] = address_of(stage.kernel), stage.scratch is not None, stage.fourth
    return CallPlan(
        fields=fields,
        buffer=np.empty(BUFFER + SPARE, np.uint8),
        bounds=np.zeros(CHUNK_TEXTS + 1, np.int64),
        tables=call.tables[0],
        tail=call.tables[-1],
        word_ends=state.buffers.ends,
        text_ends=state.buffers.text_ends,
        drops=call.drops,
        kept_text=np.empty(BUFFER * (1 + call.widens) + layout.LANES if drops else 0, np.uint8),
        kept_ends=np.empty(CHUNK_WORDS + 1 if drops else 0, np.uint32),
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
