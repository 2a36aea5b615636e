"""Joined bytes give the text of every decoder, or nothing: by the kernels and by the built-in function (D1)."""

from __future__ import annotations

import gc
import json
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from decoding import decoder_nodes
from inside import (
    BPEDecoder,
    ByteDecoder,
    ByteFallback,
    Decoder,
    DecoderSequence,
    Fuse,
    Metaspace,
    SentencePieceDecoder,
    SpaceDecoder,
    Vocab,
    WordPieceDecoder,
    available,
    decode_bytes,
    from_decoder,
    joined_of,
)
from inside import (
    decoder_Replace as Replace,
)
from inside import (
    decoder_Strip as Strip,
)
from inside import json_node_Node as Node
from subwords import InputError
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
        ".",
    ),
    *("<0xC3>", "<0xA9>", "<0xE4>", "<0xB8>", "<0xAD>", "<0x41>", "<0xff>", "<0x+F>", "▁<0x41>", "n't", " .", "�"),
]
ids = st.lists(st.integers(0, len(TOKENS) - 1), max_size=12)
pieces = st.builds(
    SentencePieceDecoder,
    unknown=st.sampled_from([frozenset(), frozenset(["<unk>"])]),
    control=st.sampled_from([frozenset(), frozenset(["<s>"]), frozenset(["<s>", "▁a"])]),
    unk_surface=st.sampled_from([" ⁇ ", "", "x"]),
    byte_fallback=st.booleans(),
    drops_first=st.booleans(),
    drops_leading=st.booleans(),
)
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


def check(decoder: Decoder, lists: list[list[int]], hidden: frozenset[int]) -> int:
    """Compare with the decoder run token by token; return for how many lists the bytes were joined."""
    joined = joined_of(decoder, TOKENS)
    if joined is None:
        return 0
    done = 0
    for skip, way in ((False, joined), (True, joined.without(hidden))):
        for each in lists:
            expected = whole_text(decoder, [TOKENS[i] for i in each if TOKENS[i] and not (skip and i in hidden)])
            by_array, by_list = way.of_array(np.array(each, np.int64)), way.fast_path(each)
            assert by_array in (None, expected), (decoder, [TOKENS[i] for i in each])
            assert by_list in (None, by_array)
            assert by_list is not None or not available() or by_array is None or "\ufffd" in by_array
            done += by_array is not None
    return done


@given(st.lists(ids, min_size=1, max_size=6), st.frozensets(st.integers(0, len(TOKENS) - 1), max_size=3), st.data())
def test_any_decoder_joined(lists: list[list[int]], hidden: frozenset[int], drawn: Any) -> None:
    node = drawn.draw(st.one_of(decoder_nodes, pieces, st.sampled_from([*USUAL.values()])))
    check(from_decoder(Node("a.json", "decoder", node)) if isinstance(node, dict) else node, lists, hidden)


@pytest.mark.parametrize("name", USUAL)
def test_usual_decoders_are_joined(name: str) -> None:
    plain = [i for i, token in enumerate(TOKENS) if token.isascii() and not token.startswith("<0x")]
    rng = np.random.default_rng(7)
    lists = [rng.choice(plain, 5).tolist() for _ in range(200)]
    assert check(USUAL[name], lists, frozenset([17])) == 400


def test_bytes_around_a_break_never_join() -> None:
    first, last, control = (TOKENS.index(token) for token in ("<0xC3>", "<0xA9>", "<s>"))
    joined = joined_of(USUAL["pieces"], TOKENS)
    assert joined is not None
    assert joined.of_array(np.array([control, first, last, control])) == "é"
    for way in (joined.of_array, lambda given: joined.fast_path(given.tolist())):
        assert way(np.array([first, control, last])) is None
        assert way(np.array([first, 0, control, control, 0, last])) is None


# ------------------------------------------------------------------ the built-in function


class Own(int):
    pass


ODD = [
    *([1.0], [True], [None], ["a"], [Own(1)], [np.int64(1)], [-1], [99], [2**31], [2**63], [2**70], [-(2**70)], [[1]]),
    *(
        (1,),
        {1},
        {1: 1},
        iter([1]),
        "a",
        b"a",
        None,
        1,
        range(2),
        np.array([1]),
        np.array([[1]]),
        type("L", (list,), {})([1]),
    ),
]


@pytest.mark.skipif(not available(), reason="there are no built-in functions here")
@pytest.mark.parametrize("value", ODD, ids=lambda value: repr(value)[:20])
def test_other_objects_take_the_other_way(value: object) -> None:
    joined = joined_of(None, Vocab([b"a", b"b"]))
    assert joined is not None
    assert joined.fast_path(value) is None
    if type(value) is list:
        assert joined.fast_path([0, 1, *value]) is None
        assert joined.fast_path([0] * 3000 + value) is None
    assert joined.fast_path([0, 1]) == "ab"


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
    assert (
        joined.of_array(np.array(given_ids, np.int64))
        == joined.of_array(np.array(given_ids, np.int64), traced=True)
        == expected
    )
    assert joined.fast_path(given_ids) == (expected if available() and expected.encode() == data else None)


@pytest.mark.skipif(not available() or not hasattr(sys, "getrefcount"), reason="there are no built-in functions here")
def test_nothing_leaks() -> None:
    joined = joined_of(None, Vocab([b"ab", b"\xff", "é".encode() * 30]))
    assert joined is not None
    quick, big = joined.fast_path, 10**6 + 7
    lists: list[Any] = [[0, 2], [1], [0] * 2000, [1] * 2000, [2] * 5000, [big], [2**80], [None], {1}]
    counts = [sys.getrefcount(each) for each in lists]
    gc.collect()  # of other tests
    none = sys.getrefcount(None)
    import tracemalloc

    for each in lists:
        quick(each)
    del each
    tracemalloc.start()
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(2000):
        for each in lists:
            quick(each)
        del each
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 20_000
    assert counts == [sys.getrefcount(each) for each in lists]
    assert abs(sys.getrefcount(None) - none) < 5000  # of 14,000 calls that return it


# ------------------------------------------------------------------ tokenizers


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
