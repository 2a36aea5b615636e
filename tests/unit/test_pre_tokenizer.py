"""The pre_tokenizer of a tokenizer.json: every node as steps, back again, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from building import node_of
from inside import (
    BEHAVIORS,
    DIGIT,
    PATTERNS,
    SIGN,
    ByteChars,
    Prefix,
    Rule,
    Split,
    from_pre_tokenizer,
    to_pre_tokenizer,
    unicode_scripts,
)
from inside import (
    splitter_NAMED as NAMED,
)
from inside import (
    splitter_Replace as Replace,
)
from small_data import file_of
from subwords import FormatError

WORDS = Split(PATTERNS["gpt2"])


def node(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


def split_node(pattern: Any, behavior: Any = "Isolated", invert: Any = False) -> dict[str, Any]:
    return node("Split", pattern=pattern, behavior=behavior, invert=invert)


def byte_level(prefix: bool, **fields: Any) -> dict[str, Any]:
    return node("ByteLevel", add_prefix_space=prefix, trim_offsets=True, **fields)


def sequence(*nodes: Any) -> dict[str, Any]:
    return node("Sequence", pretokenizers=list(nodes))


SPACES = (Replace(" ", "_"),)
UNDERSCORES = Split("_", "merged_with_next")

NODES: list[tuple[Any, Rule]] = [
    (None, ()),
    (byte_level(False), (WORDS, ByteChars())),
    (byte_level(True), (Prefix(" "), WORDS, ByteChars())),
    (byte_level(False, use_regex=True), (WORDS, ByteChars())),
    (byte_level(False, use_regex=False), (ByteChars(),)),
    (byte_level(True, use_regex=False), (Prefix(" "), ByteChars())),
    (split_node({"String": "a.b"}), (Split(r"a\.b"),)),
    (split_node({"String": ""}), (Split(""),)),
    (split_node({"Regex": "a.b"}), (Split("a.b"),)),
    (split_node({"Regex": r"\s+$"}), (Split(r"\s+(?![^\n])"),)),
    *((split_node({"Regex": "a"}, key, True), (Split("a", name, True),)) for key, name in BEHAVIORS.items()),
    (sequence(), ()),
    (sequence(sequence(), sequence(sequence(node("WhitespaceSplit")))), (Split(r"\s", "removed"),)),
    (sequence(split_node({"String": "a"}), byte_level(False, use_regex=False)), (Split("a"), ByteChars())),
    (node("Metaspace", replacement="_"), (*SPACES, Prefix("_"), UNDERSCORES)),
    (node("Metaspace", replacement="_", prepend_scheme="first"), (*SPACES, Prefix("_", "first"), UNDERSCORES)),
    (node("Metaspace", replacement="_", prepend_scheme="never"), (*SPACES, UNDERSCORES)),
    (node("Metaspace", replacement="_", split=False), (*SPACES, Prefix("_"))),
    (node("Metaspace", replacement="_", split=None), (*SPACES, Prefix("_"), UNDERSCORES)),
    (node("Metaspace", replacement="_", add_prefix_space=True, str_rep="!"), (*SPACES, Prefix("_"), UNDERSCORES)),
    (node("Metaspace", replacement="_", add_prefix_space=False, prepend_scheme="never"), (*SPACES, UNDERSCORES)),
    (node("Metaspace", replacement="$", prepend_scheme="never"), (Replace(" ", "$"), Split(r"\$", "merged_with_next"))),
    (node("BertPreTokenizer"), NAMED["bert"]),
    (node("Whitespace", else_="ignored"), NAMED["whitespace"]),
    (node("WhitespaceSplit"), NAMED["whitespace-split"]),
    (node("Digits", individual_digits=True), (Split(DIGIT),)),
    (node("Digits", individual_digits=False), NAMED["digits"]),
    (node("Punctuation"), NAMED["punctuation"]),
    *((node("Punctuation", behavior=key), (Split(SIGN, name),)) for key, name in BEHAVIORS.items()),
    (node("CharDelimiterSplit", delimiter="|"), (Split(r"\|", "removed"),)),
    (node("UnicodeScripts"), unicode_scripts()),
    (node("FixedLength"), (Split(r"[\s\S]{1,5}"),)),
    (node("FixedLength", length=2), (Split(r"[\s\S]{1,2}"),)),
    (node("FixedLength", length=2**63), ()),
]


@pytest.mark.parametrize(("value", "rule"), NODES)
def test_node_as_steps(value: Any, rule: Rule) -> None:
    assert from_pre_tokenizer(node_of(value, "pre_tokenizer")) == rule


@pytest.mark.parametrize("rule", [rule for _, rule in NODES])
def test_steps_as_a_node_and_back(rule: Rule) -> None:
    assert from_pre_tokenizer(node_of(to_pre_tokenizer(rule))) == rule


@pytest.mark.parametrize("value", [value for value, _ in NODES if value and value["type"] not in ("Sequence", "Split")])
def test_node_of_one_type_is_written_as_one(value: Any) -> None:
    if value.get("length") != 2**63:
        # A delimiter is a Split, as every removed text is.
        kind = {"CharDelimiterSplit": "Split"}.get(value["type"], value["type"])
        assert (to_pre_tokenizer(from_pre_tokenizer(node_of(value, "pre_tokenizer"))) or {})["type"] == kind


@pytest.mark.parametrize("name", NAMED)
def test_named_rule_can_be_written(name: str) -> None:
    written = to_pre_tokenizer(NAMED[name])
    json.dumps(written, allow_nan=False)
    again = from_pre_tokenizer(node_of(written))
    # `$` and `{1,3}+` take another spelling on the way, a `\b` two.
    assert again == NAMED[name] or name in ("r50k", "p50k", "cl100k", "tiny-aya")
    assert [type(step) for step in again] == [type(step) for step in NAMED[name]]


@pytest.mark.parametrize(
    ("steps", "ref"),
    [
        ((WORDS,), "Split"),
        ((Prefix(" "), WORDS, ByteChars()), "ByteLevel"),
        ((Split("a"), Prefix(" "), ByteChars()), "Split ByteLevel"),
        ((Split("a"), WORDS, ByteChars(), Split("b")), "Split ByteLevel Split"),
        ((Replace(" ", "_"), Prefix("_"), Split("a")), "Metaspace Split"),
        ((Replace(" ", "_"), Split("a")), "Metaspace Split"),
        ((*NAMED["bert"], Split(DIGIT)), "BertPreTokenizer Digits"),
        ((Split(r"\s", "removed"), Split(r"\s", "removed")), "WhitespaceSplit WhitespaceSplit"),
        ((Split(r"[\s\S]{1,5}", "removed"),), "Split"),
    ],
)
def test_nodes_that_steps_are_written_as(steps: Rule, ref: str) -> None:
    written = to_pre_tokenizer(steps) or {}
    nodes = written["pretokenizers"] if written["type"] == "Sequence" else [written]
    assert " ".join(item["type"] for item in nodes) == ref
    assert from_pre_tokenizer(node_of(written)) == steps


@pytest.mark.parametrize(
    "steps",
    [
        (Prefix(" "),),
        (Prefix(" ", "first"), ByteChars()),
        (Replace("a", "b"),),
        (Split("a"), Prefix("_")),
        (Prefix("_"),),
    ],
)
def test_steps_that_no_node_is(steps: Rule) -> None:
    with pytest.raises(FormatError, match=r"tokenizer.json has no equivalent of (Prefix|Replace)\("):
        to_pre_tokenizer(steps)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "pre_tokenizer: expected an object, not an array"),
        ("Digits", 'pre_tokenizer: expected an object, not "Digits"'),
        ({}, "pre_tokenizer.type: expected one of BertPreTokenizer, .*, not null"),
        (node("Nope"), 'pre_tokenizer.type: expected one of .*, not "Nope"'),
        ({"type": None}, "pre_tokenizer.type: expected one of .*, not null"),
        ({"type": []}, "pre_tokenizer.type: expected one of .*, not an array"),
        (node("Sequence"), "pre_tokenizer.pretokenizers: expected an array, not null"),
        (sequence(None), r"pre_tokenizer.pretokenizers\[0\]: expected an object, not null"),
        (sequence(sequence(node("X"))), r"pretokenizers\[0\].pretokenizers\[0\].type: expected one of .*, not \"X\""),
        (node("ByteLevel"), "pre_tokenizer.add_prefix_space: expected true or false, not null"),
        (byte_level(1), "pre_tokenizer.add_prefix_space: expected true or false, not 1"),  # type: ignore[arg-type]
        (byte_level(True, use_regex=None), "pre_tokenizer.use_regex: expected true or false, not null"),
        (split_node("a"), 'pre_tokenizer.pattern: expected an object with a String or a Regex, not "a"'),
        (split_node({}), "pre_tokenizer.pattern: expected an object with a String or a Regex, not an object"),
        (split_node({"String": "a", "Regex": "a"}), "pre_tokenizer.pattern: expected an object with a String"),
        (split_node({"Regex": 1}), "pre_tokenizer.pattern.Regex: expected a string, not 1"),
        (split_node({"String": "\ud800"}), "pre_tokenizer.pattern.String: expected a string without lone surrogates"),
        (split_node({"String": "a"}, "isolated"), 'behavior: expected one of Isolated, Removed, .*, not "isolated"'),
        (split_node({"String": "a"}, []), "behavior: expected one of Isolated, .*, not an array"),
        (split_node({"String": "a"}, invert=None), "pre_tokenizer.invert: expected true or false, not null"),
        (node("Digits"), "pre_tokenizer.individual_digits: expected true or false, not null"),
        (node("Punctuation", behavior=None), "pre_tokenizer.behavior: expected one of .*, not null"),
        (node("CharDelimiterSplit"), "pre_tokenizer.delimiter: expected a string, not null"),
        (node("CharDelimiterSplit", delimiter="ab"), 'pre_tokenizer.delimiter: expected one character, not "ab"'),
        (node("Metaspace"), "pre_tokenizer.replacement: expected a string, not null"),
        (node("Metaspace", replacement=""), 'pre_tokenizer.replacement: expected one character, not ""'),
        (
            node("Metaspace", replacement="_", prepend_scheme=None),
            "prepend_scheme: expected one of always, first",
        ),
        (node("Metaspace", replacement="_", prepend_scheme="Always"), 'prepend_scheme: .*, not "Always"'),
        (
            node("Metaspace", replacement="_", add_prefix_space=False),
            'expected "never" where add_prefix_space is',
        ),
        (node("Metaspace", replacement="_", add_prefix_space="no"), "add_prefix_space: expected true or false"),
        (node("Metaspace", replacement="_", split=0), "pre_tokenizer.split: expected true or false, not 0"),
        (node("FixedLength", length=0), "pre_tokenizer.length: expected an integer from 1 to .*, not 0"),
        (node("FixedLength", length=2.0), "pre_tokenizer.length: expected an integer from 1 to .*, not 2.0"),
        (node("FixedLength", length=True), "pre_tokenizer.length: expected an integer from 1 to .*, not true"),
        (
            node("FixedLength", length=2**64),
            "pre_tokenizer.length: .*, not [a1]",
        ),
        (node("FixedLength", length=10**9999), "pre_tokenizer.length: .*, not [a1]"),
        ({1}, "pre_tokenizer: expected an object, not a value of type set"),
    ],
)
def test_what_is_no_node_is_refused_with_its_place(value: Any, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        from_pre_tokenizer(node_of(value, "pre_tokenizer"))


def test_path_and_long_values_in_messages() -> None:
    with pytest.raises(FormatError, match=r"^a\.json: pre_tokenizer\.type: ") as caught:
        from_pre_tokenizer(node_of(node("x" * 10_000), "a.json: pre_tokenizer"))
    assert len(str(caught.value)) < 500


def test_sequences_are_refused_where_they_are_too_deep() -> None:
    value: dict[str, Any] = node("WhitespaceSplit")
    for depth in range(5000):
        value = sequence(value)
        if depth == 99:
            assert from_pre_tokenizer(node_of(value, "pre_tokenizer")) == NAMED["whitespace-split"]
    with pytest.raises(FormatError, match="expected at most 100 nested sequences"):
        from_pre_tokenizer(node_of(value, "pre_tokenizer"))


FILES = {
    "gpt2": (WORDS, ByteChars()),
    "roberta": (WORDS, ByteChars()),
    "gpt-neox": (WORDS, ByteChars()),
    "phi-2": (WORDS, ByteChars()),
    "falcon": NAMED["falcon"],
    "clip": (*NAMED["clip"], ByteChars()),
    "t5": NAMED["t5"],
    "phi-3": (),
    "bert/bert-base-uncased-tokenizer": NAMED["bert"],
    "converted/qwen3.tokenizer": (*NAMED["qwen2"], ByteChars()),
    "converted/cl100k_base.tokenizer": (*NAMED["llama3"], ByteChars()),
}


@pytest.mark.parametrize("file", FILES)
def test_files_in_use(data: Path, file: str) -> None:
    name = file if "/" in file else f"{file}/tokenizer"
    top = json.loads(file_of(data, f"{name}.json").read_text("utf-8"))
    assert from_pre_tokenizer(node_of(top["pre_tokenizer"])) == FILES[file]
