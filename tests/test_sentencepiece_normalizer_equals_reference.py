"""SentencePiece's normalization gives the text and the places of the textbook: on any bytes, whole and in parts."""

from __future__ import annotations

import random
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines import normalizer
from inside import SentencePiece
from normalizing import MAPS, RULES, SENTENCEPIECES, applied, array, in_parts, mixture, textbook_sentencepiece, to_bytes
from strategies import INVALID, byte_texts
from subwords.machine import NormalizerEngine

SEED = 17
PARTS = (
    *RULES,
    "\u3000 ",
    " ",
    " ",
    "  ",
    "▁",
    "a",
    "b",
    "e",
    "x",
    "<x>",
    "ab ",
    "\0",
    "\ufffd",
    "é",
    "中",
    "\x1c",
    "<",
    "가",
)
steps = pytest.mark.parametrize("step", SENTENCEPIECES, ids=range(len(SENTENCEPIECES)))


@cache
def rule(step: SentencePiece) -> NormalizerEngine:
    return normalizer(step)


def some_text(rng: random.Random, size: int) -> bytes:
    """Strings of the rules, spaces, anything else, and in some texts bytes that are not UTF-8."""
    kinds = [PARTS, PARTS, [mixture(rng, 1)], ["plain text of ASCII ", "слово "]]
    parts = [to_bytes(rng.choice(rng.choice(kinds))) for _ in range(size)]
    if rng.random() < 0.3:
        parts = [part if rng.random() < 0.9 else rng.choice(INVALID) for part in parts]
    return b"".join(parts)


def check(data: bytes, step: SentencePiece) -> None:
    ref, origin = textbook_sentencepiece(data, step)
    assert applied(rule(step), [data]) == [ref]
    got, places = rule(step).aligned(array(data))
    assert got.tobytes() == ref
    assert places.tolist() == origin


def texts() -> st.SearchStrategy[bytes]:
    return st.lists(st.one_of(st.sampled_from(PARTS).map(str.encode), byte_texts(2)), max_size=30).map(b"".join)


@steps
def test_random_texts(step: SentencePiece) -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    for size in (0, 1, 2, 3, 5, 8, 20, 60, 200):
        check(some_text(rng, size), step)


@given(texts(), st.sampled_from(SENTENCEPIECES))
def test_any_bytes(data: bytes, step: SentencePiece) -> None:
    check(data, step)


@given(st.lists(texts(), max_size=6), st.sampled_from(SENTENCEPIECES))
def test_texts_among_others(texts: list[bytes], step: SentencePiece) -> None:
    assert applied(rule(step), texts) == [textbook_sentencepiece(text, step)[0] for text in texts]


@given(texts(), st.integers(0, 200), st.sampled_from(SENTENCEPIECES))
def test_cut_changes_nothing(data: bytes, at: int, step: SentencePiece) -> None:
    cut = rule(step).cut(array(data), min(at, len(data)))
    assert 0 <= cut <= min(at, len(data))
    assert in_parts(rule(step), data, [cut] if cut else []) == textbook_sentencepiece(data, step)[0]


@steps
def test_every_cut_changes_nothing(step: SentencePiece) -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    for size in (3, 40):
        data = some_text(rng, size)
        cuts = {rule(step).cut(array(data), at) for at in range(len(data) + 1)} - {0}
        ref = textbook_sentencepiece(data, step)[0]
        assert in_parts(rule(step), data, sorted(cuts)) == ref
        for cut in sorted(cuts):
            assert in_parts(rule(step), data, [cut]) == ref


def test_cuts_are_found_in_ordinary_text() -> None:
    text = array("It is a naïve Café, нет? 한국어 中文. ".encode() * 3)
    for step in (SentencePiece(), SentencePiece(MAPS[0]), SentencePiece(MAPS[0], user_symbols=("<mask>",))):
        cuts = {rule(step).cut(text, at) for at in range(len(text) + 1)}
        assert len(cuts) > 60


@pytest.mark.rotating(3)
@pytest.mark.parametrize("char", ["a", "y", " ", "中", "😀", "\u0301", "\u200b", "▁", "\xff", "…"])
@pytest.mark.parametrize("step", [SENTENCEPIECES[0], SENTENCEPIECES[1], SentencePiece(MAPS[0], False, False)], ids=str)
def test_runs_of_all_lengths(char: str, step: SentencePiece) -> None:
    unit = b"\xff" if char == "\xff" else char.encode()
    for size in (1, 2, 21, 22, 31, 32, 33, 63, 64, 65, 66, 67, 128, 129, 1500, 5000):
        for data in (unit * size, b"x" + unit * size, b"x" + unit * size + b"\xe4\xb8", unit * size + b"x"):
            check(data, step)


def test_every_alignment_of_the_end_of_a_text() -> None:
    texts = [f"{'b' * n}{tail}"[: n + 9] for n in range(140) for tail in ("", " ", "e\u0301", "ab", "  中文", "…")]
    data = [text.encode()[:stop] for text in texts for stop in (None, -1)]
    for step in SENTENCEPIECES[:2]:
        assert applied(rule(step), data) == [textbook_sentencepiece(text, step)[0] for text in data]


def test_a_replacement_that_is_far_longer_than_the_room() -> None:
    from charsmap import write_charsmap

    step = SentencePiece(write_charsmap({"a": "long " * 2000, "b": ""}))
    for data in (b"a" * 50, b"b" * 50 + b"a", b"xa" * 70):
        check(data, step)
    assert rule(step).growth >= 2000 * 7


def test_no_text_at_all() -> None:
    for step in SENTENCEPIECES:
        assert applied(rule(step), []) == []
        assert applied(rule(step), [b"", b"", b""]) == [b"", b"", b""]
        check(b"", step)


@given(texts(), st.sampled_from(SENTENCEPIECES))
def test_no_text_grows_more_than_it_says(data: bytes, step: SentencePiece) -> None:
    assert len(applied(rule(step), [data])[0]) <= rule(step).growth * len(data)
