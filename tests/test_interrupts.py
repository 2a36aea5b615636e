"""Ctrl-C at any moment reaches the caller soon, leaves no thread running, and the tokenizer as it was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import subwords

SOURCE = Path(subwords.__file__).parents[1]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are a POSIX thing")

PROGRAM = Path(__file__).parent / "programs" / "interrupts.py"
USUAL = {"encode": 10, "encode_batch": 4, "train": 4}
OTHERS = ("encode a line", "decode", "count", "train wordpiece", "train unigram", "warmup")
CASES = [*USUAL.items(), *(pytest.param(job, 30, marks=pytest.mark.sweep) for job in (*USUAL, *OTHERS))]


@pytest.mark.parametrize(("job", "times"), CASES)
def test_interrupt_reaches_the_caller(job: str, times: int) -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, PROGRAM, job, str(times)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stderr) == (0, "")
