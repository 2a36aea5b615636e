"""Read and write the normalizer of a tokenizer.json.

Source: HF tokenizers 0.23, including what it refuses.
"""

from __future__ import annotations

import base64
from functools import partial
from typing import Any

from subwords.formats.hf.component import (
    FLAG,
    PATTERN,
    TEXT,
    Component,
    Field,
    Types,
    as_sequence,
    maybe,
    pattern_node,
    type_of,
    written_as,
)
from subwords.formats.json_node import Node
from subwords.spec import normalizer as normalizers
from subwords.spec.splitter import SPACE
from subwords.support.errors import FormatError


def _replaced(pattern: tuple[str, bool], content: str) -> normalizers.Replace:
    from subwords.spec.oniguruma import from_oniguruma

    text, regex = pattern
    return normalizers.Replace(from_oniguruma(text) if regex else text, content, regex)


def _charsmap(node: Node) -> bytes:
    """Return the precompiled map in a base64 string."""
    text = node.string()
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise node.wrong(f"base64 ({error})") from None
    try:
        normalizers.read_charsmap(data)
    except FormatError as error:
        raise FormatError(f"{node.place}: {error}") from None
    return data


_BERT = Component(
    normalizers.Bert,
    {"clean_text": FLAG, "handle_chinese_chars": FLAG, "strip_accents": maybe(Node.boolean), "lowercase": FLAG},
)
_NORMALIZERS: Types = {
    "Bert": _BERT,
    "BertNormalizer": _BERT,
    "ByteLevel": Component(normalizers.ByteLevel),
    "Lowercase": Component(normalizers.Lowercase),
    **{form: Component(partial(normalizers.Form, form)) for form in ("NFC", "NFD", "NFKC", "NFKD")},
    "Nmt": Component(normalizers.Nmt),
    "Precompiled": Component(normalizers.Precompiled, {"precompiled_charsmap": Field(_charsmap)}),
    "Prepend": Component(normalizers.Prepend, {"prepend": TEXT}),
    "Replace": Component(_replaced, {"pattern": PATTERN, "content": TEXT}),
    "Sequence": lambda node: tuple(step for part in node.sequence("normalizers") for step in _normalizer(part)),
    "Strip": Component(normalizers.Strip, {"strip_left": FLAG, "strip_right": FLAG}),
    "StripAccents": Component(normalizers.StripAccents),
}
_UNTYPED_NORMALIZERS = {
    "Bert": "clean_text handle_chinese_chars lowercase",
    "Strip": "strip_left strip_right",
    "Sequence": "normalizers",
    "Replace": "pattern content",
    "Prepend": "prepend",
}


def from_normalizer(node: Node) -> normalizers.Steps:
    """Return the steps of a tokenizer.json's `normalizer`; () for null.

    Raises FormatError with the place for anything else. Patterns are translated but not compiled.

    >>> value = {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "Lowercase"}]}
    >>> from_normalizer(Node("a.json", "normalizer", value))
    (Form(form='NFD'), Lowercase())
    """
    return () if node.value is None else _normalizer(node)


def _normalizer(node: Node) -> normalizers.Steps:
    kind = type_of(node, _NORMALIZERS, _UNTYPED_NORMALIZERS)
    if kind is None:
        raise node["type"].wrong(f"one of {', '.join(_NORMALIZERS)}")
    found = _NORMALIZERS[kind](node)
    return found if isinstance(found, tuple) else (found,)


def to_normalizer(steps: normalizers.Steps) -> dict[str, Any] | None:
    """Return the `normalizer` of a tokenizer.json that is equivalent to the steps.

    >>> to_normalizer((normalizers.Strip(), normalizers.Lowercase()))["normalizers"][0]
    {'type': 'Strip', 'strip_left': True, 'strip_right': True}
    """
    parts = (_like_hf(step) if isinstance(step, normalizers.SentencePiece) else (step,) for step in steps)
    return as_sequence([_written(step) for part in parts for step in part], "normalizers")


def _like_hf(step: normalizers.SentencePiece) -> normalizers.Steps:
    """Return HF's steps for SentencePiece's normalizer.

    Hazard: HF applies the map to grapheme clusters, so combining marks after a mapped character may change the result.
    """
    if (step,) == normalizers.NAMED["sentencepiece"]:
        return normalizers.SPACED
    if step.whitespace_suffix or step.user_symbols or not step.escape_whitespaces:
        raise FormatError(
            "tokenizer.json has no normalizer that keeps user-defined pieces, puts spaces "
            "after words or leaves spaces unescaped: write a .model file"
        )
    found: list[normalizers.Step] = [normalizers.Precompiled(step.charsmap)] if step.charsmap else []
    if step.remove_extra_whitespaces:
        # SentencePiece also strips U+2581 of the text itself at the end, like spaces.
        runs, ends = normalizers.Replace(" {2,}", " ", True), normalizers.Replace(r"\A |[ ▁]+$", "", True)
        found += [runs, ends]
    found += [normalizers.Prepend(SPACE)] if step.add_dummy_prefix else []
    return *found, normalizers.Replace(" ", SPACE)


def _written(step: normalizers.Step) -> dict[str, Any]:
    match step:
        case normalizers.Form(form):
            return {"type": form}
        case normalizers.Replace(pattern, content, regex):
            return {"type": "Replace", "pattern": pattern_node(pattern, regex), "content": content}
        case normalizers.Precompiled(charsmap):
            return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()}
    return written_as(step, _NORMALIZERS)
