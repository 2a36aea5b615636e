"""Remote: a file or folder of an object store (s3://, gs://, ..., by universal-pathlib and fsspec), used like a path.

A `Remote` has the methods of pathlib.Path that this package uses, so other code takes both. Every failure is an OSError
whose `strerror` says what to do and whose `filename` is the URL, whatever the library of the store raises.
"""

from __future__ import annotations

import io
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from errno import EACCES, EINVAL, EIO, ENOENT
from glob import has_magic
from pathlib import Path
from typing import Any, NamedTuple, cast

from subwords.errors import InputError

__all__ = ["Remote", "is_path", "is_remote", "local_copy", "names_place", "remote_of", "version_of"]

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
        from subwords.support.install import install_hint

        raise InputError(
            f"{value!s:.200} is a URL, which needs universal-pathlib: {install_hint('remote')}, and the library "
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
    """A file or folder of an object store. info: what a listing said of it, which saves a request."""

    def __init__(self, path: Any, info: dict[str, Any] | None = None) -> None:
        self._path, self._info = path, info
        self.fs = path.fs
        self.key = str(path.path)

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
    def protocol(self) -> str:
        """The name of the store, such as s3."""
        return str(self._path.protocol)

    @property
    def name(self) -> str:
        """The last part."""
        return str(self._path.name)

    @property
    def stem(self) -> str:
        """The last part without its suffix."""
        return str(self._path.stem)

    @property
    def suffix(self) -> str:
        """The suffix of the last part, with the dot."""
        return str(self._path.suffix)

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
        with _as_os_error(self):
            self.fs.get_file(self.key, file)

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
            return int(self._file.readinto(buffer))

    def read(self, size: int = -1, /) -> bytes:
        with _as_os_error(self._place):
            return bytes(self._file.read(size))

    def seek(self, offset: int, whence: int = 0, /) -> int:
        with _as_os_error(self._place):
            return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


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
    import tempfile  # slow to import, and no local file needs it

    with tempfile.TemporaryDirectory(prefix="subwords-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder, path.name)
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
