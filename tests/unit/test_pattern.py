"""The parser of patterns: its trees mean what the `regex` package matches, and its errors point at the place."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from characters import settled, spelled
from inside import (
    INVALID,
    PATTERNS,
    Chars,
    Either,
    End,
    Look,
    Outside,
    Repeat,
    Then,
    parse_pattern,
)
from inside import (
    pattern_Node as Node,
)
from small_data import file_of, files_of
from strategies import FRAGMENTS
from subwords import InputError

CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
UPPER, LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
TAIL = r"\s*[\r\n]+|\s+(?!\S)|\s+"
NO_HAN = r"&&[^\p{Han}]"

# Patterns of tokenizers in use, by the family that brought them.
REAL = {
    "gpt2": PATTERNS["gpt2"],
    "r50k": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    "cl100k": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
        r"|\s+(?!\S)|\s"
    ),
    "cl100k, older": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]"
        r"|\s+(?!\S)|\s+"
    ),
    "llama3": rf"{CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{TAIL}",
    "qwen2": rf"{CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{TAIL}",
    "qwen3.5": (
        rf"{CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{TAIL}"
    ),
    "o200k": (
        rf"[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]*[{LOWER}]+{CONTRACTIONS}?|[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]+[{LOWER}]*"
        rf"{CONTRACTIONS}?|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{TAIL}"
    ),
    "tekken": (
        rf"[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]*[{LOWER}]+|[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]+[{LOWER}]*|\p{{N}}"
        rf"| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{TAIL}"
    ),
    "kimi": (
        rf"[\p{{Han}}]+|[^\r\n\p{{L}}\p{{N}}]?[{UPPER}{NO_HAN}]*[{LOWER}{NO_HAN}]+{CONTRACTIONS}?"
        rf"|[^\r\n\p{{L}}\p{{N}}]?[{UPPER}{NO_HAN}]+[{LOWER}{NO_HAN}]*{CONTRACTIONS}?|\p{{N}}{{1,3}}"
        rf"| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{TAIL}"
    ),
    "deepseek v3, 1": r"\p{N}{1,3}",
    "deepseek v3, 2": "[一-龥぀-ゟ゠-ヿ]+",
    "deepseek v3, 3": (
        r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
        rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|{TAIL}"
    ),
    "deepseek llm, 1": "[\r\n]",
    "deepseek llm, 2": r"\s?\p{L}+",
    "deepseek llm, 3": r"\s?\p{P}+",
    "deepseek coder": r"\s?[!-/:-~！-／：-～‘-‟　-。]+",
    "deepseek llm, 4": r"\s+$",
    "deepseek llm, 5": r"[一-龥ࠀ-一가-퟿]+",
    "falcon": "[0-9][0-9][0-9]",
    "bloom": " ?[^(\\s|.,!?…。，、।۔،)]+",
    "chameleon": r"(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z",
    "clip": r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
    "whitespace": r"\w+|[^\w\s]+",
    "metaspace": "▁?[^▁]+|▁",
}

# Patterns of nobody, for what the real ones leave out.
INVENTED = (
    *("", "a|", "|a", "(?:)", "a(?:|b)c", "(a|ab)(c|bcd)$", "(?:a|ab)(?:c|bcd)?", "(a|b)*abb", "(?:ab|a)*b", "x*"),
    *("(?:ab){2,3}", "(?:ab){2,3}+", "(?:a|ab){2}c", "a{,2}b", "a{2,}b", "a{,}b", "a{0}b", "a{b", "{}a"),
    *("a{1,b}", "a{ 1}", "(?>a|ab)c", "(?>a+)a", "(?>ab|a)b?", "(?>[ab])b", "(?:a?b?)++a", "a?+a", "a*+a", "a++b"),
    *("(?=[ab])[bc]?", "a(?!b|c)", "a(?=b|$)", "a(?!b|$)", "a(?=$)", r"a\z", r"a\Z", "(?!a|[b-d])[a-f]", r"\s+(?=\S)"),
    *("(?i:strasse|[k-m]+)", "(?i)abc", "(?i:a(?-i:b)c)", "(?s).+", "(?s:.)(?-s:.)", ".+", r"\x61\u0062\U00000063"),
    *(
        r"[\x61-\x63]+",
        r"\.\*\(\)\[\]\{\}\|\+\?\\\^\$\-\/\'\ ",
        r"[\n\r\t\f\v\a]+",
        "[-a]+",
        "[a-]+",
        "[]a]+",
        "[^]a]+",
    ),
    *(r"[\w-]+", r"[\d.,]+\d", r"[^\W\d_]+", r"\D+\d", r"(?P<word>\w+)\s", r"(?<word>\w+)\s", "[&|~]+", "]a}", "é+è?"),
    *("a(?i)b|c", "(?:a(?i)b|c)d", "(?x: a b # c\n) d", "a(?#b)+", "(?i-s:a.)(?-i)b", "(" * 99 + "a" + ")" * 99),
    *(r"(?i:\p{Greek}+|я)", r"[\p{L}--\p{Lu}]+", "[a-z--[aeiou]]+", "[[a-c][x-z]]+", r"[\w&&[^\d_]]+", r"\pL\PL"),
)


# The twin: what a tree matches, by backtracking, one end after the other in order of preference.


def ends(node: Node, text: str, at: int) -> Iterator[int]:
    match node:
        case Chars():
            if at < len(text) and node.members[index(text[at])]:
                yield at + 1
        case Look(chars, negative):
            if (at < len(text) and bool(chars.members[index(text[at])])) != negative:
                yield at
        case End():
            if at == len(text):
                yield at
        case Then(items):
            yield from sequence(items, text, at)
        case Either(branches):
            for branch in branches:
                yield from ends(branch, text, at)
        case Repeat(possessive=True):
            for end in repeats(node, text, at, 0):
                yield end
                return
        case Repeat():
            yield from repeats(node, text, at, 0)


def sequence(items: tuple[Node, ...], text: str, at: int) -> Iterator[int]:
    if not items:
        yield at
        return
    for end in ends(items[0], text, at):
        yield from sequence(items[1:], text, end)


def repeats(node: Repeat, text: str, at: int, done: int) -> Iterator[int]:
    if node.high is None or done < node.high:
        for end in ends(node.item, text, at):
            if end > at or done < node.low:
                yield from repeats(node, text, end, done + 1)
            else:  # a round that took nothing is the last
                yield end
    if done >= node.low:
        yield at


def index(character: str) -> int:
    return INVALID if "\ud800" <= character <= "\udfff" else ord(character)


def twin(pattern: str, text: str) -> int | None:
    return next(ends(tree(pattern), text, 0), None)


@cache
def tree(pattern: str) -> Node:
    return parse_pattern(pattern)


@cache
def oracle(pattern: str) -> regex.Pattern[str]:
    return regex.compile(spelled(pattern))


def matched(pattern: str, text: str) -> int | None:
    found = oracle(pattern).match(text)
    return found and found.end()


@cache
def characters_of(pattern: str) -> list[str]:
    """Characters that the pattern's sets tell apart: the settled ends of the runs of each."""
    return sorted({chr(c) for c in set_bounds(tree(pattern)) if c < INVALID and settled()[c]})


def set_bounds(node: Node) -> Iterator[int]:
    match node:
        case Chars() | Look():
            members = (node.chars if isinstance(node, Look) else node).members
            changes = np.flatnonzero(np.diff(members))
            yield from changes[:200].tolist()
            yield from (changes[:200] + 1).tolist()
        case Then(nodes) | Either(nodes):
            for inner in nodes:
                yield from set_bounds(inner)
        case Repeat(inner):
            yield from set_bounds(inner)


def random_texts(pattern: str, count: int, seed: int) -> Iterator[str]:
    rng = random.Random(seed)
    pools = [FRAGMENTS, characters_of(pattern) or ["a"], list(pattern) or ["a"]]
    for _ in range(count):
        parts = [rng.choice(rng.choice(pools)) * rng.choice([1, 1, 1, 2, 5]) for _ in range(rng.randrange(8))]
        text = "".join(parts)
        if all(settled()[ord(c)] for c in text):
            yield text


@pytest.mark.parametrize("pattern", [*REAL.values(), *INVENTED], ids=lambda p: ascii(p)[1:41])
def test_matches_are_those_of_regex_on_random_texts(pattern: str) -> None:
    for text in random_texts(pattern, 150, seed=1):
        ref, got = matched(pattern, text), twin(pattern, text)
        assert got == ref, f"{text!r}, seed 1"


def test_patterns_of_the_real_files_are_in_the_subset(data: Path) -> None:
    found = set()
    for path in files_of(data, "tokenizer.json"):
        found |= set(patterns_in(json.loads(path.read_text("utf-8")).get("pre_tokenizer")))
    specs = json.loads(file_of(data, "tiktoken/specs.json").read_text("utf-8"))
    found |= {spec["pat_str"] for spec in specs.values()}
    assert len(found) > 5
    for pattern in found:
        for text in random_texts(pattern, 40, seed=2):
            assert twin(pattern, text) == matched(pattern, text), f"{pattern} on {text!r}, seed 2"


def patterns_in(node: object) -> Iterator[str]:
    if isinstance(node, list):
        for item in node:
            yield from patterns_in(item)
    elif isinstance(node, dict):
        if isinstance(node.get("Regex"), str):
            yield node["Regex"]
        yield from patterns_in(list(node.values()))


def quantified(items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    quantifiers = ["?", "*", "+", "?+", "*+", "++", "{2}", "{1,2}", "{,2}", "{2,}", "{0}", "{1,3}+"]
    return st.builds(lambda item, q: f"(?:{item}){q}", items, st.sampled_from(quantifiers))


ATOMS = st.sampled_from(
    ["a", "b", "c", "[ab]", "[^a]", ".", r"\s", r"\S", r"\n", "(?i:B)", "(?!a)", "(?=[ab])", "(?!b|$)", "$", "(?s:.)"]
)
SMALL_PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda branches: f"(?:{'|'.join(branches)})"),
        inner.map(lambda item: f"(?>{item})"),
        quantified(inner),
    ),
    max_leaves=8,
)


@given(SMALL_PATTERNS, st.lists(st.text("abBc \n", max_size=8), min_size=12, max_size=12))
def test_small_patterns_match_as_regex_does(pattern: str, texts: list[str]) -> None:
    try:
        got = [twin(pattern, text) for text in texts]
    except Outside:
        return
    ref = [matched(pattern, text) for text in texts]
    assert got == ref


@pytest.mark.parametrize(
    ("pattern", "at", "expected"),
    [
        ("(ab", 0, "a ) that closes the group"),
        ("a(b(c)", 1, "a ) that closes the group"),
        ("(?", 0, "a ) that closes the group"),
        ("a(?i", 1, "a ) that closes the group"),
        ("ab)", 2, "an open group before )"),
        ("a|(b))c", 5, "an open group before )"),
        ("*", 0, "an item to repeat"),
        ("a|+", 2, "an item to repeat"),
        ("(?:?)", 3, "an item to repeat"),
        ("x{2}|{2}", 5, "an item to repeat"),
        ("ab{3,2}", 2, "a quantifier whose minimum is not above its maximum"),
        ("[abc", 0, "a ] that closes the set"),
        ("a[b[c]", 1, "a ] that closes the set"),
        ("[]", 0, "a ] that closes the set"),
        ("[^]", 0, "a ] that closes the set"),
        ("[a-", 0, "a ] that closes the set"),
        ("[a&&b", 0, "a ] that closes the set"),
        ("[az-b]", 2, "a range in ascending order"),
        (r"[\x62-a]", 1, "a range in ascending order"),
        (r"ab\p{Foo}", 2, "a Unicode property"),
        (r"[^\p{sc=L}]", 2, "a Unicode property"),
        (r"\p{}", 0, "a Unicode property"),
        (r"\pX", 0, "a Unicode property"),
        (r"\p{L", 2, "a property such as L or {Greek}"),
        ("\\p", 2, "a property such as L or {Greek}"),
        ("ab\\", 3, "a character after the backslash"),
        ("[a\\", 3, "a character after the backslash"),
        (r"a\xg1", 3, "2 hexadecimal digits"),
        (r"\u12", 2, "4 hexadecimal digits"),
        (r"\U0001F60", 2, "8 hexadecimal digits"),
        (r"\x{}", 2, "2 hexadecimal digits"),
        (r"\x{110000}", 0, "a code point up to 10FFFF"),
    ],
)
def test_error_points_at_the_character(pattern: str, at: int, expected: str) -> None:
    with pytest.raises(InputError) as raised:
        parse_pattern(pattern)
    message, shown, caret = str(raised.value).split("\n")
    assert message.startswith(f"expected {expected}") and f" at character {at}, got " in message
    assert shown == f"  {pattern}"
    assert caret == " " * (at + 2) + "^"


def test_error_in_a_long_pattern_shows_what_is_near() -> None:
    with pytest.raises(InputError) as raised:
        parse_pattern("a" * 500 + "\n字)" + "b" * 500)
    _, shown, caret = str(raised.value).split("\n")
    assert shown == "  ..." + "a" * 28 + "\\n字)" + "b" * 29 + "..."
    # The Chinese character is as wide as two others.
    assert len(caret) == len("  ..." + "a" * 28 + "\\n字") + 2 and caret.strip() == "^"


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("ab(?<=a)c", "look-behind at character 2"),
        ("(?<!a)", "look-behind at character 0"),
        ("a(?!bc)", "a look-ahead wider than one character at character 1"),
        ("(?=a+)", "a look-ahead wider than one character at character 0"),
        ("(?!)", "a look-ahead wider than one character at character 0"),
        ("(?!a|bc)", "a look-ahead wider than one character at character 0"),
        ("ab*?", "a lazy quantifier at character 2"),
        ("a{1,2}?", "a lazy quantifier at character 1"),
        ("$*", "a quantifier on an item without width at character 1"),
        (r"(?:(?!\S))+", "a quantifier on an item without width at character 10"),
        (r"(a)\1", r"\1 at character 3"),
        (r"\bword", r"\b at character 0"),
        (r"\q", r"\q at character 0"),
        ("^a", "^ at character 0"),
        ("(?P=a)", "'(?P=' at character 0"),
        ("(?|a)", "'(?|a' at character 0"),
        ("[+--]", "-- in a set at character 2"),
        ("[--a]", "-- in a set at character 1"),
        (r"[a-\d]", "a range that ends in a set at character 1"),
        ("[a-[b]]", "a range that ends in a set at character 1"),
        (r"a\<b", "the start or the end of a word at character 1"),
        (r"a\p{InGreek}", r"the property \p{InGreek} at character 1"),
        ("a{1001}", "more than 1000 repeats at character 1"),
        ("".join(map(chr, range(0x4E00, 0x4F01))), "more than 256 different sets at character 257"),
    ],
)
def test_what_only_other_engines_take_is_outside(pattern: str, reason: str) -> None:
    with pytest.raises(Outside, match=f"^{re.escape(reason)}$"):
        parse_pattern(pattern)


def test_trees_of_the_same_meaning_of_sets_are_equal() -> None:
    assert parse_pattern(r"[a-c]\p{Nd}(?!\S)") == parse_pattern(r"[cba]\d(?!\S)")
    assert hash(parse_pattern(r"[a-c](?!b)")) == hash(parse_pattern(r"[cba](?![b])"))
    assert (
        parse_pattern("a") != parse_pattern("b")
        and parse_pattern("(?=a)") != parse_pattern("(?!a)")
        and parse_pattern("(?=a)") != parse_pattern("a")
    )
    assert parse_pattern(r"(?=\s|$)") == parse_pattern(r"(?!\S)")


def test_a_set_that_comes_twice_is_one_object() -> None:
    first, second = parse_pattern(r"\p{L}[\p{L}]").items  # type: ignore[union-attr]
    assert first is second


def test_tree_of_each_construct() -> None:
    a, b = parse_pattern("a"), parse_pattern("b")
    assert isinstance(a, Chars)
    assert parse_pattern("") == Then(())
    assert parse_pattern("ab") == Then((a, b))
    assert parse_pattern("a|b|") == Either((a, b, Then(())))
    assert parse_pattern("a*") == Repeat(a, 0, None)
    assert parse_pattern("a{2,3}+") == Repeat(a, 2, 3, possessive=True)
    assert parse_pattern("a{4}{,2}") == Repeat(Repeat(a, 4, 4), 0, 2)
    assert parse_pattern("(?>a|b)") == Repeat(Either((a, b)), 1, 1, possessive=True)
    assert parse_pattern("(?>a+)") == parse_pattern("a++") and parse_pattern("(?>a)") == a
    assert parse_pattern("a$") == Then((a, End())) == parse_pattern(r"a\z") == parse_pattern(r"a\Z")
    assert parse_pattern("(?!a)") == Look(a, negative=True)
    assert parse_pattern("((?:a)(?P<n>b))") == Then((a, b))
