"""Errors in patterns point at the place, and what only other engines take is known."""

from __future__ import annotations

import random
import re

import pytest
from tokenizers import Regex, pre_tokenizers

from inside import PATTERNS, Outside, from_oniguruma, parse_pattern, to_oniguruma
from inside import splitter_NAMED as NAMED
from subwords import InputError
from subwords.machine import Split
from subwords.reference.pattern import pre_tokenize


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


# ------------------------------------------------------------------
# Patterns of Oniguruma: HF tokenizers finds in a text what the reference finds with the translation, and back


SEED = 7
ATOMS = [
    *("a", "a", "b", "b", "1", "1", " ", "\n", "\r", "ſ", "S", "s", "'", "²", "¹", "½", "_", "\u200c", "\u200d", "-"),
    *("A", "٣", "é", "\r\n", "  ", "xx", "]", "[", "^", "$", "{", "}", "\u0301", "FF", "ss", "\x0c", "\u2028", "\x85"),
]

# The two read these alike.
SHARED = [
    *(r"x*", r"|a", r"a|", r"(?=b)", r"(?<=a)b", r"(?<!a)b", r"a++b", r"a?+a", r"a*+", r"(?>a+)b", r"a{1,2}b", r"a{2}"),
    *(r"[\p{L}&&[^a]]+", r"(a)(b)?", r"\[a\]", r"\^|\$", r"[$^]+", r"[]a]+", r"[^]a]", r"[a[^b]]+", r"{", "a{", "{|a"),
    *(r"(?-i:a)", r"(?i)s+", r"(?i:'s)", r"\s+(?!\S)", r"\S+", r"[\s\d]+", r"(?<n>a)b", r".+", r"a.b"),
    *(r"\x{61}+", r"[\x{5d}\x{61}]", r"[a\x{2d}b]", r"\x61", r"\u0061+", r"[\u0061-\u0062]+", r"\p{^L}+", r"\P{L}+"),
    *PATTERNS.values(),
]
# These they read differently.
ONIGURUMA = [
    *("a$", "^a", "^", "$", r"\s+$", r"\s++$", r"^\s+|\s+$", r"[^\n]+$", r"\d{1,3}+", r"\d{2}?a", r"a{,2}", r"a{,2}+"),
    *(r"(?:ab|1){1,2}+", r"([ab]{1,2}){2}+", r"[ab]{1,2}+", r"(?:(?:a){1,2}+b){1,2}+", r"\w+", r"\W+", r"[\w-]+"),
    *(r"[^\w\s]+", r"[\W]", r"[\W\d]+", r"[^\W_]+", r"[a[^\w]]+", r"\h+", r"[\H]+", r"[\h_]+", r"\H", r"\ba", r"a\B"),
    *(
        r"\b",
        r"(?m).+",
        r"(?m:a.)",
        r"(?mi:S.)",
        r"\Z",
        r"\z",
        r"a\Z|b\z",
        r"^(?=a)|b$",
        r"[^[:alpha:]\w]+",
        r"[[:alpha:]]+",
        r"a\<|\>",
    ),
]
OURS = [
    *("a$", "^a", r"\s+$", r"\d{1,3}+", r"\d{2}?a", r"(?:ab|1){1,2}+", r"\w+", r"\W+", r"[\w-]+", r"[^\w\s]+", r"[\W]"),
    *(r"[\W\d]+", r"\ba", r"a\B", r"(?s).+", r"(?s:a.)", r"(?is:S.)", r"a\z", r"a\Z", r"[ab]{1,2}+", r"a{1,2}+a"),
]


def texts() -> list[str]:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    return ["".join(rng.choices(ATOMS, k=rng.randrange(30))) for _ in range(150)]


def check(theirs: str, ours: str) -> None:
    peer = pre_tokenizers.Split(Regex(theirs), "isolated")
    for text in texts():
        assert pre_tokenize(text, [Split(ours)]) == peer.pre_tokenize_str(text), (theirs, ours, text)


@pytest.mark.parametrize("pattern", [*SHARED, *ONIGURUMA])
def test_reading_oniguruma(pattern: str) -> None:
    check(pattern, from_oniguruma(pattern))


@pytest.mark.parametrize("pattern", [*SHARED, *OURS])
def test_writing_oniguruma(pattern: str) -> None:
    check(to_oniguruma(pattern), pattern)


@pytest.mark.parametrize("pattern", [*SHARED, *ONIGURUMA])
def test_there_and_back(pattern: str) -> None:
    check(to_oniguruma(from_oniguruma(pattern)), from_oniguruma(pattern))


@pytest.mark.parametrize("name", sorted(PATTERNS.keys() - {"cl100k", "r50k", "p50k"}))
def test_patterns_in_use_stay_as_they_are(name: str) -> None:
    assert from_oniguruma(PATTERNS[name]) == PATTERNS[name] == to_oniguruma(PATTERNS[name])


def test_rules_of_files_for_oniguruma_are_its_translations() -> None:
    numbers, _ = NAMED["tiny-aya"]
    assert numbers == Split(from_oniguruma(r"\d{1,3}(?=(?:\d{3})*\b)"))
    assert Split(from_oniguruma(r"\s+$")) in NAMED["deepseek-llm"]


@pytest.mark.parametrize(
    "pattern", ["[a", "(a", "a)", "a\\", "[[a]", "{2}+", "+a", r"\x{", r"\x{110000}", r"\p{", "(?"]
)
def test_what_is_no_pattern_is_left_to_the_engine(pattern: str) -> None:
    from_oniguruma(pattern)
    to_oniguruma(pattern)
