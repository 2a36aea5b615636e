"""Where the paragraphs, sections and blocks of a document begin (ALGORITHMS.md, D9)."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import NamedTuple

# A single newline inside a paragraph, with spaces before it.
_WRAP = re.compile(r"(?<=\S)[ \t]*\r?\n(?=[ \t]*\S)")
_GAP = re.compile(r"\n(?:[ \t\r]*\n)+")
_ONE_LINE = re.compile(r"[^\n]*\n?")

_FENCE = re.compile(r"(`{3,}(?=[^`\n]*$)|~{3,})")
_HEADING = re.compile(r"#{1,6}(?=[ \t\r\n]|$)")
_UNDERLINE = re.compile(r"(?:=+|-+)[ \t]*\r?\n?$")
_ITEM = re.compile(r"([-+*]|\d{1,9}[.)])(?:[ \t]+|(?=\r?\n|$))")
_DELIMITERS = re.compile(r"(?=[^\n]*\|)\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*\r?\n?$")


class Structure(NamedTuple):
    """Places of a text, ascending, by kind. whole: fences and tables, which are not cut if they fit."""

    places: dict[str, list[int]]
    whole: list[tuple[int, int]]

    def last(self, kind: str, start: int, stop: int) -> int:
        """Return the last place of a kind after `start`, at most `stop`; `start` if there is none."""
        places = self.places[kind]
        at = bisect_right(places, stop) - 1
        return places[at] if at >= 0 and places[at] > start else start

    def over(self, place: int) -> tuple[int, int] | None:
        """Return the fence or table that a place is inside, if there is one."""
        at = bisect_left(self.whole, (place,)) - 1
        return self.whole[at] if at >= 0 and self.whole[at][1] > place else None


def paragraph_structure(text: str) -> Structure:
    """Return the places after blank lines."""
    return Structure({"paragraph": [match.end() for match in _GAP.finditer(text)]}, [])


class _MarkdownReader:
    """Reads Markdown line by line, as far as CommonMark's blocks and GitHub's tables decide where parts end."""

    def __init__(self) -> None:
        self.places: dict[str, list[int]] = {"heading": [], "block": [], "item": []}
        self.whole: list[tuple[int, int]] = []
        self._indents: list[int] = []  # where the content of open list items begins
        self._paragraph = -1  # where the open paragraph begins
        self._kept = ""  # the fence or "table" that is open
        self._begin = 0  # where it begins
        self._was = "blank"  # the kind of the line before
        self._line = ""  # and the line, if it is of a paragraph

    def read(self, at: int, line: str) -> None:
        """Read the line that begins at a place."""
        in_fence = self._kept not in ("", "table")
        if in_fence and not self._indents and self._kept[0] not in line:
            return
        if self._was == "text" and not self._kept and line[0].isalpha() and "|" not in line:  # most lines
            self._line = line
            return
        content = line.strip(" \t\r\n")
        lead = line[: len(line) - len(line.lstrip(" \t"))]
        indent = len(lead) + 3 * lead.count("\t")
        if in_fence:
            self._in_fence(at, line, content, indent)
            return
        if not content:
            self._end_table(at)
            self._was, self._paragraph = ("after heading" if "heading" in self._was else "blank"), -1
            return
        outer = [each for each in self._indents if each <= indent]
        inner = indent - (outer[-1] if outer else 0)
        if inner <= 3 and (fence := _FENCE.match(content)):
            self._end_table(at)
            self._block(at)
            self._kept, self._begin, self._paragraph, self._indents = fence[1], at, -1, outer
        elif inner <= 3 and self._is_heading(at, content):
            self._was, self._paragraph, self._indents = "heading", -1, outer
        elif self._kept or (self._paragraph >= 0 and "|" in self._line and _DELIMITERS.match(content)):
            self._in_table(at)
        else:
            if self._paragraph < 0:
                self._indents = outer
            self._in_text(at, line, content, indent, outer if inner <= 3 else None)

    def _in_fence(self, at: int, line: str, content: str, indent: int) -> None:
        limit = self._indents[-1] if self._indents else 0
        if content and indent < limit:  # the list item ends, and with it the fence
            self._end(at)
            self._indents.clear()
            self.read(at, line)
        elif len(content) >= len(self._kept) and not content.strip(self._kept[0]) and indent - limit <= 3:
            self._end(at + len(line))

    def _end(self, at: int) -> None:
        """End what is open."""
        self.whole.append((self._begin, at))
        self._add("block", at)
        self._kept, self._was = "", "end"

    def _end_table(self, at: int) -> None:
        if self._kept == "table":
            self._end(at)

    def _is_heading(self, at: int, content: str) -> bool:
        if _HEADING.match(content):
            self._end_table(at)
            self._add("heading", at)
            self._add("block", at)
            return True
        if self._paragraph >= 0 and self._was == "text" and _UNDERLINE.match(content):
            self._add("heading", self._paragraph)
            self._add("block", self._paragraph)
            return True
        return False

    def _in_table(self, at: int) -> None:
        if not self._kept:
            self._kept, self._begin = "table", at - len(self._line)
            if self._begin > self._paragraph:
                self._add("block", self._begin)
            self._paragraph = -1

    def _in_text(self, at: int, line: str, content: str, indent: int, outer: list[int] | None) -> None:
        item = None if outer is None else _ITEM.match(content)
        if self._was in ("blank", "after heading", "end"):
            self._block(at)
        if item and outer is not None:
            self._add("item", at)
            self._indents = [*outer, indent + min(len(item[0]), len(item[1]) + 4)]
        if self._paragraph < 0 or item:
            self._paragraph = at
        self._line, self._was = line, "item" if item or (self._was == "item" and self._paragraph < at) else "text"

    def _block(self, at: int) -> None:
        """Let a block begin, unless it is the first one of a heading."""
        if self._was not in ("heading", "after heading"):
            self._add("block", at)

    def _add(self, kind: str, at: int) -> None:
        places = self.places[kind]
        if at and (not places or places[-1] < at):
            places.append(at)

    def finish(self, size: int) -> Structure:
        """Return what was read."""
        if self._kept:
            self._end(size)
        return Structure(self.places, self.whole)


def unwrapped(text: str, structure: Structure | None) -> str:
    """Return the text with spaces for single newlines inside paragraphs: not beside what `structure` has."""
    if structure is None or "heading" not in structure.places:
        return _WRAP.sub(lambda match: " " * len(match[0]), text)
    begins = {place for places in structure.places.values() for place in places}

    def flat(match: re.Match[str]) -> str:
        line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip(" \t")
        stays = match.end() in begins or structure.over(match.end()) or _HEADING.match(line) or _UNDERLINE.match(line)
        return match[0] if stays else " " * len(match[0])

    return _WRAP.sub(flat, text)


def markdown_structure(text: str) -> Structure:
    """Return the places of Markdown: before headings, between blocks and before items of lists."""
    reader = _MarkdownReader()
    for match in _ONE_LINE.finditer(text):
        if match[0]:
            reader.read(match.start(), match[0])
    return reader.finish(len(text))
