"""`tok.as_sentencepiece()` and SentencePiece's own processor: one test body for both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import subwords
from shapes import TEXTS, check_same
from small_data import file_of
from subwords import FormatError

sentencepiece = pytest.importorskip("sentencepiece")

FILES = ("t5/spiece.model", "albert/spiece.model", "mistral/tokenizer.model.v1")


@pytest.fixture(scope="module", params=FILES)
def pair(request: pytest.FixtureRequest, data: Path) -> tuple[Any, Any]:
    path = file_of(data, request.param)
    return sentencepiece.SentencePieceProcessor(model_file=str(path)), subwords.load(path).as_sentencepiece()


OPTIONS: list[dict[str, Any]] = [
    *({"out_type": kind} for kind in (int, str, bytes, "numpy", "offset_mapping", float, "proto_", None)),
    *({"return_type": kind} for kind in (int, str)),
    {"out_type": int, "return_type": int},
    *({"out_type": kind, "emit_unk_piece": True} for kind in (int, str, bytes, "offset_mapping")),
    *({"reverse": True, "out_type": kind} for kind in (int, str)),
    *({"add_bos": True, "out_type": kind} for kind in (int, str)),
    *({"add_eos": True, "out_type": kind} for kind in (int, str, bytes, "numpy")),
    *({"add_bos": True, "add_eos": True, "reverse": True, "out_type": kind} for kind in (int, str)),
    {"enable_sampling": True, "nbest_size": 1},
]


@pytest.mark.rotating(4)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_encode(options: dict[str, Any], pair: tuple[Any, Any]) -> None:
    for text in TEXTS:
        check_same(lambda sp, text=text: sp.encode(text, **options), *pair)
    check_same(lambda sp: sp.Encode(TEXTS, **options), *pair)
    check_same(lambda sp: sp.encode([], **options), *pair)


def everything(sp: Any) -> list[int]:
    return [*range(len(sp))]


CALLS: list[Callable[[Any], Any]] = [
    *(lambda sp, text=text: sp.encode(text) for text in (None, 5, ("a",), ["a", 5], b"a \xc3\xa9", "a\ud800")),
    lambda sp: [sp.EncodeAsIds("ab c"), sp.encode_as_ids(["a", "b"], add_eos=False), sp.EncodeAsPieces("ab c")],
    lambda sp: [
        sp.encode_as_pieces(["ab"]),
        sp.EncodeAsNumpy("ab"),
        sp.encode_as_offset_mapping("ab"),
        sp.tokenize("a"),
    ],
    lambda sp: [sp.get_piece_size(), sp.GetPieceSize(), sp.vocab_size(), sp.piece_size(), len(sp)],
    lambda sp: [sp.unk_id(), sp.bos_id(), sp.eos_id(), sp.pad_id()],
    lambda sp: sp.id_to_piece(everything(sp)),
    lambda sp: sp.piece_to_id(sp.IdToPiece(everything(sp))),
    lambda sp: sp.get_score(everything(sp)),
    lambda sp: [sp.is_unknown(everything(sp)), sp.is_control(everything(sp)), sp.IsUnused(everything(sp))],
    lambda sp: [sp.is_byte(everything(sp)), sp.IsByte(0), sp.IsUnknown(2), sp.IsControl(1), sp.GetScore(9)],
    lambda sp: [sp.piece_to_id(["▁the", "no such piece"]), sp["▁the"], sp.PieceToId(b"a"), sp["no such piece"]],
    *(lambda sp, id=id: sp.id_to_piece(id) for id in (5, -1, 10**6, "a", [5, 10**6], 1.5, (5, 6), np.array([5, 6]))),
    *(lambda sp, id=id: sp.get_score(id) for id in (10**6, -1, "a")),
    *(lambda sp, id=id: sp.is_byte(id) for id in (10**6, -1, "a")),
    *(lambda sp, piece=piece: sp.piece_to_id(piece) for piece in (5, None)),
    *(
        lambda sp, ids=ids: sp.decode(ids)
        for ids in (
            *([5, 6], 5, [[5], [6, 7]], [], "", None, (5, 6), np.array([5, 6]), [0, 1, 2], [2, 5, 1, 9], [[], [5]]),
            *(["▁He", "zz"], "▁He", [["▁He"], ["x"]], [[], ["a"]], ["<unk>", "</s>", "▁a"], [b"a", b"b"]),
            *([10**6], [-1], [1.5], 1.5),
        )
    ),
    *(lambda sp, kind=kind: sp.decode([5, 9], out_type=kind) for kind in (str, bytes, int, float)),
    lambda sp: sp.decode([[5], [9]], out_type=bytes),
    lambda sp: [sp.DecodeIds([5, 9]), sp.decode_pieces(["▁a"]), sp.Decode([5]), sp.detokenize([5])],
    lambda sp: sp.decode(sp.encode(TEXTS)),
    lambda sp: sp.decode(sp.encode(TEXTS, out_type=str)),
    lambda sp: [sp.normalize(TEXTS), sp.Normalize("Ａ  b")],
    lambda sp: sp.sample_encode_as_ids("Hello", nbest_size=0),
    lambda sp: sp.nbest_encode_as_ids("Hello you", nbest_size=1),
    lambda sp: sp.nbest_encode_as_pieces("hello", nbest_size=3),
    lambda sp: sp.NBestEncode(["Hello", "you"], nbest_size=2, add_eos=False, reverse=True),
    lambda sp: sp.nbest_encode("Hello", nbest_size=2, out_type=float),
]


@pytest.mark.rotating(4)
@pytest.mark.parametrize("number", range(len(CALLS)))
def test_same_calls(number: int, pair: tuple[Any, Any]) -> None:
    check_same(CALLS[number], *pair)


def test_samples_are_segmentations(data: Path) -> None:
    path = file_of(data, "t5/spiece.model")
    theirs, ours = sentencepiece.SentencePieceProcessor(model_file=str(path)), subwords.load(path).as_sentencepiece()
    drawn = {tuple(ours.sample_encode_as_ids("Hello you", -1, 0.1)) for _ in range(30)}
    assert len(drawn) > 1
    assert {theirs.decode(list(ids)) for ids in drawn} == {theirs.decode(theirs.encode("Hello you"))}
    best = {tuple(ids) for ids in theirs.nbest_encode_as_ids("Hello you", nbest_size=3)}
    assert {tuple(ours.encode("Hello you", enable_sampling=True, nbest_size=3, alpha=0.1)) for _ in range(30)} <= best
    assert isinstance(ours.SampleEncodeAsPieces("Hello you")[0], str)


def test_arrays_are_read_only_as_those_of_sentencepiece(data: Path) -> None:
    path = file_of(data, "t5/spiece.model")
    theirs, ours = sentencepiece.SentencePieceProcessor(model_file=str(path)), subwords.load(path).as_sentencepiece()
    for sp in (theirs, ours):
        arrays = [sp.encode_as_numpy("Hello you"), *sp.encode(["Hello", "you"], out_type="numpy")]
        arrays += [*sp.nbest_encode_as_numpy("Hello you", nbest_size=2), sp.SampleEncodeAsNumpy("Hello you")]
        for array in arrays:
            assert array.dtype == np.int32
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0
    pairs = zip(*(sp.NBestEncodeAsNumpy(["Hello you"], nbest_size=2)[0] for sp in (theirs, ours)), strict=True)
    assert all(np.array_equal(*pair) for pair in pairs)
    ids = ours.sample_encode_as_numpy("Hello you", nbest_size=-1, alpha=0.1)
    assert theirs.decode(ids) == "Hello you"


def test_a_trained_tokenizer_is_the_processor_of_its_file(tmp_path: Path) -> None:
    tok = subwords.train(["low lower lowest é"] * 9, algorithm="unigram", vocab_size=20)
    tok.save(tmp_path / "a.model")
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "a.model"))
    ours = tok.as_sentencepiece()
    assert ours.serialized_model_proto() == (tmp_path / "a.model").read_bytes()
    for options in OPTIONS[:4]:
        check_same(lambda sp, options=options: sp.encode(TEXTS, **options), theirs, ours)
    check_same(
        lambda sp: [sp.unk_id(), sp.bos_id(), sp.eos_id(), sp.pad_id(), sp.get_score(everything(sp))], theirs, ours
    )


def test_the_surface_is_that_of_sentencepiece(pair: tuple[Any, Any]) -> None:
    absent = ("proto", "load", "parallel", "from_file")
    names = {name for name in dir(sentencepiece.SentencePieceProcessor) if name[0] != "_"}
    lacking = names - {name for name in dir(type(pair[1])) if name[0] != "_"}
    assert [name for name in lacking if name.islower() and not any(part in name for part in absent)] == []


def test_other_tokenizers_are_refused() -> None:
    with pytest.raises(FormatError, match="Unigram and character-level BPE"):
        subwords.train(["ab ab"], vocab_size=257).as_sentencepiece()
