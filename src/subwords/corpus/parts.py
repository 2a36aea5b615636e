"""Parts: text of a corpus, cut only where a cut changes no word."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.blocks import Block
from subwords.corpus.specials import Part, Specials

__all__ = ["Cut", "parts_of"]

Cut = Callable[[NDArray[np.uint8], int], int]


def parts_of(blocks: Iterable[Block], cut_of: Cut | None, specials: Specials) -> Iterator[Part]:
    """Cut blocks outside of words and special tokens; the text after the last cut is joined to the next block.

    cut_of: a function as `Splitter.cut`; None cuts only between documents.
    """
    waiting: list[bytes] = []
    held = place = 0
    begins_text = True
    for block in blocks:
        after_special, data, ends = False, block.data, block.ends
        whole = begins = int(ends[-1]) if len(ends) else 0
        if begins < len(data) and cut_of is not None:
            cut = cut_of(np.frombuffer(data, np.uint8), len(data) - specials.reach)
            if cut > begins and not specials.clear(data, begins, cut):
                data, ends = b"".join([*waiting, data]), ends + held
                begins, cut = begins + held if len(ends) else 0, cut + held
                waiting, held = [], 0
                cut, after_special = specials.moved_after(data, begins, cut)
            whole = max(begins, cut)
        if whole:
            text = b"".join([*waiting, memoryview(data)[:whole]]) if waiting or whole < len(data) else data
            bounds = np.concatenate([np.zeros(1, np.int64), ends + held])
            ends_text = bool(bounds[-1] == len(text))
            if not ends_text:
                bounds = np.append(bounds, len(text))
            yield Part(text, bounds, place, begins_text, ends_text)
            begins_text = ends_text or (after_special and whole > begins)
            place += len(text)
            waiting, held, data = [], 0, data[whole:]
        if data:
            waiting.append(data)
            held += len(data)
    if waiting:
        yield Part(b"".join(waiting), np.array([0, held], np.int64), place, begins_text, True)
