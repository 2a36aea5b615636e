"""Conversations, tools, documents and variables of a caller, made again as plain data that knows its origin."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

from subwords.chat.owned_text import LITERAL, OUTSIDE, OwnedText, Owner, Record, changed_record, join, made, turn_of
from subwords.machine import alternation
from subwords.support.checks import encode_text
from subwords.support.errors import InputError
from subwords.support.names import install_hint

MOST_DEPTH = 100  # of values within values
ROLES = frozenset(  # names that a template may build a control token of: "<|" + role + "|>"
    (
        *("system", "user", "assistant", "tool", "developer", "function", "model", "ipython", "environment", "human"),
        *("observation", "context", "documents", "gpt", "bot", "tool_call", "tool_response", "critic"),
    )
)
REASONING = ("reasoning_content", "thinking", "reasoning")
_USUAL = frozenset({"role", "content", "name", "tool_calls", "tool_call_id", *REASONING})


def messages_of(messages: object, trusted: Mapping[str, Sequence[str]], first: int = 0) -> list[Record]:
    """Return the messages of a conversation, as a template sees them; InputError for what is none.

    first: the number of the first one. trusted: by role, control tokens that count where its text spells them.
    """
    messages = getattr(messages, "messages", messages)
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Sequence):
        raise InputError(f"expected messages as a list of dicts with a role, not {type(messages).__name__}")
    if not messages:
        raise InputError("expected at least one message; the conversation is empty")
    spelled = {role: re.compile(alternation([*tokens])) for role, tokens in trusted.items() if tokens}
    return [_message(message, number, spelled) for number, message in enumerate(messages, first)]


def _message(message: object, number: int, spelled: Mapping[str, re.Pattern[str]]) -> Record:
    given = _entries(message)
    where = f"messages[{number}]"
    if given is None:
        raise InputError(f"expected {where} as a dict with a role, not {type(message).__name__}")
    role = given.get("role")
    if not isinstance(role, str):
        raise InputError(f'expected {where}["role"] as a str, not {role!r:.60}')
    entries: dict[Any, Any] = {}
    pattern = spelled.get(role)
    for key, value in given.items():
        if value is None:
            continue
        if key == "role":
            text = str.__str__(role)
            entries["role"] = made(text, Owner(number, "role", text in ROLES))
            _check(text, f'{where}["role"]')
            continue
        name = key if type(key) is str and key in _USUAL else plain_value(key, Owner(number, "", False), f"{where} key")
        entries[name] = plain_value(value, Owner(number, str(key), False), f"{where}[{key!r:.40}]", pattern)
    reasoning = next((entries[key] for key in REASONING if key in entries), None)
    if reasoning is not None:  # as transformers does
        entries = {"thinking": reasoning, **entries, "reasoning_content": reasoning}
    return Record(entries, Owner(number, "", False), number)


def _entries(value: object) -> Mapping[Any, Any] | None:
    """Return the fields of a dict, a dataclass or a pydantic model; None for others."""
    if isinstance(value, Mapping):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        found = dump()
        return found if isinstance(found, Mapping) else None
    return None


def plain_value(
    value: object, origin: Owner, where: str, spelled: re.Pattern[str] | None = None, depth: int = 0
) -> Any:
    """Return a value as plain data, whatever class of the caller it is of; InputError for what is no JSON."""
    if value is None or type(value) in (int, float, bool):
        return value
    if isinstance(value, str):
        text = str.__str__(value)
        _check(text, where)
        return made(text, origin) if spelled is None else _spelled(text, origin, spelled)
    if depth > MOST_DEPTH:
        raise InputError(f"expected {where} without cycles, nested at most {MOST_DEPTH} deep")
    if isinstance(value, list | tuple):
        found = [plain_value(each, origin, f"{where}[{at}]", spelled, depth + 1) for at, each in enumerate(value)]
        return found if isinstance(value, list) else tuple(found)
    if isinstance(value, int):
        return int.__index__(value)
    if isinstance(value, float):
        return float.__float__(value)
    entries = _entries(value)
    if entries is not None:
        return Record(dict(_pairs(entries, origin, where, spelled, depth + 1)), origin)
    item = getattr(value, "item", None)  # a number of NumPy
    if callable(item) and getattr(value, "shape", None) == ():
        return plain_value(item(), origin, where, spelled, depth + 1)
    raise InputError(
        f"expected {where} of JSON types (str, int, float, bool, None, list, dict), not {type(value).__name__}; "
        "leave pictures and sounds out, templates only ask whether their key is there"
    )


def _pairs(
    entries: Mapping[Any, Any], origin: Owner, where: str, spelled: re.Pattern[str] | None, depth: int
) -> Iterator[tuple[Any, Any]]:
    for key, value in entries.items():
        if isinstance(key, dict | list) or not isinstance(key, str | int | float | None):
            raise InputError(f"expected keys of JSON in {where}, not {type(key).__name__}")
        place = f"{where}[{key!r:.40}]"
        yield plain_value(key, origin, f"{where} key"), plain_value(value, origin, place, spelled, depth)


def _check(text: str, where: str) -> None:
    if not text.isascii():
        try:
            encode_text(text)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None


def _spelled(text: str, origin: Owner, pattern: re.Pattern[str]) -> OwnedText:
    """Return text in which some tokens are trusted."""
    pieces, at = list[OwnedText](), 0
    trusted = origin._replace(trusted=True)
    for match in pattern.finditer(text):
        pieces += (made(text[at : match.start()], origin), made(match[0], trusted))
        at = match.end()
    return join([*pieces, made(text[at:], origin)])


# ---------------------------------------------------------------------------------------------------------------------
# Shapes of messages that other templates take: what a template that fails says nothing of.


def other_shapes(messages: Sequence[Record]) -> Iterator[tuple[str, list[Record]]]:
    """Yield conversations with one thing in another shape, and what is to be done to the messages to get it."""
    for change in (_parsed, _written, _wrapped, _filled, _joined, _parted):
        told = list[str]()
        changed = [change(message, told) for message in messages]
        if told:
            yield told[0], changed


def _calls(message: Record, change: Callable[[Any, str], Any]) -> Record:
    """Return a message with other tool calls. change: takes one and its place."""
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return message
    where = f'messages[{turn_of(message)}]["tool_calls"]'
    return changed_record(message, "tool_calls", [change(call, f"{where}[{at}]") for at, call in enumerate(calls)])


def _arguments(message: Record, change: Callable[[Any, str], Any]) -> Record:
    """Return a message with other arguments of its tool calls."""

    def changed(call: Any, where: str) -> Any:
        function = call.get("function", call) if isinstance(call, dict) else None
        if not isinstance(function, dict) or "arguments" not in function:
            return call
        place = where if function is call else f'{where}["function"]'
        arguments = {**function, "arguments": change(function["arguments"], f'{place}["arguments"]')}
        return arguments if function is call else {**call, "function": arguments}

    return _calls(message, changed)


def _parsed(message: Record, told: list[str]) -> Record:
    def changed(given: Any, where: str) -> Any:
        with suppress(ValueError):
            if isinstance(given, str) and isinstance(found := json.loads(given), dict):
                told.append(f"{where} is text, and this template takes a dict: use json.loads")
                return found
        return given

    return _arguments(message, changed)


def _written(message: Record, told: list[str]) -> Record:
    def changed(given: Any, where: str) -> Any:
        if isinstance(given, str):
            return given
        told.append(f"{where} is a {type(given).__name__}, and this template takes text: use json.dumps")
        return json.dumps(given)

    return _arguments(message, changed)


def _wrapped(message: Record, told: list[str]) -> Record:
    def changed(call: Any, where: str) -> Any:
        if not isinstance(call, dict) or "function" in call:
            return call
        told.append(f'{where} has no "function": pass {{"type": "function", "function": {{"name", "arguments"}}}}')
        return {"type": "function", "function": call}

    return _calls(message, changed)


def _filled(message: Record, told: list[str]) -> Record:
    if "content" in message:
        return message
    told.append(f'messages[{turn_of(message)}] has no "content", or it is None: pass "content": ""')
    return changed_record(message, "content", "")


def _joined(message: Record, told: list[str]) -> Record:
    content = message.get("content")
    if not isinstance(content, list):
        return message
    told.append(f'messages[{turn_of(message)}]["content"] is a list of parts, and this template takes text')
    texts = [str(part.get("text", "")) for part in content if isinstance(part, dict)]
    return changed_record(message, "content", "".join(texts))


def _parted(message: Record, told: list[str]) -> Record:
    content = message.get("content")
    if not isinstance(content, str):
        return message
    where = f'messages[{turn_of(message)}]["content"]'
    told.append(f'{where} is text, and this template takes a list of parts: {{"type": "text", "text": ...}}')
    return changed_record(message, "content", [{"type": "text", "text": content}])


def variables_of(variables: Mapping[str, object], roles: Mapping[str, str]) -> dict[str, Any]:
    """Return the variables of a template: those of the caller, and the tokens with roles, which are trusted."""
    found: dict[str, Any] = {f"{role}_token": made(text, LITERAL) for role, text in roles.items()}
    for name, value in variables.items():
        found[name] = plain_value(value, Owner(OUTSIDE, name, False), name)
    return found


def listed(value: object, name: str) -> list[Any] | None:
    """Return tools or documents; InputError for what is no list of dicts, or of functions as tools."""
    if value is None:
        return None
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
        raise InputError(f"expected {name} as a list of dicts, not {type(value).__name__}")
    found = []
    for at, each in enumerate(value):
        is_tool = name == "tools" and (inspect.isfunction(each) or inspect.ismethod(each))
        entries = _entries(_schema_of(each, f"tools[{at}]") if is_tool else each)
        if entries is None:
            raise InputError(f"expected {name}[{at}] as a dict, not {type(each).__name__}")
        found.append(plain_value(entries, Owner(OUTSIDE, name, False), f"{name}[{at}]"))
    return found


def _schema_of(function: object, where: str) -> object:
    """Return the JSON schema of a function, which transformers makes."""
    try:
        made: Any = import_module("transformers.utils").get_json_schema
    except ImportError:
        raise InputError(f"{where}: the schema of a function needs transformers: {install_hint('verify')}") from None
    try:
        return made(function)
    except Exception as error:  # of a class for each kind of fault
        raise InputError(f"expected {where} as a dict, or with types and a Google docstring: {error}") from None
