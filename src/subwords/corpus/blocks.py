"""Blocks: consecutive text of a corpus, and where its documents end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.reading import LEAST_CAP, Reading, Tally
from subwords.kernels import layout

LONG_TEXT = 1 << 17  # bytes from which on a kernel finds invalid UTF-8 sooner than Python


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Consecutive UTF-8 text: a part of one document, or several documents.

    data: never empty, cut between characters. ends (int64, strictly ascending, possibly empty): the end offsets in
    `data` of the documents that end in this block; the text after the last end continues in the next block. The last
    block of a source always has `ends[-1] == len(data)`. name: the file's name, or "text 12" with the index (from 0)
    of the first text in the iterable. offset: where `data` begins in the text of the file, after
    decompression, without separators and without bytes that are not text, or in the UTF-8 form of that text.
    """

    data: bytes
    ends: NDArray[np.int64]
    name: str
    offset: int


def blocks_of(
    data: memoryview, ends: NDArray[np.int64], name: str, offset: int, size: int, tally: Tally
) -> Iterator[Block]:
    """Yield documents as blocks of at most about `size` bytes; a longer document is cut between characters.

    ends (int64, ascending): where each document ends in the data; the last at its end. Empty ones are left out.
    """
    ends = merged_ends(ends, tally)
    start = done = 0
    while start < len(data):
        stop = min(start + size, len(data))
        last = int(np.searchsorted(ends, stop, "right"))
        stop = int(ends[last - 1]) if last > done else before_character(data, stop) or stop
        yield Block(bytes(data[start:stop]), ends[done:last] - start, name, offset + start)
        start, done = stop, last


def merged_ends(ends: NDArray[np.int64], tally: Tally) -> NDArray[np.int64]:
    """Return ascending ends without those of empty documents, which the tally counts."""
    found = ends[np.diff(ends, prepend=np.int64(0)) > 0]
    tally.empty += len(ends) - len(found)
    return found


def before_character(data: memoryview | bytes | bytearray, at: int) -> int:
    """Return where to cut data before its byte `at`: not within a character.

    The last of 4 consecutive continuation bytes is always invalid, so a cut before it is correct too.
    """
    if at >= len(data):
        return len(data)
    return next((place for place in range(at, max(-1, at - 4), -1) if data[place] & 0xC0 != 0x80), at)


def line_ends(data: bytes) -> NDArray[np.int64]:
    r"""Return where the lines of data end, each with its "\n"; not the end of a last line without it."""
    from subwords.kernels.named import ends_after

    ends = np.empty(len(data), np.int64)
    return ends[: ends_after(np.frombuffer(data, np.uint8), ord("\n"), ends)].copy()


def invalid_place(data: bytes | memoryview) -> int | None:
    """Return the place of the first byte that is not UTF-8.

    Row: train, "english, 60 MB": text with few characters beyond ASCII takes `str` 1.8 ns a byte, the kernel 0.02.
    """
    if len(data) < LONG_TEXT:
        try:
            str(data, "utf-8")
        except UnicodeDecodeError as error:
            return error.start
        return None
    from subwords.kernels.named import first_invalid as find

    bad = find(np.frombuffer(data, np.uint8))
    return None if bad < 0 else bad


def without(separator: bytes, data: bytes, ended: bool) -> tuple[bytes, NDArray[np.int64]]:
    """Return data without separators, and where a document ends in it; `ended`: one ends at the end of the data."""
    from subwords.kernels.named import cut_out

    out, ends = np.empty(len(data) + layout.LANES, np.uint8), np.empty(len(data) // len(separator) + 1, np.int64)
    count = cut_out(np.frombuffer(data, np.uint8), np.frombuffer(separator, np.uint8), out, ends)
    size = ends[count] = len(data) - count * len(separator)
    return out[:size].tobytes(), ends[: count + ended].copy()


def capped(blocks: Iterable[Block], most: int, tally: Tally) -> Iterator[Block]:
    """Yield blocks with the first `most` bytes of each document, cut between characters; the tally counts the cuts."""
    room = most  # bytes that this document may still have; 0: it is full, and the rest of it is dropped
    held = b""  # the last character of a document that is almost full: its end is set when it is known
    for block in blocks:
        data, ends = held + block.data, block.ends + len(held)
        edges = [0, *ends.tolist()]
        is_open = edges[-1] < len(data)
        if is_open:
            edges.append(len(data))
        lengths = np.diff(edges)
        if not held and int(lengths.max()) <= room - LEAST_CAP:
            room = most if not is_open else (room if len(lengths) == 1 else most) - int(lengths[-1])
            yield block
            continue
        held = b""
        parts, kept_ends, size = list[bytes](), list[int](), 0
        for start, stop in pairwise(edges):
            ended = not (is_open and stop == len(data))
            kept, dropped = stop, stop - start > room
            if dropped:
                kept = before_character(data, start + room)
                tally.cut += room > 0
            elif not ended and stop - start > room - LEAST_CAP:
                kept = before_character(data, stop - 1)
                held = data[kept:]
            parts.append(data[start:kept])
            size += kept - start
            if room and (ended or dropped):
                kept_ends.append(size)
            room = most if ended else 0 if dropped else room - (kept - start)
        if size:
            yield Block(b"".join(parts), np.array(kept_ends, np.int64), block.name, block.offset)


# ---------------------------------------------------------------------------------------------------------------------
# Specials: removes special tokens from the text of a corpus before it is split.

SHORT_SEARCH = 1 << 12  # bytes; shorter texts are searched in Python, longer ones by a kernel that releases the GIL


@dataclass(frozen=True, slots=True)
class CorpusPart:
    """A part of the corpus: the texts text[bounds[i]:bounds[i + 1]]; text[0] is at offset `place` of the corpus.

    begins, ends: False if the first text continues the previous part, or if the last one continues in the next part.
    documents: the number of the document in the part that each text is of; None if each text is a document.
    number, before: the number of the first text's document in the corpus, and bytes of that document before the part.
    """

    text: bytes
    bounds: NDArray[np.int64]
    place: int
    begins: bool
    ends: bool
    documents: NDArray[np.int64] | None = None
    number: int = 0
    before: int = 0


class Specials:
    """Removes special tokens from the text before counting (W3); of several matches at a position, the longest."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens = sorted((token.encode() for token in tokens), key=len, reverse=True)
        self.reach = len(self.tokens[0]) if self.tokens else 0
        self._pattern = re.compile(b"|".join(map(re.escape, self.tokens)))

    def clear(self, data: bytes, begins: int, cut: int, context: int = 0) -> bool:
        """Whether no special token is at a cut or in `context` bytes before it, searching only the text close to it."""
        if not self.tokens:
            return True
        first = cut - self.reach - context
        return first >= 0 and not self._occur(data, max(begins, first), min(len(data), cut + self.reach))

    def last_before(self, data: bytes, begins: int, cut: int) -> int | None:
        """Return the end of the last special token that begins at a cut or before it; None without such a token.

        `begins` is the offset in `data` where the text begins.
        """
        last = None
        for start, stop in self._spans(data, begins, len(data)):
            if start > cut:
                break
            last = stop
        return last

    def remove(self, part: CorpusPart) -> CorpusPart:
        """Return the part without special tokens; the stretches between them become separate texts."""
        if not self._occur(part.text, 0, len(part.text)):
            return part
        bounds = part.bounds.tolist()
        spans = [span for a, b in pairwise(bounds) for span in self._spans(part.text, a, b)]
        edges = np.unique(np.concatenate([part.bounds, np.array(spans, np.int64).ravel()]))
        kept = np.flatnonzero(~np.isin(edges[:-1], [a for a, _ in spans]))
        text = b"".join(part.text[edges[k] : edges[k + 1]] for k in kept)
        lengths = np.diff(edges)[kept]
        # A text begins or ends at each removed token.
        begins, ends = part.begins or edges[kept[:1]].any(), part.ends or edges[kept[-1:] + 1] != len(part.text)
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        documents = np.searchsorted(part.bounds, edges[kept], "right") - 1
        return CorpusPart(text, bounds, part.place, bool(np.all(begins)), bool(np.all(ends)), documents)

    def _spans(self, data: bytes, start: int, stop: int) -> Iterator[tuple[int, int]]:
        if not self._occur(data, start, stop):
            return iter(())
        return (match.span() for match in self._pattern.finditer(data, start, stop))

    def _occur(self, data: bytes, start: int, stop: int) -> bool:
        """Whether data[start:stop] contains any special token."""
        if stop - start < SHORT_SEARCH:
            return any(data.find(token, start, stop) >= 0 for token in self.tokens)
        from subwords.kernels.named import find_bytes

        text = np.frombuffer(data, np.uint8)
        return any(find_bytes(text, start, stop, np.frombuffer(token, np.uint8)) >= 0 for token in self.tokens)


# ---------------------------------------------------------------------------------------------------------------------
# Parts: text of a corpus, cut only where a cut changes no word.


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


# ---------------------------------------------------------------------------------------------------------------------
# Samples documents by a hash of their text: the same documents in any order of files, threads and shards (W5).

HEAD = 1 << 12  # bytes of a document that decide


def chosen(blocks: Iterable[Block], reading: Reading, tally: Tally) -> Iterator[Block]:
    """Yield the blocks of the sample that is asked for, its documents cut as asked for."""
    if reading.sample is not None:
        blocks = sample_blocks(blocks, reading.sample, reading.sample_seed or 0)
    return iter(blocks) if reading.max_document_bytes is None else capped(blocks, reading.max_document_bytes, tally)


def sample_blocks(blocks: Iterable[Block], share: float, seed: int) -> Iterator[Block]:
    """Yield blocks of about this share of the documents. Any smaller share of the same seed is a part of them.

    The first HEAD bytes of a document decide: equal documents are all kept or all left out.
    """
    from subwords.kernels.named import keep_texts

    limit = ceil(share * 2**53)
    held, fate = (
        b"",
        -1,
    )  # of the document that has begun: its text while that is too short, and whether it is kept
    for block in blocks:
        data, ends = held + block.data if held else block.data, block.ends + len(held)
        offset, held = block.offset - len(held), b""
        is_open = not len(ends) or int(ends[-1]) < len(data)
        bounds = np.concatenate([np.zeros(1, np.int64), ends, np.full(int(is_open), len(data), np.int64)])
        kept = np.empty(len(bounds) - 1, np.uint8)
        keep_texts(np.frombuffer(data, np.uint8), bounds, seed, HEAD, limit, kept)
        if fate >= 0:
            kept[0] = fate
        if not is_open:
            fate = -1
        elif fate < 0 or len(bounds) > 2:
            fate = int(kept[-1])
            if len(data) - int(bounds[-2]) < HEAD:
                held, fate = data[int(bounds[-2]) :], -1
                bounds, kept, is_open = bounds[:-1], kept[:-1], False
        if found := _part(data, bounds, kept, is_open):
            yield Block(*found, block.name, offset)


def _part(
    data: bytes, bounds: NDArray[np.int64], kept: NDArray[np.uint8], is_open: bool
) -> tuple[bytes, NDArray[np.int64]] | None:
    """Return the text of the documents that are kept, and where they end in it."""
    lengths = np.diff(bounds)
    if not kept.any():
        return None
    if kept.all():
        text = data[: int(bounds[-1])]
    else:
        text = np.frombuffer(data, np.uint8)[: int(bounds[-1])][np.repeat(kept.view(bool), lengths)].tobytes()
    ends = np.cumsum(lengths[kept.view(bool)])
    return text, ends[:-1] if is_open and kept[-1] else ends
