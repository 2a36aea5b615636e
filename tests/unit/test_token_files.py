"""Token files: what is written comes back, equals the format's own bytes, and damage is an error."""

from __future__ import annotations

import json
import random
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inside import FORMATS, Contents, format_named, manifest_path, shard_path, with_ends, write_manifest, write_shards
from seeds import seed_of_run
from subwords import FormatError, InputError, files
from subwords.files import Manifest
from subwords.machine import TokenBlock

SEED = seed_of_run()
NAMES = [*FORMATS]
SUFFIX = {"megatron": ".bin", **{name: form.suffix for name, form in FORMATS.items()}}


def documents(seed: int, count: int = 50, most: int = 300) -> list[list[int]]:
    rng = random.Random(seed)
    return [[rng.randrange(most) for _ in range(rng.choice([0, 1, 2, 9, 40]))] for _ in range(count)]


def blocks(rows: list[list[int]], size: int = 7) -> list[TokenBlock]:
    """The ids of rows, cut after every `size` ids, wherever documents end."""
    flat = np.array([i for row in rows for i in row], np.uint32)
    ends = np.cumsum(list(map(len, rows)), dtype=np.int64)
    bounds = [*range(0, max(1, len(flat)), size), len(flat)]
    firsts = [0, *np.searchsorted(ends, bounds[1:], "right").tolist()]
    parts = zip(pairwise(bounds), pairwise(firsts), strict=True)
    return [TokenBlock(flat[a:b], ends[first:last] - a) for (a, b), (first, last) in parts]


def need(form: str) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow")


@pytest.mark.parametrize("form", NAMES)
@pytest.mark.parametrize("vocab_size", [300, 70_000])
@pytest.mark.parametrize("rows", [[], [[]], [[], []], [[1]], [[], [2, 3], []]])
def test_small_files_come_back(tmp_path: Path, form: str, vocab_size: int, rows: list[list[int]]) -> None:
    need(form)
    path = tmp_path / f"ids{SUFFIX[form]}"
    dtype = FORMATS[form].dtype_for(vocab_size)
    shards = write_shards(path, blocks(rows), FORMATS[form], dtype)
    opened = files.open(path, format=form, dtype=dtype.name)
    assert [ids.tolist() for ids in opened] == rows
    assert (len(opened), opened.num_tokens, opened.dtype) == (len(rows), sum(map(len, rows)), dtype)
    assert (shards[0].documents, shards[0].tokens) == (len(opened), opened.num_tokens)


@pytest.mark.rotating(4)
@pytest.mark.parametrize("form", NAMES)
@pytest.mark.parametrize("shard_size", [None, 1, 50, 10**6])
@pytest.mark.parametrize("shuffle", [None, 3])
def test_shards_and_their_manifest(tmp_path: Path, form: str, shard_size: int | None, shuffle: int | None) -> None:
    need(form)
    rows, path = documents(SEED), tmp_path / f"ids{SUFFIX[form]}"
    kind = FORMATS[form]
    dtype = kind.dtype_for(300)
    shards = write_shards(path, blocks(rows), kind, dtype, shard_size=shard_size, shuffle=shuffle)
    manifest = manifest_path(path)
    write_manifest(manifest, Manifest(Contents(form, dtype.name, 300, shuffle=shuffle), tuple(shards)))
    found = [ids.tolist() for ids in files.open(manifest)]
    assert found == rows if shuffle is None else sorted(found) == sorted(rows)
    if shuffle is not None and not shard_size:
        assert found != rows
    assert files.check(manifest) == []
    for shard in shards[:-1]:
        assert shard_size is not None
        last = files.open(path.with_name(shard.files[0].name), format=form, dtype=dtype.name)[-1]  # type: ignore[arg-type]
        assert shard.tokens >= shard_size
        assert shuffle is not None or shard.tokens - len(last) < shard_size
    assert {file.name for file in tmp_path.iterdir()} == {
        manifest.name,
        *(file.name for shard in shards for file in shard.files),
    }
    for size in (1, 11, 10**6):
        assert write_shards(path, blocks(rows, size), kind, dtype, shard_size=shard_size, shuffle=shuffle) == shards


def test_a_shuffle_depends_on_seed_and_shard_alone(tmp_path: Path) -> None:
    rows = documents(1)
    sums = [
        write_shards(tmp_path / "x.npy", blocks(rows, size), FORMATS["npy"], np.dtype("<u2"), shuffle=seed)[0].files
        for size, seed in ((3, 5), (50, 5), (50, 6))
    ]
    assert sums[0] == sums[1] != sums[2]
    kind, dtype = FORMATS["npy"], np.dtype("<u2")
    first = write_shards(tmp_path / "x.npy", blocks(rows), kind, dtype, shuffle=5, shard_size=10**6)[0].files[0]
    assert first.sha256 == sums[0][0].sha256  # the only shard is as the one file


def test_numpy_reads_npy_and_raw_ids(tmp_path: Path) -> None:
    rows = documents(2)
    flat = np.array([i for row in rows for i in row], np.uint16)
    write_shards(tmp_path / "x.npy", blocks(rows), FORMATS["npy"], np.dtype("<u2"))
    assert np.array_equal(np.load(tmp_path / "x.npy"), flat)
    assert np.array_equal(np.load(tmp_path / "x.offsets.npy"), np.cumsum([0, *map(len, rows)]))
    write_shards(tmp_path / "y.bin", blocks(rows), FORMATS["bin"], np.dtype("<u2"))
    assert (tmp_path / "y.bin").read_bytes() == flat.tobytes()


def test_megatron_bytes(tmp_path: Path) -> None:
    """The layout of indexed_dataset.py, written out by hand."""
    rows = [[7, 8], [], [9]]
    write_shards(tmp_path / "x.bin", blocks(rows), FORMATS["megatron"], np.dtype("<i4"))
    assert (tmp_path / "x.bin").read_bytes() == struct.pack("<3i", 7, 8, 9)
    assert (tmp_path / "x.idx").read_bytes() == (
        b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 4, 2, 4) + struct.pack("<2i", 2, 1) + struct.pack("<2q", 0, 8)
        + struct.pack("<4q", 0, 1, 1, 2)
    )  # fmt: skip


def test_megatron_types_are_those_of_its_own_tool() -> None:
    form = FORMATS["megatron"]
    assert [form.dtype_for(n).name for n in (300, 65_499, 65_500, 65_536, 70_000)] == ["uint16"] * 2 + ["int32"] * 3
    assert form.dtype_for(65_536, "uint16").name == "uint16"
    with pytest.raises(InputError, match="holds ids as uint16 or int32"):
        form.dtype_for(300, "uint32")


def test_a_megatron_document_of_several_sequences(tmp_path: Path) -> None:
    index = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, 3, 3)
    index += struct.pack("<3i", 1, 2, 1) + struct.pack("<3q", 0, 2, 6) + struct.pack("<3q", 0, 2, 3)
    (tmp_path / "x.idx").write_bytes(index)
    (tmp_path / "x.bin").write_bytes(np.arange(4, dtype="<u2").tobytes())
    assert [ids.tolist() for ids in files.open(tmp_path / "x")] == [[0, 1, 2], [3]]


def test_llmc_bytes(tmp_path: Path) -> None:
    write_shards(tmp_path / "x.bin", blocks([[5], [6, 7]]), FORMATS["llmc"], np.dtype("<u4"))
    header = struct.pack("<3i", 20240801, 7, 3) + bytes(4 * 253)
    assert (tmp_path / "x.bin").read_bytes() == header + struct.pack("<3I", 5, 6, 7)
    assert files.open(tmp_path / "x.bin").format == "llmc"


def test_datatrove_bytes(tmp_path: Path) -> None:
    write_shards(tmp_path / "x.ds", blocks([[5], [6, 7]]), FORMATS["datatrove"], np.dtype("<u2"))
    assert (tmp_path / "x.ds").read_bytes() == struct.pack("<3H", 5, 6, 7)
    assert (tmp_path / "x.ds.index").read_bytes() == struct.pack("<2Q", 1, 3)
    assert (tmp_path / "x.ds.metadata").read_text() == "subwords|2\n3\n3.00 T"


def test_parquet_is_read_by_arrow(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = documents(3)
    write_shards(tmp_path / "x.parquet", blocks(rows), FORMATS["parquet"], np.dtype("<u4"))
    assert parquet.read_table(tmp_path / "x.parquet").to_pydict() == {"input_ids": rows}


def test_ids_around_documents_that_blocks_cut_anywhere() -> None:
    """The twin of the kernel: documents as lists, whose ids come in blocks of any size, also without any."""
    rng = random.Random(SEED)
    for _ in range(200):
        rows = [[rng.randrange(9) for _ in range(rng.choice([0, 1, 5]))] for _ in range(rng.randrange(6))]
        found, ids, ends = list[TokenBlock](), list[int](), list[int]()
        for row in rows:
            for number in row:
                if rng.random() < 0.3:
                    found.append(TokenBlock(np.array(ids, np.uint32), np.array(ends, np.int64)))
                    ids, ends = [], []
                ids.append(number)
            ends.append(len(ids))
        found.append(TokenBlock(np.array(ids, np.uint32), np.array(ends, np.int64)))
        assert rows_of([*with_ends(found, 50, None)]) == [[50, *row] for row in rows]
        assert rows_of([*with_ends(found, 50, 60)]) == [[50, *row, 60] for row in rows]


def rows_of(found: list[TokenBlock]) -> list[list[int]]:
    """The documents that consecutive blocks stand for."""
    rows, tail = list[list[int]](), list[int]()
    for ids, ends in found:
        for start, stop in pairwise([0, *ends.tolist()]):
            rows.append([*tail, *ids[start:stop].tolist()])
            tail = []
        tail += ids[int(ends[-1]) if len(ends) else 0 :].tolist()
    assert not tail
    return rows


@pytest.mark.parametrize("group", [1, 5, 64])
def test_row_groups_do_not_depend_on_how_ids_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: int) -> None:
    need("parquet")
    monkeypatch.setattr("subwords.tokens.formats.GROUP", group)
    rows, path = documents(8), tmp_path / "x.parquet"
    sums = {
        write_shards(path, blocks(rows, size), FORMATS["parquet"], np.dtype("<u4"))[0].files for size in (1, 7, 10**6)
    }
    assert len(sums) == 1
    assert [ids.tolist() for ids in files.open(path)] == rows


def test_documents_by_their_last_id(tmp_path: Path) -> None:
    np.array([1, 0, 0, 2], "<u2").tofile(tmp_path / "x.bin")
    assert [ids.tolist() for ids in files.open(tmp_path / "x.bin", dtype="uint16", eos=0)] == [[1, 0], [0], [2]]
    assert [ids.tolist() for ids in files.open(tmp_path / "x.bin", dtype="uint16")] == [[1, 0, 0, 2]]


def test_ids_are_mapped(tmp_path: Path) -> None:
    write_shards(tmp_path / "x.npy", blocks([[1, 2], [3]]), FORMATS["npy"], np.dtype("<u2"))
    opened = files.open(tmp_path / "x.npy")
    assert isinstance(opened[0].base, np.memmap) or isinstance(opened[0], np.memmap)
    assert opened[-1].tolist() == [3]
    with pytest.raises(IndexError):
        opened[2]
    with pytest.raises(InputError, match="number of a document"):
        opened["a"]  # type: ignore[index]


def test_nothing_is_left_of_a_failed_write(tmp_path: Path) -> None:
    def failing():
        yield from blocks([[1], [2]])
        raise RuntimeError("broken source")

    for form in NAMES:
        need(form)
        with pytest.raises(RuntimeError):
            write_shards(tmp_path / "x.bin", failing(), FORMATS[form], FORMATS[form].dtype_for(300))
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("form", NAMES)
def test_cut_files_are_refused(tmp_path: Path, form: str) -> None:
    """Every file of every format, cut at many places: an error of ours, or the ids of whole documents."""
    need(form)
    rows, rng = documents(5, 20), random.Random(SEED)
    path = tmp_path / f"ids{SUFFIX[form]}"
    kind = FORMATS[form]
    paths = [path.with_name(part.name) for part in write_shards(path, blocks(rows), kind, np.dtype("<u2"))[0].files]
    for file in paths:
        whole = file.read_bytes()
        for cut in {0, 1, len(whole) - 1, *(rng.randrange(len(whole)) for _ in range(20))}:
            file.write_bytes(whole[:cut])
            try:
                found = [ids.tolist() for ids in files.open(path, format=form, dtype="uint16")]
            except (FormatError, InputError):
                continue
            assert file.name.endswith(".metadata") or found != rows
        file.write_bytes(whole)
    assert [ids.tolist() for ids in files.open(path, format=form, dtype="uint16")] == rows


def test_a_damaged_index_is_never_read_beyond_the_ids(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    write_shards(tmp_path / "x.bin", blocks(documents(6)), FORMATS["megatron"], np.dtype("<u2"))
    whole = (tmp_path / "x.idx").read_bytes()
    for _ in range(300):
        data = bytearray(whole)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        (tmp_path / "x.idx").write_bytes(data)
        try:
            found = [*files.open(tmp_path / "x.bin", format="megatron")]
        except (FormatError, InputError):
            continue
        assert all(len(ids) <= 50 * 40 for ids in found)


def test_refusals(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"\1\0\2\0")
    with pytest.raises(InputError, match="do not say their type"):
        files.open(tmp_path / "x.bin")
    with pytest.raises(InputError, match="cannot read file"):
        files.open(tmp_path / "none.npy")
    with pytest.raises(InputError, match="unknown format="):
        files.open(tmp_path / "x.bin", format="mp3")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected a name that ends in"):
        format_named(None, Path("x.txt"))
    with pytest.raises(InputError, match="uint16 holds ids below 65536"):
        FORMATS["npy"].dtype_for(70_000, "uint16")
    (tmp_path / "y.manifest.json").write_text(json.dumps({"version": 1}))
    with pytest.raises(FormatError, match="expected the manifest"):
        files.open(tmp_path / "y.manifest.json")
    with pytest.raises(InputError, match=r"cannot read file .*none\.manifest\.json"):
        files.check(tmp_path / "none.manifest.json")
    (tmp_path / "x.manifest.json").write_bytes(manifest().replace(b'"version": 1', b'"version": 2'))
    with pytest.raises(FormatError, match="expected a manifest of version 1, found 2"):
        files.open(tmp_path / "x.manifest.json")
    assert shard_path(Path("a/b.bin"), 12) == Path("a/b-00012.bin")


def test_a_changed_file_is_found(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    shards = write_shards(path, blocks([[1, 2]]), FORMATS["npy"], np.dtype("<u2"))
    told = Manifest(Contents("npy", "uint16", 300), tuple(shards))
    write_manifest(manifest_path(path), told)
    assert told.tables()[0].rows == [("x.npy", 1, 2, sum(file.bytes for file in shards[0].files))]
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert files.check(manifest_path(path)) == ["x.npy"]
    path.unlink()
    assert files.check(manifest_path(path)) == ["x.npy"]


def manifest(name: Any = "x.bin", dtype: Any = "uint16") -> bytes:
    contents = {"format": "bin", "dtype": dtype, "vocab_size": 9, "inputs": []}
    shard = {"documents": 1, "tokens": 32, "files": [{"name": name, "bytes": 64, "sha256": ""}]}
    return json.dumps({"version": 1, "contents": contents, "shards": [shard]}).encode()


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 100_000,
        b"[]",
        json.dumps({"version": 1, "contents": {"inputs": [{"name": "a", "bytes": 1e999}]}}).encode(),
    ],
)
def test_hostile_manifests_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.manifest.json"
    path.write_bytes(data)
    for call in (files.open, files.check):
        with pytest.raises(FormatError, match=r"x\.manifest\.json: expected"):
            call(path)


@pytest.mark.parametrize(
    "name", ["../x.bin", "..", "", "a/../x.bin", "a/x.bin", "x\0.bin", "/x.bin", "\ud800", 3, None]
)
def test_a_manifest_names_files_beside_it_only(tmp_path: Path, name: Any) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    path = folder / "x.manifest.json"
    for place in (tmp_path, folder):
        (place / "x.bin").write_bytes(bytes(64))
    path.write_bytes(manifest())
    assert sum(map(len, files.open(path))) == 32
    path.write_bytes(manifest(name))
    for call in (files.open, files.check):
        with pytest.raises(FormatError, match="expected names of files beside the manifest"):
            call(path)


@pytest.mark.parametrize("dtype", ["O", "V8", "float64", "uint16,uint16", 3])
def test_a_manifest_names_types_of_ids_only(tmp_path: Path, dtype: Any) -> None:
    """A type of objects would make addresses of the bytes of a file."""
    (tmp_path / "x.bin").write_bytes(bytes(64))
    (tmp_path / "x.manifest.json").write_bytes(manifest(dtype=dtype))
    with pytest.raises((FormatError, InputError), match="expected"):
        files.open(tmp_path / "x.manifest.json")


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize(
    "header",
    [
        *(f"{{'descr': '<u2', 'fortran_order': False, 'shape': ({size},)}}" for size in (-1, 99, 2**62, 2**70, "True")),
        *(f"{{'descr': '{kind}', 'fortran_order': False, 'shape': (4,)}}" for kind in ("|O", "<f8", "S4", "<u2,<u2")),
        *("[" * 9000, "(" * 9000, "", "{" + " " * 60_000 + "}", "__import__('os').system('true')"),
    ],
)
def test_hostile_numpy_headers_are_refused(tmp_path: Path, header: str) -> None:
    data = header.encode() + b"\n"
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(data).to_bytes(2, "little") + data + bytes(64))
    with pytest.raises(FormatError, match=r"x\.npy: expected"):
        files.open(tmp_path / "x.npy")


def index(lengths: list[int], places: list[int], firsts: list[int], sequences: int, documents: int) -> bytes:
    head = struct.pack("<9sQBQQ", b"MMIDIDX\0\0", 1, 8, sequences, documents)
    return head + np.array(lengths, "<i4").tobytes() + np.array([*places, *firsts], "<i8").tobytes()


@pytest.mark.parametrize(
    "data",
    [
        index([2, 300], [0, 4], [0, 1, 2], 2, 3),  # longer than the file
        index([2, -3], [0, 4], [0, 1, 2], 2, 3),
        index([2, 3], [0, 2**62], [0, 1, 2], 2, 3),
        index([2, 3], [-4, 4], [0, 1, 2], 2, 3),
        index([2, 3], [0, 4], [0, 2, 1], 2, 3),
        index([2, 3], [0, 4], [-1, 1, 9], 2, 3),
        index([2], [0], [0, 1], 2**63, 2),
        index([2], [0], [0, 1], 1, 2**64 - 1),
        index([], [], [], 0, 0),
    ],
)
def test_an_index_beyond_its_ids_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.bin").write_bytes(bytes(16))
    (tmp_path / "x.idx").write_bytes(data)
    with pytest.raises(FormatError, match=r"x\.(bin|idx): expected"):
        [*files.open(tmp_path / "x.bin")]


@pytest.mark.parametrize("ends", [[9, 8], [2**64 - 1, 8], [2**64 - 1], [3, 1, 8]])
def test_ends_of_datatrove_beyond_the_ids_are_refused(tmp_path: Path, ends: list[int]) -> None:
    (tmp_path / "x.ds").write_bytes(bytes(16))
    (tmp_path / "x.ds.index").write_bytes(np.array(ends, "<u8").tobytes())
    with pytest.raises(FormatError, match=r"x\.ds: expected"):
        [*files.open(tmp_path / "x.ds")]
