"""Where a job runs: `Run`, and its runners: this process, processes of this machine, Ray or Dask.

Nothing here imports NumPy before there is work: the command line's help needs the fields of `Run`.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Literal, Protocol

from subwords.support.checks import bytes_of, check_integer, check_options, option
from subwords.support.errors import InputError, SubwordsError
from subwords.support.names import install_hint
from subwords.support.threads import thread_count

if TYPE_CHECKING:
    from subwords.scale.work import CorpusShard, ShardResult, ShardTask, WorkerResources

SHARD = 1 << 28  # bytes
TRIES = 3  # of a shard whose worker is killed


class Runner(Protocol):
    """Does the work on shards, and yields each when it is done; their order is not fixed."""

    def __call__(self, work: ShardTask, shards: Sequence[CorpusShard], folder: Path) -> Iterator[ShardResult]:
        """Yield what is done."""
        ...


def local_runner(workers: int | None = None, threads: int | None = None, memory: int | None = None) -> Runner:
    """Return a runner by processes of this machine; with one worker, by this process.

    workers: None for 1. threads: of each worker; None divides the processors among them. memory: bytes of all processes
    together, this one included.
    """
    from subwords.scale.work import WorkerResources, run_shard
    from subwords.support.memory import room_of

    count = 1 if workers is None else workers
    number = threads or max(1, thread_count(None) // count)
    if memory is not None and count > 1:
        memory = room_of(memory) // count
    each = WorkerResources(number, memory)

    def run(work: ShardTask, shards: Sequence[CorpusShard], folder: Path) -> Iterator[ShardResult]:
        if count == 1:
            return (run_shard(work, shard, folder, each) for shard in shards)
        return _in_processes(work, shards, folder, min(count, len(shards)), each)

    return run


def _in_processes(
    work: ShardTask, shards: Sequence[CorpusShard], folder: Path, workers: int, means: WorkerResources
) -> Iterator[ShardResult]:
    from concurrent.futures import ThreadPoolExecutor, as_completed  # imports `logging`: 10 ms of a command's help

    team = [_Worker(work, folder, means) for _ in range(workers)]
    idle: SimpleQueue[_Worker] = SimpleQueue()

    def done(shard: CorpusShard) -> ShardResult:
        worker = idle.get()
        try:
            return worker.done(shard)
        finally:
            idle.put(worker)

    with ThreadPoolExecutor(workers) as pool, ExitStack() as ends:
        for worker in team:
            idle.put(worker)
            ends.callback(worker.stop)
        ends.callback(pool.shutdown, wait=False, cancel_futures=True)
        for future in as_completed([pool.submit(done, shard) for shard in shards]):
            yield future.result()


class _Worker:
    """A process that works on one shard after another; if it is killed, another one starts.

    Not one of `multiprocessing`: those import the user's program again, and a pool ends with the first that is killed.
    """

    def __init__(self, *setup: object) -> None:
        self._setup, self._stopped = setup, False
        self._process: subprocess.Popen[bytes] | None = None

    def stop(self) -> None:
        """Kill the process; no other one starts."""
        self._stopped = True
        self._end(0)

    def done(self, shard: CorpusShard) -> ShardResult:
        """Return the result of a shard; raises the error of its worker."""
        status = 0
        for _ in range(TRIES):
            try:
                found = self._asked(shard)
            except (EOFError, pickle.UnpicklingError, BrokenPipeError):  # it was killed, or could not start
                status = self._end(0 if self._stopped else 5)
                if self._stopped:
                    break
            else:
                if isinstance(found, BaseException):
                    raise found
                return found
        names = ", ".join(piece.path for piece in shard.pieces[:3])
        why = (
            f"ended with status {status} {TRIES} times; see standard error above; finished shards are kept"
            if status > 0
            else f"was killed {TRIES} times, perhaps for lack of memory; finished shards are kept: run again "
            "with fewer workers or smaller shards"
        )
        raise InputError(f"shard {shard.number} ({names}): its worker {why}")

    def _asked(self, shard: CorpusShard) -> ShardResult | BaseException:
        messages: list[object] = [shard]
        if self._process is None:
            command = [sys.executable, "-m", "subwords.scale.runners"]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            messages.insert(0, self._setup)
        tasks, answers = self._process.stdin, self._process.stdout
        assert tasks is not None and answers is not None
        if self._stopped:
            raise EOFError
        for message in messages:
            pickle.dump(message, tasks)
        tasks.flush()
        found: ShardResult | BaseException = pickle.load(answers)
        return found

    def _end(self, patience: float) -> int:
        """Kill the process unless it ends in `patience` seconds; return its exit status, negative for a signal."""
        process, self._process = self._process, None
        if process is None:
            return 0
        with suppress(subprocess.TimeoutExpired):
            process.wait(patience)
        process.kill()
        with suppress(OSError), process:  # what was not sent yet
            pass
        return int(process.returncode)


def ray_runner(address: str | None = None, threads: int = 1, memory: int | None = None) -> Runner:
    """Return a runner by tasks of Ray; address: of a cluster, None starts Ray on this machine. memory: of each task.

    The folder of the job must be the same on all nodes.
    """
    try:
        import ray
    except ImportError:
        raise InputError(f"runner ray needs Ray: {install_hint('ray')}") from None
    from subwords.scale.work import WorkerResources, run_shard

    def run(work: ShardTask, shards: Sequence[CorpusShard], folder: Path) -> Iterator[ShardResult]:
        started = not ray.is_initialized()
        if started:
            ray.init(address=address or "local", log_to_driver=False)
        try:
            task = ray.remote(num_cpus=threads, memory=memory, max_retries=5)(run_shard)
            shared = ray.put(work)
            waiting = [task.remote(shared, shard, folder, WorkerResources(threads, memory)) for shard in shards]
            while True:
                if not waiting:
                    return
                ready, waiting = ray.wait(waiting)
                yield from _of_ray(ray, ready)
        finally:
            if started:
                ray.shutdown()

    return run


def _of_ray(ray: Any, ready: list[Any]) -> list[ShardResult]:
    try:
        found: list[ShardResult] = ray.get(ready)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, SubwordsError):
            raise error.cause from None
        raise
    return found


def dask_runner(address: str | None = None, threads: int = 1, memory: int | None = None) -> Runner:
    """Return a runner by Dask; address: of a scheduler, None starts workers on this machine. memory: of each task.

    The folder of the job must be the same on all workers.
    """
    try:
        import distributed
    except ImportError:
        raise InputError(f"runner dask needs Dask: {install_hint('dask')}") from None
    from subwords.scale.work import WorkerResources, run_shard

    means = WorkerResources(threads, memory)

    def run(work: ShardTask, shards: Sequence[CorpusShard], folder: Path) -> Iterator[ShardResult]:
        with distributed.Client(address) if address else distributed.Client(processes=True) as client:
            shared = client.scatter(work, broadcast=True)
            waiting = [client.submit(run_shard, shared, shard, folder, means, pure=False) for shard in shards]
            for future in distributed.as_completed(waiting):
                done: ShardResult = future.result()
                yield done

    return run


RUNNERS: dict[str, Callable[..., Runner]] = {"local": local_runner, "ray": ray_runner, "dask": dask_runner}


@dataclass(frozen=True, kw_only=True)
class Run:
    """Where a job runs and how the corpus is divided. Every setting gives the same result.

    runner: "local" processes, "ray" tasks or "dask" tasks. workers: processes of this machine. threads: of each worker;
    None shares the processors out among local processes, and is 1 on a cluster.
    memory: a rough limit for all processes of this machine, or each task of a cluster: "2GB" or a number of bytes;
    counts that do not fit go to temporary files. address: of an existing cluster. shard_bytes: about the size of a
    shard on disk. rank, world_size: this process does every world_size-th shard, from number `rank` on; the last of
    these processes joins what all of them made. folder: where shards are kept until the job is done: a second run goes
    on from there. It must be the same folder on all machines, or the URL of one. None is a temporary folder for
    `count`, and `path` with the suffix .parts for `encode_files`. keep: leave it there.
    """

    runner: Literal["local", "ray", "dask"] = option(
        "local", "Where shards of the corpus are processed. Without an option of a run, the corpus has no shards."
    )
    workers: int | None = option(None, "Processes of this machine.", least=1, most=1024)
    threads: int | None = None
    memory: int | str | None = option(
        None,
        "Approximate memory of all processes together, such as 2GB; on a cluster, of each task. Larger counts go to "
        "temporary files.",
        metavar="AMOUNT",
    )
    address: str | None = option(None, "With --runner ray or dask: of an existing cluster.", metavar="ADDRESS")
    shard_bytes: int = option(SHARD, "Approximate size of a shard.", least=1)
    rank: int | None = option(None, "Array job: rank of this process, from 0.", least=0, metavar="R")
    world_size: int | None = option(None, "Array job: number of processes.", least=1, most=1 << 31)
    folder: str | PathLike[str] | None = option(
        None, "Where shards are kept until all are done; a second run resumes from it: OUT.parts.", metavar="FOLDER"
    )
    keep: bool = option(False, "Keep that folder, and the counts of train.")

    def __post_init__(self) -> None:
        check_options(self)
        if self.threads is not None:
            thread_count(self.threads)
        if self.memory is not None:
            bytes_of(self.memory)
        if (self.rank is None) != (self.world_size is None):
            raise InputError("expected `rank` and world_size together")
        if self.rank is not None and self.world_size is not None:
            check_integer("rank", self.rank, 0, self.world_size - 1)
        if self.runner != "local" and (self.workers is not None or self.rank is not None):
            raise InputError(f"`workers`, `rank` and world_size are for runner local, not for {self.runner}")
        if self.runner == "local" and self.address is not None:
            raise InputError("`address` is for runners ray and dask")


def memory_left(run: Run) -> int | None:
    """Return what a run leaves of its memory for this process; None if it is not limited."""
    from subwords.support.memory import room_of

    return None if run.memory is None else room_of(bytes_of(run.memory))


def run_shards(run: Run, work: ShardTask, shards: list[CorpusShard], folder: Path) -> Iterator[ShardResult]:
    """Do the work of a run on all shards, or on those of its rank."""
    memory = None if run.memory is None else bytes_of(run.memory)
    if run.runner != "local":
        return RUNNERS[run.runner](run.address, run.threads or 1, memory)(work, shards, folder)
    if run.rank is not None:
        shards = shards[run.rank :: run.world_size]
    return local_runner(run.workers, run.threads, memory)(work, shards, folder)


# ---------------------------------------------------------------------------------------------------------------------
# A worker process of the local runner: pickles come on standard input, and what is done goes to standard output.


def main() -> None:
    """Work until standard input ends."""
    from subwords.scale.work import run_shard

    tasks, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # prints of libraries do not mix with the answers
    work, folder, means = pickle.load(tasks)
    with suppress(EOFError):
        while True:
            shard = pickle.load(tasks)
            try:
                done: object = run_shard(work, shard, folder, means)
            except Exception as error:
                done = error
            pickle.dump(done, answers)
            answers.flush()


if __name__ == "__main__":
    main()
