"""Rules for whole characters: what a tokenizer learns holds whole ones, or a part of one (B8)."""

from __future__ import annotations

import random

import subwords
from seeds import seed_of_run
from subwords.reference.text import cuts_no_character

SEED = seed_of_run()


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
