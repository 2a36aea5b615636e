"""Errors in patterns point at the place, and what only other engines take is known."""

from __future__ import annotations

import re

import pytest

from inside import Outside, parse_pattern
from subwords import InputError


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
