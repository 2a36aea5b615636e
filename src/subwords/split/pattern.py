"""The parser of pre-tokenization patterns: from a regex to a syntax tree over sets of characters.

It accepts the subset of regex syntax that real patterns use. Where engines differ, the tree has tiktoken's meaning, or
the syntax is unsupported here: `Outside` is raised and the caller falls back to the `regex` package.

Source: the syntax of the Rust crates regex and fancy-regex (tiktoken), of Oniguruma (HF tokenizers) and of `regex`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from subwords.split.sets import INVALID, Members, Outside, SetReader, one

__all__ = ["INVALID", "Chars", "Either", "End", "Look", "Node", "Outside", "Repeat", "Then", "literal", "parse"]

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


def parse(pattern: str) -> Node:
    r"""Return the tree of a pattern.

    Raises InputError, with the position, for syntax that no engine accepts, and Outside, with the reason, for syntax
    that only other engines accept.

    >>> parse(r"(?:\s|$){2,}")  # doctest: +ELLIPSIS
    Repeat(item=Either(branches=(Chars(...), End())), low=2, high=None, greedy=True, possessive=False)
    """
    return _Parser(pattern).parse()


def literal(text: str) -> Node:
    """Return the tree that matches a text literally."""
    return _joined([Chars(one(ord(character), False)) for character in text])


def _joined(items: list[Node]) -> Node:
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
        return _joined(items)

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
