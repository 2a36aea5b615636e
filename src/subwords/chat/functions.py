"""Functions as tools: their JSON schemas, from the types of their arguments and from their docstrings."""

from __future__ import annotations

import enum
import inspect
import json
import re
import types
import typing
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from subwords.support.errors import InputError

_NAMES: dict[object, str] = {int: "integer", float: "number", str: "string", bool: "boolean", type(None): "null"}
_NAMES |= {list: "array", tuple: "array", dict: "object"}
_SECTION = re.compile(r"^[ \t]*(Args|Returns|Raises):[ \t]*$", re.MULTILINE)
_ENTRY = re.compile(r"^(\w+)(?:[ \t]*\([^)\n]*\))?:", re.MULTILINE)
_CHOICES = re.compile(r"\(choices:\s*(.*?)\)\s*$", re.IGNORECASE)


def function_schema(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the JSON schema of a function with types and a Google docstring, as a tool for a template.

    Raises InputError for an argument without a type or a description, and for a type that JSON does not have.

    Source: `get_json_schema` of transformers 5.24, whose result it is.

    >>> def weather(city: str, days: int = 3):
    ...     '''Tell the weather.
    ...
    ...     Args:
    ...         city: Where.
    ...         days: How long.
    ...     '''
    >>> function_schema(weather)["function"]["parameters"]["required"]
    ['city']
    """
    name = getattr(function, "__name__", "operation")
    description, told, returned = _sections(inspect.getdoc(function) or "")
    if not description and not told:
        raise InputError(f"expected a docstring of the tool {name}, which says what it and its arguments are")
    hints = typing.get_type_hints(function)
    properties: dict[str, Any] = {}
    required = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in ("self", "cls") and parameter.name not in hints and not properties:
            continue
        where = f"argument {parameter.name} of the tool {name}"
        if parameter.name not in hints:
            raise InputError(f"expected a type of the {where}")
        if parameter.name not in told:
            raise InputError(f"expected a line of the docstring for the {where}, in its section Args:")
        properties[parameter.name] = _described(_schema(hints[parameter.name], where), told[parameter.name], where)
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
    parameters = {"type": "object", "properties": properties} | ({"required": required} if required else {})
    found: dict[str, Any] = {"name": name, "description": description, "parameters": parameters}
    if "return" in hints:
        with suppress(InputError):  # no model writes it
            found["return"] = _schema(hints["return"], "") | ({"description": returned} if returned else {})
    return {"type": "function", "function": found}


def _sections(text: str) -> tuple[str, dict[str, str], str]:
    """Return the description, that of each argument, and that of the result."""
    description, *rest = _SECTION.split(text)
    parts = dict(zip(rest[::2], map(inspect.cleandoc, rest[1::2]), strict=True))
    _, *entries = _ENTRY.split(parts.get("Args", ""))
    told = zip(entries[::2], entries[1::2], strict=True)
    joined = {name: " ".join(filter(None, map(str.strip, lines.split("\n")))) for name, lines in told}
    return description.strip(), joined, parts.get("Returns", "")


def _described(schema: dict[str, Any], text: str, where: str) -> dict[str, Any]:
    """Return the schema of an argument with its description, and with the choices at the end of that."""
    if match := _CHOICES.search(text):
        try:
            choices = json.loads(match[1])
        except ValueError:
            raise InputError(f"expected the choices of the {where} as a JSON list, not {match[1]!r:.60}") from None
        schema["enum"] = [each.strip() if isinstance(each, str) else each for each in choices]
        text = text[: match.start()].strip()
    return {**schema, "description": text}


def _schema(hint: Any, where: str) -> dict[str, Any]:
    """Return the JSON schema of a type."""
    kind, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return {}
    if kind is None and isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _choices([member.value for member in hint], where)
    if kind is typing.Literal:
        return _choices([*args], where)
    if kind is typing.Union or kind is types.UnionType:
        found = _union([_schema(each, where) for each in args if each is not type(None)])
        return found | ({"nullable": True} if type(None) in args else {})
    if kind is list:
        return {"type": "array", "items": _schema(args[0], where)}
    if kind is tuple and len(args) > 1 and ... not in args:
        return {"type": "array", "prefixItems": [_schema(each, where) for each in args]}
    if kind is dict:
        return {"type": "object", "additionalProperties": _schema(args[1], where)}
    if kind is None and hint in _NAMES:
        return {"type": _NAMES[hint]}
    raise InputError(f"expected a type of JSON for the {where}, not {hint!r:.60}; pass a schema as a dict instead")


def _union(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    if len(schemas) == 1:
        return schemas[0]
    if all(each.keys() == {"type"} and isinstance(each["type"], str) for each in schemas):
        names = sorted({each["type"] for each in schemas})
        return {"type": names[0] if len(names) == 1 else names}
    return {"anyOf": schemas}


def _choices(values: list[Any], where: str) -> dict[str, Any]:
    if not values or any(type(value) not in (int, float, str, bool, type(None)) for value in values):
        raise InputError(f"expected choices of JSON for the {where}, not {values!r:.60}")
    names = [*dict.fromkeys(_NAMES[type(value)] for value in values)]
    return {"type": names[0] if len(names) == 1 else names, "enum": values}
