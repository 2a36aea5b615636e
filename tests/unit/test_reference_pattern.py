"""The textbook of pre-tokenization: each step by hand, and what must hold for all of them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inside import PATTERNS, ByteChars, Prefix, Split
from inside import splitter_NAMED as NAMED
from inside import splitter_Replace as Replace
from strategies import byte_texts, texts
from subwords.reference import bpe
from subwords.reference.pattern import BYTE_CHARS, find, pre_tokenize

KEEPING = sorted(
    name
    for name, rule in NAMED.items()
    if all(isinstance(step, Split) and step.behavior != "removed" for step in rule) and name not in ("superbpe",)
)


def pieces(text: str | bytes, *steps: object) -> list[str]:
    return [piece for piece, _ in pre_tokenize(text, steps)]


@pytest.mark.parametrize(
    ("behavior", "invert", "ref"),
    [
        ("isolated", False, ["x", "x", "ab", "x", "x", "c", "x"]),
        ("removed", False, ["ab", "c"]),
        ("contiguous", False, ["xx", "ab", "xx", "c", "x"]),
        ("merged_with_previous", False, ["x", "x", "abx", "x", "cx"]),
        ("merged_with_next", False, ["x", "xab", "x", "xc", "x"]),
        ("isolated", True, ["x", "x", "ab", "x", "x", "c", "x"]),
        ("removed", True, ["x", "x", "x", "x", "x"]),
        ("contiguous", True, ["xx", "ab", "xx", "c", "x"]),
        ("merged_with_previous", True, ["x", "xab", "x", "xc", "x"]),
        ("merged_with_next", True, ["x", "x", "abx", "x", "cx"]),
    ],
)
def test_behaviors(behavior: str, invert: bool, ref: list[str]) -> None:
    assert pieces("xxabxxcx", Split("x", behavior, invert)) == ref  # type: ignore[arg-type]


def test_unknown_behavior_and_step_are_refused() -> None:
    with pytest.raises(ValueError, match="'merged'"):
        pre_tokenize("a", [Split("a", "merged")])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not a SimpleNamespace"):
        pre_tokenize("a", [SimpleNamespace(pattern="a")])


@pytest.mark.parametrize(
    ("pattern", "text", "ref"),
    [
        ("x*", "axxb", [(0, 0, True), (0, 1, False), (1, 3, True), (3, 4, False), (4, 4, True)]),
        ("|a", "aa", [(0, 0, True), (0, 1, False), (1, 1, True), (1, 2, False), (2, 2, True)]),
        ("(?=b)", "abb", [(0, 1, False), (1, 1, True), (1, 2, False), (2, 2, True), (2, 3, False)]),
        ("(?<=a)b", "ab", [(0, 1, False), (1, 2, True)]),
        ("a", "", []),
        ("", "", [(0, 0, True)]),
    ],
)
def test_matches_and_what_lies_between(pattern: str, text: str, ref: list[tuple[int, int, bool]]) -> None:
    assert find(pattern, text) == ref


def test_bytes_have_the_characters_of_the_other_reference() -> None:
    assert bpe.byte_to_char() == BYTE_CHARS


def test_empty_matches_cut_and_are_no_pieces() -> None:
    for behavior in ("isolated", "removed", "contiguous"):
        assert pieces("abc", Split("", behavior)) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("pattern", "text", "ref"),
    [
        ("a$", "a\na", ["a\n", "a"]),
        ("a$", "a\n", ["a\n"]),
        (r"\$", "a$", ["a", "$"]),
        ("[$]", "a$", ["a", "$"]),
        ("[]$]+", "a]$", ["a", "]$"]),
        (r"a\z", "aa", ["a", "a"]),
        (r"[\x{61}]\x{1F600}", "a😀b", ["a😀", "b"]),
        (r"\\x{2}", r"\xxa", [r"\xx", "a"]),
        (r"\d{1,3}+", "12345", ["123", "45"]),
        (r"\d{1,3}+\d", "123", ["123"]),
        (r"[a-z&&[^b]]+", "abc", ["a", "b", "c"]),
        (r"[a[bc]]+", "abcd", ["abc", "d"]),
        (r"(?i:'s)", "'ſ", ["'ſ"]),
        (r"(?i)ss", "ßss", ["ß", "ss"]),
        (r".+", "a\r\n", ["a\r", "\n"]),
        (r"\w+", "a\u200cb²", ["a\u200cb", "²"]),
    ],
)
def test_patterns_mean_what_they_mean_in_tiktoken(pattern: str, text: str, ref: list[str]) -> None:
    assert pieces(text, Split(pattern)) == ref


@pytest.mark.parametrize(
    ("steps", "text", "ref"),
    [
        ([Prefix("▁")], "ab", [("▁ab", (0, 2))]),
        ([Prefix("▁")], "▁ab", [("▁ab", (0, 3))]),
        ([Prefix("▁")], "", []),
        ([Prefix("▁"), Split("▁")], "ab", [("▁", (0, 1)), ("ab", (0, 2))]),
        ([Split("b"), Prefix("▁")], "ab", [("▁a", (0, 1)), ("▁b", (1, 2))]),
        ([Split("b"), Prefix("▁", "first")], "ab", [("▁a", (0, 1)), ("b", (1, 2))]),
        ([Split("a", "removed"), Prefix("▁", "first")], "ab", [("b", (1, 2))]),
        ([Prefix("▁"), Split("▁"), Prefix("▁", "first")], "ab", [("▁", (0, 1)), ("▁ab", (0, 2))]),
        ([Replace(" ", "▁")], " a b", [("▁a▁b", (0, 4))]),
        ([ByteChars()], "é b", [("Ã©Ġb", (0, 3))]),
        ([ByteChars(), Split("©")], "é", [("Ã", (0, 1)), ("©", (0, 1))]),
        ([ByteChars(), ByteChars()], "é", [("ÃĥÂ©", (0, 1))]),
        ([ByteChars()], b"\xc3\xa9\xc3", [("Ã©Ã", (0, 2))]),
        ([], "ab", [("ab", (0, 2))]),
    ],
)
def test_changed_text_keeps_its_place(
    steps: list[object], text: str | bytes, ref: list[tuple[str, tuple[int, int]]]
) -> None:
    assert pre_tokenize(text, steps) == ref


@given(texts(), st.sampled_from(sorted(PATTERNS)))
def test_one_isolated_pattern_is_the_split_of_the_other_reference(text: str, name: str) -> None:
    spelled = PATTERNS[name].replace("$", r"\Z").replace("[.,", ".,").replace("،]", "،")
    if "&&" not in spelled:  # needs sets within sets, which the other reference has not
        assert pieces(text, Split(PATTERNS[name])) == bpe.split(text, spelled)


@given(texts(20), st.sampled_from(KEEPING))
def test_pieces_without_removal_are_the_text(text: str, name: str) -> None:
    got = pre_tokenize(text, NAMED[name])
    assert [text[start:end] for _, (start, end) in got] == [piece for piece, _ in got]
    assert "".join(piece for piece, _ in got) == text


NONCHARACTER = "\ufffe"


@given(byte_texts(20), st.sampled_from(KEEPING))
def test_invalid_bytes_are_characters_without_a_class(data: bytes, name: str) -> None:
    chars = data.decode("utf-8", "surrogateescape")
    plain = "".join(NONCHARACTER if "\udc80" <= char <= "\udcff" else char for char in chars)
    got = pre_tokenize(data, NAMED[name])
    assert [span for _, span in got] == [span for _, span in pre_tokenize(plain, NAMED[name])]
    assert "".join(piece for piece, _ in got).encode("utf-8", "surrogateescape") == data
