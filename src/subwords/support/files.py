"""Files: of this machine or of an object store, written completely or not at all; locks on folders."""

from __future__ import annotations

import io
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from errno import EACCES, EINVAL, EIO, ENOENT
from glob import has_magic
from os import PathLike
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, cast, overload

from subwords.support.errors import FormatError, InputError, SubwordsError

# ---------------------------------------------------------------------------------------------------------------------
# Remote: a file or folder of an object store (s3://, gs://, ..., by universal-pathlib and fsspec), used like a path.
#
# A `Remote` has the methods of pathlib.Path that this package uses, so other code takes both. Every failure is an
# OSError whose `strerror` says what to do and whose `filename` is the URL, whatever the library of the store raises.

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+(::[A-Za-z][A-Za-z0-9+.\-]*)*://")  # one letter is a drive of Windows
_OURS = re.compile(r"(file|local)://")  # files of this machine
_STORES = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oss")  # the first part of a path is a bucket
_VERSIONS = ("ETag", "etag", "md5Hash", "content_md5", "crc32c", "LastModified", "last_modified", "mtime", "created")
_NETWORK = re.compile(r"connect|timeout|dns|network|gaierror", re.IGNORECASE)
BLOCK = 8 << 20  # bytes read ahead: a request to a store takes some 20 ms


def is_remote(value: object) -> bool:
    """Whether a value names something outside the files of this machine: a URL, or a path of universal-pathlib.

    >>> is_remote("s3://bucket/a.txt"), is_remote("a.txt"), is_remote("file:///a.txt")
    (True, False, False)
    """
    if isinstance(value, str):
        return _URL.match(value) is not None and not _OURS.match(value)
    if isinstance(value, Path) and type(value).__module__.partition(".")[0] != "upath":
        return False  # without upath no other path is remote
    return isinstance(value, Remote) or (_is_upath(value) and is_remote(str(value)))


def _is_upath(value: object) -> bool:
    upath = sys.modules.get("upath")
    return upath is not None and isinstance(value, upath.UPath)


def names_place(value: object) -> bool:
    """Whether a value is a path, not a text: a pathlib.Path, another os.PathLike, or a path of universal-pathlib."""
    return hasattr(value, "__fspath__") or is_path(value) or _is_upath(value)


def is_path(value: object) -> bool:
    """Whether a value is a pathlib.Path or a `Remote`."""
    return isinstance(value, Path | Remote)


def remote_of(value: object) -> Path:
    """Return what a URL or a path of universal-pathlib names; InputError if it, or what it needs, is unknown here."""
    if isinstance(value, Remote):
        return _as_path(value)
    try:
        from upath import UPath
    except ImportError:
        from subwords.support.names import install_hint

        raise InputError(
            f"{value!s:.200} is a URL, which needs universal-pathlib: {install_hint('files')}, and the library "
            "of the store, such as s3fs or gcsfs"
        ) from None
    try:
        return _as_path(Remote(UPath(value)))
    except ImportError as error:
        raise InputError(f"{value!s:.200}: the library of this store is not installed: {error!s:.200}") from None
    except Exception as error:  # of any library: a protocol or a name that it does not know
        raise InputError(f"{value!s:.200}: expected the URL of an object store: {error!s:.200}") from None


def _as_path(place: Remote) -> Path:
    return cast(Path, place)  # for type checkers


class Stat(NamedTuple):
    """What a store says of an object, by the names of os.stat."""

    st_size: int
    st_mode: int


class Remote:
    """A file or folder of an object store.

    info: what a listing said of it, which saves a request. protocol: the name of the store, such as s3. name, stem,
    suffix: as of a pathlib.Path.
    """

    def __init__(self, path: Any, info: dict[str, Any] | None = None) -> None:
        self._path, self._info = path, info
        self.fs = path.fs
        self.key, self.protocol = str(path.path), str(path.protocol)
        self.name, self.stem, self.suffix = str(path.name), str(path.stem), str(path.suffix)

    def __reduce__(self) -> tuple[Any, ...]:
        return Remote, (self._path,)  # what a listing said may be old when it is unpickled

    def __str__(self) -> str:
        return str(self._path)

    def __repr__(self) -> str:
        return f"Remote({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Remote) and self.key == other.key and bool(self.fs == other.fs)

    def __hash__(self) -> int:
        return hash(self.key)

    def __lt__(self, other: Remote) -> bool:
        return self.key.split("/") < other.key.split("/")  # as pathlib orders paths

    def __truediv__(self, name: str) -> Remote:
        return Remote(self._path / name)

    @property
    def parent(self) -> Remote:
        """The folder."""
        return Remote(self._path.parent)

    def with_name(self, name: str) -> Remote:
        """Return a path in the same folder."""
        return Remote(self._path.with_name(name))

    def with_suffix(self, suffix: str) -> Remote:
        """Return the path with another suffix."""
        return Remote(self._path.with_suffix(suffix))

    def info(self) -> dict[str, Any]:
        """Return what the store reports about an object or folder; FileNotFoundError if there is none."""
        if self._info is not None:
            return self._info
        with _as_os_error(self):
            self.fs.invalidate_cache(self.key)  # workers write there too
            found: dict[str, Any] = self.fs.info(self.key)
        return found

    def seen(self) -> Remote:
        """Return the path with what the store says of it now: it is not asked again."""
        return Remote(self._path, self.info())

    def resolve(self) -> Remote:
        """Return the path: URLs are absolute."""
        return self

    def stat(self) -> Stat:
        """Return size and kind."""
        found = self.info()
        return Stat(int(found.get("size") or 0), stat.S_IFDIR if found["type"] == "directory" else stat.S_IFREG)

    def _kind(self) -> str | None:
        try:
            return str(self.info()["type"])
        except FileNotFoundError:
            return None

    def exists(self) -> bool:
        """Whether there is such an object or folder."""
        return self._kind() is not None

    def is_file(self) -> bool:
        """Whether it is an object."""
        return self._kind() == "file"

    def is_dir(self) -> bool:
        """Whether objects are below it."""
        return self._kind() == "directory"

    def open(self, mode: str = "rb", *, ahead: int = BLOCK) -> _File:
        """Open an object for reading. ahead: bytes to read ahead."""
        assert mode == "rb", "objects are written by `put`"
        with _as_os_error(self):
            self.fs.invalidate_cache(self.key)
            return _File(self, self.fs.open(self.key, "rb", block_size=ahead))

    def read_bytes(self) -> bytes:
        """Return a whole object."""
        with _as_os_error(self):
            self.fs.invalidate_cache(self.key)
            return bytes(self.fs.cat_file(self.key))

    def put(self, file: str) -> None:
        """Make a local file this object, in place of any other."""
        with _as_os_error(self):
            self.fs.put_file(file, self.key)
            self.fs.invalidate_cache(self.key)

    def get(self, file: str) -> None:
        """Copy the object to a local file."""
        size = self.info().get("size")
        with _as_os_error(self):
            self.fs.get_file(self.key, file)
        _check_whole(self, Path(file).stat().st_size, size)

    def check_bucket(self) -> None:
        """Raise OSError if the name has no last part, or if it is known that its bucket does not exist."""
        if not self.name:
            raise OSError(EINVAL, "expected the name of an object after the bucket", str(self))
        bucket = self.key.lstrip("/").partition("/")[0]
        if self.protocol in _STORES:
            with _as_os_error(self):
                try:
                    self.fs.info(bucket)
                except PermissionError:  # one may write to a bucket that one cannot look at
                    return

    def mkdir(self, parents: bool = False, exist_ok: bool = False) -> None:
        """Make a folder where a store has folders. No bucket is made: without it this is an OSError."""
        self.check_bucket()
        with _as_os_error(self), suppress(FileExistsError):
            if self.protocol not in _STORES:
                self.fs.makedirs(self.key, exist_ok=True)

    def unlink(self, missing_ok: bool = False) -> None:
        """Delete the object; OSError if it does not answer."""
        with suppress(FileNotFoundError) if missing_ok else nullcontext(), _as_os_error(self):
            self.fs.rm_file(self.key)

    def remove_folder(self) -> None:
        """Delete all objects below; those that cannot be deleted stay."""
        with suppress(OSError), _as_os_error(self):
            self.fs.rm(self.key, recursive=True)

    def files_below(self) -> list[Remote]:
        """Return the objects at any depth without those of hidden names, which begin with a dot."""
        with _as_os_error(self):
            self.fs.invalidate_cache()
            return self._visible(self, self.fs.find(self.key, detail=True))

    def matches(self) -> list[Remote]:
        """Return the objects that match this path as a pattern; `*` matches no hidden names, as on this machine."""
        above = self._path
        while has_magic(str(above.path)) and above.parent != above:
            above = above.parent
        with _as_os_error(self):
            self.fs.invalidate_cache()
            return self._visible(Remote(above), self.fs.glob(self.key, detail=True), self.key)

    @staticmethod
    def _visible(folder: Remote, infos: dict[str, dict[str, Any]], pattern: str = "") -> list[Remote]:
        """Return the objects of a listing, in order. Hidden names are left out unless the pattern has one."""
        below, found = folder.key.rstrip("/") + "/", list[Remote]()
        shows = "/." in pattern.removeprefix(below.rstrip("/"))
        for key, info in infos.items():
            name = key.removeprefix(below)
            if info["type"] == "file" and name and not name.endswith("/") and (shows or "/." not in f"/{name}"):
                found.append(Remote(folder._path / name, info))
        return sorted(found)


class _File(io.RawIOBase):
    """An open object: a failure to read it is an OSError."""

    def __init__(self, place: Remote, file: Any) -> None:
        self._place, self._file = place, file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._file.seekable())

    def readinto(self, buffer: Any, /) -> int:
        with _as_os_error(self._place):
            found = int(self._file.readinto(buffer))
        if not found and len(buffer):
            self._check_end()
        return found

    def read(self, size: int = -1, /) -> bytes:
        with _as_os_error(self._place):
            found = bytes(self._file.read(size))
        if size < 0 or (size and not found):
            self._check_end()
        return found

    def _check_end(self) -> None:
        """Raise OSError unless as many bytes came as the store announced: its answers may be short."""
        announced = getattr(self._file, "size", None)
        if announced is not None and self.tell() < announced:  # to seek beyond the end is no error
            _check_whole(self._place, self.tell(), announced)

    def seek(self, offset: int, whence: int = 0, /) -> int:
        with _as_os_error(self._place):
            return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def _check_whole(place: Remote, came: int, announced: int | None) -> None:
    if announced is not None and came != announced:
        raise OSError(EIO, f"expected {announced} bytes, as the store announced, got {came}: read it again", str(place))


def version_of(path: Any) -> int | str:
    """Return what differs between versions of a file: its time in ns, or what the store says, "" if nothing."""
    if not isinstance(path, Remote):
        return int(path.stat().st_mtime_ns)
    info = path.info()
    # A listing may put an ETag in quotes, and the object not.
    return next((f"{name} {info[name]}".replace('"', "") for name in _VERSIONS if info.get(name)), "")


@contextmanager
def local_copy(path: Path) -> Iterator[Path]:
    """Yield the path itself, or of an object a temporary copy, which is deleted at the end."""
    if not is_remote(path):
        yield path
        return
    with scratch_folder() as folder:
        copy = folder / re.sub(r"[^\w.-]", "_", path.name)  # a store chooses names, with parts of paths in them
        cast(Any, path).get(str(copy))
        yield copy


@contextmanager
def _as_os_error(place: Remote) -> Iterator[None]:
    """Raise what the library of a store raises as an OSError that says what to do."""
    try:
        yield
    except Exception as error:
        number, what = _explained(error)
        raise OSError(number, what, str(place)) from error


def _explained(error: Exception) -> tuple[int, str]:
    kinds = " ".join(kind.__name__ for kind in type(error).__mro__)
    said = f"{getattr(error, 'strerror', None) or error!s:.200}"
    if isinstance(error, FileNotFoundError):
        return ENOENT, "there is no such object, folder or bucket: check the name and the endpoint"
    if isinstance(error, PermissionError) or "Credential" in kinds:
        return EACCES, f"no permission ({said}): check the credentials, and what they allow"
    if _NETWORK.search(kinds):
        return EIO, f"no connection ({said}): check the network and the endpoint"
    return getattr(error, "errno", None) or EIO, f"{type(error).__name__}: {said}"


if sys.platform != "win32":
    import fcntl

_NAME = ".subwords-{}.tmp"  # of what is temporary, with 16 hexadecimal digits
_OUR_NAME = re.compile(_NAME.replace(".", r"\.").format("[0-9a-f]{16}"))


def place_of(path: str | PathLike[str], name: str = "", *, local: bool = False) -> Path:
    """Return a path, or for a URL an object of a store that is used like one.

    InputError for another type and an invalid path, and with `local` for a URL. name: of the argument, for messages.

    >>> from subwords.support.files import place_of
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


_POINTER = b"version https://git-lfs"


def check_pointer(head: bytes, name: object) -> None:
    """Raise FormatError for a file that begins like a pointer of Git LFS, which stands for the file."""
    if head.startswith(_POINTER):
        raise FormatError(f"{name}: found a Git LFS pointer instead of the file; fetch the file itself: git lfs pull")


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
    >>> from subwords.support.files import atomic_write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(f"{folder}/ids.txt", "w") as file:
    ...         print(1, 2, file=file)
    """
    place = place_of(path)
    options: dict[str, Any] = {"encoding": "utf-8", "newline": ""} if mode == "w" else {}
    return _upload(place, mode, options) if is_remote(place) else _write_stream(place, mode, options)


@contextmanager
def _upload(place: Any, mode: str, options: dict[str, Any]) -> Iterator[IO[Any]]:
    try:
        place.check_bucket()
        with scratch_folder() as folder:
            with (folder / "object").open(mode, **options) as file:
                yield file
            place.put(str(folder / "object"))
    except OSError as error:
        if str(error.filename) == str(place):
            raise InputError(f"cannot write {place}: {error.strerror}") from error
        if error.filename is not None:  # an error of the caller's block
            raise
        raise InputError(f"cannot write a temporary file for {place} to {_temporary()}: {error.strerror}") from None


@contextmanager
def _write_stream(path: Path, mode: str, options: dict[str, Any]) -> Iterator[IO[Any]]:
    temporary, lock = None, -1
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            with path.open(mode, **options) as file:
                yield file
            return
        target = _target(path)
        _sweep(target.parent)
        # A short name, independent of the target's: names are limited to 255 bytes.
        while True:
            temporary = target.with_name(_NAME.format(os.urandom(8).hex()))
            temporary.open("xb").close()
            lock = _locked(temporary)
            if lock >= 0:
                break
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
        ours = isinstance(error, OSError) and not isinstance(error, SubwordsError)
        if ours and str(getattr(error, "filename", None)) in ("None", str(path), str(temporary)):
            opened = os.name == "nt" and isinstance(error, PermissionError)
            held = ". Windows replaces no file that is open: delete what opened it, or write another" if opened else ""
            raise InputError(f"cannot write file {path}: {getattr(error, 'strerror', error)}{held}") from None
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

# The writer of a temporary file or folder holds a lock on it, which the system releases when the process is killed. So
# one without a lock is abandoned. A new one has no lock for a moment: if it is deleted then, it is created again.


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a folder among the temporary files (TMPDIR) and delete it at the end.

    A killed process leaves it; the next call deletes it (not on Windows).
    """
    place, folder, lock = _temporary(), None, -1
    _sweep(place)
    while lock < 0:
        folder = place / _NAME.format(os.urandom(8).hex())
        folder.mkdir(0o700)
        lock = _locked(folder)
    assert folder is not None
    try:
        yield folder
    finally:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)  # Windows keeps a file that is mapped
        if lock > 0:
            os.close(lock)


def _temporary() -> Path:
    import tempfile  # slow to import, and no local file needs it

    return Path(tempfile.gettempdir())


def _locked(temporary: Path) -> int:
    """Lock a new file or folder; return the descriptor of the lock, 0 without locks (Windows), -1 if it was deleted."""
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
    if temporary.exists():
        return lock
    os.close(lock)
    return -1


def _sweep(folder: Path) -> None:
    """Delete what killed processes left in a folder; what cannot be deleted stays."""
    if sys.platform == "win32":
        return
    with suppress(OSError):
        for file in folder.iterdir():
            if _OUR_NAME.fullmatch(file.name):
                with suppress(OSError):
                    _delete_unlocked(file)


def _delete_unlocked(file: Path) -> None:
    if sys.platform == "win32":
        return
    lock = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if file.is_dir():
            import shutil

            shutil.rmtree(file)
        else:
            file.unlink()
    finally:
        os.close(lock)


# ---------------------------------------------------------------------------------------------------------------------
# Locks on folders: one process at a time works in a folder.

if sys.platform != "win32":
    import fcntl

NAME = "lock"
MOST_TRIES = 100  # to make it: others may delete the folder meanwhile


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Hold a folder, which is made if there is none; InputError if another process holds it.

    The system lets go of it when the process is killed. Not on Windows, and not where a file system or an object store
    has no locks.
    """
    held = _held(folder)
    try:
        yield
    finally:
        if held >= 0:
            os.close(held)


def _held(folder: Path) -> int:
    """Return the descriptor that holds the folder, or -1 without locks."""
    tries = MOST_TRIES
    while True:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if sys.platform == "win32" or is_remote(folder):
                return -1
            lock = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            tries -= 1
            if isinstance(error, FileNotFoundError) and tries and not is_remote(folder):
                continue  # the process that held it has just deleted it
            raise InputError(f"cannot write to folder {folder}: {error.strerror}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise InputError(
                f"another process works in {folder}: wait for it, or choose another folder for one of them"
            ) from None
        except OSError:
            return lock
        if os.fstat(lock).st_nlink:
            return lock
        os.close(lock)
