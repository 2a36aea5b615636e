"""What the sources of this package are known by: it names the tables and the machine code that are made from them.

A wheel has a stamp, digests of its sources that were written when it was built. Files of a checkout may be edited at
any time: each is known by its size and its time, as Python knows it when it looks for its bytecode.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["digest_of", "package_mark", "stamp", "stamped"]

KERNELS = Path(__file__).parent
STAMP = KERNELS / "stamp"


def stamped() -> str:
    """Return the text of the stamp: a digest of all sources of this package, and one of those of kernels."""
    return f"{digest_of(KERNELS.parent)}\n{digest_of(KERNELS)}\n"


def digest_of(folder: Path) -> str:
    """Return a digest of the names and contents of all sources in a folder."""
    state = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        state.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return state.hexdigest()


@cache
def stamp() -> tuple[str, str] | None:
    """Return the two digests of the stamp; None in a checkout."""
    try:
        package, kernels = STAMP.read_text("ascii").split()
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
        return hashlib.sha256("\n".join(_states(str(KERNELS.parent))).encode()).digest()
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
