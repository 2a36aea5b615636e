"""Read and write the decoder of a tokenizer.json."""

from __future__ import annotations

import re
from typing import Any

from subwords.formats.json_node import Node
from subwords.spec.decoder import (
    CTC,
    BPEDecoder,
    ByteDecoder,
    ByteFallback,
    Decoder,
    DecoderSequence,
    DecoderStep,
    Fuse,
    Metaspace,
    Replace,
    ReplaceTokens,
    SentencePieceDecoder,
    SpaceDecoder,
    Strip,
    WordPieceDecoder,
)
from subwords.spec.oniguruma import from_oniguruma, to_oniguruma
from subwords.support.errors import FormatError, InputError

MOST = 2**63 - 1  # characters; longer than any token
DEEPEST = 100
SCHEMES = ("always", "first", "never")
SPACE = "▁"
KINDS = (
    *("BPEDecoder", "ByteLevel", "WordPiece", "Metaspace", "CTC", "Sequence", "Replace", "Fuse", "Strip"),
    "ByteFallback",
)
# The fields that determine the type of a decoder without one, in the order in which HF tries them.
SHAPES = {
    "BPEDecoder": ("suffix",),
    "WordPiece": ("prefix", "cleanup"),
    "CTC": ("pad_token", "word_delimiter_token", "cleanup"),
    "Replace": ("pattern", "content"),
    "Strip": ("content", "start", "stop"),
}


def from_decoder(node: Node) -> Decoder:
    """Return the decoder of a tokenizer.json; FormatError with the place if it is invalid or not supported.

    >>> from_decoder(Node("a.json", "decoder", {"type": "WordPiece", "prefix": "##", "cleanup": False}))
    WordPieceDecoder(prefix='##', cleanup=False)
    """
    if node.value is None:
        return SpaceDecoder()
    while node["type"].value == "Sequence" and len(node["decoders"].array()) == 1:
        (node,) = node["decoders"].items()
    return ByteDecoder(byte_level=False) if node["type"].value == "Fuse" else _from_step(node)


def to_decoder(decoder: Decoder) -> dict[str, Any] | None:
    """Return the `decoder` of a tokenizer.json, as HF writes it; FormatError if HF has no equivalent."""
    return None if isinstance(decoder, SpaceDecoder) else _to_step(decoder)


def _from_step(node: Node, depth: int = 0) -> DecoderStep:
    kind = _decoder_type(node)
    match kind:
        case "Sequence":
            if depth == DEEPEST:
                raise node.wrong(f"at most {DEEPEST} nested sequences", "one more")
            return DecoderSequence(tuple(_from_step(part, depth + 1) for part in node["decoders"].items()))
        case "ByteLevel":
            return ByteDecoder()
        case "WordPiece":
            return WordPieceDecoder(node["prefix"].string(), node["cleanup"].boolean())
        case "BPEDecoder":
            return BPEDecoder(node["suffix"].string())
        case "CTC":
            pad, delimiter = node["pad_token"].string(), node["word_delimiter_token"].string()
            return CTC(pad, delimiter, node["cleanup"].boolean())
        case "Metaspace":
            return _metaspace(node)
        case "ByteFallback":
            return ByteFallback()
        case "Fuse":
            return Fuse()
        case "Strip":
            return Strip(node["content"].character(), node["start"].integer(MOST), node["stop"].integer(MOST))
        case "Replace":
            return _replace(node)
    raise node.unsupported(", ".join(KINDS))


def _decoder_type(node: Node) -> str | None:
    """Return the type of a decoder; if HF does not have this type, the one that its fields determine, as in HF."""
    kind = node["type"].value
    if isinstance(kind, str) and kind in KINDS:
        return kind
    return next((name for name, fields in SHAPES.items() if all(field in node.object() for field in fields)), None)


def _metaspace(node: Node) -> Metaspace:
    character, scheme, split = node["replacement"], node["prepend_scheme"], node["split"]
    if len(character.string()) != 1:
        raise character.wrong("one character")
    if scheme.value not in (None, *SCHEMES):
        raise scheme.wrong(" or ".join(map(repr, SCHEMES)))
    if not node["add_prefix_space"].boolean(True) and scheme.value != "never":
        raise scheme.wrong('"never" where add_prefix_space is false')
    return Metaspace(character.string(), scheme.value or "always", split.boolean(True))


def _replace(node: Node) -> Replace | ReplaceTokens:
    from subwords.split.fallback import compiled  # imports `regex`, 30 ms

    pattern = node["pattern"]
    content = node["content"].string()
    if "String" in pattern.object():
        return Replace(pattern["String"].string(), content)
    if named := _step_of_regex(pattern["Regex"].string(), content):
        return named
    text = from_oniguruma(pattern["Regex"].string())
    try:
        compiled(text)
    except InputError as error:
        raise pattern["Regex"].wrong("a regex", f"this: {error}") from None
    return Replace(text, content, regex=True)


def _step_of_regex(pattern: str, content: str) -> ReplaceTokens | None:
    """Return the step that implements this regex, if there is one."""
    if not (pattern.startswith(r"\A(?:") and pattern.endswith(r")\z")):
        return None
    texts = re.findall(r"(?:\\.|[^\\|])+", pattern[5:-3], re.DOTALL)
    named = ReplaceTokens(tuple(re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL) for text in texts), content)
    return named if named.pattern == pattern else None


def _like_sentencepiece(decoder: SentencePieceDecoder) -> DecoderSequence:
    """Return HF steps that are equivalent for ids of a text.

    For bytes that are not UTF-8, HF shows each byte of the run as U+FFFD. For a piece that begins with several U+2581
    before any text, HF may drop all of them where SentencePiece drops one.
    """
    if decoder.steps:
        raise FormatError("tokenizer.json has no decoder with a precompiled map: write a .model file")
    surface = decoder.unk_surface
    steps: list[DecoderStep] = [ReplaceTokens(tuple(sorted(decoder.control)), "")] if decoder.control else []
    steps.append(Replace(SPACE, " "))
    # U+2581 no longer occurs in tokens; it protects the first space of unknown pieces.
    kept = bool(decoder.unknown) and surface.startswith(" ") and (decoder.drops_first or decoder.drops_leading)
    if decoder.unknown:
        steps.append(ReplaceTokens(tuple(sorted(decoder.unknown)), (SPACE if kept else "") + surface))
    steps += [ByteFallback()] if decoder.byte_fallback else []
    steps.append(Fuse())
    if decoder.drops_first or decoder.drops_leading:
        steps.append(Strip(" ", MOST if decoder.drops_leading else 1, 0))
    steps += [Replace(SPACE + surface, surface)] if kept else []
    return DecoderSequence(tuple(steps))


def _to_step(decoder: Decoder) -> dict[str, Any]:
    match decoder:
        case ByteDecoder(byte_level):
            node = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
            return node if byte_level else {"type": "Fuse"}
        case WordPieceDecoder(prefix, cleanup):
            return {"type": "WordPiece", "prefix": prefix, "cleanup": cleanup}
        case BPEDecoder(suffix):
            return {"type": "BPEDecoder", "suffix": suffix}
        case CTC(pad, delimiter, cleanup):
            return {"type": "CTC", "pad_token": pad, "word_delimiter_token": delimiter, "cleanup": cleanup}
        case DecoderSequence(steps):
            return {"type": "Sequence", "decoders": [_to_step(step) for step in steps]}
        case Metaspace(character, scheme, split):
            return {"type": "Metaspace", "replacement": character, "prepend_scheme": scheme, "split": split}
        case ByteFallback():
            return {"type": "ByteFallback"}
        case Fuse():
            return {"type": "Fuse"}
        case Strip(content, start, stop):
            return {"type": "Strip", "content": content, "start": start, "stop": stop}
        case ReplaceTokens(_, content):
            return {"type": "Replace", "pattern": {"Regex": decoder.pattern}, "content": content}
        case Replace(pattern, content, regex):
            text = {"Regex": to_oniguruma(pattern)} if regex else {"String": pattern}
            return {"type": "Replace", "pattern": text, "content": content}
        case SentencePieceDecoder():
            return _to_step(_like_sentencepiece(decoder))
    raise FormatError(f"tokenizer.json has no equivalent of the decoder {type(decoder).__name__}")
