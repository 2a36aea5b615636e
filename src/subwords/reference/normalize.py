"""Normalization as the textbook has it: every step walks over the characters that the one before it left.

A step is any object whose class is called Bert, Form, Lowercase, StripAccents, Replace, Strip or Prepend, its settings
being attributes; see the functions of these names. A character remembers which character of the text it stands for.
Bytes that are not UTF-8 travel through `str` as lone surrogates, one per byte, which every step leaves alone.

What single characters are is asked of `characters`; these are those of Python's Unicode.

>>> from types import SimpleNamespace
>>> Lowercase = type("Lowercase", (SimpleNamespace,), {})
>>> normalize("Ab", [Lowercase()])
('ab', [0, 1])
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

from subwords.reference.pattern import find

__all__ = ["Characters", "bert", "form", "normalize", "replace", "strip"]

# A character, and the index of the one in the text that it stands for; -1 for none.
Char = tuple[str, int]
# A character in the middle of a normal form, and how many characters of the text it takes.
Weighted = tuple[str, int]

CHINESE = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF))
CHINESE_TOO = ((0x2A700, 0x2B81F), (0x2B920, 0x2CEAF), (0x2F800, 0x2FA1F))


class Characters:
    """What single characters are."""

    def control(self, char: str) -> bool:
        """Whether it is a control character, which BERT drops."""
        return unicodedata.category(char) in ("Cc", "Cf", "Co") and char not in "\t\n\r"

    def nonspacing(self, char: str) -> bool:
        """Whether it is a nonspacing mark."""
        return unicodedata.category(char) == "Mn"

    def mark(self, char: str) -> bool:
        """Whether it is a mark of any kind."""
        return unicodedata.category(char).startswith("M")

    def blank(self, char: str) -> bool:
        """Whether it has the property White_Space."""
        return char.isspace() and char not in "\x1c\x1d\x1e\x1f"

    def lower(self, char: str) -> str:
        """Its lower case."""
        return char.lower()

    def combining(self, char: str) -> int:
        """Its canonical combining class."""
        return unicodedata.combining(char)

    def decomposed(self, char: str, compatible: bool) -> str:
        """Its full decomposition."""
        return unicodedata.normalize("NFKD" if compatible else "NFD", char)

    def composed(self, first: str, second: str) -> str | None:
        """What two characters compose to, if they do."""
        both = unicodedata.normalize("NFC", first + second)
        return both if len(both) == 1 else None


def normalize(
    text: str | bytes,
    steps: Iterable[Any],
    characters: Characters = Characters(),  # noqa: B008
) -> tuple[str, list[int]]:
    """Return a text as it becomes, and for every character the index of the one it stands for; -1 for none."""
    string = text.decode("utf-8", "surrogateescape") if isinstance(text, bytes) else text
    chars = [(char, at) for at, char in enumerate(string)]
    for step in steps:
        chars = _applied(chars, step, characters)
    return _text(chars), [at for _, at in chars]


def _text(chars: list[Char]) -> str:
    return "".join(char for char, _ in chars)


def _applied(chars: list[Char], step: Any, characters: Characters) -> list[Char]:
    match type(step).__name__:
        case "Bert":
            return bert(chars, step, characters)
        case "Form":
            return form(chars, step.form, characters)
        case "Lowercase":
            return [(lower, at) for char, at in chars for lower in characters.lower(char)]
        case "StripAccents":
            return [(char, at) for char, at in chars if not characters.mark(char)]
        case "Replace":
            return replace(chars, step.pattern, step.content, step.regex)
        case "Strip":
            return strip(chars, step.left, step.right, characters)
        case "Prepend":
            return [(char, chars[0][1]) for char in step.text] + chars if chars else []
        case name:
            raise ValueError(f"expected a step of normalization, not a {name}")


def bert(chars: list[Char], step: Any, characters: Characters) -> list[Char]:
    """Clean, put spaces around Chinese characters, drop accents, lower: whatever of it is wanted, in this order."""
    if step.clean_text:
        chars = [(char, at) for char, at in chars if char not in "\0\ufffd" and not characters.control(char)]
        chars = [(" " if characters.blank(char) else char, at) for char, at in chars]
    if step.handle_chinese_chars:
        chars = [(part, at) for char, at in chars for part in (f" {char} " if _is_chinese(char) else char)]
    if step.lowercase if step.strip_accents is None else step.strip_accents:
        chars = [(char, at) for char, at in form(chars, "NFD", characters) if not characters.nonspacing(char)]
    if step.lowercase:
        chars = [(lower, at) for char, at in chars for lower in characters.lower(char)]
    return chars


def _is_chinese(char: str) -> bool:
    return any(first <= ord(char) <= last for first, last in (*CHINESE, *CHINESE_TOO))


def form(chars: list[Char], name: str, characters: Characters) -> list[Char]:
    """Put a text in the normal form NFC, NFD, NFKC or NFKD.

    As HF has it, a character takes as many characters of the text as it is made of, in the order of the text, however
    marks were sorted; what is the rest of a decomposition stands for the character before.
    """
    weighted: list[Weighted] = []
    for char, _ in chars:
        whole = characters.decomposed(char, "K" in name)
        weighted += [(part, int(index == 0)) for index, part in enumerate(whole)]
    weighted = _sorted(weighted, characters)
    if "C" in name:
        weighted = _composed(weighted, characters)
    out: list[Char] = []
    taken = 0
    for char, weight in weighted:
        out.append((char, chars[taken if weight else taken - 1][1]))
        taken += weight
    return out


def _sorted(weighted: list[Weighted], characters: Characters) -> list[Weighted]:
    """Sort the marks that follow each other by class."""
    out: list[Weighted] = []
    marks: list[Weighted] = []
    for item in [*weighted, ("a", 0)]:
        if characters.combining(item[0]):
            marks.append(item)
            continue
        out += [*sorted(marks, key=lambda mark: characters.combining(mark[0])), item]
        marks = []
    return out[:-1]


def _composed(weighted: list[Weighted], characters: Characters) -> list[Weighted]:
    """Compose with the last starter what no mark of its class or a higher one keeps from it."""
    out: list[Weighted] = []
    starter, last = -1, -1
    for char, weight in weighted:
        mark = characters.combining(char)
        both = characters.composed(out[starter][0], char) if starter >= 0 and last < mark else None
        if both:
            out[starter] = (both, out[starter][1] + weight)
            continue
        if mark == 0:
            starter, last = len(out), -1
        elif starter >= 0:
            last = mark
        out.append((char, weight))
    return out


def replace(chars: list[Char], pattern: str, content: str, is_regex: bool) -> list[Char]:
    """Put the content in the place of every match; it stands for the match's last character, or that before it."""
    if len(chars) == 0:
        return []
    escaped = pattern if is_regex else "".join(f"\\U{ord(char):08x}" for char in pattern)
    out: list[Char] = []
    for start, end, matches in find(escaped, _text(chars)):
        before = chars[end - 1][1] if end else -1
        out += [(char, before) for char in content] if matches else chars[start:end]
    return out


def strip(chars: list[Char], left: bool, right: bool, characters: Characters) -> list[Char]:
    """Drop the blanks at the ends."""
    start, stop = 0, len(chars)
    while left and start < stop and characters.blank(chars[start][0]):
        start += 1
    while right and start < stop and characters.blank(chars[stop - 1][0]):
        stop -= 1
    return chars[start:stop]
