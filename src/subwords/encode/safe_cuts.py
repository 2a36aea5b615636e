"""The tables of safe cuts by vocabulary (E9), see `kernels/split/safe_cuts.py`."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from subwords.components.vocab import Vocab
from subwords.kernels import layout
from subwords.kernels.layout import SafeCuts

__all__ = ["may_lie_between_cuts", "safe_cuts"]

LEAST, MOST = 1 << 9, 1 << 15  # elements, 4 KB and 256 KB: the filter should stay in the second cache
# Thai, Lao and Tibetan; Burmese; Jamo; Khmer; Chinese, Japanese, their punctuation; Korean; more Chinese; wide forms
# Other scripts of three bytes put spaces between words, so their words are met again.
CUT = (
    (0x0E00, 0x0FFF),
    (0x1000, 0x109F),
    (0x1100, 0x11FF),
    (0x1780, 0x17FF),
    (0x2E80, 0x9FFF),
    (0xAC00, 0xD7FF),
    (0xF900, 0xFAFF),
    (0xFF00, 0xFFEF),
)


def safe_cuts(tokens: Vocab, unreached: Iterable[bytes] = ()) -> SafeCuts:
    """Return which places between two characters of three bytes a token may span.

    unreached: tokens that only whole words become (E2). What lies between two cuts must not be taken for such a word,
    so nothing is cut beside their outer characters.
    """
    from subwords.kernels.named import enter_tokens

    members, none = np.zeros(layout.MEMBERS + 1, np.uint16), (np.zeros(0, np.uint8), np.zeros(0, np.uint16))
    entries = enter_tokens(tokens.data, tokens.offsets, SafeCuts(np.zeros(1, np.uint64), members, *none))
    # An entry sets two bits, and the filter has 16 to 32 bits for each: it misses at most 2 % of the safe cuts.
    bits = np.zeros(min(max(1 << (entries // 4).bit_length(), LEAST), MOST), np.uint64)
    enter_tokens(tokens.data, tokens.offsets, SafeCuts(bits, members, *none))
    for first, last in CUT:
        members[first : last + 1] |= layout.MAY_CUT
    for token in unreached:
        text = token.decode("utf-8", "surrogateescape")
        for char in (text[:1], text[-1:]):
            if char and ord(char) < layout.MEMBERS:
                members[ord(char)] &= ~np.uint16(layout.MAY_CUT)
    return SafeCuts(bits, members, *none)


def may_lie_between_cuts(data: NDArray[np.uint8], begins: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which of the words data[begins[i]:begins[i + 1]] begin or end with a character that may be cut off."""
    long, padded = np.diff(begins) >= 3, np.concatenate([data, np.zeros(3, np.uint8)])
    found = np.zeros(len(long), np.bool_)
    for at in (begins[:-1], np.maximum(begins[1:] - 3, 0)):
        lead, second, third = (padded[at + k].astype(np.int64) for k in range(3))
        code = (lead & 0xF) << 12 | (second & 0x3F) << 6 | third & 0x3F
        for first, last in CUT:
            found |= (lead >> 4 == 0xE) & (code >= first) & (code <= last)
    return found & long
