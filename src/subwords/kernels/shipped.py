"""Machine code that came with the package: one shared library for each kind of processor, made where a wheel is built.

It is used only if it was built from exactly the sources that are here, and only if the processor has every feature that
it was compiled for. Loading it needs neither Numba nor llvmlite.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import platform
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from subwords.kernels.declared import ASKED, LEVELS
from subwords.kernels.heads import HEADS, check_heads
from subwords.kernels.notice import NOTICES
from subwords.kernels.sources import KERNELS, digest_of, stamp
from subwords.kernels.stored import stored

if TYPE_CHECKING:
    from pathlib import Path

    from subwords.kernels.entry import Bound, Kernel

__all__ = ["bound", "processor_features", "shipped", "sources_digest"]

FOLDER = KERNELS / "machine"
# The features, as NumPy names them, that each level of x86-64 has beyond the one before.
V2 = ("SSSE3", "SSE41", "SSE42", "POPCNT")
V3 = (*V2, "AVX", "AVX2", "F16C", "FMA3")
V4 = (*V3, "AVX512F", "AVX512BW", "AVX512CD", "AVX512DQ", "AVX512VL")
VBMI2 = (*V4, "AVX512BITALG", "AVX512IFMA", "AVX512VBMI", "AVX512VBMI2", "AVX512VNNI", "AVX512VPOPCNTDQ")
FEATURES = dict(zip(LEVELS, (VBMI2, V4, V3, V2), strict=True))
# Every processor with AVX2 has these too, but a virtual machine may hide them. NumPy before 2.4 does not name them.
BESIDES = ("BMI", "BMI2", "LZCNT", "MOVBE")


@cache
def sources_digest() -> str:
    """Return a digest of the source of every kernel."""
    found = stamp()
    return found[1] if found else stored("kernels", b"", lambda: digest_of(KERNELS))


def shipped(kernel: Kernel) -> Bound | None:
    """Return a kernel of the library for this processor, or None if there is none."""
    found = _library()
    if found is None:
        return None
    library, kinds = found
    return bound(kinds[kernel.name], ctypes.cast(library[kernel.symbol], ctypes.c_void_p).value or 0)


def bound(kinds: str, address: int) -> Bound:
    """Return the C function at an address as two functions of Python: one releases the GIL, one keeps it."""
    types = [ctypes.c_int64 if kind == "i" else ctypes.py_object for kind in kinds]
    # PYFUNCTYPE keeps the GIL; kernels raise no Python exceptions.
    free, held = (kind(ctypes.c_int64, *types) for kind in (ctypes.CFUNCTYPE, ctypes.PYFUNCTYPE))
    return free(address), held(address)


@cache
def _library() -> tuple[ctypes.CDLL, dict[str, str]] | None:
    """Return the best library for this processor, and the kinds of parameters of each kernel.

    If there is none, NOTICES.without says why.
    """
    if ASKED == "jit":
        return None
    try:
        made: dict[str, Any] = json.loads((FOLDER / "code.json").read_text("utf-8"))
    except OSError:
        return None  # not from a wheel
    if made["sources"] != sources_digest():
        NOTICES.without = "the sources of kernels were changed after it was made"
        return None
    names = [name for name in _names() if name in made["libraries"]]
    NOTICES.without = "" if names else f"it has none for this processor ({platform.machine()}, {sys.platform})"
    for name in names:
        library = _loaded(FOLDER / name, made["libraries"][name])
        if library is not None:
            check_heads()
            library.subwords_set_heads(*map(ctypes.c_int64, HEADS.values()))
            NOTICES.instead = name if NOTICES.without else ""
            return library, made["kernels"]
    return None


def _loaded(path: Path, checksum: str) -> ctypes.CDLL | None:
    try:
        if hashlib.sha256(path.read_bytes()).hexdigest() == checksum:
            return ctypes.CDLL(str(path))
        NOTICES.without = f"{path.name} is damaged: its checksum is another"
    except OSError as error:
        NOTICES.without = f"{path.name} cannot be loaded: {error}"
    return None


def _names() -> list[str]:
    """Return the names of libraries that this processor can run, the best first."""
    machine = platform.machine().lower()
    if sys.platform == "darwin":
        return ["macos-arm64.dylib"] if machine == "arm64" else []
    if machine in ("aarch64", "arm64"):
        return ["linux-aarch64.so"] if sys.platform == "linux" else []
    if machine not in ("x86_64", "amd64") or sys.maxsize < 2**32 or sys.platform not in ("linux", "win32"):
        return []
    system, suffix = ("windows", "dll") if sys.platform == "win32" else ("linux", "so")
    found = processor_features()
    able = [level for level, needs in FEATURES.items() if all(map(found.get, needs))]
    if not all(found.get(each, True) for each in BESIDES):
        able = [level for level in able if level == "v2"]
    if ASKED in LEVELS:
        able = [level for level in able if level == ASKED]
    return [f"{system}-x86_64-{level}.{suffix}" for level in able]


def processor_features() -> dict[str, bool]:
    """Return which features this processor has, by NumPy's names."""
    from numpy._core._multiarray_umath import __cpu_features__

    return dict(__cpu_features__)
