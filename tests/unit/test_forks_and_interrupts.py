"""Forks and interrupts where kernels are compiled or loaded, each in a process of its own."""

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
    assert {*done.stderr.splitlines()} <= {"subwords: compiling the kernels of this call, kept for later ..."}
    return done.stdout


def test_a_child_has_the_kernels_of_its_parent_and_compiles_others(tmp_path: Path) -> None:
    run("forks", tmp_path)


def test_threads_compile_a_kernel_once(tmp_path: Path) -> None:
    run("compiling_threads", tmp_path)


def own_cache() -> Path:
    from inside import kernels_stored as stored

    folder = stored.cache_root()
    assert folder
    return Path(folder)


@pytest.mark.parametrize("times", [5, pytest.param(60, marks=pytest.mark.sweep)])
def test_fork_while_threads_encode_and_train(times: int) -> None:
    run("busy_forks", own_cache(), times)


@pytest.mark.parametrize("times", [3, pytest.param(15, marks=pytest.mark.sweep)])
def test_interrupt_while_compiling_reaches_the_caller(tmp_path: Path, times: int) -> None:
    run("interrupted_compiling", tmp_path, times)
