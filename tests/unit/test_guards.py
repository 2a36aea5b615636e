"""The guard mode (SUBWORDS_GUARDS) ends a process whose kernel leaves an array by one element, on its side."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from inside import MODE

TESTS = Path(__file__).parents[1]


@pytest.mark.skipif(MODE != "compiled" or os.name != "posix", reason="compiled kernels, and mprotect")
@pytest.mark.parametrize("side", ["1", "before"])
def test_one_element_beyond_an_array_or_a_text_ends_the_process(side: str, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
    environment["SUBWORDS_CACHE_DIR"] = str(tmp_path)  # for the kernels of the program
    program = [sys.executable, str(TESTS / "programs" / "guard_pages.py"), side]
    done = subprocess.run(program, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ends = {tuple(line.split(",")[:2]): int(line.split(",")[2]) for line in done.stdout.splitlines()}
    assert len(ends) == 5 * 4
    beyond = "-1" if side == "before" else "6"
    for (kind, at), end in ends.items():
        if at == beyond:
            assert os.WIFSIGNALED(end) and os.WTERMSIG(end) in (signal.SIGSEGV, signal.SIGBUS), (kind, at, end)
        elif at in ("0", "5"):
            assert end == 0, (kind, at, end)
