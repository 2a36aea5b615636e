"""Read and write normalizer, pre_tokenizer, post_processor and decoder of a tokenizer.json: a table of types for each.

Source: HF tokenizers 0.23, including what it refuses.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import product
from typing import Any, NamedTuple, TypeAlias, get_args

from subwords.formats.json_node import Node, show_json
from subwords.spec import decoder as decoders
from subwords.spec import normalizer as normalizers
from subwords.spec.oniguruma import from_oniguruma, to_oniguruma
from subwords.spec.padding import LARGEST_ID, Padding, Truncation
from subwords.spec.padding import LONGEST_LENGTH as LONGEST_INPUT
from subwords.spec.splitter import (
    DIGIT,
    NAMED,
    PATTERNS,
    SIGN,
    SPACE,
    Behavior,
    ByteChars,
    Prefix,
    Replace,
    Rule,
    Split,
    escape,
    members,
)
from subwords.spec.template import MOST_TEMPLATE_IDS, Inserted, Piece, Slot, Template, bert
from subwords.spec.unicode import SCRIPTS, first_names
from subwords.support.errors import FormatError, InputError

MOST_CHARACTERS = 2**63 - 1  # characters; longer than any token
LONGEST_FIXED = 2**31 - 1  # characters; a longer fixed length leaves any text whole
SCHEMES: tuple[Any, ...] = ("always", "first", "never")
# HF's spelling: MergedWithNext.
BEHAVIORS: dict[str, Behavior] = {name.title().replace("_", ""): name for name in get_args(Behavior)}


# ---------------------------------------------------------------------------------------------------------------------
# What a row of a table is.


class Field(NamedTuple):
    """How the value of a key is read, and what counts where the key is absent."""

    read: Callable[[Node], Any]
    default: Any = None


@dataclass(frozen=True)
class Component:
    """A type of object: what is made of its fields, in their order by key.

    If that is a class, its attributes have this order too, so the row also says how it is written.
    """

    made: Callable[..., Any]
    fields: Mapping[str, Field] = field(default_factory=dict)

    def __call__(self, node: Node) -> Any:
        """Return what an object means; FormatError, with the place, for the first field that is not as expected."""
        return self.made(*(read(node.get(key, default)) for key, (read, default) in self.fields.items()))


_Types: TypeAlias = Mapping[str, Callable[[Node], Any]]  # by their names in a file


def _type_of(node: Node, types: _Types, untyped: Mapping[str, str]) -> str | None:
    """Return the type of an object; None if it has none of these.

    As in HF, an unknown or missing type is told by the fields. untyped: the fields that tell each type, in the order in
    which HF tries them.
    """
    kind = node["type"].value
    if isinstance(kind, str) and kind in types:
        return kind
    return next((name for name, keys in untyped.items() if node.object().keys() >= {*keys.split()}), None)


def as_sequence(nodes: list[Any], key: str) -> dict[str, Any] | None:
    """Return one component that does what several do, one after the other; None for none."""
    return nodes[0] if len(nodes) == 1 else {"type": "Sequence", key: nodes} if nodes else None


def maybe(read: Callable[[Node], Any]) -> Field:
    """Return a field that may be null."""
    return Field(lambda node: None if node.value is None else read(node))


def _pattern(node: Node) -> tuple[str, bool]:
    """Return a text, or a regex as the file has it, and which of them it is."""
    if not isinstance(node.value, dict) or len(node.value) != 1 or not {"String", "Regex"} & set(node.value):
        raise node.wrong("an object with a String or a Regex")
    (kind,) = node.value
    return node[kind].string(), kind == "Regex"


def _pattern_node(text: str, regex: bool) -> dict[str, str]:
    return {"Regex": to_oniguruma(text)} if regex else {"String": text}


FLAG, TEXT, CHARACTER, PATTERN = Field(Node.boolean), Field(Node.string), Field(Node.character), Field(_pattern)
_COUNT = Field(lambda node: node.integer(MOST_CHARACTERS))
_BEHAVIOR = Field(lambda node: BEHAVIORS[node.choice(tuple(BEHAVIORS))])


def byte_level(*, add_prefix_space: bool = True, use_regex: bool = True) -> dict[str, Any]:
    """Return a ByteLevel, which three of the components may be."""
    return {"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": True, "use_regex": use_regex}


_METASPACE = Component(
    decoders.Metaspace,
    {
        "replacement": CHARACTER,
        "prepend_scheme": Field(lambda node: node.choice(SCHEMES), "always"),
        "split": Field(lambda node: node.boolean(True)),
    },
)


def _metaspace(node: Node) -> decoders.Metaspace:
    found: decoders.Metaspace = _METASPACE(node)
    if not node["add_prefix_space"].boolean(True) and found.prepend_scheme != "never":
        raise node["prepend_scheme"].wrong('"never" where add_prefix_space is false')
    return found


# ---------------------------------------------------------------------------------------------------------------------
# The normalizer.


def _replaced(pattern: tuple[str, bool], content: str) -> normalizers.Replace:
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
_NORMALIZERS: _Types = {
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
    kind = _type_of(node, _NORMALIZERS, _UNTYPED_NORMALIZERS)
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


# ---------------------------------------------------------------------------------------------------------------------
# The decoder.


def _replacing(node: Node) -> decoders.Replace | decoders.ReplaceTokens:
    from subwords.split.fallback import compiled  # imports `regex`, 30 ms

    content, (text, regex) = node["content"].string(), _pattern(node["pattern"])
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


_DECODERS: _Types = {
    "BPEDecoder": Component(decoders.BPEDecoder, {"suffix": TEXT}),
    "ByteLevel": Component(decoders.ByteDecoder),
    "WordPiece": Component(decoders.WordPieceDecoder, {"prefix": TEXT, "cleanup": FLAG}),
    "Metaspace": _metaspace,
    "CTC": Component(decoders.CTC, {"pad_token": TEXT, "word_delimiter_token": TEXT, "cleanup": FLAG}),
    "Sequence": lambda node: decoders.DecoderSequence(tuple(map(_decoder, node.sequence("decoders")))),
    "Replace": _replacing,
    "Fuse": Component(decoders.Fuse),
    "Strip": Component(decoders.Strip, {"content": CHARACTER, "start": _COUNT, "stop": _COUNT}),
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
    kind = _type_of(node, _DECODERS, _UNTYPED_DECODERS)
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


# How a class is written: its name in a file, and the keys of its attributes.
_WRITTEN = {
    row.made: (name, [*row.fields])
    for name, row in (*_NORMALIZERS.items(), *_DECODERS.items(), ("Metaspace", _METASPACE))
    if isinstance(row, Component)
}


def _written(step: normalizers.Step | decoders.Decoder) -> dict[str, Any]:
    """Return the JSON object of a step of a normalizer or a decoder."""
    match step:
        case normalizers.Form(form):
            return {"type": form}
        case normalizers.Replace(pattern, content, regex) | decoders.Replace(pattern, content, regex):
            return {"type": "Replace", "pattern": _pattern_node(pattern, regex), "content": content}
        case decoders.ReplaceTokens(_, content):
            return {"type": "Replace", "pattern": {"Regex": step.pattern}, "content": content}
        case normalizers.Precompiled(charsmap):
            return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()}
        case decoders.ByteDecoder(joins_bytes):
            return byte_level() if joins_bytes else {"type": "Fuse"}
        case decoders.DecoderSequence(steps):
            return {"type": "Sequence", "decoders": [_written(each) for each in steps]}
        case decoders.SentencePieceDecoder():
            return _written(_like_sentencepiece(step))
    name, keys = _WRITTEN[type(step)]
    return {"type": name, **{key: getattr(step, each) for key, each in zip(keys, step.__match_args__, strict=True)}}


# ---------------------------------------------------------------------------------------------------------------------
# HF's UnicodeScripts: split where the script changes, by the scripts of Unicode 9.

# Characters that got a script only after Unicode 9, with unassigned code points between them. Like the space, they
# belong to any script.
_LATER = (
    "560 588 5EF 61D 7FD-7FF 860-89F 8B5 8BE-8D3 9FC-9FE A76 AFA-AFF B55 C04 C3C C5D C77 C84 CDD CF3-D00 D04 D3B-D3C "
    "D81 E86 E89 E8C E8E-E93 E98 EA0 EA8-EA9 EAC EBA ECE 170D 1715-171F 180F 1878 1ABF-1ACE 1B4C-1B4F 1B7D-1B7F "
    "1C89-1CBF 1CF7 1CFA 1DF6-1DFA 20BF-20C0 23FF 2427-2429 2B97 2BBA-2BBC 2BC9 2BD2-2BEB 2BF0-2BFF 2C2F 2C5F "
    "2E45-2E5D 2FFC-2FFF 312E-312F 31BB-31BF 31E4-31EF 32FF 4DB6-4DBF 9FD6-9FFF A7AF A7B8-A7F6 A82C A8FE-A8FF "
    "AB66-AB6B FBC2 FD40-FD4F FDCF FDFE-FDFF 1019C 1032D-1032F 10570-105F3 10780-107BA 10A34-10A35 10A48 10D00-10D8F "
    "10E80-10FF6 11070-11075 110C2-110CD 11144-11147 111CE-111CF 1123F-11241 1133B 11380-113E2 1145A 1145E-11461 "
    "116B8-116B9 116D0-116E3 1171A 11740-1183B 11900-11ABF 11B00-11BF9 11D00-11FFF 12F90-12FF2 1342F-143FA "
    "16100-16139 16A70-16AC9 16D40-16E9A 16F45-16F4F 16F7F-16F87 16FE1-16FF1 187ED-187F7 18AF3-1AFFE 1B002-1B2FB "
    "1CC00-1CFC3 1D1E9-1D1EA 1D2C0-1D2F3 1D372-1D378 1DF00-1DF2A 1E030-1E7FE 1E94B 1EC71-1ED3D 1F10D-1F10F 1F12F "
    "1F16C-1F16F 1F1AD 1F260-1F265 1F6D3-1F6DF 1F6F7-1F6FC 1F774-1F77F 1F7D5-1F7F0 1F8B0-1F90F 1F91F 1F928-1F92F "
    "1F931-1F932 1F93F 1F94C-1F94F 1F95F-1F97F 1F992-1F9BF 1F9C1-1FBF9 2A6D7-2A6DF 2B735-2B739 2CEB0-2EE5D 30000-323AF"
)
_ANY = rf" \p{{Cn}}\p{{Co}}{members(_LATER)}"

# Five characters have changed their script since Unicode 9; kana count as Han.
_MOVED = {"Armenian": "589", "Arabic": "61C", "Inherited": "953-954", "Common": "30FC"}
_JOINED = {"Common": members("589 61C"), "Devanagari": members("953-954"), "Han": r"\p{Hiragana}\p{Katakana}ー"}


# Scripts are grouped because an automaton has too few classes for all scripts.
GROUPS = 13


@cache
def unicode_scripts() -> Rule:
    """Return the rule; it drops text before the first character that has a script.

    The first step splits where the group of scripts changes, the second where the script changes within a group.
    """
    names = [name for name in first_names(SCRIPTS) if name not in ("Hiragana", "Katakana", "Unknown")]
    columns = [names[k::GROUPS] for k in range(GROUPS)]
    rows = [names[k : k + GROUPS] for k in range(0, len(names), GROUPS)]
    steps = (
        Split("|".join(f"[{''.join(map(_script, group))}{_ANY}]+" for group in groups)) for groups in (columns, rows)
    )
    return (Split(rf"[^{_ANY}][\s\S]*", "removed", invert=True), *steps)


def _script(name: str) -> str:
    kept = rf"[\p{{{name}}}&&[^{members(_MOVED[name])}]]" if name in _MOVED else rf"\p{{{name}}}"
    return kept + _JOINED.get(name, "")


# ---------------------------------------------------------------------------------------------------------------------
# The pre_tokenizer.


_LITERAL = re.compile(r"(?:[^][\\.+*?(){}|^$]|\\[][\\.+*?(){}|^$])+")
_FIXED = re.compile(r"\[\\s\\S\]\{1,(\d+)\}")


def _bytes(prefix: bool, words: bool) -> Rule:
    return (*((Prefix(" "),) if prefix else ()), *((Split(PATTERNS["gpt2"]),) if words else ()), ByteChars())


def _split(pattern: tuple[str, bool], behavior: Behavior, invert: bool) -> Rule:
    text, regex = pattern
    return (Split(from_oniguruma(text) if regex else escape(text), behavior, invert),)


def _spaced(step: decoders.Metaspace) -> Rule:
    character, scheme, split = step.replacement, step.prepend_scheme, step.split
    prefix = () if scheme == "never" else (Prefix(character, scheme),)
    return (Replace(" ", character), *prefix, *((Split(escape(character), "merged_with_next"),) if split else ()))


def _length(node: Node) -> int:
    if type(node.value) is not int or not 0 < node.value < 2**64:
        raise node.wrong("an integer from 1 to 2^64 - 1")
    return node.value


def _of(rule: Rule) -> Component:
    return Component(lambda: rule)


_PRE_TOKENIZERS: _Types = {
    "BertPreTokenizer": _of(NAMED["bert"]),
    "ByteLevel": Component(_bytes, {"add_prefix_space": FLAG, "use_regex": Field(Node.boolean, True)}),
    "CharDelimiterSplit": Component(lambda text: (Split(escape(text), "removed"),), {"delimiter": CHARACTER}),
    "Digits": Component(
        lambda each: (Split(DIGIT, "isolated" if each else "contiguous"),), {"individual_digits": FLAG}
    ),
    "FixedLength": Component(
        lambda length: (Split(rf"[\s\S]{{1,{length}}}"),) if length <= LONGEST_FIXED else (),
        {"length": Field(_length, 5)},
    ),
    "Metaspace": lambda node: _spaced(_metaspace(node)),
    "Punctuation": Component(
        lambda behavior: (Split(SIGN, behavior),), {"behavior": _BEHAVIOR._replace(default="Isolated")}
    ),
    "Sequence": lambda node: tuple(step for part in node.sequence("pretokenizers") for step in _pre_tokenizer(part)),
    "Split": Component(_split, {"pattern": PATTERN, "behavior": _BEHAVIOR, "invert": FLAG}),
    "UnicodeScripts": Component(unicode_scripts),
    "Whitespace": _of(NAMED["whitespace"]),
    "WhitespaceSplit": _of(NAMED["whitespace-split"]),
}


def from_pre_tokenizer(node: Node) -> Rule:
    """Return the rule of a tokenizer.json's `pre_tokenizer`; () for null.

    Raises FormatError with the place for anything else. Patterns are translated but not compiled.

    >>> value = {"type": "Digits", "individual_digits": True}
    >>> from_pre_tokenizer(Node("a.json", "pre_tokenizer", value)) == NAMED["starcoder"][:1]
    True
    """
    return () if node.value is None else _pre_tokenizer(node)


def _pre_tokenizer(node: Node) -> Rule:
    rule: Rule = _PRE_TOKENIZERS[node["type"].choice(tuple(_PRE_TOKENIZERS))](node)
    return rule


def to_pre_tokenizer(rule: Rule) -> dict[str, Any] | None:
    """Return the `pre_tokenizer` of a tokenizer.json that is equivalent to a rule; FormatError if HF has none.

    >>> to_pre_tokenizer((Split("a"), ByteChars()))["pretokenizers"][0]
    {'type': 'Split', 'pattern': {'String': 'a'}, 'behavior': 'Isolated', 'invert': False}
    """
    nodes, at = [], 0
    while at < len(rule):
        step = rule[at]
        spaces = _spaces(step.new) if isinstance(step, Replace) and len(step.new) == 1 else []
        found = ((steps, node) for steps, node in (*_known(), *spaces) if rule[at : at + len(steps)] == steps)
        # The node that covers as many of the steps as possible.
        steps, node = max(found, key=lambda entry: len(entry[0]), default=((step,), None))
        nodes.append(_split_node(step) if node is None else node)
        at += len(steps)
    return as_sequence(nodes, "pretokenizers")


def _split_node(step: Any) -> dict[str, Any]:
    if not isinstance(step, Split):
        raise FormatError(f"tokenizer.json has no equivalent of {step} at this position")
    if (fixed := _FIXED.fullmatch(step.pattern)) and (step.behavior, step.invert) == ("isolated", False):
        return {"type": "FixedLength", "length": int(fixed[1])}
    literal = _LITERAL.fullmatch(step.pattern)
    text = re.sub(r"\\(.)", r"\1", step.pattern, flags=re.DOTALL) if literal else step.pattern
    behavior = step.behavior.title().replace("_", "")
    return {"type": "Split", "pattern": _pattern_node(text, not literal), "behavior": behavior, "invert": step.invert}


def _spaces(character: str) -> list[tuple[Rule, dict[str, Any]]]:
    found = (decoders.Metaspace(character, scheme, split) for scheme in SCHEMES for split in (True, False))
    return [(_spaced(step), _written(step)) for step in found]


@cache
def _known() -> list[tuple[Rule, dict[str, Any]]]:
    """Return the steps of every node without a pattern or a character."""
    nodes: list[dict[str, Any]] = [
        *({"type": kind} for kind in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit", "UnicodeScripts")),
        *({"type": "Digits", "individual_digits": each} for each in (True, False)),
        *({"type": "Punctuation", "behavior": each} for each in BEHAVIORS),
        *(byte_level(add_prefix_space=a, use_regex=b) for a, b in product((True, False), repeat=2)),
    ]
    return [(_pre_tokenizer(Node("", "", node)), node) for node in nodes]


# ---------------------------------------------------------------------------------------------------------------------
# The post_processor, as a template.


def _bert_template(node: Node) -> Template:
    # HF distinguishes BertProcessing and RobertaProcessing by their fields, not by `type`.
    (cls, cls_id), (sep, sep_id) = _template_token(node["cls"]), _template_token(node["sep"])
    if node["trim_offsets"].value is None or node["add_prefix_space"].value is None:
        return bert(cls_id, sep_id, cls, sep)
    start, stop = Inserted(cls, (cls_id,), (cls,)), Inserted(sep, (sep_id,), (sep,))
    single = (start, Slot("A"), stop)
    return Template(single, (*single, stop, Slot("B"), stop), Component(_trims, _TRIMS)(node).trims)


def _template_token(node: Node) -> tuple[str, int]:
    if len(node.array()) != 2:
        raise node.wrong("a token and its id")
    token, index = node.items()
    return token.string(), index.integer(MOST_TEMPLATE_IDS)


def _processing(node: Node) -> Template:
    named = {key: _special(node["special_tokens"][key]) for key in node["special_tokens"].distinct()}
    single, pair = (tuple(_piece(item, named) for item in node[key].items()) for key in ("single", "pair"))
    try:
        return Template(single, pair)
    except InputError as error:
        raise node.wrong("a template that can be applied", f"this one: {error}") from None


def _special(node: Node) -> tuple[tuple[int, ...], tuple[str, ...]]:
    ids = tuple(item.integer(MOST_TEMPLATE_IDS) for item in node["ids"].items())
    tokens = tuple(item.string() for item in node["tokens"].items())
    node["id"].string()
    if len(ids) != len(tokens):
        raise node.wrong("as many ids as tokens", f"{len(ids)} and {len(tokens)}")
    return ids, tokens


def _piece(node: Node, named: Mapping[str, tuple[tuple[int, ...], tuple[str, ...]]]) -> Piece:
    if len(node.object()) != 1:
        raise node.wrong("a Sequence or a SpecialToken")
    (kind,) = node.object()
    name, type_id = node[kind]["id"].string(), node[kind]["type_id"].integer(MOST_TEMPLATE_IDS)
    if kind == "Sequence" and name in ("A", "B"):
        return Slot("A" if name == "A" else "B", type_id)
    if kind != "SpecialToken":
        raise node.wrong("a Sequence, A or B, or a SpecialToken", f"{show_json(kind)} {show_json(name)}")
    if name not in named:
        raise node[kind]["id"].wrong("one of the special_tokens")
    return Inserted(name, *named[name], type_id)


def _trims(keeps_prefix: bool, trims: bool, _use_regex: bool = True) -> Template:
    return Template(trims=(keeps_prefix,) if trims else ())


_TRIMS = {"add_prefix_space": FLAG, "trim_offsets": FLAG}
_PROCESSORS: _Types = {
    "BertProcessing": _bert_template,
    "ByteLevel": Component(_trims, {**_TRIMS, "use_regex": Field(Node.boolean, True)}),
    "RobertaProcessing": _bert_template,
    "TemplateProcessing": _processing,
}
_UNTYPED_PROCESSORS = {"BertProcessing": "sep cls", "TemplateProcessing": "single pair special_tokens"}


def from_post_processor(node: Node) -> Template | None:
    """Return the template of a tokenizer.json's `post_processor`, None if it changes nothing.

    Raises FormatError with the place for anything else, also for templates that fail in HF on use.

    >>> value = {"type": "BertProcessing", "sep": ["[SEP]", 102], "cls": ["[CLS]", 101]}
    >>> from_post_processor(Node("a.json", "post_processor", value)) == bert(101, 102)
    True
    """
    steps = [(step, _template(step)) for step in node.flat("processors")] if node.value is not None else []
    plain = Template()
    framing = [(step, got) for step, got in steps if (got.single, got.pair) != (plain.single, plain.pair)]
    if len(framing) > 1:
        raise framing[1][0].unsupported("a single template")
    frame = framing[0][1] if framing else plain
    template = Template(frame.single, frame.pair, tuple(keeps for _, got in steps for keeps in got.trims))
    return None if template == plain else template


def _template(node: Node) -> Template:
    kind = _type_of(node, _PROCESSORS, _UNTYPED_PROCESSORS)
    if kind is None:
        raise node.unsupported(" or ".join(_PROCESSORS))
    template: Template = _PROCESSORS[kind](node)
    return template


def to_post_processor(template: Template | None) -> dict[str, Any] | None:
    """Return the `post_processor` of a tokenizer.json that is equivalent to a template; None for no template.

    >>> to_post_processor(bert(101, 102))["single"][1]
    {'Sequence': {'id': 'A', 'type_id': 0}}
    """
    if template is None:
        return None
    nodes = [byte_level(add_prefix_space=keeps_prefix) for keeps_prefix in template.trims]
    if (template.single, template.pair) != (Template().single, Template().pair):
        named = {piece.name: piece for piece in (*template.single, *template.pair) if isinstance(piece, Inserted)}
        tokens = {
            name: {"id": name, "ids": list(piece.ids), "tokens": list(piece.tokens)}
            for name, piece in sorted(named.items())
        }
        single, pair = ([_piece_node(piece) for piece in pieces] for pieces in (template.single, template.pair))
        nodes.append({"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": tokens})
    return as_sequence(nodes, "processors")


def _piece_node(piece: Piece) -> dict[str, Any]:
    if isinstance(piece, Slot):
        return {"Sequence": {"id": piece.text, "type_id": piece.type_id}}
    return {"SpecialToken": {"id": piece.name, "type_id": piece.type_id}}


# ---------------------------------------------------------------------------------------------------------------------
# Padding and truncation.

_STRATEGIES: dict[str, Any] = {"LongestFirst": "longest_first", "OnlyFirst": "only_first", "OnlySecond": "only_second"}
_TOKENS = Field(lambda node: node.integer(LONGEST_INPUT))
_SIDE = Field(lambda node: node.choice(("Left", "Right")).lower(), "Right")


def _fixed(node: Node) -> int | None:
    if node.value == "BatchLongest":
        return None
    if not isinstance(node.value, dict) or list(node.value) != ["Fixed"]:
        raise node.wrong('"BatchLongest" or {"Fixed": length}')
    return node["Fixed"].integer(LONGEST_INPUT)


# Both are null in files that have none.
PADDING = Component(
    lambda length, side, multiple, index, type_id, token: Padding(
        length, side, multiple_of=multiple, pad_id=index, pad_type_id=type_id, pad_token=token
    ),
    {
        "strategy": Field(_fixed),
        "direction": _SIDE,
        "pad_to_multiple_of": maybe(_TOKENS.read),
        **dict.fromkeys(("pad_id", "pad_type_id"), Field(lambda node: node.integer(LARGEST_ID))),
        "pad_token": TEXT,
    },
)
_STRATEGY = Field(lambda node: _STRATEGIES[node.choice(tuple(_STRATEGIES))])
TRUNCATION = Component(
    lambda side, most, strategy, stride: Truncation(most, strategy, stride=stride, direction=side),
    {"direction": _SIDE, "max_length": _TOKENS, "strategy": _STRATEGY, "stride": _TOKENS},
)


def to_padding(padding: Padding | None) -> dict[str, Any] | None:
    """Return the `padding` of a file."""
    if padding is None:
        return None
    strategy, side = "BatchLongest" if padding.length is None else {"Fixed": padding.length}, padding.direction
    index, token = padding.filler
    values = strategy, (side or "right").title(), padding.multiple_of, index, padding.pad_type_id, token
    return dict(zip(PADDING.fields, values, strict=True))


def to_truncation(truncation: Truncation | None) -> dict[str, Any] | None:
    """Return the `truncation` of a file."""
    if truncation is None:
        return None
    side, strategy = truncation.direction.title(), truncation.strategy.title().replace("_", "")
    return dict(zip(TRUNCATION.fields, (side, truncation.max_length, strategy, truncation.stride), strict=True))
