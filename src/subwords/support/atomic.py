"""Atomic writes: a file, or an object of a store, is written completely or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import IO, Any, Literal, overload

from subwords.errors import InputError
from subwords.support.remote import is_remote, remote_of

if sys.platform != "win32":
    import fcntl

__all__ = ["atomic_write", "place_of"]

_BEGIN, _END = ".subwords-", ".tmp"


def place_of(path: str | PathLike[str], name: str = "", *, local: bool = False) -> Path:
    """Return a path, or for a URL an object of a store that is used like one.

    InputError for another type and an invalid path, and with `local` for a URL. name: of the argument, for messages.

    >>> from subwords.support.atomic import place_of
    >>> place_of("file:///corpus/a.txt").as_posix()
    '/corpus/a.txt'
    """
    what = f"{name} to be a path" if name else "a path"
    if isinstance(path, str) and not path:
        raise InputError(f"expected {what}, not an empty str")
    if is_remote(path):
        if not local:
            return remote_of(path)
        raise InputError(f"expected a file or folder of this machine, not {path!s:.200}: use a local file, and copy it")
    if isinstance(path, str) and path.startswith("file://"):
        path = path.removeprefix("file://")
    try:
        found = Path(path)
    except TypeError:
        raise InputError(f"expected {what} (str or os.PathLike), not {path!r:.80} ({type(path).__name__})") from None
    try:
        encoded = os.fsencode(found)
    except UnicodeEncodeError:
        raise InputError(f"expected {what} without lone surrogates, not {str(found)!a:.200}") from None
    if b"\0" in encoded:
        raise InputError(f"expected {what} without NUL, not {str(found)!r:.200}")
    return found


@overload
def atomic_write(path: str | PathLike[str], mode: Literal["wb"] = "wb") -> AbstractContextManager[IO[bytes]]: ...
@overload
def atomic_write(path: str | PathLike[str], mode: Literal["w"]) -> AbstractContextManager[IO[str]]: ...
def atomic_write(path: str | PathLike[str], mode: Literal["wb", "w"] = "wb") -> AbstractContextManager[IO[Any]]:
    r"""Open a temporary file for writing that replaces `path` when the block ends without an exception.

    For a URL, the file is in the usual folder for temporary files (TMPDIR), and it is uploaded then.

    Text is UTF-8, with "\n" unchanged. An existing file stays unchanged until then, and its permissions are kept; a new
    file gets those of `open`. A pipe or a device is written directly. A missing folder, or a file that cannot be
    written, is an InputError. A killed process leaves a `.subwords-*.tmp` file; the next write to that folder deletes
    it (not on Windows).

    >>> import tempfile
    >>> from subwords.support.atomic import atomic_write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(f"{folder}/ids.txt", "w") as file:
    ...         print(1, 2, file=file)
    """
    place = place_of(path)
    options: dict[str, Any] = {"encoding": "utf-8", "newline": ""} if mode == "w" else {}
    return _upload(place, mode, options) if is_remote(place) else _write(place, mode, options)


@contextmanager
def _upload(place: Any, mode: str, options: dict[str, Any]) -> Iterator[IO[Any]]:
    import tempfile  # slow to import, and no local file needs it

    try:
        place.check_bucket()
        handle, name = tempfile.mkstemp(prefix="subwords-")
        try:
            with open(handle, mode, **options) as file:
                yield file
            place.put(name)
        finally:
            with suppress(OSError):
                Path(name).unlink()
    except OSError as error:
        if str(error.filename) == str(place):
            raise InputError(f"cannot write {place}: {error.strerror}") from error
        if error.filename is not None:  # an error of the caller's block
            raise
        folder = tempfile.gettempdir()
        raise InputError(f"cannot write a temporary file for {place} to {folder}: {error.strerror}") from None


@contextmanager
def _write(path: Path, mode: str, options: dict[str, Any]) -> Iterator[IO[Any]]:
    temporary, lock = None, -1
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            with path.open(mode, **options) as file:
                yield file
            return
        target = _target(path)
        _sweep(target.parent)
        # A short name, independent of the target's: names are limited to 255 bytes.
        while lock < 0:
            temporary = target.with_name(f"{_BEGIN}{os.urandom(8).hex()}{_END}")
            temporary.open("xb").close()
            lock = _locked(temporary)
        assert temporary is not None
        with temporary.open(mode, **options) as file:
            if target.exists():
                temporary.chmod(target.stat().st_mode & 0o7777)
            yield file
        temporary.replace(target)
    except BaseException as error:
        if temporary is not None:
            with suppress(OSError):  # a file system that is read-only, or gone
                temporary.unlink(missing_ok=True)
        # An error of this write names no file or one of these; any other error comes from the caller's block.
        if isinstance(error, OSError) and str(error.filename) in ("None", str(path), str(temporary)):
            raise InputError(f"cannot write file {path}: {error.strerror}") from None
        raise
    finally:
        if lock > 0:
            os.close(lock)


def _target(path: Path) -> Path:
    # A symbolic link stays: its target is replaced.
    target = path.resolve()
    if not target.parent.is_dir():
        raise InputError(f"missing folder {target.parent}: expected a folder for {path.name}")
    if target.is_dir():
        raise InputError(f"expected a file to write, but {path} is a folder")
    return target


# ------------------------------------------------------------------ files of killed processes

# The writer of a temporary file holds a lock on it, which the system releases when the process is killed. So a file
# without a lock is abandoned. A new file has no lock for a moment: if it is deleted then, it is created again.


def _locked(temporary: Path) -> int:
    """Lock a new file; return the descriptor that holds the lock, 0 without locks (Windows), -1 if it was deleted."""
    if sys.platform == "win32":
        return 0
    try:
        lock = os.open(temporary, os.O_RDONLY)
    except FileNotFoundError:
        return -1
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
    except OSError:  # a file system without locks, where no file is deleted either
        return lock
    if os.fstat(lock).st_nlink:
        return lock
    os.close(lock)
    return -1


def _sweep(folder: Path) -> None:
    """Delete the temporary files of killed processes in a folder; files that cannot be deleted stay."""
    if sys.platform == "win32":
        return
    with suppress(OSError):
        for file in folder.iterdir():
            if file.name.startswith(_BEGIN) and file.name.endswith(_END):
                with suppress(OSError):
                    _delete_unlocked(file)


def _delete_unlocked(file: Path) -> None:
    if sys.platform == "win32":
        return
    lock = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        file.unlink()
    finally:
        os.close(lock)
