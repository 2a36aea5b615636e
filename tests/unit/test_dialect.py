"""Patterns of Oniguruma: HF tokenizers finds in a text what the reference finds with the translation, and back."""

from __future__ import annotations

import random

import pytest
from tokenizers import Regex, pre_tokenizers

from inside import PATTERNS, from_oniguruma, to_oniguruma
from inside import splitter_NAMED as NAMED
from subwords.machine import Split
from subwords.reference.pattern import pre_tokenize

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
