"""The components of a tokenizer.json: every type as steps, back again, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from building import node_of
from inside import (
    BEHAVIORS,
    CTC,
    DIGIT,
    PATTERNS,
    SIGN,
    Bert,
    ByteDecoder,
    ByteFallback,
    DecoderSequence,
    Form,
    Fuse,
    Lowercase,
    Metaspace,
    Nmt,
    Prepend,
    SpaceDecoder,
    StripAccents,
    WordPieceDecoder,
    decoder_Replace,
    decoder_Strip,
    from_decoder,
    from_normalizer,
    from_post_processor,
    from_pre_tokenizer,
    json_node_DEEPEST,
    normalizer_Replace,
    normalizer_Strip,
    splitter_NAMED,
    splitter_Replace,
    to_decoder,
    to_normalizer,
    to_pre_tokenizer,
    unicode_scripts,
)
from small_data import file_of
from subwords import FormatError
from subwords.machine import ByteChars, Prefix, Rule, Split

WORDS, WHITE = Split(PATTERNS["gpt2"]), (Split(r"\s", "removed"),)
FLAGS = {"clean_text": True, "handle_chinese_chars": False, "strip_accents": None, "lowercase": True}
READ: dict[str, Callable[..., Any]] = {
    "normalizer": from_normalizer,
    "pre_tokenizer": from_pre_tokenizer,
    "post_processor": from_post_processor,
    "decoder": from_decoder,
}
WRITE: dict[str, Callable[..., Any]] = {
    "normalizer": to_normalizer,
    "pre_tokenizer": to_pre_tokenizer,
    "decoder": to_decoder,
}
PARTS = {
    "normalizer": "normalizers",
    "pre_tokenizer": "pretokenizers",
    "post_processor": "processors",
    "decoder": "decoders",
}


def read(slot: str, value: Any) -> Any:
    return READ[slot](node_of(value, slot))


def node(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


def sequence(slot: str, *nodes: Any) -> dict[str, Any]:
    return node("Sequence", **{PARTS[slot]: list(nodes)})


def replacing(pattern: Any, content: Any = "") -> dict[str, Any]:
    return node("Replace", pattern=pattern, content=content)


def split_node(pattern: Any, behavior: Any = "Isolated", invert: Any = False) -> dict[str, Any]:
    return node("Split", pattern=pattern, behavior=behavior, invert=invert)


def byte_level(prefix: bool, **fields: Any) -> dict[str, Any]:
    return node("ByteLevel", add_prefix_space=prefix, trim_offsets=True, **fields)


def spaces(**fields: Any) -> dict[str, Any]:
    return node("Metaspace", replacement="_", **fields)


def spaced(*between: Any, split: bool = True) -> Rule:
    return (splitter_Replace(" ", "_"), *between, *([Split("_", "merged_with_next")] if split else []))


# What HF writes, and what it means.
WRITTEN: dict[str, list[tuple[Any, Any]]] = {
    "normalizer": [
        (None, ()),
        (node("BertNormalizer", **FLAGS), (Bert(handle_chinese_chars=False),)),
        (node("BertNormalizer", **FLAGS | {"strip_accents": True}), (Bert(True, False, True, True),)),
        *((node(form), (Form(form),)) for form in ("NFC", "NFD", "NFKC", "NFKD")),
        *((node(step.__name__), (step(),)) for step in (Lowercase, Nmt, StripAccents)),
        (node("Strip", strip_left=True, strip_right=False), (normalizer_Strip(right=False),)),
        (node("Prepend", prepend="▁"), (Prepend("▁"),)),
        (replacing({"String": "a.b"}), (normalizer_Replace("a.b", ""),)),
        (replacing({"Regex": " {2,}"}, " "), (normalizer_Replace(" {2,}", " ", regex=True),)),
        (sequence("normalizer", node("NFD"), node("Lowercase")), (Form("NFD"), Lowercase())),
    ],
    "pre_tokenizer": [
        (None, ()),
        (byte_level(False, use_regex=True), (WORDS, ByteChars())),
        (byte_level(False, use_regex=False), (ByteChars(),)),
        (byte_level(True, use_regex=True), (Prefix(" "), WORDS, ByteChars())),
        (byte_level(True, use_regex=False), (Prefix(" "), ByteChars())),
        (split_node({"String": "a.b"}), (Split(r"a\.b"),)),
        (split_node({"Regex": "a.b"}), (Split("a.b"),)),
        *((split_node({"Regex": "a|b"}, key, True), (Split("a|b", name, True),)) for key, name in BEHAVIORS.items()),
        (
            sequence("pre_tokenizer", split_node({"String": "a"}), byte_level(False, use_regex=False)),
            (Split("a"), ByteChars()),
        ),
        (spaces(prepend_scheme="always", split=True), spaced(Prefix("_"))),
        (spaces(prepend_scheme="always", split=False), spaced(Prefix("_"), split=False)),
        (spaces(prepend_scheme="first", split=True), spaced(Prefix("_", "first"))),
        (spaces(prepend_scheme="never", split=True), spaced()),
        (node("BertPreTokenizer"), splitter_NAMED["bert"]),
        (node("Whitespace"), splitter_NAMED["whitespace"]),
        (node("WhitespaceSplit"), WHITE),
        (node("Digits", individual_digits=True), (Split(DIGIT),)),
        (node("Digits", individual_digits=False), splitter_NAMED["digits"]),
        *((node("Punctuation", behavior=key), (Split(SIGN, name),)) for key, name in BEHAVIORS.items()),
        (node("UnicodeScripts"), unicode_scripts()),
        (node("FixedLength", length=2), (Split(r"[\s\S]{1,2}"),)),
    ],
    "decoder": [
        (None, SpaceDecoder()),
        (node("WordPiece", prefix="▁", cleanup=False), WordPieceDecoder("▁", cleanup=False)),
        (byte_level(True, use_regex=True), ByteDecoder()),
        (node("Fuse"), ByteDecoder(byte_level=False)),
        (node("CTC", pad_token="a", word_delimiter_token="|", cleanup=True), CTC("a", "|")),
        (node("Strip", content=" ", start=1, stop=0), decoder_Strip(" ", 1, 0)),
        (spaces(prepend_scheme="first", split=False), Metaspace("_", "first", False)),
        (
            sequence("decoder", replacing({"String": "▁"}, " "), node("ByteFallback"), node("Fuse")),
            DecoderSequence((decoder_Replace("▁", " "), ByteFallback(), Fuse())),
        ),
    ],
}
# What HF reads, too, and writes in another way.
ALSO: dict[str, list[tuple[Any, Any]]] = {
    "normalizer": [
        (node("Bert", **FLAGS, more=1), (Bert(handle_chinese_chars=False),)),
        (node("BertNormalizer", clean_text=True, handle_chinese_chars=True, lowercase=True), (Bert(),)),
        (sequence("normalizer"), ()),
        (replacing({"Regex": r"\s+$"}), (normalizer_Replace(r"\s+(?![^\n])", "", regex=True),)),
    ],
    "pre_tokenizer": [
        (byte_level(False), (WORDS, ByteChars())),
        (split_node({"String": ""}), (Split(""),)),
        (split_node({"Regex": r"\s+$"}), (Split(r"\s+(?![^\n])"),)),
        (sequence("pre_tokenizer"), ()),
        (spaces(), spaced(Prefix("_"))),
        (spaces(split=None, add_prefix_space=True, str_rep="!"), spaced(Prefix("_"))),
        (spaces(add_prefix_space=False, prepend_scheme="never"), spaced()),
        (
            node("Metaspace", replacement="$", prepend_scheme="never"),
            (splitter_Replace(" ", "$"), Split(r"\$", "merged_with_next")),
        ),
        (node("Whitespace", else_="ignored"), splitter_NAMED["whitespace"]),
        (node("Punctuation"), splitter_NAMED["punctuation"]),
        (node("CharDelimiterSplit", delimiter="|"), (Split(r"\|", "removed"),)),
        (node("FixedLength"), (Split(r"[\s\S]{1,5}"),)),
        (node("FixedLength", length=2**63), ()),
    ],
    "decoder": [(spaces(add_prefix_space=True), Metaspace("_"))],
}
CASES = [(slot, *case) for table in (WRITTEN, ALSO) for slot, cases in table.items() for case in cases]


@pytest.mark.parametrize(("slot", "value", "meaning"), CASES)
def test_node_as_steps_and_back(slot: str, value: Any, meaning: Any) -> None:
    assert read(slot, value) == meaning
    assert read(slot, WRITE[slot](meaning)) == meaning
    for _ in range(3 if value is not None else 0):
        value = sequence(slot, value)
        assert read(slot, value) == meaning


@pytest.mark.parametrize(("slot", "value", "meaning"), [(slot, *case) for slot in WRITTEN for case in WRITTEN[slot]])
def test_steps_as_hf_writes_them(slot: str, value: Any, meaning: Any) -> None:
    assert json.dumps(WRITE[slot](meaning)) == json.dumps(value)


@pytest.mark.parametrize("name", splitter_NAMED)
def test_named_rule_can_be_written(name: str) -> None:
    written = to_pre_tokenizer(splitter_NAMED[name])
    json.dumps(written, allow_nan=False)
    again = read("pre_tokenizer", written)
    # `$` and `{1,3}+` take another spelling on the way, a `\b` two.
    assert again == splitter_NAMED[name] or name in ("r50k", "p50k", "cl100k", "tiny-aya")
    assert [type(step) for step in again] == [type(step) for step in splitter_NAMED[name]]


@pytest.mark.parametrize(
    ("steps", "ref"),
    [
        ((WORDS,), "Split"),
        ((Split("a"), Prefix(" "), ByteChars()), "Split ByteLevel"),
        ((Split("a"), WORDS, ByteChars(), Split("b")), "Split ByteLevel Split"),
        ((*spaced(Prefix("_"), split=False), Split("a")), "Metaspace Split"),
        ((*spaced(split=False), Split("a")), "Metaspace Split"),
        ((*splitter_NAMED["bert"], Split(DIGIT)), "BertPreTokenizer Digits"),
        ((*WHITE, *WHITE), "WhitespaceSplit WhitespaceSplit"),
        ((Split(r"[\s\S]{1,5}", "removed"),), "Split"),
    ],
)
def test_nodes_that_steps_are_written_as(steps: Rule, ref: str) -> None:
    written = to_pre_tokenizer(steps) or {}
    nodes = written["pretokenizers"] if written["type"] == "Sequence" else [written]
    assert " ".join(item["type"] for item in nodes) == ref
    assert read("pre_tokenizer", written) == steps


@pytest.mark.parametrize(
    "steps",
    [
        (Prefix(" "),),
        (Prefix(" ", "first"), ByteChars()),
        (splitter_Replace("a", "b"),),
        (splitter_Replace(" ", "ab"),),
        (Split("a"), Prefix("_")),
    ],
)
def test_steps_that_no_node_is(steps: Rule) -> None:
    with pytest.raises(FormatError, match=r"tokenizer.json has no equivalent of (Prefix|Replace)\("):
        to_pre_tokenizer(steps)


# ------------------------------------------------------------------ damage

# Values that nothing of a kind may be, but for what is in NULLABLE; and keys that are not read.
WRONG: dict[type, list[Any]] = {
    bool: [1, "yes", [], None],
    str: [1, [], "\ud800", None],
    int: [-1, True, 1.5, 2**64, "1", None],
    dict: ["a", {}, [], {"String": 1}, {"Regex": None}, {"String": "a", "Regex": "a"}, {"Text": "a"}, None],
    list: [3, {}, None],
}
NULLABLE = {("Metaspace", "split"), ("Metaspace", "add_prefix_space"), ("BertNormalizer", "strip_accents")}
UNKNOWN: list[Any] = [{}, node("x"), {"type": []}]
NOT_READ = {"type", "str_rep", "more", "else_"}


def damaged() -> Iterator[tuple[str, Any, str]]:
    """Yield components with one wrong value, and its place."""
    for slot, value, _ in CASES:
        if value is None or (slot, value["type"]) == ("decoder", "ByteLevel"):
            continue
        for key in value.keys() - NOT_READ - ({"trim_offsets"} if slot == "pre_tokenizer" else set()):
            for wrong in WRONG.get(type(value[key]), []):
                if wrong is not None or (value["type"], key) not in NULLABLE:
                    yield slot, value | {key: wrong}, f"{slot}.{key}"


def test_a_wrong_value_is_named_with_its_place() -> None:
    cases = [*damaged()]
    assert len(cases) > 300
    for slot, value, place in cases:
        for prefix, whole in (("", value), (f"{PARTS[slot]}[1].", sequence(slot, node("Fuse"), value))):
            if prefix and slot != "decoder":
                whole = sequence(slot, sequence(slot), value)
            with pytest.raises(FormatError) as caught:
                read(slot, whole)
            assert str(caught.value).startswith(f"{slot}.{prefix}{place.removeprefix(f'{slot}.')}"), whole
            assert ": expected " in str(caught.value) and len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("slot", "value", "message"),
    [
        *((slot, 3, ": expected an object, not 3") for slot in READ),
        *((slot, [], ": expected an object, not an array") for slot in READ),
        *((slot, sequence(slot, None, None), r"\.\w+\[0\]: expected an object, not null") for slot in READ),
        *((slot, node("Sequence"), r"\.\w+: expected an array, not null") for slot in READ),
        *(("normalizer", value, r"\.type: expected one of Bert, .*, not ") for value in UNKNOWN),
        *(("pre_tokenizer", value, r"\.type: expected one of Bert.*, not ") for value in UNKNOWN),
        ("decoder", node("x"), ': "x" is not supported; expected BPEDecoder, ByteLevel, WordPiece, '),
        ("decoder", {}, ": an object is not supported; expected BPEDecoder, "),
        ("decoder", sequence("decoder", node("x"), node("Fuse")), r"\.decoders\[0\]: \"x\" is not supported"),
        ("normalizer", {"precompiled_charsmap": ""}, r"\.type: expected one of "),
        ("normalizer", {"strip_left": True, "strip_right": 1}, r"\.strip_right: expected true or false, not 1"),
        ("normalizer", node("Prepend"), r"\.prepend: expected a string, not null"),
        ("normalizer", node("Prepend", prepend="\ud800"), ".*expected a string without lone surrogates"),
        ("normalizer", replacing("a"), r"\.pattern: expected an object with a String or a Regex, not \"a\""),
        *(
            ("normalizer", node("Precompiled", precompiled_charsmap=text), rf"\.precompiled_charsmap: {message}")
            for text, message in {
                "AA": "expected base64 ",
                "": "invalid .* expected 4 ",
                "AAAAAAAA": "invalid ",
            }.items()
        ),
        ("pre_tokenizer", split_node({"Regex": "a"}, "isolated"), r".*one of Isolated, Removed, .*, not \"isolated\""),
        ("pre_tokenizer", node("CharDelimiterSplit", delimiter="ab"), '.*: expected one character, not "ab"'),
        *(("pre_tokenizer", node("FixedLength", length=i), ".*: expected an integer from 1 ") for i in (0, 10**9999)),
        ("pre_tokenizer", node("x" * 10_000), r".{,400}$"),
        *(
            (slot, value, message)
            for slot in ("pre_tokenizer", "decoder")
            for value, message in (
                (node("Metaspace", replacement=""), r"\.replacement: expected one character, not \"\""),
                (spaces(prepend_scheme="Always"), r"\.prepend_scheme: expected one of always, first, never, not "),
                (spaces(add_prefix_space=False), '.*: expected "never" where add_prefix_space is false'),
            )
        ),
        ("decoder", node("CTC", pad_token=""), r"\.word_delimiter_token: expected a string, not null"),
        ("decoder", node("Strip", content="", start=0, stop=0), r"\.content: expected one character"),
        ("decoder", replacing({"Regex": "("}), r"\.pattern\.Regex: expected a regex"),
    ],
)
def test_what_is_refused(slot: str, value: Any, message: str) -> None:
    with pytest.raises(FormatError, match=f"^{slot}{message}"):
        read(slot, value)


@pytest.mark.parametrize("slot", READ)
def test_sequences_are_refused_where_they_are_too_deep(slot: str) -> None:
    value: dict[str, Any] = {"sep": ["a", 1], "cls": ["b", 2]} if slot == "post_processor" else byte_level(True)
    meaning = read(slot, value)
    for depth in range(1000):
        value = sequence(slot, value) if slot != "decoder" else sequence(slot, value, node("Fuse"))
        if depth == json_node_DEEPEST - 1:
            assert read(slot, value) == meaning or slot == "decoder"
    with pytest.raises(FormatError, match="expected at most 100 nested sequences, not one more"):
        read(slot, value)


FILES = {
    **dict.fromkeys(("gpt2", "roberta", "gpt-neox", "phi-2"), (WORDS, ByteChars())),
    "falcon": splitter_NAMED["falcon"],
    "clip": (*splitter_NAMED["clip"], ByteChars()),
    "t5": splitter_NAMED["t5"],
    "phi-3": (),
    "bert/bert-base-uncased-tokenizer": splitter_NAMED["bert"],
    "converted/qwen3.tokenizer": (*splitter_NAMED["qwen2"], ByteChars()),
    "converted/cl100k_base.tokenizer": (*splitter_NAMED["llama3"], ByteChars()),
}


@pytest.mark.parametrize("file", FILES)
def test_files_in_use(data: Path, file: str) -> None:
    name = file if "/" in file else f"{file}/tokenizer"
    top = json.loads(file_of(data, f"{name}.json").read_text("utf-8"))
    assert read("pre_tokenizer", top["pre_tokenizer"]) == FILES[file]
    if top["normalizer"] is not None and file.startswith("bert"):
        assert read("normalizer", top["normalizer"]) == (Bert(),)
        assert to_normalizer((Bert(),)) == top["normalizer"]
