"""Rows: JSON Lines, Parquet, Arrow and tables give the documents that Python's own readers give."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import random
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from inside import kind_of_file, read_corpus_file
from seeds import seed_of_run
from subwords import CorpusError, InputError, Reading
from subwords.machine import Block, Tally, read_blocks

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

SEED = seed_of_run()
TEXTS = ["a", "", "né\n\r\n中", "x" * 5000, "😀😀", '"\\/\b\f\n\r\t', "\u2028", " "]
SIZES = (1, 7, 1 << 12, 1 << 20)


def documents(blocks: Iterable[Block]) -> list[str]:
    """The documents that blocks stand for."""
    found, tail = list[str](), b""
    for block in blocks:
        assert block.data
        ends = block.ends.tolist()
        assert ends == sorted(set(ends))
        for start, stop in pairwise([0, *ends]):
            found.append((tail + block.data[start:stop]).decode())
            tail = b""
        tail += block.data[ends[-1] if ends else 0 :]
    assert not tail
    return found


def texts_of(seed: int, count: int) -> list[str]:
    rng = random.Random(seed)
    return [rng.choice(TEXTS) + "".join(rng.choices("ab é中\n", k=rng.choice([0, 3, 200]))) for _ in range(count)]


def written(path: Path, texts: list[str], suffix: str) -> Path:
    path = path.with_suffix(suffix)
    table = pa.table({"id": list(range(len(texts))), "text": pa.array(texts, pa.string())})
    if ".jsonl" in suffix:
        rows = [json.dumps({"id": i, "text": text}, ensure_ascii=bool(i % 2)) for i, text in enumerate(texts)]
        data = "\n".join(rows).encode()
        pack: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress}
        pack[".zst"] = lambda data: pa.compress(data, codec="zstd", asbytes=True)
        path.write_bytes(pack.get(path.suffix, bytes)(data))
    elif suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=7)
    else:
        make = pa.ipc.new_file if suffix == ".arrow" else pa.ipc.new_stream
        with pa.OSFile(str(path), "wb") as sink, make(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=5)
    return path


@pytest.mark.parametrize(
    "suffix", [".jsonl", ".jsonl.gz", ".ndjson.bz2", ".jsonl.zst", ".parquet", ".arrow", ".feather"]
)
def test_each_row_is_a_document(tmp_path: Path, suffix: str) -> None:
    texts = texts_of(SEED, 60)
    path = written(tmp_path / "x", texts, suffix.replace("ndjson", "jsonl"))
    seen: list[int] = []
    for size in SIZES:
        blocks = read_blocks(path, block_size=size, on_bytes=seen.append)
        assert documents(blocks) == [text for text in texts if text]
    assert sum(seen) == pytest.approx(len(SIZES) * path.stat().st_size, abs=len(SIZES))
    lines = documents(read_blocks(path, Reading(documents="line")))
    assert lines == [line for text in texts for line in io.StringIO(text, newline="\n")]


@pytest.mark.parametrize("suffix", [".jsonl", ".txt"])
def test_every_line_belongs_to_one_part(tmp_path: Path, suffix: str) -> None:
    texts = [text.replace("\n", " ") for text in texts_of(SEED + 1, 40)]
    path = tmp_path / f"x{suffix}"
    lines = [json.dumps({"text": text}) if suffix == ".jsonl" else text for text in texts]
    path.write_text("\n".join(lines), "utf-8", newline="")
    size = path.stat().st_size
    whole = documents(read_blocks(path, Reading(documents="line")))
    rng = random.Random(SEED)
    for count in (1, 2, 3, 10):
        cuts = sorted(rng.randrange(size + 1) for _ in range(count - 1))
        found = list[str]()
        for part in pairwise([0, *cuts, size]):
            found += documents(
                read_corpus_file(
                    path,
                    Reading(documents="line"),
                    kind=kind_of_file(path),
                    block_size=rng.choice([1, 100, 1 << 20]),
                    on_bytes=lambda count: None,
                    tally=Tally(),
                    part=part,
                )
            )
        assert found == whole, (SEED, cuts)


BAD = [
    (b'{"text": null}', "row at byte 14: expected text in field 'text', found null"),
    (b'{"text": 3}', "found 3"),
    (b'{"body": "x"}', "expected a field 'text', found 'body'; text_column names another"),
    (b'["x"]', "expected an object, found list"),
    (b'{"text": "x"', "expected a JSON object"),
    (b"{" * 100_000, "expected a JSON object"),
    (b'{"text": "\\ud800"}', "lone surrogate U\\+D800"),
    (b'{"text": "\xff"}', "expected UTF-8, got byte 0xff"),
]


@pytest.mark.parametrize(("row", "message"), BAD)
def test_rows_that_cannot_be_read(tmp_path: Path, row: bytes, message: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"text": "a"}\n' + row + b'\n\n{"text": "b"}\n')
    with pytest.raises(CorpusError, match=message):
        list(read_blocks(path))
    tally = Tally()
    assert documents(read_blocks(path, Reading(errors="skip"), tally=tally)) == ["a", "b"]
    assert (tally.skipped, tally.replaced) == (1, 0)
    tally = Tally()
    found = documents(read_blocks(path, Reading(errors="replace"), tally=tally))
    assert found in (["a", "b"], ["a", "\ufffd", "b"])
    assert (tally.skipped, tally.replaced) == (0, 1)


def test_nulls_and_invalid_text_of_tables(tmp_path: Path) -> None:
    broken = pa.array([b"\xff", b"ok", b"\xc3", b"\xa9", None]).cast(pa.binary())
    table = pa.table({"text": broken})
    parquet.write_table(table, tmp_path / "x.parquet")
    for source in (tmp_path / "x.parquet", table):
        with pytest.raises(CorpusError, match="row 4: expected text, found null"):
            list(read_blocks(source))
        tally = Tally()
        assert documents(read_blocks(source, Reading(errors="skip"), tally=tally)) == ["ok"]
        assert tally.skipped == 4
        found = documents(read_blocks(source, Reading(errors="replace"), tally=tally))
        assert found == ["\ufffd", "ok", "\ufffd", "\ufffd"]
    with pytest.raises(CorpusError, match="row 0: expected UTF-8"):
        list(read_blocks(table.slice(0, 2)))


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.dictionary(pa.int32(), pa.string())]
)
def test_types_of_columns(tmp_path: Path, kind: Any) -> None:
    array = pa.array(["a", "", "bé", "a"]).cast(kind)
    table = pa.table({"body": array}).slice(1)
    assert documents(read_blocks(table, Reading(text_column="body"))) == ["bé", "a"]
    parquet.write_table(table, tmp_path / "x")
    assert documents(read_blocks(tmp_path / "x", Reading(text_column="body"))) == ["bé", "a"]


def test_a_column_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    table = pa.table({"a": ["x"], "n": [1]})
    with pytest.raises(CorpusError, match="expected a column 'text', found 'a', 'n'; text_column names another"):
        list(read_blocks(table))
    with pytest.raises(CorpusError, match="expected text in column 'n', found int64"):
        list(read_blocks(table, Reading(text_column="n")))


def test_iterables_of_rows() -> None:
    rows = [{"text": "a"}, {"text": "b", "id": 1}]
    assert documents(read_blocks(iter(rows))) == ["a", "b"]
    assert documents(read_blocks(({"body": text} for text in "ab"), Reading(text_column="body"))) == ["a", "b"]
    with pytest.raises(CorpusError, match="row 1: expected a field 'text', found 'id'"):
        list(read_blocks(iter([{"text": "a"}, {"id": 1}])))


def test_datasets(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_dict({"text": ["a", "bé", ""], "id": [1, 2, 3]})
    assert documents(read_blocks(data)) == ["a", "bé"]
    assert documents(read_blocks(data.select([1, 0]))) == ["bé", "a"]
    assert documents(read_blocks(data.to_iterable_dataset())) == ["a", "bé"]
    with pytest.raises(InputError, match="expected one split of a dataset, got those of train"):
        list(read_blocks(datasets.DatasetDict({"train": data})))


def test_a_folder_of_rows_is_read_without_the_texts_beside_them(tmp_path: Path) -> None:
    written(tmp_path / "x", ["row"], ".jsonl")
    (tmp_path / "README.md").write_text("about")
    assert documents(read_blocks(tmp_path)) == ["row"]


@pytest.mark.parametrize("content", [b"PAR1", b"PAR1" + bytes(100) + b"PAR1", b"ARROW1\0\0" + b"\xff" * 9])
def test_damaged_tables_are_corpus_errors(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(content + b"\0\1\2")
    with pytest.raises(CorpusError, match="x"):
        list(read_blocks(path))


def cut(text: str, most: int) -> str:
    return text.encode()[:most].decode(errors="ignore")


@pytest.mark.parametrize("most", [4, 5, 100, 4999])
def test_documents_are_cut_between_characters(tmp_path: Path, most: int) -> None:
    texts = [text for text in texts_of(SEED + 2, 40) if text]
    for size in SIZES:
        tally = Tally()
        found = documents(read_blocks(iter(texts), Reading(max_document_bytes=most), block_size=size, tally=tally))
        assert found == [cut(text, most) for text in texts], (SEED, size)
        assert tally.cut == sum(len(text.encode()) > most for text in texts)


@pytest.mark.parametrize("separator", ["|", "aa", "<|end|>", "é"])
def test_documents_between_separators(tmp_path: Path, separator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subwords.corpus.read.TAIL", 7)
    rng = random.Random(SEED)
    text = "".join(rng.choice([separator, "a", "xé中", "<|en", "b" * 50]) for _ in range(300))
    (tmp_path / "x.txt").write_text(text, "utf-8", newline="")
    for size in SIZES:
        found = documents(read_blocks(tmp_path / "x.txt", Reading(separator=separator), block_size=size))
        assert found == [part for part in text.split(separator) if part], (SEED, size)


def test_skipped_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"good\nb\xffd\r\nx\n")
    (tmp_path / "b.txt").write_bytes("né".encode())
    tally = Tally()
    assert documents(read_blocks(tmp_path, Reading(errors="skip"), tally=tally)) == ["né"]
    assert tally.skipped == 1
    tally = Tally()
    found = documents(read_blocks(tmp_path, Reading(errors="skip", documents="line"), tally=tally))
    assert (found, tally.skipped) == (["good\n", "x\n", "né"], 1)
    assert documents(read_blocks(iter(["a", "\ud800"]), Reading(errors="skip"))) == ["a"]


@pytest.mark.parametrize(
    "options",
    [
        {"documents": "row"}, {"errors": "ignore"}, {"text_column": 3}, {"separator": ""}, {"max_document_bytes": 3},
        {"separator": "|", "documents": "line"}, {"max_document_bytes": True},
    ],
)  # fmt: skip
def test_invalid_options(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Reading(**options)
