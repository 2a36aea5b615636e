"""The parser of patterns: from a regex to a syntax tree over sets of characters.

`automaton.py` makes an automaton of the tree. If the pattern can have none, `fallback.py` writes the tree for the
`regex` package. Where engines differ, the tree has tiktoken's meaning. Flags, comments, word borders, `$` and similar
syntax are expanded, so that the package's own interpretation plays no role.

Source: the syntax of the Rust crates regex and fancy-regex (tiktoken), of Oniguruma (HF tokenizers) and of `regex`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import NamedTuple, NoReturn, TypeAlias
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

DEEPEST = 100  # nested brackets or groups
NEAR_SHOWN = 30  # characters of a pattern that an error shows on either side

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
    """The reason why a pattern has no automaton."""


@lru_cache(maxsize=16)  # 1 MB each
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


@lru_cache(maxsize=16)  # 1 MB each
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


class Flags(NamedTuple):
    """The flags i, s, m and x at a position of the pattern."""

    fold: bool = False
    dot_all: bool = False
    lines: bool = False
    spaced: bool = False


class SetReader:
    """A position in a pattern, and methods that read one set there.

    pinned: whether all sets come from the pinned Unicode version. why: the first reason why there is no automaton.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.depth = 0
        self.flags = Flags()
        self.pinned = True
        self.why = ""

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
        """Raise Outside for syntax that neither an automaton nor the fallback has."""
        raise Outside(f"{what} at character {at}")

    def note(self, at: int, what: str) -> None:
        """Keep the first reason why the pattern has no automaton."""
        self.why = self.why or f"{what} at character {at}"

    def enter(self) -> None:
        """Go one level deeper, at most DEEPEST."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise InputError(f"pattern nested too deeply: expected at most {DEEPEST} nested groups or sets")

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
        return folded(members) if self.flags.fold else members

    def nested(self) -> Members:
        """Read a set inside another set: in brackets or by a POSIX name."""
        at, posix = self.at, POSIX.match(self.pattern, self.at)
        if not posix:
            return self.bracket()
        self.at = posix.end()
        if posix[2] not in ASCII_SETS:
            self.fail(at, f"one of {', '.join(ASCII_SETS)} between [: and :]", posix[0])
        members = _ascii(ASCII_SETS[posix[2]])
        members = folded(members) if self.flags.fold else members
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
            members = _property(spelling, self.flags.fold)
        except KeyError:
            known = _known_to_regex(spelling)
            if known is None:
                self.fail(at, "a Unicode property", self.pattern[at : self.at])
            self.note(at, f"the property {self.pattern[at : self.at]}")
            self.pinned = False
            members = folded(known.copy()) if self.flags.fold else known
        return ~members if negated != (name[1] == "^") else members


@lru_cache(16)
def _known_to_regex(name: str) -> Members | None:
    """Return the characters with a property that only the `regex` package has; None if it has not."""
    import regex

    if not re.fullmatch(r"[\w\s:=&./-]+", name):  # for the package, `\p` is then a letter
        return None
    try:
        found = regex.compile(rf"\p{{{name}}}+")
    except regex.error:
        return None
    members = np.zeros(INVALID + 1, np.bool_)
    for match in found.finditer("".join(map(chr, range(INVALID)))):
        members[match.start() : match.end()] = True
    return members


def _pointed(pattern: str, at: int) -> str:
    """Return the pattern around a character, with a caret below that character."""
    first, last = max(0, at - NEAR_SHOWN), at + NEAR_SHOWN
    shown = [c if c.isprintable() else ascii(c)[1:-1] for c in pattern[first:last]]
    before, after = "..." * (first > 0), "..." * (last < len(pattern))
    left = before + "".join(shown[: at - first])
    columns = sum(2 if east_asian_width(c) in "WF" else 1 for c in left)
    return f"  {before}{''.join(shown)}{after}\n  {' ' * columns}^"


# Limits that keep automata small.
MOST_REPEATS = 1000
MOST_SETS = 256

INTERVAL = re.compile(r"\{(?=[^}])([0-9]*)(,?)([0-9]*)\}")
QUANTIFIERS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
FLAGS = re.compile(r"\(\?([imsux]*)(?:-([imsx]+))?([:)])")
GROUPS = re.compile(r"\(\?(?:[=!>|]|<[=!]|P?<[A-Za-z_]\w*>|\((?:[1-9][0-9]?|[A-Za-z_]\w*)\))")
IGNORED = re.compile(r"\(\?#[^)]*\)")
SPACED = re.compile(r"\s+|#[^\n]*")
REFERENCE = re.compile(r"\\([1-9][0-9]?)|\\k(?:<(\w+)>|'(\w+)')|\(\?P=(\w+)\)")
BORDER = re.compile(r"\\b(?:\{(start|end|start-half|end-half)\})?|\\[B<>]")
BORDERS = {r"\<": "start", r"\>": "end"}
LINE_FEEDS = np.array([[0x0A, 0x0E], [0x85, 0x86], [0x2028, 0x202A]], np.int64)

CLOSED_GROUP = "a ) that closes the group"

Ranges = NDArray[np.int64]  # shape (n, 2): the first code point of a range, and the one after its last


def ranges_of(members: Members) -> Ranges:
    """Return a set as ranges of code points."""
    changes = np.flatnonzero(np.diff(members, prepend=False, append=False))
    return changes.astype(np.int64).reshape(-1, 2)


@dataclass(frozen=True)
class Chars:
    """One character of a set, given by the bytes of its ranges."""

    ranges: bytes

    @cached_property
    def members(self) -> Members:
        """The set, bool of shape (0x110001,), an entry per code point and one for INVALID; read-only."""
        members = np.zeros(INVALID + 1, np.bool_)
        for first, last in np.frombuffer(self.ranges, np.int64).reshape(-1, 2).tolist():
            members[first:last] = True
        members.flags.writeable = False
        return members


@dataclass(frozen=True)
class Look:
    """Matches the empty string before a member of the set; if `negative`, before any other character or the end."""

    chars: Chars
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


@dataclass(frozen=True)
class OtherGroup:
    """A group that no automaton has: `opening` is the syntax of the `regex` package."""

    opening: str
    item: Node


@dataclass(frozen=True)
class Verbatim:
    """Syntax of the `regex` package that no automaton has."""

    text: str


Node: TypeAlias = Chars | Look | End | Then | Either | Repeat | OtherGroup | Verbatim


class Syntax(NamedTuple):
    """The tree of a pattern.

    why: the reason why it has no automaton, or "". pinned: whether all its sets come from the pinned Unicode version.
    references: whether it has back-references; only then the tree has the groups that they mean.
    """

    tree: Node
    why: str
    pinned: bool
    references: bool


def syntax_of(pattern: str) -> Syntax:
    """Return the tree of a pattern.

    Raises InputError, with the position, for syntax that no engine accepts, and Outside, with the reason, for syntax
    that only other engines accept.
    """
    parser = _Parser(pattern, captures=False)
    tree = parser.parse()
    if parser.references:
        parser = _Parser(pattern, captures=True)
        tree = parser.parse()
    return Syntax(tree, parser.why, parser.pinned, parser.references)


def parse_pattern(pattern: str) -> Node:
    r"""Return the tree of a pattern for an automaton; as `syntax_of`, with Outside also for what no automaton has.

    >>> parse_pattern(r"(?:\s|$){2,}")  # doctest: +ELLIPSIS
    Repeat(item=Either(branches=(Chars(...), End())), low=2, high=None, greedy=True, possessive=False)
    """
    found = syntax_of(pattern)
    if found.why:
        raise Outside(found.why)
    return found.tree


@dataclass
class _Open:
    """An open group: its position, its opening, the flags around it, and its branches so far."""

    at: int
    opening: str
    flags: Flags
    branches: list[list[Node]] = field(default_factory=lambda: [[]])

    def node(self) -> Node:
        branches = [_then(branch) for branch in self.branches]
        return branches[0] if len(branches) == 1 else Either(tuple(branches))


def _then(items: list[Node]) -> Node:
    return items[0] if len(items) == 1 else Then(tuple(items))


class _Parser(SetReader):
    def __init__(self, pattern: str, *, captures: bool) -> None:
        super().__init__(pattern)
        self.captures, self.references = captures, False
        self.open = [_Open(0, "", self.flags)]
        self.repeatable = False  # whether a quantifier may follow
        self.sets: dict[bytes, Chars] = {}

    def parse(self) -> Node:
        while self.peek():
            if not self.ignored():
                self.token()
        if len(self.open) > 1:
            self.fail(self.open[-1].at, CLOSED_GROUP, "the end of the pattern")
        return self.open[0].node()

    def ignored(self) -> bool:
        """Skip a comment or, with the flag x, whitespace or a comment up to the end of the line."""
        found = IGNORED.match(self.pattern, self.at) or (self.flags.spaced and SPACED.match(self.pattern, self.at))
        self.at = found.end() if found else self.at
        return bool(found)

    def token(self) -> None:
        """Read an item, a quantifier, or one of ( ) |."""
        character = self.peek()
        if character in "*+?" or INTERVAL.match(self.pattern, self.at):
            self.quantifier()
        elif character == "|":
            self.at += 1
            self.open[-1].branches.append([])
            self.repeatable = False
        elif found := REFERENCE.match(self.pattern, self.at):
            self.reference(found)
        elif character == "(":
            self.group()
        elif character == ")":
            self.close()
        else:
            self.add(self.atom())

    def add(self, item: Node) -> None:
        self.open[-1].branches[-1].append(item)
        self.repeatable = True

    def atom(self) -> Node:
        at, character = self.at, self.peek()
        if character == "[":
            members = self.bracket()
            if self.flags.spaced and re.search(r"(?<!\\)\s", self.pattern[at : self.at]):
                self.outside(at, "whitespace in a set with the flag x")
            return self.chars(ranges_of(members))
        if character == "\\":
            return self.escaped()
        self.at += 1
        if character == "^":
            self.note(at, "^")
            return OtherGroup("(?<!", self.dot(dot_all=False)) if self.flags.lines else Verbatim(r"(?:\A)")
        if character == "$":
            return Look(self.dot(dot_all=False), negative=True) if self.flags.lines else End()
        return self.dot(self.flags.dot_all) if character == "." else self.character(ord(character))

    def dot(self, dot_all: bool) -> Chars:
        every = [[0, INVALID + 1]] if dot_all else [[0, ord("\n")], [ord("\n") + 1, INVALID + 1]]
        return self.chars(np.array(every, np.int64))

    def escaped(self) -> Node:
        at, sign = self.at, self.pattern[self.at : self.at + 2]
        border = BORDER.match(self.pattern, at)
        if border or sign in (r"\A", r"\G", r"\K", r"\R"):
            self.note(at, "the start or the end of a word" if sign in BORDERS else sign)
        if border:
            self.at = border.end()
            return self.border(BORDERS.get(sign, border[1] or sign))
        if sign in (r"\A", r"\G", r"\K", r"\R", r"\z", r"\Z"):
            self.at += 2
            if sign == r"\R":
                crlf = Then((self.chars(_character(ord("\r"), False)), self.chars(_character(ord("\n"), False))))
                return _atomic(Either((crlf, self.chars(LINE_FEEDS))))
            return End() if sign.lower() == r"\z" else Verbatim(f"(?:{sign})")
        item = self.escape()
        return self.character(item) if isinstance(item, int) else self.chars(ranges_of(item))

    def border(self, kind: str) -> Node:
        word = self.chars(ranges_of(_property("Word", False)))
        after, before, not_after, not_before = (OtherGroup(opening, word) for opening in ("(?<=", "(?=", "(?<!", "(?!"))
        start, end = Then((not_after, before)), Then((after, not_before))
        kinds: dict[str, Node] = {
            "start": start,
            "end": end,
            "start-half": not_after,
            "end-half": not_before,
            r"\b": Either((start, end)),
            r"\B": Either((Then((after, before)), Then((not_after, not_before)))),
        }
        return kinds[kind]

    def reference(self, found: re.Match[str]) -> None:
        at, self.at, self.references = self.at, found.end(), True
        self.note(at, found[0][:2] if found[0][0] == "\\" else repr(found[0][:4]))
        name = next(filter(None, found.groups()))
        self.add(Verbatim(f"(?{'i' * self.flags.fold}:" + (rf"\{name})" if name.isdigit() else f"(?P={name}))")))

    def quantifier(self) -> None:
        """Read a quantifier; a second one applies to the item and the first."""
        at, interval = self.at, INTERVAL.match(self.pattern, self.at)
        if not self.repeatable:
            self.fail(at, "an item to repeat before a quantifier")
        if interval:
            self.at = interval.end()
            low = int(interval[1] or 0)
            high = int(interval[3]) if interval[3] else None if interval[2] else low
            if high is not None and low > high:
                self.fail(at, "a quantifier whose minimum is not above its maximum", interval[0])
            if max(low, high or 0) > MOST_REPEATS:
                self.note(at, f"more than {MOST_REPEATS} repeats")
        else:
            low, high = QUANTIFIERS[self.peek()]
            self.at += 1
        items = self.open[-1].branches[-1]
        item, lazy = items.pop(), self.take("?")
        if isinstance(item, Look | End):
            self.note(at, "a quantifier on an item without width")
        if lazy:
            self.note(at, "a lazy quantifier")
        items.append(Repeat(item, low, high, not lazy, possessive=not lazy and self.take("+")))

    def group(self) -> None:
        """Read the start of a group, or flags."""
        at, outer, opening = self.at, self.flags, "("
        self.repeatable = False
        if flags := FLAGS.match(self.pattern, at):
            self.at, opening = flags.end(), ""
            on, off = flags[1], flags[2] or ""
            signs = zip(outer, "ismx", strict=True)
            self.flags = Flags(*((now or sign in on) and sign not in off for now, sign in signs))
            if flags[3] == ")":
                return
        elif kind := GROUPS.match(self.pattern, at):
            opening, self.at = kind[0], kind.end()
            if opening in ("(?<=", "(?<!"):
                self.note(at, "look-behind")
            elif opening[2] in "|(":
                self.note(at, repr(self.pattern[at : at + 4]))
                self.references |= opening[2] == "("
        else:
            self.at += 1
            if self.peek() == "?":
                if ")" not in self.pattern[at:]:
                    self.fail(at, CLOSED_GROUP, "the end of the pattern")
                self.outside(at, repr(self.pattern[at : at + 4]))
        self.enter()
        self.open.append(_Open(at, opening, outer))

    def close(self) -> None:
        """Read the end of a group and restore the outer flags."""
        if len(self.open) == 1:
            self.fail(self.at, "an open group before )")
        self.at += 1
        self.depth -= 1
        group = self.open.pop()
        self.flags, node, opening = group.flags, group.node(), group.opening
        if opening == "(?>":
            node = _atomic(node)
        elif opening in ("(?=", "(?!"):
            node = self.look(group.at, node, opening)
        elif opening and (self.captures or not (opening == "(" or opening.endswith(">"))):
            node = OtherGroup(opening, node)
        self.add(node)

    def look(self, at: int, node: Node, opening: str) -> Node:
        found = _first(node)
        if not found:
            self.note(at, "a look-ahead wider than one character")
            return OtherGroup(opening, node)
        members, end = found
        # (?=[ab]|$) is the same as (?![^ab]).
        return Look(self.chars(ranges_of(~members if end else members)), negative=(opening == "(?!") != end)

    def character(self, code: int) -> Chars:
        return self.chars(_character(code, self.flags.fold))

    def chars(self, ranges: Ranges) -> Chars:
        """Return the node of a set, the same object for equal sets."""
        key = ranges.tobytes()
        node = self.sets.setdefault(key, Chars(key))
        if len(self.sets) > MOST_SETS:
            self.note(self.at, f"more than {MOST_SETS} different sets")
        return node


@lru_cache(256)
def _character(code: int, fold: bool) -> Ranges:
    return ranges_of(one(code, True)) if fold else np.array([[code, code + 1]], np.int64)


def _atomic(node: Node) -> Node:
    if isinstance(node, Chars):
        return node
    if isinstance(node, Repeat) and node.greedy:
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
