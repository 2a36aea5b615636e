"""Word counts as Parquet files: what other tools write and read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import subwords
from inside import corpus_counts as counts_parquet
from inside import write_parquet
from seeds import sweep_seed
from subwords import CorpusError, FormatError, WordCounts
from subwords.machine import Provenance

pa = pytest.importorskip("pyarrow", reason="Parquet needs PyArrow")
pq = pytest.importorskip("pyarrow.parquet", reason="Parquet needs PyArrow")

STORED = json.dumps(vars(Provenance("x", special_tokens=("<s>",))))


def counts() -> WordCounts:
    return subwords.count(["a cat, a dog 😀\n\n and\tit's " * 3], special_tokens=["<s>"])


def written(path: Path, metadata: dict[str, str] | None = None, **columns: Any) -> Path:
    table = pa.table(columns)
    pq.write_table(table.replace_schema_metadata({"subwords": STORED} if metadata is None else metadata), path)
    return path


def words(*found: bytes | None) -> Any:
    return pa.array(found, pa.large_binary())


def numbers(*found: int | None) -> Any:
    return pa.array(found, pa.uint64())


def test_file_is_a_table_for_other_tools(tmp_path: Path) -> None:
    ref = counts()
    write_parquet(ref, tmp_path / "counts.parquet")
    got = pq.read_table(tmp_path / "counts.parquet")
    assert got.schema.names == ["word", "count"]
    assert (got.schema.field("word").type, got.schema.field("count").type) == (pa.large_binary(), pa.uint64())
    assert got.to_pydict() == {"word": [word for word, _ in ref], "count": ref.counts.tolist()}
    assert json.loads(got.schema.metadata[b"subwords"])["special_tokens"] == ["<s>"]


def test_table_of_another_tool_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "t.parquet", word=words(b"a", b"\xff\x00"), count=numbers(1, 2**62))
    got = WordCounts.load(path)
    assert dict(got) == {b"a": 1, b"\xff\x00": 2**62}
    assert got.provenance == Provenance("x", special_tokens=("<s>",))


@pytest.mark.parametrize(("rows", "size"), [(1, 1 << 20), (3, 1 << 20), (1 << 20, 1), (1 << 20, 7), (5, 9)])
def test_row_groups_are_bounded_and_come_back(
    rows: int, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counts_parquet, "_GROUP_ROWS", rows)
    monkeypatch.setattr(counts_parquet, "_GROUP_BYTES", size)
    ref = counts()
    write_parquet(ref, tmp_path / "counts.parquet")
    assert list(WordCounts.load(tmp_path / "counts.parquet")) == list(ref)
    file = pq.ParquetFile(tmp_path / "counts.parquet")
    groups = [file.read_row_group(i).column("word").to_pylist() for i in range(file.num_row_groups)]
    for group, following in zip(groups, [*groups[1:], None], strict=True):
        assert 0 < len(group) <= rows
        assert len(group) == 1 or sum(map(len, group)) <= size
        # No smaller than need be: the next word would not fit.
        assert following is None or len(group) == rows or sum(map(len, [*group, following[0]])) > size


def test_no_words_come_back(tmp_path: Path) -> None:
    none = WordCounts(np.zeros(0, np.uint8), np.zeros(1, np.int64), np.zeros(0, np.uint64), Provenance("x"))
    write_parquet(none, tmp_path / "counts.parquet")
    got = WordCounts.load(tmp_path / "counts.parquet")
    assert (list(got), got.offsets.tolist(), got.provenance) == ([], [0], Provenance("x"))


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ({"word": words(b"a")}, "found word (large_binary)"),
        ({"count": numbers(1), "word": words(b"a")}, "found count (uint64), word (large_binary)"),
        ({"word": words(b"a"), "count": pa.array([1], pa.int64())}, "count (int64)"),
        ({"word": pa.array(["a"]), "count": numbers(1)}, "word (string)"),
        ({"word": words(b"a"), "count": numbers(1), "other": numbers(1)}, "other (uint64)"),
    ],
)
def test_other_columns_are_named(columns: dict[str, Any], found: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"t\.parquet: expected the columns word") as caught:
        WordCounts.load(written(tmp_path / "t.parquet", **columns))
    assert found in str(caught.value)


@pytest.mark.parametrize(
    ("word", "count"),
    [
        (words(b"a", None), numbers(1, 2)),
        (words(b"a", b"b"), numbers(None, 2)),
        (words(b"a", b""), numbers(1, 2)),
        (words(b"a", b"b"), numbers(0, 2)),
        (words(b"a", b"b"), numbers(2**63, 2**63)),
    ],
)
def test_impossible_rows_are_a_format_error(word: Any, count: Any, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"t\.parquet"):
        WordCounts.load(written(tmp_path / "t.parquet", word=word, count=count))


@pytest.mark.parametrize(
    "stored", ["", "{", "[]", "3", "{}", '{"splitter": "x"}', '{"splitter": 1, "special_tokens": []}', "\udcff"]
)
def test_provenance_that_is_none_is_a_format_error(stored: str, tmp_path: Path) -> None:
    metadata = {b"subwords": stored.encode("utf-8", "surrogateescape")}
    for kept in (metadata, {"other": "x"}):
        path = written(tmp_path / "t.parquet", kept, word=words(b"a"), count=numbers(1))  # type: ignore[arg-type]
        with pytest.raises(FormatError, match=r"t\.parquet: .* provenance of the words"):
            WordCounts.load(path)


def test_damaged_pages_are_a_format_error_or_do_no_harm(tmp_path: Path) -> None:
    ref, path = counts(), tmp_path / "counts.parquet"
    write_parquet(ref, path)
    whole = path.read_bytes()
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    refused = []
    for place in range(sweep_seed() % 4, len(whole), 4):
        damaged = bytearray(whole)
        damaged[place] ^= 0x10
        path.write_bytes(damaged)
        try:
            got = WordCounts.load(path)
        except FormatError as error:
            assert "counts.parquet" in str(error)
            refused.append(place)
        else:
            # Parquet has checksums for pages only: a damaged footer may name other rows.
            assert place >= footer or list(got) == list(ref)
    assert len(refused) > len(whole) // 12


def test_failed_write_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "counts.parquet").write_bytes(b"as it was")

    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pq.ParquetWriter, "write_table", fail)
    with pytest.raises(KeyboardInterrupt):
        write_parquet(counts(), tmp_path / "counts.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["counts.parquet"]
    assert (tmp_path / "counts.parquet").read_bytes() == b"as it was"


def test_folder_is_a_corpus_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=tmp_path.name):
        WordCounts.load(tmp_path)
