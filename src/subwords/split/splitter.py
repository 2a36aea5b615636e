"""Splitters: a rule and its fastest exact route."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from subwords.kernels.stored import stored
from subwords.spec.splitter import (
    ALIASES,
    NAMED,
    Behavior,
    ByteChars,
    Prefix,
    Replace,
    Rule,
    Split,
    Step,
    looks_like_steps,
    to_text,
)
from subwords.split.routes import (
    CasedRoute,
    GapsRoute,
    MachineRoute,
    MaskRoute,
    SplitBuffers,
    SplitCall,
    SplitRoute,
    WordChunk,
    by_masks,
)
from subwords.support.checks import encode_text, exact
from subwords.support.errors import InputError
from subwords.support.names import looks_like_name, named
from subwords.support.value import digest_of, unshared

if TYPE_CHECKING:
    from subwords.split.transducer import Machine
    from subwords.split.word_spans import WordSpans

Bytes = NDArray[np.uint8]
LONGEST_SHOWN = 120  # characters of a pattern
MOST_ROUTES = 16  # routes cached by rule: building one takes up to 0.1 s and 32 MB


class Splitter:
    """A pre-tokenization rule, ready to split; immutable; made by `subwords.splitter`.

    Attributes: `rule`, the tuple of its steps; `name`, the name of the rule or None.
    """

    rule: Rule
    name: str | None
    _steps: Rule
    _route: SplitRoute

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
            _route=route_of(rule),
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
        return self._route.compiled

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
        return self._route.unicode_version()

    def split(self, text: str) -> list[str]:
        """Return the words of a text after all steps of the rule.

        >>> import subwords
        >>> subwords.splitter("gpt2").split("Hello, world's end")
        ['Hello', ',', ' world', "'s", ' end']
        """
        word_spans = self._route.word_spans(_bytes_of(text))
        data = word_spans.text.tobytes()
        return [data[a:b].decode("utf-8", "replace") for a, b in pairwise(word_spans.words.tolist())]

    def spans(self, text: str) -> NDArray[np.int64]:
        """Return the character range of every word, int64 of shape (n, 2); dropped whitespace is in no range.

        A word may begin or end inside a character's bytes (`falcon`): then that character is in both ranges.

        >>> import subwords
        >>> subwords.splitter("whitespace").spans("Hello, world").tolist()
        [[0, 5], [5, 6], [7, 12]]
        """
        from subwords.split.word_spans import character_spans

        data = _bytes_of(text)
        return character_spans(data, self.byte_spans(data))

    def byte_spans(self, data: bytes | Bytes) -> NDArray[np.int64]:
        """Return the byte range of every word, int64 of shape (n, 2); `data` may be invalid UTF-8.

        Defined in ALGORITHMS.md, S2.
        """
        word_spans = self._route.word_spans(_as_array(data))
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
        return f"Splitter({repr(self.name) if self.name else self.identity}, route: {self._route.name})"


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

    @cached_property
    def route(self) -> SplitRoute:
        """How the rule runs."""
        return self._route

    @cached_property
    def machine(self) -> Machine | None:
        """The transducer that puts the borders of the text as it is; None if that is not all that the route does."""
        if type(self.route) not in (MachineRoute, MaskRoute, GapsRoute, CasedRoute):
            return None
        from subwords.split.selection import machine_of

        return machine_of(self._steps)

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

    def fast_path(self, buffers: SplitBuffers, *, cuts: bool = False, begins: bool = True) -> SplitCall | None:
        """Return the call that splits texts, if one does; see `Route.fast_path`. `begins` is ignored."""
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
def route_of(rule: Rule) -> SplitRoute:
    """Return the fastest exact route of a rule."""
    # Masks need the automaton only for text that is not ASCII: this saves 12 ms at start.
    found: SplitRoute | None = by_masks(rule)
    if found is not None:
        return found
    found = stored("route", digest_of(rule).encode(), partial(_machine_route, rule))
    if found is not None:
        return found
    from subwords.split.finders import StepsRoute

    return StepsRoute(rule)


def _machine_route(rule: Rule) -> SplitRoute | None:
    from subwords.split.selection import machine_route

    return machine_route(rule)


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
    other = pattern == "null" or pattern.startswith('{"') or looks_like_steps(pattern) or looks_like_name(pattern)
    return not other and not named(pattern, NAMED, ALIASES)


def _as_array(data: bytes | Bytes) -> Bytes:
    if isinstance(data, bytes):
        return np.frombuffer(exact(data), np.uint8)
    if not isinstance(data, bytearray | memoryview | np.ndarray):
        raise InputError(f"expected bytes, not {type(data).__name__}")
    found = np.asarray(data)
    if found.dtype != np.uint8 or found.ndim != 1:
        raise InputError(f"expected one dimension of bytes (uint8), not {found.ndim} of {found.dtype}")
    return unshared(found)  # another thread may write into it


def _bytes_of(text: str) -> Bytes:
    if not isinstance(text, str):
        raise InputError(f"expected str, not {type(text).__name__}; byte_spans takes bytes")
    return np.frombuffer(encode_text(text), np.uint8)
