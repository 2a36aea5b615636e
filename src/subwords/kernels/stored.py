"""Tables on disk: what takes long to make from a file or a pattern, kept beside the machine code of kernels.

A file is named by a digest of what its table is made from: the content of a tokenizer file with the options of the
reader, or a pattern, and the sources of this package with the versions of Python and NumPy. So it is
never stale. A file begins with a checksum of its content, against damage, and is replaced whole. Arrays lie in it as
they are in memory, so nothing is copied after reading, and they are read-only. Cache errors are ignored: an unreadable
table is rebuilt, and one that cannot be written is made again next time. Its folder has a limited size: the tables that
were not used for the longest time are deleted.

A wheel has a stamp, digests of its sources that were written when it was built. Files of a checkout may be edited at
any time: each is known by its size and its time, as Python knows it when it looks for its bytecode.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import sys
import zlib
from functools import cache
from importlib.machinery import PathFinder
from stat import S_ISREG

from subwords.kernels.modes import MODE

TYPE_CHECKING = False  # a process that finds a kept file imports this: `typing`, `pathlib` and `pickle` take longer
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import BufferedReader
    from typing import TypeVar

    Table = TypeVar("Table")

# ------------------------------------------------------------------ sources

KERNELS = os.path.dirname(__file__)
STAMP = os.path.join(KERNELS, "stamp")


def stamped() -> str:
    """Return the text of the stamp: a digest of all sources of this package, and one of those of kernels."""
    return f"{digest_folder(os.path.dirname(KERNELS))}\n{digest_folder(KERNELS)}\n"


def digest_folder(folder: str) -> str:
    """Return a digest of the names and contents of all sources in a folder."""
    from pathlib import Path

    state = hashlib.sha256()
    for path in sorted(Path(folder).rglob("*.py")):
        state.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return state.hexdigest()


@cache
def stamp() -> tuple[str, str] | None:
    """Return the two digests of the stamp; None in a checkout."""
    try:
        with open(STAMP, encoding="ascii") as file:
            package, kernels = file.read().split()
    except OSError:
        return None
    return package, kernels


@cache
def package_mark() -> bytes | None:
    """Return bytes that differ after any change of the package; None if its sources are not files."""
    found = stamp()
    if found:
        return found[0].encode()
    try:
        return hashlib.sha256("\n".join(_states(os.path.dirname(KERNELS))).encode()).digest()
    except OSError:
        return None


def _states(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.endswith(".py"):
                found = entry.stat()
                yield f"{entry.path} {found.st_size} {found.st_mtime_ns}"
            elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
                yield from _states(entry.path)


# ------------------------------------------------------------------ tables

FOLDER = "tables"
SWITCH = "SUBWORDS_TABLES"  # an environment variable: "off" reads and writes no tables
HEAD = struct.Struct("<IIQ")  # CRC-32 of what follows it, the number of arrays, the size of the pickle
SIZE = struct.Struct("<Q")  # of each array; then come the pickle and the arrays, each from a multiple of ALIGNED on
ALIGNED = 64
LARGEST_FOLDER = 1 << 28  # of all files; the largest table has 40 MB
LARGEST = 1 << 26


def cache_root() -> str | None:
    """The folder of machine code and tables, or None if there is no home folder. `SUBWORDS_CACHE_DIR` overrides it."""
    if chosen := os.environ.get("SUBWORDS_CACHE_DIR"):
        return chosen
    home = os.path.expanduser("~")
    if home == "~":
        return None
    if sys.platform == "win32":
        return os.path.join(
            os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local"), "subwords", "cache"
        )
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Caches", "subwords")
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache"), "subwords")


def stored(kind: str, source: bytes, make: Callable[[], Table]) -> Table:
    """Return make(), or an equal object from the store, which keeps it under its kind and the bytes it is made from.

    Hazard: the object must be a function of `kind` and `source` alone, and of types that a pickle restores. What `make`
    raises is not stored.
    """
    path = table_path(kind, source)
    if path is None:
        return make()
    found = _read_table(path)
    if found is not None:
        return found[0]  # type: ignore[return-value]
    made = make()
    _write_table(path, made)
    return made


def table_path(kind: str, source: bytes) -> str | None:
    """Return the file of a table; None if nothing is stored."""
    root, signature = cache_root(), _signature()
    if root is None or signature is None or os.environ.get(SWITCH) == "off":
        return None
    name = hashlib.sha256(signature + kind.encode() + b"\0" + source).hexdigest()[:32]
    return os.path.join(root, FOLDER, f"{kind}-{name}")


@cache
def _signature() -> bytes | None:
    """A digest of all that may change a table besides its source; None if the sources of this package are not files."""
    mark = package_mark()
    state = repr((sys.version, version_mark("numpy", "version.py"), sys.byteorder, MODE, mark)).encode()
    return None if mark is None else hashlib.sha256(state).digest()


def version_mark(package: str, file: str) -> str | bytes:
    """Return what differs between versions of a package: the content of a file of it, which takes no import."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        found = PathFinder.find_spec(package)
        place = os.path.dirname(found.origin)  # type: ignore[union-attr, arg-type]
        with open(os.path.join(str(place), file), "rb") as stream:
            return stream.read()
    from importlib.metadata import version  # which searches all installed packages: 12 ms instead of 0.3

    return version(package)


def private(path: str) -> bool:
    """Whether only this user and root can have written a file: its content will run as this user."""
    return os.name != "posix" or (_private(os.stat(path)) and _private(os.stat(os.path.dirname(path))))


def _private(found: os.stat_result) -> bool:
    return found.st_uid in (os.geteuid(), 0) and found.st_mode & 0o022 == 0


def open_private(path: str) -> BufferedReader | None:
    """Return a file opened for reading; None if other users may have written it. Raises OSError if it is missing.

    What is looked at is what is read: of a path, each part may be replaced in between.
    """
    if os.name != "posix":
        return open(path, "rb") if os.path.isfile(path) else None
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
    try:
        # To open a pipe would wait for its writer; a link may lead to a file that others chose.
        found = os.open(os.path.basename(path), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW, dir_fd=folder)
        file = os.fstat(found)
        if S_ISREG(file.st_mode) and _private(file) and _private(os.fstat(folder)):
            return open(found, "rb")
        os.close(found)
        return None
    finally:
        os.close(folder)


def read_private(path: str) -> bytes:
    """Return the content of a file; b"" if there is none, or if others may have written it."""
    with contextlib.suppress(OSError):
        file = open_private(path)
        if file is not None:
            with file:
                return file.read()
    return b""


def _read_table(path: str) -> tuple[object] | None:
    with contextlib.suppress(Exception):  # whatever a damaged pickle raises
        raw = read_private(path)
        if raw and zlib.crc32(memoryview(raw)[4:]) == HEAD.unpack_from(raw)[0]:
            table = unpacked(memoryview(raw))
            with contextlib.suppress(OSError):
                os.utime(path)
            return (table,)
    return None


def unpacked(raw: memoryview) -> object:
    """Return what `packed` made bytes of; its arrays are views of these, read-only if they are."""
    import pickle

    _, count, size = HEAD.unpack_from(raw)
    at = HEAD.size + count * SIZE.size
    body, at = raw[at : at + size], padded(at + size)
    arrays = []
    for (length,) in SIZE.iter_unpack(raw[HEAD.size : HEAD.size + count * SIZE.size]):
        arrays.append(raw[at : at + length])
        at = padded(at + length)
    return pickle.loads(body, buffers=arrays)


def packed(table: object) -> bytes:
    """Return an object and the arrays in it as bytes, with a checksum."""
    import pickle

    found: list[pickle.PickleBuffer] = []
    body = pickle.dumps(table, protocol=5, buffer_callback=found.append)
    arrays = [array.raw() for array in found]
    parts: list[bytes | memoryview] = [*(SIZE.pack(len(array)) for array in arrays), body]
    at = HEAD.size + sum(map(len, parts))
    for array in arrays:
        parts += [bytes(padded(at) - at), array]
        at = padded(at) + len(array)
    content = HEAD.pack(0, len(arrays), len(body))[4:] + b"".join(parts)
    return zlib.crc32(content).to_bytes(4, "little") + content


def padded(at: int) -> int:
    """Return the next place where an array may begin."""
    return at + -at % ALIGNED


def _write_table(path: str, table: object) -> None:
    from pickle import PicklingError

    with contextlib.suppress(PicklingError, AttributeError, TypeError):
        write_table(path, packed(table))


def write_table(path: str, content: bytes | bytearray) -> None:
    """Write a file of the folder of tables, whole, if it can be written and is not too large."""
    import tempfile
    from pathlib import Path

    with contextlib.suppress(OSError):
        if len(content) > LARGEST:
            return
        # 0o700: pickles from here are loaded, so nobody else may write here.
        folder = Path(path).parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make_room(folder, len(content))
        handle, temporary = tempfile.mkstemp(prefix=f"{os.path.basename(path)}.", dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


def _make_room(folder: str | os.PathLike[str], size: int) -> None:
    """Delete the tables that were not used for the longest time, if another one would be too many.

    Other files are left alone: the folder may be one that was there before, or a link to one.
    """
    import re

    with os.scandir(folder) as entries:
        tables = [entry for entry in entries if re.fullmatch(r"[\w-]+-[0-9a-f]{32}(\.\w+)?", entry.name)]
        found = [(entry.path, entry.stat(follow_symlinks=False)) for entry in tables]
    files = [(state.st_mtime, state.st_size, name) for name, state in found]
    total = size + sum(length for _, length, _ in files)
    for _, length, name in sorted(files):
        if total <= LARGEST_FOLDER:
            return
        with contextlib.suppress(OSError):
            os.unlink(name)
            total -= length
