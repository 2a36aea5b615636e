"""The mode that kernels run in, the functions that `jit.py` has declared, and notices to the user, once per process."""

from __future__ import annotations

import contextlib
import os
import sys
import time
import warnings

from subwords.support.errors import SubwordsWarning

TYPE_CHECKING = False  # `typing` takes longer to import than all else here
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

# ------------------------------------------------------------------ modes

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


# ------------------------------------------------------------------ notices

PACKAGE = os.path.dirname(os.path.dirname(__file__))


class Notices:
    """The notices that the user has had, and those still to print."""

    def __init__(self) -> None:
        self.compiling = False  # whether this process has compiled a kernel
        self.busy = 0  # kernels that are being compiled now
        self.shown = False  # whether the user has seen it: as a line or as a progress bar
        self.without = ""  # why machine code that came with the package is not used
        self.used = ""  # the library of the package that is used
        self.instead = ""  # the library that is used in place of a damaged one
        self._counts = False  # whether this object wrote the line
        self._number, self._began = 0, 0.0  # kernels compiled so far; since when
        self._unwritable = ""
        self._warned = self._told = False

    @contextlib.contextmanager
    def compile(self) -> Iterator[None]:
        """Say on standard error that kernels are compiled: a first use that says nothing seems to hang.

        One line the first time; on a terminal each kernel is counted in a line that is gone when it is done. A live
        progress line of Rich replaces `sys.stderr` and shows what is written there above itself: it says it itself.
        """
        if not self.compiling:
            self.compiling, self._began = True, time.monotonic()
        if not self.shown:
            self.shown = self._counts = True
            _write("subwords: compiling the kernels of this call, kept for later ...\n")
        self._number += 1
        self.busy += 1
        counted = self._counts and sys.stderr is sys.__stderr__ and sys.stderr is not None and sys.stderr.isatty()
        if counted:
            _write(f"kernel {self._number}, {time.monotonic() - self._began:.0f} s\r")
        try:
            yield
        finally:
            self.busy -= 1
            if counted:
                _write("\x1b[K")

    def unwritable(self, folder: str | None, reason: str) -> None:
        """Remember that the cache cannot be written; `warn` reports it in the thread of the caller."""
        place = f" in {folder}" if folder else ""
        self._unwritable = self._unwritable or f"{place}: {reason}"

    def warn(self) -> None:
        """Warn if machine code is there but not used, or if the cache cannot be written."""
        if self.without and not self._told:
            self._told = True
            warnings.warn(
                f"the machine code of this package is not used: {self.without}. "
                f"{f'{self.instead} is used' if self.instead else 'Numba compiles the kernels'} instead",
                SubwordsWarning,
                stacklevel=_depth(),
            )
        if self._unwritable and not self._warned:
            self._warned = True
            warnings.warn(
                f"kernel cache cannot be used{self._unwritable}. Every process will compile its kernels again, "
                "which takes seconds: set SUBWORDS_CACHE_DIR to a folder that you, and only you, can write to",
                SubwordsWarning,
                stacklevel=_depth(),
            )


def _write(text: str) -> None:
    # Standard error may be None (no console) or closed.
    with contextlib.suppress(AttributeError, OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


def _depth() -> int:
    """The `stacklevel`, for `warn`, of the first caller outside this package."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, depth = frame.f_back, depth + 1
    return depth


NOTICES = Notices()
