"""Decoders of a tokenizer.json, against HF tokenizers."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from tokenizers import decoders

import subwords
from building import with_decoder
from inside import (
    CTC,
    ByteDecoder,
    Decoder,
    SpaceDecoder,
    WordPieceDecoder,
    decode_tokens,
    from_decoder,
    to_decoder,
    tokens_to_text,
)
from inside import json_node_Node as Node
from small_data import file_of
from subwords import AddedToken, InputError

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
PARTS = [*".?!,' #\u3000x", "n't", "'m", "do not", "'s", "'ve", "'re", " do not", "##", " ' ", "", "é", " n't", "▁"]


def read_as(value: Any) -> Decoder:
    return from_decoder(Node("a.json", "decoder", value))


def random_tokens(rng: random.Random) -> list[str]:
    return ["".join(rng.choices(PARTS, k=rng.randint(0, 4))) for _ in range(rng.randint(0, 8))]


@pytest.mark.parametrize("cleanup", [False, True])
@pytest.mark.parametrize("prefix", ["##", "", " ", "'", "▁"])
def test_wordpiece_decodes_tokens_as_hf(prefix: str, cleanup: bool) -> None:
    seed = 11
    print("seed", seed)
    rng = random.Random(seed)
    ref, got = decoders.WordPiece(prefix, cleanup), WordPieceDecoder(prefix, cleanup)
    for _ in range(1000):
        tokens = random_tokens(rng)
        assert decode_tokens(got, tokens) == ref.decode(tokens), tokens


def test_cleanup_stays_within_a_token() -> None:
    decoder = WordPieceDecoder()
    assert decode_tokens(decoder, ["it", "'", "s", "do", "not", ",", "."]) == "it ' s do not,."
    assert decode_tokens(decoder, ["a", "do not", "n't", "'s"]) == "a don'tn't's"
    assert decode_tokens(decoder, [" .", "##", "##a ."]) == ".a."


@pytest.mark.parametrize("byte_level", [False, True])
def test_bytes_are_decoded_as_in_hf(byte_level: bool) -> None:
    seed = 12
    print("seed", seed)
    rng = random.Random(seed)
    ref, got = decoders.ByteLevel() if byte_level else decoders.Fuse(), ByteDecoder(byte_level)
    texts = [*tokens_to_text([bytes([byte]) for byte in range(256)]), *PARTS, "中", "Ġ中", "<s>"]
    for _ in range(1000):
        tokens = rng.choices(texts, k=rng.randint(0, 8))
        assert decode_tokens(got, tokens) == ref.decode(tokens), tokens


def peer(tokens: list[str], decoder: Any, special: list[str]) -> tokenizers.Tokenizer:
    model = {"type": "WordLevel", "vocab": {token: i for i, token in enumerate(tokens) if token}, "unk_token": "x"}
    tok = tokenizers.Tokenizer.from_str(json.dumps({"version": "1.0", "model": model, "decoder": decoder}))
    tok.add_special_tokens(special)
    return tok


@pytest.mark.parametrize("decoder", [WordPieceDecoder(), WordPieceDecoder("#", cleanup=False), SpaceDecoder()])
def test_ids_are_decoded_as_in_hf(decoder: Decoder) -> None:
    seed = 13
    print("seed", seed)
    rng = random.Random(seed)
    tokens = ["[CLS]", *PARTS, "", "##n't", "# .", "[SEP]", "##."]
    tokens = list(dict.fromkeys(tokens))  # of which one is "": an id without a token
    added = [AddedToken(token, tokens.index(token)) for token in ("[CLS]", "[SEP]")]
    tok, _ = with_decoder(decoder, tokens, added_tokens=added)
    ref = peer(tokens, to_decoder(decoder), ["[CLS]", "[SEP]"])
    for _ in range(1000):
        ids = rng.choices(range(len(tokens)), k=rng.randint(0, 8))
        for skip in (False, True):
            expected = ref.decode(ids, skip_special_tokens=skip)
            assert tok.decode(ids, skip_special_tokens=skip) == expected, ids


def test_vocabulary_of_bert_is_decoded_as_in_hf(data: Path) -> None:
    vocab, path = (file_of(data, f"bert/bert-base-uncased-{file}") for file in ("vocab.txt", "tokenizer.json"))
    tok = subwords.load(vocab).with_(decoder=WordPieceDecoder())
    ref = tokenizers.Tokenizer.from_file(str(path))
    rng = np.random.default_rng(5)
    for ids in (np.arange(tok.vocab_size), rng.permutation(tok.vocab_size), rng.integers(0, tok.vocab_size, 100_000)):
        for skip in (False, True):
            assert tok.decode(ids, skip_special_tokens=skip) == ref.decode(ids.tolist(), skip_special_tokens=skip)


@pytest.mark.parametrize("ids", [[0, 2], [0, -1], [1, 2**40]])
def test_id_that_is_none_is_named_with_its_position(ids: list[int]) -> None:
    with pytest.raises(InputError, match=rf"^expected ids from 0 to 1; ids\[1\] is {ids[1]}$"):
        with_decoder(CTC(), ["a", "?"])[0].decode(ids)
