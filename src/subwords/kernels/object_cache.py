"""Machine code on disk and in memory: read from the cache or compiled, linked by llvmlite, called through ctypes.

A file is in a folder that is named by a digest: of the source of every kernel, of the processor, and of all versions
that matter. So after an edit no stale caller remains. A file repeats the digest, with the kernel's name and which of
its parameters are integers: nothing else is needed to call it. A file that is damaged or belongs to another kernel is
compiled again and replaced. Files are replaced whole, so two processes can write the same one. Cache errors are
ignored: an unreadable kernel is compiled, and one that cannot be written is a warning.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llvmlite
import numpy as np
from llvmlite import binding

from subwords.errors import SubwordsError
from subwords.kernels.guard import hold_forks
from subwords.kernels.heads import check_heads
from subwords.kernels.notice import NOTICES
from subwords.kernels.shipped import bound, sources_digest
from subwords.kernels.stored import cache_root, private

if TYPE_CHECKING:
    from subwords.kernels.entry import Bound, Kernel

__all__ = ["cache_root", "load"]

TESTED = "0.61 to 0.68"  # versions of Numba; the range in pyproject.toml
CHECKSUM = 32  # bytes of a file before its content: identity, object file


def load(kernel: Kernel) -> Bound:
    """Return a kernel as two functions of array objects and integers: one releases the GIL, one keeps it."""
    found = _read(kernel)
    if found is None:
        NOTICES.compile()
        NOTICES.busy += 1
        try:
            found = kernel.kinds, _compile(kernel)
        finally:
            NOTICES.busy -= 1
        _write(kernel, *found)
    kinds, code = found
    engine = _engine(os.getpid())
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return bound(kinds, engine.get_function_address(kernel.symbol))


def _compile(kernel: Kernel) -> bytes:
    hold_forks()
    try:
        from subwords.kernels.compile import machine_code

        return machine_code(kernel)
    except (ImportError, AttributeError, TypeError) as error:
        # What a version with other private interfaces raises: see compile.py.
        from importlib.metadata import version

        raise SubwordsError(
            f"numba {version('numba')} cannot compile kernels; tested are {TESTED} ({type(error).__name__}: {error}). "
            "Install one of these, or set SUBWORDS_KERNELS=checked, which is slower"
        ) from error


@cache
def _engine(_process: int) -> Any:
    # A forked child takes its own: a lock of its parent's may be held by a thread that it does not have.
    check_heads()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(jit=True)
    return binding.create_mcjit_compiler(binding.parse_assembly(""), machine)


@cache
def _digest() -> str:
    chosen = (os.environ.get("NUMBA_CPU_NAME"), os.environ.get("NUMBA_CPU_FEATURES"))
    processor = (platform.machine(), binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten(), chosen)
    versions = (sys.version, _numba_version(), llvmlite.__version__, np.__version__)
    state = hashlib.sha256(repr((processor, versions)).encode())
    state.update(sources_digest().encode())
    return state.hexdigest()[:16]


def _numba_version() -> str | bytes:
    # From its version file, without importing it or searching all installed packages: 0.3 ms instead of 12.
    with contextlib.suppress(OSError, AttributeError, TypeError):
        return (Path(find_spec("numba").origin).parent / "_version.py").read_bytes()  # type: ignore[union-attr, arg-type]
    from importlib.metadata import version

    return version("numba")


def _path(kernel: Kernel) -> Path | None:
    root = cache_root()
    return None if root is None else root / _digest() / f"{kernel.name}.o"


def _identity(kernel: Kernel, kinds: str) -> bytes:
    """The first line of a kernel's file: its name, its parameters, its sources."""
    return f"{kernel.name} {kinds} {_digest()}".encode()


def _read(kernel: Kernel) -> tuple[str, bytes] | None:
    """Return what kinds of parameters a kernel has, and its machine code."""
    with contextlib.suppress(OSError, ValueError):
        path = _path(kernel)
        usable = path is not None and path.is_file() and private(path)  # opening a pipe would wait for its writer
        raw = path.read_bytes() if path is not None and usable else b""
        if hashlib.sha256(raw[CHECKSUM:]).digest() == raw[:CHECKSUM]:
            identity, _, body = raw[CHECKSUM:].partition(b"\n")
            kinds = identity.split(b" ")[1].decode()
            return (kinds, body) if identity == _identity(kernel, kinds) else None
    return None


def _write(kernel: Kernel, kinds: str, body: bytes) -> None:
    path = _path(kernel)
    if path is None:
        NOTICES.unwritable(None, "there is no home folder")
        return
    import tempfile

    content = _identity(kernel, kinds) + b"\n" + body
    try:
        # 0o700: files from here are executed, so nobody else may write here.
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(content).digest() + content)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink()
            raise
        if not private(path):
            NOTICES.unwritable(path.parent, "others may write there, so what is read from it could be theirs")
    except OSError as error:
        NOTICES.unwritable(path.parent, error.strerror or str(error))
