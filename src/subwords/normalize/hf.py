"""The normalizer of a tokenizer.json, read as steps and written from them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from typing import Any, NoReturn

from subwords.errors import FormatError
from subwords.normalize.steps import (
    NAMED,
    SPACED,
    Bert,
    Form,
    Lowercase,
    Precompiled,
    Prepend,
    Replace,
    SentencePiece,
    Step,
    Steps,
    Strip,
    StripAccents,
)
from subwords.split.dialect import from_oniguruma, to_oniguruma

__all__ = ["from_identity", "from_normalizer", "to_identity", "to_normalizer"]

DEEPEST = 100
LATER = ("ByteLevel", "Nmt")


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


def _map(field: _Node) -> bytes:
    """The precompiled map that a string holds."""
    from subwords.normalize.charsmap import read_charsmap

    text = field.string()
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError as error:
        field.fail(f"base64 ({error})")
    try:
        read_charsmap(data)
    except FormatError as error:
        raise FormatError(f"{field.path}: {error}") from None
    return data


_READERS: dict[str, Callable[[_Node], Steps]] = {
    "Bert": _bert,
    "BertNormalizer": _bert,
    "Lowercase": lambda _: (Lowercase(),),
    "NFC": lambda _: (Form("NFC"),),
    "NFD": lambda _: (Form("NFD"),),
    "NFKC": lambda _: (Form("NFKC"),),
    "NFKD": lambda _: (Form("NFKD"),),
    "Precompiled": lambda node: (Precompiled(_map(node.field("precompiled_charsmap"))),),
    "Prepend": lambda node: (Prepend(node.field("prepend").string()),),
    "Replace": _replace,
    "Sequence": _sequence,
    "Strip": lambda node: (Strip(node.field("strip_left").boolean(), node.field("strip_right").boolean()),),
    "StripAccents": lambda _: (StripAccents(),),
}


def to_identity(steps: Steps) -> str:
    """Return steps as JSON that `from_identity` reads: as a tokenizer.json's, with one node more, SentencePiece's."""
    nodes = [_own(step) if isinstance(step, SentencePiece) else _node(step) for step in steps]
    return json.dumps(nodes[0] if len(nodes) == 1 else {"type": "Sequence", "normalizers": nodes}, ensure_ascii=False)


def from_identity(text: str) -> Steps:
    """Return the steps of such JSON; json.JSONDecodeError where it is none, FormatError where it holds others."""
    value = json.loads(text)
    nodes = value["normalizers"] if isinstance(value, dict) and value.get("type") == "Sequence" else [value]
    if not isinstance(nodes, list) or not all(isinstance(node, dict) for node in nodes):
        return from_normalizer(value)
    return tuple(
        step
        for node in nodes
        for step in ([_from_own(node)] if node.get("type") == "SentencePiece" else from_normalizer(node))
    )


def _own(step: SentencePiece) -> dict[str, Any]:
    fields = {field.name: getattr(step, field.name) for field in dataclass_fields(step)}
    return {"type": "SentencePiece"} | fields | {"charsmap": base64.b64encode(step.charsmap).decode()}


def _from_own(value: dict[str, Any]) -> SentencePiece:
    top = _Node("normalizer", value)
    symbols = top.field("user_symbols")
    if not isinstance(symbols.value, list):
        symbols.fail("an array")
    return SentencePiece(
        _map(top.field("charsmap")) if top.field("charsmap").string() else b"",
        top.field("add_dummy_prefix").boolean(),
        top.field("remove_extra_whitespaces").boolean(),
        top.field("escape_whitespaces").boolean(),
        top.field("whitespace_suffix").boolean(),
        tuple(_Node(symbols.path, text).string() for text in symbols.value),
    )


def to_normalizer(steps: Steps) -> dict[str, Any] | None:
    """Return a tokenizer.json's `normalizer` that does what the steps do.

    >>> to_normalizer((Strip(), Lowercase()))["normalizers"][0]
    {'type': 'Strip', 'strip_left': True, 'strip_right': True}
    """
    parts = (_parts(step) if isinstance(step, SentencePiece) else (step,) for step in steps)
    nodes = [_node(step) for part in parts for step in part]
    if len(nodes) == 1:
        return nodes[0]
    return {"type": "Sequence", "normalizers": nodes} if nodes else None


def _parts(step: SentencePiece) -> Steps:
    """Return HF's steps for what SentencePiece does.

    Hazard: HF applies a map by graphemes, so marks behind characters of the map may yield another text.
    """
    if (step,) == NAMED["sentencepiece"]:
        return SPACED
    if step.whitespace_suffix or step.user_symbols or not step.escape_whitespaces:
        raise FormatError(
            "expected a normalizer that HF tokenizers has; it has none that keeps user-defined pieces, puts blanks "
            "behind words or leaves them as they are: write a .model file"
        )
    # At the end SentencePiece takes the text's own U+2581 for spaces.
    extra = (Replace(" {2,}", " ", True), Replace(r"\A |[ ▁]+$", "", True)) if step.remove_extra_whitespaces else ()
    before = (Precompiled(step.charsmap),) if step.charsmap else ()
    return *before, *extra, *((Prepend("▁"),) if step.add_dummy_prefix else ()), Replace(" ", "▁")


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
        case Precompiled(charsmap):
            return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()}
        case SentencePiece():
            raise AssertionError("its parts are written")
        case Lowercase() | StripAccents():
            return {"type": type(step).__name__}
