"""Runners: who does the work on shards: this process, processes of this machine, Ray or Dask."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Protocol

from subwords.errors import InputError, SubwordsError
from subwords.scale.shards import Shard
from subwords.scale.work import Done, Means, Work, run_shard
from subwords.support.install import install_hint
from subwords.support.limits import room_of
from subwords.support.threads import thread_count

__all__ = ["Runner", "dask_runner", "local_runner", "ray_runner"]

TRIES = 3  # of a shard whose worker is killed
SIZE = 8  # bytes of the length of a message


class Runner(Protocol):
    """Does the work on shards, and yields each when it is done; their order is not fixed."""

    def __call__(self, work: Work, shards: Sequence[Shard], folder: Path) -> Iterator[Done]:
        """Yield what is done."""
        ...


def local_runner(workers: int | None = None, threads: int | None = None, memory: int | None = None) -> Runner:
    """Return a runner by processes of this machine; with one worker, by this process.

    workers: None for 1. threads: of each worker; None divides the processors among them. memory: bytes of all processes
    together, this one included.
    """
    count = 1 if workers is None else workers
    number = threads or max(1, thread_count(None) // count)
    if memory is not None and count > 1:
        memory = room_of(memory) // count
    each = Means(number, memory)

    def run(work: Work, shards: Sequence[Shard], folder: Path) -> Iterator[Done]:
        if count == 1:
            return (run_shard(work, shard, folder, each) for shard in shards)
        return _in_processes(work, shards, folder, min(count, len(shards)), each)

    return run


def _in_processes(work: Work, shards: Sequence[Shard], folder: Path, workers: int, means: Means) -> Iterator[Done]:
    todo: SimpleQueue[Shard] = SimpleQueue()
    found: SimpleQueue[Done | BaseException] = SimpleQueue()
    for shard in shards:
        todo.put(shard)
    team = [_Worker(pickle.dumps((work, folder, means)), todo, found) for _ in range(workers)]
    try:
        for worker in team:
            worker.start()
        for _ in shards:
            done = found.get()
            if isinstance(done, BaseException):
                raise done
            yield done
    finally:
        for worker in team:
            worker.stop()
        for worker in team:
            worker.join()


class _Worker(Thread):
    """Gives shards to a process, and starts another one when it is killed."""

    def __init__(self, setup: bytes, todo: SimpleQueue[Shard], found: SimpleQueue[Any]) -> None:
        super().__init__(daemon=True)
        self._setup, self._todo, self._found = setup, todo, found
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def run(self) -> None:
        while not self._stopped:
            try:
                shard = self._todo.get_nowait()
            except Empty:
                break
            self._found.put(self._done(shard))
        self._end()

    def stop(self) -> None:
        """Let no shard begin, and kill the process; the thread ends."""
        self._stopped = True
        process = self._process
        if process is not None:
            process.kill()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with suppress(OSError):  # what was not sent yet
                        stream.close()
            process.wait()

    def _done(self, shard: Shard) -> Done | BaseException:
        status = 0
        for _ in range(TRIES):
            try:
                return self._asked(shard)
            except (EOFError, BrokenPipeError):  # the process was killed, or could not start
                status = self._status()
                self._end()
                if self._stopped:
                    break
            except Exception as error:
                return error
        names = ", ".join(piece.path for piece in shard.pieces[:3])
        why = (
            f"ended with status {status} {TRIES} times; see standard error above; finished shards are kept"
            if status > 0
            else f"was killed {TRIES} times, perhaps for lack of memory; finished shards are kept: run again "
            "with fewer workers or smaller shards"
        )
        return InputError(f"shard {shard.number} ({names}): its worker {why}")

    def _status(self) -> int:
        """The exit status of a process whose streams have ended; negative for a signal."""
        assert self._process is not None
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(timeout=5)
        return -1

    def _asked(self, shard: Shard) -> Done:
        if self._stopped:
            raise EOFError
        if self._process is None:
            command = [sys.executable, "-m", "subwords.scale.worker"]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self._send(self._setup)
        self._send(pickle.dumps(shard))
        done = pickle.loads(self._received())
        if isinstance(done, BaseException):
            raise done
        result: Done = done
        return result

    def _send(self, data: bytes) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(len(data).to_bytes(SIZE, "little") + data)
        self._process.stdin.flush()

    def _received(self) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        head = self._process.stdout.read(SIZE)
        data = self._process.stdout.read(int.from_bytes(head, "little")) if len(head) == SIZE else b""
        if not data:
            raise EOFError
        return data


def ray_runner(address: str | None = None, threads: int = 1, memory: int | None = None) -> Runner:
    """Return a runner by tasks of Ray; address: of a cluster, None starts Ray on this machine. memory: of each task.

    The folder of the job must be the same on all nodes.
    """
    try:
        import ray
    except ImportError:
        raise InputError(f"runner ray needs Ray: {install_hint('ray')}") from None

    def run(work: Work, shards: Sequence[Shard], folder: Path) -> Iterator[Done]:
        started = not ray.is_initialized()
        if started:
            ray.init(address=address or "local", log_to_driver=False)
        try:
            task = ray.remote(num_cpus=threads, memory=memory, max_retries=5)(run_shard)
            shared = ray.put(work)
            waiting = [task.remote(shared, shard, folder, Means(threads, memory)) for shard in shards]
            while waiting:
                ready, waiting = ray.wait(waiting)
                yield from _of_ray(ray, ready)
        finally:
            if started:
                ray.shutdown()

    return run


def _of_ray(ray: Any, ready: list[Any]) -> list[Done]:
    try:
        found: list[Done] = ray.get(ready)
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

    means = Means(threads, memory)

    def run(work: Work, shards: Sequence[Shard], folder: Path) -> Iterator[Done]:
        with distributed.Client(address) if address else distributed.Client(processes=True) as client:
            shared = client.scatter(work, broadcast=True)
            waiting = [client.submit(run_shard, shared, shard, folder, means, pure=False) for shard in shards]
            for future in distributed.as_completed(waiting):
                done: Done = future.result()
                yield done

    return run


RUNNERS: dict[str, Callable[..., Runner]] = {"local": local_runner, "ray": ray_runner, "dask": dask_runner}
