"""In a sub-interpreter the package works, or refuses: it never ends the process, and the main one goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import subwords
from inside import MODE

PROGRAM = Path(__file__).parents[1] / "programs" / "sub_interpreters.py"
REFUSED = ("main interpreter", "does not support loading in subinterpreters")  # ours, and Python 3.12's of ctypes


@pytest.mark.rotating(4)
@pytest.mark.skipif(MODE == "interpreted" or sys.implementation.name != "cpython", reason="takes minutes; or others")
@pytest.mark.parametrize("tables", ["on", "off"])
@pytest.mark.parametrize("kind", ["legacy", "isolated"])
@pytest.mark.parametrize("when", ["first", "main"])
def test_a_sub_interpreter_works_or_refuses(when: str, kind: str, tables: str, tmp_path: Path) -> None:
    tok = subwords.train(["low lower lowest"] * 9, vocab_size=263)
    expected = f"right {[tok.encode('low lower'), tok.encode('lowest')]}"
    tok.save(tmp_path / "tokenizer.json")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "SUBWORDS_TABLES": tables}
    program = [sys.executable, str(PROGRAM), when, kind, str(tmp_path / "tokenizer.json")]
    for _ in range(2):  # the second one finds tables on disk
        done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert len(lines) == (4 if when == "main" else 2)
        if when == "main":
            assert lines[0] == lines[-1] == expected
            assert all(line.startswith("refused ImportError ") for line in lines[1:-1])  # by NumPy
        for line in lines:
            assert line == expected or any(why in line for why in REFUSED), line
