"""Compiled kernels on disk: one file per kernel and signature, replaced whole, and never a reason to fail.

A file's name holds a digest of every kernel's source and of all versions that matter, so an edited file
can never leave a stale caller behind, and two processes that warm up together write the same bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import platform
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult


def cache_root() -> Path | None:
    """The folder compiled kernels are kept in, or None where there is no home for one (`SUBWORDS_CACHE_DIR` overrides)."""
    if chosen := os.environ.get("SUBWORDS_CACHE_DIR"):
        return Path(chosen)
    with contextlib.suppress(RuntimeError):
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "subwords" / "cache"
        if sys.platform == "darwin":
            return Path.home() / "Library/Caches/subwords"
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "subwords"
    return None


@cache
def _digest(mode: str) -> str:
    versions = (platform.python_version(), numba.__version__, llvmlite.__version__, numpy.__version__, mode)
    state = hashlib.sha256(repr(versions).encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        state.update(path.name.encode() + b"\0" + path.read_bytes())
    return state.hexdigest()[:16]


class KernelCache(_Cache):  # type: ignore[misc]
    """The cache of one kernel; what cannot be read or written counts as absent."""

    def __init__(self, function: Any, mode: str) -> None:
        self._name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        self._mode = mode
        self._code = (function.__code__.co_code, repr(function.__code__.co_names))
        self._enabled = True

    @property
    def cache_path(self) -> str | None:
        """The folder in use."""
        root = cache_root()
        return None if root is None else str(root / _digest(self._mode))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled kernel for `sig`, or None."""
        target_context.refresh()
        # A damaged or foreign file must cost a compilation, never an error: whatever goes wrong, compile.
        with contextlib.suppress(Exception):
            if self._enabled:
                payload = self._file(sig, target_context.codegen()).read_bytes()
                checksum, body = payload[:32], payload[32:]
                if hashlib.sha256(body).digest() == checksum:
                    return CompileResult._rebuild(target_context, *pickle.loads(body))
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the compiled kernel, if that is possible."""
        with contextlib.suppress(Exception):
            if self._enabled and not data.lifted and not data.library.has_dynamic_globals:
                body = pickle.dumps(data._reduce(), protocol=pickle.HIGHEST_PROTOCOL)
                _write(self._file(sig, data.codegen), hashlib.sha256(body).digest() + body)

    def _file(self, sig: Any, codegen: Any) -> Path:
        root = cache_root()
        if root is None:
            raise FileNotFoundError
        key = hashlib.sha256(repr((sig, codegen.magic_tuple(), self._code)).encode()).hexdigest()[:16]
        return root / _digest(self._mode) / f"{self._name}.{key}.bin"

    def enable(self) -> None:
        """Read and write files."""
        self._enabled = True

    def disable(self) -> None:
        """Leave files alone."""
        self._enabled = False

    def flush(self) -> None:
        """Forget nothing: a file is only ever replaced by one of the same content."""


def _write(path: Path, payload: bytes) -> None:
    # 0o700: the files are unpickled later, so nobody else may write there.
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(payload)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
