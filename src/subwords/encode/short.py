"""Short texts, by built-in functions that call the kernels directly; see `kernels/door.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from subwords.kernels.layout import SHORT_TEXT
from subwords.split.routes import SplitBuffers

if TYPE_CHECKING:
    from subwords.encode.encoder import Segmenter, WordSource
    from subwords.kernels.door_encode import Door, Hand

__all__ = ["door_of", "hand_of"]


def door_of(segmenter: Segmenter, splitter: WordSource) -> Door | None:
    """Return the door of an encoder; None if its texts need more than two kernels, or if there are no doors."""
    from subwords.kernels.door import opens

    direct = splitter.direct(SplitBuffers()) if opens() else None
    if direct is None:
        return None
    from subwords.kernels import door_encode

    return door_encode.door_of(direct.kernel, len(direct.arguments), segmenter.kernel, SHORT_TEXT)


def hand_of(state: Any, splitter: WordSource) -> Hand:
    """Return what a door needs of the state of a thread."""
    from subwords.kernels.door_encode import Hand

    direct = splitter.direct(state.buffers)
    assert direct is not None
    tables, tail = (*direct.arguments, state.none)[:2]
    counters = state.counters
    return Hand(tables, tail, state.buffers.ends, state.none, state.out, state.workspace, counters, state)
