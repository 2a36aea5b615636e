"""The reference's pieces and their places are those of HF's pre-tokenizers, of every type and with every setting."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import models

from building import node_of
from characters import settled
from inside import BEHAVIORS, from_pre_tokenizer, to_pre_tokenizer
from inside import splitter_NAMED as NAMED
from small_data import file_of, is_small
from strategies import FRAGMENTS, texts
from subwords.reference.pattern import pre_tokenize

SEED = 5
FEW, MANY = 1_500, 20_000  # bytes of an adversarial text


def split(pattern: dict[str, str], behavior: str = "Isolated", invert: bool = False) -> dict[str, Any]:
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}


def byte_level(prefix: bool, regex: bool) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": regex}


def metaspace(scheme: str, whole: bool = False) -> dict[str, Any]:
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": not whole}


def sequence(*nodes: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": list(nodes)}


WHITESPACE_SPLIT, DIGITS = {"type": "WhitespaceSplit"}, {"type": "Digits", "individual_digits": True}
THREES = split({"Regex": r"\p{N}{1,3}"})

NODES: dict[str, dict[str, Any]] = {
    "bert": {"type": "BertPreTokenizer"},
    "whitespace": {"type": "Whitespace"},
    "whitespace split": WHITESPACE_SPLIT,
    "digits": DIGITS,
    "numbers": {"type": "Digits", "individual_digits": False},
    "scripts": {"type": "UnicodeScripts"},
    "fixed length": {"type": "FixedLength", "length": 3},
    "delimiter": {"type": "CharDelimiterSplit", "delimiter": "e"},
    "bytes": byte_level(False, False),
    "byte level": byte_level(False, True),
    "prefix, bytes": byte_level(True, False),
    "prefix, byte level": byte_level(True, True),
    "metaspace whole": metaspace("always", whole=True),
    **{f"metaspace {scheme}": metaspace(scheme) for scheme in ("always", "first", "never")},
    **{f"punctuation {key}": {"type": "Punctuation", "behavior": key} for key in BEHAVIORS},
    "string": split({"String": " "}, "MergedWithPrevious"),
    "lines": split({"Regex": r"^\s+|\s+$"}),
    "words": split({"Regex": r"\w+"}, "Removed", True),
    "empty": split({"Regex": r"(?=\d)|\n*"}),
    "split, bytes": sequence(THREES, byte_level(True, False)),
    "bytes, digits": sequence(byte_level(False, True), DIGITS, metaspace("first")),
    "t5": sequence(WHITESPACE_SPLIT, metaspace("first")),
    "metaspace, split, metaspace": sequence(metaspace("always"), split({"String": "▁"}), metaspace("first")),
    "twice bytes": sequence(byte_level(True, True), byte_level(True, True)),
}
# All that a class of characters decides, in few steps.
CLASSES = ("whitespace", "numbers", "punctuation Contiguous", "scripts")


@cache
def peer(node: str) -> Any:
    top = json.loads(tokenizers.Tokenizer(models.BPE()).to_str())
    return tokenizers.Tokenizer.from_str(json.dumps(top | {"pre_tokenizer": json.loads(node)})).pre_tokenizer


def check(node: dict[str, Any], steps: Iterable[Any], text: str) -> None:
    ref = peer(json.dumps(node)).pre_tokenize_str(text)
    got = pre_tokenize(text, steps)
    if got != ref:  # the first difference says more than the whole
        at = next((i for i, pair in enumerate(zip(got, ref, strict=False)) if pair[0] != pair[1]), 0)
        assert got[at : at + 3] == ref[at : at + 3]
        assert got == ref


def agreed(text: str) -> str:
    """The text without characters that Unicode 16 and the one of `regex` see differently."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    return codes[settled()[codes]].astype(np.uint32).tobytes().decode("utf-32-le")


def adversarial(data: Path, size: int) -> Iterator[str]:
    for file in sorted((data / "adversarial").glob("*.txt")):
        with file.open("rb") as stream:
            yield agreed(stream.read(size).decode("utf-8", "ignore"))


@cache
def characters() -> str:
    return "".join(map(chr, np.flatnonzero(settled())))


def mixture(count: int) -> str:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    parts = [rng.choice(characters()) if rng.random() < 0.3 else rng.choice(FRAGMENTS) for _ in range(count)]
    return agreed("".join(parts))


@pytest.mark.parametrize("name", NODES)
def test_random_mixture(name: str) -> None:
    check(NODES[name], from_pre_tokenizer(node_of(NODES[name])), mixture(4000))


@pytest.mark.rotating(3, always=("small-metaspace",))
@pytest.mark.parametrize("name", NODES)
def test_adversarial_texts(data: Path, name: str) -> None:
    steps = from_pre_tokenizer(node_of(NODES[name]))
    for text in adversarial(data, FEW // 5 if is_small(data) else FEW):
        check(NODES[name], steps, text)


@pytest.mark.sweep
@pytest.mark.parametrize("name", NODES)
def test_more_of_adversarial_texts(shared_data: Path, name: str) -> None:
    steps = from_pre_tokenizer(node_of(NODES[name]))
    for text in adversarial(shared_data, MANY):
        check(NODES[name], steps, text)


@pytest.mark.rotating(4)
@pytest.mark.parametrize("name", CLASSES)
def test_all_code_points_in_order(name: str) -> None:
    check(NODES[name], from_pre_tokenizer(node_of(NODES[name])), characters())


@pytest.mark.sweep
@pytest.mark.parametrize("name", NODES)
def test_all_code_points_shuffled(name: str) -> None:
    print(f"seed {SEED}")
    codes = np.random.default_rng(SEED).permutation(np.flatnonzero(settled()))
    check(NODES[name], from_pre_tokenizer(node_of(NODES[name])), "".join(map(chr, codes)))


def test_digits_of_unicode_17() -> None:
    text = "a\U00011de0b\U00011de9\U00016ff4c\U00016ff6"
    check(DIGITS, from_pre_tokenizer(node_of(DIGITS)), text)
    assert len(pre_tokenize(text, from_pre_tokenizer(node_of(DIGITS)))) == 7


@given(texts(), st.lists(st.sampled_from([*NODES.values()]), max_size=4))
def test_sequences(text: str, nodes: list[dict[str, Any]]) -> None:
    if text:  # HF's empty sequence keeps the empty piece
        node = sequence(*nodes)
        check(node, from_pre_tokenizer(node_of(node)), agreed(text))


@pytest.mark.parametrize("pattern", [" ", "a+", "a*", "|b", "(?=a)", "ab|b", "b$", "^a?", r"\b", "(?<=a)"])
@pytest.mark.parametrize("invert", [False, True])
def test_behaviors_on_every_short_text(pattern: str, invert: bool) -> None:
    for behavior in BEHAVIORS:
        node = split({"Regex": pattern}, behavior, invert)
        steps = from_pre_tokenizer(node_of(node))
        for size in range(6):
            for letters in itertools.product("ab\n", repeat=size):
                check(node, steps, "".join(letters))


@pytest.mark.rotating(3)
@pytest.mark.parametrize("name", NAMED)
def test_named_rule_as_it_is_written(name: str) -> None:
    check(to_pre_tokenizer(NAMED[name]) or {}, NAMED[name], mixture(1500))


@pytest.mark.sweep
@pytest.mark.parametrize("name", sorted(NAMED.keys() - {"superbpe"}))  # superbpe takes a second for a thousand digits
def test_named_rule_on_adversarial_texts(shared_data: Path, name: str) -> None:
    for text in adversarial(shared_data, FEW):
        check(to_pre_tokenizer(NAMED[name]) or {}, NAMED[name], text)


@pytest.mark.parametrize("file", ["gpt2", "roberta", "gpt-neox", "phi-2", "falcon", "clip", "t5", "converted/qwen3"])
def test_pre_tokenizers_of_files_in_use(data: Path, file: str) -> None:
    name = f"{file}.tokenizer" if "/" in file else f"{file}/tokenizer"
    top = json.loads(file_of(data, f"{name}.json").read_text("utf-8"))
    check(top["pre_tokenizer"], from_pre_tokenizer(node_of(top["pre_tokenizer"])), mixture(3000))
