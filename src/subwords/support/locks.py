"""Locks on folders: one process at a time works in a folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from subwords.errors import InputError
from subwords.support.remote import is_remote

if sys.platform != "win32":
    import fcntl

__all__ = ["only_one"]

NAME = "lock"


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
    while True:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if sys.platform == "win32" or is_remote(folder):
                return -1
            lock = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            if isinstance(error, FileNotFoundError) and not is_remote(folder):
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
