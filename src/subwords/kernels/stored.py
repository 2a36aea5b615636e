"""Tables on disk: what takes long to make from a file or a pattern, kept beside the machine code of kernels.

A file is named by a digest of what its table is made from: the content of a tokenizer file with the options of the
reader, or a pattern, and the sources of this package with the versions of Python and NumPy. So it is never stale. A
file has a checksum of its content, against damage, and is replaced whole. It is mapped, not read: arrays lie in it as
they are in memory, processes share them, and they are read-only. Cache errors are ignored: an unreadable table is
rebuilt, and one that cannot be written is made again next time. Its folder has a limited size: the tables that were not
used for the longest time are deleted.

Reading a table calls nothing that the file names. But tables are not validated again, and kernels index by them without
checks. So the cache is used only where nobody but this user and root can write: see `Folder`.

A wheel has a stamp, digests of its sources that were written when it was built. Files of a checkout may be edited at
any time: each is known by its size and its time, as Python knows it when it looks for its bytecode.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import struct
import sys
import time
import zlib
from _thread import RLock
from collections import deque
from functools import cache, cached_property, partial
from importlib import import_module
from importlib.machinery import PathFinder
from mmap import ACCESS_COPY, mmap
from stat import S_ISLNK, S_ISREG, S_ISVTX

from subwords.kernels.modes import MODE
from subwords.support.errors import in_main_interpreter

TYPE_CHECKING = False  # a process that finds a kept file imports this: `typing`, `pathlib` and `json` take longer
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from io import BufferedReader
    from threading import Thread
    from typing import Any, TypeVar

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


# ------------------------------------------------------------------ the folders of the cache

OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)
INTO = OPEN | getattr(os, "O_DIRECTORY", 0)
THROUGH = INTO | getattr(os, "O_PATH", 0)  # of folders that may be entered, but not listed
MOST_LINKS = 40  # on the way to a folder, as in Linux
LEFT_SECONDS = 24 * 3600  # seconds after which an unfinished file is one of a process that was killed


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


class Folder:
    """A folder of the cache, open. Raises OSError if it is missing, or if others may change what is in it.

    What is looked at is what is used: all calls are relative to the open folder, and follow no links. Windows has no
    such calls, and profiles there are private.
    """

    def __init__(self, root: str | None, name: str, *, make: bool = False) -> None:
        if root is None:
            raise FileNotFoundError(errno.ENOENT, "there is no home folder")
        self.path = os.path.join(root, name)
        self._fd = _entered(root, name, make=make) if os.name == "posix" else None
        if self._fd is None and make:
            os.makedirs(self.path, exist_ok=True)

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        if self._fd is not None:
            os.close(self._fd)

    def _at(self, name: str) -> str:
        return os.path.join(self.path, name) if self._fd is None else name

    def open(self, name: str) -> BufferedReader | None:
        """Return a file opened for reading; None if others may have written it. Raises OSError if it is missing."""
        # To open a pipe would wait for its writer; a link may lead to a file that others chose.
        flags = OPEN | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        found = os.open(self._at(name), flags, dir_fd=self._fd)
        state = os.fstat(found)
        others = self._fd is not None and (state.st_uid not in (os.geteuid(), 0) or state.st_mode & 0o022)
        if S_ISREG(state.st_mode) and not others:
            return open(found, "rb")
        os.close(found)
        return None

    def read(self, name: str) -> bytes:
        """Return the content of a file; b"" if there is none, or if others may have written it."""
        with contextlib.suppress(OSError):
            file = self.open(name)
            if file is not None:
                with file:
                    return file.read()
        return b""

    def used(self, name: str) -> None:
        """Note that a file is used now, which a file of root or on a read-only disk cannot show."""
        with contextlib.suppress(OSError):
            os.utime(self._at(name), dir_fd=self._fd, follow_symlinks=self._fd is None)

    def write(self, name: str, *parts: bytes | bytearray) -> None:
        """Write a file whole: as a temporary file first. Its content begins with `MAGIC`."""
        self._sweep()
        temporary = self._at(f"{name}.{os.urandom(8).hex()}.tmp")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        try:
            with open(os.open(temporary, flags, 0o600, dir_fd=self._fd), "wb") as file:
                file.writelines(parts)
            os.replace(temporary, self._at(name), src_dir_fd=self._fd, dst_dir_fd=self._fd)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=self._fd)
            raise

    def files(self, pattern: str) -> Iterator[tuple[float, int, str]]:
        """Yield when files were last used, how large they are, and their names, which match a pattern as a whole."""
        import re

        with os.scandir(self.path if self._fd is None else self._fd) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):  # another process has just moved or deleted it
                    if re.fullmatch(pattern, entry.name):
                        state = entry.stat(follow_symlinks=False)
                        yield state.st_mtime, state.st_size, entry.name

    def delete(self, name: str) -> bool:
        """Delete a file if this package wrote it as this user: its owner and its first bytes tell. Return whether."""
        with contextlib.suppress(OSError):
            file = self.open(name)
            if file is None:
                return False
            with file:
                mine = self._fd is None or os.fstat(file.fileno()).st_uid == os.geteuid()
                mine = mine and file.read(len(MAGIC)) in (MAGIC, b"")
            if mine:
                os.unlink(self._at(name), dir_fd=self._fd)
                return True
        return False

    def _sweep(self) -> None:
        """Delete what killed processes have left."""
        for used, _, name in self.files(r".+\.[0-9a-f]{16}\.tmp"):
            if used < time.time() - LEFT_SECONDS:
                self.delete(name)


def _entered(root: str, name: str, *, make: bool) -> int:
    """Return a descriptor of a folder of the cache, after a look at it and at every folder on the way from "/".

    As StrictModes of sshd does: who may rename a folder on the way decides what is found behind it. Links are followed
    above the root only, if this user or root made them.
    """
    todo, links = [name, *_backwards(os.path.join(os.getcwd(), root))], 0
    here, place = os.open("/", THROUGH), "/"
    # In a user namespace the files of root may seem to belong to another user: who owns "/" can do all that root can.
    trusted = {os.geteuid(), 0}
    above = trusted | {os.fstat(here).st_uid}
    try:
        _look(os.fstat(here), place, above, ours=False)
        while todo:
            part = todo.pop()
            ours, before, place = len(todo) < 2, place, os.path.join(place, part)
            state = _state(part, here, make=make)
            if S_ISLNK(state.st_mode):
                _look(state, place, above, ours=ours or links == MOST_LINKS)
                target, links = os.readlink(part, dir_fd=here), links + 1
                todo += _backwards(target)
                place = "/" if target.startswith("/") else before
                below = os.open(place if place == "/" else ".", THROUGH, dir_fd=here)
            else:
                below = os.open(part, INTO if ours else THROUGH, dir_fd=here)
            os.close(here)
            here = below
            _look(os.fstat(here), place, trusted if ours else above, ours=ours, strict=not todo)
    except BaseException:
        os.close(here)
        raise
    return here


def _backwards(path: str) -> list[str]:
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]


def _state(name: str, folder: int, *, make: bool) -> os.stat_result:
    """Return the state of a name in a folder, not followed; a folder for this user alone is made if it is missing."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        if not make:
            raise
    with contextlib.suppress(FileExistsError):  # another process makes it too
        os.mkdir(name, 0o700, dir_fd=folder)
    return os.stat(name, dir_fd=folder, follow_symlinks=False)


def _look(state: os.stat_result, place: str, owners: set[int], *, ours: bool, strict: bool = False) -> None:
    """Raise PermissionError if others may exchange what is in a folder, or where a link leads.

    ours: the root and what is in it; in others, the sticky bit keeps what belongs to somebody else. strict: even a
    group of one is too many.
    """
    if state.st_uid not in owners:
        raise _refused(place, f"belongs to another user (number {state.st_uid})")
    if S_ISLNK(state.st_mode):
        if ours:
            raise _refused(place, "is a link: name the folder that it leads to")
        return
    if state.st_mode & S_ISVTX and not ours:
        return
    if state.st_mode & 0o002 or (state.st_mode & 0o020 and (strict or not _is_private(state.st_gid))):
        raise _refused(place, "can be written by others (chmod go-w would end that)")


def _is_private(group: int) -> bool:
    """Whether a group is that of this user alone, as Debian and Fedora make one for each: their umask is 002."""
    try:
        import grp
        import pwd

        user, found = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
    except (ImportError, KeyError):
        return False
    return found.gr_name == user and not {*found.gr_mem} - {user}


def _refused(place: str, why: str) -> PermissionError:
    return PermissionError(errno.EPERM, f"{place} {why}", place)


# ------------------------------------------------------------------ tables

FOLDER = "tables"
SWITCH = "SUBWORDS_TABLES"  # an environment variable: "off" reads and writes no tables
MAGIC = b"\0subword"  # how every file of the cache begins
HEAD_SUM = len(MAGIC) + 8  # bytes: MAGIC, and the checksum of all that follows it
# MAGIC, the checksum, the number of arrays, the size of the tree.
HEAD = struct.Struct("<8sQQQ")
SIZE = struct.Struct("<Q")  # of each array; then come the tree and the arrays, each from a multiple of ALIGNED on
ALIGNED = 64
LARGEST_FOLDER = 1 << 30  # of all files: those of about 70 tokenizers; of one with 200,000 tokens they have 49 MB
LARGEST_TABLE = 1 << 26
KINDS = (
    "characters class kept kernels links machine merges plain route scanner spaces spec stages trie whole-words "
    "web wordpiece words"
)


def stored(kind: str, source: bytes, make: Callable[[], Table], *, whole: bool = False) -> Table:
    """Return make(), or an equal object from the store, which keeps it under its kind and the bytes it is made from.

    kind: one of KINDS. Hazard: the object must be a function of `kind` and `source` alone, and data (see `packed`);
    other objects are made each time. What `make` raises is not stored. whole: whether no other source of this package
    is needed to make it.
    """
    if os.environ.get(SWITCH) == "off":
        return make()
    name = table_name(kind, source)
    if whole and name is not None:
        name = _file_name(kind, source)
    found = UNWRITTEN.get(name)  # in one call: a thread may write the table, and forget it, meanwhile
    if found is None and name is not None:
        found = _read_table(name)
    if found is None:
        found = _shipped_table(_file_name(kind, source))
    if found is not None:
        return found[0]  # type: ignore[return-value]
    made = make()
    if name is not None:
        UNWRITTEN[name] = (made,)
        later(partial(_write, name))
    return made


UNWRITTEN: dict[str | None, tuple[object]] = {}  # tables that are not written yet, by name


def _write(name: str, root: str | None) -> None:
    try:
        write_table(name, summed(packed(UNWRITTEN[name][0])), root)
    finally:
        UNWRITTEN.pop(name, None)


# The file of a wheel: one line of JSON says where each table is; then come the tables, packed by zlib.
SHIPPED = os.path.join(KERNELS, "machine", "tables")


def _shipped_table(name: str) -> tuple[object] | None:
    places, content = _shipped()
    if name not in places:
        return None
    start, stop = places[name]
    return (unpacked(memoryview(zlib.decompress(content[start:stop]))),)


@cache
def _shipped() -> tuple[dict[str, list[int]], bytes]:
    """Return where each table is in the content of the file; nothing if it was made from other sources."""
    import json

    found = stamp()
    with contextlib.suppress(OSError), open(SHIPPED, "rb") as file:
        head = json.loads(file.readline())
        if found and head["sources"] == found[0]:
            return head["tables"], file.read()
    return {}, b""


def _file_name(kind: str, content: bytes) -> str:
    return f"{kind}-{hashlib.sha256(content).hexdigest()[:32]}"


def table_name(kind: str, source: bytes) -> str | None:
    """Return the name of a table; None if nothing is stored."""
    signature = _signature()
    if cache_root() is None or signature is None or os.environ.get(SWITCH) == "off":
        return None
    return _file_name(kind, signature + kind.encode() + bytes(1) + source)


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


def tables() -> Folder:
    """Return the folder of tables. Raises OSError as `Folder` does."""
    return Folder(cache_root(), FOLDER)


def _read_table(name: str) -> tuple[object] | None:
    with contextlib.suppress(Exception):  # whatever damage raises
        data = mapped_table(name)
        return None if data is None else (unpacked(memoryview(data).toreadonly()),)
    return None


def mapped_table(name: str) -> mmap | None:
    """Return a table, mapped and copied on write; None if it is damaged, or if others may have written it.

    Raises OSError or ValueError if it is missing.
    """
    with tables() as folder:
        opened = folder.open(name)
        if opened is None:
            return None
        with opened as file:
            data = mmap(file.fileno(), 0, access=ACCESS_COPY)
        if data[:HEAD_SUM] != MAGIC + checksum(data, HEAD_SUM).to_bytes(8, "little"):
            return None
        folder.used(name)
    return data


def checksum(content: bytearray | mmap, start: int) -> int:
    """Return the sum of the size and of the whole words after `start`; of little content, which kernels need, CRC-32.

    See `sum_words`, which reads 23 MB in 0.5 ms (CRC-32: 6 ms). The size: zeros at the end may be cut off.
    """
    if len(content) < LITTLE_TABLE:
        return zlib.crc32(memoryview(content)[start:])
    from subwords.kernels.entry import address_of, entry_kernel

    kernel, words = entry_kernel("sum_words"), (len(content) - start) // 4
    # Not what would have to be compiled, if NumPy is there: a process that ends can compile nothing.
    if MODE == "compiled" and ("numpy" not in sys.modules or kernel.is_at_hand):
        import ctypes

        # By its address: what binds a kernel for arrays imports NumPy.
        call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.py_object, ctypes.c_int64)(address_of(kernel))
        total: int = call((ctypes.c_uint32 * 0).from_buffer(content, start), words)
    else:
        import numpy as np

        weights = np.arange(1, 2 * words, 2, dtype=np.uint64)
        total = int((np.frombuffer(content, np.uint32, words, start) * weights).sum(dtype=np.uint64))
    return (total + len(content)) % (1 << 64)


def summed(content: bytearray) -> bytearray:
    """Return the content of a table: MAGIC and a checksum replace the first HEAD_SUM bytes."""
    content += bytes(-len(content) % 4)
    content[:HEAD_SUM] = MAGIC + checksum(content, HEAD_SUM).to_bytes(8, "little")
    return content


def write_table(name: str, content: bytes | bytearray, root: str | None) -> None:
    """Write a file of the folder of tables, whole, if it can be written and is not too large."""
    with contextlib.suppress(OSError):
        if len(content) <= LARGEST_TABLE:
            with Folder(root, FOLDER, make=True) as folder:
                _make_room(folder, len(content))
                folder.write(name, content)


def _make_room(folder: Folder, size: int) -> None:
    """Delete the tables that were not used for the longest time, if another one would be too many."""
    found = sorted(folder.files(rf"({KINDS.replace(' ', '|')})-[0-9a-f]{{32}}"))
    total = size + sum(length for _, length, _ in found)
    for _, length, name in found:
        if total <= LARGEST_FOLDER:
            return
        if folder.delete(name):
            total -= length


# ------------------------------------------------------------------ what nobody waits for

PAUSE = 0.5  # seconds without a new table: a process that has just started gives its first answers
PATIENCE = 5.0  # seconds that a fork waits for: the thread may need a module that the forking thread imports


class _Later:
    """Writes that nobody waits for: a thread does them after a pause, or they are done before a fork, or at the end."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._busy, self._starting = RLock(), RLock()
        self._thread: Thread | None = None

    def __call__(self, write: Callable[[str | None], None]) -> None:
        """Write into the root of the cache, as it is now; at once where no thread can be started.

        Errors are ignored.
        """
        from threading import Event, Thread

        _at_the_end()
        self._waiting.append(partial(write, cache_root()))
        if not in_main_interpreter():  # the end of another one is fatal while it has a thread
            self.finish()
            return
        with self._starting:
            if self._thread is not None and self._thread.is_alive():
                return
            self._woken = Event()
            self._thread = Thread(target=self._after_a_pause, name="subwords tables", daemon=True)
            try:
                self._thread.start()
            except RuntimeError:  # no threads in this interpreter, or it ends
                self.finish()

    def _after_a_pause(self) -> None:
        count = 0
        while count < len(self._waiting) and not self._woken.is_set():  # as long as something is still being loaded
            count = len(self._waiting)
            self._woken.wait(PAUSE)
        self.finish()

    def finish(self) -> None:
        """Do all that waits, now."""
        if not self._busy.acquire(timeout=PATIENCE):
            return
        try:
            while self._waiting:
                with contextlib.suppress(Exception):
                    self._waiting.popleft()()
        finally:
            self._busy.release()

    def before_fork(self) -> None:
        """Finish, and end the thread: Python warns of a fork while there is one."""
        from threading import current_thread

        self.finish()
        if self._thread is not None and self._thread is not current_thread():
            self._woken.set()
            self._thread.join(PATIENCE)

    def in_child(self) -> None:
        """Forget all: the parent does it, and a thread that the child does not have may hold a lock."""
        _Later.__init__(self)
        UNWRITTEN.clear()


later = _Later()


@cache
def _at_the_end() -> None:
    import atexit

    atexit.register(later.finish)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=later.before_fork, after_in_child=later.in_child)


# ------------------------------------------------------------------ data as bytes

# All classes whose objects a table may hold. Reading one calls none of their methods, so it runs no code but this.
CLASSES = {
    "kernels.layout": (
        "CharacterRuns Kinds Literal Literals NormalForm Replacements Rules TextEnds WordChanges WordPieceModel"
    ),
    "models.bpe.merges": "MergeTables",
    "models.bpe.model": "BPE",
    "models.unigram.model": "Unigram",
    "models.wordlevel.model": "WordLevel",
    "models.wordpiece.model": "WordPiece",
    "normalize.sentencepiece": "GraphemeStage RulesStage SpacedStage",
    "normalize.stages": "ByteStage CharStage EndStage FormStage LiteralStage PatternStage Position RunStage",
    "spec.added_token": "AddedToken",
    "spec.decoder": (
        "BPEDecoder ByteDecoder ByteFallback CTC DecoderSequence Fuse Metaspace Replace ReplaceTokens "
        "SentencePieceDecoder SpaceDecoder Strip WordPieceDecoder"
    ),
    "spec.normalizer": (
        "Bert ByteLevel Charsmap Form Lowercase Nmt Precompiled Prepend Replace SentencePiece Strip StripAccents"
    ),
    "spec.padding": "ModelInputs Padding Truncation",
    "spec.splitter": "ByteChars Prefix Replace SpelledBytes Split",
    "spec.template": "Inserted Slot Template",
    "spec.tokenizer": "Foreign TokenizerSpec",
    "spec.vocab": "Vocab",
    "split.finders": "ChangingRoute KindsRoute SymbolsRoute",
    "split.routes": "MachineRoute MaskRoute",
    "split.transducer": "Cutter Machine Tables",
}
SCALARS = (type(None), bool, int, float, str)
FROM_ITEMS: Mapping[str, Callable[[list[Any]], object]] = {
    "tuple": tuple,
    "list": list,
    "set": set,
    "frozenset": frozenset,
    "dict": lambda items: dict(zip(items[::2], items[1::2], strict=True)),
    "range": lambda items: range(*items),
}
SHORT_ENTRY = 1 << 10  # bytes that stay in the tree
LITTLE_TABLE = 1 << 14  # bytes of a table


def packed(table: object) -> bytearray:
    """Return plain values, arrays, and objects of CLASSES as bytes, with room for a checksum; TypeError for others.

    A tree in JSON has scalars as they are, and of everything else a pair of its type and its content. Arrays follow it.
    """
    import json

    arrays: dict[int, tuple[int, Any]] = {}
    tree = _described(table, arrays)
    found = [value for _, value in arrays.values()]
    kinds = [None if type(value) is bytes else (value.dtype.str, value.shape) for value in found]
    body = json.dumps((tree, kinds), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    buffers = [value if type(value) is bytes else value.tobytes() for value in found]
    parts = [*(SIZE.pack(len(buffer)) for buffer in buffers), body]
    at = HEAD.size + sum(map(len, parts))
    for buffer in buffers:
        parts += [bytes(padded(at) - at), buffer]
        at = padded(at) + len(buffer)
    return bytearray(b"".join((HEAD.pack(MAGIC, 0, len(buffers), len(body)), *parts)))


def _described(value: Any, arrays: dict[int, tuple[int, Any]]) -> Any:
    kind = type(value)
    if kind in SCALARS:
        return value
    if kind is bytes and len(value) < SHORT_ENTRY:
        return ["bytes", value.decode("latin-1")]
    if kind is bytes or (kind.__name__ == "ndarray" and value.dtype.kind in "biuf"):
        return ["array", arrays.setdefault(id(value), (len(arrays), value))[0]]
    if kind is range:
        items: list[Any] = [value.start, value.stop, value.step]
    elif kind in (set, frozenset):  # sorted: the order of strings in a set differs between processes
        items = sorted(value)
    elif kind is dict:
        items = [part for pair in value.items() for part in pair]
    elif isinstance(value, tuple | list):
        items = [*value]
    else:
        items = [getattr(value, name) for name in _slots(kind)]
        state = getattr(value, "__dict__", {}).items()
        if own := {key: each for key, each in state if not isinstance(getattr(kind, key, None), cached_property)}:
            items.append(own)
    name = kind.__name__ if kind.__name__ in FROM_ITEMS else _name_of(kind)
    return [name, [_described(item, arrays) for item in items]]


def _name_of(kind: type) -> str:
    name = f"{kind.__module__.removeprefix('subwords.')}.{kind.__qualname__}"
    if _class_of(name)[0] is not kind:
        raise TypeError(f"expected data, not a {kind.__name__}")
    return name


@cache
def _class_of(name: str) -> tuple[type, tuple[str, ...]]:
    """Return the class of CLASSES that has this name, and its slots."""
    module, _, own = name.rpartition(".")
    if own not in CLASSES.get(module, "").split():
        raise TypeError(f"expected the name of a class of data, not {name:.80}")
    found: type = getattr(import_module(f"subwords.{module}"), own)
    return found, _slots(found)


def _slots(kind: type) -> tuple[str, ...]:
    return tuple(name for each in kind.__mro__ for name in vars(each).get("__slots__", ()))


def unpacked(raw: memoryview) -> object:
    """Return what `packed` made bytes of; its arrays are views of these, read-only if they are."""
    import json

    _, _, count, size = HEAD.unpack_from(raw)
    at = HEAD.size + count * SIZE.size
    tree, kinds = json.loads(str(raw[at : at + size], "utf-8", "surrogatepass"))
    at, arrays = padded(at + size), []
    for (length,), kind in zip(SIZE.iter_unpack(raw[HEAD.size : HEAD.size + count * SIZE.size]), kinds, strict=True):
        arrays.append(_array(raw[at : at + length], kind))
        at = padded(at + length)
    return _made(tree, arrays) if type(tree) is list else tree


def _array(data: memoryview, kind: tuple[str, list[int]] | None) -> object:
    if kind is None:
        return bytes(data)
    import numpy as np

    dtype = np.dtype(kind[0])
    if dtype.kind not in "biuf":
        raise TypeError(f"expected numbers, not {dtype}")
    return np.frombuffer(data, dtype).reshape(kind[1])


def _made(node: list[Any], arrays: list[object]) -> Any:
    name, content = node
    if name == "array":
        return arrays[content]
    if name == "bytes":
        return content.encode("latin-1")
    items = [_made(item, arrays) if type(item) is list else item for item in content]
    if make := FROM_ITEMS.get(name):
        return make(items)
    kind, slots = _class_of(name)
    if issubclass(kind, tuple):
        return tuple.__new__(kind, items)
    made = object.__new__(kind)
    for slot, item in zip(slots, items, strict=False):
        object.__setattr__(made, slot, item)
    if len(items) > len(slots):
        vars(made).update(items[-1])
    return made


def padded(at: int) -> int:
    """Return the next place where an array may begin."""
    return at + -at % ALIGNED
