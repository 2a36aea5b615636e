"""Read and write the decoder of a tokenizer.json.

Source: HF tokenizers 0.23, including what it refuses.
"""

from __future__ import annotations

import re
from typing import Any

from subwords.formats.hf.component import (
    CHARACTER,
    COUNT,
    FLAG,
    MOST_CHARACTERS,
    SCHEMES,
    TEXT,
    Component,
    Field,
    Types,
    byte_level,
    pattern_node,
    text_or_regex,
    type_of,
    written_as,
)
from subwords.formats.json_node import Node
from subwords.spec import decoder as decoders
from subwords.spec.splitter import SPACE
from subwords.support.errors import FormatError, InputError

_METASPACE = Component(
    decoders.Metaspace,
    {
        "replacement": CHARACTER,
        "prepend_scheme": Field(lambda node: node.choice(SCHEMES), "always"),
        "split": Field(lambda node: node.boolean(True)),
    },
)


def read_metaspace(node: Node) -> decoders.Metaspace:
    """Return a Metaspace, which a pre_tokenizer may also be."""
    found: decoders.Metaspace = _METASPACE(node)
    if not node["add_prefix_space"].boolean(True) and found.prepend_scheme != "never":
        raise node["prepend_scheme"].wrong('"never" where add_prefix_space is false')
    return found


def _replacing(node: Node) -> decoders.Replace | decoders.ReplaceTokens:
    from subwords.spec.oniguruma import from_oniguruma
    from subwords.split.fallback import compiled  # imports `regex`, 30 ms

    content, (text, regex) = node["content"].string(), text_or_regex(node["pattern"])
    if not regex:
        return decoders.Replace(text, content)
    if named := _step_of_regex(text, content):
        return named
    text = from_oniguruma(text)
    try:
        compiled(text)
    except InputError as error:
        raise node["pattern"]["Regex"].wrong("a regex", f"this: {error}") from None
    return decoders.Replace(text, content, regex=True)


def _step_of_regex(pattern: str, content: str) -> decoders.ReplaceTokens | None:
    """Return the step that implements this regex, if there is one."""
    if not (pattern.startswith(r"\A(?:") and pattern.endswith(r")\z")):
        return None
    texts = re.findall(r"(?:\\.|[^\\|])+", pattern[5:-3], re.DOTALL)
    named = decoders.ReplaceTokens(tuple(re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL) for text in texts), content)
    return named if named.pattern == pattern else None


_DECODERS: Types = {
    "BPEDecoder": Component(decoders.BPEDecoder, {"suffix": TEXT}),
    "ByteLevel": Component(decoders.ByteDecoder),
    "WordPiece": Component(decoders.WordPieceDecoder, {"prefix": TEXT, "cleanup": FLAG}),
    "Metaspace": read_metaspace,
    "CTC": Component(decoders.CTC, {"pad_token": TEXT, "word_delimiter_token": TEXT, "cleanup": FLAG}),
    "Sequence": lambda node: decoders.DecoderSequence(tuple(map(_decoder, node.sequence("decoders")))),
    "Replace": _replacing,
    "Fuse": Component(decoders.Fuse),
    "Strip": Component(decoders.Strip, {"content": CHARACTER, "start": COUNT, "stop": COUNT}),
    "ByteFallback": Component(decoders.ByteFallback),
}
_UNTYPED_DECODERS = {
    "BPEDecoder": "suffix",
    "WordPiece": "prefix cleanup",
    "CTC": "pad_token word_delimiter_token cleanup",
    "Replace": "pattern content",
    "Strip": "content start stop",
}


def from_decoder(node: Node) -> decoders.Decoder:
    """Return the decoder of a tokenizer.json; FormatError with the place if it is invalid or not supported.

    >>> from_decoder(Node("a.json", "decoder", {"type": "WordPiece", "prefix": "##", "cleanup": False}))
    WordPieceDecoder(prefix='##', cleanup=False)
    """
    if node.value is None:
        return decoders.SpaceDecoder()
    while node["type"].value == "Sequence" and len(node["decoders"].array()) == 1:
        (node,) = node["decoders"].items()
    return decoders.ByteDecoder(byte_level=False) if node["type"].value == "Fuse" else _decoder(node)


def _decoder(node: Node) -> decoders.DecoderStep:
    kind = type_of(node, _DECODERS, _UNTYPED_DECODERS)
    if kind is None:
        raise node.unsupported(", ".join(_DECODERS))
    found: decoders.DecoderStep = _DECODERS[kind](node)
    return found


def to_decoder(decoder: decoders.Decoder) -> dict[str, Any] | None:
    """Return the `decoder` of a tokenizer.json, as HF writes it; FormatError if HF has no equivalent."""
    return None if isinstance(decoder, decoders.SpaceDecoder) else _written(decoder)


def _like_sentencepiece(decoder: decoders.SentencePieceDecoder) -> decoders.DecoderSequence:
    """Return HF steps that are equivalent for ids of a text.

    For bytes that are not UTF-8, HF shows each byte of the run as U+FFFD. For a piece that begins with several U+2581
    before any text, HF may drop all of them where SentencePiece drops one.
    """
    if decoder.steps:
        raise FormatError("tokenizer.json has no decoder with a precompiled map: write a .model file")
    surface, replaces = decoder.unk_surface, decoders.ReplaceTokens
    steps: list[decoders.DecoderStep] = [replaces(tuple(sorted(decoder.control)), "")] if decoder.control else []
    steps.append(decoders.Replace(SPACE, " "))
    # U+2581 no longer occurs in tokens; it protects the first space of unknown pieces.
    kept = bool(decoder.unknown) and surface.startswith(" ") and (decoder.drops_first or decoder.drops_leading)
    if decoder.unknown:
        steps.append(replaces(tuple(sorted(decoder.unknown)), (SPACE if kept else "") + surface))
    steps += [decoders.ByteFallback()] if decoder.byte_fallback else []
    steps.append(decoders.Fuse())
    if decoder.drops_first or decoder.drops_leading:
        steps.append(decoders.Strip(" ", MOST_CHARACTERS if decoder.drops_leading else 1, 0))
    steps += [decoders.Replace(SPACE + surface, surface)] if kept else []
    return decoders.DecoderSequence(tuple(steps))


def _written(step: decoders.Decoder) -> dict[str, Any]:
    match step:
        case decoders.Replace(pattern, content, regex):
            return {"type": "Replace", "pattern": pattern_node(pattern, regex), "content": content}
        case decoders.ReplaceTokens(_, content):
            return {"type": "Replace", "pattern": {"Regex": step.pattern}, "content": content}
        case decoders.ByteDecoder(joins_bytes):
            return byte_level() if joins_bytes else {"type": "Fuse"}
        case decoders.DecoderSequence(steps):
            return {"type": "Sequence", "decoders": [_written(each) for each in steps]}
        case decoders.SentencePieceDecoder():
            return _written(_like_sentencepiece(step))
    return written_as(step, {**_DECODERS, "Metaspace": _METASPACE})
