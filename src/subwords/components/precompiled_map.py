"""The precompiled charsmap of SentencePiece's files, validated: strings and their replacements.

The format: a double array of the strings (Darts-clone), whose nodes may share suffixes, followed by the replacements,
each terminated by NUL. Kernels use it without conversion.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from subwords.errors import FormatError
from subwords.kernels import layout
from subwords.support.light import distinct

__all__ = ["Charsmap", "read_charsmap"]

Codes = NDArray[np.int64]
Members = NDArray[np.bool_]

BLOCK = 1 << 10  # bytes
LEAF, FAR, VALUE, LABEL = 1 << 8, 1 << 9, (1 << 31) - 1, 1 << 31 | 0xFF
LEAST = np.array([0, 0x80, 0x800, 0x10000])  # first code points of 1, 2, 3 and 4 bytes


class Charsmap:
    """The strings of a charsmap. Immutable.

    units: uint32, the double array. text: the replacements; `values` are their offsets. single: the code points that
    are strings, and the value of each. firsts, seconds, later: the code points that are first, second, and anywhere
    after the first in longer strings. pairs: the first two code points of longer strings, if both are ASCII.
    """

    def __init__(self, units: NDArray[np.uint32], text: bytes) -> None:
        self.units, self.text = units, text
        wide = units.astype(np.int64)
        self._leaf = (wide & LEAF) != 0
        self._base = np.arange(len(wide)) ^ (wide >> 10 << ((wide & FAR) >> 6))
        self._label = wide & LABEL
        _check(wide, self._base, self._leaf, text)
        self._child = np.flatnonzero((self._label > 0) & (self._label <= 0xFF))
        above = self._child ^ self._label[self._child]  # the base of the node above
        by_base = np.argsort(above, kind="stable")
        self._child, self._above = self._child[by_base], above[by_base]
        self._wide = wide
        self._explore()

    def _explore(self) -> None:
        _, codes, nodes = self._after(np.zeros(1, np.int64))
        ends = self._leaf[nodes]
        self.single: tuple[Codes, Codes] = codes[ends], self._value(nodes[ends])
        above, seconds, below = self._after(nodes)
        self.firsts = _members(codes[above])
        ascii_ = (codes[above] < 0x80) & (seconds < 0x80)
        self.pairs = set(zip(codes[above][ascii_].tolist(), seconds[ascii_].tolist(), strict=True))
        self.seconds, self.later = _members(seconds), _members(seconds)
        seen = np.zeros(len(self._wide), np.bool_)
        values = [self.single[1]]
        while len(below):
            seen[below] = True
            values.append(self._value(below[self._leaf[below]]))
            _, codes, below = self._after(below)
            self.later |= _members(codes)
            below = distinct(below[~seen[below]])
        self.values = distinct(np.concatenate(values))
        for value in self.values.tolist():
            if self.text[value] & 0xC0 == 0x80:
                raise FormatError(f"invalid precompiled charsmap: the replacement at {value} starts inside a character")

    def begins(self, values: Codes) -> Members:
        """Return the characters with which the strings of some values begin, bool of shape (0x110000,)."""
        nodes = np.flatnonzero(self._label <= 0xFF)
        above, _, below = self._children(nodes)
        above = nodes[above]
        found = np.zeros(len(self._wide), np.bool_)
        ends = np.flatnonzero(self._leaf & (self._label <= 0xFF))
        found[ends] = np.isin(self._value(ends), values)
        while (new := above[found[below] & ~found[above]]).size:
            found[new] = True
        _, codes, nodes = self._after(np.zeros(1, np.int64))
        return _members(codes[found[nodes]])

    def _value(self, nodes: Codes) -> Codes:
        found: Codes = self._wide[self._base[nodes]] & VALUE
        return found

    def _children(self, nodes: Codes) -> tuple[Codes, Codes, Codes]:
        """Return all children of some nodes: the index of the parent in `nodes`, the label and the child."""
        base = self._base[nodes]
        first, last = np.searchsorted(self._above, base), np.searchsorted(self._above, base, side="right")
        counts = last - first
        places = np.repeat(first - (np.cumsum(counts) - counts), counts) + np.arange(int(counts.sum()))
        found = self._child[places]
        return np.repeat(np.arange(len(nodes)), counts), self._label[found], found

    def _after(self, nodes: Codes) -> tuple[Codes, Codes, Codes]:
        """Return all nodes one character further: the index of the origin in `nodes`, the code point and the node."""
        above, labels, found = self._children(nodes)
        sizes = 1 + (labels >= 0xC0).astype(np.int64) + (labels >= 0xE0) + (labels >= 0xF0)
        wrong = (labels >= 0x80) & (labels < 0xC0) | (labels >= 0xF8)
        codes = np.where(labels < 0x80, labels, labels & (0x7F >> sizes))
        done = []
        for size in range(1, 5):
            done.append((above[sizes == size], codes[sizes == size], found[sizes == size]))
            rest = sizes > size
            above, codes, sizes, found = above[rest], codes[rest], sizes[rest], found[rest]
            if wrong.any() or self._leaf[found].any():
                raise FormatError("invalid precompiled charsmap: expected all strings in UTF-8")
            inner, labels, found = self._children(found)
            above, codes, sizes = above[inner], codes[inner] << 6 | labels & 0x3F, sizes[inner]
            wrong = labels & 0xC0 != 0x80
        for codes, least in zip((part[1] for part in done), LEAST, strict=True):
            if ((codes < least) | (codes >= layout.CODE_POINTS) | (codes >> 11 == 0x1B)).any():
                raise FormatError("invalid precompiled charsmap: expected all strings in UTF-8")
        above, codes, found = (np.concatenate(parts) for parts in zip(*done, strict=True))
        return above, codes, found


def _members(codes: Codes) -> Members:
    found = np.zeros(layout.CODE_POINTS, np.bool_)
    found[codes] = True
    return found


def _check(wide: Codes, base: Codes, leaf: Members, text: bytes) -> None:
    inner = wide & LABEL <= 0xFF
    outside = inner & ((base | 0xFF) >= len(wide))
    if outside.any() or wide[0] & LABEL or leaf[0] or not base[0]:
        raise FormatError(f"invalid precompiled charsmap: expected all nodes within its {len(wide)} units")
    if (wide[base[inner & leaf]] <= VALUE).any():
        raise FormatError("invalid precompiled charsmap: expected a value, not a node, at the end of a string")
    if (wide[~inner] & VALUE >= len(text)).any():
        raise FormatError(f"invalid precompiled charsmap: expected all replacements within its {len(text)} bytes")


@lru_cache(maxsize=8)
def read_charsmap(data: bytes) -> Charsmap:
    """Return the charsmap of some bytes; FormatError if they are invalid.

    Source: SentencePiece 0.2.3, `NormalizerSpec.precompiled_charsmap`.
    """
    size = int.from_bytes(data[:4], "little")
    if len(data) <= 4 or size < BLOCK or size % BLOCK or size >= len(data) - 4:
        raise FormatError(
            f"invalid precompiled charsmap: expected 4 bytes with the size of its trie (a multiple of {BLOCK}), the "
            f"trie, and text; got {len(data)} bytes with the size {size}"
        )
    text = data[4 + size :]
    if text[-1]:
        raise FormatError("invalid precompiled charsmap: expected NUL at its end")
    try:
        text.decode()
    except UnicodeDecodeError as error:
        raise FormatError(
            f"invalid precompiled charsmap: byte {error.start} of its replacements is not UTF-8"
        ) from None
    return Charsmap(np.frombuffer(data, "<u4", size // 4, 4).astype(np.uint32), text)
