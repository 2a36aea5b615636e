"""Splitters: a rule and its fastest exact route."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, cached_property, lru_cache, partial
from itertools import pairwise
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.kernels.stored import stored
from subwords.spec.splitter import (
    ALIASES,
    NAMED,
    PATTERNS,
    Behavior,
    ByteChars,
    Prefix,
    Replace,
    Rule,
    Split,
    Step,
    escape,
    looks_like_steps,
    to_text,
)
from subwords.spec.vocab import tokens_to_text
from subwords.split.finders import (
    DroppingRoute,
    NumbersRoute,
    PrefixingRoute,
    StepsRoute,
    SymbolsRoute,
    finder,
    literal_strings,
    removed,
)
from subwords.split.pattern import Chars, Either, Node, Outside, Repeat, Then, parse_pattern
from subwords.split.routes import MachineRoute, MaskRoute, SplitBuffers, SplitCall, SplitRoute, WordChunk, by_masks
from subwords.split.transducer import Machine, compose_machines, unsplit
from subwords.split.word_spans import WordSpans, character_spans
from subwords.support.checks import encode_text
from subwords.support.errors import InputError
from subwords.support.names import looks_like_name, named
from subwords.support.value import digest_of

Bytes = NDArray[np.uint8]
LONGEST_SHOWN = 120  # characters of a pattern
MOST_ROUTES = 16  # routes cached by rule: building one takes up to 0.1 s and 32 MB


class Splitter:
    """A pre-tokenization rule, ready to split; immutable; made by `subwords.splitter`.

    Attributes: `rule`, the tuple of its steps; `name`, the name of the rule or None.
    """

    rule: Rule
    name: str | None
    route: SplitRoute
    _steps: Rule

    def __init__(self, rule: Rule) -> None:
        for step in rule:
            _check_step(step)
        whole = rule
        while rule and isinstance(rule[-1], ByteChars):  # changes what models read, not where words end
            rule = rule[:-1]
        self.__dict__.update(
            rule=whole,
            _steps=rule,
            name=next((name for name, steps in NAMED.items() if steps == rule), None),
            route=_route(rule),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.rule,)

    def __eq__(self, other: object) -> bool:
        return self.rule == other.rule if isinstance(other, Splitter) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.rule)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Splitter is immutable: {name!r} cannot be set; make another one with subwords.splitter")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Splitter is immutable: {name!r} cannot be deleted")

    @property
    def compiled(self) -> bool:
        """Whether the rule runs without a regex engine."""
        return self.route.compiled

    @property
    def keeps_text(self) -> bool:
        """Whether the joined words of a text equal the text."""
        changing = (step for step in self._steps if not isinstance(step, ByteChars))
        return all(isinstance(step, Split) and step.behavior != "removed" for step in changing)

    @cached_property
    def identity(self) -> str:
        """The rule as text that `subwords.splitter` accepts; identifies the rule in word counts."""
        match self._steps:
            # A pattern that equals or resembles a name would be read as a name.
            case (Split(pattern=pattern, behavior="isolated", invert=False),) if _only_a_pattern(pattern):
                return pattern
        return self.name or to_text(self._steps)

    @property
    def unicode_version(self) -> str:
        """The Unicode version of its character classes."""
        return self.route.unicode_version()

    def split(self, text: str) -> list[str]:
        """Return the words of a text after all steps of the rule.

        >>> import subwords
        >>> subwords.splitter("gpt2").split("Hello, world's end")
        ['Hello', ',', ' world', "'s", ' end']
        """
        word_spans = self.route.word_spans(_bytes_of(text))
        data = word_spans.text.tobytes()
        return [data[a:b].decode("utf-8", "replace") for a, b in pairwise(word_spans.words.tolist())]

    def spans(self, text: str) -> NDArray[np.int64]:
        """Return the character range of every word, int64 of shape (n, 2); dropped whitespace is in no range.

        A word may begin or end inside a character's bytes (`falcon`): then that character is in both ranges.

        >>> import subwords
        >>> subwords.splitter("whitespace").spans("Hello, world").tolist()
        [[0, 5], [5, 6], [7, 12]]
        """
        data = _bytes_of(text)
        return character_spans(data, self.byte_spans(data))

    def byte_spans(self, data: bytes | Bytes) -> NDArray[np.int64]:
        """Return the byte range of every word, int64 of shape (n, 2); `data` may be invalid UTF-8.

        Defined in ALGORITHMS.md, S2.
        """
        word_spans = self.route.word_spans(_as_array(data))
        return np.stack(
            [word_spans.origin[0, word_spans.words[:-1]], word_spans.origin[1, word_spans.words[1:] - 1]], axis=1
        )

    @property
    def shown(self) -> str:
        """The rule for messages: its name, or its pattern, or the names of its steps."""
        if self.name or len(self._steps) != 1 or not isinstance(self._steps[0], Split):
            return repr(self.name) if self.name else ", ".join(type(step).__name__ for step in self._steps) or "none"
        pattern = repr(self._steps[0].pattern)
        return pattern if len(pattern) <= LONGEST_SHOWN else f"{pattern[:LONGEST_SHOWN]}..."

    def __repr__(self) -> str:
        return f"Splitter({repr(self.name) if self.name else self.identity}, route: {self.route.name})"


class SplitterEngine(Splitter):
    """A splitter with the methods that encoding and counting use."""

    context = 0  # bytes before a cut, besides the last character, that decide about it

    @classmethod
    def of(cls, splitter: Splitter) -> SplitterEngine:
        """Return the engine of a splitter, which it may be already."""
        return splitter if isinstance(splitter, cls) else cls(splitter.rule)

    @cached_property
    def inside(self) -> SplitterEngine:
        """The splitter for text that does not start at the start of the input; itself if there is no difference."""
        rule = tuple(step for step in self.rule if not (isinstance(step, Prefix) and step.scheme == "first"))
        return self if rule == self.rule else SplitterEngine(rule)

    @property
    def growth(self) -> int:
        """The maximum output length as a multiple of the input length."""
        return self.route.growth

    def texts(
        self, text: Bytes, bounds: NDArray[np.int64], buffers: SplitBuffers, *, begins: bool = True, ends: bool = True
    ) -> Iterator[WordChunk]:
        """Split many texts, text[bounds[i]:bounds[i + 1]], in order; yield `routes.WordChunk`.

        `begins` and `ends` are ignored: they exist for `Pipeline.texts`.
        """
        return self.route.texts(text, bounds, buffers)

    def split_short(self, text: Bytes, buffers: SplitBuffers) -> int | None:
        """Split a text shorter than a chunk in one step, if possible; see `Route.split_short`."""
        return self.route.split_short(text, buffers)

    def fast_path(self, buffers: SplitBuffers, *, cuts: bool = False) -> SplitCall | None:
        """Return the call that splits texts, if one does; see `Route.fast_path`."""
        return self.route.fast_path(buffers, cuts=cuts)

    def word_spans(self, text: Bytes) -> WordSpans:
        """Return the words of one text, with their origin in it."""
        return self.route.word_spans(text)

    def cut(self, text: Bytes, at: int, *, begins: bool = True) -> int:
        """Return the last known position in text[:at] where a cut changes no word, whatever follows, or 0.

        Defined in ALGORITHMS.md, S4.

        `begins` is ignored: it exists for `Pipeline.cut`. Only the two characters beside a cut decide about it.
        """
        return self.route.cut(text, at)


@lru_cache(maxsize=MOST_ROUTES)
def _route(rule: Rule) -> SplitRoute:
    # Masks need the automaton only for text that is not ASCII: this saves 12 ms at start.
    found = by_masks(rule, partial(_machine_of, rule))
    if found is not None:
        return found

    return route(rule)


def _machine_of(rule: Rule) -> Machine:

    return machine_of(rule)


def _check_step(step: Step) -> None:
    match step:
        case Split(pattern, behavior, _):
            encode_text(pattern)
            if behavior not in get_args(Behavior):
                raise InputError(
                    f"expected behavior to be one of {', '.join(get_args(Behavior))}, not {behavior!r:.80}"
                )
        case Prefix(text, scheme):
            encode_text(text)
            if scheme not in ("always", "first"):
                raise InputError(f"expected scheme to be always or first, not {scheme!r:.80}")
        case Replace(old, new):
            if len(encode_text(old).decode()) != 1 or len(encode_text(new).decode()) != 1:
                raise InputError(f"expected Replace to have one character each, not {old!r:.80} and {new!r:.80}")


def _only_a_pattern(pattern: str) -> bool:
    """Whether `subwords.splitter` can read a pattern only as a pattern."""
    other = named(pattern, NAMED, ALIASES) or pattern == "null" or pattern.startswith('{"') or looks_like_steps(pattern)
    return not other and not looks_like_name(pattern)


def _as_array(data: bytes | Bytes) -> Bytes:
    if not isinstance(data, bytes | bytearray | memoryview | np.ndarray):
        raise InputError(f"expected bytes, not {type(data).__name__}")
    return np.frombuffer(data, np.uint8)


def _bytes_of(text: str) -> Bytes:
    if not isinstance(text, str):
        raise InputError(f"expected str, not {type(text).__name__}; byte_spans takes bytes")
    return np.frombuffer(encode_text(text), np.uint8)


# ---------------------------------------------------------------------------------------------------------------------
# Selects the fastest exact route for a rule.

DIGITS = slice(ord("0"), ord("9") + 1)
MUCH = 100  # pattern length in characters above which a trie is better than a machine


def route(rule: Rule) -> SplitRoute:
    """Return the fastest exact route of a rule that does not end with ByteChars."""
    return stored("route", digest_of(rule).encode(), lambda: _compiled(rule)) or StepsRoute(rule)


def _compiled(rule: Rule) -> SplitRoute | None:
    try:
        if parts := _prefixed(rule):
            first, prefix, last = parts
            drops = _dropped(first, alone=False)
            if drops[ord(prefix)]:
                return None
            machine = _machine_for((Split(first.pattern), last))
            return PrefixingRoute(machine, drops.astype(np.uint8), prefix.encode(), rule)
        if found := _numbered(rule):
            before, kinds = found
            return NumbersRoute(_machine_for(before), kinds, rule)
        if rule and isinstance(rule[0], Split) and removed(rule[0]):
            machine = _machine_for((Split(rule[0].pattern), *rule[1:]))
            return DroppingRoute(machine, _dropped(rule[0], alone=len(rule) == 1).astype(np.uint8), rule)
        if rule and isinstance(rule[0], Split) and (len(rule) > 1 or len(rule[0].pattern) > MUCH):
            symbols = literal_strings(rule[0])
            if symbols:
                return SymbolsRoute(symbols, MachineRoute(_machine_for(rule[1:])))
        machine = _machine_for(rule)
        if machine.identity == _gpt2_identity():
            return MaskRoute(rule, partial(machine_of, rule))
        return MachineRoute(machine)
    except Outside:
        return None


def _prefixed(rule: Rule) -> tuple[Split, str, Split] | None:
    """Return the step that drops words, the prefix, and the step that cuts before it; None for another rule."""
    match rule:
        case (Split() as first, Replace(" ", _), Prefix(prefix, "always"), Split(pattern) as last):
            spaces = not first.invert and first.pattern in (r"\s", r"\s+")  # then there is nothing to replace
            cuts = pattern == escape(prefix) and last.behavior == "merged_with_next" and not last.invert
            if removed(first) and spaces and len(prefix) == 1 and cuts:
                return first, prefix, last
    return None


def _numbered(rule: Rule) -> tuple[Rule, NDArray[np.uint8]] | None:
    """Return the steps before the last cuts around numbers, and the kind of each byte; None for another rule."""
    match rule:
        case (*before, ByteChars(), Split(pattern, "contiguous", invert), Split("[0-9][0-9][0-9]", "isolated", False)):
            node = parse_pattern(pattern)
            if invert or not isinstance(node, Chars) or not node.members[DIGITS].all():
                return None
            characters = tokens_to_text([bytes([byte]) for byte in range(256)])
            kinds = node.members[[ord(character) for character in characters]].astype(np.uint8)
            kinds[DIGITS] = 2
            return tuple(before), kinds
    return None


@cache
def _gpt2_identity() -> bytes:
    return machine_of((Split(PATTERNS["gpt2"]),)).identity


def machine_of(rule: Rule) -> Machine:
    """Return one machine for a whole rule; raises Outside if there is none."""
    return stored("machine", digest_of(rule).encode(), lambda: _machine_for(rule))


def _machine_for(rule: Rule) -> Machine:
    if not rule:
        return unsplit()
    made: Machine | None = None
    for step in reversed(rule):
        if not isinstance(step, Split):
            raise Outside(f"a {type(step).__name__} step")
        first = finder(step).machine()
        made = first if made is None else compose_machines(first, made)
    assert made is not None
    return made


def _dropped(step: Split, *, alone: bool) -> NDArray[np.bool_]:
    """Return the characters with which only dropped words begin; raises Outside if there is no such set.

    alone: no other step splits the words that are kept.

    Without `invert`, matches are dropped: each of them must be a run of some characters. With `invert`, the gaps are
    dropped: if every first character of a match is also a match by itself, gaps consist of the remaining characters.
    """
    node = parse_pattern(step.pattern)
    branches = node.branches if isinstance(node, Either) else (node,)
    runs = [members for branch in branches if (members := _run(branch)) is not None]
    found = np.logical_or.reduce(runs) if runs else np.zeros(layout.CODE_POINTS + 1, np.bool_)
    others = [branch for branch in branches if _run(branch) is None]
    if not step.invert:
        if others:
            raise Outside("not only runs of characters are dropped")
        return found
    for branch in others:
        first = branch.items[0] if isinstance(branch, Then) else branch
        if not isinstance(first, Chars) or (first.members & ~found).any():
            raise Outside("a match begins with a character that is dropped elsewhere")
        if not alone and any((members & ~found).any() for members in _sets(branch)):
            raise Outside("a match contains a character that is dropped elsewhere")
    return ~found


def _sets(node: Node) -> Iterator[NDArray[np.bool_]]:
    """Yield the characters of all sets of a pattern that a match may contain."""
    match node:
        case Chars():
            yield node.members
        case Repeat():
            yield from _sets(node.item)
        case Then() | Either():
            for part in node.items if isinstance(node, Then) else node.branches:
                yield from _sets(part)


def _run(node: Node) -> NDArray[np.bool_] | None:
    """Return the characters of a set or of a run of one or more of it; None for another node."""
    if isinstance(node, Repeat) and node.low == 1:
        node = node.item
    return node.members if isinstance(node, Chars) else None
