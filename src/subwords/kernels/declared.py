"""The mode kernels run in, and the functions that `jit.py` has declared: by the way they are compiled into kernels."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

MODES = ("compiled", "checked", "interpreted")
LEVELS = ("v4-vbmi2", "v4", "v3", "v2")  # of x86-64, as a wheel has machine code for them, the best first


def _asked() -> str:
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return "interpreted"
    asked = os.environ.get("SUBWORDS_KERNELS", "compiled")
    known = (*MODES, "jit", *LEVELS)
    if asked not in known:
        raise ImportError(f"expected SUBWORDS_KERNELS to be one of {', '.join(known)}, not {asked!r}")
    return asked


ASKED = _asked()  # "jit": compile here what the package may have compiled; a level: its code, not the best
MODE = ASKED if ASKED in MODES else "compiled"

HELPERS: list[Callable[..., Any]] = []
INLINED: list[Callable[..., Any]] = []
SPLICED: list[Callable[..., Any]] = []
PRIMITIVES: list[Callable[..., Any]] = []
