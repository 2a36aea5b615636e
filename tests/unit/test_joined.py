"""Ids of every kind of object give the text of the decoder, and the usual decoders by the quick way (D1)."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from inside import (
    BPEDecoder,
    ByteDecoder,
    ByteFallback,
    DecoderSequence,
    Fuse,
    Metaspace,
    SentencePieceDecoder,
    SpaceDecoder,
    WordPieceDecoder,
    available,
    joined_of,
)
from inside import decoder_Replace as Replace
from inside import decoder_Strip as Strip
from subwords import InputError
from subwords.machine import Vocab, decode_bytes
from whole_decoding import whole_text

TOKENS = [
    *(
        "",
        "▁",
        "▁▁",
        "▁a",
        "a",
        "ab",
        " ",
        "##",
        "##a",
        "a</w>",
        "</w>",
        "é",
        "中",
        "Ġ",
        "Ã",
        "©",
        "ÃĐ",
        "<s>",
        "<unk>",
    ),
    *(".", "<0xC3>", "<0xA9>", "<0xE4>", "<0xB8>", "<0xAD>", "<0x41>", "<0xff>", "<0x+F>", "▁<0x41>", "n't", " .", "�"),
]
USUAL = {
    "bytes": ByteDecoder(),
    "text": ByteDecoder(byte_level=False),
    "wordpiece": WordPieceDecoder(),
    "spaces": SpaceDecoder(),
    "metaspace": Metaspace("▁", "always"),
    "never": Metaspace("▁", "never"),
    "suffix": BPEDecoder("</w>"),
    "llama": DecoderSequence((Replace("▁", " "), ByteFallback(), Fuse(), Strip(" ", 1, 0))),
    "gemma": DecoderSequence((Replace("▁", " "), ByteFallback(), Fuse())),
    "metaspace and bytes": DecoderSequence((Metaspace("▁", "always"), ByteFallback())),
    "clip": DecoderSequence((ByteDecoder(), Replace("</w>", " "), Strip(" ", 0, 1))),
    "pieces": SentencePieceDecoder(byte_fallback=True, control=frozenset(["<s>"])),
}


@pytest.mark.parametrize("name", USUAL)
def test_usual_decoders_have_the_quick_way(name: str) -> None:
    joined = joined_of(USUAL[name], TOKENS)
    assert joined is not None
    plain = [i for i, token in enumerate(TOKENS) if token and token.isascii() and not token.startswith("<0x")]
    expected = whole_text(USUAL[name], [TOKENS[i] for i in plain])
    assert joined.of_array(np.array(plain)) == expected
    assert not available() or joined.fast_path(plain) == expected


@given(
    st.lists(st.one_of(st.binary(max_size=5), st.text(max_size=70).map(str.encode)), min_size=1, max_size=9),
    st.lists(st.integers(-1, 9), max_size=30),
    st.sampled_from([1, 1, 1, 40, 700]),
)
def test_lists_and_arrays_of_any_tokens(tokens: list[bytes], chosen: list[int], times: int) -> None:
    vocab, given_ids = Vocab(tokens), chosen * times
    joined = joined_of(None, vocab)
    assert joined is not None
    if not all(0 <= index < len(tokens) for index in given_ids):
        with pytest.raises(InputError, match="expected ids from 0 to"):
            joined.of_array(np.array(given_ids))
        assert joined.fast_path(given_ids) is None
        return
    data = b"".join(tokens[index] for index in given_ids)
    assert decode_bytes(vocab, given_ids) == data
    expected = data.decode("utf-8", "replace")
    assert joined.of_array(np.array(given_ids, np.int64)) == expected
    assert joined.of_array(np.array(given_ids, np.int64), traced=True) == expected
    assert joined.fast_path(given_ids) == (expected if available() and expected.encode() == data else None)


def test_every_kind_of_ids_gives_the_same_text() -> None:
    tok = subwords.train(["ab abc été 中"] * 3, vocab_size=270, special_tokens=["<s>"])
    ids_of = tok.encode("<s>ab été 中 abc", special="allow")
    for decoder in (None, *USUAL.values()):
        other = tok.with_(decoder=decoder)
        texts = [
            *(other.decode(ids_of), other.decode(tuple(ids_of)), other.decode(iter(ids_of))),
            *(other.decode(np.array(ids_of, kind)) for kind in (np.uint16, np.int32, np.uint32, np.int64, np.uint64)),
            *other.decode_batch([ids_of, np.array(ids_of), tuple(ids_of)]),  # type: ignore[list-item]
        ]
        assert len({*texts}) == 1, json.dumps(texts)
        long = ids_of * 200
        assert other.decode(long) == other.decode(np.array(long, np.uint32))
        hidden = other.decode(ids_of, skip_special_tokens=True)
        assert hidden == other.decode(ids_of[1:]) == other.decode_batch([ids_of], skip_special_tokens=True)[0]


def test_errors_are_those_of_before() -> None:
    tok = subwords.train(["ab ab"], vocab_size=258)
    for skip in (False, True):
        with pytest.raises(InputError, match=r"expected ids from 0 to 257; ids\[1\] is 258"):
            tok.decode([0, 258], skip_special_tokens=skip)
    for odd in ([0, -1], [1.5], [True], "ab", [[1]], 7):
        with pytest.raises(InputError, match="expected"):
            tok.decode(odd)  # type: ignore[arg-type]
        with pytest.raises(InputError, match="expected"):
            tok.decode_batch([[0], odd])  # type: ignore[list-item]
    half = tok.encode("é")[:1]
    assert tok.decode(half) == "�" == tok.decode(half, errors="replace")
    with pytest.raises(InputError, match="not whole characters"):
        tok.decode(half, errors="strict")
    assert tok.decode(half, errors="ignore") == "" and tok.decode(tok.encode("ab"), errors="strict") == "ab"
