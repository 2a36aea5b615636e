"""Rules for whole characters: classes of bytes say what the textbook says, for all tokens that can arise (B8)."""

from __future__ import annotations

import random
from itertools import product

import numpy as np

import subwords
from inside import character_rules
from inside import kernels_layout as layout
from seeds import seed_of_run
from subwords.reference.text import cuts_no_character

SEED = seed_of_run()
BYTES = [bytes([byte]) for byte in range(256)]


def test_classes_say_what_the_textbook_says() -> None:
    rng = random.Random(SEED)
    characters = [chr(code).encode() for code in (0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF)]
    characters += [
        chr(rng.choice([rng.randrange(0xD800), rng.randrange(0xE000, 0x110000)])).encode() for _ in range(20)
    ]
    parts = {text[:k] for text in characters for k in range(1, len(text) + 1)}
    tokens = [*BYTES, *sorted(parts), b"", b"ab", "aé文".encode(), b"a\xc3", b"\x80\x80", b"\xe0\x80", b"\xf4\x90"]
    rules = character_rules(tokens)
    kinds = int(len(rules.joined) ** 0.5)
    allowed = rules.joined.reshape(kinds, kinds)[np.ix_(rules.classes, rules.classes)] != layout.APART
    for (i, left), (j, right) in product(enumerate(tokens), enumerate(tokens)):
        assert allowed[i, j] == cuts_no_character(left, right), (left, right)
    assert rules.lengths.tolist() == [*map(len, tokens)]


def test_tokens_are_whole_characters_or_a_part_of_one() -> None:
    rng = random.Random(SEED)
    text = "".join(rng.choices("aé文😀 क्षि", k=20_000))
    plain, whole = (subwords.train([text], vocab_size=700, whole_characters=on) for on in (False, True))
    assert any(_cuts(token) for token in plain.model.vocab)
    assert not any(_cuts(token) for token in whole.model.vocab)
    assert whole.decode(whole.encode(text)) == text


def _cuts(token: bytes) -> bool:
    """Whether a token has a part of a character, and more than that."""
    if cuts_no_character(token, b"a"):
        return False  # whole characters
    return len(token) > 1 and not cuts_no_character(token[:-1], token[-1:])
