"""Read and write the normalizer of a tokenizer.json."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from subwords.formats.json_node import Node
from subwords.spec.normalizer import (
    NAMED,
    SPACED,
    Bert,
    ByteLevel,
    Form,
    Lowercase,
    Nmt,
    Precompiled,
    Prepend,
    Replace,
    SentencePiece,
    Step,
    Steps,
    Strip,
    StripAccents,
)
from subwords.spec.oniguruma import from_oniguruma, to_oniguruma
from subwords.support.errors import FormatError

DEEPEST = 100


def from_normalizer(node: Node) -> Steps:
    """Return the steps of a tokenizer.json's `normalizer`; () for null.

    Raises FormatError with the place for anything else. Patterns are translated but not compiled.

    >>> value = {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "Lowercase"}]}
    >>> from_normalizer(Node("a.json", "normalizer", value))
    (Form(form='NFD'), Lowercase())

    Source: HF tokenizers 0.23, including what it refuses.
    """
    return () if node.value is None else _normalizer_steps(node)


def _normalizer_steps(node: Node) -> Steps:
    kind = node["type"].value
    # As in HF: a type that is unknown or missing is told by the fields.
    if not isinstance(kind, str) or kind not in _READERS:
        present = node.object()
        kind = next((name for name, fields in _SHAPES.items() if all(field in present for field in fields)), None)
    if kind is None:
        raise node["type"].wrong(f"one of {', '.join(_READERS)}")
    return _READERS[kind](node)


def _sequence(node: Node) -> Steps:
    parts = node["normalizers"]
    parts.array()
    if node.depth > DEEPEST:
        raise parts.wrong(f"at most {DEEPEST} nested sequences")
    return tuple(step for part in parts.items() for step in _normalizer_steps(part))


def _bert_normalizer(node: Node) -> Steps:
    accents = node["strip_accents"]
    return (
        Bert(
            node["clean_text"].boolean(),
            node["handle_chinese_chars"].boolean(),
            None if accents.value is None else accents.boolean(),
            node["lowercase"].boolean(),
        ),
    )


def _replace(node: Node) -> Steps:
    pattern, content = node["pattern"], node["content"].string()
    if not isinstance(pattern.value, dict) or len(pattern.value) != 1 or not {"String", "Regex"} & set(pattern.value):
        raise pattern.wrong("an object with a String or a Regex")
    if "String" in pattern.value:
        return (Replace(pattern["String"].string(), content),)
    return (Replace(from_oniguruma(pattern["Regex"].string()), content, regex=True),)


def _map(node: Node) -> bytes:
    """Return the precompiled map in a base64 string."""
    from subwords.spec.normalizer import read_charsmap

    text = node.string()
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise node.wrong(f"base64 ({error})") from None
    try:
        read_charsmap(data)
    except FormatError as error:
        raise FormatError(f"{node.place}: {error}") from None
    return data


_READERS: dict[str, Callable[[Node], Steps]] = {
    "Bert": _bert_normalizer,
    "BertNormalizer": _bert_normalizer,
    "ByteLevel": lambda _: (ByteLevel(),),
    "Lowercase": lambda _: (Lowercase(),),
    "NFC": lambda _: (Form("NFC"),),
    "NFD": lambda _: (Form("NFD"),),
    "NFKC": lambda _: (Form("NFKC"),),
    "NFKD": lambda _: (Form("NFKD"),),
    "Nmt": lambda _: (Nmt(),),
    "Precompiled": lambda node: (Precompiled(_map(node["precompiled_charsmap"])),),
    "Prepend": lambda node: (Prepend(node["prepend"].string()),),
    "Replace": _replace,
    "Sequence": _sequence,
    "Strip": lambda node: (Strip(node["strip_left"].boolean(), node["strip_right"].boolean()),),
    "StripAccents": lambda _: (StripAccents(),),
}


# The fields that determine the type of a normalizer without one, in the order in which HF tries them.
_SHAPES = {
    "Bert": ("clean_text", "handle_chinese_chars", "lowercase"),
    "Strip": ("strip_left", "strip_right"),
    "Sequence": ("normalizers",),
    "Replace": ("pattern", "content"),
    "Prepend": ("prepend",),
}


def to_normalizer(steps: Steps) -> dict[str, Any] | None:
    """Return the `normalizer` of a tokenizer.json that is equivalent to the steps.

    >>> to_normalizer((Strip(), Lowercase()))["normalizers"][0]
    {'type': 'Strip', 'strip_left': True, 'strip_right': True}
    """
    parts = (_sentencepiece_steps(step) if isinstance(step, SentencePiece) else (step,) for step in steps)
    nodes = [_node(step) for part in parts for step in part]
    if len(nodes) == 1:
        return nodes[0]
    return {"type": "Sequence", "normalizers": nodes} if nodes else None


def _sentencepiece_steps(step: SentencePiece) -> Steps:
    """Return HF's steps for SentencePiece's normalizer.

    Hazard: HF applies the map to grapheme clusters, so combining marks after a mapped character may change the result.
    """
    if (step,) == NAMED["sentencepiece"]:
        return SPACED
    if step.whitespace_suffix or step.user_symbols or not step.escape_whitespaces:
        raise FormatError(
            "tokenizer.json has no normalizer that keeps user-defined pieces, puts spaces "
            "after words or leaves spaces unescaped: write a .model file"
        )
    # SentencePiece also strips U+2581 of the text itself at the end, like spaces.
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
        case ByteLevel() | Lowercase() | Nmt() | StripAccents():
            return {"type": type(step).__name__}
