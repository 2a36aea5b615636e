"""WordCounts: all that training reads of a corpus (W1), and its files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subwords.errors import CorpusError, FormatError, InputError

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["Provenance", "WordCounts"]

# The file: MAGIC, the header's length (uint64, little endian), a JSON header, then counts, offsets and data, each where the
# header says, counted from the file's start and a multiple of 64, so that all three can be mapped into memory as they are.
MAGIC = b"subwords-counts\x01"
MOST = 2**63 - 1


@dataclass(frozen=True)
class Provenance:
    """How the words were made: counts of different provenance are neither added nor trained on together."""

    splitter: str
    normalizer: str | None = None
    unicode: str | None = None
    special_tokens: tuple[str, ...] = ()

    def difference(self, other: Provenance) -> str | None:
        """Return the first thing that differs, in words, or None."""
        for field in ("splitter", "normalizer", "unicode", "special_tokens"):
            mine, theirs = getattr(self, field), getattr(other, field)
            if mine != theirs:
                return f"{field} {mine!r} and {theirs!r}"
        return None


@dataclass(frozen=True, eq=False)
class WordCounts:
    """Distinct words and how often each occurs, in the order of their first occurrence.

    Word i is data[offsets[i]:offsets[i + 1]] (uint8, int64) and occurs counts[i] times (uint64); `total` is their sum.
    Adding the counts of two corpora equals counting both, bit for bit (W1); nothing wraps (W2).

    >>> import subwords
    >>> counts = subwords.count(["so so", "so it"]) + subwords.count(["it"])
    >>> dict(counts)
    {b'so': 2, b' so': 1, b' it': 1, b'it': 1}
    """

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    counts: NDArray[np.uint64]
    provenance: Provenance

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def total(self) -> int:
        """How many words were counted, repetitions and all."""
        return int(self.counts.sum(dtype=np.uint64)) if len(self) else 0

    def __iter__(self) -> Iterator[tuple[bytes, int]]:
        data, bounds = self.data.tobytes(), self.offsets.tolist()
        spans = zip(bounds, bounds[1:], self.counts.tolist(), strict=False)
        return ((data[a:b], count) for a, b, count in spans)

    def __add__(self, other: object) -> WordCounts:
        if not isinstance(other, WordCounts):
            return NotImplemented
        self.check(other.provenance)
        if self.total + other.total > MOST:
            raise InputError(f"expected fewer than 2**63 words in all, not {self.total + other.total}")
        from subwords.corpus.count import Table

        table = Table()
        table.add(self, 0)
        table.add(other, len(self))
        return table.counts(self.provenance)

    def check(self, provenance: Provenance) -> None:
        """Raise InputError where the counts were made in another way than `provenance`."""
        if difference := self.provenance.difference(provenance):
            raise InputError(f"expected counts made alike; they differ in {difference}")

    def save(self, path: str | PathLike[str]) -> None:
        """Write the counts to a file that `load` maps into memory; to Parquet where the name ends in .parquet."""
        from subwords.formats.atomic import atomic_write

        path = Path(path)
        if path.suffix == ".parquet":
            from subwords.formats.counts_parquet import write_parquet

            write_parquet(self, path)
            return
        parts = (self.counts, self.offsets, self.data)
        header, starts = _header(self.provenance, len(self), len(self.data))
        with atomic_write(path, "wb") as file:
            file.write(header)
            for start, part in zip(starts, parts, strict=True):
                file.write(bytes(start - file.tell()))
                file.write(np.ascontiguousarray(part).data)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> WordCounts:
        """Read counts that `save` wrote; a damaged file is a FormatError, a missing one a CorpusError."""
        path = Path(path)
        if path.suffix == ".parquet":
            from subwords.formats.counts_parquet import read_parquet

            return read_parquet(path)
        try:
            raw = np.memmap(path, np.uint8, "r")
        except OSError as error:
            raise CorpusError(f"expected a file of word counts at {path}: {error.strerror or error}") from None
        except ValueError:
            raise FormatError(f"{path}: expected a file of word counts, found an empty file") from None
        header, starts = _read_header(raw, path)
        words, size = header["words"], header["bytes"]
        counts = raw[starts[0] : starts[0] + 8 * words].view(np.uint64)
        offsets = raw[starts[1] : starts[1] + 8 * (words + 1)].view(np.int64)
        loaded = cls(raw[starts[2] : starts[2] + size], offsets, counts, header["provenance"])
        return loaded.validated(str(path))

    def validated(self, name: str) -> WordCounts:
        """Return these counts if their arrays fit together, else raise FormatError."""
        offsets, size = self.offsets, len(self.data)
        steps = np.diff(offsets)
        if offsets[0] != 0 or offsets[-1] != size or (len(steps) and steps.min() < 1):
            raise FormatError(f"{name}: expected ascending word offsets from 0 to {size}")
        if len(self) and (self.counts.min() < 1 or float(self.counts.sum(dtype=np.float64)) > MOST):
            raise FormatError(f"{name}: expected counts from 1 up, with a sum below 2**63")
        return self

    def __repr__(self) -> str:
        return f"WordCounts({len(self)} words, {self.total} in all, splitter {self.provenance.splitter!r})"


def _header(provenance: Provenance, words: int, size: int) -> tuple[bytes, list[int]]:
    starts = [0, 0, 0]
    while True:
        fields = {"words": words, "bytes": size, "starts": starts, "provenance": vars(provenance)}
        body = json.dumps(fields).encode()
        first = _aligned(len(MAGIC) + 8 + len(body) + 64)
        found = [first, _aligned(first + 8 * words), _aligned(first + 8 * words + 64 + 8 * (words + 1))]
        if found == starts:
            return MAGIC + len(body).to_bytes(8, "little") + body, starts
        starts = found


def _aligned(size: int) -> int:
    return -(-size // 64) * 64


def _read_header(raw: NDArray[np.uint8], path: Path) -> tuple[dict[str, Any], list[int]]:
    try:
        if raw[: len(MAGIC)].tobytes() != MAGIC:
            raise ValueError("it does not begin as one")
        length = int.from_bytes(raw[len(MAGIC) : len(MAGIC) + 8].tobytes(), "little")
        header = json.loads(raw[len(MAGIC) + 8 : len(MAGIC) + 8 + min(length, 1 << 24)].tobytes())
        words, size, starts = header["words"], header["bytes"], header["starts"]
        if not all(isinstance(n, int) and n >= 0 for n in (words, size, *starts)) or len(starts) != 3:
            raise ValueError("its header holds impossible sizes")
        if any(start % 64 for start in starts) or starts[2] + size > len(raw):
            raise ValueError(f"it ends after {len(raw)} bytes of {starts[2] + size}")
        if starts[0] + 8 * words > starts[1] or starts[1] + 8 * (words + 1) > starts[2]:
            raise ValueError("its parts overlap")
        origin = header["provenance"]
        header["provenance"] = replace(Provenance(**origin), special_tokens=tuple(origin["special_tokens"]))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FormatError(f"{path}: expected a file of word counts; {error}") from None
    return header, starts
