"""Gold files: words with their morphemes."""

from __future__ import annotations

from pathlib import Path

from subwords.errors import CorpusError

__all__ = ["read_gold"]


def read_gold(path: Path) -> list[tuple[str, tuple[str, ...]]]:
    """Return words and their morphemes from lines of `word TAB mor pheme s`; CorpusError for any other line."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CorpusError(f"cannot read {path}: {error.strerror or error}") from None
    found = list[tuple[str, tuple[str, ...]]]()
    try:
        lines = data.decode().splitlines()
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path}: expected UTF-8, got byte 0x{data[error.start]:02x} at {error.start}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        word, _, rest = line.partition("\t")
        parts = tuple(rest.split(" "))
        if "".join(parts) != word or not all(parts):
            raise CorpusError(
                f"{path}, line {number}: expected a word, a tab, and its morphemes with single spaces between, which "
                f"join to the word; found {line!r:.80}"
            )
        found.append((word, parts))
    if not found:
        raise CorpusError(f"{path}: expected words with their morphemes, found none")
    return found
