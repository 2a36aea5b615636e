"""Decoders: texts of tokens and of vocabularies are those of HF. What is read and written: parity/test_decoders.py."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from tokenizers import decoders

import subwords
from decoding import peer_decoder
from inside import Decoder, ReplaceTokens, SentencePieceDecoder, WordPieceDecoder, from_decoder, to_decoder
from inside import decoder_Replace as Replace
from inside import decoder_Strip as Strip
from inside import json_node_Node as Node
from small_data import file_of
from subwords.machine import decode_tokens


def read_as(value: Any) -> Decoder:
    return from_decoder(Node("a.json", "decoder", value))


def test_cleanup_stays_within_a_token() -> None:
    decoder = WordPieceDecoder()
    assert decode_tokens(decoder, ["it", "'", "s", "do", "not", ",", "."]) == "it ' s do not,."
    assert decode_tokens(decoder, ["a", "do not", "n't", "'s"]) == "a don'tn't's"
    assert decode_tokens(decoder, [" .", "##", "##a ."]) == ".a."


def test_vocabulary_of_bert_is_decoded_as_in_hf(data: Path) -> None:
    vocab, path = (file_of(data, f"bert/bert-base-uncased-{file}") for file in ("vocab.txt", "tokenizer.json"))
    tok = subwords.load(vocab).with_(decoder=WordPieceDecoder())
    ref = tokenizers.Tokenizer.from_file(str(path))
    rng = np.random.default_rng(5)
    for ids in (np.arange(tok.vocab_size), rng.permutation(tok.vocab_size), rng.integers(0, tok.vocab_size, 100_000)):
        for skip in (False, True):
            assert tok.decode(ids, skip_special_tokens=skip) == ref.decode(ids.tolist(), skip_special_tokens=skip)


def test_strip_at_the_end_as_in_hf() -> None:
    """Where HF does not fail: it does for tokens shorter than what is dropped."""
    rng = random.Random(19)
    ref, got = decoders.Strip("a", 1, 2), Strip("a", 1, 2)
    for _ in range(500):
        tokens = ["".join(rng.choices("ab▁", k=3)) + "bb" + "".join(rng.choices("ab", k=2)) for _ in range(4)]
        assert decode_tokens(got, tokens) == ref.decode(tokens)
    assert decode_tokens(got, ["", "a", "aa", "aaa"]) == ""


def test_whole_tokens_whatever_is_in_them() -> None:
    """Signs of every dialect stand for themselves, in what is written and in what HF reads."""
    rng = random.Random(19)
    signs = [*"\\.+*?()|[]{}^$#&-~<>/ \n\tab▁é😀", "\\A", "\\z", "(?:", "|)"]
    for _ in range(60):
        tokens = tuple({"".join(rng.choices(signs, k=rng.randint(1, 4))) for _ in range(rng.randint(1, 4))})
        decoder = ReplaceTokens(tokens, rng.choice(["", "é"]))
        node = to_decoder(decoder)
        assert read_as(node) == decoder
        peer = peer_decoder(node)
        for token in [*tokens, *("".join(rng.choices(signs, k=rng.randint(1, 4))) for _ in range(20))]:
            assert decode_tokens(decoder, [token, "x"]) == peer.decode([token, "x"]), (tokens, token)
    assert isinstance(read_as({"type": "Replace", "pattern": {"Regex": r"\A(?:a.)\z"}, "content": ""}), Replace)


def test_sentencepiece_as_steps() -> None:
    """Whatever comes first: several U+2581, unknown pieces, control pieces."""
    rng = random.Random(19)
    for byte_fallback, first, leading, surface in product([False, True], [False, True], [False, True], [" ⁇ ", "?"]):
        names = frozenset(["<unk>"]), frozenset(["<s>", "</s>"])
        decoder = SentencePieceDecoder(*names, surface, byte_fallback, drops_first=first, drops_leading=leading)
        peer = peer_decoder(to_decoder(decoder))
        for _ in range(200):
            tokens = rng.choices(["▁b", "c", "▁", "é", "中", "<0x41>", "<unk>", "<s>"], k=rng.randrange(7))
            assert decode_tokens(decoder, tokens) == peer.decode(tokens)
