"""How a template writes answers, learned by rendering probes: a graph of fields, with the text between two (H7).

A probe is an answer whose fields are marked words. It is rendered after a question, and what stands between two marks
is the text by which one kind of field follows another. So a grammar of all answers comes from about 60 renderings.

Text is a str in which a control token is one lone surrogate, a *unit*: what only spells a token never equals it.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from typing import Any, NamedTuple

from subwords.chat.conversation import Chatter, Options
from subwords.chat.owned_text import Record
from subwords.chat.pieces import Control, Rendering
from subwords.chat.plain import listed, messages_of
from subwords.chat.template import MOST_KEPT
from subwords.support.errors import InputError
from subwords.support.report import Report, Table

# Kinds of fields. ARGUMENTS: of a call, as JSON; else each has a KEY and a STRING, or another VALUE as JSON or Python.
START, REASONING, CONTENT, NAME, ARGUMENTS = "start", "reasoning", "content", "name", "arguments"
KEY, STRING, VALUE, ID, END = "key", "string", "value", "id", "end"
NUMBER = "\udfff"  # in the text between fields: any number, such as that of a call
_OTHER_TOKEN = "\udffe"  # a control token for which there is no unit: it is in no text that a template writes
_FIRST_UNIT, _MOST_UNITS = 0xD800, 2046
_SPELLINGS: tuple[dict[str, Any], ...] = ({}, {"separators": (",", ":")}, {"indent": 2}, {"indent": 4})
_QUESTION = {"role": "user", "content": "Hello there"}
_TYPES = {str: "string", int: "integer", list: "array", dict: "object"}
_REFUSED = "; read the ids of the answer yourself: tok.decode(ids), chat.answered(ids, message)"

Edges = Mapping[str, Sequence[tuple[str, str]]]


def is_control(unit: str) -> bool:
    """Whether a character is a control token."""
    return "\ud800" <= unit <= _OTHER_TOKEN


class Alphabet:
    """The units of control tokens."""

    def __init__(self, control: Control, source: str) -> None:
        """Name the tokens of a template first: there are models with more of them than there are surrogates."""
        contents = sorted(control.tokens, key=lambda content: content not in source)[:_MOST_UNITS]
        self.units: dict[str, str] = {content: chr(_FIRST_UNIT + n) for n, content in enumerate(contents)}
        self.contents: dict[str, str] = {unit: content for content, unit in self.units.items()}
        self.by_id: dict[int, str] = {
            token.id: self.units.get(content, _OTHER_TOKEN) for content, token in control.tokens.items()
        }

    def of(self, rendering: Rendering, start: int, stop: int) -> str:
        """Return some characters of a rendering, with its control tokens as units."""
        found, at = list[str](), start
        for first, last, token in rendering.found:
            if start <= first and last <= stop:
                found += (rendering.text[at:first], self.units.get(token.content, _OTHER_TOKEN))
                at = last
        return "".join(found) + rendering.text[at:stop]

    def text(self, units: str) -> str:
        """Return units as text, control tokens spelled."""
        if units.isascii():
            return units
        return "".join(self.contents.get(each, "\ufffd" if is_control(each) else each) for each in units)


class Turns:
    """What a template writes for an answer to a conversation."""

    def __init__(self, chatter: Chatter, options: Options, messages: Sequence[Record], alphabet: Alphabet) -> None:
        self._chatter, self._options, self._messages, self._alphabet = chatter, options, [*messages], alphabet
        self._plain, self._prompted = (chatter.render(messages, options, prompt=prompt) for prompt in (False, True))
        self._same = _common(self._plain.text, self._prompted.text)

    def answer(self, message: Mapping[str, Any], *, past: bool = False) -> str:
        """Return the units of an answer, from where the generation prompt begins on; blanks after its end left out.

        past: as it is when the conversation goes on: many templates then leave reasoning out.
        """
        whole = self._whole([message, _QUESTION] if past else [message])
        turn = self._alphabet.of(whole, self._begin(whole)[1], whole.turn(len(self._messages))[1])
        last = max((at for at, each in enumerate(turn) if is_control(each)), default=-1)
        return turn if last < 0 or turn[last + 1 :].strip() else turn[: last + 1]

    @cached_property
    def prompt(self) -> str:
        """The units of the generation prompt, as the beginning of an answer."""
        whole = self._whole([{"role": "assistant", "content": "x"}])
        return self._alphabet.of(self._prompted, self._begin(whole)[0], len(self._prompted.text))

    def _whole(self, more: Sequence[Mapping[str, Any]]) -> Rendering:
        records = messages_of(more, self._options.trusted, len(self._messages))
        return self._chatter.render([*self._messages, *records], self._options, prompt=False)

    def _begin(self, whole: Rendering) -> tuple[int, int]:
        """Return where the answer begins: in the text that ends with the prompt, and in that with the answer."""
        same, (start, _) = self._same, whole.turn(len(self._messages))
        if self._prompted.text[:start] == whole.text[:start]:
            same = min(same, start)
        for each in (self._plain, self._prompted):  # not within a control token
            same = next((first for first, last, _ in each.found if first < same < last), same)
        return same, same if self._prompted.text[:same] == whole.text[:same] else start


def _common(a: str, b: str) -> int:
    return next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


@dataclass(frozen=True)
class ReplyFormat(Report):
    """How a template writes answers; made by `Tokenizer.reply_format`. Immutable.

    steps: (kind of field, the text after it, kind of the next one), control tokens spelled in the text. reasoning,
    tools: whether the template writes these in its last message. arguments: "dict" or "text", what it takes as the
    arguments of a call; None without tools. changes: control tokens at which it cuts content that spells them: such
    a message and a shorter one have the same text.
    """

    steps: tuple[tuple[str, str, str], ...]
    reasoning: bool
    tools: bool
    arguments: str | None
    changes: tuple[str, ...]

    def tables(self) -> list[Table]:
        """Return the steps."""
        rows = [(kind, json.dumps(text, ensure_ascii=False), after) for kind, text, after in self.steps]
        return [Table(("after", "text", "comes"), rows, "How the template writes answers", "tab:reply-format")]

    def notes(self) -> list[str]:
        """Return what the template changes in messages."""
        told = ", ".join(self.changes)
        return [f"The template cuts content that spells one of these: {told}."] if told else []


class Learned(NamedTuple):
    """The grammar of a template's answers.

    edges: of a kind, the units after it and the kind that follows. as_text: arguments are given as JSON text. untyped:
    a string looks as another value does. dropped: the kinds that the template leaves out.
    """

    edges: Edges
    alphabet: Alphabet
    as_text: bool
    untyped: bool
    changes: tuple[str, ...]

    @property
    def shown(self) -> ReplyFormat:
        """The same as a table."""
        spell = self.alphabet.text
        steps = [
            (kind, "<number>".join(map(spell, literal.split(NUMBER))), after)
            for kind, pairs in self.edges.items()
            for literal, after in pairs
        ]
        kinds = {after for _, _, after in steps}
        arguments = ("text" if self.as_text else "dict") if NAME in kinds else None
        return ReplyFormat((*steps,), REASONING in kinds, NAME in kinds, arguments, self.changes)


class _Probe(NamedTuple):
    """An answer with marks; empty for none."""

    reasoning: str
    content: str
    calls: list[tuple[str, dict[str, Any]]]

    def message(self, *, as_text: bool) -> dict[str, Any]:
        found: dict[str, Any] = {"role": "assistant", "content": self.content}
        if self.reasoning:
            found["reasoning_content"] = self.reasoning
        if self.calls:
            found["tool_calls"] = [
                call_of(name, json.dumps(given, ensure_ascii=False) if as_text else given, _id(number))
                for number, (name, given) in enumerate(self.calls)
            ]
        return found


def call_of(name: str, arguments: object, id: str | None = None) -> dict[str, Any]:
    """Return a call as messages have it."""
    found = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return found if id is None else {"id": id, **found}


def _id(number: int) -> str:
    return f"qid{number:06d}"  # nine letters and digits, as Mistral's templates want it


def _values(tag: str, number: int) -> dict[str, Any]:
    """Return a value of each type with a mark in it."""
    return {"s": f"q{tag}s{number}v", "i": 7130200 + number, "l": [f"q{tag}l{number}v"], "d": {f"z{tag}{number}": 4}}


def _probes(tag: str) -> Iterator[_Probe]:
    """Yield answers with reasoning or without, with content or without, and calls: the types of their arguments."""
    full = ["", "s", "i", "l", "d", "ss", "si", "is", "ii", "sis", "+", "s+", "+s", "i+i", "s+i", "i+s", "s+s", "s+s+s"]
    few = ["", "s", "s+s", "+"]
    for reasoning, content in product((False, True), repeat=2):
        for shape in [None, *(full if content != reasoning else few)]:
            calls, number = list[tuple[str, dict[str, Any]]](), 0
            for place, types in enumerate([] if shape is None else shape.split("+")):
                given = {f"q{tag}{kind}{number + n}y": _values(tag, number + n)[kind] for n, kind in enumerate(types)}
                calls.append((f"q{tag}fn{place}x", given))
                number += len(types)
            yield _Probe(f"Q{tag}reasonZ" if reasoning else "", f"Q{tag}contentZ" if content else "", calls)


def _tools(tag: str) -> list[dict[str, Any]]:
    """Return the tools that the probes call."""
    keys = {f"q{tag}{kind}{n}y": value for n in range(3) for kind, value in _values(tag, n).items()}
    entries = {key: {"type": _TYPES[type(value)], "description": "d"} for key, value in keys.items()}
    schema = {"type": "object", "properties": entries, "required": []}
    names = [f"q{tag}fn{place}x" for place in range(3)]
    return [
        {"type": "function", "function": {"name": name, "description": "d", "parameters": schema}} for name in names
    ]


def learned(chatter: Chatter, options: Options) -> Learned:
    """Return the grammar of a template's answers; InputError if none can be learned. Kept for a tokenizer."""
    key = options.template.source, repr(sorted(options.variables.items()))
    if (found := chatter.formats.get(key)) is None:
        found = _learned(chatter, options._replace(tools=None, documents=None, trusted={}))
        if len(chatter.formats) >= MOST_KEPT:
            chatter.formats.clear()
        chatter.formats[key] = found
    if isinstance(found, str):
        raise InputError(found)
    assert isinstance(found, Learned)
    return found


def _learned(chatter: Chatter, options: Options) -> Learned | str:
    alphabet = Alphabet(options.control, options.template.source)
    best = _Collected()
    for as_text in (False, True):
        found = _Collected(as_text)
        for tag, past in (("a", False), ("bb", True)):
            found.collect(chatter, options, alphabet, tag, past=past)
        if {NAME, CONTENT} & found.seen > {NAME, CONTENT} & best.seen or not best.seen:
            best = found
        if NAME in found.seen:
            break
    if CONTENT not in best.seen:
        return f"no grammar of answers: the template shows no content of its last message{best.fault}{_REFUSED}"
    edges, untyped = best.grammar()
    return Learned(edges, alphabet, best.as_text, untyped, _changes(chatter, options, alphabet))


class _Collected:
    """The edges that probes show."""

    def __init__(self, as_text: bool = False) -> None:
        self.as_text, self.fault = as_text, ""
        self.edges: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
        self.seen: set[str] = set()

    def collect(self, chatter: Chatter, options: Options, alphabet: Alphabet, tag: str, *, past: bool) -> None:
        """Render all probes after a question; as the last message or, past, before another question."""
        plain = _history(chatter, options, alphabet, [_QUESTION])
        tools = options._replace(tools=listed(_tools(tag), "tools"))
        called = _history(chatter, tools, alphabet, [_QUESTION])
        result = [_Probe("", "", [(f"q{tag}fn0x", {f"q{tag}s0y": "v"})]).message(as_text=self.as_text)]
        result += [{"role": "tool", "tool_call_id": _id(0), "name": f"q{tag}fn0x", "content": "v"}]
        after_result = None if past else _history(chatter, tools, alphabet, [_QUESTION, *result])
        for probe in _probes(tag):
            self._add(called if probe.calls else plain, probe, past=past)
            if not probe.calls or (after_result is not None and len(probe.calls) == len(probe.calls[0][1]) == 1):
                self._add(after_result, probe, past=past)

    def _add(self, turns: Turns | None, probe: _Probe, *, past: bool) -> None:
        if turns is None:
            return
        try:
            units = turns.answer(probe.message(as_text=self.as_text), past=past)
        except InputError as error:
            self.fault = f" ({error!s:.200})"
            return
        holes = _holes(units, probe)
        kinds = [kind for _, _, kind in holes or ()]
        needed = any(given for _, given in probe.calls)
        if holes is None or kinds.count(NAME) < len(probe.calls) or (needed and not {ARGUMENTS, KEY} & {*kinds}):
            return
        self.seen |= {*kinds}
        at, last = 0, START
        for start, stop, kind in [*holes, (len(units), len(units), END)]:
            self.edges[last].add((units[at:start], kind))
            at, last = stop, kind

    def grammar(self) -> tuple[Edges, bool]:
        """Return the edges, the longest text first, and whether strings look as other values do."""
        found = {kind: _numbered(pairs) for kind, pairs in self.edges.items()}
        follow = found.get(ARGUMENTS, [])
        empty = {(f"{a}{{}}{b}", after) for a, kind in found.get(NAME, ()) if kind == ARGUMENTS for b, after in follow}
        if NAME in found:  # `{}` is a case of ARGUMENTS
            found[NAME] = [each for each in found[NAME] if each not in empty]
        texts: dict[str, set[str]] = {
            kind: {text for text, k in found.get(KEY, ()) if k == kind} for kind in (STRING, VALUE)
        }
        untyped = bool(texts[VALUE]) and texts[VALUE] <= texts[STRING]
        if untyped:  # a string is read, and may be another value: two readings of each would be too many of all
            found = {
                kind: [each for each in pairs if each[1] != VALUE] for kind, pairs in found.items() if kind != VALUE
            }
        return found, untyped


def _history(chatter: Chatter, options: Options, alphabet: Alphabet, messages: list[Any]) -> Turns | None:
    try:
        return Turns(chatter, options, messages_of(messages, {}), alphabet)
    except InputError:
        return None


def _holes(units: str, probe: _Probe) -> list[tuple[int, int, str]] | None:
    """Return where marks are and of which kind; None if one is there twice, or arguments only in part."""
    found = list[tuple[int, int, str]]()
    for text, kind in _marks(units, probe):
        count = units.count(text)
        if count == 1:
            found.append((units.index(text), units.index(text) + len(text), kind))
        elif count > 1 or kind in (KEY, STRING, VALUE):
            return None
    found.sort()
    return None if any(a[1] > b[0] for a, b in pairwise(found)) else found


def _marks(units: str, probe: _Probe) -> Iterator[tuple[str, str]]:
    """Yield the marked texts of a probe, as the template spells them, with their kinds."""
    yield from ((text, kind) for text, kind in ((probe.reasoning, REASONING), (probe.content, CONTENT)) if text)
    for number, (name, given) in enumerate(probe.calls):
        yield from ((name, NAME), (_id(number), ID))
        spelled = [json.dumps(given, ensure_ascii=False, **each) for each in _SPELLINGS]
        whole = [text for text in (*spelled, json.dumps(spelled[0])) if given and units.count(text) == 1]
        if whole:
            yield max(whole, key=len), ARGUMENTS
            continue
        for key, value in given.items():
            yield key, KEY
            quoted = json.dumps(value)
            if isinstance(value, str):
                yield (quoted, VALUE) if quoted in units else (value, STRING)
            else:
                spelled = [json.dumps(value, **each) for each in _SPELLINGS]
                yield next((text for text in spelled if units.count(text) == 1), str(value)), VALUE


def _numbered(pairs: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return edges, the longest text first, with NUMBER where texts differ only in a number; none without any text.

    A field that follows another with nothing between would begin at each character.
    """
    groups: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for literal, kind in pairs:
        groups[re.sub(r"[0-9]+", NUMBER, literal), kind].add(literal)
    found = [(general if len(each) > 1 else min(each), kind) for (general, kind), each in groups.items()]
    return sorted(found, key=lambda pair: (-len(pair[0]), pair))


def _changes(chatter: Chatter, options: Options, alphabet: Alphabet) -> tuple[str, ...]:
    """Return the control tokens at which the template cuts content that spells them."""
    turns = _history(chatter, options, alphabet, [_QUESTION])
    found = list[str]()
    for content in alphabet.units if turns is not None else ():
        text = f"Qbefore{content}Qafter"
        if content in options.template.source and turns is not None:
            try:
                if text not in turns.answer({"role": "assistant", "content": text}):
                    found.append(content)
            except InputError:
                found.append(content)
    return (*found,)
