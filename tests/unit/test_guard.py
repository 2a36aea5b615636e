"""Forks and interrupts while kernels are compiled or loaded, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import subwords

SOURCE = Path(subwords.__file__).parents[1]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks and signals are a POSIX thing")

# Kernels that compile in a fraction of a second, and a child that must end.
BEGIN = r"""
import os, random, signal, sys, threading, time
from subwords.kernels.jit import Int, Kernel, MODE

assert MODE == "compiled"

def kernels(count):
    found = []
    for k in range(count):
        scope = {"__name__": "tiny"}
        exec(f"def plus{k}(x, y):\n    return x + y + {k}", scope)
        function = scope[f"plus{k}"]
        function.__annotations__ = {"x": "Int", "y": "Int"}
        found.append(Kernel(function))
    return found

def check_child(run, patience=60):
    pid = os.fork()
    if not pid:
        try:
            run()
            os._exit(0)
        except BaseException as error:
            os.write(2, repr(error).encode())
            os._exit(1)
    end = time.monotonic() + patience
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            assert status == 0, status
            return
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    raise AssertionError("the child hangs")
"""

# A thread compiles or loads; this one forks; the child wants the first kernel and the last one.
FORKS = """
every = kernels(int(sys.argv[1]))

def compile_all():
    for kernel in every:
        kernel.ready()

def child():
    assert every[0](3, 4) == 7
    assert every[-1](3, 4) == 6 + len(every)

thread = threading.Thread(target=compile_all)
thread.start()
forks = 0
while thread.is_alive():
    check_child(child)
    forks += 1
    time.sleep(random.uniform(0, 0.02))
compile_all()
assert forks
print(forks)
"""

# The same through multiprocessing, while other threads encode, count and train.
BUSY = """
import multiprocessing
import subwords

text = "low lower lowest, it's 2024's naïve words " * 20_000
lines = [text[at : at + 5_000] for at in range(0, len(text), 5_000)]
tok = subwords.train(lines, vocab_size=280)
expected = tok.encode_batch(lines[:9]).to_lists()
jobs = [
    lambda: tok.encode_batch(lines, threads=2),
    lambda: subwords.train(lines, vocab_size=280, threads=2),
    lambda: subwords.train(lines, vocab_size=40, threads=2, algorithm="unigram"),
]
ended = False

def busy(job):
    while not ended:
        job()

def child(result):
    result.send(tok.encode_batch(lines[:9], threads=2).to_lists() == expected and tok.encode(lines[0]) == expected[0])

threads = [threading.Thread(target=busy, args=(job,)) for job in jobs]
for thread in threads:
    thread.start()
fork = multiprocessing.get_context("fork")
for _ in range(int(sys.argv[1])):
    here, there = fork.Pipe()
    process = fork.Process(target=child, args=(there,))
    process.start()
    assert here.poll(60), "the child hangs"
    assert here.recv()
    process.join(60)
    assert process.exitcode == 0
ended = True
for thread in threads:
    thread.join()
"""

# An interrupt at any moment of compiling reaches the caller at once; the kernel is there afterwards.
INTERRUPTS = """
every = kernels(int(sys.argv[1]))
for k, kernel in enumerate(every):
    def send():
        time.sleep(random.uniform(0.02, 0.2))
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
    sent = []
    sender = threading.Thread(target=send)
    try:
        sender.start()
        kernel.ready()
        time.sleep(60)
        raise AssertionError("the interrupt is lost")
    except KeyboardInterrupt:
        assert time.monotonic() - sent[0] < 3, "the interrupt waits for the compiler"
    sender.join()
    assert kernel(3, 4) == 7 + k
"""

# A fork waits for a kernel; meanwhile comes an interrupt, which Python would lose: it runs `before` as a callback.
INTERRUPTED_FORK = """
from subwords.kernels import guard

started = threading.Event()

def slow():
    started.set()
    time.sleep(0.5)

threading.Thread(target=guard.undisturbed, args=(slow,)).start()
started.wait()
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    check_child(lambda: kernels(1)[0].ready())
    time.sleep(60)
    raise AssertionError("the interrupt is lost")
except KeyboardInterrupt:
    pass
check_child(lambda: kernels(1)[0].ready())
"""


def run(script: str, cache: Path, count: int) -> str:
    environment = {
        **os.environ,
        "PYTHONPATH": str(SOURCE),
        "SUBWORDS_CACHE_DIR": str(cache),
        "SUBWORDS_KERNELS": "compiled",
    }
    environment.pop("NUMBA_DISABLE_JIT", None)
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", BEGIN + script, str(count)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_fork_while_a_thread_compiles_does_not_hang(tmp_path: Path) -> None:
    run(FORKS, tmp_path, 4)
    run(FORKS, tmp_path, 4)  # now they are loaded from the cache


@pytest.mark.sweep
@pytest.mark.parametrize("number", range(8))
def test_many_forks_while_a_thread_compiles(tmp_path: Path, number: int) -> None:
    run(FORKS, tmp_path, 8)
    run(FORKS, tmp_path, 8)


def own_cache() -> Path:
    from subwords.kernels.object_cache import cache_root

    folder = cache_root()
    assert folder
    return folder


@pytest.mark.parametrize("times", [5, pytest.param(60, marks=pytest.mark.sweep)])
def test_fork_while_threads_encode_and_train(times: int) -> None:
    run(BUSY, own_cache(), times)


def test_interrupt_while_a_fork_waits_reaches_the_caller(tmp_path: Path) -> None:
    run(INTERRUPTED_FORK, tmp_path, 0)


@pytest.mark.parametrize("times", [3, pytest.param(15, marks=pytest.mark.sweep)])
def test_interrupt_while_compiling_reaches_the_caller(tmp_path: Path, times: int) -> None:
    run(INTERRUPTS, tmp_path, times)
