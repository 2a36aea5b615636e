"""The normalizer of a tokenizer.json, read as steps and written from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from subwords.errors import FormatError
from subwords.normalize.steps import Bert, Form, Lowercase, Prepend, Replace, Step, Steps, Strip, StripAccents
from subwords.split.dialect import from_oniguruma, to_oniguruma

__all__ = ["from_normalizer", "to_normalizer"]

DEEPEST = 100
LATER = ("ByteLevel", "Nmt", "Precompiled")


@dataclass(frozen=True, slots=True)
class _Node:
    """A value and where it stands; an absent one is None."""

    path: str
    value: Any
    depth: int = 0

    def fail(self, expected: str) -> NoReturn:
        kinds = {dict: "an object", list: "an array", type(None): "null"}
        shown = kinds.get(type(self.value)) or repr(self.value)[:60]
        raise FormatError(f"{self.path}: expected {expected}, not {shown}")

    def field(self, key: str) -> _Node:
        return _Node(f"{self.path}.{key}", self.value.get(key), self.depth)

    def boolean(self) -> bool:
        if not isinstance(self.value, bool):
            self.fail("true or false")
        return self.value

    def string(self) -> str:
        if not isinstance(self.value, str) or any("\ud800" <= char < "\ue000" for char in self.value):
            self.fail("a string without lone surrogates")
        return self.value


def from_normalizer(value: Any, where: str = "normalizer") -> Steps:
    """Return the steps of a tokenizer.json's `normalizer`; null has none.

    Whatever is not such a node is a FormatError that begins with `where`. Patterns are translated and not checked.

    >>> from_normalizer({"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "Lowercase"}]})
    (Form(form='NFD'), Lowercase())

    Source: HF tokenizers 0.23; what it refuses is refused here.
    """
    return () if value is None else _steps(_Node(where, value))


def _steps(node: _Node) -> Steps:
    if not isinstance(node.value, dict):
        node.fail("an object")
    kind = node.field("type")
    if kind.value in LATER:
        raise FormatError(f"{kind.path}: {kind.value} is not supported yet; {', '.join(_READERS)} are")
    read = _READERS.get(kind.value) if isinstance(kind.value, str) else None
    if not read:
        kind.fail(f"one of {', '.join(_READERS)}")
    return read(node)


def _sequence(node: _Node) -> Steps:
    parts = node.field("normalizers")
    if not isinstance(parts.value, list):
        parts.fail("an array")
    if node.depth > DEEPEST:
        parts.fail(f"at most {DEEPEST} sequences within each other")
    nodes = (_Node(f"{parts.path}[{i}]", part, node.depth + 1) for i, part in enumerate(parts.value))
    return tuple(step for part in nodes for step in _steps(part))


def _bert(node: _Node) -> Steps:
    accents = node.field("strip_accents")
    return (
        Bert(
            node.field("clean_text").boolean(),
            node.field("handle_chinese_chars").boolean(),
            None if accents.value is None else accents.boolean(),
            node.field("lowercase").boolean(),
        ),
    )


def _replace(node: _Node) -> Steps:
    pattern, content = node.field("pattern"), node.field("content").string()
    if not isinstance(pattern.value, dict) or len(pattern.value) != 1 or not {"String", "Regex"} & set(pattern.value):
        pattern.fail("an object with a String or a Regex")
    if "String" in pattern.value:
        return (Replace(pattern.field("String").string(), content),)
    return (Replace(from_oniguruma(pattern.field("Regex").string()), content, regex=True),)


_READERS: dict[str, Callable[[_Node], Steps]] = {
    "Bert": _bert,
    "BertNormalizer": _bert,
    "Lowercase": lambda _: (Lowercase(),),
    "NFC": lambda _: (Form("NFC"),),
    "NFD": lambda _: (Form("NFD"),),
    "NFKC": lambda _: (Form("NFKC"),),
    "NFKD": lambda _: (Form("NFKD"),),
    "Prepend": lambda node: (Prepend(node.field("prepend").string()),),
    "Replace": _replace,
    "Sequence": _sequence,
    "Strip": lambda node: (Strip(node.field("strip_left").boolean(), node.field("strip_right").boolean()),),
    "StripAccents": lambda _: (StripAccents(),),
}


def to_normalizer(steps: Steps) -> dict[str, Any] | None:
    """Return a tokenizer.json's `normalizer` that does what the steps do.

    >>> to_normalizer((Strip(), Lowercase()))["normalizers"][0]
    {'type': 'Strip', 'strip_left': True, 'strip_right': True}
    """
    nodes = [_node(step) for step in steps]
    if len(nodes) == 1:
        return nodes[0]
    return {"type": "Sequence", "normalizers": nodes} if nodes else None


def _node(step: Step) -> dict[str, Any]:
    match step:
        case Bert(clean_text, chinese, accents, lowercase):
            fields = {"clean_text": clean_text, "handle_chinese_chars": chinese}
            return {"type": "BertNormalizer", **fields, "strip_accents": accents, "lowercase": lowercase}
        case Form(form):
            return {"type": form}
        case Replace(pattern, content, regex):
            key, text = ("Regex", to_oniguruma(pattern)) if regex else ("String", pattern)
            return {"type": "Replace", "pattern": {key: text}, "content": content}
        case Strip(left, right):
            return {"type": "Strip", "strip_left": left, "strip_right": right}
        case Prepend(text):
            return {"type": "Prepend", "prepend": text}
        case Lowercase() | StripAccents():
            return {"type": type(step).__name__}
