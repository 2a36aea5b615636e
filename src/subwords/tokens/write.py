"""write_shards: documents to token files, in shards, shuffled if asked; conversations packed into rows."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.machine import Tally, TokenBlock
from subwords.support.errors import InputError, SubwordsError
from subwords.tokens.formats import (
    BEGINS,
    MEGATRON,
    MOST_SEGMENTS,
    PADDED,
    Ends,
    beside_ids,
    has_index,
    index_path,
    kinds_beside,
    spool,
    write_numbers,
)
from subwords.tokens.manifest import (
    Contents,
    Manifest,
    PartFile,
    Shard,
    manifest_path,
    part_file,
    read_manifest,
    write_manifest,
)
from subwords.tokens.token_file import Append, Sums, TokenFormat

STEP = 1 << 20  # ids that are shuffled at once


def shard_path(path: Path, number: int) -> Path:
    """Return the path of a shard.

    >>> from pathlib import Path
    >>> shard_path(Path("out/corpus.bin"), 3).name
    'corpus-00003.bin'
    """
    return path.with_name(f"{path.stem}-{number:05}{path.suffix}")


def with_ends(blocks: Iterable[TokenBlock], bos: int | None, eos: int | None) -> Iterator[TokenBlock]:
    """Yield blocks with these ids before and after each document."""
    from subwords.machine import place_ends

    if bos is None and eos is None:
        yield from blocks
        return
    first, last = (-1 if number is None else number for number in (bos, eos))
    begun = 0  # 1 if the last block ended within a document, which then has its first id
    for ids, ends in blocks:
        out, out_ends = np.empty(len(ids) + 2 * len(ends) + 1, np.uint32), np.empty(len(ends), np.int64)
        count = place_ends(np.ascontiguousarray(ids, np.uint32), ends, first, last, begun, out, out_ends)
        yield TokenBlock(out[:count], out_ends)
        begun = int(len(ids) > ends[-1]) if len(ends) else int(begun or len(ids) > 0)


def write_token_files(
    target: Path,
    blocks: Iterable[TokenBlock],
    form: TokenFormat,
    contents: Contents,
    *,
    tally: Tally,
    shard_size: int | None = None,
) -> Manifest:
    """Write documents and their manifest. tally: what was left out; it is complete after the last block."""
    ids, kind = with_ends(blocks, contents.bos, contents.eos), np.dtype(contents.dtype)
    packing = None if contents.pack is None or contents.pad is None else Packing(contents.pack, contents.pad)
    if packing is not None:
        ids = packing.rows(ids)
    shards = write_shards(target, ids, form, kind, shard_size=shard_size, shuffle=contents.shuffle)
    contents = replace(contents, skipped=tally.skipped, replaced=tally.replaced, cut=tally.cut)
    if packing is not None:
        told = packing.padding, packing.conversations, packing.split
        contents = replace(contents, padding=told[0], conversations=told[1], split=told[2])
    manifest = Manifest(contents, tuple(shards))
    kinds = kinds_beside(contents)
    for at, (name, number) in enumerate(kinds.items(), 1):
        parts = tuple(replace(shard, files=_part_of(shard.files, at, len(kinds) + 1)) for shard in shards)
        finish(beside_ids(target, name), Manifest(replace(contents, dtype=number, masked=False), parts))
    finish(target, manifest)
    return manifest


def _part_of(files: tuple[PartFile, ...], at: int, parts: int) -> tuple[PartFile, ...]:
    """Return the files of one kind: those of ids come first, then as many of each other kind."""
    size = len(files) // parts
    return files[at * size : (at + 1) * size]


def write_shards(
    path: Path,
    blocks: Iterable[TokenBlock],
    form: TokenFormat,
    dtype: np.dtype[Any],
    *,
    shard_size: int | None = None,
    shuffle: int | None = None,
) -> list[Shard]:
    """Write documents to `path`, or with a shard size to several files: a document that reaches the size is the last.

    Each file appears complete or not at all. shuffle: a seed; the documents of each shard are then shuffled.
    """
    if shard_size is None:
        return [_write_shard(path, iter(blocks), form, dtype, shuffle, 0)]
    shards: list[Shard] = []
    parts = _Parts(iter(blocks), shard_size)
    while not shards or parts.more():
        shards.append(_write_shard(shard_path(path, len(shards)), parts.shard(), form, dtype, shuffle, len(shards)))
    return shards


class _Parts:
    """Blocks, cut where a shard is full."""

    def __init__(self, blocks: Iterator[TokenBlock], size: int) -> None:
        self._blocks = blocks
        self._size = size
        self._rest: TokenBlock | None = None

    def more(self) -> bool:
        """Whether any document is left."""
        while self._rest is None or not (len(self._rest.ids) or len(self._rest.ends)):
            self._rest = next(self._blocks, None)
            if self._rest is None:
                return False
        return True

    def shard(self) -> Iterator[TokenBlock]:
        """Yield the documents of the next shard."""
        room = self._size
        while self.more():
            block = self._rest
            assert block is not None
            last = int(np.searchsorted(block.ends, room))  # of the documents that end here, the one that fills it
            if last < len(block.ends):
                stop = int(block.ends[last])
                yield TokenBlock(block.ids[:stop], block.ends[: last + 1])
                self._rest = TokenBlock(block.ids[stop:], block.ends[last + 1 :] - stop)
                return
            yield block
            self._rest = None
            room -= len(block.ids)


def _write_shard(
    path: Path, blocks: Iterator[TokenBlock], form: TokenFormat, dtype: np.dtype[Any], shuffle: int | None, number: int
) -> Shard:
    sums = Sums()
    documents, tokens = _write_shards(path, blocks, form, dtype, shuffle, number, sums)
    try:
        files = tuple(part_file(file, sums.get(file)) for file in form.files(path))
    except OSError as error:
        raise InputError(f"cannot read file {error.filename or path}: {error.strerror}") from error
    return Shard(documents, tokens, files)


def finish(target: Path, manifest: Manifest) -> None:
    """Write the manifest of the files of a name, and delete what an earlier run left of files of the same name."""
    place = manifest_path(target)
    for old in [*_of_earlier(target, manifest), *misleading(place, manifest)]:
        old.unlink(missing_ok=True)
    write_manifest(place, manifest)


def _of_earlier(target: Path, manifest: Manifest) -> list[Path]:
    """Return the files of the earlier manifest that are not written again: more shards, or other side files.

    Files with ids of another suffix stay: they have another name.
    """
    place = manifest_path(target)
    try:
        earlier = read_manifest(place) if place.exists() else None
    except SubwordsError:  # no manifest, or a damaged one: it says nothing
        return []
    if earlier is None:
        return []
    suffixes, names = {_suffix(shard) for shard in manifest.shards}, _file_names(manifest)
    old = [file.name for shard in earlier.shards for file in shard.files if _suffix(shard) in suffixes]
    gone = kinds_beside(earlier.contents).keys() - kinds_beside(manifest.contents).keys()
    manifests = [manifest_path(beside_ids(target, kind)) for kind in sorted(gone)]
    return [*(place.with_name(name) for name in old if name not in names), *manifests]


def _suffix(shard: Shard) -> str:
    return Path(shard.files[0].name).suffix


def misleading(place: Path, manifest: Manifest) -> list[Path]:
    """Return the indexes of Megatron beside files of another format: readers would use them."""
    if manifest.contents.format == MEGATRON.name:
        return []
    files = [place.with_name(shard.files[0].name) for shard in manifest.shards]
    return [
        index_path(file) for file in files if has_index(file) and index_path(file).name not in _file_names(manifest)
    ]


def _file_names(manifest: Manifest) -> set[str]:
    return {file.name for shard in manifest.shards for file in shard.files}


def write_part(path: Path, blocks: Iterable[TokenBlock], form: TokenFormat, dtype: np.dtype[Any]) -> tuple[int, int]:
    """Write documents to one file without a checksum; return the number of documents and of ids."""
    return _write_shards(path, blocks, form, dtype, None, 0, Sums())


def _write_shards(
    path: Path,
    blocks: Iterable[TokenBlock],
    form: TokenFormat,
    dtype: np.dtype[Any],
    shuffle: int | None,
    number: int,
    sums: Sums,
) -> tuple[int, int]:
    documents = tokens = 0
    held = np.dtype(np.uint32) if form.marked else dtype
    with ExitStack() as stack:
        append = stack.enter_context(form.write(path, dtype, sums))
        if shuffle is not None:
            append = stack.enter_context(_shuffled(path, append, held, np.random.default_rng([shuffle, number])))
        for ids, ends in blocks:
            documents, tokens = documents + len(ends), tokens + len(ids)
            append(ids, ends)
    return documents, tokens


@contextmanager
def _shuffled(path: Path, append: Append, dtype: np.dtype[Any], rng: np.random.Generator) -> Iterator[Append]:
    """Yield a function that keeps documents in a temporary file; at the end they are appended in a random order."""
    with spool(path) as ids, spool(path) as body:
        ends = Ends(body)

        def keep(numbers: NDArray[Any], stops: NDArray[np.int64]) -> None:
            write_numbers(ids, numbers, dtype)
            ends.append(len(numbers), stops)

        yield keep
        if not ends.documents:
            return
        ids.flush()
        flat = np.memmap(ids, dtype, "r") if ends.tokens else np.zeros(0, dtype)
        stops = np.concatenate([np.zeros(1, np.int64), *ends.batches()])
        order = rng.permutation(ends.documents)
        lengths = np.diff(stops)[order]
        cuts = np.searchsorted(np.cumsum(lengths), np.arange(STEP, ends.tokens + STEP, STEP), "left") + 1
        first = 0
        for last in np.unique(np.append(cuts.clip(max=len(order)), len(order))).tolist():
            rows = [flat[stops[i] : stops[i + 1]] for i in order[first:last].tolist()]
            append(np.concatenate([np.zeros(0, dtype), *rows]), np.cumsum(lengths[first:last], dtype=np.int64))
            first = last


# ---------------------------------------------------------------------------------------------------------------------
# Packing: whole conversations in rows of one size.

OPEN_IDS = 1 << 24  # ids of rows that may still be filled
FEWEST_OPEN, MOST_OPEN = 8, 1 << 10  # such rows
ROWS_AT_ONCE = 1 << 20  # ids of rows that are written at once


class Packing:
    """Puts each conversation into the row that it fills best, among a number of open rows.

    A longer one is cut into rows, and its end is put where there is room. What comes out depends on the order of the
    conversations only. padding, conversations, split: the ids of padding so far, the conversations, those cut.
    """

    def __init__(self, size: int, pad: int) -> None:
        self._size, self._pad = size, np.uint32(pad | PADDED)
        self._most = min(max(OPEN_IDS // size, FEWEST_OPEN), MOST_OPEN)
        self._open: list[tuple[int, int]] = []  # the room of each open row, the least first, and its number
        self._parts: dict[int, list[NDArray[np.uint32]]] = {}
        self.padding = self.conversations = self.split = 0

    def rows(self, blocks: Iterable[TokenBlock]) -> Iterator[TokenBlock]:
        """Yield conversations as rows of the size."""
        full = list[NDArray[np.uint32]]()
        for number in self._full_rows(blocks):
            full.append(self._row(number))
            if len(full) * self._size >= ROWS_AT_ONCE:
                yield self._joined(full)
                full = []
        if full:
            yield self._joined(full)

    def _full_rows(self, blocks: Iterable[TokenBlock]) -> Iterator[int]:
        """Yield the numbers of rows that nothing is added to."""
        count = 0
        for ids in _documents(blocks):
            self.conversations += 1
            self.split += len(ids) > self._size
            for start in range(0, len(ids), self._size):
                piece = ids[start : start + self._size].copy()
                piece[0] |= BEGINS
                at = bisect_left(self._open, (len(piece), -1))
                if at < len(self._open):
                    room, number = self._open.pop(at)
                else:
                    if len(self._open) >= self._most:
                        yield self._open.pop(0)[1]
                    room, number = self._size, count
                    self._parts[number], count = [], count + 1
                self._parts[number].append(piece)
                room -= len(piece)
                if room and len(self._parts[number]) < MOST_SEGMENTS:
                    insort(self._open, (room, number))
                else:
                    yield number
        yield from sorted(number for _, number in self._open)

    def _row(self, number: int) -> NDArray[np.uint32]:
        parts = self._parts.pop(number)
        room = self._size - sum(map(len, parts))
        self.padding += room
        return np.concatenate([*parts, np.full(room, self._pad, np.uint32)])

    def _joined(self, rows: list[NDArray[np.uint32]]) -> TokenBlock:
        return TokenBlock(np.concatenate(rows), np.arange(1, len(rows) + 1, dtype=np.int64) * self._size)


def _documents(blocks: Iterable[TokenBlock]) -> Iterator[NDArray[np.uint32]]:
    """Yield the ids of each document, which may go on over blocks."""
    held = list[NDArray[Any]]()
    for ids, ends in blocks:
        start = 0
        for stop in ends.tolist():
            part = ids[start:stop]
            yield np.concatenate([*held, part]) if held else part
            held, start = [], stop
        if start < len(ids):
            held.append(ids[start:])
