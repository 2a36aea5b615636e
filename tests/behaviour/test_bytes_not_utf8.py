"""Bytes that are not UTF-8: split as around any character without a class (S2), where tiktoken stops splitting."""

from __future__ import annotations

import base64
import random
from pathlib import Path

import pytest
import tiktoken

import subwords

PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
RANKS = {
    token: i for i, token in enumerate([*(bytes([byte]) for byte in range(256)), b"'s", b"\n\n", b"sa", b"ab", b" a"])
}


@pytest.fixture
def tok(tmp_path: Path) -> subwords.Tokenizer:
    path = tmp_path / "small.tiktoken"
    path.write_bytes(b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in RANKS.items()))
    return subwords.load(path, splitter="gpt2")


def test_words_are_those_around_a_character_without_a_class(tok: subwords.Tokenizer) -> None:
    peer = tiktoken.Encoding("small", pat_str=PATTERN, mergeable_ranks=RANKS, special_tokens={})
    rng, other = random.Random(1), 0
    for _ in range(300):
        text = "".join(rng.choices(["a", "b", " ", "'s", "\n", "\udcff", "\udce3\udc81", "1", "é"], k=8))
        data = text.encode("utf-8", "surrogateescape")
        # U+FFFD is neither letter, digit nor whitespace, and neither is a byte that is part of no character.
        lone = "".join("\ufffd" if "\udc80" <= char <= "\udcff" else char for char in text)
        bad = [bytes([ord(char) - 0xDC00]) for char in text if "\udc80" <= char <= "\udcff"]
        expected = peer.encode(lone)
        mark = [*"\ufffd".encode()]
        for byte in bad:  # the three ids of U+FFFD, which no token holds, for each of these bytes
            at = next(k for k in range(len(expected)) if expected[k : k + 3] == mark)
            expected[at : at + 3] = [*byte]
        assert tok.encode(data) == expected
        assert tok.decode_bytes(tok.encode(data)) == data
        if not bad:
            assert peer._encode_bytes(data) == tok.encode(data)
        other += peer._encode_bytes(data) != tok.encode(data)
    assert other
    assert peer._encode_bytes(b"\xff'sa") != tok.encode(b"\xff'sa") == [255, ord("'"), RANKS[b"sa"]]


def test_the_door_splits_bytes_as_tiktoken_does(tok: subwords.Tokenizer) -> None:
    peer = tiktoken.Encoding("small", pat_str=PATTERN, mergeable_ranks=RANKS, special_tokens={})
    rng, ours = random.Random(2), tok.as_tiktoken()
    for _ in range(300):
        text = "".join(rng.choices(["a", "b", " ", "'s", "\n", "\t", "\udcff", "\udce3\udc81", "1", "é"], k=8))
        data = text.encode("utf-8", "surrogateescape")
        assert ours._encode_bytes(data) == peer._encode_bytes(data), data
    assert ours._encode_bytes(b"a\n\n\xff'sa") == [ord("a"), RANKS[b"\n\n"], 255, RANKS[b"'s"], ord("a")]
