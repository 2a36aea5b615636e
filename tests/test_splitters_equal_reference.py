"""Every named rule, on every route: the words and their places are those of the textbook (S1, S2, S4)."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from characters import settled
from engines import splitter
from inside import splitter_NAMED as NAMED
from splitting import (
    DISTINCT,
    FULL,
    SLOW,
    check,
    check_cut,
    class_characters,
    classes_of,
    mixture,
    reference_words,
    settled_text,
    shared_texts,
    to_bytes,
    words_of,
)
from strategies import BLANKS, byte_texts
from subwords.machine import SplitterEngine

SEED = 7
NEW_STREAMS = (1, 2, 26, 27, 31, 32, 33, 191, 192, 193, 8127, 8128, 8129, 8191, 8192, 8193, 20000)
LEAST = 1024  # words a machine must have room for

named = pytest.mark.parametrize("name", DISTINCT)
quick = pytest.mark.parametrize("name", [name for name in DISTINCT if name != SLOW])


# One rule in four each day, in turn, and these two each time.
daily = pytest.mark.rotating(6, always=("[cl100k]", "[bert]"))


@cache
def rule(name: str) -> SplitterEngine:
    return splitter(name)


def seeded(name: str) -> random.Random:
    print(f"seed {SEED}{name}")
    return random.Random(f"{SEED}{name}")


def longest(name: str) -> int:
    return 60 if name == SLOW else 9000


# ------------------------------------------------------------------ random texts


def check_many(name: str, texts: list[str], words: int | None = None) -> None:
    """The words of short texts that are split together."""
    got = words_of(rule(name), [to_bytes(text) for text in texts], words)
    assert len(got) == len(texts)
    for words_got, text in zip(got, texts, strict=True):
        words_ref, _, _ = reference_words(text, NAMED[name])
        assert words_got == words_ref, text


def strings(name: str, count: int) -> Iterator[list[str]]:
    """So many strings in batches: up to twelve characters, each of a class at random."""
    rng = seeded(name)
    draw = np.random.default_rng(rng.randrange(2**32))
    for start in range(0, count, 10_000):
        chars = class_characters(NAMED[name], rng)
        table = np.array([[rng.choice(of_class) for _ in range(16)] for of_class in chars])
        size = min(10_000, count - start)
        rows = table[draw.integers(len(chars), size=(size, 12)), draw.integers(16, size=(size, 12))]
        lengths = draw.integers(13, size=size).tolist()
        yield ["".join(row[:length]) for row, length in zip(rows.tolist(), lengths, strict=True)]


@daily
@named
def test_strings_of_the_rules_own_classes(name: str) -> None:
    for texts in strings(name, 300):
        check_many(name, texts)


@pytest.mark.sweep
@named
def test_many_strings_of_the_rules_own_classes(name: str) -> None:
    for texts in strings(name, 1_000_000 if FULL else 50_000):
        check_many(name, texts)


@daily
@named
def test_mixtures(name: str) -> None:
    rng = seeded(name)
    chars = class_characters(NAMED[name], rng)
    for size in (0, 1, 100, 400, 3000, 9000):
        check(rule(name), mixture(rng, chars, size, longest(name)))


@pytest.mark.sweep
@named
def test_more_mixtures(name: str) -> None:
    rng = seeded(name)
    for _ in range(100):
        chars = class_characters(NAMED[name], rng)
        check(rule(name), mixture(rng, chars, rng.choice([100, 3000, 40_000]), longest(name)))


@given(byte_texts(), st.sampled_from([name for name in DISTINCT if name != SLOW]))
def test_any_bytes(data: bytes, name: str) -> None:
    check(rule(name), settled_text(data))


# ------------------------------------------------------------------ all characters


def probes(codes: list[int]) -> str:
    return "".join(f"a{c}1{c}{c} {c}\n{c}'" for c in map(chr, codes))


@daily
@named
def test_characters_where_a_class_begins(name: str) -> None:
    changes = np.flatnonzero(np.diff(classes_of(NAMED[name]))).tolist()
    some = seeded(name).sample(changes, min(200, len(changes)))
    codes = {code + step for code in some for step in (0, 1)} | set(range(0x80, 0x180))
    check(rule(name), probes(sorted(code for code in codes if code < 0x110000 and settled()[code])))


@pytest.mark.sweep
@quick
def test_every_character_in_order_and_shuffled(name: str) -> None:
    rng = seeded(name)
    every = np.flatnonzero(settled()).tolist()
    for codes in (every, rng.sample(every, len(every))):
        for start in range(0, len(codes), 50_000):
            check(rule(name), "".join(map(chr, codes[start : start + 50_000])))
    probed = every if FULL else sorted(rng.sample(every, 10_000))
    for start in range(0, len(probed), 20_000):
        check(rule(name), probes(probed[start : start + 20_000]))


# ------------------------------------------------------------------ files


def check_files(name: str, folder: Path, size: int | None, pattern: str) -> None:
    count = 0
    for file, text in shared_texts(folder, size, pattern):
        count += 1
        try:
            check(rule(name), text)
        except AssertionError as error:
            raise AssertionError(f"{file}: {error}") from None
    assert count > 5


@daily
@quick
def test_adversarial_files(data: Path, name: str) -> None:
    check_files(name, data / "adversarial", 500, "*.*t*")
    check_files(name, data / "adversarial", 500, "*.bin")


@pytest.mark.sweep
@quick
def test_whole_adversarial_files(shared_data: Path, name: str) -> None:
    # A pattern that goes over the text again and again takes minutes for a million digits.
    size = 20_000 if not rule(name).compiled else None if FULL else 50_000
    check_files(name, shared_data / "adversarial", size, "*.*t*")
    check_files(name, shared_data / "adversarial", size, "*.bin")


@daily
@quick
def test_corpora(data: Path, name: str) -> None:
    check_files(name, data / "corpora", 1500, "*.txt")


@pytest.mark.sweep
@quick
def test_more_of_corpora(shared_data: Path, name: str) -> None:
    check_files(name, shared_data / "corpora", 500_000 if FULL else 100_000, "*.txt")


# ------------------------------------------------------------------ where streams and windows end


@daily
@named
def test_blanks_around_a_line_feed(name: str) -> None:
    texts = [
        f"{before}{blank * n}{feed}{blank * (40 - n // 2)}{after}"
        for n in range(81)
        for blank, feed in ((" ", "\n"), (" ", ""), ("\u3000", "\r\n"), (" \t", "\n"))
        for before, after in ((("a", "a"), ("\n", ""))[n % 2],)
    ]
    check_many(name, texts)
    check(rule(name), "".join(texts))


@daily
@quick
def test_words_of_all_lengths(name: str) -> None:
    sizes = (1, 27, 32, 193, 8129, 20000)
    check(rule(name), "".join(f" {letter * size}'s\n 1" for letter in "a字" for size in sizes))


@pytest.mark.sweep
@quick
def test_words_of_more_lengths(name: str) -> None:
    # The oracle goes over a run of blanks again and again where the pattern wants a run's end.
    sizes = NEW_STREAMS if rule(name).compiled else NEW_STREAMS[:-4]
    for letter in ("a", "A", "é", "字", "😀", "\u0301", "=", " ", "\n", "\u3000", "1", "\udcff"):
        check(rule(name), "".join(f" {letter * size}'s\n 1" for size in sizes))
        for size in sizes:
            check(rule(name), "x" + letter * size)


@daily
@named
def test_other_scripts_at_every_alignment(name: str) -> None:
    texts = [
        f"{'ab' * (offset // 2)}{'c' * (offset % 2)}{c}{' d1' * 50}{c * (offset % 5)} e{c}"
        for offset in range(66)
        for c in ("é", "字", "😀", "\udcff", "\udce5\udcad", "\udcf0\udc9f\udc98")
    ]
    check_many(name, texts)


@daily
@named
def test_little_room_for_words(name: str) -> None:
    rng = seeded(name)
    chars = class_characters(NAMED[name], rng)
    texts = [mixture(rng, chars, rng.choice([0, 0, 1, 50, 400, 4000]), longest(name)) for _ in range(12)]
    ref = [reference_words(text, NAMED[name])[0] for text in texts]
    data = [to_bytes(text) for text in texts]
    for room in (LEAST, 1500, 4000):
        assert words_of(rule(name), data, room) == ref
    assert words_of(rule(name), [b"", *data, b"", b""]) == [[], *ref, [], []]


@daily
@named
def test_no_word_ends_beyond_the_room(name: str) -> None:
    # The place kept aside for the end of \s*[\r\n] is not wanted any more once another line feed has come.
    text = ("\n" + " " * 40 + "\n" + "a b " * 700) * 3 + "\r" + " " * 30
    assert words_of(rule(name), [text.encode()], LEAST) == [reference_words(text, NAMED[name])[0]]


@named
@pytest.mark.parametrize("letter", ["1", "!", "字", " "])
def test_texts_that_just_fit_into_the_room(name: str, letter: str) -> None:
    # Where nearly every character is a word, the second text takes what places there are, and a few less or more.
    sizes = range(LEAST - 200 - 140, LEAST - 200 + 10, 7)
    texts = [[letter * 200, letter * (size // len(letter.encode())), letter] for size in sizes]
    for three in texts if name != SLOW or letter != "1" else []:
        got = words_of(rule(name), [text.encode() for text in three], LEAST)
        assert got == [reference_words(text, NAMED[name])[0] for text in three], len(three[1])


# ------------------------------------------------------------------ cuts


def check_cuts(name: str, chars: list[str], size: int) -> int:
    """Every place that `cut` gives for the first characters of a string, whatever follows: how many it gives."""
    everything = ["".join(string) for n in range(size + 1) for string in itertools.product(chars, repeat=n)]
    data = [to_bytes(text) for text in everything]
    words = dict(zip(data, words_of(rule(name), data), strict=True))
    places = {text: rule(name).cut(np.frombuffer(text, np.uint8), len(text)) for text in data if text}
    for text in data:
        for at in range(1, len(text) + 1):
            if cut := places.get(text[:at]):
                assert words[text[:cut]] + words[text[cut:]] == words[text], (text, at)
    return sum(map(bool, places.values()))


@daily
@named
def test_cuts_of_every_short_string(name: str) -> None:
    rng = seeded(name)
    chars = [rng.choice(of_class) for of_class in class_characters(NAMED[name], rng)]
    found = check_cuts(name, chars, 2)
    found += check_cuts(name, rng.sample(chars, min(6, len(chars))), 4)
    assert found or not rule(name).compiled or name in ("bloom", "viking", "metaspace", "tiny-aya")


@pytest.mark.sweep
@named
def test_cuts_of_every_longer_string(name: str) -> None:
    rng = seeded(name)
    chars = [rng.choice(of_class) for of_class in class_characters(NAMED[name], rng)]
    check_cuts(name, chars, 3)
    for _ in range(5):
        check_cuts(name, rng.sample(chars, min(7, len(chars))), 5)


@daily
@named
def test_cuts_of_mixtures(name: str) -> None:
    rng = seeded(name)
    text = to_bytes(mixture(rng, class_characters(NAMED[name], rng), 1500, longest(name)))
    for at in [0, 1, len(text), *(rng.randrange(len(text)) for _ in range(20))]:
        check_cut(rule(name), text, at)


@pytest.mark.parametrize("blank", BLANKS)
def test_masks_cut_where_the_machine_does_not_forbid(blank: str) -> None:
    text = f"a{blank}b{blank}{blank}1'".encode() * 3
    for at in range(len(text) + 1):
        cut = rule("gpt2").cut(np.frombuffer(text, np.uint8), at)
        assert words_of(rule("gpt2"), [text[:cut] + text[cut:]]) == [
            [word for words in words_of(rule("gpt2"), [text[:cut], text[cut:]]) for word in words]
        ]
