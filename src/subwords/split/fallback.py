r"""Patterns without an automaton, run by the `regex` package with the same meaning as in `pattern.py`.

The package has its own classes, case folding and syntax. So the tree of a pattern is written for it: characters that
are in the same sets of the pattern become one character, and the text is translated to these characters. The package
handles only the structure: order, repetition, groups, look-around. For a pattern with back-references the text stays
unchanged and the sets are spelled out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby

import numpy as np
import regex
from numpy.typing import NDArray

from subwords.spec.unicode import UNICODE_VERSION
from subwords.split.pattern import (
    INVALID,
    Chars,
    Either,
    End,
    Look,
    Node,
    OtherGroup,
    Outside,
    Ranges,
    Repeat,
    Then,
    Verbatim,
    ranges_of,
    syntax_of,
)
from subwords.support.errors import InputError
from subwords.support.names import distinct

MOST_REPEATS = 1 << 16
Segment = tuple[int, int, bool]  # a range of a text, and whether the pattern matches it
MOST_SETS = 2000  # with more, the text is not translated
SURROGATES = slice(0xD800, 0xE000)  # in a str, a byte that is not UTF-8 is one of these


@dataclass(frozen=True)
class Fallback:
    """A pattern compiled for the `regex` package, made by `compiled`.

    `classes` (shape (0x110000,), or None): the character that each code point is translated to. `pinned`: whether all
    sets come from the pinned Unicode version.
    """

    pattern: str
    classes: NDArray[np.uint16] | None = field(repr=False)
    pinned: bool
    regex: regex.Pattern[str] = field(repr=False)

    @property
    def unicode_version(self) -> str:
        """The Unicode version of its character classes."""
        return UNICODE_VERSION if self.pinned else f"of regex {regex.__version__}"

    def written(self, text: str) -> str:
        """Return a text translated for `segments`; the length stays the same."""
        if self.classes is None:
            return text
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        return self.classes[codes].tobytes().decode("utf-16-le")

    def segments(self, written: str, timeout: float | None = None) -> list[Segment]:
        """Return the matches and the gaps between them; an empty match that touches the previous match does not count.

        Raises TimeoutError if one search takes longer than `timeout` seconds.
        """
        return [*self._segments(written, timeout)]

    def _segments(self, text: str, timeout: float | None) -> Iterator[Segment]:
        at, last, search = 0, -1, self.regex.search
        while at <= len(text) and (match := search(text, at, timeout=timeout)):
            start, end = match.span()
            if start == end == last:
                at += 1
                continue
            if max(last, 0) < start:
                yield max(last, 0), start, False
            yield start, end, True
            at = last = end
        if max(last, 0) < len(text):
            yield max(last, 0), len(text), False


@lru_cache(64)
def compiled(pattern: str) -> Fallback:
    """Return a pattern compiled for the `regex` package; InputError for a pattern that tiktoken rejects too."""
    try:
        syntax = syntax_of(pattern)
    except Outside as reason:
        raise InputError(f"unsupported syntax in a pattern: {reason} of {pattern!r:.200}") from None
    parts = list[str | bytes]()
    try:
        _write(syntax.tree, parts)
        sets = {part: np.frombuffer(part, np.int64).reshape(-1, 2) for part in parts if isinstance(part, bytes)}
        if syntax.references or len(sets) > MOST_SETS:
            classes, spelled = None, {key: _set_pattern(_in_text(part)) for key, part in sets.items()}
        else:
            classes, spelled = _classified(sets)
        text = "".join(part if isinstance(part, str) else spelled[part] for part in parts)
        return Fallback(pattern, classes, syntax.pinned, regex.compile(text, regex.V0))
    except regex.error as error:
        raise InputError(f"invalid regex {pattern!r:.200}: {error.msg}") from None
    except (RecursionError, OverflowError, MemoryError) as error:
        raise InputError(f"pattern too large for the regex package: {pattern!r:.200} ({error})") from None


def _write(node: Node, out: list[str | bytes]) -> int:
    """Write a tree as the package's syntax and sets; return its size with repetitions expanded, as the package does."""
    match node:
        case Verbatim(text=text):
            out.append(text)
        case Chars():
            out.append(node.ranges)
        case Look():
            out += ["(?!" if node.negative else "(?=", node.chars.ranges, ")"]
        case End():
            out.append(r"(?:\Z)")
        case Then(items=items):
            return sum([_write(item, out) for item in items])
        case Either():
            return _grouped("(?:", node, out)
        case OtherGroup(opening=opening, item=item):
            return _grouped(opening, item, out)
        case Repeat():
            return _repeated(node, out)
    return 1


def _grouped(opening: str, node: Node, out: list[str | bytes]) -> int:
    out.append(opening)
    size = 1
    for number, branch in enumerate(node.branches if isinstance(node, Either) else [node]):
        out += ["|"] * (number > 0)
        size += _write(branch, out)
    out.append(")")
    return size


def _repeated(node: Repeat, out: list[str | bytes]) -> int:
    atomic = node.possessive and node.low == node.high == 1  # the package ignores a quantifier for one time
    opening = "(?>" if atomic else "(?:"
    size = _write(node.item, out) if isinstance(node.item, Chars) else _grouped(opening, node.item, out)
    size *= max(node.low, node.high or 0, 1)
    if size > MOST_REPEATS:
        raise InputError(f"too many repeats in a pattern: they make {size} items; expected at most {MOST_REPEATS}")
    if not atomic:
        high = "" if node.high is None else node.high
        out.append(f"{{{node.low},{high}}}" + ("+" if node.possessive else "" if node.greedy else "?"))
    return size


def find_matches(pattern: str, text: str, timeout: float | None = None) -> list[Segment]:
    """Return a pattern's matches in a text and the gaps between them, as `Fallback.segments` does.

    >>> find_matches(r"x*", "axxb")
    [(0, 0, True), (0, 1, False), (1, 3, True), (3, 4, False), (4, 4, True)]
    """
    found = compiled(pattern)
    return found.segments(found.written(text), timeout)


def behaved(segments: Sequence[Segment], behavior: str) -> list[Segment]:
    """Return the segments that a behavior (other than "removed") makes of matches and gaps."""
    found = [*segments]
    if behavior == "contiguous":
        runs = [[*run] for _, run in groupby(found, key=lambda segment: segment[2])]
        return [(run[0][0], run[-1][1], run[0][2]) for run in runs]
    if behavior == "merged_with_previous":
        return _merged(found)
    if behavior == "merged_with_next":
        mirrored = [(-end, -start, matches) for start, end, matches in reversed(found)]
        return [(-end, -start, matches) for start, end, matches in reversed(_merged(mirrored))]
    return found


def _merged(segments: list[Segment]) -> list[Segment]:
    """Join the first match of every run of matches to the gap before it."""
    merged: list[Segment] = []
    after_match = False
    for start, end, matches in segments:
        if matches and not after_match and merged:
            merged[-1] = (merged[-1][0], end, False)
        else:
            merged.append((start, end, matches))
        after_match = matches
    return merged


def _classified(sets: dict[bytes, Ranges]) -> tuple[NDArray[np.uint16], dict[bytes, str]]:
    """Return the class of every code point, and each set as a set of classes."""
    bounds = distinct(np.concatenate([np.array([0, INVALID + 1]), *(part.ravel() for part in sets.values())]))
    rows = np.zeros((max(1, len(sets)), len(bounds) - 1), np.bool_)
    for row, part in zip(rows, sets.values(), strict=False):
        row[:] = np.searchsorted(part.ravel(), bounds[:-1], side="right") % 2 == 1
    _, first, inverse = np.unique(np.packbits(rows, axis=0), axis=1, return_index=True, return_inverse=True)
    classes = np.repeat(inverse.ravel().astype(np.uint16), np.diff(bounds))
    spelled = {key: _set_pattern(ranges_of(row[first])) for key, row in zip(sets, rows, strict=False)}
    classes[SURROGATES] = classes[INVALID]
    return classes[:INVALID].copy(), spelled


def _in_text(ranges: Ranges) -> Ranges:
    """Return a set for matching in a str, where bytes that are not UTF-8 are surrogates."""
    members = np.zeros(INVALID + 1, np.bool_)
    for start, stop in ranges.tolist():
        members[start:stop] = True
    members[SURROGATES] = members[INVALID]
    return ranges_of(members[:INVALID])


def _set_pattern(ranges: Ranges) -> str:
    if not len(ranges):
        return r"[^\x00-\U0010FFFF]"
    parts = [rf"\U{a:08X}" + (rf"-\U{b - 1:08X}" if b - a > 1 else "") for a, b in ranges.tolist()]
    return parts[0] if len(parts) == 1 and "-" not in parts[0] else f"[{''.join(parts)}]"
