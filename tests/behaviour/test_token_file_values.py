"""Token files are sequences: they can be sliced, and pickled for workers that are started anew."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import subwords
from subwords import files

TEXTS = ["low lower", "lowest", " low", "low low low", "slow"]
FORMATS = ["npy", "bin", "megatron", "parquet", "datatrove", "llmc"]


@pytest.fixture(scope="module")
def tok() -> subwords.Tokenizer:
    return subwords.train(["low lower lowest"] * 9, vocab_size=263)


def opened(tok: subwords.Tokenizer, folder: Path, form: Any, shard_size: int | None = None) -> files.TokenFile:
    pytest.importorskip("pyarrow") if form == "parquet" else None
    suffix = {"npy": ".npy", "parquet": ".parquet", "datatrove": ".ds"}.get(form, ".bin")
    path = folder / f"ids{suffix}"
    tok.encode_files(TEXTS, path, format=form, shard_size=shard_size)
    return files.open(folder / "ids.manifest.json") if shard_size else files.open(path)


def lists(documents: Sequence[Any]) -> list[list[int]]:
    return [ids.tolist() for ids in documents]


@pytest.mark.parametrize("shard_size", [None, 3])
@pytest.mark.parametrize("form", FORMATS)
def test_slices_and_pickles(tok: subwords.Tokenizer, tmp_path: Path, form: str, shard_size: int | None) -> None:
    file = opened(tok, tmp_path, form, shard_size)
    expected = [tok.encode(text) for text in TEXTS]
    assert lists(file) == expected
    for chosen in (slice(2, 4), slice(None), slice(-2, None), slice(None, None, -2), slice(7, 9)):
        part = file[chosen]
        assert isinstance(part, Sequence) and len(part) == len(expected[chosen])
        assert lists(part) == lists(pickle.loads(pickle.dumps(part))) == expected[chosen]
        assert lists(part[1:]) == expected[chosen][1:] and part.num_tokens == sum(map(len, expected[chosen]))
    data = pickle.dumps(file)
    assert len(data) < 1000 and lists(pickle.loads(data)) == expected
    assert lists(copy.deepcopy(file)) == expected and repr(pickle.loads(data)).startswith(type(file).__name__)
    with pytest.raises(subwords.InputError, match="slice of numbers of documents"):
        file["a":"b"]  # type: ignore[misc]
    with pytest.raises(subwords.InputError, match="slice of numbers of documents"):
        file[::0]


def test_shards_are_opened_by_their_name(tok: subwords.Tokenizer, tmp_path: Path) -> None:
    expected = lists(opened(tok, tmp_path, "bin", 3))
    assert not (tmp_path / "ids.bin").exists()
    assert lists(files.open(tmp_path / "ids.bin")) == expected == [tok.encode(text) for text in TEXTS]


def test_a_file_with_ends_pickles(tmp_path: Path) -> None:
    np.save(tmp_path / "ids.npy", np.array([5, 0, 7, 8, 0], np.uint16))
    file = files.open(tmp_path / "ids.npy", eos=0)
    assert lists(pickle.loads(pickle.dumps(file))) == [[5, 0], [7, 8, 0]]


def test_a_pickle_works_in_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "ids.npy", np.array([5, 6], np.uint16))
    monkeypatch.chdir(tmp_path)
    data = pickle.dumps(files.open("ids.npy"))
    monkeypatch.chdir("/")
    assert lists(pickle.loads(data)) == [[5, 6]]


def test_workers_that_are_spawned_read_it(tok: subwords.Tokenizer, tmp_path: Path) -> None:
    file = opened(tok, tmp_path, "bin", 3)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert lists(pool.map(file.__getitem__, range(len(file)))) == [tok.encode(text) for text in TEXTS]
