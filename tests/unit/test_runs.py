"""Runs: counts in bounded memory are those in memory, byte for byte."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import subwords
from engines import splitter
from inside import corpus_count as counting
from inside import corpus_count as runs_module
from inside import corpus_word_table as word_table
from seeds import seed_of_run
from subwords import CorpusError, InputError, Reading, WordCounts
from subwords.machine import MOST_COUNTED, read_blocks

SEED = seed_of_run()


def random_text(seed: int, words: int) -> str:
    """Words of few and of many letters, new ones all the time."""
    rng = random.Random(seed)
    letters = "abcdefghé中"
    return " ".join("".join(rng.choices(letters, k=rng.choice([1, 2, 4, 7, 15, 16, 40]))) for _ in range(words))


def saved(tmp_path: Path, texts: list[str], room: int, **options: Any) -> bytes:
    """The file of counts that is made in so much room."""
    path = tmp_path / "bounded"
    blocks = read_blocks(texts, Reading(), block_size=1 << 12, on_bytes=lambda _: None)
    counting.count_blocks_to(path, blocks, splitter("o200k"), room=room, **options)
    return path.read_bytes()


@pytest.mark.rotating(3)
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("room", [1, 300_000, 3_000_000, 1 << 40])
def test_bounded_counts_are_those_in_memory(
    tmp_path: Path, room: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs_module, "LEAST_WINDOW", 64)
    monkeypatch.setattr(runs_module, "STEP", 16)
    monkeypatch.setattr(runs_module, "CHUNK", 1 << 10)
    taken = 0
    take = counting.SpilledWords.take

    def counted(self: counting.SpilledWords, table: word_table.CountingTable) -> None:
        nonlocal taken
        taken += 1
        take(self, table)

    monkeypatch.setattr(counting.SpilledWords, "take", counted)
    texts = [random_text(SEED + n, 4000) for n in range(6)]
    subwords.count(texts).save(tmp_path / "whole")
    assert saved(tmp_path, texts, room, threads=threads) == (tmp_path / "whole").read_bytes()
    assert (taken > 0) == (room < 1 << 40)
    if room == 1:
        assert taken > 4


def test_special_tokens_and_a_word_that_is_larger_than_the_room(tmp_path: Path) -> None:
    texts = ["a<end>b" * 50, "x" * 300_000 + " y " + "x" * 300_000, random_text(SEED, 3000)]
    subwords.count(texts, special_tokens=["<end>"]).save(tmp_path / "whole")
    found = saved(tmp_path, texts, 200_000, special_tokens=["<end>"])
    assert found == (tmp_path / "whole").read_bytes()


def test_counts_of_the_face_are_mapped_and_leave_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    texts = [random_text(SEED, 2000)]
    whole, found = subwords.count(texts), subwords.count(texts, memory="64GB")
    assert dict(found) == dict(whole)
    assert isinstance(found.counts.base, np.memmap)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(CorpusError, match="every document is empty"):
        subwords.count([""], memory="64GB")
    with pytest.raises(InputError, match="expected at least"):
        subwords.count(texts, memory="1MB")


@pytest.mark.parametrize("room", [None, 1, 1 << 40])
def test_sums_of_files_are_sums_of_counts(tmp_path: Path, room: int | None) -> None:
    parts = [subwords.count([random_text(SEED + n, 3000)]) for n in range(4)]
    for n, part in enumerate(parts):
        part.save(tmp_path / f"{n}")
    sum(parts[1:], parts[0]).save(tmp_path / "whole")
    number = counting.add_files([tmp_path / f"{n}" for n in range(4)], tmp_path / "sum", threads=2, room=room)
    assert (tmp_path / "sum").read_bytes() == (tmp_path / "whole").read_bytes()
    assert number == len(WordCounts.load(tmp_path / "whole"))


def test_sums_that_cannot_be(tmp_path: Path) -> None:
    subwords.count(["a b"]).save(tmp_path / "a")
    subwords.count(["a b"], splitter="bert").save(tmp_path / "b")
    with pytest.raises(InputError, match="b: expected counts made with splitter"):
        counting.add_files([tmp_path / "a", tmp_path / "b"], tmp_path / "sum", threads=1)
    one = subwords.count(["a"])
    huge = WordCounts(one.data, one.offsets, np.array([MOST_COUNTED], np.uint64), one.provenance)
    huge.save(tmp_path / "c")
    with pytest.raises(InputError, match="a: too many words"):
        counting.add_files([tmp_path / "c", tmp_path / "a"], tmp_path / "sum", threads=1)
    assert not (tmp_path / "sum").exists()


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def __getattr__(self, name: str) -> Any:
            return lambda *_: 0

        def write(self, data: memoryview) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Full())
    with pytest.raises(CorpusError, match=r"cannot write words that do not fit in memory to .*No space left.*TMPDIR"):
        saved(tmp_path, [random_text(SEED, 3000)], 1)
    assert not (tmp_path / "bounded").exists()


def test_a_temporary_file() -> None:
    with counting.SpillFile() as file:
        at = [file.append(np.arange(n, dtype=np.int64), np.arange(n, dtype=np.uint8)) for n in (3, 0, 5)]
        assert at == [0, 27, 27]
        assert file.read(27, np.int64, 5).tolist() == [0, 1, 2, 3, 4]
        with pytest.raises(CorpusError, match="shorter"):
            file.read(60, np.int64, 5)
