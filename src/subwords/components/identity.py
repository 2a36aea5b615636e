"""Steps of normalizers and splitters as JSON text, which identifies a custom rule in word counts."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import Any, Literal

from subwords.errors import InputError

__all__ = ["from_text", "looks_like_steps", "to_text"]

_BYTES = ("charsmap",)  # written in base64


def to_text(steps: tuple[Any, ...]) -> str:
    """Return steps as JSON: a list with one object per step, of its type and its fields.

    >>> from subwords.components.normalizer import Prepend
    >>> to_text((Prepend("▁"),))
    '[{"step": "Prepend", "text": "▁"}]'
    """
    if not steps:
        return "null"
    import json

    return json.dumps([{"step": type(step).__name__} | _fields(step) for step in steps], ensure_ascii=False)


def _fields(step: Any) -> dict[str, Any]:
    from base64 import b64encode

    found = {field.name: getattr(step, field.name) for field in fields(step)}
    return {name: b64encode(value).decode() if name in _BYTES else value for name, value in found.items()}


def looks_like_steps(text: str) -> bool:
    """Whether a text begins like the output of `to_text`."""
    return text.startswith('[{"step": "')


def from_text(text: str, room: Literal["splitter", "normalizer"]) -> tuple[Any, ...]:
    """Return the steps that `to_text` wrote for a "splitter" or a "normalizer"; InputError for other text.

    >>> from_text('[{"step": "Lowercase"}]', "normalizer")
    (Lowercase(),)
    """
    import json

    try:
        kinds = {kind.__name__: kind for kind in import_module(f"subwords.components.{room}").STEPS}
        return tuple(_step(dict(entry), kinds) for entry in json.loads(text))
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise InputError(
            f"invalid steps of a {room}: expected JSON as in word counts, not {text!r:.80}: {error}"
        ) from None


def _step(entry: dict[str, Any], kinds: dict[str, type]) -> Any:
    from base64 import b64decode

    kind = kinds[entry.pop("step")]
    expected = {field.name: str(field.type) for field in fields(kind)}
    for name, value in entry.items():
        if name in _BYTES:
            entry[name] = b64decode(value, validate=True)
        elif isinstance(value, list):
            entry[name] = tuple(value)
        wanted = bool if "bool" in expected[name] else tuple if "tuple" in expected[name] else str
        if name not in _BYTES and not (isinstance(entry[name], wanted) or (value is None and "None" in expected[name])):
            raise TypeError(f"{name} is {value!r:.40}")
        if wanted is tuple and not all(isinstance(item, str) for item in entry[name]):
            raise TypeError(f"{name} must contain only strings")
    return kind(**entry)
