"""Importing, loading and encoding change nothing in the user's process: forks, interval, warnings, locks, signals."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import subwords
from inside import kernels_entry as entry

from_disk = pytest.mark.skipif(
    not entry.available(), reason="Numba, the sources of kernels, or the engine are imported"
)
MOST_MODULES = 56  # of a file that is too small for a table: with its reader
MOST_OF_GPT2 = 45  # whose content is in a table
SEEN = """
import concurrent.futures.thread, logging, os, random, signal, sys, threading, warnings
import {before}
handlers, exits = [], []
if hasattr(os, "register_at_fork"):
    os.register_at_fork = lambda **functions: handlers.extend(functions.items())
import atexit
register = atexit.register
atexit.register = lambda function, *rest, **more: (exits.append(function), register(function, *rest, **more))[1]


def state():
    return {{
        "interval": sys.getswitchinterval(),
        "filters": list(warnings.filters),
        "shown by": warnings.showwarning,
        "signals": [signal.getsignal(each) for each in sorted(signal.valid_signals())],
        "locks": [logging._lock, concurrent.futures.thread._global_shutdown_lock, logging.getLogger().handlers],
        "hooks": [sys.excepthook, threading.excepthook, sys.getprofile(), sys.gettrace(), sys.getrecursionlimit()],
        "environment": dict(os.environ),
    }}


before = state()
import subwords
{work}
after = state()
assert before == after, [name for name in before if before[name] != after[name]]
ours = [function for function in exits if (getattr(function, "__module__", "") or "").startswith("subwords")]
print(handlers, ours)
"""
WORK = """
tok = subwords.load({file!r})
assert tok.decode(tok.encode("low lower")) == "low lower"
assert len(tok("low lower").spans) == 2
assert tok.encode_batch(["low", "lower"]).to_lists()
"""


def left_alone(work: str, before: str = "os") -> str:
    source = str(Path(subwords.__file__).parents[1])
    code = SEEN.format(before=before, work=work)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_leaves_the_process_alone() -> None:
    assert left_alone("") == "[] []"


@from_disk
def test_loading_and_encoding_leave_the_process_alone(tmp_path: Path) -> None:
    tok = subwords.train(["low lower lowest"] * 9, vocab_size=263)
    file = str(tmp_path / "own.json")
    tok.save(file)
    assert tok.decode(tok.encode("low lower")) == "low lower"
    assert len(tok("low lower").spans) == 2
    assert tok.encode_batch(["low", "lower"]).to_lists()  # the kernels are compiled and on disk from here on
    assert left_alone(WORK.format(file=file), before="numpy") == "[] []"


def modules_of_a_line(file: str) -> list[str]:
    """Our modules in a process that loads a file and encodes a line, when there are tables and machine code."""
    code = f"import subwords, sys\ntok = subwords.load({file!r})\ntok.encode('low lower')\nprint(*sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(Path(subwords.__file__).parents[1]), "SUBWORDS_TABLES": "on"}
    for _ in range(3):  # with an empty cache, the second still makes what the third finds
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    ours = [name for name in done.stdout.split() if name.split(".")[0] == "subwords"]
    assert [name for name in ours if name.startswith("subwords.kernels.") and name.count(".") > 2] == []
    assert "subwords.kernels.fastpath" not in ours
    return ours


@from_disk
def test_encoding_a_line_imports_few_modules_and_no_source_of_a_kernel(tmp_path: Path) -> None:
    tok = subwords.train(["low lower lowest"] * 9, vocab_size=263)
    file = str(tmp_path / "tokenizer.json")
    tok.save(file)
    ours = modules_of_a_line(file)
    assert len(ours) <= MOST_MODULES, ours


@from_disk
def test_encoding_a_line_by_gpt2_imports_few_modules(shared_data: Path) -> None:
    ours = modules_of_a_line(str(shared_data / "tokenizers/gpt2/tokenizer.json"))
    assert len(ours) <= MOST_OF_GPT2, ours
