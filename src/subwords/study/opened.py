"""Tokenizer files that are being looked at: loaded once, and again when they change on disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TypeAlias

from subwords.errors import SubwordsError
from subwords.study.token_facts import TokenFacts
from subwords.tokenizer import Tokenizer, load

__all__ = ["Opened", "TokenizerFile"]

_TOGETHER = {"vocab.json": "merges.txt", "merges.txt": "vocab.json"}  # read as one tokenizer
_Marks: TypeAlias = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class Opened:
    """A tokenizer as a file holds it. version: how often the file was read. problem: why the newest cannot be used."""

    tok: Tokenizer
    facts: TokenFacts
    version: int
    problem: str | None = None


class TokenizerFile:
    """A tokenizer file, a folder, or a name that `subwords.load` knows. Threads may share it.

    Raises the errors of `load` if it cannot be read at first. Later, `now` keeps the tokenizer that could be read last.
    """

    def __init__(self, path: str) -> None:
        self.path, self.name = path, _name(path)
        self._lock, self._marks = Lock(), _marks(path)
        self._opened = _open(path, 1)

    def now(self) -> Opened:
        """Return the tokenizer, read again if the file has changed since."""
        with self._lock:
            marks = _marks(self.path)
            if marks != self._marks:
                self._marks = marks
                self._opened = self._again()
            return self._opened

    def _again(self) -> Opened:
        last = self._opened
        try:
            return _open(self.path, last.version + 1)
        except (SubwordsError, OSError) as error:
            problem = f"the file changed and cannot be read now; this is the tokenizer from before: {error}"
            return Opened(last.tok, last.facts, last.version + 1, problem)


def _open(path: str, version: int) -> Opened:
    tok = load(path)
    return Opened(tok, TokenFacts(tok), version)


def _name(path: str) -> str:
    """Return the last two parts of a path: the last one alone is often tokenizer.json."""
    return "/".join(part for part in Path(path).parts[-2:] if part != "/") or path


def _marks(path: str) -> _Marks:
    """Return names, times of change and sizes of the files; () for what is not a file or a folder."""
    place = Path(path)
    try:
        if place.is_dir():
            files = sorted(file for file in place.iterdir() if file.is_file())
        else:
            other = _TOGETHER.get(place.name)
            files = [place, *([place.with_name(other)] if other else [])]
        found = [(file.name, file.stat()) for file in files if file.exists()]
    except OSError:
        return ()
    return tuple((name, status.st_mtime_ns, status.st_size) for name, status in found)
