"""Machine code of kernels, from three places: the wheel, the cache on disk, or compiled now.

A wheel has one shared library for each kind of processor. It is used only if it was built from exactly the sources that
are here, and only if the processor has every feature that it was compiled for. Loading it needs neither Numba nor
llvmlite.

A file of the cache is in a folder that is named by a digest: of the source of every kernel, of the processor, and of
all versions that matter. So after an edit no stale caller remains. A file repeats the digest, with the kernel's name
and which of its parameters are integers: nothing else is needed to call it. A file that is damaged or belongs to
another kernel is compiled again and replaced. Files are replaced whole, so two processes can write the same one. Cache
errors are ignored: an unreadable kernel is compiled, and one that cannot be written is a warning.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import sys
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from subwords.kernels.entry import HEADS
from subwords.kernels.modes import ASKED, LEVELS, MODE, NOTICES
from subwords.kernels.stored import (
    KERNELS,
    MAGIC,
    Folder,
    cache_root,
    digest_folder,
    stamp,
    stored,
    version_mark,
)
from subwords.support.errors import SubwordsError, in_main_interpreter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from subwords.kernels.entry import Bound, Kernel


def processor_kind() -> str:
    """Return the kind of processor, as `platform.machine` does, whose import takes longer than all else here."""
    if hasattr(os, "uname"):
        return os.uname().machine
    from platform import machine as found

    return found()


# ------------------------------------------------------------------ what machine code reads of Python's objects


@cache
def check_heads() -> None:
    """Raise SubwordsError unless arrays and tuples are laid out as kernels read them."""
    import numpy as np

    from subwords.kernels.layout import CountTable

    array, items = HEADS.values()
    probe = np.arange(7)
    data = ctypes.c_void_p.from_address(id(probe) + array).value
    shape = ctypes.c_void_p.from_address(id(probe) + array + 16).value
    bundle = CountTable(probe, 1, 2, 3, 4)
    first = ctypes.c_void_p.from_address(id(bundle) + items).value
    if data != probe.ctypes.data or not shape or ctypes.c_ssize_t.from_address(shape).value != 7 or first != id(probe):
        raise SubwordsError(
            "expected arrays and tuples laid out as in CPython, found others; "
            "set SUBWORDS_KERNELS=checked, which is slower"
        )


# ------------------------------------------------------------------ the wheel

FOLDER = os.path.join(KERNELS, "machine")
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
    return found[1] if found else stored("kernels", b"", lambda: digest_folder(KERNELS))


def shipped(kernel: Kernel) -> Bound | None:
    """Return a kernel of the library for this processor, or None if there is none."""
    found = _library()
    if found is None:
        return None
    check_heads()
    return bound(found[1][kernel.name], shipped_address(kernel))


def shipped_address(kernel: Kernel) -> int:
    """Return the address of a kernel's C function in the library for this processor, or 0 if there is none."""
    found = _library()
    return 0 if found is None else ctypes.cast(found[0][kernel.symbol], ctypes.c_void_p).value or 0


def source_of_code() -> tuple[str, str]:
    """Return where the machine code of this process comes from, and why: for a person."""
    if MODE != "compiled":
        return MODE, "SUBWORDS_KERNELS asks for it"
    found = _library()
    if found is not None:
        return f"the package's {NOTICES.used}", NOTICES.without or "the best that the package has for this processor"
    if ASKED == "jit":
        return "Numba", "SUBWORDS_KERNELS=jit asks to compile the kernels here"
    return "Numba", NOTICES.without or "this package came without machine code, as a clone does"


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
        with open(os.path.join(FOLDER, "code.json"), encoding="utf-8") as file:
            import json  # not in a clone

            made: dict[str, Any] = json.load(file)
    except OSError:
        return None  # not from a wheel
    if made["sources"] != sources_digest():
        NOTICES.without = "the sources of kernels were changed after it was made"
        return None
    names = [name for name in _names() if name in made["libraries"]]
    NOTICES.without = "" if names else f"it has none for this processor ({processor_kind()}, {sys.platform})"
    for name in names:
        library = _loaded(name, made["libraries"][name])
        if library is not None:
            library.subwords_set_heads(*map(ctypes.c_int64, HEADS.values()))
            NOTICES.used, NOTICES.instead = name, name if NOTICES.without else ""
            return library, made["kernels"]
    return None


def _loaded(name: str, checksum: str) -> ctypes.CDLL | None:
    path = os.path.join(FOLDER, name)
    try:
        with open(path, "rb") as file:
            found = hashlib.sha256(file.read()).hexdigest()
        if found == checksum:
            return ctypes.CDLL(path)
        NOTICES.without = f"{name} is damaged: its checksum is another"
    except OSError as error:
        NOTICES.without = f"{name} cannot be loaded: {error}"
    return None


def _names() -> list[str]:
    """Return the names of libraries that this processor can run, the best first."""
    kind = processor_kind().lower()
    if sys.platform == "darwin":
        return ["macos-arm64.dylib"] if kind == "arm64" else []
    if kind in ("aarch64", "arm64"):
        return ["linux-aarch64.so"] if sys.platform == "linux" else []
    if kind not in ("x86_64", "amd64") or sys.maxsize < 2**32 or sys.platform not in ("linux", "win32"):
        return []
    system, suffix = ("windows", "dll") if sys.platform == "win32" else ("linux", "so")
    found = processor_features()
    able = [level for level, needs in FEATURES.items() if all(map(found.get, needs))]
    if not all(found.get(each, True) for each in BESIDES):
        able = [level for level in able if level == "v2"]
    if ASKED in LEVELS:
        able = [level for level in able if level == ASKED]
    return [f"{system}-x86_64-{level}.{suffix}" for level in able]


# Features that Linux calls by another name: otherwise it is NumPy's in small letters.
OF_LINUX = {"FMA3": "fma", "BMI": "bmi1", "LZCNT": "abm"}


def processor_features() -> dict[str, bool]:
    """Return which features this processor has, by NumPy's names."""
    with contextlib.suppress(OSError, StopIteration), open("/proc/cpuinfo", "rb") as file:
        line = next(line for line in file if line.startswith(b"flags"))
        flags = set(line.decode().replace("_", "").split())
        return {name: OF_LINUX.get(name, name.lower()) in flags for name in (*VBMI2, *BESIDES)}
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

    return dict(_multiarray_umath.__cpu_features__)


# ------------------------------------------------------------------ the module for WebAssembly

WEB_MODULE = "wasm32.wasm"
NO_WEB_MODULE = (
    "this installation has no WebAssembly module of the kernels: install the wheel of a release, which has it, "
    "or use a clone with compilers: pip install -e '.[jit]' --group wheels"
)


@cache
def web_module() -> bytes:
    """Return the WebAssembly module of the kernels in `web.py`: the wheel's, or in a clone one that is compiled now."""
    with contextlib.suppress(OSError, KeyError, ValueError):
        import json

        with open(os.path.join(FOLDER, "code.json"), encoding="utf-8") as file:
            made: dict[str, Any] = json.load(file)
        with open(os.path.join(FOLDER, WEB_MODULE), "rb") as module:
            found = module.read()
        if made["sources"] == sources_digest() and hashlib.sha256(found).hexdigest() == made["libraries"][WEB_MODULE]:
            return found
    from importlib.util import find_spec

    tool = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(KERNELS))), "tools", "machine_code.py")
    missing = [name for name in ("numba", "ziglang") if find_spec(name) is None]
    if missing or not os.path.exists(tool):
        raise SubwordsError(NO_WEB_MODULE)
    with open(tool, "rb") as file:
        source = f"{sources_digest()} {version_mark('numba', '_version.py')!r}".encode() + file.read()
    return stored("web", source, partial(_new_web_module, tool), whole=True)


def _new_web_module(tool: str) -> bytes:
    """Compile the module with the tool of a clone, as the wheel's is made."""
    from subprocess import run
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder, NOTICES.compile():
        command = [sys.executable, "-m", "tools.machine_code", "--web", os.path.join(folder, WEB_MODULE)]
        clone = os.path.dirname(os.path.dirname(tool))
        made = run(command, cwd=clone, capture_output=True, text=True, check=False)
        if made.returncode != 0:
            raise SubwordsError(f"the kernels could not be compiled for WebAssembly: {made.stderr[-500:]}")
        with open(os.path.join(folder, WEB_MODULE), "rb") as file:
            return file.read()


# ------------------------------------------------------------------ the cache

TESTED = "0.61 to 0.68"  # versions of Numba; the range in pyproject.toml
SUMMED = len(MAGIC) + 32  # bytes of a file before its content (identity, object file): MAGIC and a SHA-256, for damage


@contextlib.contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Let Ctrl-C wait until a kernel is ready: it would leave Numba in an invalid state, or be lost in a destructor."""
    import signal

    came: list[Any] = []
    handler = signal.getsignal(signal.SIGINT)
    try:
        if callable(handler):
            signal.signal(signal.SIGINT, lambda *args: came.append(args))
    except ValueError:  # only the main thread is interrupted
        handler = None
    try:
        yield
    finally:
        if callable(handler):
            signal.signal(signal.SIGINT, handler)
            if came:
                handler(*came[0])


@_interrupts_wait()
def load_code(kernel: Kernel) -> Bound:
    """Return a kernel as two functions of array objects and integers: one releases the GIL, one keeps it."""
    found = _read(kernel)
    if found is None:
        with NOTICES.compile():
            found = kernel.kinds, _compile(kernel)
        _write(kernel, *found)
    kinds, code = found
    from llvmlite import binding

    engine = _engine(os.getpid())
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return bound(kinds, engine.get_function_address(kernel.symbol))


def _compile(kernel: Kernel) -> bytes:
    try:
        from subwords.kernels.compile import machine_code

        return machine_code(kernel)
    except (ImportError, AttributeError, TypeError) as error:
        # What a version with other private interfaces raises: see compile.py.
        from importlib.metadata import version

        if not in_main_interpreter():
            raise SubwordsError(
                "expected the main interpreter: Numba, which compiles kernels, cannot be used in this sub-interpreter. "
                "Use threads or processes instead"
            ) from error
        raise SubwordsError(
            f"numba {version('numba')} cannot compile kernels; tested are {TESTED} ({type(error).__name__}: {error}). "
            "Install one of these, or set SUBWORDS_KERNELS=checked, which is slower"
        ) from error


@cache
def _engine(_process: int) -> Any:
    from llvmlite import binding

    # A forked child takes its own: a lock of its parent's may be held by a thread that it does not have.
    check_heads()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(jit=True)
    return binding.create_mcjit_compiler(binding.parse_assembly(""), machine)


@cache
def _digest() -> str:
    import llvmlite
    from llvmlite import binding

    chosen = (os.environ.get("NUMBA_CPU_NAME"), os.environ.get("NUMBA_CPU_FEATURES"))
    processor = (processor_kind(), binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten(), chosen)
    versions = (
        sys.version,
        version_mark("numba", "_version.py"),
        llvmlite.__version__,
        version_mark("numpy", "version.py"),
    )
    state = hashlib.sha256(repr((processor, versions)).encode())
    state.update(sources_digest().encode())
    return state.hexdigest()[:16]


def _identity(kernel: Kernel, kinds: str) -> bytes:
    """The first line of a kernel's file: its name, its parameters, its sources."""
    return f"{kernel.name} {kinds} {_digest()}".encode()


def _read(kernel: Kernel) -> tuple[str, bytes] | None:
    """Return what kinds of parameters a kernel has, and its machine code."""
    with contextlib.suppress(OSError, ValueError), Folder(cache_root(), _digest()) as folder:
        raw = folder.read(f"{kernel.name}.o")
        if MAGIC + hashlib.sha256(raw[SUMMED:]).digest() == raw[:SUMMED]:
            identity, _, body = raw[SUMMED:].partition(b"\n")
            kinds = identity.split(b" ")[1].decode()
            return (kinds, body) if identity == _identity(kernel, kinds) else None
    return None


def _write(kernel: Kernel, kinds: str, body: bytes) -> None:
    root, content = cache_root(), _identity(kernel, kinds) + b"\n" + body
    try:
        with Folder(root, _digest(), make=True) as folder:
            folder.write(f"{kernel.name}.o", MAGIC, hashlib.sha256(content).digest(), content)
    except OSError as error:
        NOTICES.unwritable(root and os.path.join(root, _digest()), error.strerror or str(error))
