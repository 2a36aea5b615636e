"""Kernels are compiled once, before a large run and on all cores: each worker of pytest-xdist would compile all."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

__all__ = ["compile_kernels", "is_large"]

PROGRAM = Path(__file__).parent / "programs" / "compile_kernels.py"


def is_large(config: pytest.Config) -> bool:
    """Whether whole folders of tests are to run: a few files compile what they need."""
    option = config.option
    return not option.keyword and not option.collectonly and any(Path(path).is_dir() for path in config.args)


def compile_kernels() -> float:
    """Fill the cache and return the seconds it took; what fails here fails in the tests, which report it better."""
    start = time.monotonic()
    subprocess.run([sys.executable, PROGRAM], capture_output=True, check=False)
    return time.monotonic() - start
