"""What a model answers, read from its ids: events while they come, then a message that renders to them again (H7)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import Any, Literal, NamedTuple, TypeAlias

from subwords import Tokenizer
from subwords.chat.conversation import Conversation
from subwords.chat.reply_format import (
    ARGUMENTS,
    CONTENT,
    END,
    ID,
    KEY,
    NAME,
    OBJECT,
    REASONING,
    START,
    STRING,
    VALUE,
    WHOLE,
    Edges,
    Learned,
    Turns,
    call_of,
    is_control,
    learned,
    with_parts,
)
from subwords.chat.reply_reading import (
    Grammar,
    Reader,
    ReplyField,
    arguments_of,
    as_json,
    call_of_object,
    closes,
    value_of,
)
from subwords.machine import DECODED_BEFORE, as_ids
from subwords.support.checks import check_flag
from subwords.support.errors import InputError

Status: TypeAlias = Literal["exact", "chosen", "repaired", "partial"]
_KINDS: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}
_TAG = re.compile(r"<[^<>\s]+>")


class ReplyEvent(NamedTuple):
    """A piece of an answer that no later id changes; made by `ChatReply.feed`.

    kind: "reasoning" or "content"; of a call: "name", and "arguments", pieces of their JSON. In formats that write
    arguments one by one: "key", then "string", pieces of its text, or "value", pieces of its JSON. call: the number of
    the call, None outside calls. Names and keys come whole.
    """

    kind: str
    text: str
    call: int | None = None


class OpenCall(NamedTuple):
    """A call that the answer does not finish. name: empty if that is not whole. arguments: their text so far."""

    name: str
    arguments: str


class _Message(NamedTuple):
    """What a reading says. unsure: a value may be of another type."""

    fields: list[ReplyField]
    stop: int
    message: dict[str, Any]
    unsure: bool


class Opening(NamedTuple):
    """How an answer to a chat begins, found once: the units of the prompt that the grammar reads first.

    skip: how many units of a turn an answer does not have.
    """

    tok: Tokenizer
    tools: dict[str, dict[str, Any]]
    learned: Learned
    turns: Turns
    grammar: Grammar
    prompt: str
    skip: int


class ChatReply:
    r"""Reads the ids of an answer; made by `Chat.reply`. Events are never taken back (ALGORITHMS.md, H7).

    status: None until `finish`. "exact": one reading renders to these ids again, and no other reading got as far as a
    call. "chosen": several do, and the one with the earliest delimiters, then that which fits the tools, is taken.
    "repaired": the template writes this message otherwise, such as blanks, or keys of JSON in another order. "partial":
    the answer is cut, or no answer of this template: calls that are complete, the rest as content.
    message: the answer as `Tokenizer.chat` takes it. open: the call that is not finished, or None.

    >>> import subwords
    >>> tok = subwords.load("demo").with_tokens(["<|user|>", "<|bot|>", "<|end|>"])
    >>> tok = tok.with_(chat_template="{% for m in messages %}{{ '<|user|>' if m.role == 'user' else '<|bot|>' }}"
    ...     "{{ m.content }}<|end|>{% endfor %}{{ '<|bot|>' if add_generation_prompt }}")
    >>> reply = tok.chat([{"role": "user", "content": "light"}]).reply()
    >>> [*reply.feed(tok.encode("Rays")), *reply.feed([tok.added_tokens.named("<|end|>").id])], reply.finish()
    ([ReplyEvent(kind='content', text='Rays', call=None)], [])
    >>> reply.message, reply.status
    ({'role': 'assistant', 'content': 'Rays'}, 'exact')
    """

    def __init__(self, opening: Any, prompt: Sequence[int], *, earliest: bool = False) -> None:
        found: Opening = opening
        self._tok, self._tools, self._learned, self._turns, grammar, begun, self._skip = found
        self._reader = Reader(grammar, begun, earliest=earliest)
        self._whole = WHOLE | {VALUE} if self._learned.quote else WHOLE
        self._is_strict = True  # as long as nothing but the strict grammar was tried
        self._first = len(self._reader.units)  # of the answer
        self._before = [*prompt[-DECODED_BEFORE:]]
        self._stream = self._tok.stream(prompt=self._before)
        self._told, self._sent, self._calls = 0, self._first, -1
        self.ids: list[int] = []
        self.status: Status | None = None
        self.open: OpenCall | None = None
        self._message: dict[str, Any] | None = None

    @property
    def message(self) -> dict[str, Any]:
        """The answer as a message; InputError before `finish`."""
        if self._message is None:
            raise InputError("the answer is not finished: call reply.finish() after its last id")
        return self._message

    def feed(self, ids: Iterable[int]) -> list[ReplyEvent]:
        """Read more ids; return what they make certain. Joined, events are the same however ids are grouped."""
        if self.status is not None:
            raise InputError("the answer is finished; begin another with chat.reply()")
        given = ids if type(ids) is list else as_ids(ids).tolist()
        self._tok.decode(given)  # raises InputError
        self._read("".join(self._units(given)))
        return [*self._events()]

    def finish(self, *, stopped: bool = False) -> list[ReplyEvent]:
        """End the answer, and return the events that are left; then `message`, `status` and `open` are there.

        stopped: whether the model ended its turn, for ids from which a server took the end token. Without it, an answer
        that lacks this token is cut: "partial".
        """
        check_flag("stopped", stopped)
        if self.status is not None:
            return []
        self._read(self._stream.finish())
        if stopped and not self._reader.accepted():
            self._end()
        found = [*self._events()]
        if (rest := self._proved()) is None:
            rest = self._cut()
        if self._learned.as_parts:
            self._message = with_parts(self.message)
        return found + rest

    def __repr__(self) -> str:
        return f"ChatReply({len(self.ids)} ids, {self.status or 'open'})"

    # ------------------------------------------------------------------ ids to units to events

    def _read(self, units: str) -> None:
        reader = self._reader
        reader.feed(units)
        if reader.dead is not None and self._is_strict:
            self._is_strict = False
            self._reader = reader.again(reader.grammar.loosened) or reader

    def _end(self) -> None:
        """Add the end token that a server took off, if a reading then ends."""
        reader = self._reader
        for grammar, unit in product((reader.grammar, reader.grammar.loosened), sorted(reader.grammar.ends)):
            if (found := reader.again(grammar, unit)) is not None and found.accepted():
                self._reader = found
                return

    def _units(self, ids: Iterable[int]) -> Iterator[str]:
        """Yield the text of ids as far as it is known, and control tokens as units."""
        for index in ids:
            unit = self._learned.alphabet.by_id.get(index)
            if unit is None:
                yield self._stream.step(index)
            else:
                yield self._stream.finish() + unit
            self.ids.append(index)
            if unit is not None:
                self._before = [*self._before, *self.ids[-DECODED_BEFORE:]][-DECODED_BEFORE:]
                self._stream = self._tok.stream(prompt=self._before)

    def _events(self) -> Iterator[ReplyEvent]:
        reader = self._reader
        agreed, self._told = reader.agreed[self._told :], len(reader.agreed)
        for field in agreed:
            yield from self._event(field.kind, field.start, field.stop)
        if (open := reader.pending()) is not None and open[0] not in self._whole:
            yield from self._event(*open)

    def _event(self, kind: str, start: int, stop: int) -> Iterator[ReplyEvent]:
        """Yield what of a field was not told yet."""
        if kind in (NAME, OBJECT):
            self._calls += 1
        start, self._sent = max(start, self._sent), max(stop, self._sent)
        if kind == ID or start >= stop:
            return
        text = self._text(kind, start, stop)
        number = None if kind in (REASONING, CONTENT) else self._calls
        if kind != OBJECT:
            yield ReplyEvent(kind, text, number)
        elif (call := call_of_object(text, self._reader.grammar.keys)) is not None:
            yield ReplyEvent(NAME, call[0], number)
            yield ReplyEvent(ARGUMENTS, call[1], number)

    def _text(self, kind: str, start: int, stop: int) -> str:
        """Return the text of a field, control tokens spelled; of a value, as JSON or Python."""
        units, spell, quote = self._reader.text(start, stop), self._learned.alphabet.text, self._learned.quote
        return as_json(units, quote, spell) if kind == VALUE and quote else spell(units)

    # ------------------------------------------------------------------ the message

    def _proved(self) -> list[ReplyEvent] | None:
        """Find the message of an answer that the grammar reads whole; None if there is none."""
        reader, made = self._reader, list[_Message]()
        strict = not reader.grammar.loose
        for fields, stop in reader.accepted():
            if (one := self._message_of(fields, stop)) is not None:
                made.append(one)
        if not made:
            return None
        if self._learned.cut is not None:  # content that spells the tag is what the template never shows
            made = [each for each in made if "reasoning_content" in each.message] or made
        proved = {json.dumps(each.message): each for each in reversed(made) if strict and self._renders(each)}
        found = [each for each in made if each in proved.values()]
        begun = (reader.called <= {one.start for one in each.fields if one.kind == NAME} for each in made)
        sure = len(found) == 1 and all(begun) and not reader.overflow and not found[0].unsure
        taken = [each for each in found or made if self._fits(each.message)] or found or made
        self._message, self.status = taken[0].message, "exact" if sure else "chosen" if found else "repaired"
        return [each for one in taken[0].fields[self._told :] for each in self._event(one.kind, one.start, one.stop)]

    def _renders(self, made: _Message) -> bool:
        """Whether the template writes what was read for a message, as the last one or before another question."""
        units = self._reader.text(0, made.stop)
        for past in (False, True):
            try:
                if self._turns.answer(made.message, past=past)[self._skip :] == units:
                    return True
            except InputError:
                continue
        return False

    def _message_of(self, fields: Sequence[ReplyField], stop: int) -> _Message | None:
        """Return the message of a reading; None if values are none."""
        texts = {CONTENT: "", REASONING: ""}
        calls, key, index, unsure = list[dict[str, Any]](), "", "", False
        for field in fields:
            text = self._text(field.kind, field.start, field.stop)
            if field.kind in texts:
                texts[field.kind] += text
            elif field.kind == KEY:
                key = text
            elif field.kind == ID and (index or not calls or "id" in calls[-1]):
                index = text
            elif field.kind == ID:
                calls[-1] = {"id": text, **calls[-1]}
            elif field.kind == NAME:
                calls.append(call_of(text, {}, index or None))
                index = ""
            elif field.kind == OBJECT:
                if (one := call_of_object(text, self._reader.grammar.keys)) is None:
                    return None
                calls.append(call_of(one[0], self._argument(ARGUMENTS, one[1], "", "")[0], one[2]))
            else:
                function = calls[-1]["function"]
                told, doubt = self._argument(field.kind, text, function["name"], key)
                if told is None:
                    return None
                unsure |= doubt
                function["arguments"] = told if field.kind == ARGUMENTS else {**function["arguments"], **told}
        if self._learned.as_text:
            for call in calls:
                given = call["function"]["arguments"]
                call["function"]["arguments"] = given if isinstance(given, str) else json.dumps(given)
        message = {"role": "assistant", "content": texts[CONTENT]}
        message |= {"reasoning_content": texts[REASONING]} if texts[REASONING] else {}
        return _Message([*fields], stop, message | ({"tool_calls": calls} if calls else {}), unsure)

    def _argument(self, kind: str, text: str, name: str, key: str) -> tuple[Any, bool]:
        """Return arguments or one of them, None if it is no value, and whether it may be of another type."""
        if kind == ARGUMENTS:
            found = arguments_of(text)
            return (None if found is None else found[not self._learned.as_text]), False
        value = value_of(text)
        if kind != STRING:
            return (None if value is None else {key: value[0]}), False
        if not self._learned.untyped or value is None or isinstance(value[0], str):
            return {key: text}, False
        type_ = self._tools.get(name, {}).get(key, {}).get("type")
        if type_ == "string":
            return {key: text}, False
        fits = _is(value[0], type_)
        return {key: value[0] if fits or not isinstance(type_, str) else text}, not fits

    def _fits(self, message: Mapping[str, Any]) -> bool:
        """Whether names are of the tools, and values of the types that these state."""
        for call in message.get("tool_calls", ()) if self._tools else ():
            name, given = call["function"]["name"], call["function"]["arguments"]
            given = json.loads(given) if isinstance(given, str) else given
            if (known := self._tools.get(name)) is None:
                return False
            types = ((value, known.get(key, {}).get("type")) for key, value in given.items())
            if not all(_is(value, type_) for value, type_ in types if isinstance(type_, str) and type_ in _KINDS):
                return False
        return True

    def _cut(self) -> list[ReplyEvent]:
        """Take what is certain of an answer that is cut or malformed: its complete calls, and the rest as content."""
        reader, spell = self._reader, self._learned.alphabet.text
        fields, whole, end = self._furthest()
        groups, kept, open = _groups(fields), list[ReplyField](), list[ReplyField]()
        for at, group in enumerate(groups):
            last = at == len(groups) - 1
            if (last and not whole) or self._message_of(group, 0) is None:
                open = group
                break
            kept += group
        known = [*kept, *open]
        rest = end if known == fields else known[-1].stop
        made = self._message_of(kept, 0)
        assert made is not None, "each group of fields has a message"
        self._message, self.status = made.message, "partial"
        found = [each for one in known[self._told :] for each in self._event(one.kind, one.start, one.stop)]
        if open:
            name = next((one for one in open if one.kind == NAME), None)
            named = "" if name is None else spell(reader.text(name.start, name.stop))
            self.open = OpenCall(named, spell(self._arguments_of(open)))
        size = len(reader.units)
        size -= rest < size and reader.units[-1] in reader.grammar.ends
        if text := spell(reader.text(rest, size)):
            self._message["content"] += text
            found.append(ReplyEvent(CONTENT, text))
        return found

    def _arguments_of(self, call: Sequence[ReplyField]) -> str:
        """Return the units of arguments, with what stands between them if they come one by one."""
        inside = [one for one in call if one.kind in (ARGUMENTS, KEY, STRING, VALUE, OBJECT)]
        return self._reader.text(inside[0].start, inside[-1].stop) if inside else ""

    def _furthest(self) -> tuple[list[ReplyField], bool, int]:
        """Return the fields of the reading that got furthest, whether its last call is whole, and where it ends.

        Where it ends: what comes after it is not read, but for the beginning of a text between fields in a cut answer.
        """
        reader = self._reader
        stop = len(reader.units) if reader.dead is None else reader.dead
        best: tuple[tuple[int, bool], list[ReplyField], bool, int] | None = None
        for each in reader.threads if reader.dead is None else reader.last:
            fields, whole, end = reader.fields(each.last), True, stop
            if each.literal is not None:
                whole = each.state > 0 and each.kind not in (KEY, ARGUMENTS, STRING, VALUE)
                end = end if reader.dead is None or not fields else fields[-1].stop
                end = self._first if reader.dead is not None and not fields else end
            elif each.kind == END:
                end = each.start
            else:
                whole = each.kind in (REASONING, CONTENT) or (
                    each.kind in (ARGUMENTS, OBJECT) and closes(each.kind, each.state)
                )
                fields.append(ReplyField(each.kind, each.start, stop, each.last))
            rank = sum(one.kind in (NAME, OBJECT) for one in fields), each.literal is None
            if best is None or rank > best[0]:
                best = rank, fields, whole, end
        return ([], True, self._first) if best is None else best[1:]


def _groups(fields: Sequence[ReplyField]) -> list[list[ReplyField]]:
    """Return fields by call, with an id before the name; other texts one by one."""
    found = list[list[ReplyField]]()
    for at, one in enumerate(fields):
        after_id = one.kind == NAME and at > 0 and fields[at - 1].kind == ID and len(found[-1]) == 1
        before_name = one.kind == ID and fields[at + 1 : at + 2] and fields[at + 1].kind == NAME
        if (
            one.kind in (REASONING, CONTENT)
            or before_name
            or (one.kind in (NAME, OBJECT) and not after_id)
            or not found
        ):
            found.append([])
        found[-1].append(one)
    return found


def _is(value: object, type_: object) -> bool:
    """Whether a value is of a type of JSON schemas."""
    if not isinstance(type_, str) or type_ not in _KINDS:
        return False
    return isinstance(value, _KINDS[type_]) and not (isinstance(value, bool) and type_ in ("integer", "number"))


def _properties(tools: Iterable[Any] | None) -> dict[str, dict[str, Any]]:
    """Return the schemas of arguments by tool."""
    found = {}
    for tool in tools or ():
        function = tool.get("function", tool)
        if isinstance(function, dict) and isinstance(name := function.get("name"), str):
            schema = function.get("parameters")
            entries = schema.get("properties") if isinstance(schema, dict) else None
            entries = entries if isinstance(entries, dict) else {}
            found[str(name)] = {str(key): each for key, each in entries.items() if isinstance(each, dict)}
    return found


def opening_of(made: Conversation) -> Opening:
    """Return how an answer to a chat begins; InputError if no answer of its template can be read after its prompt."""
    found = learned(made.chatter, made.options)
    turns = Turns(made.chatter, made.options, made.messages, found.alphabet, as_parts=found.as_parts)
    edges, prompt, skip = _begun(found, turns)
    grammar = Grammar(edges, found.quote)
    return Opening(made.chatter.tok, _properties(made.options.tools), found, turns, grammar, prompt, skip)


def _begun(known: Learned, turns: Turns) -> tuple[Edges, str, int]:
    """Return a grammar of answers, the prompt that it reads first, and how many units of a turn the answer lacks then.

    The prompt may be what no turn begins with: an empty pair of thinking tags, then what follows is a turn without
    reasoning; or the tag that begins reasoning which the template leaves out. No field begins within a prompt: a tag
    that a template never shows is no content.
    """
    prompt, begins = turns.prompt, known.edges.get(START, ())
    short = [*_short_answers(turns)]
    if any(each.startswith(prompt) for each in short) and Reader(Grammar(known.edges, known.quote), prompt).threads:
        return known.edges, prompt, 0
    if known.cut is not None and (opened := prompt.rstrip()).endswith(known.cut[1]):
        before = opened.removesuffix(known.cut[1])
        if any(each.startswith(before) for each in short):
            return {**known.edges, START: [(text, REASONING) for text in ("\n", "")]}, "", 0
    base = next((text for text, kind in begins if kind == CONTENT), None)
    shown = "".join(text for pairs in known.edges.values() for text, _ in pairs)
    last = next((each for each in reversed(prompt) if is_control(each)), "")
    tags = all(tag in shown for tag in _TAG.findall(prompt))
    if base is not None and last in shown and tags and any(each == f"{base}x{each[len(base) + 1 :]}" for each in short):
        start = base.rstrip()
        edges = [  # other whitespace than before content may come before a call
            (text.removeprefix(base) if text.startswith(base) else text.removeprefix(start).lstrip(), kind)
            for text, kind in begins
            if kind != REASONING and text.startswith(start)
        ]
        return {**known.edges, START: edges}, "", len(base)
    raise InputError(
        f"no grammar of answers: the generation prompt, {known.alphabet.text(prompt)!r:.80}, is not how a turn of this "
        "template begins; read the ids of the answer yourself: tok.decode(ids), chat.answered(ids, message)"
    )


def _short_answers(turns: Turns) -> Iterator[str]:
    """Yield how the template writes short answers to this conversation, without reasoning and with it."""
    for more in ({}, {"reasoning_content": "y"}):
        with suppress(InputError):
            yield turns.answer({"role": "assistant", "content": "x", **more})
