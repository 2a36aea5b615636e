"""A trace as lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from subwords.study.steps import Added, Known, Lattice, Matching, Merging, Stretch, Unknown, Word

__all__ = ["lines_of"]

MOST_PIECES = 40  # of a lattice, in text


class Trace(Protocol):
    """What is shown of a trace."""

    @property
    def ids(self) -> list[int]:
        """The ids."""

    @property
    def parts(self) -> tuple[Added | Stretch, ...]:
        """Added tokens, and the text between them."""

    @property
    def family(self) -> str:
        """The family of the model."""

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps of the splitter."""

    @property
    def alternatives(self) -> tuple[str, ...]:
        """The alternatives of its pattern."""

    @property
    def tokens(self) -> dict[int, str]:
        """The text of ids."""


def lines_of(trace: Trace) -> Iterator[str]:
    """Yield the lines."""
    yield f"{trace.family}, {len(trace.ids)} ids: {' '.join(map(str, trace.ids))}"
    for part in trace.parts:
        if isinstance(part, Added):
            yield f"{part.span[0]}-{part.span[1]} added token {part.text!r} = {part.id}"
            continue
        for change in part.changes:
            yield f"{change.span[0]}-{change.span[1]} normalized: {change.before!r} to {change.after!r}"
        for word in part.words:
            yield from _word(trace, word)
    yield from _rules(trace)


def _rules(trace: Trace) -> Iterator[str]:
    """Yield the steps of the splitter, and of its pattern the alternatives that matched."""
    for number, step in enumerate(trace.steps):
        yield f"splitter, step {number}: {step}"
    stretches = [part for part in trace.parts if isinstance(part, Stretch)]
    used = {word.alternative for part in stretches for word in part.words}
    for number, alternative in enumerate(trace.alternatives if len(trace.alternatives) > 1 else ()):
        if number in used:
            yield f"  alternative {number}: {alternative}"


def _word(trace: Trace, word: Word) -> Iterator[str]:
    how = "" if word.alternative is None else f" (alternative {word.alternative})"
    yield f"{word.span[0]}-{word.span[1]} word {word.text!r}{how}: {_tokens(trace, word.ids)}"
    found = word.segmentation
    if isinstance(found, Known | Unknown):
        yield f"    {found.why}"
    elif isinstance(found, Merging):
        row = [*found.symbols]
        yield f"    {_tokens(trace, row)}"
        for merge in found.merges:
            row[merge.place : merge.place + 2] = [merge.result]
            count = "" if merge.count is None else f", count {merge.count}"
            pair = f"{trace.tokens[merge.left]!r} + {trace.tokens[merge.right]!r}"
            yield f"    rank {merge.rank}{count}: {pair}: {_tokens(trace, row)}"
    elif isinstance(found, Matching):
        for match in found.matches:
            longer = f"; {match.tried} longer candidates are not in the vocabulary" if match.tried else ""
            yield f"    at {match.start}: {trace.tokens[match.id]!r}, the longest{longer}"
    else:
        yield from _lattice(trace, word, found)


def _lattice(trace: Trace, word: Word, found: Lattice) -> Iterator[str]:
    def path(places: tuple[int, ...]) -> str:
        return " ".join(repr(word.text[found.pieces[k].start : found.pieces[k].stop]) for k in places)

    yield f"    best {found.score:.4f}: {path(found.best)}"
    if found.runner_up is not None:
        yield f"    runner-up, {found.gap:.4f} less: {path(found.runner_up)}"
    for piece in found.pieces[:MOST_PIECES]:
        name = "unknown" if piece.id is None else str(piece.id)
        yield f"      {piece.start}-{piece.stop} {word.text[piece.start : piece.stop]!r} {name} {piece.score:.4f}"
    if len(found.pieces) > MOST_PIECES:
        yield f"      and {len(found.pieces) - MOST_PIECES} more pieces"


def _tokens(trace: Trace, ids: tuple[int, ...] | list[int]) -> str:
    return " ".join(f"{trace.tokens[index]!r}" for index in ids) or "nothing"
