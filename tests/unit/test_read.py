"""Reading text files as blocks: documents, line ends, encodings, errors."""

from __future__ import annotations

import gzip
import itertools
import os
import random
import sys
import threading
import tracemalloc
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from subwords import CorpusError, InputError, Reading
from subwords.machine import Block, read_blocks, source_size

MIXED = "aé中😀\n\r\n\u2028z\ufeff\n\nñ" * 3
SIZES = (1, 2, 3, 4, 5, 7, 16, 1000)


def read(source: Any, *, documents: Any = "file", errors: Any = "strict", **options: Any) -> Iterator[Block]:
    return read_blocks(source, Reading(documents=documents, errors=errors), **options)


def documents(blocks: Iterable[Block]) -> list[bytes]:
    """The documents the blocks stand for; checks what every block promises."""
    found, tail, places = [], b"", dict[str, int]()
    for block in blocks:
        assert block.data
        block.data.decode()
        assert block.ends.dtype == np.int64
        ends = block.ends.tolist()
        assert ends == sorted(set(ends))
        assert not ends or 0 < ends[0] <= ends[-1] <= len(block.data)
        assert block.offset == places.get(block.name, 0)
        places[block.name] = block.offset + len(block.data)
        parts = [block.data[start:stop] for start, stop in itertools.pairwise([0, *ends])]
        if parts:
            parts[0] = tail + parts[0]
            tail = b""
        found += parts
        tail += block.data[ends[-1] if ends else 0 :]
    assert tail == b"", "the last block ends a document"
    return found


def zstd(data: bytes) -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    frame: bytes = sink.getvalue().to_pybytes()
    return frame


# --- files


@pytest.mark.parametrize("size", SIZES)
def test_file_cut_into_blocks_is_the_file(size: int, tmp_path: Path) -> None:
    ref = MIXED.encode()
    (tmp_path / "a.txt").write_bytes(ref)
    blocks = list(read(tmp_path / "a.txt", block_size=size))
    assert documents(blocks) == [ref]
    assert max(len(block.data) for block in blocks) <= size + 4
    assert len(blocks) >= len(ref) // (size + 4)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("end", ["", "\n", "\n\n", "x" * 40])
def test_lines_are_documents_with_their_endings(size: int, end: str, tmp_path: Path) -> None:
    text = MIXED + end
    (tmp_path / "a.txt").write_bytes(text.encode())
    ref = [line.encode() for line in text.split("\n")]
    ref = [line + b"\n" for line in ref[:-1]] + [line for line in ref[-1:] if line]
    assert documents(read(tmp_path / "a.txt", documents="line", block_size=size)) == ref


def test_blocks_of_lines_are_cut_behind_a_line_where_one_fits(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one two\nthree\nfour five six\n" * 20)
    blocks = list(read(tmp_path / "a.txt", documents="line", block_size=20))
    assert len(blocks) > 20
    assert all(block.data.endswith(b"\n") and block.ends[-1] == len(block.data) for block in blocks)


def test_file_of_exactly_some_blocks_ends_once(tmp_path: Path) -> None:
    for length in range(1, 30):
        (tmp_path / "a.txt").write_bytes(b"x" * length)
        assert documents(read(tmp_path / "a.txt", block_size=6)) == [b"x" * length]


def test_blocks_of_a_random_text_equal_the_whole_at_any_size(tmp_path: Path) -> None:
    seed = random.randrange(1 << 30)
    print("seed", seed)
    rng = random.Random(seed)
    ref = "".join(rng.choices("ab \né中😀", k=400)).encode()
    (tmp_path / "a.txt").write_bytes(ref)
    for size in range(1, 80):
        assert documents(read(tmp_path / "a.txt", block_size=size)) == [ref]
        got = documents(read(tmp_path / "a.txt", block_size=size, documents="line"))
        assert got == ref.splitlines(keepends=True)


def test_line_ends_are_kept_and_a_byte_order_mark_is_not(tmp_path: Path) -> None:
    ref = b"one\r\ntwo\rthree\n"
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbf" + ref)
    assert documents(read(tmp_path / "a.txt")) == [ref]


def test_empty_files_give_no_documents(tmp_path: Path) -> None:
    for name, data in (("a.txt", b""), ("b.txt", b"b"), ("c.txt.gz", gzip.compress(b"")), ("d.txt", b"d")):
        (tmp_path / name).write_bytes(data)
    assert documents(read(tmp_path)) == [b"b", b"d"]
    assert list(read(tmp_path / "a.txt", documents="line")) == []


def test_a_short_file_after_a_long_one_keeps_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"long text " * 10)
    (tmp_path / "b.txt").write_bytes(b"s")
    assert documents(read(tmp_path, block_size=8)) == [b"long text " * 10, b"s"]


def test_large_blocks_of_wide_characters_are_checked_across_steps(tmp_path: Path) -> None:
    ref = b"x" + "中".encode() * 200_000
    (tmp_path / "a.txt").write_bytes(ref)
    assert documents(read(tmp_path / "a.txt")) == [ref]
    (tmp_path / "a.txt").write_bytes(ref + b"\xe4\xb8")
    with pytest.raises(CorpusError, match=f"byte 0xe4 at byte {len(ref)};"):
        list(read(tmp_path / "a.txt"))


def test_memory_stays_near_a_block(tmp_path: Path) -> None:
    size = 1 << 20
    (tmp_path / "a.txt").write_bytes("one line of é 中 😀\n".encode() * 600_000)
    tracemalloc.start()
    total = sum(len(block.data) for block in read(tmp_path / "a.txt", block_size=size))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert total == (tmp_path / "a.txt").stat().st_size > 12 * size
    assert peak < 4 * size


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    ref = MIXED.encode()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write() -> None:
        with pipe.open("wb", buffering=0) as stream:
            for start in range(0, len(ref), 3):
                stream.write(ref[start : start + 3])

    writer = threading.Thread(target=write)
    writer.start()
    taken: list[int] = []
    got = documents(read(pipe, block_size=10, on_bytes=taken.append))
    writer.join()
    assert got == [ref]
    assert sum(taken) == len(ref)


# --- compressed files


@pytest.mark.parametrize("size", [1, 5, 100, 1 << 20])
@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compressed_file_of_several_parts_is_read_whole(suffix: str, size: int, tmp_path: Path) -> None:
    pack = gzip.compress if suffix == ".gz" else zstd
    parts = [MIXED.encode(), b"", b"second \xe4", b"\xb8\xad third"]
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(b"".join(pack(part) for part in parts))
    taken: list[int] = []
    assert documents(read(tmp_path, block_size=size, on_bytes=taken.append)) == [b"".join(parts)]
    assert sum(taken) == source_size(path) == path.stat().st_size


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_damaged_compressed_file_raises(suffix: str, tmp_path: Path) -> None:
    good = (gzip.compress if suffix == ".gz" else zstd)(bytes(random.Random(1).choices(range(97, 123), k=9000)))
    path = tmp_path / f"a.txt{suffix}"
    for bad in (good[:-20], good[:100], b"plain text, not compressed", good + b"not a part", good[:30] + bytes(2000)):
        path.write_bytes(bad)
        with pytest.raises(CorpusError, match=rf"a\.txt{suffix}: cannot read file to its end"):
            list(read(path))


def test_zst_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt.zst").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(CorpusError, match=r'pip install .*\[files\]"'):
        read(tmp_path)


# --- invalid UTF-8


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("data", "byte", "at"),
    [
        (b"abc\xffdef", 0xFF, 3),
        ("é中".encode() + b"\x80", 0x80, 5),
        (b"ab\xe4\xb8", 0xE4, 2),
        (b"ab\xe4\xb8cd", 0xE4, 2),
        (b"\xed\xa0\x80", 0xED, 0),
        (b"a" * 20 + b"\xf0\x9f\x98", 0xF0, 20),
    ],
)
def test_invalid_utf8_names_file_byte_and_offset(data: bytes, byte: int, at: int, size: int, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    with pytest.raises(CorpusError, match=rf'a\.txt: .*byte 0x{byte:02x} at byte {at}; errors="replace"'):
        list(read(tmp_path / "a.txt", block_size=size))


def test_offset_of_an_invalid_byte_in_gz_counts_decompressed_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"a" * 5000 + b"\xff"))
    with pytest.raises(CorpusError, match="byte 0xff at byte 5000;"):
        list(read(tmp_path / "a.gz", block_size=64))


def test_utf16_file_is_recognized(tmp_path: Path) -> None:
    for encoding in ("utf-16-le", "utf-16-be"):
        (tmp_path / "a.txt").write_bytes(("\ufeff" + MIXED).encode(encoding))
        with pytest.raises(CorpusError, match="expected text in UTF-8, found UTF-16"):
            list(read(tmp_path / "a.txt"))


@pytest.mark.parametrize("mode", ["file", "line"])
def test_replace_equals_python_at_any_block_size(mode: Any, tmp_path: Path) -> None:
    seed = random.randrange(1 << 30)
    print("seed", seed)
    rng = random.Random(seed)
    pieces = ["中".encode(), "😀".encode(), b"\n", b"a", b"\x80", b"\xbf\x80\x80", b"\xe4\xb8", b"\xf0\x9f"]
    pieces += [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80"]
    for _ in range(20):
        data = b"".join(rng.choices(pieces, k=40))
        (tmp_path / "a.txt").write_bytes(data)
        ref = data.decode(errors="replace").encode()
        for size in range(1, 50):
            blocks = list(read(tmp_path / "a.txt", errors="replace", block_size=size, documents=mode))
            assert b"".join(block.data for block in blocks) == ref
            if mode == "line":
                ends = np.concatenate([block.ends for block in blocks])
                assert len(ends) == len(ref.splitlines())


# --- texts


@pytest.mark.parametrize("size", SIZES)
def test_texts_are_documents_at_any_block_size(size: int) -> None:
    texts = ["one", "", MIXED, "é", "中" * 30, "x\ny\n", ""]
    ref = [text.encode() for text in texts if text]
    taken: list[int] = []
    assert documents(read(iter(texts), block_size=size, on_bytes=taken.append)) == ref
    assert sum(taken) == sum(map(len, ref))


def test_small_texts_share_a_block() -> None:
    blocks = list(read([f"text {i} " for i in range(1000)], block_size=1000))
    assert len(blocks) < 15
    assert blocks[0].name == "text 0"
    assert blocks[1].name == f"text {len(blocks[0].ends)}"
    assert all(1000 <= len(block.data) < 1010 for block in blocks[:-1])


def test_long_text_comes_in_pieces_and_says_where_they_are() -> None:
    text = "aé中😀" * 100
    blocks = read(["x", text], block_size=150)
    got = [(block.name, block.offset, block.data, block.ends.tolist()) for block in blocks]
    parts = [text[:150], text[150:300], text[300:]]
    offsets = [0, len(parts[0].encode()), len("".join(parts[:2]).encode())]
    last = [[], [], [len(parts[2].encode())]]
    ref = [("text 0", 0, b"x", [1])]
    ref += [("text 1", at, part.encode(), ends) for at, part, ends in zip(offsets, parts, last, strict=True)]
    assert got == ref


@pytest.mark.parametrize("size", SIZES)
def test_lines_of_texts_are_documents(size: int) -> None:
    texts = ["one\ntwo", "\n", "three\n\nfour\n", "", "é" * 20 + "\nz"]
    ref = [line.encode() for text in texts for line in text.splitlines(keepends=True)]
    assert documents(read(texts, documents="line", block_size=size)) == ref


def test_no_texts_give_no_blocks() -> None:
    assert list(read([])) == list(read(iter([]))) == list(read(["", ""])) == []


def test_texts_are_taken_only_as_they_are_needed() -> None:
    taken = 0

    def texts() -> Iterable[str]:
        nonlocal taken
        for _ in range(1000):
            taken += 1
            yield "some text "

    blocks = iter(read(texts(), block_size=100))
    next(blocks)
    assert taken < 15


@pytest.mark.parametrize(("item", "kind"), [(5, "int 5"), (None, "NoneType None"), (b"x", "bytes"), (1.5, "float")])
def test_text_of_another_type_is_refused_with_its_place(item: Any, kind: str) -> None:
    with pytest.raises(InputError, match=f"text 2: expected str, got {kind}"):
        list(read(["a", "b", item]))
    with pytest.raises(InputError, match=f"text 0: expected str, got {kind}"):
        list(read([item]))


@pytest.mark.parametrize("size", SIZES)
def test_lone_surrogate_is_refused_with_its_place(size: int) -> None:
    with pytest.raises(InputError, match=r"text 1: .*lone surrogate U\+D83D at character 9;"):
        list(read(["fine", "aé中😀 more\ud83d\ude00"], block_size=size))


def test_lone_surrogate_is_replaced_on_request() -> None:
    texts = ["", "é", "", "a\ud83db\udc00", "", "\ude00", "z"]
    ref = [text.encode() for text in ["é", "a\ufffdb\ufffd", "\ufffd", "z"]]
    for size in SIZES:
        assert documents(read(texts, errors="replace", block_size=size)) == ref


def test_lone_surrogate_behind_empty_texts_is_named_by_its_place() -> None:
    with pytest.raises(InputError, match=r"text 4: .*at character 2;"):
        list(read(["", "é", "", "x", "zz\ud83d", "\ude00"]))


# --- options and files that cannot be opened


@pytest.mark.parametrize(
    ("option", "value"), [("documents", "word"), ("errors", "ignore"), ("block_size", 0), ("block_size", 1.5)]
)
def test_unknown_option_is_refused_at_the_call(option: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"(expected|unknown) {option}(=| to be .*, not ){value!r}"):
        read(["a"], **{option: value})


def test_file_that_cannot_be_opened_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_bytes(b"x")
    blocks = read(tmp_path / "a.txt")
    (tmp_path / "a.txt").unlink()
    with pytest.raises(CorpusError, match=r"a\.txt: cannot open file: No such file"):
        list(blocks)


def test_error_of_the_callback_is_passed_on(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"x")

    def stop(count: int) -> None:
        raise OSError("mine")

    with pytest.raises(OSError, match="mine"):
        list(read(tmp_path / "a.txt", on_bytes=stop))


def test_reading_stopped_early_closes_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"x" * 100)
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"x" * 100))
    for path in tmp_path.iterdir():
        blocks = read(path, block_size=10)
        next(blocks)
        del blocks  # an open file would warn here, and a warning is an error


def test_rows_of_json_need_no_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "x.jsonl").write_text('{"text": "a b"}\n')
    assert [block.data for block in read_blocks(tmp_path / "x.jsonl")] == [b"a b"]
    (tmp_path / "x.txt.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    with pytest.raises(CorpusError, match=r"\[files\]"):
        read_blocks(tmp_path / "x.txt.zst")
