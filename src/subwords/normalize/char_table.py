"""Characters and their replacements as arrays: 250,000 of them are prepared in milliseconds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout

__all__ = ["CharMap"]

Codes = NDArray[np.int64]


class CharMap(Mapping[int, str]):
    """Code points and the replacement of each; other characters stay unchanged. Immutable.

    All arrays are int64. codes: ascending; codes[i] becomes the code points chars[bounds[i]:bounds[i + 1]].
    """

    def __init__(self, codes: Codes, chars: Codes, bounds: Codes) -> None:
        self.codes, self.chars, self.bounds = codes, chars, bounds

    @classmethod
    def of(cls, texts: Mapping[int, str]) -> CharMap:
        """Return the CharMap of a mapping from code points to strings."""
        if isinstance(texts, CharMap):
            return texts
        codes = sorted(texts)
        chars = np.frombuffer("".join(map(texts.__getitem__, codes)).encode("utf-32-le"), np.uint32)
        lengths = np.fromiter((len(texts[code]) for code in codes), np.int64, len(codes))
        return cls(np.array(codes, np.int64), chars.astype(np.int64), _bounds(lengths))

    @classmethod
    def rows(cls, codes: Codes, chars: Codes) -> CharMap:
        """Return the CharMap of ascending codes with replacements of equal length; chars: (codes, characters)."""
        return cls(codes, chars.ravel(), np.arange(len(codes) + 1, dtype=np.int64) * chars.shape[1])

    @property
    def sizes(self) -> Codes:
        """The size of each replacement in bytes of UTF-8."""
        widths = np.ones(len(self.chars), np.int64)
        for least in (0x80, 0x800, 0x10000):
            widths += self.chars >= least
        return np.diff(_bounds(widths)[self.bounds])

    def encode(self) -> bytes:
        """Return all replacements concatenated, in UTF-8."""
        return self.chars.astype(np.uint32).tobytes().decode("utf-32-le").encode()

    def holding(self, members: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return for each code whether its replacement contains any of `members`."""
        return np.diff(_bounds(members[self.chars].astype(np.int64))[self.bounds]) > 0

    def __or__(self, other: CharMap) -> CharMap:
        """Return the union; for codes in both, the replacement of `other`."""
        kept = np.ones(layout.CODE_POINTS, np.bool_)
        kept[other.codes] = False
        first = np.flatnonzero(kept[self.codes])
        codes = np.concatenate([self.codes[first], other.codes])
        order = np.argsort(codes, kind="stable")
        starts = np.concatenate([self.bounds[first], other.bounds[:-1] + len(self.chars)])[order]
        lengths = np.concatenate([np.diff(self.bounds)[first], np.diff(other.bounds)])[order]
        chars = np.concatenate([self.chars, other.chars])
        return CharMap(codes[order], chars[_places(starts, lengths)], _bounds(lengths))

    def then(self, other: CharMap) -> CharMap:
        """Return one map equal to this one followed by `other`."""
        row = np.full(layout.CODE_POINTS, -1)
        row[other.codes] = np.arange(len(other.codes))
        rows = row[self.chars]
        lengths = np.where(rows < 0, 1, np.diff(other.bounds)[rows]) if len(other) else np.ones_like(rows)
        # Unchanged characters are stored after those of `other`.
        starts = np.where(rows < 0, len(other.chars) + np.arange(len(rows)), other.bounds[rows])
        chars = np.concatenate([other.chars, self.chars])[_places(starts, lengths)]
        return other | CharMap(self.codes, chars, _bounds(lengths)[self.bounds])

    @cached_property
    def _texts(self) -> dict[int, str]:
        text = self.chars.astype(np.uint32).tobytes().decode("utf-32-le")
        bounds = self.bounds.tolist()
        return {code: text[bounds[i] : bounds[i + 1]] for i, code in enumerate(self.codes.tolist())}

    def __getitem__(self, code: int) -> str:
        return self._texts[code]

    def __iter__(self) -> Iterator[int]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self.codes)


def _bounds(lengths: Codes) -> Codes:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])


def _places(starts: Codes, lengths: Codes) -> Codes:
    """Return start, start + 1, ... of every range, concatenated."""
    return np.repeat(starts - _bounds(lengths)[:-1], lengths) + np.arange(int(lengths.sum()))
