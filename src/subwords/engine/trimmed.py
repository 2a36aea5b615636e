"""Spans without the whitespace of their tokens, as some templates say."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subwords.components.template import Template, whitespace_around
from subwords.engine.spelling import Spelling
from subwords.kernels.layout import Placed, Trims
from subwords.kernels.named import trim_spans

__all__ = ["Trimmer"]

UNKNOWN = -1


class Trimmer:
    """Trims the spans of many texts; keeps a table of the whitespace of the tokens that it met."""

    def __init__(self, template: Template, spelling: Spelling) -> None:
        self._spelling = spelling
        begun, ended = np.full((2, spelling.size), UNKNOWN, np.int32)
        self._trims = Trims(begun, ended, np.array(template.trims, np.uint8))

    def trim(
        self,
        ids: NDArray[np.uint32],
        offsets: NDArray[np.int64],
        text: NDArray[np.uint8],
        bounds: NDArray[np.int64],
        out: Placed,
    ) -> int:
        """Trim the spans of the ids of texts; the number of texts that are odd, or where more than ASCII is removed."""
        begun, ended, _ = self._trims
        new = ids[begun[ids] == UNKNOWN]
        for index in set(new.tolist()) if len(new) else ():
            begun[index], ended[index] = whitespace_around(self._spelling.file_tokens[index])
        return trim_spans.by_size(len(text))(ids, offsets, self._trims, text, bounds, out)
