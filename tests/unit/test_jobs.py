"""Jobs: the same bytes for any shards, workers and runners, whatever is killed on the way."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

import subwords
from in_shards import count_to
from inside import shards_of
from seeds import seed_of_run
from subwords import CorpusError, InputError, Reading, SubwordsWarning
from subwords.scale import Run

pytest.importorskip("pyarrow")

SEED = seed_of_run()
WORDS = ["the", "lowest", "né", "中文", "don't", "1234", "x" * 30]


def corpus(folder: Path, rows: int = 300) -> Path:
    """A folder with JSON Lines and Parquet."""
    import pyarrow as pa
    from pyarrow import parquet

    rng = random.Random(SEED)
    texts = [" ".join(rng.choices(WORDS, k=rng.choice([1, 5, 60]))) for _ in range(rows)]
    folder.mkdir()
    (folder / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    parquet.write_table(pa.table({"text": texts[::-1]}), folder / "b.parquet", row_group_size=20)
    return folder


def tokenizer() -> subwords.Tokenizer:
    return subwords.train([" ".join(WORDS)] * 9, vocab_size=290, special_tokens=["<end>"])


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir()) if file.is_file()}


RUNS = [Run(), Run(shard_bytes=97), Run(shard_bytes=3000), Run(shard_bytes=900, workers=2)]


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_counts_are_those_of_one_process(tmp_path: Path, run: Run) -> None:
    source = corpus(tmp_path / "in", 12 if run.shard_bytes == 97 else 300)
    subwords.count(source).save(tmp_path / "whole")
    found = count_to(source, tmp_path / "parts", run=run)
    assert found is not None
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()
    assert not (tmp_path / "parts.parts").exists()


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_token_files_are_those_of_one_process(tmp_path: Path, run: Run) -> None:
    source, tok = corpus(tmp_path / "in", 12 if run.shard_bytes == 97 else 300), tokenizer()
    options: dict[str, Any] = {"format": "megatron", "eos": "<end>", "shard_size": 2000}
    for folder in ("whole", "parts"):
        (tmp_path / folder).mkdir()
    tok.encode_files(source, tmp_path / "whole/x.bin", **options)
    tok.encode_files(source, tmp_path / "parts/x.bin", run=run, **options)
    expected, found = bytes_of(tmp_path / "whole"), bytes_of(tmp_path / "parts")
    manifests = [json.loads(files.pop("x.manifest.json")) for files in (expected, found)]
    assert found == expected
    assert manifests[0]["shards"] == manifests[1]["shards"]


def test_ranks_share_the_work_and_the_last_one_joins_it(tmp_path: Path) -> None:
    source = corpus(tmp_path / "in")
    subwords.count(source).save(tmp_path / "whole")
    runs = [Run(shard_bytes=2000, rank=rank, world_size=3) for rank in (2, 0, 1)]
    found = [count_to(source, tmp_path / "parts", run=run) for run in runs]
    assert found[:2] == [None, None]
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("kind", ["counts", "ids"])
def test_killed_while_it_cleans_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    source, run, tok = corpus(tmp_path / "in"), Run(shard_bytes=2000), tokenizer()

    def once() -> None:
        if kind == "counts":
            count_to(source, tmp_path / "x", run=run)
        else:
            tok.encode_files(source, tmp_path / "x.bin", run=run)

    def killed(folder: Path, **options: Any) -> None:
        if folder.suffix != ".parts":  # that of the sum of counts
            rmtree(folder, **options)
            return
        next(iter(folder.glob("*.part"))).unlink()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr("shutil.rmtree", killed)
        once()
    once()
    assert not list(tmp_path.glob("*.parts"))


def test_a_second_run_does_only_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = corpus(tmp_path / "in")
    run = Run(shard_bytes=2000, keep=True)
    count_to(source, tmp_path / "x", run=run)
    folder = tmp_path / "x.parts"
    marks = sorted(folder.glob("*.json"))
    marks[0].unlink()
    times = {mark: mark.stat().st_mtime_ns for mark in marks[1:]}
    count_to(source, tmp_path / "x", run=run)
    assert {mark: mark.stat().st_mtime_ns for mark in marks[1:]} == times
    assert marks[0].exists()
    marks[0].write_bytes(marks[0].read_bytes()[:-9])  # a damaged mark counts as missing
    count_to(source, tmp_path / "x", run=run)
    assert {mark: mark.stat().st_mtime_ns for mark in marks[1:]} == times
    json.loads(marks[0].read_bytes())
    with (source / "a.jsonl").open("a") as stream:
        stream.write('{"text": "new"}\n')
    count_to(source, tmp_path / "x", run=run)
    subwords.count(source).save(tmp_path / "whole")
    assert (tmp_path / "x").read_bytes() == (tmp_path / "whole").read_bytes()


def children(of: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(of)], capture_output=True, text=True, check=False)
    return [int(pid) for pid in found.stdout.split()]


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_workers_that_find_no_shard_are_told_of(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"rays of light\n" * 9)
    with pytest.warns(SubwordsWarning, match=r"2 workers, but the corpus is 1 shard\(s\) of 126 bytes, .* below 63"):
        subwords.count(tmp_path / "a.txt", run=Run(workers=2))


def test_killed_workers(tmp_path: Path) -> None:
    source = corpus(tmp_path / "in", 1500)
    subwords.count(source).save(tmp_path / "whole")
    done = threading.Event()
    killed: list[int] = []

    def kill() -> None:
        rng = random.Random(SEED)
        while not done.is_set() and len(killed) < 2:  # a shard is tried three times
            time.sleep(rng.uniform(0.3, 0.6))
            for pid in children(os.getpid())[:1]:
                with suppress(ProcessLookupError):  # without a worker at this moment, the child is `ps`
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        count_to(source, tmp_path / "parts", run=Run(shard_bytes=2000, workers=2))
    finally:
        done.set()
        killer.join()
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_worker_that_cannot_start_is_not_called_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "in"))  # another `subwords`
    source = corpus(tmp_path / "in")
    (source / "subwords.py").write_text("raise SystemExit(3)")
    with pytest.raises(InputError, match=r"its worker ended with status [13] 3 times; see standard error above"):
        count_to(source / "a.jsonl", tmp_path / "x", run=Run(shard_bytes=2000, workers=2))


def test_a_shard_that_always_fails_leaves_the_others_done(tmp_path: Path) -> None:
    source = corpus(tmp_path / "in")
    with (source / "a.jsonl").open("ab") as stream:
        stream.write(b"{broken\n")
    for workers in (1, 2):
        with pytest.raises(CorpusError, match="expected a JSON object"):
            count_to(source, tmp_path / "x", run=Run(shard_bytes=2000, workers=workers))
        assert not (tmp_path / "x").exists()
    assert [*(tmp_path / "x.parts").glob("*.json")]
    found = count_to(source, tmp_path / "x", run=Run(shard_bytes=2000, workers=2), reading=Reading(errors="skip"))
    assert found is not None


@pytest.mark.parametrize("runner", ["ray", "dask"])
def test_clusters(tmp_path: Path, runner: Any) -> None:
    pytest.importorskip({"ray": "ray", "dask": "distributed"}[runner])
    source = corpus(tmp_path / "in")
    subwords.count(source).save(tmp_path / "whole")
    count_to(source, tmp_path / "parts", run=Run(runner=runner, shard_bytes=3000))
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()


def test_shards_cover_the_corpus_once(tmp_path: Path) -> None:
    source = corpus(tmp_path / "in")
    files = sorted(source.iterdir())
    for size in (97, 700, 10**9):
        shards = shards_of(files, Reading(), size=size)
        assert [shard.number for shard in shards] == [*range(len(shards))]
        lines = [piece.part for shard in shards for piece in shard.pieces if piece.kind == "rows"]
        if None not in lines:
            assert [part[0] for part in lines if part] == [0, *(part[1] for part in lines[:-1] if part)]
    (one,) = shards_of(files, Reading(), size=10**9)
    assert len(one.pieces) == 2


@pytest.mark.parametrize(
    "options",
    [
        {"runner": "spark"}, {"rank": 1}, {"rank": 3, "world_size": 3}, {"runner": "ray", "workers": 2},
        {"address": "x"}, {"shard_bytes": 0}, {"workers": 0},
    ],
)  # fmt: skip
def test_invalid_runs(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Run(**options)


def test_texts_are_no_files() -> None:
    with pytest.raises(InputError, match="expected files, which workers can read, not list"):
        subwords.count(["a"], run=Run())


def test_memory_changes_nothing(tmp_path: Path) -> None:
    source, tok = corpus(tmp_path / "in"), tokenizer()
    subwords.count(source).save(tmp_path / "whole")
    for workers in (1, 2):
        count_to(source, tmp_path / "parts", run=Run(shard_bytes=2000, memory="64GB", workers=workers))
        assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()
    tok.encode_files(source, tmp_path / "whole.npy")
    tok.encode_files(source, tmp_path / "parts.npy", run=Run(memory="64GB"))
    assert (tmp_path / "parts.npy").read_bytes() == (tmp_path / "whole.npy").read_bytes()


def test_too_little_memory_is_an_error_before_anything_is_written(tmp_path: Path) -> None:
    source = corpus(tmp_path / "in", 3)
    before = bytes_of(tmp_path)
    with pytest.raises(InputError, match="expected at least"):
        count_to(source, tmp_path / "x", run=Run(memory="1MB"))
    assert bytes_of(tmp_path) == before and not (tmp_path / "x.parts").exists()
