"""Each step of a decoder, alone and in sequences, against HF tokenizers."""

from __future__ import annotations

import json
import random
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import decoders, models

from inside import (
    Decoder,
    ReplaceTokens,
    SentencePieceDecoder,
    decode_tokens,
    from_decoder,
    to_decoder,
)
from inside import (
    decoder_Replace as Replace,
)
from inside import (
    decoder_Strip as Strip,
)
from inside import json_node_Node as Node
from small_data import file_of

SEED = 19
LLAMA = {
    "type": "Sequence",
    "decoders": [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    ],
}
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
NODES: list[dict[str, Any]] = [
    LLAMA,
    METASPACE,
    METASPACE | {"prepend_scheme": "never"},
    METASPACE | {"prepend_scheme": "first", "split": False, "replacement": "a"},
    {"type": "ByteFallback"},
    {"type": "Strip", "content": "a", "start": 2, "stop": 0},
    {"type": "Strip", "content": "▁", "start": 0, "stop": 0},
    {"type": "Replace", "pattern": {"String": "ab"}, "content": "é"},
    {"type": "Replace", "pattern": {"Regex": "a+|▁"}, "content": "-"},
    {"type": "Replace", "pattern": {"Regex": "b*"}, "content": "."},
    {"type": "Replace", "pattern": {"Regex": r"\A(?:ab|▁|<0x41>)\z"}, "content": "é"},
    {"type": "Replace", "pattern": {"Regex": r"\A(?:a.|b+)\z"}, "content": "é"},
    {
        "type": "Sequence",
        "decoders": [METASPACE, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 9, "stop": 0}],
    },
    {"type": "Sequence", "decoders": [{"type": "Sequence", "decoders": [{"type": "ByteFallback"}, METASPACE]}, LLAMA]},
    {"type": "Sequence", "decoders": []},
]
PARTS = [
    "▁",
    "▁",
    "a",
    "b",
    "ab",
    " ",
    "é",
    "中",
    "<0xE4>",
    "<0xB8>",
    "<0xAD>",
    "<0x41>",
    "<0xff>",
    "<0xFG>",
    "<0x+F>",
    "<0x4",
]


def read_as(value: Any) -> Decoder:
    return from_decoder(Node("a.json", "decoder", value))


def peer_of(value: Any) -> Any:
    top = json.loads(tokenizers.Tokenizer(models.BPE()).to_str())
    return tokenizers.Tokenizer.from_str(json.dumps(top | {"decoder": value})).decoder


def random_tokens(rng: random.Random) -> list[str]:
    wholes = [part for part in PARTS if part.startswith("<")]
    return [
        rng.choice(wholes) if rng.random() < 0.4 else "".join(rng.choices(PARTS, k=rng.randrange(4)))
        for _ in range(rng.randrange(9))
    ]


@pytest.mark.parametrize("value", NODES, ids=range(len(NODES)))
def test_tokens_are_decoded_as_in_hf(value: dict[str, Any]) -> None:
    print("seed", SEED)
    rng = random.Random(SEED)
    ref, got = peer_of(value), read_as(value)
    for _ in range(2000):
        tokens = random_tokens(rng)
        assert decode_tokens(got, tokens) == ref.decode(tokens), tokens


def test_strip_at_the_end_as_in_hf() -> None:
    """Where HF does not fail: it does for tokens shorter than what is dropped."""
    print("seed", SEED)
    rng = random.Random(SEED)
    ref, got = decoders.Strip("a", 1, 2), Strip("a", 1, 2)
    for _ in range(500):
        tokens = ["".join(rng.choices("ab▁", k=3)) + "bb" + "".join(rng.choices("ab", k=2)) for _ in range(4)]
        assert decode_tokens(got, tokens) == ref.decode(tokens)
    assert decode_tokens(got, ["", "a", "aa", "aaa"]) == ""


@pytest.mark.parametrize("value", NODES, ids=range(len(NODES)))
def test_decoders_are_written_as_hf_writes_them(value: dict[str, Any]) -> None:
    if value["type"] == "Sequence" and len(value["decoders"]) == 1:
        value = value["decoders"][0]
    top = json.loads(tokenizers.Tokenizer(models.BPE()).to_str())
    written = tokenizers.Tokenizer.from_str(json.dumps(top | {"decoder": value})).to_str()
    assert to_decoder(read_as(value)) == json.loads(written)["decoder"]


def test_whole_tokens_whatever_is_in_them() -> None:
    """Signs of every dialect stand for themselves, in what is written and in what HF reads."""
    print("seed", SEED)
    rng = random.Random(SEED)
    signs = [*"\\.+*?()|[]{}^$#&-~<>/ \n\tab▁é😀", "\\A", "\\z", "(?:", "|)"]
    for _ in range(60):
        tokens = tuple({"".join(rng.choices(signs, k=rng.randint(1, 4))) for _ in range(rng.randint(1, 4))})
        decoder = ReplaceTokens(tokens, rng.choice(["", "é"]))
        node = to_decoder(decoder)
        assert read_as(node) == decoder
        peer = peer_of(node)
        for token in [*tokens, *("".join(rng.choices(signs, k=rng.randint(1, 4))) for _ in range(20))]:
            assert decode_tokens(decoder, [token, "x"]) == peer.decode([token, "x"]), (tokens, token)
    assert isinstance(read_as({"type": "Replace", "pattern": {"Regex": r"\A(?:a.)\z"}, "content": ""}), Replace)


def test_sentencepiece_as_steps() -> None:
    """Whatever comes first: several U+2581, unknown pieces, control pieces."""
    print("seed", SEED)
    rng = random.Random(SEED)
    for byte_fallback, first, leading, surface in product([False, True], [False, True], [False, True], [" ⁇ ", "?"]):
        names = frozenset(["<unk>"]), frozenset(["<s>", "</s>"])
        decoder = SentencePieceDecoder(*names, surface, byte_fallback, drops_first=first, drops_leading=leading)
        peer = peer_of(to_decoder(decoder))
        for _ in range(200):
            tokens = rng.choices(["▁b", "c", "▁", "é", "中", "<0x41>", "<unk>", "<s>"], k=rng.randrange(7))
            assert decode_tokens(decoder, tokens) == peer.decode(tokens)


@pytest.mark.parametrize("name", ["t5/tokenizer.json", "phi-3/tokenizer.json"])
def test_real_files(data: Path, name: str) -> None:
    print("seed", SEED)
    rng = random.Random(SEED)
    text = file_of(data, name).read_text(encoding="utf-8")
    value = json.loads(text)["decoder"]
    peer = tokenizers.Tokenizer.from_str(text)
    got = read_as(value)
    assert to_decoder(got) == json.loads(peer.to_str())["decoder"]
    vocab = list(peer.get_vocab())
    for _ in range(2000):
        tokens = rng.choices(vocab, k=rng.randrange(10)) + random_tokens(rng)
        assert decode_tokens(got, tokens) == peer.decoder.decode(tokens)
