"""The parser of pre-tokenization patterns: from a regex to a syntax tree over sets of characters.

It accepts the subset of regex syntax that real patterns use. Where engines differ, the tree has tiktoken's meaning, or
the syntax is unsupported here: `Outside` is raised and the caller falls back to the `regex` package.

Source: the syntax of the Rust crates regex and fancy-regex (tiktoken), of Oniguruma (HF tokenizers) and of `regex`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NoReturn, TypeAlias
from unicodedata import east_asian_width

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.spec.unicode import case_folds, property_members
from subwords.support.errors import InputError

# ---------------------------------------------------------------------------------------------------------------------
# Parses the sets of characters in a pattern: bracket expressions, escapes and properties.

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


# Limits that keep automata small.
MOST_REPEATS = 1000
MOST_SETS = 256

INTERVAL = re.compile(r"\{(?=[^}])([0-9]*)(,?)([0-9]*)\}")
ALL_FLAGS = re.compile(r"\(\?([is]+)\)")
FLAGS = re.compile(r"\(\?([is]*)(?:-([is]+))?:")
NAME = re.compile(r"\(\?P?<[A-Za-z_]\w*>")

CLOSED_GROUP = "a ) that closes the group"


class _Set:
    """A node that tests one character; equal if type and members are equal. The array becomes read-only."""

    members: Members

    def __post_init__(self) -> None:
        self.members.flags.writeable = False

    @cached_property
    def _key(self) -> tuple[bytes, bool]:
        return np.packbits(self.members).tobytes(), getattr(self, "negative", False)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@dataclass(frozen=True, eq=False)
class Chars(_Set):
    """One character of a set: `members`, bool of shape (0x110001,), an entry per code point and one for INVALID."""

    members: Members


@dataclass(frozen=True, eq=False)
class Look(_Set):
    """Matches the empty string before a member of the set; if `negative`, before any other character or the end."""

    members: Members
    negative: bool


@dataclass(frozen=True)
class End:
    """Matches the empty string at the end of the text."""


@dataclass(frozen=True)
class Then:
    """One item after another."""

    items: tuple[Node, ...]


@dataclass(frozen=True)
class Either:
    """The first branch with which the whole pattern can match."""

    branches: tuple[Node, ...]


@dataclass(frozen=True)
class Repeat:
    """An item `low` to `high` times (None: no limit), greedy; a possessive one never backtracks."""

    item: Node
    low: int
    high: int | None
    greedy: bool = True
    possessive: bool = False


Node: TypeAlias = Chars | Look | End | Then | Either | Repeat


def parse_pattern(pattern: str) -> Node:
    r"""Return the tree of a pattern.

    Raises InputError, with the position, for syntax that no engine accepts, and Outside, with the reason, for syntax
    that only other engines accept.

    >>> parse_pattern(r"(?:\s|$){2,}")  # doctest: +ELLIPSIS
    Repeat(item=Either(branches=(Chars(...), End())), low=2, high=None, greedy=True, possessive=False)
    """
    return _Parser(pattern).parse()


def literal(text: str) -> Node:
    """Return the tree that matches a text literally."""
    return _then([Chars(one(ord(character), False)) for character in text])


def _then(items: list[Node]) -> Node:
    return items[0] if len(items) == 1 else Then(tuple(items))


class _Parser(SetReader):
    def __init__(self, pattern: str) -> None:
        super().__init__(pattern)
        self.dot_all = False
        self.sets: dict[Chars, Chars] = {}
        self.characters: dict[tuple[int, bool], Chars] = {}

    def parse(self) -> Node:
        if flags := ALL_FLAGS.match(self.pattern):
            self.fold, self.dot_all = "i" in flags[1], "s" in flags[1]
            self.at = flags.end()
        node = self.either()
        if self.peek():
            self.fail(self.at, "an open group before )")
        return node

    def either(self) -> Node:
        branches = [self.then()]
        while self.take("|"):
            branches.append(self.then())
        return branches[0] if len(branches) == 1 else Either(tuple(branches))

    def then(self) -> Node:
        items = []
        while self.peek() not in ("", "|", ")"):
            items.append(self.repeated(self.atom()))
        return _then(items)

    def atom(self) -> Node:
        at, character = self.at, self.peek()
        if character in "*+?" or INTERVAL.match(self.pattern, at):
            self.fail(at, "an item to repeat before a quantifier")
        if character == "(":
            return self.group()
        if character == "[":
            return self.chars(self.bracket())
        if self.take("$") or self.take(r"\z") or self.take(r"\Z"):
            return End()
        if character == "\\":
            if self.ahead(r"\<") or self.ahead(r"\>"):
                self.outside(at, "the start or the end of a word")
            item = self.escape()
            return self.character(item) if isinstance(item, int) else self.chars(item)
        if character == "^":
            self.outside(at, "^")
        self.at += 1
        if character == ".":
            return self.chars(np.ones(INVALID + 1, np.bool_) if self.dot_all else ~one(ord("\n"), False))
        return self.character(ord(character))

    def repeated(self, item: Node) -> Node:
        """Return the item with the quantifiers that follow it."""
        at = self.at
        while bounds := self.quantifier():
            if isinstance(item, Look | End):
                self.outside(at, "a quantifier on an item without width")
            if self.take("?"):
                self.outside(at, "a lazy quantifier")
            item = Repeat(item, *bounds, possessive=self.take("+"))
            at = self.at
        return item

    def quantifier(self) -> tuple[int, int | None] | None:
        for sign, low, high in (("*", 0, None), ("+", 1, None), ("?", 0, 1)):
            if self.take(sign):
                return low, high
        at = self.at
        interval = INTERVAL.match(self.pattern, at)
        if not interval:
            return None
        self.at = interval.end()
        low = int(interval[1] or 0)
        high = int(interval[3]) if interval[3] else None if interval[2] else low
        if max(low, high or 0) > MOST_REPEATS:
            self.outside(at, f"more than {MOST_REPEATS} repeats")
        if high is not None and low > high:
            self.fail(at, "a quantifier whose minimum is not above its maximum", interval[0])
        return low, high

    def group(self) -> Node:
        opened, flags = self.at, (self.fold, self.dot_all)
        self.enter()
        kind = self.group_kind()
        node = self.either()
        if not self.take(")"):
            self.fail(opened, CLOSED_GROUP, "the end of the pattern")
        self.depth -= 1
        self.fold, self.dot_all = flags
        if kind == "(?>":
            return _atomic(node)
        if kind in ("(?=", "(?!"):
            return self.look(opened, node, kind == "(?!")
        return node

    def group_kind(self) -> str:
        """Read the start of a group and its flags; return it for a look-ahead or an atomic group, else ""."""
        at = self.at
        if flags := FLAGS.match(self.pattern, at):
            on, off = flags[1], flags[2] or ""
            self.fold = (self.fold or "i" in on) and "i" not in off
            self.dot_all = (self.dot_all or "s" in on) and "s" not in off
            self.at = flags.end()
        elif name := NAME.match(self.pattern, at):
            self.at = name.end()
        else:
            for kind in ("(?=", "(?!", "(?>"):
                if self.take(kind):
                    return kind
            self.at += 1
            if self.peek() == "?":
                if ")" not in self.pattern[at:]:
                    self.fail(at, CLOSED_GROUP, "the end of the pattern")
                look_behind = self.pattern.startswith(("(?<=", "(?<!"), at)
                self.outside(at, "look-behind" if look_behind else f"{self.pattern[at : at + 4]!r}")
        return ""

    def look(self, at: int, node: Node, negative: bool) -> Node:
        found = _first(node)
        if not found:
            self.outside(at, "a look-ahead wider than one character")
        members, end = found
        # (?=[ab]|$) is the same as (?![^ab]).
        return Look(~members, not negative) if end else Look(members, negative)

    def character(self, code: int) -> Chars:
        """Return the node of one character, from a cache: a lookup by its set takes 1 ms."""
        key = code, self.fold
        if key not in self.characters:
            self.characters[key] = self.chars(one(*key))
        return self.characters[key]

    def chars(self, members: Members) -> Chars:
        """Return the node of a set, the same object for equal sets."""
        node = Chars(members)
        node = self.sets.setdefault(node, node)
        if len(self.sets) > MOST_SETS:
            self.outside(self.at, f"more than {MOST_SETS} different sets")
        return node


def _atomic(node: Node) -> Node:
    if isinstance(node, Chars):
        return node
    if isinstance(node, Repeat):
        return replace(node, possessive=True)
    return Repeat(node, 1, 1, possessive=True)


def _first(node: Node) -> tuple[Members, bool] | None:
    """Return the characters that a node matches, and whether it matches the text's end; None if it is wider."""
    if isinstance(node, Chars):
        return node.members, False
    if isinstance(node, End):
        return np.zeros(INVALID + 1, np.bool_), True
    if not isinstance(node, Either):
        return None
    parts = [part for branch in node.branches if (part := _first(branch))]
    if len(parts) < len(node.branches):
        return None
    return np.logical_or.reduce([members for members, _ in parts]), any(end for _, end in parts)
