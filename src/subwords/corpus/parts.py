"""Parts: text of a corpus, cut only where a cut changes no word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.blocks import Block
from subwords.corpus.specials import CorpusPart, Specials

__all__ = ["Cut", "cut_blocks"]


class Cut(Protocol):
    """Says where a text may be cut, as `Splitter.cut` and `Pipeline.cut` do."""

    def __call__(self, text: NDArray[np.uint8], at: int, *, begins: bool = True) -> int:
        """Return a position in text[:at] where a cut changes no word, or 0; begins: whether a document starts here."""


def cut_blocks(
    blocks: Iterable[Block], cut_of: Cut | None, specials: Specials, *, context: int = 0
) -> Iterator[CorpusPart]:
    """Cut blocks outside of words and special tokens; the text after the last cut is joined to the next block.

    cut_of: None cuts only between documents. context: bytes before a cut that decide about it, besides a character.
    """
    waiting: list[bytes] = []
    held = place = number = started = 0
    begins_text = True
    for block in blocks:
        after_special, data, ends = False, block.data, block.ends
        whole = begins = int(ends[-1]) if len(ends) else 0
        if begins < len(data) and cut_of is not None:
            # Only the last text of the block: what is before its beginning must not decide about a cut.
            last = np.frombuffer(data, np.uint8)[begins:]
            begun = len(ends) > 0 or (begins_text and not waiting)
            cut = cut_of(last, max(0, len(last) - specials.reach), begins=begun)
            whole = begins + cut
            if cut and not specials.clear(data, begins, whole, context):
                data, ends = b"".join([*waiting, data]), ends + held
                begins, whole = begins + held if len(ends) else 0, whole + held
                waiting, held = [], 0
                whole, after_special = _beside_specials(data, begins, whole, cut_of, specials)
        if whole:
            text = b"".join([*waiting, memoryview(data)[:whole]]) if waiting or whole < len(data) else data
            bounds = np.concatenate([np.zeros(1, np.int64), ends + held])
            ends_text = bool(bounds[-1] == len(text))
            if not ends_text:
                bounds = np.append(bounds, len(text))
            yield CorpusPart(text, bounds, place, begins_text, ends_text, number=number, before=place - started)
            if len(ends):
                number, started = number + len(ends), place + int(bounds[len(ends)])
            begins_text = ends_text or (after_special and whole > begins)
            place += len(text)
            waiting, held, data = [], 0, data[whole:]
        if data:
            waiting.append(data)
            held += len(data)
    if waiting:
        bounds = np.array([0, held], np.int64)
        yield CorpusPart(b"".join(waiting), bounds, place, begins_text, True, number=number, before=place - started)


def _beside_specials(data: bytes, begins: int, cut: int, cut_of: Cut, specials: Specials) -> tuple[int, bool]:
    """Return a cut that is right although special tokens, where texts end and begin, may be close to the given one.

    Also return whether it is after a special token. `begins` is the offset in `data` where the text begins.
    """
    stop = specials.last_before(data, begins, cut)
    if stop is None:
        return cut, False
    found = cut_of(np.frombuffer(data, np.uint8)[stop:cut], cut - stop) if stop < cut else 0
    return stop + found, not found
