"""Files that are written whole or not at all."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from os import PathLike
from pathlib import Path
from typing import IO, Any, Literal, overload

from subwords.errors import InputError

__all__ = ["atomic_write"]


@overload
def atomic_write(path: str | PathLike[str], mode: Literal["wb"] = "wb") -> AbstractContextManager[IO[bytes]]: ...
@overload
def atomic_write(path: str | PathLike[str], mode: Literal["w"]) -> AbstractContextManager[IO[str]]: ...
def atomic_write(path: str | PathLike[str], mode: Literal["wb", "w"] = "wb") -> AbstractContextManager[IO[Any]]:
    r"""Open a file for writing that takes its name only when the block ends without an exception.

    Text is UTF-8 with "\n" as it stands. Until then a file of that name stays as it was; afterwards it keeps its
    permissions, and a new one has those of `open`. A pipe or a device is written directly. A missing folder, or a file
    that cannot be written, is an InputError.

    >>> import tempfile
    >>> from subwords.formats.atomic import atomic_write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(f"{folder}/ids.txt", "w") as file:
    ...         print(1, 2, file=file)
    """
    return _write(Path(path), mode, {"encoding": "utf-8", "newline": ""} if mode == "w" else {})


@contextmanager
def _write(path: Path, mode: str, options: dict[str, Any]) -> Iterator[IO[Any]]:
    temporary: Path | None = None
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            with path.open(mode, **options) as file:
                yield file
            return
        target = _target(path)
        # The name is short whatever the target's: names end at 255 bytes.
        temporary = target.with_name(f".subwords-{secrets.token_hex(8)}.tmp")
        with temporary.open(mode.replace("w", "x"), **options) as file:
            if target.exists():
                temporary.chmod(target.stat().st_mode & 0o7777)
            yield file
        temporary.replace(target)
    except BaseException as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        # An error of what is written here names no file or one of these; another comes from what the caller reads.
        if isinstance(error, OSError) and str(error.filename) in ("None", str(path), str(temporary)):
            raise InputError(f"expected a file that can be written; {path}: {error.strerror}") from None
        raise


def _target(path: Path) -> Path:
    # A symbolic link stays one: what it points to is replaced.
    target = path.resolve()
    if not target.parent.is_dir():
        raise InputError(f"expected a folder to write {path.name} in; there is none at {target.parent}")
    if target.is_dir():
        raise InputError(f"expected a file to write; {path} is a folder")
    return target
