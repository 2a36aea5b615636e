"""The components of a tokenizer.json: every type as steps, back again, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import subwords
from building import read_json, write_json
from inside import BEHAVIORS, json_node_DEEPEST, splitter_NAMED, tokens_to_text
from subwords import FormatError, Tokenizer
from subwords.machine import ByteChars

FLAGS = {"clean_text": True, "handle_chinese_chars": False, "strip_accents": None, "lowercase": True}
PARTS = {
    "normalizer": "normalizers",
    "pre_tokenizer": "pretokenizers",
    "post_processor": "processors",
    "decoder": "decoders",
}
LETTERS = tokens_to_text([bytes([byte]) for byte in range(256)])
MODEL = {"type": "BPE", "vocab": {letter: k for k, letter in enumerate(LETTERS)}, "merges": []}


def read(slot: str, value: Any) -> Tokenizer:
    return read_json(json.dumps({"version": "1.0", "model": MODEL, slot: value}).encode(), "a.json")


def written(tok: Tokenizer, slot: str) -> Any:
    return json.loads(write_json(tok))[slot]


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


# What HF writes. What they do is compared in parity/test_json_variants.py.
WRITTEN: dict[str, list[Any]] = {
    "normalizer": [
        None,
        node("BertNormalizer", **FLAGS),
        node("BertNormalizer", **FLAGS | {"strip_accents": True}),
        *map(node, ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Nmt", "StripAccents")),
        node("Strip", strip_left=True, strip_right=False),
        node("Prepend", prepend="▁"),
        replacing({"String": "a.b"}),
        replacing({"Regex": " {2,}"}, " "),
        sequence("normalizer", node("NFD"), node("Lowercase")),
    ],
    "pre_tokenizer": [
        None,
        *(byte_level(prefix, use_regex=regex) for prefix in (False, True) for regex in (False, True)),
        split_node({"String": "a.b"}),
        split_node({"Regex": "a.b"}),
        *(split_node({"Regex": "a|b"}, key, True) for key in BEHAVIORS),
        sequence("pre_tokenizer", split_node({"String": "a"}), byte_level(False, use_regex=False)),
        *(spaces(prepend_scheme="always", split=splits) for splits in (True, False)),
        *(spaces(prepend_scheme=scheme, split=True) for scheme in ("first", "never")),
        *map(node, ("BertPreTokenizer", "Whitespace", "WhitespaceSplit", "UnicodeScripts")),
        *(node("Digits", individual_digits=single) for single in (True, False)),
        *(node("Punctuation", behavior=key) for key in BEHAVIORS),
        node("FixedLength", length=2),
    ],
    "decoder": [
        None,
        node("WordPiece", prefix="▁", cleanup=False),
        byte_level(True, use_regex=True),
        node("Fuse"),
        node("CTC", pad_token="a", word_delimiter_token="|", cleanup=True),
        node("Strip", content=" ", start=1, stop=0),
        spaces(prepend_scheme="first", split=False),
        sequence("decoder", replacing({"String": "▁"}, " "), node("ByteFallback"), node("Fuse")),
    ],
}
# What HF reads, too, and writes as the second.
ALSO: dict[str, list[tuple[Any, Any]]] = {
    "normalizer": [
        (node("Bert", **FLAGS, more=1), node("BertNormalizer", **FLAGS)),
        (sequence("normalizer"), None),
        (replacing({"Regex": r"\s+$"}), replacing({"Regex": r"\s+(?![^\n])"})),
    ],
    "pre_tokenizer": [
        (byte_level(False), byte_level(False, use_regex=True)),
        (split_node({"Regex": r"\s+$"}), split_node({"Regex": r"\s+(?![^\n])"})),
        (sequence("pre_tokenizer"), None),
        (spaces(), spaces(prepend_scheme="always", split=True)),
        (spaces(split=None, add_prefix_space=True, str_rep="!"), spaces(prepend_scheme="always", split=True)),
        (spaces(add_prefix_space=False, prepend_scheme="never"), spaces(prepend_scheme="never", split=True)),
        (node("Whitespace", else_="ignored"), node("Whitespace")),
        (node("Punctuation"), node("Punctuation", behavior="Isolated")),
        (node("FixedLength"), node("FixedLength", length=5)),
        (node("FixedLength", length=2**63), None),
    ],
}
CASES = [(slot, value, value) for slot, values in WRITTEN.items() for value in values]
CASES += [(slot, *case) for slot, cases in ALSO.items() for case in cases]


@pytest.mark.parametrize(("slot", "value", "ref"), CASES)
def test_a_node_is_written_as_hf_writes_it(slot: str, value: Any, ref: Any) -> None:
    tok = read(slot, value)
    assert json.dumps(written(tok, slot)) == json.dumps(ref)
    for _ in range(3 if value is not None else 0):
        value = sequence(slot, value)
        assert read(slot, value) == tok or slot == "decoder"  # of decoders see parity/test_decoders.py


@pytest.mark.parametrize("name", splitter_NAMED)
def test_named_rule_can_be_written(name: str) -> None:
    rule = splitter_NAMED[name]
    tok = subwords.train(["a"], vocab_size=256, splitter=name)
    again = read_json(write_json(tok), "a.json").splitter.rule
    if ByteChars() not in rule:
        again = tuple(step for step in again if step != ByteChars())  # the model is one of bytes
    # `$` and `{1,3}+` take another spelling on the way, a `\b` two.
    assert again == rule or name in ("r50k", "p50k", "cl100k", "tiny-aya")
    assert [type(step) for step in again] == [type(step) for step in rule]


@pytest.mark.parametrize(
    "steps",
    [
        [{"step": "Prefix", "text": " ", "scheme": "always"}],
        [{"step": "Prefix", "text": " ", "scheme": "first"}, {"step": "Split", "pattern": "a"}],
        [{"step": "Split", "pattern": "a"}, {"step": "Prefix", "text": "_", "scheme": "always"}],
        [{"step": "Replace", "old": "a", "new": "b"}],
        [{"step": "Replace", "old": " ", "new": "x"}, {"step": "Prefix", "text": "y", "scheme": "always"}],
    ],
)
def test_steps_that_no_node_is(steps: list[dict[str, str]]) -> None:
    tok = subwords.train(["a"], algorithm="wordlevel", vocab_size=2).with_(splitter=json.dumps(steps))
    with pytest.raises(FormatError, match=r"tokenizer.json has no equivalent of (Prefix|Replace)\("):
        write_json(tok)


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
            message = str(caught.value).removeprefix("a.json: ")
            assert message.startswith(f"{slot}.{prefix}{place.removeprefix(f'{slot}.')}"), whole
            assert ": expected " in str(caught.value) and len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("slot", "value", "message"),
    [
        *((slot, 3, ": expected an object, not 3") for slot in PARTS),
        *((slot, [], ": expected an object, not an array") for slot in PARTS),
        *((slot, sequence(slot, None, None), r"\.\w+\[0\]: expected an object, not null") for slot in PARTS),
        *((slot, node("Sequence"), r"\.\w+: expected an array, not null") for slot in PARTS),
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
        *(("pre_tokenizer", node("FixedLength", length=i), ".*: expected an integer from 1 ") for i in (0, 10**4000)),
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
    with pytest.raises(FormatError, match=rf"^a\.json: {slot}{message}"):
        read(slot, value)


@pytest.mark.parametrize("slot", PARTS)
def test_sequences_are_refused_where_they_are_too_deep(slot: str) -> None:
    value: dict[str, Any] = {"sep": ["a", 1], "cls": ["b", 2]} if slot == "post_processor" else byte_level(True)
    meaning = read(slot, value)
    for _ in range(json_node_DEEPEST):
        value = sequence(slot, value) if slot != "decoder" else sequence(slot, value, node("Fuse"))
    assert read(slot, value) == meaning or slot == "decoder"
    value = sequence(slot, value)
    with pytest.raises(FormatError, match="expected at most 100 nested sequences, not one more"):
        read(slot, value)
