"""A token file that is written over another one is read as the new one, whatever the old one was."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

import subwords
from commands import json_of, run
from subwords import Tokenizer, files

OLD, NEW = ["one two", "three", "four five six", "seven"], ["alpha beta gamma", "delta"]
FORMS: tuple[Any, ...] = ("bin", "megatron", "llmc", "npy", "parquet", "datatrove")


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return subwords.train([" ".join(OLD + NEW)], vocab_size=262)


def read(tok: Tokenizer, path: Path, **options: Any) -> list[str]:
    return [tok.decode(document) for document in files.open(path, **options)]


@pytest.mark.parametrize(("old", "new"), [pair for pair in product(FORMS, FORMS) if pair[0] != pair[1]])
@pytest.mark.parametrize("name", ["ids.bin", "ids.data"])
def test_every_format_over_every_other(tok: Tokenizer, old: Any, new: Any, name: str, tmp_path: Path) -> None:
    tok.encode_files(OLD, tmp_path / name, format=old, dtype="uint16")
    tok.encode_files(NEW, tmp_path / name, format=new, dtype="uint16")
    options: Any = {"format": "datatrove"} if new == "datatrove" else {}
    written = tmp_path / ("ids.bin" if new == "megatron" else name)  # Megatron's files have their suffixes
    assert read(tok, written, **options) == NEW
    assert files.check(tmp_path / "ids.manifest.json") == []
    if "megatron" in (old, new) and name != "ids.bin":
        return
    # Only what a run with nothing before it leaves.
    (tmp_path / "alone").mkdir()
    tok.encode_files(NEW, tmp_path / "alone" / name, format=new, dtype="uint16")
    assert {file.name for file in tmp_path.iterdir() if file.is_file()} == {
        file.name for file in (tmp_path / "alone").iterdir()
    }


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sizes", [(3, 9), (3, None), (None, 3)])
def test_shards_over_more_shards(tok: Tokenizer, form: Any, sizes: Any, tmp_path: Path) -> None:
    for texts, size in zip((OLD * 3, NEW), sizes, strict=True):
        tok.encode_files(texts, tmp_path / "ids.bin", format=form, shard_size=size)
    (tmp_path / "alone").mkdir()
    tok.encode_files(NEW, tmp_path / "alone" / "ids.bin", format=form, shard_size=sizes[1])
    names = sorted(file.name for file in (tmp_path / "alone").iterdir())
    assert sorted(file.name for file in tmp_path.iterdir() if file.is_file()) == names
    assert read(tok, tmp_path / "ids.manifest.json") == NEW


def test_over_a_damaged_manifest(tok: Tokenizer, tmp_path: Path) -> None:
    tok.encode_files(OLD, tmp_path / "ids.npy")
    (tmp_path / "ids.manifest.json").write_text("{")
    tok.encode_files(NEW, tmp_path / "ids.npy")
    assert read(tok, tmp_path / "ids.manifest.json") == NEW


@pytest.mark.parametrize("name", ["ids.idx", "ids.bin", "ids", "ids.data"])
def test_files_of_megatron_have_their_suffixes(tok: Tokenizer, name: str, tmp_path: Path) -> None:
    tok.encode_files(NEW, tmp_path / name, format="megatron")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["ids.bin", "ids.idx", "ids.manifest.json"]
    assert read(tok, tmp_path / "ids") == read(tok, tmp_path / "ids.bin") == NEW
    assert files.check(tmp_path / "ids.manifest.json") == []


def test_a_file_of_another_suffix_stays(tok: Tokenizer, tmp_path: Path) -> None:
    tok.encode_files(OLD, tmp_path / "ids.npy")
    tok.encode_files(NEW, tmp_path / "ids.bin", format="megatron")
    assert read(tok, tmp_path / "ids.npy") == OLD
    assert read(tok, tmp_path / "ids.bin") == NEW


def test_check_names_an_index_that_does_not_belong_to_the_files(tok: Tokenizer, tmp_path: Path) -> None:
    tok.encode_files(OLD, tmp_path / "old.bin", format="megatron")
    tok.encode_files(NEW, tmp_path / "ids.bin", format="bin")
    (tmp_path / "old.idx").rename(tmp_path / "ids.idx")
    assert files.check(tmp_path / "ids.manifest.json") == ["ids.idx"]
    (tmp_path / "ids.manifest.json").unlink()
    tok.encode_files(NEW, tmp_path / "ids.bin", format="bin")  # without a manifest, too
    assert read(tok, tmp_path / "ids.bin") == NEW


def test_the_command_with_workers_does_the_same(tok: Tokenizer, tmp_path: Path) -> None:
    tok.save(tmp_path / "tok.json")
    for name, texts in (("old.txt", OLD), ("new.txt", NEW)):
        (tmp_path / name).write_text("".join(f"{text}\n" for text in texts))
    words = ["tokens", tmp_path / "tok.json"]
    more = ["--documents", "line", "-o", tmp_path / "ids.bin", "--format"]
    run(*words, tmp_path / "old.txt", *more, "megatron", "-q")
    json_of(*words, tmp_path / "new.txt", *more, "bin", "--workers", "1")
    assert not (tmp_path / "ids.idx").exists()
    assert read(tok, tmp_path / "ids.bin") == [f"{text}\n" for text in NEW]
