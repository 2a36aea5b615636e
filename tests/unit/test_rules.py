"""The named rules: spelled as their sources have them, and usable everywhere."""

from __future__ import annotations

import dataclasses
import inspect
import json
from pathlib import Path

import pytest
import regex

from engines import splitter
from inside import PATTERNS, escape, space_rule, unicode_scripts
from inside import splitter_NAMED as NAMED
from inside import splitter_Replace as Replace
from small_data import file_of, is_small
from subwords.machine import ByteChars, Prefix, Split
from subwords.reference.pattern import pre_tokenize

# Blanks of three kinds at the end, a case change inside a word, numbers, marks, Han and Latin side by side.
TEXT = "Don't 12345 camelCase中文abc न्ई naïve!!\n\n  x/y\r\n ò  \t"


def pieces(name: str, text: str = TEXT) -> list[str]:
    return [piece for piece, _ in pre_tokenize(text, NAMED[name])]


def llama3_in_transformers() -> str:
    from transformers.convert_slow_tokenizer import TikTokenConverter

    return str(inspect.signature(TikTokenConverter).parameters["pattern"].default)


def qwen3_in_transformers() -> str:
    from transformers.models.qwen2.tokenization_qwen2 import PRETOKENIZE_REGEX

    return str(PRETOKENIZE_REGEX)


# What tiktoken does not have.
IN_TRANSFORMERS = {"llama3": llama3_in_transformers, "qwen3": qwen3_in_transformers}


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("r50k", "r50k_base"),
        ("p50k", "p50k_base"),
        ("cl100k", "cl100k_base"),
        ("o200k", "o200k_base"),
        ("llama3", "llama3"),
        ("o200k", "llama4"),
        ("qwen2", "qwen3"),
    ],
)
def test_pattern_is_spelled_as_its_encoding_has_it(data: Path, name: str, encoding: str) -> None:
    if is_small(data) and encoding in IN_TRANSFORMERS:
        assert PATTERNS[name] == IN_TRANSFORMERS[encoding]()
        return
    if is_small(data) and encoding == "llama4":
        pytest.skip("no installed package has it; o200k_base has the same")
    specs = json.loads(file_of(data, "tiktoken/specs.json").read_text("utf-8"))
    assert PATTERNS[name] == specs[encoding]["pat_str"]


@pytest.mark.parametrize(
    ("name", "text", "ref"),
    [
        ("gpt2", "we'll go  on", ["we", "'ll", " go", " ", " on"]),
        ("r50k", "a  ", ["a", "  "]),
        ("cl100k", "a \n ", ["a", " \n "]),
        ("llama3", "a \n ", ["a", " \n", " "]),
        ("cl100k", "DON'T 1234", ["DON", "'T", " ", "123", "4"]),
        ("o200k", "camelCaseDON'T", ["camel", "Case", "DON'T"]),
        ("tekken", "isn't 12", ["isn", "'t", " ", "1", "2"]),
        ("qwen2", "中文abc12", ["中文abc", "1", "2"]),
        ("kimi-k2", "中文abc12", ["中文", "abc", "12"]),
        ("qwen35", "ऩि", ["ऩि"]),
        ("qwen2", "ऩि", ["ऩ", "ि"]),
        ("seed-coder", "a!!\n\nb", ["a", "!!", "\n\n", "b"]),
        ("bailing", "a !!\n\nb", ["a", " !!\n\n", "b"]),
        ("exaone-moe", "two words 12", ["two words", " ", "1", "2"]),
        ("bloom", "a (b), c", ["a", " (", "b", "),", " c"]),
        ("viking", "in 12", ["in", " ", "1", "2"]),
        ("deepseek-v3", "f(x)=漢字1234", ["f", "(x", ")=", "漢字", "123", "4"]),
        ("deepseek-coder", "if x: 12", ["if", " x", ":", " ", "1", "2"]),
        ("deepseek-llm", "ab  \nc", ["ab", "  ", "\n", "c"]),
        ("starcoder", "x = 12", ["x", " =", " ", "1", "2"]),
        ("falcon", "a1234ò", ["a", "123", "4", "Ã", "²"]),
        ("clip", "<|endoftext|> it's 12", ["<|", "endoftext", "|>", "it", "'s", "1", "2"]),
        ("bert", " it's 12! ", ["it", "'", "s", "12", "!"]),
        ("whitespace", "it's 12!! ", ["it", "'", "s", "12", "!!"]),
        ("whitespace-split", " it's 12! ", ["it's", "12!"]),
        ("punctuation", "it's!!", ["it", "'", "s", "!", "!"]),
        ("digits", "a12b", ["a", "12", "b"]),
        ("metaspace", "to  be", ["▁to", "▁", "▁be"]),
        ("t5", "to  be", ["▁to", "▁be"]),
        ("gemma", "to be", ["to ", "be"]),
        ("chameleon", "IMGIMGABZ x\ty", ["IMGIMGABZ", " x", "\t", "y"]),
        ("superbpe", "of 1234567 men", ["of ", "1", "234", "567", " men"]),
        ("tiny-aya", "of 1234567", ["of", " ", "1", "234", "567"]),
    ],
)
def test_known_pieces(name: str, text: str, ref: list[str]) -> None:
    assert pieces(name, text) == ref


def test_steps_are_values() -> None:
    step = Split("a")
    assert step == Split("a", "isolated", False) and len({step, Split("a"), Prefix("a"), Replace("a", "b")}) == 3
    assert ByteChars() == ByteChars()
    with pytest.raises(dataclasses.FrozenInstanceError):
        step.pattern = "b"  # type: ignore[misc]


@pytest.mark.parametrize("text", ["a.b", r"\d", "[x]", "(^|$)", "{1,2}*+?", "-#&~ \n", "▁"])
def test_escaped_text_matches_itself(text: str) -> None:
    assert regex.fullmatch(escape(text), text, regex.V1)
    assert regex.fullmatch(f"[{''.join(map(escape, text))}]+".replace("-", r"\-"), text, regex.V0)


def test_scripts_join_what_has_none() -> None:
    got = [piece for piece, _ in pre_tokenize("  ab 漢字かな🥰, да!", unicode_scripts())]
    assert got == ["ab ", "漢字かな🥰", ", ", "да", "!"]


# ------------------------------------------------------------------
# The splitting rule that keeps user-defined pieces whole


BEFORE = (Split("▁[^▁]*|[^▁]+"),)
BEFORE_RUN = (Split("▁+[^▁]*|[^▁]+"),)
BEHIND = (Split("[^▁]*▁|[^▁]+"),)
BEHIND_RUN = (Split("[^▁]*▁+|[^▁]+"),)


@pytest.mark.parametrize(
    ("tokens", "rule"),
    [
        ([], BEFORE),
        (["a", "▁", "▁a", "ab"], BEFORE),
        (["▁▁"], BEFORE_RUN),
        (["▁▁a", "▁b"], BEFORE_RUN),
        (["a▁", "▁"], BEHIND),
        (["a▁▁"], BEHIND_RUN),
        (["▁▁", "a▁"], BEHIND_RUN),
        (["a▁", "▁a"], ()),
        (["a▁b"], ()),
        (["▁a▁"], ()),
    ],
)
def test_rule_cuts_no_token(tokens: list[str], rule: tuple[Split, ...]) -> None:
    assert space_rule([token.encode() for token in tokens]) == rule
    for token in tokens:
        assert len(splitter(rule).split(token)) == 1


def test_line_feeds_are_words_where_no_token_joins_them() -> None:
    rule = space_rule([b"a", b"\n\n", "▁▁".encode()], lines=True)
    assert splitter(rule).split("▁▁a\n\n\nb▁c\n▁") == ["▁▁a", "\n\n\n", "b", "▁c", "\n", "▁"]
    assert splitter(space_rule(["a▁".encode()], lines=True)).split("a▁\nb▁") == ["a▁", "\n", "b▁"]
    assert space_rule([b"a\n"], lines=True) == space_rule([]) == BEFORE
    assert space_rule([b"a"], [b"<\n>"], lines=True)[1:] == BEFORE


def test_symbols_are_cut_out_longest_first() -> None:
    rule = space_rule([b"a"], ["▁▁".encode(), b"<s>", b"<s>>", b"."])
    assert rule == (Split(r"<s>>|<s>|▁▁|\."), *BEFORE_RUN)
    assert splitter(rule).split("▁a▁▁▁b.<s>>a<s>") == ["▁a", "▁▁", "▁b", ".", "<s>>", "a", "<s>"]


def test_symbols_that_hold_blanks_stay_whole() -> None:
    rule = space_rule([b"a"], ["a▁b".encode()])
    assert splitter(rule).split("▁xa▁b▁c") == ["▁x", "a▁b", "▁c"]


def test_unknown_blanks_are_no_place_to_cut() -> None:
    assert space_rule([b"a"], unk_space=True) == ()
    assert space_rule([b"a"], [b"<s>"], unk_space=True) == (Split("<s>"),)
