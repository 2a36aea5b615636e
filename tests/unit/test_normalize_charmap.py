"""Replacements as arrays do what a dict and str.translate do."""

from __future__ import annotations

import random

import numpy as np
import pytest

from inside import CharMap, chinese, clean, lowercase

SEED = 21
ALPHABET = ["a", "b", "é", "İ", "\u0301", "中", "한", "😀", "\0", "\U0010ffff", "x", " "]


def random_map(rng: random.Random) -> dict[int, str]:
    keys = rng.sample(ALPHABET, rng.randint(0, 6))
    return {ord(key): "".join(rng.choices(ALPHABET, k=rng.choice([0, 0, 1, 1, 2, 5]))) for key in keys}


def test_random_ones_against_dicts() -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    for _ in range(500):
        first, second = random_map(rng), random_map(rng)
        one, two = CharMap.of(first), CharMap.of(second)
        assert dict(one) == first
        assert one.codes.tolist() == sorted(first)
        assert dict(one | two) == first | second
        both = one.then(two)
        assert dict(both) == second | {code: text.translate(second) for code, text in first.items()}
        text = "".join(rng.choices(ALPHABET, k=20))
        assert text.translate(both) == text.translate(first).translate(second)
        assert both.codes.tolist() == sorted(both)
        texts = [both[code] for code in sorted(both)]
        assert both.encode() == "".join(texts).encode()
        assert both.sizes.tolist() == [len(text.encode()) for text in texts]
        members = np.zeros(0x110000, np.bool_)
        members[list(map(ord, "aé😀"))] = True
        assert both.holding(members).tolist() == [not {*"aé😀"}.isdisjoint(text) for text in texts]


def test_rows() -> None:
    got = CharMap.rows(np.array([65, 0x4E2D]), np.array([[32, 65], [32, 0x4E2D]]))
    assert dict(got) == {65: " A", 0x4E2D: " 中"}
    assert dict(CharMap.rows(np.array([1, 2]), np.empty((2, 0), np.int64))) == {1: "", 2: ""}
    assert CharMap.of(got) is got


def test_what_is_not_there_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        CharMap.of({})[65]


def test_those_of_bert() -> None:
    both = clean() | chinese()
    assert (both[ord("\n")], both[0x3000], both[0xFFFD], both[0xE000], both[0], both[0x85]) == (
        " ",
        " ",
        "",
        "",
        "",
        "",
    )
    assert both[ord("中")] == " 中 "
    assert ord(" ") not in both
    assert ord("a") not in both
    assert lowercase().then(both)[ord("İ")] == "i\u0307"
