"""Decoders give HF's text: of every type, in sequences of any depth, with any model, and of whole files (D1)."""

from __future__ import annotations

import json
import random
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from test_real_files import FILES

import subwords
from building import read_json, write_json
from decoding import decoder_nodes, peer_decode, peer_decoder, token_lists
from inside import ReplaceTokens, SentencePieceDecoder, from_decoder, to_decoder, tokens_to_text
from inside import json_node_Node as Node
from seeds import sweep_seed
from small_data import file_of, is_small
from subwords.machine import decode_tokens

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}


def read_as(value: Any) -> Any:
    return from_decoder(Node("a.json", "decoder", value))


@given(decoder_nodes, st.lists(token_lists, min_size=1, max_size=5))
def test_any_decoder_of_any_tokens(node: Any, lists: list[list[str]]) -> None:
    decoder, peer = read_as(node), peer_decoder(node)
    assert read_as(to_decoder(decoder)) == decoder
    for tokens in lists:
        expected = peer_decode(peer, tokens)
        assert expected is None or decode_tokens(decoder, tokens) == expected, tokens


# ------------------------------------------------------------------ what HF's own tests state, in other words

P = "<pad>"
HELLO = [P, P, *"heell", P, *"looo", P]
WORLD = [P, "|", P, *"wooor", P, P, *"lld", P, P]
BPE = {"type": "BPEDecoder", "suffix": "</w>"}
PIECES = {"type": "WordPiece", "prefix": "##", "cleanup": True}
CTC = {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True}


@pytest.mark.parametrize(
    ("node", "tokens", "text"),
    [
        (CTC, HELLO, "hello"),
        (CTC, HELLO + WORLD, "hello world"),
        (CTC, [*"AA", "|", "|", "<pad>", "|", *"BB"], "A  B"),
        (CTC | {"cleanup": False}, [*"ab", "|", "c"], "ab|c"),
        (CTC | {"pad_token": "_", "word_delimiter_token": "-"}, [*"a_a-b"], "aa b"),
        (BPE, ["My</w>", "na", "me</w>", "is</w>", "Jo", "hn</w>"], "My name is John"),
        (BPE | {"suffix": "_"}, ["My_", "na", "me_", "is_", "Jo", "hn_"], "My name is John"),
        (PIECES, ["My", "na", "##me", "is", "Jo", "##hn", "."], "My name is John."),
        (PIECES | {"prefix": "__", "cleanup": False}, ["My", "na", "__me", "."], "My name ."),
        (PIECES, ["##uelo", "Ara", "##új", "##o"], "##uelo Araújo"),
        (METASPACE, ["▁Hey", "▁friend!"], "Hey friend!"),
        (METASPACE | {"prepend_scheme": "never"}, ["▁Hey", "▁friend!"], " Hey friend!"),
        ({"type": "Strip", "content": "H", "start": 1, "stop": 0}, ["Hey", " friend!", "HHH"], "ey friend!HH"),
        ({"type": "Strip", "content": "y", "start": 0, "stop": 1}, ["Hey", " friend!"], "He friend!"),
        ({"type": "ByteFallback"}, ["Hey", "friend!"], "Heyfriend!"),
        ({"type": "ByteFallback"}, ["<0x61>"], "a"),
        ({"type": "ByteFallback"}, ["<0xE5>"], "�"),
        ({"type": "ByteFallback"}, ["<0xE5>", "<0x8f>"], "��"),
        ({"type": "ByteFallback"}, ["<0xE5>", "<0x8f>", "<0xab>"], "叫"),
        ({"type": "ByteFallback"}, ["<0xE5>", "<0x8f>", "<0xab>", "a"], "叫a"),
        ({"type": "ByteFallback"}, ["<0xE5>", "<0x8f>", "a"], "��a"),
        ({"type": "Replace", "pattern": {"String": "_"}, "content": " "}, ["hello", "_hello"], "hello hello"),
        ({"type": "Fuse"}, ["My", " na", "me"], "My name"),
        (BYTE_LEVEL, ["Ã", "©", "Ġa", "[CLS]", "中"], "é a[CLS]中"),
        ({"type": "Sequence", "decoders": [CTC, METASPACE]}, ["<pad>", "▁", "▁", "<pad>", *"▁H", "H", *"i▁"], " Hi "),
        (
            {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}, METASPACE]},
            ["▁H", "<0xC3>", "<0xA9>", "▁x"],
            "Héx",
        ),
    ],
)  # fmt: skip
def test_facts(node: Any, tokens: list[str], text: str) -> None:
    assert decode_tokens(read_as(node), tokens) == text == peer_decoder(node).decode(tokens)


def test_what_hf_panics_on() -> None:
    """Strip at the end of a token shorter than what is stripped."""
    node = {"type": "Strip", "content": "a", "start": 1, "stop": 2}
    assert peer_decode(peer_decoder(node), ["a", "b"]) is None
    assert decode_tokens(read_as(node), ["", "a", "aa", "aaa", "ba"]) == "b"


def test_strip_at_the_end() -> None:
    """Where HF does not fail: it does for tokens shorter than what is dropped."""
    rng, node = random.Random(19), {"type": "Strip", "content": "a", "start": 1, "stop": 2}
    for _ in range(500):
        tokens = ["".join(rng.choices("ab▁", k=3)) + "bb" + "".join(rng.choices("ab", k=2)) for _ in range(4)]
        assert decode_tokens(read_as(node), tokens) == peer_decoder(node).decode(tokens)


def test_whole_tokens_whatever_is_in_them() -> None:
    """Signs of every dialect stand for themselves, in what is written and in what HF reads."""
    rng = random.Random(19)
    signs = [*"\\.+*?()|[]{}^$#&-~<>/ \n\tab▁é😀", "\\A", "\\z", "(?:", "|)"]
    for _ in range(60):
        tokens = tuple({"".join(rng.choices(signs, k=rng.randint(1, 4))) for _ in range(rng.randint(1, 4))})
        decoder = ReplaceTokens(tokens, rng.choice(["", "é"]))
        assert read_as(to_decoder(decoder)) == decoder
        peer = peer_decoder(to_decoder(decoder))
        for token in [*tokens, *("".join(rng.choices(signs, k=rng.randint(1, 4))) for _ in range(20))]:
            assert decode_tokens(decoder, [token, "x"]) == peer.decode([token, "x"]), (tokens, token)


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


# ------------------------------------------------------------------ with models


def a_file(byte_level: bool, decoder: Any) -> bytes:
    letters = (
        tokens_to_text([bytes([byte]) for byte in range(256)]) if byte_level else [*"▁abé", "<0x41>", "##a", "a</w>"]
    )
    added = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    top: dict[str, Any] = {"version": "1.0", "added_tokens": [{"id": len(letters), "content": "<s>", **added}]}
    if byte_level:
        top["pre_tokenizer"] = BYTE_LEVEL
    model = {"type": "BPE", "vocab": {text: i for i, text in enumerate(letters)}, "merges": []}
    return json.dumps(top | {"decoder": decoder, "model": model}).encode()


@given(st.one_of(st.none(), decoder_nodes), st.booleans(), st.data())
def test_any_decoder_with_models_of_bytes_and_of_characters(node: Any, byte_level: bool, drawn: Any) -> None:
    data = a_file(byte_level, node)
    tok, peer = read_json(data, "a.json"), tokenizers.Tokenizer.from_buffer(data)
    saved = read_json(write_json(tok), "saved.json")
    for _ in range(3):
        ids = drawn.draw(st.lists(st.integers(0, tok.vocab_size - 1), max_size=9))
        for skip in (False, True):
            expected = peer_decode_ids(peer, ids, skip)
            if expected is not None:
                assert tok.decode(ids, skip_special_tokens=skip) == expected
                assert saved.decode(ids, skip_special_tokens=skip) == expected


def peer_decode_ids(peer: tokenizers.Tokenizer, ids: list[int], skip: bool) -> str | None:
    class Decoder:
        def decode(self, given: list[int]) -> str:
            return peer.decode(given, skip_special_tokens=skip)

    return peer_decode(Decoder(), ids)  # type: ignore[arg-type]


def test_a_decoder_decides_whether_a_tokenizer_is_lossless() -> None:
    assert read_json(a_file(True, BYTE_LEVEL), "a.json").lossless is False  # its splitter puts a space before the text
    plain = subwords.train(["ab"], vocab_size=256)
    assert plain.lossless
    assert not plain.with_(decoder=read_as(METASPACE)).lossless


@pytest.mark.rotating(3, always=("small",))
@pytest.mark.parametrize("name", FILES)
def test_random_ids_of_files(data: Path, name: str) -> None:
    path = file_of(data, name)
    tok, peer = subwords.load(path), tokenizers.Tokenizer.from_file(str(path))
    rng = np.random.default_rng(sweep_seed())
    known = np.array([i for i in range(tok.vocab_size) if tok.id_to_token(i) == peer.id_to_token(i) is not None])
    for size in (1, 2, 5, 30, 1000 if is_small(data) else 20_000):
        for _ in range(3):
            ids = rng.choice(known, size)
            for skip in (False, True):
                assert tok.decode(ids, skip_special_tokens=skip) == peer.decode(ids.tolist(), skip_special_tokens=skip)
