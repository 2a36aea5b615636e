"""The characters that stand for bytes in byte-level BPE."""

from __future__ import annotations

import random

import pytest
from tokenizers import pre_tokenizers

from inside import tokens_from_text, tokens_to_text
from inside import vocab_BYTES as BYTES
from inside import vocab_CHARACTERS as CHARACTERS
from subwords import InputError


def test_map_equals_hf_byte_by_byte() -> None:
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    for character in map(chr, [*range(0x250), 0x800, 0xFFFD, 0x1F600]):
        ref = "".join(piece for piece, _ in level.pre_tokenize_str(character))
        assert tokens_to_text([character.encode()]) == [ref]
    assert set(pre_tokenizers.ByteLevel.alphabet()) == CHARACTERS


def test_bytes_stand_in_the_order_of_their_characters() -> None:
    texts = tokens_to_text([bytes([byte]) for byte in BYTES])
    assert texts == sorted(texts)
    assert sorted(BYTES) == list(range(256))
    assert BYTES[0] == ord("!")


def test_tokens_survive_both_ways_with_empty_ones() -> None:
    seed = 7
    print("seed", seed)
    rng = random.Random(seed)
    tokens = [rng.randbytes(rng.randrange(6)) for _ in range(500)] + [b"", bytes(range(256)), b""]
    got = tokens_to_text(tokens)
    assert list(map(len, got)) == list(map(len, tokens))
    assert tokens_from_text(got) == tokens
    assert tokens_to_text([]) == [] == tokens_from_text([])


@pytest.mark.parametrize("character", [" ", "\n", "\x7f", "\xad", "ń", "中", "\U0010ffff", "\ud800"])
def test_character_outside_the_map_is_named(character: str) -> None:
    with pytest.raises(InputError) as caught:
        tokens_from_text(["ab", "", f"c{character}", "d"])
    assert f"U+{ord(character):04X}" in str(caught.value)
    assert repr(f"c{character}") in str(caught.value)
