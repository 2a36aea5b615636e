r"""Patterns without an automaton, run by the `regex` package with the same meaning as in `pattern.py`.

The package has its own classes, case folding and syntax. So a pattern is rewritten: `Reader` reads its sets from the
pinned tables, characters that are in the same sets of the pattern become one character, and the text is translated to
these characters. The package handles only the structure: order, repetition, groups, look-around. For a pattern with
back-references the text stays unchanged and the sets are spelled out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple, NoReturn

import numpy as np
import regex
from numpy.typing import NDArray

from subwords.spec.unicode import UNICODE_VERSION, property_members
from subwords.split.pattern import INTERVAL, INVALID, Members, Outside, SetReader, folded, one
from subwords.support.errors import InputError
from subwords.support.names import distinct

# ---------------------------------------------------------------------------------------------------------------------
# Rewrites a pattern for the `regex` package, as a list of syntax strings shared with tiktoken, and sets.
#
# Flags, comments, `\b`, `\R`, `$` and similar syntax are expanded, so that the package's own interpretation plays no
# role. Syntax that tiktoken rejects, or interprets differently from the package, is an InputError.

Ranges = NDArray[np.int64]  # shape (n, 2): the first code point of a range, and the one after its last

DEEPEST = 100  # nested groups: the package handles them recursively
MOST_REPEATS = 1 << 16

FLAGS = re.compile(r"\(\?([imsux]*)(?:-([imsx]+))?([:)])")
GROUPS = re.compile(r"\(\?(?:[=!>|]|<[=!]|P?<[A-Za-z_]\w*>|\((?:[1-9][0-9]?|[A-Za-z_]\w*)\))")
COMMENT = re.compile(r"\(\?#[^)]*\)")
SPACED = re.compile(r"\s+|#[^\n]*")
REFERENCE = re.compile(r"\\([1-9][0-9]?)|\\k(?:<(\w+)>|'(\w+)')|\(\?P=(\w+)\)")
BORDER = re.compile(r"\\b(?:\{(start|end|start-half|end-half)\})?|\\[B<>]")
ANCHORS = {r"\A": r"\A", r"\z": r"\Z", r"\Z": r"\Z", r"\G": r"\G", r"\K": r"\K"}


class _Flags(NamedTuple):
    """The flags i, s, m and x at a position of the pattern."""

    fold: bool = False
    dot_all: bool = False
    lines: bool = False
    spaced: bool = False


class Reader(SetReader):
    """Reads a pattern into `out`, a list of syntax strings and sets.

    `references`: whether it has back-references; `pinned`: whether all its sets come from the pinned Unicode version.
    """

    def __init__(self, pattern: str) -> None:
        super().__init__(pattern)
        self.flags = _Flags()
        self.out: list[str | Ranges] = []
        self.opened: list[tuple[int, _Flags, int]] = []  # per open group: its position, outer flags, index in `out`
        self.item: int | None = None  # index in `out` of the item that a quantifier would repeat
        self.quantified = False
        self.sizes = [1]  # per open group: its size with repetitions expanded, as the package expands them
        self.size = 1  # of the item that a quantifier would repeat
        self.references = False
        self.pinned = True

    def outside(self, at: int, what: str) -> NoReturn:
        """Raise InputError for syntax that only other engines accept."""
        raise InputError(f"unsupported syntax in a pattern: {what} at character {at} of {self.pattern!r:.200}")

    def enter(self) -> None:
        """Go one level deeper."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise InputError(f"pattern nested too deeply: expected at most {DEEPEST} nested groups or sets")

    def property(self, at: int, negated: bool) -> Members:
        r"""Return the set of \p or \P; the package's set for a property missing in the pinned tables."""
        try:
            return super().property(at, negated)
        except _Unknown as unknown:
            self.pinned = False
            members = _members_of(unknown.name)
            members = folded(members) if self.fold else members
            return ~members if negated != unknown.negated else members

    def unknown_property(self, at: int, name: str, negated: bool) -> NoReturn:
        """Raise the exception that `property` catches."""
        raise _Unknown(name, negated)

    def read(self) -> None:
        """Read the whole pattern."""
        while self.peek():
            if not self.ignored():
                self.token()
        if self.opened:
            self.fail(self.opened[-1][0], "a ) that closes the group", "the end of the pattern")

    def ignored(self) -> bool:
        """Skip a comment or, with the flag x, whitespace or a comment up to the end of the line."""
        found = COMMENT.match(self.pattern, self.at) or (self.flags.spaced and SPACED.match(self.pattern, self.at))
        self.at = found.end() if found else self.at
        return bool(found)

    def token(self) -> None:
        """Read an item, a quantifier, or one of ( ) |."""
        at, character = self.at, self.peek()
        self.fold = self.flags.fold
        if character in "*+?" or INTERVAL.match(self.pattern, at):
            self.quantifier()
            return
        self.quantified = False
        if character == "|":
            self.at += 1
            self.out.append("|")
            self.item = None
        elif found := REFERENCE.match(self.pattern, at):
            self.at = found.end()
            name = next(filter(None, found.groups()))
            self.references = True
            self.add(f"(?{'i' * self.fold}:" + (rf"\{name})" if name.isdigit() else f"(?P={name}))"))
        elif character == "(":
            self.group()
        elif character == ")":
            self.close()
        elif character in "^$":
            self.at += 1
            self.add(*self.line_end(character == "^"))
        elif character == "\\":
            self.escaped(at)
        else:
            self.add(self.one())

    def add(self, *parts: str | Ranges) -> None:
        """Append an item that a quantifier may repeat."""
        self.item, self.size = len(self.out), 1
        self.sizes[-1] += 1
        self.out += parts

    def one(self) -> Ranges:
        """Read the next set: in brackets, a dot or one character."""
        at, character = self.at, self.peek()
        if character == "[":
            members = self.bracket()
            if self.flags.spaced and re.search(r"(?<!\\)\s", self.pattern[at : self.at]):
                self.outside(at, "whitespace in a set with the flag x")
            return code_point_ranges(members)
        self.at += 1
        if character == ".":
            rest = [[ord("\n") + 1, INVALID + 1]]
            return np.array([[0, INVALID + 1]] if self.flags.dot_all else [[0, ord("\n")], *rest], np.int64)
        return _character(ord(character), self.fold)

    def line_end(self, begins: bool) -> list[str | Ranges]:
        """Return `^` or `$` expanded."""
        if not self.flags.lines:
            return [r"(?:\A)" if begins else r"(?:\Z)"]
        return ["(?<!" if begins else "(?!", code_point_ranges(~one(ord("\n"), False)), ")"]

    def escaped(self, at: int) -> None:
        """Read an escape."""
        sign = self.pattern[at : at + 2]
        if border := BORDER.match(self.pattern, at):
            self.at = border.end()
            self.add(*_border({r"\<": "start", r"\>": "end"}.get(sign, border[1] or sign)))
        elif sign in ANCHORS:
            self.at += 2
            self.add(f"(?:{ANCHORS[sign]})")
        elif sign == r"\R":
            self.at += 2
            line_feeds = np.array([[0x0A, 0x0E], [0x85, 0x86], [0x2028, 0x202A]], np.int64)
            self.add("(?>", _character(ord("\r"), False), _character(ord("\n"), False), "|", line_feeds, ")")
        else:
            item = self.escape()
            self.add(_character(item, self.fold) if isinstance(item, int) else code_point_ranges(item))

    def quantifier(self) -> None:
        """Read a quantifier; a second one applies to a group of the item and the first."""
        at = self.at
        if self.item is None:
            self.fail(at, "an item to repeat before a quantifier")
        if interval := INTERVAL.match(self.pattern, at):
            self.at = interval.end()
            low = int(interval[1] or 0)
            high = interval[3] or ("" if interval[2] else str(low))
            if high and int(high) < low:
                self.fail(at, "a quantifier whose minimum is not above its maximum", interval[0])
            times = max(low, int(high or 0), 1)
            self.sizes[-1] += self.size * (times - 1)
            self.size *= times
            if self.size > MOST_REPEATS:
                raise InputError(
                    f"too many repeats in a pattern: {interval[0]:.40} at character {at} makes {self.size}; "
                    f"expected at most {MOST_REPEATS}"
                )
            sign = f"{{{low},{high}}}"
        else:
            sign = self.peek()
            self.at += 1
        if self.quantified:
            self.out.insert(self.item, "(?:")
            self.out.append(")")
        more = self.peek() if self.peek() in ("?", "+") else ""
        self.at += len(more)
        self.out.append(sign + more)
        self.quantified = True

    def group(self) -> None:
        """Read the start of a group, or flags."""
        at, before, opening = self.at, self.flags, "("
        if flags := FLAGS.match(self.pattern, at):
            self.at = flags.end()
            on, off = flags[1], flags[2] or ""
            self.flags = _Flags(
                *((now or sign in on) and sign not in off for now, sign in zip(before, "ismx", strict=True))
            )
            if flags[3] == ")":
                self.item = None
                return
            opening = "(?:"
        elif kind := GROUPS.match(self.pattern, at):
            opening, self.at = kind[0], kind.end()
        else:
            self.at += 1
            if self.peek() == "?":
                if ")" not in self.pattern[at:]:
                    self.fail(at, "a ) that closes the group", "the end of the pattern")
                self.outside(at, repr(self.pattern[at : at + 4]))
        self.enter()
        self.opened.append((at, before, len(self.out)))
        self.sizes.append(1)
        self.out.append(opening)
        self.item = None

    def close(self) -> None:
        """Read the end of a group and restore the outer flags."""
        if not self.opened:
            self.fail(self.at, "an open group before )")
        self.at += 1
        self.depth -= 1
        _, self.flags, self.item = self.opened.pop()
        self.size = self.sizes.pop()
        self.sizes[-1] += self.size
        self.out.append(")")


class _Unknown(Outside):
    """A property that only the package supports."""

    def __init__(self, name: str, negated: bool) -> None:
        super().__init__(f"the property {name}")
        self.name, self.negated = name, negated


def code_point_ranges(members: Members) -> Ranges:
    """Return a set as ranges of code points."""
    changes = np.flatnonzero(np.diff(members, prepend=False, append=False))
    return changes.astype(np.int64).reshape(-1, 2)


def _character(code: int, fold: bool) -> Ranges:
    return code_point_ranges(one(code, True)) if fold else np.array([[code, code + 1]], np.int64)


def _border(kind: str) -> list[str | Ranges]:
    word = code_point_ranges(np.append(property_members("Word"), False))
    after, before, not_after, not_before = (
        ("(?<=", word, ")"),
        ("(?=", word, ")"),
        ("(?<!", word, ")"),
        ("(?!", word, ")"),
    )
    start, end = (*not_after, *before), (*after, *not_before)
    parts = {
        "start": start,
        "end": end,
        "start-half": not_after,
        "end-half": not_before,
        r"\b": (*start, "|", *end),
        r"\B": (*after, *before, "|", *not_after, *not_before),
    }
    return ["(?:", *parts[kind], ")"]


@lru_cache(16)
def _members_of(name: str) -> Members:
    """Return the characters with a property, from the package's own tables."""
    members = np.zeros(INVALID + 1, np.bool_)
    every = "".join(map(chr, range(INVALID)))
    for match in regex.compile(rf"\p{{{name}}}+").finditer(every):
        members[match.start() : match.end()] = True
    return members


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
    reader = Reader(pattern)
    reader.read()
    sets = {part.tobytes(): part for part in reader.out if not isinstance(part, str)}
    as_it_is = reader.references or len(sets) > MOST_SETS
    if as_it_is:
        classes, spelled = None, {key: _set_pattern(_in_text(part)) for key, part in sets.items()}
    else:
        classes, spelled = _classified(sets)
    text = "".join(part if isinstance(part, str) else spelled[part.tobytes()] for part in reader.out)
    try:
        return Fallback(pattern, classes, reader.pinned, regex.compile(text, regex.V0))
    except regex.error as error:
        raise InputError(f"invalid regex {pattern!r:.200}: {error.msg}") from None
    except (RecursionError, OverflowError, MemoryError) as error:
        raise InputError(f"pattern too large for the regex package: {pattern!r:.200} ({error})") from None


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
    spelled = {key: _set_pattern(code_point_ranges(row[first])) for key, row in zip(sets, rows, strict=False)}
    classes[SURROGATES] = classes[INVALID]
    return classes[:INVALID].copy(), spelled


def _in_text(ranges: Ranges) -> Ranges:
    """Return a set for matching in a str, where bytes that are not UTF-8 are surrogates."""
    members = np.zeros(INVALID + 1, np.bool_)
    for start, stop in ranges.tolist():
        members[start:stop] = True
    members[SURROGATES] = members[INVALID]
    return code_point_ranges(members[:INVALID])


def _set_pattern(ranges: Ranges) -> str:
    if not len(ranges):
        return r"[^\x00-\U0010FFFF]"
    parts = [rf"\U{a:08X}" + (rf"-\U{b - 1:08X}" if b - a > 1 else "") for a, b in ranges.tolist()]
    return parts[0] if len(parts) == 1 and "-" not in parts[0] else f"[{''.join(parts)}]"
