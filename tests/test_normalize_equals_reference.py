"""Normalizers give the text and the places of the textbook: on any bytes, alone or among other texts (S2, S4)."""

from __future__ import annotations

import itertools
import random
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from charsmap import write_charsmap
from engines import normalizer
from inside import Bert, Form, Lowercase, Prepend, SentencePiece, StripAccents
from inside import normalizer_NAMED as NAMED
from inside import normalizer_Replace as Replace
from inside import normalizer_Step as Step
from inside import normalizer_Strip as Strip
from normalizing import (
    HARD,
    MAPS,
    PINNED,
    SENTENCEPIECES,
    STEPS,
    applied,
    array,
    in_parts,
    mixture,
    scalars,
    textbook,
    to_bytes,
)
from normalizing import RULES as STRINGS
from strategies import INVALID, byte_texts
from subwords.machine import NormalizerEngine
from subwords.reference import normalize as reference

SEED = 11
BLANKS = "\t\n\x0b\x0c\r\x1c \x85\xa0\u1680\u180e\u2000\u200a\u200b\u2028\u202f\u205f\u3000\ufeff"


@cache
def rule(*steps: Step) -> NormalizerEngine:
    return normalizer(list(steps))


def check(data: bytes, *steps: Step) -> None:
    ref, origin = textbook(data, list(steps))
    assert applied(rule(*steps), [data]) == [ref]
    got, places = rule(*steps).aligned(array(data))
    assert got.tobytes() == ref
    assert places.tolist() == origin


# Strings of the rules of SentencePiece's maps, and what stands beside them.
PIECES = (
    *STRINGS,
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


def hard_texts(parts: tuple[str, ...] = HARD) -> st.SearchStrategy[bytes]:
    each = st.one_of(st.sampled_from(parts).map(str.encode), st.sampled_from(parts).map(str.encode), byte_texts(2))
    return st.lists(each, max_size=30).map(b"".join)


# Few sequences, for each of them takes a table.
SEQUENCES = [
    (Form("NFD"), StripAccents()),
    (Form("NFD"), Lowercase(), StripAccents()),
    (Lowercase(), Form("NFKD"), StripAccents(), Replace(" ", "▁")),
    (Form("NFKC"), Lowercase()),
    (Form("NFD"), Replace("\u0301", "x"), Replace("\u0323", "y")),
    (Strip(), Prepend("▁"), Replace(" ", "▁")),
    (Form("NFD"), Lowercase()),
    (Bert(), Form("NFC"), Strip(left=False)),
]
RULES: list[tuple[Step, ...]] = [*((step,) for step in STEPS), *SEQUENCES, ()]
OF_MODELS: list[tuple[Step, ...]] = [(step,) for step in SENTENCEPIECES]
EVERY = [*RULES, *OF_MODELS]
KINDS = [(HARD, RULES), (PIECES, OF_MODELS)]
kinds = pytest.mark.parametrize(("parts", "rules"), KINDS, ids=["steps", "sentencepiece"])


def some_text(rng: random.Random, size: int) -> bytes:
    """Strings of the rules, hard characters, anything else, and in some texts bytes that are not UTF-8."""
    kinds = [PIECES, [mixture(rng, 1)], [mixture(rng, 1)], ["plain text of ASCII ", "слово "]]
    parts = [to_bytes(rng.choice(rng.choice(kinds))) for _ in range(size)]
    if rng.random() < 0.3:
        parts = [part if rng.random() < 0.9 else rng.choice(INVALID) for part in parts]
    return b"".join(parts)


@pytest.mark.parametrize("steps", EVERY, ids=[*map(str, RULES), *range(len(OF_MODELS))])
def test_random_texts(steps: tuple[Step, ...]) -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    for size in (0, 1, 2, 3, 5, 8, 30, 60, 200):
        check(some_text(rng, size), *steps)
        check(to_bytes(mixture(rng, size)), *steps)


@kinds
@given(data=st.data())
def test_any_bytes(parts: tuple[str, ...], rules: list[tuple[Step, ...]], data: st.DataObject) -> None:
    check(data.draw(hard_texts(parts)), *data.draw(st.sampled_from(rules)))


@kinds
@given(data=st.data())
def test_texts_among_others(parts: tuple[str, ...], rules: list[tuple[Step, ...]], data: st.DataObject) -> None:
    texts, steps = data.draw(st.lists(hard_texts(parts), max_size=6)), data.draw(st.sampled_from(rules))
    got = applied(rule(*steps), texts)
    assert got == [textbook(text, list(steps))[0] for text in texts]
    if rules is OF_MODELS:  # others may put text before an empty one
        assert all(len(one) <= rule(*steps).growth * len(text) for one, text in zip(got, texts, strict=True))


@kinds
@given(data=st.data(), at=st.integers(0, 200))
def test_cut_changes_nothing(
    parts: tuple[str, ...], rules: list[tuple[Step, ...]], data: st.DataObject, at: int
) -> None:
    text, steps = data.draw(hard_texts(parts)), data.draw(st.sampled_from(rules))
    at = min(at, len(text))
    cut = rule(*steps).cut(array(text), at)
    assert 0 <= cut <= at
    assert in_parts(rule(*steps), text, [cut] if cut else []) == textbook(text, list(steps))[0]
    if not rule(*steps).sees_ends:
        assert in_parts(rule(*steps), text, []) == b"".join(applied(rule(*steps), [text[:cut], text[cut:]]))


@pytest.mark.parametrize("steps", EVERY, ids=[*map(str, RULES), *range(len(OF_MODELS))])
def test_every_cut_changes_nothing(steps: tuple[Step, ...]) -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    for size in (3, 40):
        text = some_text(rng, size)
        cuts = sorted({rule(*steps).cut(array(text), at) for at in range(len(text) + 1)} - {0})
        ref = textbook(text, list(steps))[0]
        for chosen in (cuts, *([cut] for cut in cuts)):
            assert in_parts(rule(*steps), text, chosen) == ref


@pytest.mark.parametrize(
    "of",
    [
        *sorted(NAMED.keys() - {"strip"}),
        SentencePiece(),
        SentencePiece(MAPS[0]),
        SentencePiece(MAPS[0], user_symbols=("<mask>",)),
    ],
    ids=lambda of: of if isinstance(of, str) else "sentencepiece",
)
def test_cuts_are_found_in_ordinary_text(of: str | SentencePiece) -> None:
    known = normalizer(of)
    text = array("It is a naïve Café, нет? 한국어 中文. ".encode() * 3)
    cuts = {known.cut(text, at) for at in range(len(text) + 1)}
    assert len(cuts) > 60


PARTS = 20


@pytest.mark.rotating(3 * PARTS)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", NAMED)
def test_all_code_points_in_order_and_shuffled(name: str, part: int) -> None:
    print(f"seed {SEED}")
    shuffled = np.random.default_rng(SEED).permutation(scalars()).tolist()
    known = normalizer(name)
    size = -(-len(shuffled) // PARTS)
    for codes in (scalars(), shuffled):
        text = "".join(map(chr, codes[part * size : (part + 1) * size]))
        assert known.normalize(text) == reference.normalize(text, NAMED[name], PINNED)[0]


@pytest.mark.parametrize("name", NAMED)
def test_code_points_of_the_first_blocks(name: str) -> None:
    for first in range(0, 0x3400, 0x1000):
        text = "".join(map(chr, range(first, min(first + 0x1000, 0x3400))))
        assert normalizer(name).normalize(text) == reference.normalize(text, NAMED[name], PINNED)[0]


@pytest.mark.sweep
@pytest.mark.parametrize("steps", RULES, ids=str)
def test_all_code_points_with_their_places(steps: tuple[Step, ...]) -> None:
    codes = scalars()
    for start in range(0, len(codes), 50_000):
        check("".join(map(chr, codes[start : start + 50_000])).encode(), *steps)


@pytest.mark.rotating(2)
@pytest.mark.parametrize(
    "char", ["a", "A", "y", "é", "\u0301", "\u200b", "中", "각", "😀", " ", "▁", "…", "\0", "\udcff"]
)
@pytest.mark.parametrize(
    "step",
    [
        *(Bert(), Form("NFC"), Form("NFKD"), Replace("a", "b" * 60), Strip(), *SENTENCEPIECES[:2]),
        SentencePiece(MAPS[0], False, False),
    ],
    ids=lambda step: str(step)[:30],
)
def test_runs_of_all_lengths(char: str, step: Step) -> None:
    for size in (1, 2, 21, 22, 31, 32, 33, 63, 64, 65, 66, 67, 128, 129, 1500, 5000):
        run = to_bytes(char) * size
        for data in (run, b"x" + run, run + b"x", run + b"\xe4\xb8"):
            check(data, step)


@pytest.mark.rotating(5)
@pytest.mark.parametrize("steps", [(Bert(),), (Form("NFC"),), (Form("NFD"),), *OF_MODELS[:2]], ids=range(5))
def test_every_alignment_of_the_end_of_a_text(steps: tuple[Step, ...]) -> None:
    tails = ("", " ", "A", "ab", "中文", "  中文", "…", "e\u0323\u0301")
    texts = [f"{'b' * n}{first}{tail}"[: n + 9] for n in range(140) for first in "É " for tail in tails]
    data = [text.encode()[:stop] for text in texts for stop in (None, -1)]
    assert applied(rule(*steps), data) == [textbook(text, list(steps))[0] for text in data]


def test_many_marks_in_reverse_order() -> None:
    for name in ("NFD", "NFC"):
        check(("e" + "\u0345\u0301\u0323\u0327\u0334" * 2000).encode(), Form(name))  # type: ignore[arg-type]


def test_blanks_at_the_ends() -> None:
    for blank in BLANKS:
        for text in (blank, f"{blank}a", f"a{blank}", f"{blank} é{blank} {blank}\xff", f"\x80{blank}"):
            for step in (Strip(), Strip(right=False), Strip(left=False), Strip(False, False)):
                check(text.encode("latin-1", "ignore") + text.encode(), step)


def test_no_text_at_all() -> None:
    for steps in EVERY:
        assert applied(rule(*steps), []) == []
        assert applied(rule(*steps), [b"", b"", b""]) == [b"", b"", b""]


def test_a_replacement_that_is_far_longer_than_the_room() -> None:
    step = SentencePiece(write_charsmap({"a": "long " * 2000, "b": ""}))
    for data in (b"a" * 50, b"b" * 50 + b"a", b"xa" * 70):
        check(data, step)
    assert rule(step).growth >= 2000 * 7


def test_texts_that_do_not_begin_where_the_array_does() -> None:
    data = array("é中A".encode() * 40)
    for steps in RULES:
        out, bounds = rule(*steps).apply(data, np.array([6, 12, 12, 60]))
        texts = [data[6:12].tobytes(), b"", data[12:60].tobytes()]
        assert [out[a:b].tobytes() for a, b in itertools.pairwise(bounds)] == applied(rule(*steps), texts)


def test_the_reference_with_the_characters_of_python() -> None:
    text = "Ça VA\u3000각 \x00ﬁ中"
    assert reference.normalize(text, [Bert()]) == reference.normalize(text, [Bert()], PINNED)
    assert reference.normalize(text, [Form("NFKC"), Lowercase()])[0] == "ça va 각 \x00fi中"


RUNS = [r"\s+", " {2,}", "[^a-z]+", "[ é]{3,}", r"(?:\p{L})+", "a++"]
OTHER_PATTERNS = ["a", "a+b", "a{2,3}", "a+?", "ab+", "(ab)+", "a+|b", r"(?<=a)\s+", r"\bx+"]
SHORT_PARTS = [b" ", b"a", b"b", b"x", "é".encode(), "☃".encode(), "😀".encode(), b"\xff", b"\xe2\x98", b"\n"]


@pytest.mark.parametrize("pattern", [*RUNS, *OTHER_PATTERNS])
@given(st.lists(st.sampled_from(SHORT_PARTS), max_size=20).map(b"".join), st.sampled_from(["", "x", "▁▁", " ", "a"]))
def test_matches_of_a_pattern_are_replaced(pattern: str, data: bytes, content: str) -> None:
    check(data, Replace(pattern, content, regex=True))
