"""Batches of Arrow arrays: every kind of strings, slices and chunks, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import subwords
from inside import MODE
from subwords import CorpusError, InputError

pa = pytest.importorskip("pyarrow")

TEXTS = [
    "low lower",
    "",
    "naïve 文字",
    "x" * (70_000 if MODE == "compiled" else 700),
    "a tail that is longer than twelve bytes",
    "é",
]
KINDS = [kind for name in ("string", "large_string", "string_view") if (kind := getattr(pa, name, None))]


@pytest.fixture(scope="module")
def tok() -> subwords.Tokenizer:
    return subwords.train(["low lower lowest", "naïve 文字"] * 9, vocab_size=300, special_tokens=["<s>"])


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param()


def test_arrays_and_slices(tok: subwords.Tokenizer, kind: Any) -> None:
    expected, array = tok.encode_batch(TEXTS).to_lists(), pa.array(TEXTS, kind)
    assert tok.encode_batch(array).to_lists() == expected
    assert tok.encode_batch(array, threads=1).to_lists() == expected
    for part in (slice(1, 4), slice(2, 2), slice(5, None)):
        assert tok.encode_batch(array[part]).to_lists() == expected[part]


def test_chunks(tok: subwords.Tokenizer, kind: Any) -> None:
    expected = tok.encode_batch(TEXTS).to_lists()
    chunked = pa.chunked_array([TEXTS[:2], [], TEXTS[2:]], kind)
    assert tok.encode_batch(chunked).to_lists() == expected
    assert tok.encode_batch(chunked[1:4]).to_lists() == expected[1:4]
    assert tok.encode_batch(pa.chunked_array([], kind)).to_lists() == []


def test_nulls_are_refused_by_index(tok: subwords.Tokenizer, kind: Any) -> None:
    for array, index in [
        (pa.array(["a", None, "b"], kind), 1),
        (pa.array([None, "a", None], kind)[1:], 1),
        (pa.chunked_array([["a", "b"], ["c", None]], kind), 3),
    ]:
        with pytest.raises(InputError, match=f"text {index}: expected a string, not null"):
            tok.encode_batch(array)
    assert tok.encode_batch(pa.array([None, "low"], kind)[1:]).to_lists() == [tok.encode("low")]


def test_the_array_is_kept_and_given_back(tok: subwords.Tokenizer, kind: Any) -> None:
    before = pa.total_allocated_bytes()
    for _ in range(5):
        tok.encode_batch(pa.array(TEXTS * 50, kind))
        tok.encode_batch(pa.chunked_array([TEXTS * 50], kind))
    assert pa.total_allocated_bytes() - before < 1_000_000


# ------------------------------------------------------------------ hostile arrays and files


def placed(offsets: list[int], kind: Any, data: bytes = b"abcdefghi") -> Any:
    """An array of texts at any offsets: PyArrow looks at the first and the last only."""
    wide = kind in (pa.large_string(), pa.large_binary())
    numbers = np.array(offsets, np.int64 if wide else np.int32)
    return pa.Array.from_buffers(kind, len(offsets) - 1, [None, pa.py_buffer(numbers), pa.py_buffer(data)])


def arrow_file(path: Path, array: Any) -> Path:
    batch = pa.record_batch([array], names=["text"])
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as out:
        out.write_batch(batch)
    return path


@pytest.mark.parametrize("kind", ["string", "large_string"])
@pytest.mark.parametrize("inner", [[5, 2], [-5, 2], [5, 500], [-(2**31), 3], [2**31 - 1, 2**31 - 1]])
def test_texts_of_an_arrow_file_lie_within_it(tmp_path: Path, kind: str, inner: list[int]) -> None:
    array = placed([0, *inner, 9], getattr(pa, kind)())
    path = arrow_file(tmp_path / "x.arrow", array)
    with pytest.raises(CorpusError, match=r"x\.arrow: row 0: damaged Arrow column from here on"):
        subwords.count(path)
    with pytest.raises(CorpusError, match="row 0: damaged Arrow column from here on"):
        subwords.count(pa.table({"text": array}))


DAMAGED = """
import random, sys, warnings
import subwords
warnings.simplefilter("ignore")
path, tok, rng = sys.argv[1], subwords.load("demo"), random.Random(int(sys.argv[2]))
whole, refused = open(path, "rb").read(), 0
for _ in range(150):
    data = bytearray(whole)
    for _ in range(rng.randint(1, 3)):
        data[rng.randrange(len(data))] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
    open(path, "wb").write(data)
    for call in (lambda: subwords.count(path), lambda: tok.encode_files(path, path + ".npy")):
        try:
            call()
        except subwords.SubwordsError:
            refused += 1
print(refused)
"""


@pytest.mark.rotating(3)
@pytest.mark.parametrize("kind", ["string", "dictionary", "string_view"])
def test_damaged_arrow_files_end_no_process(tmp_path: Path, kind: str) -> None:
    texts = pa.array(["Rays", "Light", "a text of more than twelve bytes", None, "é"] * 50)
    array = texts.dictionary_encode() if kind == "dictionary" else texts.cast(getattr(pa, kind)())
    path = arrow_file(tmp_path / "x.arrow", array)
    environment = {**os.environ, "PYTHONPATH": str(Path(subwords.__file__).parents[1])}
    command = [sys.executable, "-c", DAMAGED, str(path), str(len(kind))]
    found = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert found.returncode == 0 and int(found.stdout) > 10, (found.returncode, found.stderr[-500:])
