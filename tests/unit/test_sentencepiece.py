"""Files of SentencePiece: accepted, refused and damaged ones."""

from __future__ import annotations

import dataclasses
import re
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sentencepiece

import subwords
from building import read_model as read
from building import tokenizer_of
from building import write_model as write
from engines import normalizer, splitter
from inside import Kind, SentencePiece
from inside import formats_sentencepiece_read as model_file
from subwords import AddedToken, FormatError, Tokenizer
from subwords.machine import BPE, PieceType, Rule, Unigram, Vocab, model_class

TEXT = "the lower lowest hug pug, pugs hugging low the the lower\n" * 30
SPECIAL = ["<unk>", "<s>", "</s>"]
WORDS = splitter("▁[^▁]*|[^▁]+")


def message(**trainer: Any) -> Any:
    """A small model; with byte_fallback, with byte pieces."""
    made = model_class()()
    for key, value in ({"model_type": Kind.UNIGRAM} | trainer).items():
        setattr(made.trainer_spec, key, value)
    made.pieces.add(piece=b"<unk>", type=PieceType.UNKNOWN)
    made.pieces.add(piece=b"<s>", type=PieceType.CONTROL)
    for piece in ("▁", "a", "▁a", "b"):
        made.pieces.add(piece=piece.encode(), score=-2)
    if trainer.get("byte_fallback"):
        for byte in range(256):
            made.pieces.add(piece=b"<0x%02X>" % byte, type=PieceType.BYTE)
    return made


def refused_by_peer(data: bytes) -> bool:
    try:
        sentencepiece.SentencePieceProcessor(model_proto=data).encode("a")
    except RuntimeError:
        return True
    return False


def put(field: str, value: Any, at: int = 3) -> Callable[[Any], None]:
    return lambda made: setattr(made.pieces[at], field, value)


def spec(field: str, value: Any, part: str = "trainer_spec") -> Callable[[Any], None]:
    return lambda made: setattr(getattr(made, part), field, value)


def add(piece: bytes, kind: int) -> Callable[[Any], None]:
    return lambda made: made.pieces.add(piece=piece, type=kind)


WRONG: list[tuple[dict[str, Any], Callable[[Any], None], str]] = [
    ({}, put("score", float("nan")), "expected finite scores; piece 3, b'a', has nan"),
    ({}, put("score", float("inf")), "expected finite scores; piece 3, b'a', has inf"),
    ({}, put("score", float("-inf"), 0), "expected finite scores; piece 0"),
    ({}, put("piece", b""), "expected pieces of 1 to 7999 bytes; piece 3 has 0"),
    ({}, put("piece", b"a" * 8000), "expected pieces of 1 to 7999 bytes; piece 3 has 8000"),
    ({}, put("piece", b"a\0b"), "expected pieces without NUL; piece 3"),
    ({}, put("piece", b"\0"), "expected pieces without NUL; piece 3"),
    ({}, put("piece", b"b"), "expected distinct pieces; b'b' is piece 3 and 5"),
    ({}, add(b"<s>", PieceType.CONTROL), "expected distinct pieces; b'<s>' is piece 1 and 6"),
    ({"model_type": Kind.BPE}, add(b"<s>", PieceType.NORMAL), "expected distinct pieces; b'<s>' is piece 1 and 6"),
    ({}, put("type", PieceType.NORMAL, 0), "unknown piece missing: a model without byte_fallback"),
    ({}, add(b"?", PieceType.UNKNOWN), "expected one unknown piece, not two: 0 and 6"),
    ({}, add(b"<0x41>", PieceType.BYTE), "expected byte pieces only with byte_fallback; piece 6 is b'<0x41>'"),
    ({"byte_fallback": True}, put("piece", b"<0x00?>", 6), "byte_fallback needs 256 byte pieces; <0x00> is missing"),
    ({"byte_fallback": True}, add(b"<0x0a>", PieceType.BYTE), "expected byte pieces to be <0x00> to <0xFF>; piece 262"),
    ({}, spec("precompiled_charsmap", b"abc", "normalizer_spec"), "invalid precompiled charsmap: expected 4 bytes"),
    ({}, spec("precompiled_charsmap", b"abc", "denormalizer_spec"), "invalid precompiled charsmap: expected 4 bytes"),
]


@pytest.mark.parametrize(("trainer", "change", "expected"), WRONG, ids=range(len(WRONG)))
def test_what_sentencepiece_refuses(trainer: dict[str, Any], change: Callable[[Any], None], expected: str) -> None:
    made = message(**trainer)
    assert read(made.SerializeToString(), "x").vocab_size == len(made.pieces)
    change(made)
    data = made.SerializeToString()
    with pytest.raises(FormatError, match=f"^a.model: {expected}"):
        read(data, "a.model")
    assert refused_by_peer(data)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (put("piece", b"\xff"), "expected pieces in UTF-8; piece 3 is"),
        (spec("model_type", 7), "expected a model type from 1 to 4 (Unigram, BPE, word, char), not 7"),
        (put("type", 9), "expected piece types from 1 to 6; piece 3 has 9"),
        (put("type", -1), "expected piece types from 1 to 6; piece 3 has -1"),
        (spec("unk_id", -7), "expected unk_id to be an id, or -1 for none, not -7"),
        (put("score", -1e30), "expected scores between -1e+28 and 1e+28, whose sums have room in 32 bits"),
        (spec("pad_id", -2), "expected pad_id to be an id, or -1 for none, not -2"),
    ],
)
def test_what_sentencepiece_lets_pass(change: Callable[[Any], None], expected: str) -> None:
    made = message()
    change(made)
    with pytest.raises(FormatError, match=f"^a.model: {re.escape(expected)}"):
        read(made.SerializeToString(), "a.model")


@pytest.mark.parametrize("data", [b"", b"\0", b"not a model at all", b"\x0a\x7f", struct.pack("<q", -1)])
def test_what_is_no_model(data: bytes) -> None:
    with pytest.raises(FormatError, match=r"^a\.model: (no pieces|truncated, or not a SentencePiece file)"):
        read(data, "a.model")


def test_a_null_piece_beside_byte_pieces_as_some_converters_write_it() -> None:
    made = message(byte_fallback=True)
    add(b"\0", PieceType.NORMAL)(made)
    data = made.SerializeToString()
    peer = sentencepiece.SentencePieceProcessor(model_proto=data)
    assert read(data, "x").encode("a\0b") == peer.encode("a\0b")


def test_a_model_without_an_unknown_piece() -> None:
    made = message(byte_fallback=True)
    del made.pieces[0]
    data = made.SerializeToString()
    peer = sentencepiece.SentencePieceProcessor(model_proto=data)
    assert read(data, "x").encode("a é b") == peer.encode("a é b")


def test_special_tokens_and_what_begins_and_ends_a_text() -> None:
    made = message(bos_piece=b"<s>", eos_piece=b"<end>")
    made.pieces.add(piece=b"<end>", type=PieceType.CONTROL)
    tok = read(made.SerializeToString(), "x")
    assert tok.special_tokens == {"<unk>": 0, "<s>": 1, "<end>": 6}
    assert tok.roles == {"bos": 1, "eos": 6, "unk": 0}
    assert tok.template is None
    assert tok.encode("<s>a", special="allow") == [1, 4]
    assert 1 not in tok.encode("<s>a")
    assert tok.decode([1, 4, 6]) == "a"


def test_a_model_survives_pickling() -> None:
    import pickle

    tok = read(message().SerializeToString(), "x")
    again = pickle.loads(pickle.dumps(tok))
    assert again.encode("a ba") == tok.encode("a ba")
    assert write(again) == write(tok)


# ------------------------------------------------------------------ where text is cut


def patterns(rule: Rule) -> list[str]:
    return [step.pattern for step in rule]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (["▁", "▁a", "b"], ["▁[^▁]*|[^▁]+"]),
        (["▁", "▁▁", "▁▁a"], ["▁+[^▁]*|[^▁]+"]),
        (["▁", "a▁", "b"], ["[^▁]*▁|[^▁]+"]),
        (["▁", "a▁b"], []),
        (["▁a", "b"], []),  # U+2581 by itself is unknown, as its neighbour may be
    ],
)
@pytest.mark.parametrize("kind", [Kind.UNIGRAM, Kind.BPE, Kind.CHAR])
def test_cut_rule(pieces: list[str], expected: list[str], kind: int) -> None:
    types = [PieceType.NORMAL] * len(pieces)
    rule = model_file.cut_rule([piece.encode() for piece in pieces], types, kind, byte_fallback=False)
    assert patterns(rule) == expected


def test_cut_rule_with_user_defined_and_unused_pieces() -> None:
    pieces = ["▁".encode(), b"a", "a▁".encode(), "<x▁y>".encode()]
    types = [PieceType.NORMAL, PieceType.NORMAL, PieceType.UNUSED, PieceType.USER_DEFINED]
    assert patterns(model_file.cut_rule(pieces[:3], types[:3], Kind.UNIGRAM, byte_fallback=False)) == ["▁[^▁]*|[^▁]+"]
    assert patterns(model_file.cut_rule(pieces[:3], types[:3], Kind.BPE, byte_fallback=False)) == ["[^▁]*▁|[^▁]+"]
    assert patterns(model_file.cut_rule(pieces, types, Kind.UNIGRAM, byte_fallback=False)) == []
    assert patterns(model_file.cut_rule(pieces, types, Kind.BPE, byte_fallback=False))[0] == "<x▁y>"
    assert patterns(model_file.cut_rule(["▁a".encode()], [1], Kind.UNIGRAM, byte_fallback=True)) == ["▁[^▁]*|[^▁]+"]
    assert patterns(model_file.cut_rule(["a▁b".encode()], [1], Kind.WORD, byte_fallback=False)) == ["▁[^▁]*|[^▁]+"]


# ------------------------------------------------------------------ written


def bpe_tokenizer(**changes: Any) -> Tokenizer:
    tok = subwords.train(
        [TEXT],
        algorithm="bpe",
        byte_level=False,
        vocab_size=90,
        normalizer="sentencepiece",
        splitter=WORDS,
        special_tokens=SPECIAL,
        unk_token="<unk>",
    )
    assert isinstance(tok.model, BPE)
    model = dataclasses.replace(tok.model, fuse_unk=True, **changes)
    return tokenizer_of(model, tok.splitter, normalizer=tok.normalizer, added_tokens=list(tok.added_tokens))


def unigram_tokenizer(**changes: Any) -> Tokenizer:
    scores = {"<unk>": 0.0, "<s>": 0.0, "▁": -4, "▁a": -2, "a": -3, "b": -3.5, "ab": -3.25, "<x>": 0.0}
    options = {"special_ids": frozenset({0, 1}), "user_ids": frozenset({7}), "running": True} | changes
    vocab = Vocab([piece.encode() for piece in scores])
    model = Unigram(vocab, np.array([*scores.values()], np.float64), 0, **options)
    return tokenizer_of(
        model,
        WORDS,
        normalizer=normalizer(SentencePiece(user_symbols=("<x>",))),
        added_tokens=[AddedToken("<unk>", 0), AddedToken("<s>", 1)],
    )


@pytest.mark.parametrize("make", [bpe_tokenizer, unigram_tokenizer])
def test_others_are_written(make: Callable[[], Tokenizer]) -> None:
    tok = make()
    data = write(tok)
    peer, again = sentencepiece.SentencePieceProcessor(model_proto=data), read(data, "x")
    texts = [
        *TEXT.splitlines()[:3],
        "",
        " ",
        " a  ab <x>b",
        "é hug ü lowest",
        "<s>ab</s>",
        "a\nb\t",
        "▁▁lower▁",
        "hhhuuuggg",
    ]
    for text in texts:
        ref = peer.encode(text)
        assert tok.encode(text) == again.encode(text) == ref
        assert again.decode(ref) == peer.decode(ref)
    assert again.special_tokens == tok.special_tokens
    assert peer.bos_id() == 1


def test_trained_unigram_models_are_written() -> None:
    tok = subwords.train([TEXT], algorithm="unigram", vocab_size=40)
    data = write(tok)
    assert sentencepiece.SentencePieceProcessor(model_proto=data).get_piece_size() == 40
    assert [*read(data, "x").model.vocab] == [*tok.model.vocab]


def changed(tok: Tokenizer, **around: Any) -> Tokenizer:
    options = {"normalizer": tok.normalizer, "added_tokens": list(tok.added_tokens)} | around
    return tokenizer_of(tok.model, options.pop("splitter", tok.splitter), **options)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: subwords.train([TEXT], vocab_size=270), "hold Unigram and character-level BPE models only"),
        (lambda: changed(bpe_tokenizer(), normalizer=normalizer("nfc")), "expected SentencePiece's normalizer or none"),
        (
            lambda: changed(bpe_tokenizer(), splitter=splitter("gpt2")),
            "expected a splitter that SentencePiece can do without",
        ),
        (lambda: changed(unigram_tokenizer(), splitter=splitter("sentencepiece")), "cuts no token: .* cuts b'<x>'"),
        (lambda: bpe_tokenizer(whole_words=True), "unsupported BPE model: a .model file holds only"),
        (
            lambda: changed(unigram_tokenizer(), normalizer=normalizer("sentencepiece")),
            "expected user_symbols of the normalizer to be the user-defined pieces",
        ),
        (
            lambda: changed(unigram_tokenizer(), added_tokens=[AddedToken("ab", 6, special=False)]),
            ".model files hold special added tokens only; 'ab' is not special",
        ),
        (lambda: unigram_tokenizer(byte_fallback=True), "byte_fallback needs 256 byte pieces"),
    ],
    ids=range(8),
)
def test_what_cannot_be_written(make: Callable[[], Tokenizer], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        write(make())


def test_merges_that_sentencepiece_would_not_take() -> None:
    """It joins any two pieces to a third, by whatever merge that came."""
    tokens = [b"<unk>", b"a", b"b", b"c", b"bc", b"ab", b"abc"]
    merges = np.array([[2, 3, 4], [1, 2, 5], [5, 3, 6]])
    from subwords.machine import BPE

    model = BPE(Vocab(tokens), merges, byte_level=False, unk_id=0, fuse_unk=True, special_ids=frozenset({0}))
    tok = tokenizer_of(model, splitter(()), added_tokens=[AddedToken("<unk>", 0)])
    assert tok.tokenize("abc") == ["a", "bc"]
    with pytest.raises(FormatError, match="they segment b'abc' differently"):
        write(tok)


def test_without_protobuf_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    model_class.cache_clear()
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    try:
        monkeypatch.setitem(sys.modules, "google.protobuf.message", None)
        for path in ("a.model", "a.spm"):
            with pytest.raises(FormatError, match=r'pip install .*\[files\]"'):
                read(b"", path)
    finally:
        model_class.cache_clear()
