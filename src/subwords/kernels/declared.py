"""The mode kernels run in, and the functions that `jit.py` has declared: by the way they are compiled into kernels."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

MODES = ("compiled", "checked", "interpreted")


def _mode() -> str:
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return "interpreted"
    mode = os.environ.get("SUBWORDS_KERNELS", "compiled")
    if mode not in MODES:
        raise ImportError(f"expected SUBWORDS_KERNELS to be one of {', '.join(MODES)}, not {mode!r}")
    return mode


MODE = _mode()

HELPERS: list[Callable[..., Any]] = []
INLINED: list[Callable[..., Any]] = []
SPLICED: list[Callable[..., Any]] = []
PRIMITIVES: list[Callable[..., Any]] = []
