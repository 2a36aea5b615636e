"""TokenBlock: consecutive ids of a corpus, and where its documents end."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["TokenBlock"]


class TokenBlock(NamedTuple):
    """A part of one document, or several documents.

    ids: uint32. ends (int64, ascending, possibly empty): the ends in `ids` of the documents that end in this block; the
    ids after the last end belong to a document that continues in the next block.
    """

    ids: NDArray[np.uint32]
    ends: NDArray[np.int64]
