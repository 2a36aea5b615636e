"""Lists of ids to Arrow and back: pyarrow, Polars, DuckDB, pandas, and what Spark's mapInArrow calls."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

import subwords
from inside import kept_structures
from subwords import InputError, TokenBatch

pa = pytest.importorskip("pyarrow")
TEXTS = ["Rays of Light", "", "naïve", "<s>"] * 3


@pytest.fixture(scope="module")
def tok() -> subwords.Tokenizer:
    return subwords.load("demo")


@pytest.fixture(scope="module")
def batch(tok: subwords.Tokenizer) -> TokenBatch:
    return tok.encode_batch(TEXTS)


def test_a_batch_is_an_array_over_the_same_memory(batch: TokenBatch) -> None:
    array = pa.array(batch)
    assert array.type == pa.large_list(pa.uint32())
    array.validate(full=True)
    assert array.to_pylist() == batch.to_lists()
    assert array.values.buffers()[1].address == batch.ids.ctypes.data
    assert pa.array(batch[2:5]).to_pylist() == batch.to_lists()[2:5]
    assert pa.array(batch[:0]).to_pylist() == []
    assert pa.table({"ids": batch}).column("ids").to_pylist() == batch.to_lists()


def test_the_array_keeps_the_ids_and_gives_them_back(tok: subwords.Tokenizer) -> None:
    gc.collect()
    before = kept_structures()
    array = pa.array(tok.encode_batch(TEXTS))
    part, copy = array[1:], array.values
    gc.collect()
    assert part.to_pylist() == tok.encode_batch(TEXTS).to_lists()[1:]
    del array, part
    gc.collect()
    assert copy.to_pylist() == tok.encode_batch(TEXTS).ids.tolist()  # a child outlives its parent
    del copy
    for _ in range(100):
        tok.encode_batch(TEXTS).__arrow_c_array__()  # capsules that nobody reads
    gc.collect()
    assert kept_structures() == before


@pytest.mark.parametrize("kind", [pa.list_, pa.large_list])
@pytest.mark.parametrize("value", [pa.uint32(), pa.int32(), pa.int64(), pa.uint16(), pa.uint64()], ids=str)
def test_every_list_of_integers_is_read(tok: subwords.Tokenizer, batch: TokenBatch, kind: Any, value: Any) -> None:
    array = pa.array(batch.to_lists(), kind(value))
    chunked = pa.chunked_array([array[:5], array[:0], array[5:]])
    for column in (array, array[3:], array[2:2], chunked, chunked[4:7]):
        found = TokenBatch.from_arrow(column)
        assert found.to_lists() == column.to_pylist()
        assert (found.ids.dtype, found.offsets.dtype) == ("uint32", "int64")
        assert tok.decode_batch(column) == tok.decode_batch(column.to_pylist())
    assert TokenBatch.from_arrow(pa.chunked_array([], kind(value))).to_lists() == []
    assert TokenBatch.from_arrow(batch).to_lists() == batch.to_lists()


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([[1], None]), "list 1: expected ids, not null"),
        (pa.chunked_array([pa.array([[1]]), pa.array([[2], None])]), "list 2: expected ids, not null"),
        (pa.array([[1, None]]), "list value 1: expected ids, not null"),
        (pa.array([[-1]]), "expected ids from 0 to 4294967295, not -1"),
        (pa.array([[1 << 32]]), "expected ids from 0 to 4294967295, not"),
        (pa.array([1]), "expected a column of lists of ids, not values of"),
        (pa.array([["a"]]), "expected a column of lists of ids, not lists of"),
        ([[1]], "expected a column of lists of ids, such as an Arrow array, not list"),
    ],
)
def test_what_cannot_be_ids_is_refused(column: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        TokenBatch.from_arrow(column)


def test_a_child_that_is_shifted_is_read_from_its_place() -> None:
    values = pa.array(range(20), pa.uint32())[4:]
    array = pa.ListArray.from_arrays(pa.array([0, 2, 2, 7], pa.int32()), values)
    assert TokenBatch.from_arrow(array[1:]).to_lists() == [[], [6, 7, 8, 9, 10]]


def test_record_batches_as_mapinarrow_of_spark_passes_them(tok: subwords.Tokenizer) -> None:
    def with_ids(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            ids = pa.array(tok.encode_batch(batch.column("text"))).cast(pa.list_(pa.int32()))
            yield pa.RecordBatch.from_arrays([*batch.columns, ids], [*batch.schema.names, "ids"])

    given = pa.table({"text": TEXTS}).to_batches(max_chunksize=5)
    made = pa.Table.from_batches([*with_ids(given)])
    assert made.column("ids").to_pylist() == tok.encode_batch(TEXTS).to_lists()
    assert made.schema.field("ids").type == pa.list_(pa.int32())  # Spark has no unsigned integers


def test_columns_of_pandas(tok: subwords.Tokenizer, batch: TokenBatch) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": TEXTS})
    frame["tokens"] = tok.count_tokens(frame["text"])
    frame["ids"] = pandas.Series(pa.array(batch), dtype=pandas.ArrowDtype(pa.large_list(pa.uint32())))
    assert frame["tokens"].tolist() == [len(ids) for ids in batch]
    assert TokenBatch.from_arrow(frame["ids"]).to_lists() == batch.to_lists()


def test_a_function_of_duckdb(tok: subwords.Tokenizer) -> None:
    duckdb = pytest.importorskip("duckdb", reason="pip install duckdb")
    with duckdb.connect() as con:
        con.create_function("tokens", lambda c: pa.array(tok.count_tokens(c)), ["VARCHAR"], "BIGINT", type="arrow")
        con.create_function("ids", lambda c: pa.array(tok.encode_batch(c)), ["VARCHAR"], "UINTEGER[]", type="arrow")
        rows = con.sql("select tokens(t), ids(t) from (values ('Rays of Light'), (NULL), ('')) v(t)").fetchall()
        ids = tok.encode("Rays of Light")
        assert rows == [(len(ids), ids), (None, None), (0, [])]
        total = con.sql("select sum(tokens(t)) from (select 'low ' || i t from range(10000) r(i))").fetchall()
        assert total == [(int(tok.count_tokens([f"low {i}" for i in range(10_000)]).sum()),)]


@pytest.fixture(scope="module")
def pl() -> Any:
    pl = pytest.importorskip("polars", reason="pip install polars")
    import subwords.polars

    assert subwords.polars.TokenColumn
    return pl


@pytest.mark.parametrize("engine", ["eager", "in-memory", "streaming"])
def test_every_engine_gives_the_ids_of_encode(pl: Any, tok: subwords.Tokenizer, engine: str) -> None:
    col = pl.col("text").tok
    made = [col.encode(tok).alias("ids"), col.count(tok).alias("n"), col.encode(tok).tok.decode(tok).alias("back")]
    frame = pl.DataFrame({"text": TEXTS})
    found = frame.with_columns(made) if engine == "eager" else frame.lazy().with_columns(made).collect(engine=engine)
    assert found.schema == {"text": pl.String, "ids": pl.List(pl.UInt32), "n": pl.UInt32, "back": pl.String}
    assert found["ids"].to_list() == [tok.encode(text) for text in TEXTS]
    assert found["n"].to_list() == [tok.count_tokens(text) for text in TEXTS]
    assert found["back"].to_list() == TEXTS


def test_null_stays_null(pl: Any, tok: subwords.Tokenizer) -> None:
    texts = [None, "low", None, "", "Rays", None]
    expected = [None if text is None else tok.encode(text) for text in texts]
    for kind in (pl.String, pl.Categorical):
        frame = pl.DataFrame({"text": pl.Series(texts, dtype=pl.String).cast(kind)})
        found = frame.select(pl.col("text").tok.encode(tok), n=pl.col("text").tok.count(tok))
        assert found["text"].to_list() == expected
        assert found["n"].to_list() == [None if ids is None else len(ids) for ids in expected]
    same = pl.DataFrame({"text": ["low", "low"]}).select(pl.col("text").tok.encode(tok))
    assert same.schema == {"text": pl.List(pl.UInt32)}  # not Array, though all lists have one length
    none = pl.DataFrame({"text": pl.Series([None, None], dtype=pl.String)})
    assert none.select(pl.col("text").tok.count(tok))["text"].to_list() == [None, None]


def test_options_are_those_of_encode_batch(pl: Any) -> None:
    tok = subwords.train(["ab ab"], vocab_size=258, special_tokens=["<s>"]).with_(template="<s> $A")
    found = pl.DataFrame({"text": ["<s>ab"]}).select(pl.col("text").tok.encode(tok, special="allow", template=True))
    assert found["text"].to_list() == [tok.encode("<s>ab", special="allow", template=True)]


def test_groups_and_wrong_columns(pl: Any, tok: subwords.Tokenizer) -> None:
    frame = pl.DataFrame({"text": TEXTS, "key": [0, 1] * 6, "number": range(12)})
    found = frame.group_by("key").agg(pl.col("text").tok.count(tok).sum()).sort("key")
    counts = tok.count_tokens(TEXTS)
    assert found["text"].to_list() == [int(counts[::2].sum()), int(counts[1::2].sum())]
    with pytest.raises((InputError, pl.exceptions.ComputeError), match="expected a column of texts"):
        frame.select(pl.col("number").tok.count(tok))
