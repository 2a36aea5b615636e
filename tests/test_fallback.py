"""Both routes of a pattern find the same words: the automaton's, and the `regex` package's on rewritten patterns."""

from __future__ import annotations

import contextlib
import random
import time

import numpy as np
import pytest
import regex

from engines import splitter
from inside import DIGIT, PATTERNS, SIGN, Outside, whole_text
from inside import split_fallback as fallback
from inside import split_finders as finders
from patterns import INVENTED
from subwords import InputError, SubwordsError
from subwords.machine import Split
from subwords.reference import pattern as reference

# What engines, versions of Unicode and ways to fold case differ in.
TRICKY = [
    *"aAbBzkKſKsSiIİıßẞΣσςǆǅǄﬁﬂ1٣²½Ⅷ९ _-~&|[]{}<=!?.,'’\"/\\%$^*+()#\0\t\n\r\v\f\x1b\x7f\x85",
    *(
        "\r\n",
        "\u00a0",
        "\u1680",
        "\u180e",
        "\u2003",
        "\u200b",
        "\u200c",
        "\u200d",
        "\u2028",
        "\u2029",
        "\u3000",
        "\ufeff",
    ),
    *("e\u0301", "\u0345", "\u0903", "\u20dd", "\ufe0f", "वि", "文", "ひ", "カ", "ー", "한", "ไทย", "👩\u200d🚀", "🇩🇪"),
    *(
        "ڤ",
        "\u06c5\u05c8",
        "ꟲ",
        "\u0378",
        "\u1c89",
        "\ua7dc",
        "\U00010d4a",
        "\U0001fadf",
        "\U00013460",
        "\U0010ffff",
        "\ue000",
    ),
    *(
        "\u1e9e",
        "\u1c80",
        "\u0390",
        "\u1fd3",
        "\ufb05",
        "\ufb06",
        "µ",
        "μ",
        "Å",
        "Å",
        "Ω",
        "Ω",
        "ᲀ",
        "Ა",
        "ა",
        "Ꭰ",
        "ꭰ",
    ),
    *("foo", "fox", "'s", "'S", "'ſ", "the", "12345", "   ", "\n\n ", "aab", "<a>", "{e<=1}", "https://x.y/z"),
]
INVALID = [b"\xff", b"\xc3", b"\xe2\x82", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80"]

WRITTEN = [
    r"(?i:[^a-z])+|.",
    r"(?i)\p{Lu}+|.",
    r"(?i)\P{Lu}+|.",
    r"(?i:ǆ|σ|ﬁ|İ|ı)+|.",
    r"(?i)[^\P{Lu}ß]+|[k-s]+",
    r"(?i:[k-l]|straße|ss)+|\W",
    r"[^\p{L}||\p{N}]+|.",
    r"[^\p{L}&&[^\p{Han}a-c]]+|.",
    r"[\w--[a-k\d]]+|\d+",
    r"[\w~~\p{L}]+|[[:alpha:]]+",
    r"[[:^alpha:][:digit:]]{1,3}|\p{Greek}+",
    r"(?i:[[:upper:]])+|\h{2,}|\H",
    r"(?:foo){e<=1}|foo|.",
    r"x{e}|a{1,2}|a{|\{",
    r"(?s:.)(?:\r\n|\n)?",
    r".+|\n$",
    r"[\r\n]+|[^\r\n]+(?!\S)|\S",
    r"\s+(?!\S)|\s+|\S+",
    r"\s+$|\s+(?!\S)|\S+|\s",
    r"\w+|[^\w\s]+|\s",
    r"\W+|\w{2}",
    r"\D+|\d{1,3}+",
    r"\p{Alphabetic}+|\p{M}+|\p{Cn}+|\P{Cn}",
    r"\p{^Lu}+|\p{Lu}",
    r"\pL\pM*|\PL",
    r"\x41+|\u0061+|\x{1F600}|[\x{80}-\x{10FFFF}]+",
    r"[]a-c-]+|[^]a]+",
    r"\p{Emoji}+|\p{Ideographic}+|\p{Script=Thai}+|\p{Any}",
    r"(?>a+)b?|[^a]{2,4}",
    r"a++b?|\d++|\s?+\S",
    r"(?=\p{L})[^ab]+|(?!\s)[^\p{L}]+",
    r"(?i:İ|i̇|ſt|ß)+|\p{Ll}+",
    DIGIT,
    SIGN,
]
PARTS = [*dict.fromkeys(PATTERNS.values()), *INVENTED.values(), *WRITTEN]
BEHAVIORS = ("isolated", "removed", "contiguous", "merged_with_previous", "merged_with_next")


def strings(seed: int, count: int, longest: int = 12) -> list[bytes]:
    print(f"seed {seed}")
    rng = random.Random(seed)
    atoms = [*(text.encode() for text in TRICKY), *INVALID]
    return [b"".join(rng.choices(atoms, k=rng.randint(1, longest))) for _ in range(count)]


def words(finder: finders.MachineStepSplitter | finders.RegexStepSplitter, texts: list[bytes]) -> list[int]:
    data = np.frombuffer(b"".join(texts), np.uint8)
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(text) for text in texts])])
    word_spans = finder.split(whole_text(data, bounds, np.ones(len(texts), np.bool_), tracked=False))
    return [*word_spans.words.tolist(), *word_spans.text.tolist()]


@pytest.mark.rotating(3)
@pytest.mark.parametrize("pattern", PARTS)
def test_both_routes_of_a_pattern(pattern: str) -> None:
    texts = strings(5, 400)
    assert words(finders.RegexStepSplitter(Split(pattern)), texts) == words(
        finders.MachineStepSplitter(Split(pattern)), texts
    )
    with contextlib.suppress(Outside):  # some have no automaton for every behaviour
        step = Split(pattern, BEHAVIORS[len(pattern) % 5], len(pattern) % 2 == 1)  # type: ignore[arg-type]
        assert words(finders.RegexStepSplitter(step), texts) == words(finders.MachineStepSplitter(step), texts)


@pytest.mark.parametrize("pattern", ["(?i:[^a-z])+|.", r"\w+|\s+(?!\S)|.", r"(?i)\p{Lu}+|[\s\S]"])
def test_look_behind_that_never_holds_changes_nothing(pattern: str) -> None:
    for other in (rf"{pattern}|(?<=\x{{10FFFF}}a)b\x{{10FFFF}}", rf"(?<!\x{{10FFFF}}a)(?:{pattern})"):
        assert not splitter(other).compiled
        for text in strings(6, 60):
            assert splitter(other).byte_spans(text)[:, 1].tolist() == splitter(pattern).byte_spans(text)[:, 1].tolist()


@pytest.mark.sweep
@pytest.mark.parametrize("pattern", PARTS)
def test_both_routes_on_every_code_point(pattern: str) -> None:
    chars = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    texts = [*map(str.encode, chars), *strings(7, 20_000)]
    assert words(finders.RegexStepSplitter(Split(pattern)), texts) == words(
        finders.MachineStepSplitter(Split(pattern)), texts
    )


# ------------------------------------------------------------------ what has no automaton


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?<=a)b+|\w+?(?=\d\d)|.",
        r"(.)\1|(?P<x>\d)(?P=x)|(?<y>ab)\k<y>|.",
        r"(?i)(k)\1|\bfoo\b|.",
        r"(?x) a b # a comment",
        r"(a)?(?(1)b|c)|.",
        r"\w*?\d|.",
        r"(?<!\p{L})\p{N}+(?!\p{L})|(?s:.)",
        r"a*",
        r"(?=(\d{3})+(?!\d))",
        r"(?|(a)|(b))\1|.",
    ],
)
def test_structure_is_the_package_s(pattern: str) -> None:
    chars = "aabbcckKſfo1 22\n\t'"
    rng = random.Random(8)
    plain = regex.sub(r"\\k<y>", "(?P=y)", pattern)
    for _ in range(300):
        text = "".join(rng.choices(chars, k=rng.randint(1, 14)))
        assert fallback.find_matches(pattern, text) == reference.find(plain, text)


@pytest.mark.parametrize("behavior", BEHAVIORS)
def test_behaviours_are_the_textbook_s(behavior: str) -> None:
    for text in ("a1b22 c", "11", " 1 ", "", "x"):
        found = [(a, b, m) for a, b, m in fallback.find_matches(r"\d|\s", text) if behavior != "removed" or not m]
        assert fallback.behaved(found, behavior) == reference.segments(text, r"\d|\s", behavior, False)


def test_flag_m_is_of_lines() -> None:
    assert splitter(r"(?m)^a$|a(?-m:$)|.").split("aa\na\nb\naa") == ["a", "a", "\n", "a", "\n", "b", "\n", "a", "a"]


def test_property_that_the_tables_lack() -> None:
    made = splitter(r"\p{Dash}+|[^\p{^Dash}]|.")
    assert made.split("a-–b") == ["a", "-–", "b"]
    assert (made.compiled, made.unicode_version[:8]) == (False, "of regex")
    assert splitter(r"(?<=\s)a|.").unicode_version == "16.0"


def test_many_sets() -> None:
    pattern = "|".join(chr(code) for code in range(0x4E00, 0x4E00 + fallback.MOST_SETS + 1)) + "|(?<=x)y"
    assert fallback.compiled(pattern).classes is None
    assert splitter(pattern).split("丁ab七xy\udc80"[:-1]) == ["丁", "ab", "七", "x", "y"]


# ------------------------------------------------------------------ hostile patterns


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(" * 1000 + "a" + ")" * 1000, "pattern nested too deeply: expected at most 100 nested groups"),
        ("(?:" * 1000 + "a*" + ")*" * 1000, "pattern nested too deeply"),
        ("[" * 1000, "pattern nested too deeply|expected a ]"),
        ("(?:(?:a{1000}){1000}){1000}", "too many repeats in a pattern: .* expected at most 65536"),
        ("(?:(?:ab?){999}){999}(?<=b)", "too many repeats"),
        ("a{4294967296}", "too many repeats"),
        (r"(?R)|a", r"unsupported syntax in a pattern: '\(\?R\)' at character 0"),
        (r"\X", r"unsupported syntax in a pattern: \\X"),
        (r"\Qa", r"unsupported syntax in a pattern: \\Q"),
        (r"\L<words>", "unsupported syntax"),
        (r"(?<=a", r"expected a \) that closes the group"),
        ("(?P<x>a)(?P<1>b)", "unsupported syntax"),
        (r"[[:nope:]](?<=a)", "expected one of alpha, "),
        ("\ud800+", r"lone surrogate U\+D800"),
    ],
)
def test_hostile_pattern(pattern: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        splitter(pattern).split("never")


def test_null_character_is_one_like_others() -> None:
    assert splitter("\0+").split("a\0\0b") == ["a", "\0\0", "b"]
    assert splitter("(?<=a)\0").split("a\0\0b") == ["a", "\0", "\0b"]


def test_random_patterns_fail_with_our_error_only() -> None:
    seed = 9
    print(f"seed {seed}")
    rng = random.Random(seed)
    atoms = [
        *r"()[]{}|*+?.^$\-&~:=!<>#,aL1 ",
        "(?",
        "(?<",
        "(?i",
        r"\p{",
        "[:",
        "{1,",
        r"\x{",
        "(?<=a)",
        "&&",
        "--",
        "ß",
        r"\b",
    ]
    taken = 0
    for _ in range(300):
        pattern = "".join(rng.choices(atoms, k=rng.randint(1, 9)))
        try:
            assert "".join(splitter([Split(pattern)]).split("aß 1-L")) == "aß 1-L"
            taken += 1
        except SubwordsError:
            pass
    assert taken > 30


@pytest.mark.parametrize("pattern", ["(?:a{0,500}b?){0,4}c", "(?:[a-z]?[b-y]?){400}x", "(a|b|ab|ba|aab){300}|c"])
def test_pattern_of_many_places_is_given_up_early(pattern: str) -> None:
    before = time.process_time()
    assert not splitter(pattern).compiled
    assert time.process_time() - before < 10
