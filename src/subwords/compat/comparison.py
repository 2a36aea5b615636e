"""Compare two encoders text by text, in bounded memory, up to the first difference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Literal, TypeAlias

from subwords.corpus.read import read_blocks
from subwords.corpus.reading import Reading
from subwords.corpus.source import Source, files_and_texts, shown
from subwords.errors import InputError
from subwords.support.checks import check_choice

__all__ = ["Difference", "Differences", "Side", "Text", "Token", "checked_reason", "compare", "texts_of"]

Token: TypeAlias = tuple[int, str]
Documents: TypeAlias = Literal["file", "line"]
Errors: TypeAlias = Literal["strict", "replace"]

_LONGEST = 1 << 18  # bytes of text that are compared as one; longer texts are cut
_MOST = 1024  # texts of one batch
_AROUND = 24  # characters of context


@dataclass(frozen=True, slots=True)
class Text:
    """A text to compare, and where it begins: `line` counts from 1, `character` from 0 in that line."""

    text: str
    place: str
    line: int = 1
    character: int = 0


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference between two tokenizers.

    place: a file, "text 12" (from 0) of an iterable, or "probe" with its name. line, character: where the first token
    that differs begins; lines count from 1, characters from 0 in their line. before, after: the text around it.
    index: its position among the ids. ours, theirs: id and token there; None if the ids end before. reason: what one
    of the two raised instead of giving ids.
    """

    place: str
    line: int
    character: int
    before: str
    after: str
    index: int = 0
    ours: Token | None = None
    theirs: Token | None = None
    reason: str | None = None

    def __str__(self) -> str:
        here = f"{self.place}, line {self.line}, character {self.character}, in {self.before + self.after!r}"
        if self.reason is not None:
            return f"{here}: {self.reason}"
        ours, theirs = map(_named, (self.ours, self.theirs))
        return f"{here}: token {self.index} is {ours} here and {theirs} there"


def _named(token: Token | None) -> str:
    return "missing" if token is None else f"{token[1]!r} (id {token[0]})"


@dataclass(frozen=True, slots=True)
class Differences:
    """What was compared: texts, the ids of those that were equal, the first difference, and how many texts differ."""

    texts: int
    tokens: int
    difference: Difference | None
    different: int

    def __add__(self, other: Differences) -> Differences:
        return Differences(
            self.texts + other.texts,
            self.tokens + other.tokens,
            self.difference or other.difference,
            self.different + other.different,
        )


@dataclass(frozen=True, slots=True)
class Side:
    """One of two encoders.

    name: in messages. encode: the ids of each text. token: the token of an id. starts: where each token of a text
    begins, in characters.
    """

    name: str
    encode: Callable[[list[str]], Sequence[Sequence[int]]]
    token: Callable[[int], str]
    starts: Callable[[str], Sequence[int]] | None = None


# ------------------------------------------------------------------ texts


def texts_of(
    source: Source,
    reading: Reading,
    *,
    on_bytes: Callable[[int], object] | None = None,
) -> Iterator[Text]:
    r"""Yield the texts of files, folders, globs or iterables, see `read_blocks`; long ones in parts of 256 KB.

    With documents="line", each line of a file with its "\n" is a text. Texts of an iterable stay whole either way.

    >>> [text.text for text in texts_of(["a\nb", "c"], Reading())]
    ['a\nb', 'c']
    """
    check_choice("errors", reading.errors, ("strict", "replace"))
    files, texts = files_and_texts(source)
    if files:
        return _of_files(files, reading, on_bytes)
    return chain.from_iterable(_of_text(text, i) for i, text in enumerate(texts))


def _of_files(files: Iterable[Path], reading: Reading, on_bytes: Callable[[int], object] | None) -> Iterator[Text]:
    for file in files:  # one by one: the same file may come twice
        line, character = 1, 0
        for block in read_blocks([file], reading, block_size=_LONGEST, on_bytes=on_bytes):
            ends = block.ends.tolist()
            for start, stop in pairwise([0, *ends, *([] if ends[-1:] == [len(block.data)] else [len(block.data)])]):
                text = block.data[start:stop].decode()
                yield Text(text, block.name, line, character)
                line, character = _after(text, line, character)


def _of_text(text: object, index: int) -> Iterator[Text]:
    if not isinstance(text, str):
        raise InputError(f"text {index}: expected str, got {shown(text)}")
    line, character = 1, 0
    for start in range(0, max(1, len(text)), _LONGEST):
        part = text[start : start + _LONGEST]
        yield Text(part, f"text {index}", line, character)
        line, character = _after(part, line, character)


def _after(text: str, line: int, character: int) -> tuple[int, int]:
    """Return the line and the character after a text that begins there."""
    last = text.rfind("\n")
    return line + text.count("\n"), len(text) - last - 1 if last >= 0 else character + len(text)


# ------------------------------------------------------------------ comparing


def compare(texts: Iterable[Text], ours: Side, theirs: Side, *, whole: bool = False) -> Differences:
    """Encode texts with both until one differs, or all with `whole`; a text that only one of them refuses differs."""
    done = tokens = different = 0
    first: Difference | None = None
    for batch in _batches(texts):
        rows = _rows(batch, ours), _rows(batch, theirs)
        for text, mine, other in zip(batch, *rows, strict=True):
            done += 1
            if mine == other:
                tokens += 0 if isinstance(mine, str) else len(mine)
            elif found := _difference(text, mine, other, ours, theirs):
                first, different = first or found, different + 1
                if not whole:
                    return Differences(done, tokens, first, different)
    return Differences(done, tokens, first, different)


def _batches(texts: Iterable[Text]) -> Iterator[list[Text]]:
    batch: list[Text] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text.text)
        if len(batch) == _MOST or size >= _LONGEST:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


_Row: TypeAlias = "list[int] | str"  # the ids of a text, or the reason of the failure


def _rows(batch: Sequence[Text], side: Side) -> list[_Row]:
    texts = [text.text for text in batch]
    try:
        return [list(row) for row in side.encode(texts)]
    except BaseException as error:
        checked_reason(error)
    return [_row(text, side) for text in texts]


def _row(text: str, side: Side) -> _Row:
    try:
        return list(side.encode([text])[0])
    except BaseException as error:
        return checked_reason(error)


def checked_reason(error: BaseException) -> str:
    """Return the first line of an error of a library; raise it again if it is an interruption."""
    # PanicException, of libraries in Rust, derives from BaseException.
    if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
        raise error
    return f"{type(error).__name__}: {error!s:.500}".splitlines()[0]


def _difference(text: Text, mine: _Row, other: _Row, ours: Side, theirs: Side) -> Difference | None:
    match mine, other:
        case str(), str():
            return None  # both refuse it
        case str(), _:
            return _place(text, 0, reason=f"{ours.name} raises {mine}")
        case _, str():
            return _place(text, 0, reason=f"{theirs.name} raises {other}")
    shorter = min(len(mine), len(other))
    index = next((i for i in range(shorter) if mine[i] != other[i]), shorter)
    starts = [] if ours.starts is None else ours.starts(text.text)
    start = starts[index] if index < len(starts) else len(text.text)
    return _place(text, start, index=index, ours=_token(mine, index, ours), theirs=_token(other, index, theirs))


def _token(row: _Row, index: int, side: Side) -> Token | None:
    if isinstance(row, str) or index >= len(row):
        return None
    return row[index], side.token(row[index])


def _place(
    text: Text,
    start: int,
    *,
    index: int = 0,
    ours: Token | None = None,
    theirs: Token | None = None,
    reason: str | None = None,
) -> Difference:
    line, character = _after(text.text[:start], text.line, text.character)
    before, after = text.text[max(0, start - _AROUND) : start], text.text[start : start + _AROUND]
    return Difference(text.place, line, character, before, after, index, ours, theirs, reason)
