"""WordCounts: the complete input of training (W1), and its file format."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subwords.spec.splitter import PATTERNS
from subwords.support.checks import check_integer, check_strings
from subwords.support.errors import CorpusError, FormatError, InputError, readable
from subwords.support.files import atomic_write, check_pointer, local_copy, place_of, scratch_folder
from subwords.support.memory import release
from subwords.support.value import unshared

if TYPE_CHECKING:
    from subwords.corpus.word_table import CountedWords
    from subwords.normalize.normalizer import Normalizer
    from subwords.split.splitter import Splitter


# ---------------------------------------------------------------------------------------------------------------------
# Provenance: the normalizer, splitter and special tokens that produced word counts.

MOST_COUNTED = 2**63 - 1  # of what is counted


def _named(rule: object) -> object:
    """Return the name of a splitter that is spelled out; anything else as it is."""
    return next((name for name, pattern in PATTERNS.items() if pattern == rule), rule)


@dataclass(frozen=True)
class Provenance:
    """The origin of words; counts of different provenance can neither be added nor used together in training."""

    splitter: str
    normalizer: str | None = None
    unicode: str | None = None
    special_tokens: tuple[str, ...] = ()

    def difference(self, other: Provenance) -> str | None:
        """Return the first difference in words, first what `other` says; None if there is no difference."""
        for field in ("splitter", "normalizer", "unicode", "special_tokens"):
            mine, theirs = getattr(self, field), getattr(other, field)
            if mine != theirs:
                return f"{field} {_named(theirs)!r}, not {_named(mine)!r}"
        return None

    @classmethod
    def from_fields(cls, fields: Any) -> Provenance:
        """Return the provenance from a file's fields; ValueError or TypeError if they are invalid."""
        if not isinstance(fields, dict) or not isinstance(fields.get("special_tokens"), list):
            raise TypeError(f"invalid provenance {fields!r:.200}")
        found = cls(**{**fields, "special_tokens": tuple(fields["special_tokens"])})
        optional = [text for text in (found.normalizer, found.unicode) if text is not None]
        if {*map(type, (found.splitter, *optional, *found.special_tokens))} != {str}:
            raise TypeError(f"invalid provenance {fields!r:.200}")
        return found


def bytes_of_text(stored: object) -> int | None:
    """Return the bytes of the text as a file holds them; None without them; ValueError if they are invalid."""
    if stored is None:
        return None
    if not isinstance(stored, int) or isinstance(stored, bool) or not 0 <= stored <= MOST_COUNTED:
        raise ValueError(f"invalid text_bytes {stored!r:.60}")
    return stored


# The file: COUNTS_MAGIC, length and CRC-32 of the header (uint64, little endian), the header in JSON, then counts,
# offsets, data and, if the header says so, numbers of documents, each aligned to 64 bytes for mapping.
COUNTS_MAGIC = b"subwords-counts\x01"
BLOCK = 1 << 20  # elements that are checked at once


def place_of_counts(path: str | PathLike[str]) -> Path:
    """Return where counts are written; raise InputError for Parquet, which 0.2.0 wrote by that suffix."""
    if (place := place_of(path, "path")).suffix.lower() == ".parquet":
        raise InputError(f"{place}: counts have a format of their own; dict(counts) gives a table its columns")
    return place


@dataclass(frozen=True, eq=False)
class WordCounts:
    """Distinct words and their counts, in the order of first occurrence.

    Word i is data[offsets[i]:offsets[i + 1]] (uint8, int64) and occurs counts[i] times (uint64), in documents[i]
    documents (uint64) if these were counted, too; `total` is the sum of the counts. text_bytes: the bytes of the
    documents as given, before normalization and without special tokens; None if unknown: of a file without them, and
    after `at_least`. The sum of the counts of two corpora equals the counts of both, bit for bit (ALGORITHMS.md, W1).
    Counts never overflow: a total of 2**63 or more is an InputError (ALGORITHMS.md, W2). Arrays are read-only: of those
    that can be written to, copies are kept. Raises InputError for offsets that do not ascend from 0 to the bytes.

    >>> import subwords
    >>> counts = subwords.count(["so so", "so it"]) + subwords.count(["it"])
    >>> dict(counts)
    {b'so': 2, b' so': 1, b' it': 1, b'it': 1}
    """

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    counts: NDArray[np.uint64]
    provenance: Provenance
    documents: NDArray[np.uint64] | None = None
    text_bytes: int | None = None

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def total(self) -> int:
        """The number of counted words, with repetitions."""
        return sum(int(block.sum(dtype=np.uint64)) for block in _blocks(self.counts))

    def __iter__(self) -> Iterator[tuple[bytes, int]]:
        data, bounds = self.data.tobytes(), self.offsets.tolist()
        spans = zip(bounds, bounds[1:], self.counts.tolist(), strict=False)
        return ((data[a:b], count) for a, b, count in spans)

    def __contains__(self, word: object) -> bool:
        # By __iter__, a word would never be in it, without a word said.
        raise InputError("counts are pairs of words and numbers; to look a word up: word in dict(counts)")

    def __post_init__(self) -> None:
        documents = [] if self.documents is None else [("documents", np.uint64)]
        for name, kind in (("data", np.uint8), ("offsets", np.int64), ("counts", np.uint64), *documents):
            array = getattr(self, name)
            if not isinstance(array, np.ndarray) or array.dtype != kind or array.ndim != 1:
                came = getattr(array, "dtype", type(array).__name__)
                raise InputError(f"expected {name} to be a one-dimensional array of {np.dtype(kind)}, not {came}")
            object.__setattr__(self, name, unshared(array))
        if len(self.offsets) != len(self.counts) + 1:
            raise InputError(
                f"expected {len(self.counts) + 1} offsets for {len(self.counts)} counts, not {len(self.offsets)}"
            )
        if self.documents is not None and len(self.documents) != len(self.counts):
            raise InputError(f"expected {len(self.counts)} numbers of documents, not {len(self.documents)}")
        ends, size = self.offsets[[0, -1]].tolist(), len(self.data)
        if ends != [0, size] or not all((part[:-1] <= part[1:]).all() for part in _blocks(self.offsets, 1)):
            raise InputError(f"expected ascending word offsets from 0 to {size}")
        _check_provenance(self.provenance)
        if self.text_bytes is not None:
            check_integer("text_bytes", self.text_bytes, 0, MOST_COUNTED)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # pickles lose the read-only flag of arrays

    def __radd__(self, other: object) -> WordCounts:
        return self if isinstance(other, int) and other == 0 else self + other  # `sum` starts with 0

    def __add__(self, other: object) -> WordCounts:
        if not isinstance(other, WordCounts):
            raise InputError(f"expected word counts to add to word counts, not {type(other).__name__} {other!r:.60}")
        return WordCounts.joined([self, other])

    @classmethod
    def joined(cls, parts: Sequence[WordCounts]) -> WordCounts:
        """Return the sum of counts: as `+`, and in linear time for any number of them.

        >>> import subwords
        >>> parts = [subwords.count([text]) for text in ("so it", "so", "so")]
        >>> dict(subwords.WordCounts.joined(parts))
        {b'so': 3, b' it': 1}
        """
        if not parts:
            raise InputError("expected one or more word counts to join")
        first = parts[0]
        for part in parts[1:]:
            first.check(part.provenance)
        if (total := sum(part.total for part in parts)) > MOST_COUNTED:
            raise InputError(f"too many words: expected a total below 2**63, not {total}")
        if any((part.documents is None) != (first.documents is None) for part in parts):
            raise InputError("only some of the counts have numbers of documents: count all with document_frequencies")
        found = _added(parts, [part.counts for part in parts])
        documents = [part.documents for part in parts if part.documents is not None]
        within = _added(parts, documents).counts if documents else None
        return cls(*found, first.provenance, within, sum_of_bytes(part.text_bytes for part in parts))

    @staticmethod
    def mixed(
        sources: Mapping[str, WordCounts],
        *,
        weights: Mapping[str, float] | None = None,
        shares: Mapping[str, float] | None = None,
        exponent: float | None = None,
        max_bytes: Mapping[str, int | str] | int | str | None = None,
    ) -> WordCounts:
        """Return the counts of several sources together, each multiplied by a whole number.

        weights: how often each source counts (1). shares: the share of the text of each source, such as {"en": 0.7,
        "de": 0.3}. exponent: shares in proportion to bytes ** exponent, 1 as they are, 0 all equal. max_bytes:
        the most bytes that a source counts for, of all or of each, 10_000_000 or "10MB". Only one of the first
        three. Raises InputError for names that are not sources, for numbers that are not above 0, and for a
        total of 2**63 words or more. Hazard: the counts are those of the mixture, not of a corpus:
        min_frequency is compared with them.

        >>> import subwords
        >>> sources = {"en": subwords.count(["the cat the cat"]), "de": subwords.count(["die"])}
        >>> dict(subwords.WordCounts.mixed(sources, weights={"de": 2}))
        {b'the': 1, b' cat': 2, b' the': 1, b'die': 2}
        >>> dict(subwords.WordCounts.mixed(sources, shares={"en": 0.5, "de": 0.5}))
        {b'the': 1, b' cat': 2, b' the': 1, b'die': 5}

        Source: the exponent, Conneau et al., arXiv 1911.02116.
        """
        from subwords.corpus.mix import add_multiplied, mix_factors

        factors = mix_factors(sources, weights=weights, shares=shares, exponent=exponent, max_bytes=max_bytes)
        return add_multiplied(sources, factors)

    def segmented(self, segmentation: Mapping[str, Sequence[str]] | str | PathLike[str]) -> WordCounts:
        r"""Return counts in which words of a segmentation are replaced by their parts; other words stay.

        segmentation: the parts by word, {"undone": ["un", "done"]}, or the path of a file with lines of `word TAB mor
        pheme s`. A space before a word goes to its first part. Raises InputError for parts that do not join to
        the word, TrainingError if no word of the counts is in the segmentation. Hazard: encoding knows nothing
        of the segmentation; a merge that was learned inside of parts also applies across their places.

        >>> import subwords
        >>> counts = subwords.count(["undone undone done"])
        >>> dict(counts.segmented({"undone": ["un", "done"]}))
        {b'un': 1, b'done': 2, b' un': 1, b' done': 1}

        Source: merges within morphemes, MorphBPE, Asgari et al., arXiv 2502.00894.
        """
        from subwords.corpus.mix import segment_words

        return segment_words(self, segmentation)

    @classmethod
    def from_words(
        cls,
        words: Mapping[str, int] | Mapping[bytes, int],
        *,
        splitter: Splitter,
        normalizer: Normalizer | None = None,
        special_tokens: Sequence[str] = (),
    ) -> WordCounts:
        """Return counts of the given words, which are not split or normalized again.

        splitter, normalizer: what made the words, with which a tokenizer trained on them encodes. special_tokens: left
        out of the words. A count of 0 leaves the word out. Raises InputError for an empty word, and for counts that are
        no integers, are negative or reach 2**63 together.
        Hazard: a word that the splitter cannot yield is learned, but never encoded: with "gpt2", most words begin with
        a space. `subwords.count` takes a dict of texts instead, and splits them.

        >>> import subwords
        >>> counts = subwords.WordCounts.from_words({"low": 5, " lower": 2}, splitter=subwords.splitter("gpt2"))
        >>> dict(counts)
        {b'low': 5, b' lower': 2}
        """
        from subwords.corpus.source import words_and_counts

        if not hasattr(splitter, "unicode_version"):
            raise InputError(f"expected splitter as subwords.splitter(...) makes it, not {splitter!r:.60}")
        if normalizer is not None and not hasattr(normalizer, "steps"):
            raise InputError(f"expected normalizer as subwords.normalizer(...) makes it, not {normalizer!r:.60}")
        removed = check_strings("special_tokens", special_tokens)
        data, offsets, counts = words_and_counts(words, {token.encode() for token in removed})
        identity = None if normalizer is None or not normalizer.steps else normalizer.identity
        return cls(data, offsets, counts, Provenance(splitter.identity, identity, splitter.unicode_version, removed))

    def at_least(self, count: int = 1, *, documents: int | None = None) -> WordCounts:
        """Return the counts of the words that occur at least `count` times, and in at least `documents` documents.

        Hazard: what is trained on them differs from what is trained on all words, and no bound on the difference is
        known: pairs of nearly equal counts can change places.

        >>> import subwords
        >>> dict(subwords.count(["so so so it it"]).at_least(2))
        {b' so': 2, b' it': 2}
        """
        check_integer("count", count, 1, MOST_COUNTED)
        if documents is not None:
            check_integer("documents", documents, 1, MOST_COUNTED)
            if self.documents is None:
                raise InputError(
                    "these counts have no numbers of documents: count again with document_frequencies=True"
                )
        texts, sizes, counts = [np.zeros(0, np.uint8)], [np.zeros(1, np.int64)], [np.zeros(0, np.uint64)]
        within = [np.zeros(0, np.uint64)]
        for start in range(0, len(self), BLOCK):  # of all words at once, places would take 8 times their bytes
            part = self.counts[start : start + BLOCK]
            kept = part >= np.uint64(count)
            if self.documents is not None:
                numbers = self.documents[start : start + BLOCK]
                kept &= numbers >= np.uint64(documents or 1)
                within.append(numbers[kept])
            offsets = self.offsets[start : start + len(part) + 1]
            counts.append(part[kept])
            sizes.append(np.diff(offsets)[kept])
            texts.append(self.data[offsets[0] : offsets[-1]][np.repeat(kept, np.diff(offsets))])
        offsets, found = np.cumsum(np.concatenate(sizes)), None if self.documents is None else np.concatenate(within)
        return WordCounts(np.concatenate(texts), offsets, np.concatenate(counts), self.provenance, found)

    def chosen(self, kept: NDArray[np.bool_]) -> WordCounts:
        """Return the counts of some of the words. kept: whether each word stays, bool."""
        sizes = np.diff(self.offsets)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes[kept])])
        documents = None if self.documents is None else self.documents[kept]
        return WordCounts(self.data[np.repeat(kept, sizes)], offsets, self.counts[kept], self.provenance, documents)

    def check(self, provenance: Provenance) -> None:
        """Raise InputError if the provenance of the counts differs from `provenance`."""
        _check_provenance(provenance)
        if difference := self.provenance.difference(provenance):
            raise InputError(f"expected counts made with {difference}: count again, or use the rules of the counts")

    def save(self, path: str | PathLike[str]) -> None:
        """Write the counts to a file that `load` can memory-map."""
        path = place_of_counts(path)
        is_marked = self.documents is not None
        header = header_of(self.provenance, len(self), len(self.data), self.text_bytes, documents=is_marked)
        starts: tuple[int, ...] = starts_of(len(header), len(self))
        parts: list[NDArray[Any]] = [self.counts, self.offsets, self.data]
        if self.documents is not None:
            starts, parts = (*starts, _aligned(starts[-1] + len(self.data))), [*parts, self.documents]
        with atomic_write(path) as file:
            file.write(header)
            for start, part in zip(starts, parts, strict=True):
                file.write(bytes(start - file.tell()))
                for block in _blocks(part):
                    file.write(np.ascontiguousarray(block).data)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> WordCounts:
        """Read counts that `save` wrote; FormatError for a damaged file, CorpusError for an unreadable one.

        Hazard: the file is mapped, not read into memory: it must not be changed in place while it is used. If it gets
        shorter, the system ends the process. `save`, which replaces a file, is safe.
        """
        path = place_of(path, "path")
        try:
            with readable(path, CorpusError, f"cannot read word counts at {path}"), local_copy(path) as file:
                raw = np.memmap(file, np.uint8, "r")
        except ValueError:
            raise FormatError(f"{path}: expected a file of word counts, found an empty file") from None
        words, size, provenance, text_bytes, starts = _read_header(raw, path)
        counts = raw[starts[0] : starts[0] + 8 * words].view(np.uint64)
        offsets = raw[starts[1] : starts[1] + 8 * (words + 1)].view(np.int64)
        documents = raw[starts[3] : starts[3] + 8 * words].view(np.uint64) if len(starts) > 3 else None
        data = raw[starts[2] : starts[2] + size]
        return _loaded(path, data, offsets, counts, provenance, documents, text_bytes)

    def validated(self, name: str) -> WordCounts:
        """Return these counts; FormatError if their arrays are inconsistent. `name` is for messages."""
        offsets, size = self.offsets, len(self.data)
        if offsets[0] != 0 or offsets[-1] != size or not all(map(_ascend, _blocks(offsets, 1))):
            raise FormatError(f"{name}: expected ascending word offsets from 0 to {size}")
        # The sum in floating point detects an overflow of the exact sum.
        about = sum(float(block.sum(dtype=np.float64)) for block in _blocks(self.counts))
        least = min((int(block.min()) for block in _blocks(self.counts)), default=1)
        if least < 1 or about > 1.5 * MOST_COUNTED or self.total > MOST_COUNTED:
            raise FormatError(f"{name}: expected counts of at least 1 with a sum below 2**63")
        if self.documents is not None:
            for numbers, counts in zip(_blocks(self.documents), _blocks(self.counts), strict=True):
                if not ((numbers >= 1) & (numbers <= counts)).all():
                    raise FormatError(f"{name}: expected numbers of documents from 1 to the count of each word")
        return self

    def __repr__(self) -> str:
        return f"WordCounts({len(self)} words, {self.total} in all, splitter {_named(self.provenance.splitter)!r})"


def _loaded(path: Path, *fields: Any) -> WordCounts:
    try:
        return WordCounts(*fields).validated(str(path))
    except InputError as error:
        raise FormatError(f"{path}: {error}") from None


def _added(parts: Sequence[WordCounts], numbers: Sequence[NDArray[np.uint64]]) -> CountedWords:
    """Return the words of all parts, each with the sum of its numbers."""
    from subwords.corpus.word_table import CountedWords, CountingTable

    table, place = CountingTable(), 0
    for part, each in zip(parts, numbers, strict=True):
        table.add(CountedWords(part.data, part.offsets, each), place)
        place += len(part)
    return table.words()


def mapped_counts(write: Callable[[Path], object]) -> WordCounts:
    """Return the counts that a function writes to the path it gets: a temporary file, which is mapped, not loaded."""
    with scratch_folder() as folder:
        write(folder / "counts")
        return WordCounts.load(folder / "counts")


def _check_provenance(provenance: object) -> None:
    if not isinstance(provenance, Provenance):
        raise InputError(f"expected provenance to be a Provenance, not {type(provenance).__name__} {provenance!r:.60}")


def _blocks(array: NDArray[Any], more: int = 0) -> Iterator[NDArray[Any]]:
    """Yield an array in blocks, each with some elements of the next: a mapped file is never in memory as a whole."""
    for at in range(0, len(array), BLOCK):
        yield array[at : at + BLOCK + more]
        release(array)


def _ascend(offsets: NDArray[np.int64]) -> bool:
    return bool(offsets[0] >= 0 and (offsets[:-1] < offsets[1:]).all())


def sum_of_bytes(sizes: Iterable[int | None]) -> int | None:
    """Return the sum of the bytes of texts; None if any is unknown."""
    total = 0
    for size in sizes:
        if size is None:
            return None
        total += size
    return total


def header_of(
    provenance: Provenance, words: int, size: int, text_bytes: int | None, *, documents: bool = False
) -> bytes:
    """Return the first bytes of a file of this many words with `size` bytes."""
    fields: dict[str, object] = {"words": words, "bytes": size, "provenance": vars(provenance)}
    fields |= {} if text_bytes is None else {"text_bytes": text_bytes}
    body = json.dumps({**fields, "documents": True} if documents else fields).encode()
    return COUNTS_MAGIC + len(body).to_bytes(8, "little") + zlib.crc32(body).to_bytes(8, "little") + body


def starts_of(header: int, words: int) -> tuple[int, int, int]:
    """Return the offsets of counts, offsets and data in the file."""
    counts = _aligned(header)
    offsets = _aligned(counts + 8 * words)
    return counts, offsets, _aligned(offsets + 8 * (words + 1))


def _aligned(size: int) -> int:
    return -(-size // 64) * 64


def _read_header(raw: NDArray[np.uint8], path: Path) -> tuple[int, int, Provenance, int | None, tuple[int, ...]]:
    def damaged(what: object) -> FormatError:
        return FormatError(f"{path}: expected a file of word counts; {what}")

    begin = len(COUNTS_MAGIC) + 16
    fixed = raw[:begin].tobytes()
    check_pointer(fixed, path)
    if not fixed.startswith(COUNTS_MAGIC):
        raise damaged("its first bytes are different")
    length = int.from_bytes(fixed[-16:-8], "little")
    body = raw[begin : begin + length].tobytes()
    if len(body) < length or zlib.crc32(body) != int.from_bytes(fixed[-8:], "little"):
        raise damaged("its header is damaged")
    try:
        header = json.loads(body)
        words, size = int(header["words"]), int(header["bytes"])
        provenance, text_bytes = Provenance.from_fields(header["provenance"]), bytes_of_text(header.get("text_bytes"))
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
        raise damaged(error) from None
    starts: tuple[int, ...] = starts_of(begin + length, words)
    end = starts[-1] + size
    if header.get("documents"):
        starts = (*starts, _aligned(end))
        end = starts[-1] + 8 * words
    if min(words, size) < 0 or end != len(raw):
        raise damaged(f"it has {len(raw)} bytes instead of {end}")
    return words, size, provenance, text_bytes, starts
