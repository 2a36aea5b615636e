"""How a template writes answers, learned by rendering probes: a graph of fields, with the text between two (H7).

A probe is an answer whose fields are marked words. It is rendered after a question, and what stands between two marks
is the text by which one kind of field follows another. So a grammar of all answers comes from about 60 renderings.

Text is a str in which a control token is one lone surrogate, a *unit*: what only spells a token never equals it.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
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
# OBJECT, in loosened grammars: a call as JSON, with its keys in any order.
START, REASONING, CONTENT, NAME, ARGUMENTS = "start", "reasoning", "content", "name", "arguments"
KEY, STRING, VALUE, ID, OBJECT, END = "key", "string", "value", "id", "object", "end"
WHOLE = frozenset({NAME, KEY, ID, OBJECT})  # fields that are told when they are closed
NUMBER = "\udfff"  # in the text between fields: any number, such as that of a call
_OTHER_TOKEN = "\udffe"  # a control token for which there is no unit: it is in no text that a template writes
_FIRST_UNIT, _MOST_UNITS = 0xD800, 2046
_SPELLINGS: tuple[dict[str, Any], ...] = ({}, {"separators": (",", ":")}, {"indent": 2}, {"indent": 4})
_QUESTION = {"role": "user", "content": "Hello there"}
_AROUND_CUT = (("\n", "\n\n"), ("", ""))  # before the tag that ends reasoning, and after it
_CLOSER = re.compile(r"<(/)[^<>\s]+>|\[(/)\w+\]")  # a tag that ends something
_OPENS_OBJECT = re.compile(r'\{\s*"(\w+)":\s*"$')
_IN_OBJECT = re.compile(r'"?,\s*"(\w+)":\s*"?$')
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


def loosened(edges: Edges) -> Edges:
    """Return edges with what models write besides.

    Text after a call, a call before reasoning ends, a call whose object has its keys in any order, no whitespace
    between a field and what follows.
    """
    found = {kind: [*pairs] for kind, pairs in edges.items()}
    keyed = object_keys(edges) is not None
    ends = {text[-1:] for text, kind in edges[CONTENT] if kind == END}
    for kind, pairs in edges.items():
        for text, after in pairs:
            if after == END and kind not in (REASONING, CONTENT):
                found[kind].append((text[:-1] if text[-1:] in ends else text, CONTENT))
            if keyed and after == NAME and (opens := _OPENS_OBJECT.search(text)):
                found[kind].append((text[: opens.start()], OBJECT))
    if keyed:
        closed = (pair for kind in (ARGUMENTS, ID) for pair in found.get(kind, ()))
        found[OBJECT] = [(text.lstrip('"')[1:], after) for text, after in closed if text.lstrip('"')[:1] == "}"]
    calls = [pair for pair in found[CONTENT] if pair[1] in (NAME, ID, OBJECT)]
    found[REASONING] = [*found.get(REASONING, ()), *calls]
    spaced = {kind: ((text.lstrip(), after) for text, after in pairs if text.strip()) for kind, pairs in found.items()}
    return {kind: [*dict.fromkeys([*pairs, *spaced[kind]])] for kind, pairs in found.items()}


def object_keys(edges: Edges) -> list[str] | None:
    """Return the keys of name, arguments and id, if there is one, in the object that a format writes for a call."""
    keys = dict[str, None]()
    for found in (_OPENS_OBJECT.search(text) for pairs in edges.values() for text, _ in pairs):
        keys |= {found[1]: None} if found else {}
    opens = len(keys)
    for kind, to in ((NAME, ARGUMENTS), (ARGUMENTS, ID)):
        for found in (_IN_OBJECT.match(text) for text, after in edges.get(kind, ()) if after == to):
            keys |= {found[1]: None} if found else {}
    return [*keys] if opens == 1 and 2 <= len(keys) <= 3 else None


def with_parts(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message with its content as a list of one part."""
    return {**message, "content": [{"type": "text", "text": message["content"]}]}


class Turns:
    """What a template writes for an answer to a conversation. as_parts: it takes content as a list of parts."""

    def __init__(
        self,
        chatter: Chatter,
        options: Options,
        messages: Sequence[Record],
        alphabet: Alphabet,
        *,
        as_parts: bool = False,
    ) -> None:
        self._chatter, self._options, self._messages, self._alphabet = chatter, options, [*messages], alphabet
        self._as_parts = as_parts
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
        more = [*map(with_parts, more)] if self._as_parts else more
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
    a message and a shorter one have the same text. cut: of a template that shows no reasoning, the tag that ends what
    is read as reasoning; None for others.
    """

    steps: tuple[tuple[str, str, str], ...]
    reasoning: bool
    tools: bool
    arguments: str | None
    changes: tuple[str, ...]
    cut: str | None

    def tables(self) -> list[Table]:
        """Return the steps."""
        rows = [(kind, json.dumps(text, ensure_ascii=False), after) for kind, text, after in self.steps]
        return [Table(("after", "text", "comes"), rows, "How the template writes answers", "tab:reply-format")]

    def notes(self) -> list[str]:
        """Return what the template changes in messages, or leaves out."""
        found = (
            [f"The template cuts content that spells one of these: {', '.join(self.changes)}."] if self.changes else []
        )
        return found + (
            [] if self.cut is None else [f"The template shows no reasoning; {self.cut} ends it in answers."]
        )


class Learned(NamedTuple):
    """The grammar of a template's answers.

    edges: of a kind, the units after it and the kind that follows. quote: the control token that quotes texts in
    values, or "". untyped: a string looks as another value does. changes: control tokens at which content is cut. cut:
    of a template that shows no reasoning, the tag after which it shows content, and the one that begins reasoning.
    as_text, as_parts: arguments are given as JSON text, and content as a list of parts.
    """

    edges: Edges
    alphabet: Alphabet
    quote: str
    untyped: bool
    changes: tuple[str, ...]
    cut: tuple[str, str] | None
    as_text: bool
    as_parts: bool

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
        cut = None if self.cut is None else spell(self.cut[0])
        return ReplyFormat((*steps,), REASONING in kinds and cut is None, NAME in kinds, arguments, self.changes, cut)


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


def _tools(probes: Iterable[_Probe]) -> list[dict[str, Any]]:
    """Return the tools that probes call, with no more than the arguments that they give: each costs time to render."""
    given: dict[str, dict[str, Any]] = {}
    for name, arguments in (call for probe in probes for call in probe.calls):
        entries = {key: {"type": _TYPES[type(value)], "description": "d"} for key, value in arguments.items()}
        given.setdefault(name, {}).update(entries)
    schemas = ((name, {"type": "object", "properties": each, "required": []}) for name, each in given.items())
    return [
        {"type": "function", "function": {"name": name, "description": "d", "parameters": schema}}
        for name, schema in schemas
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
    for as_parts, as_text in product((False, True), repeat=2):
        found = _Collected(as_text, as_parts)
        for tag, past in (("a", False), ("bb", True)):
            found.collect(chatter, options, alphabet, tag, past=past)
        if {NAME, CONTENT} & found.seen > {NAME, CONTENT} & best.seen or not best.seen:
            best = found
        if NAME in best.seen or (as_text and CONTENT in best.seen):
            break
    if CONTENT not in best.seen:
        return f"no grammar of answers: the template shows no content of its last message{best.fault}{_REFUSED}"
    edges, untyped = best.grammar()
    turns = _history(chatter, options, alphabet, [_QUESTION], as_parts=best.as_parts)
    cut = None if REASONING in best.seen or turns is None else _cut(turns, alphabet, options.template.source)
    edges = edges if cut is None else _with_cut(edges, *cut)
    changes = (*_changes(turns, alphabet, options.template.source),) if turns is not None else ()
    return Learned(edges, alphabet, best.quote, untyped, changes, cut, best.as_text, best.as_parts)


class _Collected:
    """The edges that probes show."""

    def __init__(self, as_text: bool = False, as_parts: bool = False) -> None:
        self.as_text, self.as_parts, self.fault, self.quote = as_text, as_parts, "", ""
        self.edges: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
        self.seen: set[str] = set()

    def collect(self, chatter: Chatter, options: Options, alphabet: Alphabet, tag: str, *, past: bool) -> None:
        """Render all probes after a question; as the last message or, past, before another question."""
        history = partial(_history, chatter, alphabet=alphabet, as_parts=self.as_parts)
        plain = history(options, messages=[_QUESTION])
        tools = options._replace(tools=listed(_tools(_probes(tag)), "tools"))
        called = history(tools, messages=[_QUESTION])
        result = [_Probe("", "", [(f"q{tag}fn0x", {f"q{tag}s0y": "v"})]).message(as_text=self.as_text)]
        result += [{"role": "tool", "tool_call_id": _id(0), "name": f"q{tag}fn0x", "content": "v"}]
        after_result = None if past else history(tools, messages=[_QUESTION, *result])
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
            if kind == VALUE and is_control(second := units[start + 1 : start + 2]):
                self.quote = second

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


def _history(
    chatter: Chatter, options: Options, alphabet: Alphabet, messages: list[Any], *, as_parts: bool
) -> Turns | None:
    try:
        messages = [*map(with_parts, messages)] if as_parts else messages
        return Turns(chatter, options, messages_of(messages, {}), alphabet, as_parts=as_parts)
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
                spelled = [*(json.dumps(value, **each) for each in _SPELLINGS), *_quoted(units, value)]
                yield next((text for text in spelled if units.count(text) == 1), str(value)), VALUE


def _quoted(units: str, value: Any) -> Iterator[str]:
    """Yield a list or a dict as it is where nothing quotes keys, and a control token quotes texts."""
    if isinstance(value, list) and (found := re.search(rf"\[([\ud800-\udffe]){value[0]}\1\]", units)):
        yield found[0]
    elif isinstance(value, dict):
        yield json.dumps(value, separators=(",", ":")).replace('"', "")


def _numbered(pairs: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return edges, the longest text first, with NUMBER where texts differ only in a number; none without any text.

    A field that follows another with nothing between would begin at each character.
    """
    groups: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for literal, kind in pairs:
        groups[re.sub(r"[0-9]+", NUMBER, literal), kind].add(literal)
    found = [(general if len(each) > 1 else min(each), kind) for (general, kind), each in groups.items()]
    return sorted(found, key=lambda pair: (-len(pair[0]), pair))


def _changes(turns: Turns, alphabet: Alphabet, source: str) -> Iterator[str]:
    """Yield the control tokens at which the template cuts content that spells them."""
    for content in alphabet.units:
        text = f"Qbefore{content}Qafter"
        if content in source and text not in (_shown(turns, text, past=False) or ""):
            yield content


def _shown(turns: Turns, content: str, *, past: bool) -> str | None:
    try:
        return turns.answer({"role": "assistant", "content": content}, past=past)
    except InputError:
        return None


def _cut(turns: Turns, alphabet: Alphabet, source: str) -> tuple[str, str] | None:
    """Return the tag before which the template leaves content out, and the one without "/"."""
    for found in _CLOSER.finditer(source):
        tag, slash = found[0], found[1] or found[2]
        for past in (False, True):
            units = _shown(turns, f"Qbefore{tag}Qafter", past=past) or ""
            if "Qafter" in units and "Qbefore" not in units:
                opener = tag.replace(slash, "", 1)
                return alphabet.units.get(tag, tag), alphabet.units.get(opener, opener)
    return None


def _with_cut(edges: Edges, closer: str, opener: str) -> Edges:
    """Return edges with reasoning that the template leaves out, with the newlines of most models around it or none."""
    begins = edges[START]
    base = next(text for text, kind in begins if kind == CONTENT)
    after = [(text.removeprefix(base), kind) for text, kind in begins if text.startswith(base)]
    ends = [(f"{before}{closer}{space}{text}", kind) for text, kind in after for before, space in _AROUND_CUT]
    opens = [(base + opener + text, REASONING) for text in ("\n", "")]
    return {**edges, START: [*begins, *opens], REASONING: [pair for pair in ends if pair[1] != END]}
