"""What is text and what is not, by the first bytes; and that every door to texts and ids asks."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import pickle
import random
import sqlite3
import struct
import sys
import tarfile
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from test_read import zstd

import subwords
from commands import run
from inside import check_text, container
from subwords import CorpusError, Tokenizer

TEXT = b"it's a low, lower, lowest price\n" * 40


def parquet() -> bytes:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(pa.table({"text": ["a text"] * 50}), sink)
    return sink.getvalue()


def arrow(new: str) -> bytes:
    pa = pytest.importorskip("pyarrow")
    table, sink = pa.table({"text": ["a text"] * 50}), io.BytesIO()
    with getattr(pa.ipc, new)(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def archive() -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as file:
        file.writestr("a.txt", TEXT)
    return sink.getvalue()


def tar() -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as file:
        info = tarfile.TarInfo("a.txt")
        info.size = len(TEXT)
        file.addfile(info, io.BytesIO(TEXT))
    return sink.getvalue()


def array(compressed: bool) -> bytes:
    sink = io.BytesIO()
    (np.savez if compressed else np.save)(sink, np.arange(50))  # type: ignore[operator]
    return sink.getvalue()


def database() -> bytes:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("create table texts (text)")
        return connection.serialize()


def safetensors() -> bytes:
    header = json.dumps({"weight": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(8)


def counts() -> bytes:
    return b"subwords-counts\x01" + bytes(100)


NOT_TEXT: dict[str, Callable[[], bytes]] = {
    "an xz file": lambda: lzma.compress(TEXT),
    "a zip file": archive,
    "a tar file": tar,
    "a Parquet file": parquet,
    "an Arrow file": lambda: arrow("new_file"),
    "a NumPy file": lambda: array(False),
    "a SQLite database": database,
    "a safetensors file": safetensors,
    "a file of word counts": counts,
    "a PDF file": lambda: b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + TEXT,
    "a PNG image": lambda: b"\x89PNG\r\n\x1a\n" + bytes(range(100)),
    "a JPEG image": lambda: b"\xff\xd8\xff\xe0\x00\x10JFIF" + bytes(range(100)),
    "a GIF image": lambda: b"GIF89a\x01\x00" + bytes(range(100)),
    "a GGUF file": lambda: b"GGUF\x03\x00\x00\x00" + TEXT,
    "a Feather file": lambda: b"FEA1\x00\x00\x00\x00" + TEXT,
    "a program": lambda: b"\x7fELF\x02\x01\x01" + TEXT,
}
MORE: list[tuple[str, Callable[[], bytes]]] = [
    ("a bzip2 file", lambda: bz2.compress(b"")),
    ("a zip file", lambda: array(True)),
    ("an Arrow file", lambda: arrow("new_stream")),
    *(("a pickle", lambda protocol=protocol: pickle.dumps(["a text"] * 9, protocol)) for protocol in (2, 3, 4, 5)),
    ("a pickle", lambda: pickle.dumps({"text": "a"}, 5)),
    ("a pickle", lambda: pickle.dumps(np.arange(9), 2)),
]


@pytest.mark.parametrize(("kind", "make"), [*NOT_TEXT.items(), *MORE])
def test_kinds_that_are_not_text_are_known(kind: str, make: Callable[[], bytes]) -> None:
    assert container(make()) == kind


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"a", b"{", b"PAR1 and PAR2 of the ORC", b"GGUF is a format", b"RIFF", b"ID3 tags", b"GIF89a images"),
        *(b"PK\n", b"BZh91 is a road", b"7z", b"%PDF is a format", b"%!PS", b"ustar", b"Obj", b"Rar!", b"FEA1"),
        *(b"\xef\xbb\xbftext", b"caf\xe9", "中文".encode("gb18030"), "日本".encode("shift-jis"), b"\x80uro"),
        *(b"a\0b", b"\0", b"\xff", b"\xff\xfe", b"\xff\xfe\xff", b"\x80\x81", b"\x1f\x8b", b"\x1b[1mbold\x1b[0m" * 9),
        b"line\x0c\x1b\x08" * 9,
    ],
)
def test_text_is_not_taken_for_another_kind(text: bytes) -> None:
    assert container(text) is None
    check_text(text, "it", Path("a.txt"))


def test_random_bytes_are_not_taken_for_another_kind() -> None:
    rng = random.Random(7)
    for _ in range(3000):
        check_text(rng.randbytes(300), "it", Path("a.txt"))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_unicode_forms_are_refused(encoding: str) -> None:
    with pytest.raises(CorpusError, match=r"it: expected text(, found binary data| in UTF-8, found UTF-16)"):
        check_text("a text of letters".encode(encoding), "it")


ROWS = b'{"text": "one"}\n{"text": "two"}\n'


@pytest.mark.parametrize(
    ("name", "content", "refused"),
    [
        ("a.jsonl", ROWS, False),
        ("a.JSONL", b"\xef\xbb\xbf \n" + ROWS, False),
        ("a.ndjson", ROWS[:16], False),
        ("a.json", ROWS, True),
        ("a.json", b'[\n  {"text": "one"},\n  {"text": "two"}\n]', True),
        ("a.json", b'{\n  "name": "a document"\n}\n', False),
        ("a.json", b'{"name": "a document", "also": {"a": 1}}\n', False),
        ("a.json", b"[1, 2, 3]", False),
        ("a.jsonl", b"a text that has the name of rows\n", False),
        ("a.txt", ROWS, False),
        ("a.csv", b"id,text\n1,one\n", False),
        ("jsonl", ROWS, False),
    ],
)
def test_json_rows_are_told_by_name_and_content(name: str, content: bytes, refused: bool, tmp_path: Path) -> None:
    for packed, suffix in ((content, ""), (gzip.compress(content), ".gz"), (zstd(content), ".zst")):
        path = tmp_path / (name + suffix)
        path.write_bytes(packed)
        if refused:
            with pytest.raises(CorpusError, match=r'found JSON rows that begin with .*row\)?\["text"\]'):
                subwords.count(path)
        else:
            assert subwords.count(path).total > 0


# --- every door


def doors(tok: Path, path: Path, out: Path) -> list[list[object]]:
    return [
        ["train", path, "--vocab-size", 260, "-o", out],
        ["count", path, "-o", out],
        ["encode", tok, path, "-o", out],
        ["encode", tok, path, "--lines", "-o", out],
        ["inspect", tok, "--source", path],
    ]


@pytest.mark.parametrize("kind", NOT_TEXT)
def test_every_door_to_text_refuses_what_is_not_text(kind: str, tok_path: Path, tmp_path: Path) -> None:
    data, out = NOT_TEXT[kind](), tmp_path / "out.json"
    for name, content in (("a.txt", data), ("a.txt.gz", gzip.compress(data)), ("a.bin", zstd(data))):
        path = tmp_path / name
        path.write_bytes(content)
        for arguments in doors(tok_path, path, out):
            if kind == "a file of word counts" and arguments[0] in ("train", "count") and name == "a.txt":
                continue  # train takes them, count names --add
            assert f"{name}: expected text, found {kind}; " in run(*arguments, code=1).stderr
            assert not out.exists()
        for function in (subwords.count, lambda path: subwords.train(path, vocab_size=260)):
            with pytest.raises(CorpusError, match=f"expected text, found {kind}"):
                function(path)
    assert f"found {kind}" in run("encode", tok_path, stdin=data, code=1).stderr


def test_every_door_to_ids_refuses_what_holds_none(tok_path: Path, tmp_path: Path) -> None:
    for kind, make in NOT_TEXT.items():
        if kind == "a NumPy file":
            continue
        (tmp_path / "ids").write_bytes(make())
        for arguments in (["decode", tok_path, tmp_path / "ids"], ["decode", tok_path, tmp_path / "ids", "--lines"]):
            assert f"ids: expected ids as text or as a NumPy file, found {kind}; " in run(*arguments, code=1).stderr


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".zst", zstd), (".bz2", bz2.compress)])
@pytest.mark.parametrize("named", [True, False])
def test_every_door_to_text_decompresses_by_name_or_content(
    suffix: str, pack: Callable[[bytes], bytes], named: bool, tok_path: Path, tok: Tokenizer, tmp_path: Path
) -> None:
    plain, packed = tmp_path / "plain.txt", tmp_path / f"packed{suffix if named else '.txt'}"
    plain.write_bytes(TEXT)
    packed.write_bytes(pack(TEXT))
    for got, ref in zip(
        doors(tok_path, packed, tmp_path / "got"), doors(tok_path, plain, tmp_path / "ref"), strict=True
    ):
        if got[0] == "train":
            got[-1], ref[-1] = tmp_path / "got.json", tmp_path / "ref.json"
        assert (run(*got).stdout == run(*ref).stdout) or got[0] in ("train", "count")
        if got[0] != "inspect":
            assert Path(str(got[-1])).read_bytes() == Path(str(ref[-1])).read_bytes()
    ids = " ".join(map(str, tok.encode(TEXT)))
    assert run("encode", tok_path, stdin=pack(TEXT)).stdout == ids + "\n"
    packed.write_bytes(pack(ids.encode()))
    assert run("decode", tok_path, packed).stdout_bytes == TEXT
    assert run("decode", tok_path, stdin=pack(ids.encode())).stdout_bytes == TEXT


def test_a_python_without_bz2_trains_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "packed.bz2").write_bytes(bz2.compress(TEXT))
    monkeypatch.setitem(sys.modules, "bz2", None)
    with pytest.raises(CorpusError, match=r"this Python has no bz2, which \.bz2 needs"):
        subwords.train(tmp_path / "packed.bz2", vocab_size=300)


def test_raw_ids_are_decompressed_by_name_only(tok_path: Path, tok: Tokenizer, tmp_path: Path) -> None:
    raw = np.array(tok.encode(TEXT), "<u2").tobytes()
    (tmp_path / "ids.bin.gz").write_bytes(gzip.compress(raw))
    assert run("decode", tok_path, tmp_path / "ids.bin.gz", "--dtype", "uint16").stdout_bytes == TEXT
    (tmp_path / "ids.bin").write_bytes(b"\x1f\x8b")  # the id 35615
    assert "35615" in run("decode", tok_path, tmp_path / "ids.bin", "--dtype", "uint16", code=1).stderr


def test_files_that_are_not_text_are_refused_before_any_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("subwords.training.count.count_blocks", lambda *_, **__: pytest.fail("the work was begun"))
    (tmp_path / "a.txt").write_bytes(TEXT)
    (tmp_path / "b.bin").write_bytes(NOT_TEXT["a PNG image"]())
    with pytest.raises(CorpusError, match=r"b\.bin: expected text, found a PNG image"):
        subwords.count(f"{tmp_path}/*")


def test_bytes_that_are_not_utf8_are_refused_by_all_models(tok_path: Path, tmp_path: Path) -> None:
    data = "caf\xe9 cr\xe8me\nna\xefve\n".encode("latin-1")
    for algorithm, size in (("wordpiece", 12), ("unigram", 9), ("bpe", 6)):
        how = {"byte_level": False} if algorithm == "bpe" else {}
        tok = subwords.train(["hug hugs " * 9], algorithm=algorithm, vocab_size=size, **how)  # type: ignore[arg-type]
        tok.save(tmp_path / "tok.json")
        stderr = run("encode", tmp_path / "tok.json", "--lines", stdin=b"hug\n" + data, code=1).stderr
        assert "standard input: expected UTF-8, got byte 0xe9 at byte 3 of text 1" in stderr
