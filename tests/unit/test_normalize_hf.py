"""The normalizer of a tokenizer.json: every node as steps, back again, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from building import node_of
from inside import (
    Bert,
    Form,
    Lowercase,
    Nmt,
    Prepend,
    Steps,
    StripAccents,
    from_normalizer,
    to_normalizer,
)
from inside import (
    normalizer_Replace as Replace,
)
from inside import (
    normalizer_Strip as Strip,
)
from small_data import file_of
from subwords import FormatError

FLAGS = {"clean_text": True, "handle_chinese_chars": False, "strip_accents": None, "lowercase": True}


def node(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


def sequence(*nodes: Any) -> dict[str, Any]:
    return node("Sequence", normalizers=list(nodes))


BERT = node("BertNormalizer", **FLAGS)
NODES: list[tuple[Any, Steps]] = [
    (None, ()),
    (BERT, (Bert(handle_chinese_chars=False),)),
    (node("BertNormalizer", **FLAGS | {"strip_accents": True}), (Bert(True, False, True, True),)),
    *((node(form), (Form(form),)) for form in ("NFC", "NFD", "NFKC", "NFKD")),  # type: ignore[arg-type]
    (node("Lowercase"), (Lowercase(),)),
    (node("Nmt"), (Nmt(),)),
    (node("StripAccents"), (StripAccents(),)),
    (node("Strip", strip_left=True, strip_right=False), (Strip(right=False),)),
    (node("Prepend", prepend="▁"), (Prepend("▁"),)),
    (node("Replace", pattern={"String": "a.b"}, content=""), (Replace("a.b", ""),)),
    (node("Replace", pattern={"Regex": " {2,}"}, content=" "), (Replace(" {2,}", " ", regex=True),)),
    (sequence(node("NFD"), node("Lowercase")), (Form("NFD"), Lowercase())),
]
ALSO: list[tuple[Any, Steps]] = [
    (node("Bert", **FLAGS, more=1), (Bert(handle_chinese_chars=False),)),
    (node("BertNormalizer", clean_text=True, handle_chinese_chars=True, lowercase=True), (Bert(),)),
    (sequence(), ()),
    (sequence(sequence(), sequence(sequence(node("NFC")))), (Form("NFC"),)),
    (node("Replace", pattern={"Regex": r"\s+$"}, content=""), (Replace(r"\s+(?![^\n])", "", regex=True),)),
]


@pytest.mark.parametrize(("value", "steps"), NODES + ALSO)
def test_node_as_steps(value: Any, steps: Steps) -> None:
    assert from_normalizer(node_of(value)) == steps


@pytest.mark.parametrize(("value", "steps"), NODES)
def test_steps_as_node(value: Any, steps: Steps) -> None:
    assert to_normalizer(steps) == value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, "where: expected an object, not 3"),
        ([], "where: expected an object, not an array"),
        ({}, "where.type: expected one of Bert, .*Sequence.*, not null"),
        (node("NFX"), 'where.type: expected one of .*, not "NFX"'),
        ({"precompiled_charsmap": ""}, "where.type: expected one of .*, not null"),
        (node("Precompiled"), "where.precompiled_charsmap: expected a string, not null"),
        (node("Precompiled", precompiled_charsmap="AA"), r"where.precompiled_charsmap: expected base64 .*, not \"AA\""),
        (
            node("Precompiled", precompiled_charsmap=""),
            "where.precompiled_charsmap: invalid precompiled charsmap: expected 4 ",
        ),
        (
            node("Precompiled", precompiled_charsmap="AAAAAAAA"),
            "where.precompiled_charsmap: invalid precompiled charsmap",
        ),
        ({}, "where.type: expected one of .*, not null"),
        (node("Foo"), 'where.type: expected one of .*, not "Foo"'),
        ({"strip_left": True, "strip_right": 1}, "where.strip_right: expected true or false, not 1"),
        ({"type": ["NFC"]}, "where.type: expected one of .*, not an array"),
        (node("BertNormalizer"), "where.clean_text: expected true or false, not null"),
        (node("BertNormalizer", **FLAGS | {"lowercase": 1}), "where.lowercase: expected true or false, not 1"),
        (node("BertNormalizer", **FLAGS | {"strip_accents": "yes"}), 'where.strip_accents: .*, not "yes"'),
        (node("Strip", strip_left=True), "where.strip_right: expected true or false, not null"),
        (node("Prepend"), "where.prepend: expected a string, not null"),
        (node("Prepend", prepend="\ud800"), "where.prepend: expected a string without lone surrogates"),
        (node("Replace", pattern="a", content="b"), "where.pattern: expected an object with a String or a Regex"),
        (node("Replace", pattern={}, content="b"), "where.pattern: expected an object with a String or a Regex"),
        (node("Replace", pattern={"String": 1}, content="b"), "where.pattern.String: expected a string, not 1"),
        (node("Replace", pattern={"String": "a"}), "where.content: expected a string, not null"),
        (node("Sequence"), "where.normalizers: expected an array, not null"),
        (sequence(node("NFC"), {"type": "x"}), r"where.normalizers\[1\].type: expected one of .*, not \"x\""),
        (sequence(None), r"where.normalizers\[0\]: expected an object, not null"),
    ],
)
def test_what_is_no_normalizer(value: Any, message: str) -> None:
    with pytest.raises(FormatError, match=f"^{message}"):
        from_normalizer(node_of(value, "where"))


def test_sequences_within_each_other_without_end() -> None:
    value = node("NFC")
    for _ in range(200):
        value = sequence(value)
    with pytest.raises(FormatError, match="expected at most 100 nested sequences"):
        from_normalizer(node_of(value))


def test_file_of_bert(data: Path) -> None:
    file = file_of(data, "bert/bert-base-uncased-tokenizer.json")
    value = json.loads(file.read_text("utf-8"))["normalizer"]
    assert from_normalizer(node_of(value)) == (Bert(),)
    assert to_normalizer(from_normalizer(node_of(value))) == value
