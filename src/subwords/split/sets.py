"""Parses the sets of characters in a pattern: bracket expressions, escapes and properties."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NoReturn
from unicodedata import east_asian_width

import numpy as np
from numpy.typing import NDArray

from subwords.errors import InputError
from subwords.kernels import layout
from subwords.unicode.tables import case_folds, property_members

Members = NDArray[np.bool_]

# The last entry of a set: a byte that is not UTF-8. No class contains it, so only negated sets do (S2).
INVALID = layout.CODE_POINTS

DEEPEST = 50  # nested brackets or groups
NEAR = 30  # characters of a pattern that an error shows on either side

POSIX = re.compile(r"\[:(\^?)(\w+):\]")
PROPERTY = re.compile(r"\{(\^?)([^{}]*)\}|([A-Za-z])")
DIGITS = {"x": 2, "u": 4, "U": 8}
HEX = {letter: re.compile(rf"\{{([0-9A-Fa-f]+)\}}|([0-9A-Fa-f]{{{n}}})") for letter, n in DIGITS.items()}

CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "a": "\a"}
CLASSES = {"s": "White_Space", "w": "Word", "d": "Nd", "h": "ASCII_Hex_Digit"}
# [:alpha:] and the other POSIX classes: ranges of ASCII, as in Rust's regex crate.
ASCII_SETS = {
    "alpha": "AZaz",
    "digit": "09",
    "alnum": "AZaz09",
    "upper": "AZ",
    "lower": "az",
    "word": "AZaz09__",
    "xdigit": "09AFaf",
    "punct": "!/:@[`{~",
    "graph": "!~",
    "print": " ~",
    "space": "\t\r  ",
    "blank": "\t\t  ",
    "cntrl": "\0\x1f\x7f\x7f",
    "ascii": "\0\x7f",
}


class Outside(Exception):  # noqa: N818
    """The reason why the `regex` package must run a pattern: syntax that this parser does not support."""


@lru_cache(maxsize=64)
def one(code: int, fold: bool) -> Members:
    """Return the set of one character; if `fold`, also of the characters that differ from it only in case."""
    members = np.zeros(INVALID + 1, np.bool_)
    members[code] = True
    return folded(members) if fold else members


def _ascii(ranges: str) -> Members:
    members = np.zeros(INVALID + 1, np.bool_)
    for first, last in zip(ranges[::2], ranges[1::2], strict=True):
        members[ord(first) : ord(last) + 1] = True
    return members


@lru_cache(maxsize=64)
def _property(name: str, fold: bool) -> Members:
    if name == "ASCII_Hex_Digit":
        return _ascii(ASCII_SETS["xdigit"])
    members = np.append(property_members(name), False)
    return folded(members) if fold else members


def folded(members: Members) -> Members:
    """Add to a set, in place, all characters that differ from its members only in case; return it."""
    codes, least = case_folds().T
    members[codes[np.isin(least, least[members[codes]])]] = True
    return members


class SetReader:
    """A position in a pattern, and methods that read one set there."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.depth = 0
        self.fold = False

    def peek(self) -> str:
        """Return the next character, or "" at the end."""
        return self.pattern[self.at : self.at + 1]

    def ahead(self, text: str) -> bool:
        """Whether the rest of the pattern starts with a text."""
        return self.pattern.startswith(text, self.at)

    def take(self, text: str) -> bool:
        """Skip a text if it is next; return whether it was."""
        taken = self.ahead(text)
        self.at += len(text) * taken
        return taken

    def fail(self, at: int, expected: str, came: str | None = None) -> NoReturn:
        """Raise InputError for syntax that no engine accepts."""
        came = came or (repr(self.pattern[at]) if at < len(self.pattern) else "the end of the pattern")
        raise InputError(f"expected {expected} at character {at}, got {came}:\n{_pointed(self.pattern, at)}")

    def outside(self, at: int, what: str) -> NoReturn:
        """Raise Outside with the reason why another engine must run the pattern."""
        raise Outside(f"{what} at character {at}")

    def enter(self) -> None:
        """Go one level deeper, at most DEEPEST."""
        self.depth += 1
        if self.depth > DEEPEST:
            self.outside(self.at, f"nesting deeper than {DEEPEST}")

    def bracket(self) -> Members:
        """Read the set in square brackets that starts here."""
        opened = self.at
        self.enter()
        self.at += 1
        negated = self.take("^")
        members = self.operand(self.at)
        while not self.take("]"):
            if self.take("&&"):
                members &= self.operand()
            elif self.take("--"):
                members &= ~self.operand()
            elif self.take("~~"):
                members ^= self.operand()
            else:
                self.fail(opened, "a ] that closes the set", "the end of the pattern")
        self.depth -= 1
        return ~members if negated else members

    def operand(self, start: int | None = None) -> Members:
        """Read the members of a set up to its end or its next operator; a ] at `start` is literal."""
        members = np.zeros(INVALID + 1, np.bool_)
        single = True
        while (character := self.peek()) and (character != "]" or self.at == start) and not self.ahead("&&"):
            at = self.at
            if self.ahead("~~") or (self.ahead("--") and not single):
                break
            if self.ahead("--"):
                self.outside(at, f"{character * 2} in a set")
            item = self.nested() if character == "[" else self.member()
            single = isinstance(item, int)
            if not isinstance(item, int):
                members |= item
                continue
            last = self.range_end(at, item)
            single = last == item
            members[item : last + 1] = True
        return folded(members) if self.fold else members

    def nested(self) -> Members:
        """Read a set inside another set: in brackets or by a POSIX name."""
        at, posix = self.at, POSIX.match(self.pattern, self.at)
        if not posix:
            return self.bracket()
        self.at = posix.end()
        if posix[2] not in ASCII_SETS:
            self.fail(at, f"one of {', '.join(ASCII_SETS)} between [: and :]", posix[0])
        members = _ascii(ASCII_SETS[posix[2]])
        members = folded(members) if self.fold else members
        return ~members if posix[1] else members

    def range_end(self, at: int, first: int) -> int:
        """Read the last character of the range that starts with `first` at `at`; `first` if there is no range."""
        if not self.ahead("-") or self.pattern[self.at + 1 : self.at + 2] in ("", "-", "]"):
            return first
        self.at += 1
        last = None if self.peek() == "[" else self.member()
        if not isinstance(last, int):
            self.outside(at, "a range that ends in a set")
        if last < first:
            self.fail(at, "a range in ascending order", self.pattern[at : self.at])
        return last

    def member(self) -> int | Members:
        """Read one item of a bracketed set."""
        if self.ahead("\\"):
            return self.escape()
        self.at += 1
        return ord(self.pattern[self.at - 1])

    def escape(self) -> int | Members:
        """Read the character or the set of an escape."""
        at, letter = self.at, self.pattern[self.at + 1 : self.at + 2]
        self.at += 2
        if letter in CONTROLS:
            return ord(CONTROLS[letter])
        if letter in HEX:
            return self.code(at, letter)
        if letter in ("p", "P"):
            return self.property(at, letter == "P")
        if letter.lower() in CLASSES:
            members = _property(CLASSES[letter.lower()], False)
            return ~members if letter.isupper() else members
        if not letter:
            self.fail(at + 1, "a character after the backslash")
        if letter.isascii() and letter.isalnum():
            self.outside(at, f"\\{letter}")
        return ord(letter)

    def code(self, at: int, letter: str) -> int:
        r"""Read the character of \x, \u or \U."""
        digits = HEX[letter].match(self.pattern, self.at)
        if not digits:
            self.fail(self.at, f"{DIGITS[letter]} hexadecimal digits, or some in braces,")
        self.at = digits.end()
        code = int(digits[1] or digits[2], 16)
        if code >= layout.CODE_POINTS:
            self.fail(at, "a code point up to 10FFFF", self.pattern[at : self.at])
        return code

    def property(self, at: int, negated: bool) -> Members:
        r"""Read the set of \p or \P."""
        name = PROPERTY.match(self.pattern, self.at)
        if not name:
            self.fail(self.at, "a property such as L or {Greek}")
        self.at = name.end()
        spelling = name[2] or name[3] or ""
        try:
            members = _property(spelling, self.fold)
        except KeyError:
            if _known_to_regex(spelling):
                self.unknown_property(at, spelling, name[1] == "^")
            self.fail(at, "a Unicode property", self.pattern[at : self.at])
        return ~members if negated != (name[1] == "^") else members

    def unknown_property(self, at: int, name: str, negated: bool) -> NoReturn:
        """Raise Outside for a property that only the `regex` package supports."""
        self.outside(at, f"the property {self.pattern[at : self.at]}")


def _known_to_regex(name: str) -> bool:
    import regex

    try:
        regex.compile(rf"\p{{{name}}}")
    except regex.error:
        return False
    return True


def _pointed(pattern: str, at: int) -> str:
    """Return the pattern around a character, with a caret below that character."""
    first, last = max(0, at - NEAR), at + NEAR
    shown = [c if c.isprintable() else ascii(c)[1:-1] for c in pattern[first:last]]
    before, after = "..." * (first > 0), "..." * (last < len(pattern))
    left = before + "".join(shown[: at - first])
    columns = sum(2 if east_asian_width(c) in "WF" else 1 for c in left)
    return f"  {before}{''.join(shown)}{after}\n  {' ' * columns}^"
