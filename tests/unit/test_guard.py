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


PROGRAMS = Path(__file__).parents[1] / "programs"


def run(program: str, cache: Path, *arguments: object) -> str:
    environment = {
        **os.environ,
        "PYTHONPATH": str(SOURCE),
        "SUBWORDS_CACHE_DIR": str(cache),
        "SUBWORDS_KERNELS": "compiled",
    }
    environment.pop("NUMBA_DISABLE_JIT", None)
    command = [
        sys.executable,
        "-W",
        "ignore::DeprecationWarning",
        str(PROGRAMS / f"{program}.py"),
        *map(str, arguments),
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert {*done.stderr.splitlines()} <= {"subwords: compiling kernels for this processor, once ..."}
    return done.stdout


def test_fork_while_a_thread_compiles_does_not_hang(tmp_path: Path) -> None:
    run("forks", tmp_path, 4)


@pytest.mark.sweep
@pytest.mark.parametrize("number", range(8))
def test_many_forks_while_a_thread_compiles(tmp_path: Path, number: int) -> None:
    run("forks", tmp_path, 8)


def own_cache() -> Path:
    from inside import cache_root

    folder = cache_root()
    assert folder
    return Path(folder)


@pytest.mark.parametrize("times", [5, pytest.param(60, marks=pytest.mark.sweep)])
def test_fork_while_threads_encode_and_train(times: int) -> None:
    run("busy_forks", own_cache(), times)


def test_interrupt_while_a_fork_waits_reaches_the_caller(tmp_path: Path) -> None:
    run("interrupted_fork", tmp_path, 0)


@pytest.mark.parametrize("times", [3, pytest.param(15, marks=pytest.mark.sweep)])
def test_interrupt_while_compiling_reaches_the_caller(tmp_path: Path, times: int) -> None:
    run("interrupted_compiling", tmp_path, times)
