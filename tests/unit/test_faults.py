"""Faults of jobs: the output is complete and the same, or there is a clear error and a state to go on from."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import subwords
from in_shards import count_to
from inside import only_one
from seeds import seed_of_run
from subwords import InputError, Reading
from subwords.scale import Run

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")

SEED = seed_of_run()
COUNT = ["count", "--documents", "line", "--workers", "2", "--shard-bytes", "20000", "--quiet"]


def corpus(folder: Path, lines: int = 4000) -> Path:
    rng = random.Random(SEED)
    folder.mkdir()
    text = "".join(" ".join(f"w{rng.randrange(3000)}" for _ in range(12)) + "\n" for _ in range(lines))
    (folder / "a.txt").write_text(text)
    return folder


def whole(tmp_path: Path, source: Path) -> bytes:
    subwords.count(source, reading=Reading(documents="line")).save(tmp_path / "whole")
    return (tmp_path / "whole").read_bytes()


def command(*arguments: object, **options: Any) -> subprocess.Popen[str]:
    program = [sys.executable, "-m", "subwords", *map(str, arguments)]
    return subprocess.Popen(program, stderr=subprocess.PIPE, text=True, start_new_session=True, **options)


def test_the_driver_is_killed_again_and_again(tmp_path: Path) -> None:
    source, rng, killed = corpus(tmp_path / "in", 30_000), random.Random(SEED), 0
    expected, target = whole(tmp_path, source), tmp_path / "out"
    for _ in range(40):
        process = command(*COUNT, source, "-o", target)
        errors = ""
        with suppress(subprocess.TimeoutExpired):
            errors = process.communicate(timeout=rng.uniform(0.2, 0.7) if killed < 5 else 60)[1]
        if process.returncode is not None:
            assert process.returncode == 0, errors
            break
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        assert not target.exists() or target.read_bytes() == expected
        killed += 1
    print("killed", killed)
    assert killed > 0
    assert target.read_bytes() == expected
    assert not (tmp_path / "out.parts").exists()


def test_workers_end_with_their_driver(tmp_path: Path) -> None:
    source = corpus(tmp_path / "in", 20_000)
    process = command(*COUNT, source, "-o", tmp_path / "out")
    time.sleep(1)
    workers = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True).stdout
    process.kill()
    process.communicate()
    end = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() for pid in workers.split()) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers.split())


@pytest.mark.rotating(2)
@pytest.mark.parametrize("size", [5_000, 10_000])
def test_a_disk_that_is_full(tmp_path: Path, size: int) -> None:
    """A limit on the size of files stands for it: writing fails in the middle of a file."""
    import resource

    source = corpus(tmp_path / "in")
    expected, target = whole(tmp_path, source), tmp_path / "out"
    limit = resource.RLIMIT_FSIZE
    process = command(*COUNT, source, "-o", target, preexec_fn=lambda: resource.setrlimit(limit, (size, size)))
    _, error = process.communicate()
    assert process.returncode == 1
    assert "File too large" in error and "Traceback" not in error
    assert not target.exists()
    again = command(*COUNT, source, "-o", target)
    again.communicate()
    assert again.returncode == 0
    assert target.read_bytes() == expected


def test_two_runs_in_one_folder(tmp_path: Path) -> None:
    source, target = corpus(tmp_path / "in", 20_000), tmp_path / "out"
    expected = whole(tmp_path, source)
    processes = [command(*COUNT, source, "-o", target) for _ in range(3)]
    errors = [process.communicate()[1] for process in processes]
    assert any(process.returncode == 0 for process in processes)
    for process, error in zip(processes, errors, strict=True):
        assert process.returncode == 0 or "another process works in" in error
    assert target.read_bytes() == expected


def test_a_folder_is_held_by_one(tmp_path: Path) -> None:
    with (
        only_one(tmp_path / "x"),
        pytest.raises(InputError, match="another process works in"),
        only_one(tmp_path / "x"),
    ):
        pass
    with only_one(tmp_path / "x"):
        pass
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot write to folder"), only_one(tmp_path / "file"):
        pass


def test_a_folder_that_cannot_be_made_is_no_endless_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(InputError, match="cannot write to folder x: No such file"), only_one(Path("x")):
        pass


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refused)
    with only_one(tmp_path / "x"):
        assert (tmp_path / "x").is_dir()


def test_a_clock_that_jumps(tmp_path: Path) -> None:
    source, target = corpus(tmp_path / "in", 500), tmp_path / "out"
    expected = whole(tmp_path, source)
    run = Run(shard_bytes=5000, keep=True)
    reading = Reading(documents="line")
    count_to(source, target, run=run, reading=reading)
    folder = tmp_path / "out.parts"
    made = sorted(folder.iterdir())
    for number, file in enumerate(made):
        when = (0, time.time() + 10**8)[number % 2]
        os.utime(file, (when, when))
    stamps = {file: file.stat().st_mtime_ns for file in made}
    count_to(source, target, run=run, reading=reading)
    assert {file: file.stat().st_mtime_ns for file in made} == stamps  # nothing is done again
    os.utime(source / "a.txt", (1, 1))  # as far as anyone can tell, another file
    count_to(source, target, run=run, reading=reading)
    assert len([*folder.iterdir()]) > len(made)
    assert target.read_bytes() == expected


@contextmanager
def after(seconds: float, do: Any) -> Iterator[None]:
    """Do something some time after the block began, in a thread."""
    timer = threading.Timer(seconds, do)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def test_a_node_of_a_ray_cluster_is_removed(tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    source, target = corpus(tmp_path / "in", 20_000), tmp_path / "out"
    expected = whole(tmp_path, source)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        node = cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False)
        run = Run(runner="ray", shard_bytes=20_000)
        with after(2, lambda: cluster.remove_node(node, allow_graceful=False)):
            count_to(source, target, run=run, reading=Reading(documents="line"))
        assert target.read_bytes() == expected
    finally:
        ray.shutdown()
        cluster.shutdown()


def test_a_dask_worker_is_killed(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    source, target = corpus(tmp_path / "in", 20_000), tmp_path / "out"
    tok = subwords.train(source, vocab_size=400)
    (tmp_path / "one").mkdir()
    tok.encode_files(source, tmp_path / "one/x.npy", reading=Reading(documents="line"))
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True) as cluster:
        (worker, _) = cluster.workers.values()
        run = Run(runner="dask", address=cluster.scheduler_address, shard_bytes=20_000)
        with after(1, lambda: os.kill(worker.process.pid, signal.SIGKILL)):
            tok.encode_files(
                source, target.with_suffix(".npy"), run=run,
                reading=Reading(documents="line"),
            )  # fmt: skip
    assert target.with_suffix(".npy").read_bytes() == (tmp_path / "one/x.npy").read_bytes()
