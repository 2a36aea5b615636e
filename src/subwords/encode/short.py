"""Short texts, by built-in functions that call the kernels directly; see `kernels/door_encode.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from subwords.kernels.layout import LANES, PROGRESS, SHORT_TEXT, Normalized
from subwords.split.routes import Direct, DirectStage, SplitBuffers

if TYPE_CHECKING:
    from subwords.encode.segmenter import Segmenter, WordSource
    from subwords.kernels.door_encode import Door, Hand, Kept, Plan, Working

MOST_STAGES = 4  # of a normalizer

__all__ = ["door_of", "hand_of", "plan_of"]


def plan_of(segmenter: Segmenter, splitter: WordSource, *, prefixed: bool, marked: bool, many: bool) -> Plan | None:
    """Return the kernels of an encoder for one text or `many`; None if there is more to do, or if there are no doors.

    prefixed: a space is put before a text. marked: a text with U+2581 goes the other way.
    """
    from subwords.kernels.door import opens

    direct = splitter.direct(SplitBuffers()) if opens() and not segmenter.joins else None
    if direct is None or len(direct.stages) > MOST_STAGES:
        return None
    from subwords.kernels.door_encode import Plan, StagePlan

    return Plan(
        stages=tuple(StagePlan(stage.kernel, stage.scratch is not None, stage.fourth) for stage in direct.stages),
        split=direct.many if many else direct.kernel,
        tables=len(direct.tables),
        keep=direct.keep,
        encode=segmenter.kernel,
        prefixed=prefixed,
        marked=marked or direct.marked,
    )


def door_of(segmenter: Segmenter, splitter: WordSource, *, prefixed: bool, marked: bool) -> Door | None:
    """Return the door of an encoder; see `plan_of`."""
    plan = plan_of(segmenter, splitter, prefixed=prefixed, marked=marked, many=False)
    if plan is None:
        return None
    from subwords.kernels import door_encode

    return door_encode.door_of(plan)


def hand_of(state: Any, splitter: WordSource) -> Hand:
    """Return what a door needs of the state of a thread: the hand that came from the door, if it is still right."""
    # A state has its hand only while it is in use: otherwise the two would keep each other.
    hand: Hand | None = state.hand
    state.hand = None
    if hand is not None and hand.workspace is state.workspace:
        return hand
    from subwords.kernels.door_encode import Hand

    buffers = state.buffers
    if buffers.direct is None:
        direct = splitter.direct(buffers)
        assert direct is not None
        before = np.empty(SHORT_TEXT + 1, np.uint8)
        buffers.direct = direct.tables, _kept(direct), before, tuple(map(_working, direct.stages))
    tables, kept, before, stages = buffers.direct
    return Hand(
        tables=tables[0],
        tail=tables[-1],
        ends=buffers.ends,
        none=state.none,
        out=state.out,
        workspace=state.workspace,
        counters=state.counters,
        kept=kept,
        before=before,
        stages=stages,
        state=state,
    )


def _kept(direct: Direct) -> Kept | None:
    if direct.drops is None:
        return None
    from subwords.kernels.door_encode import ROOM, Kept

    text = np.empty(ROOM * (1 + direct.widens) + LANES, np.uint8)
    return Kept(np.zeros(1, np.int64), direct.drops, text, np.empty(ROOM, np.uint32))


def _working(stage: DirectStage) -> Working:
    from subwords.kernels.door_encode import ROOM, Working

    out = Normalized(np.empty(ROOM, np.uint8), np.empty(0, np.int64), np.zeros(2, np.int64))
    return Working(stage.tables, stage.scratch, out, np.zeros(2, np.int64), np.zeros(PROGRESS, np.int64))
