"""SentencePiece's .spm.fb: made by its own converter, read here with the ids of the .model, written byte for byte."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

import subwords
from small_data import file_of
from subwords import FormatError

sentencepiece = pytest.importorskip("sentencepiece")

MODELS = ("t5/spiece.model", "albert/spiece.model", "mistral/tokenizer.model.v1", "sentencepiece-own/test_model.model")


def flat(model: Path) -> bytes:
    return bytes(sentencepiece.convert_to_flatbuffer(model_file=str(model)))


@pytest.mark.parametrize("name", MODELS)
def test_a_model_as_flatbuffer(name: str, data: Path, tmp_path: Path) -> None:
    model = file_of(data, name)
    (tmp_path / "a.spm.fb").write_bytes(flat(model))
    ours, tok = subwords.load(tmp_path / "a.spm.fb"), subwords.load(model)
    corpus = (data / "corpora" / "multilingual.txt").read_text("utf-8")[:9000]
    texts = ["", " Hello  wörld\n", "<s> x </s>", "中文 ﬁ Ａ 🙂\u0000", corpus]
    for text in texts:
        ids = tok.encode(text)
        assert ours.encode(text) == ids
        assert ours.decode(ids) == tok.decode(ids)
        assert ours(text).spans.tolist() == tok(text).spans.tolist()
    assert (ours.roles, ours.special_tokens, ours.vocab_size) == (tok.roles, tok.special_tokens, tok.vocab_size)
    for one in (ours, tok):
        one.save(tmp_path / "b.spm.fb")
        assert (tmp_path / "b.spm.fb").read_bytes() == (tmp_path / "a.spm.fb").read_bytes()
    ours.save(tmp_path / "b.model")
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "b.model"))
    assert [theirs.encode(text) for text in texts] == [tok.encode(text) for text in texts]


def test_a_folder_with_nothing_else(small_data: Path, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.spm.fb").write_bytes(flat(file_of(small_data, "t5/spiece.model")))
    assert subwords.load(tmp_path) == subwords.load(tmp_path / "tokenizer.spm.fb")


def test_what_it_cannot_hold_is_refused(tmp_path: Path) -> None:
    words = subwords.train(["low lower"], algorithm="wordlevel", vocab_size=3)
    for tok in (subwords.train(["low lower"], vocab_size=260), words):
        with pytest.raises(FormatError):
            tok.save(tmp_path / "a.spm.fb")
        assert not (tmp_path / "a.spm.fb").exists()


def test_damage_is_an_error(small_data: Path, tmp_path: Path) -> None:
    good, path = flat(file_of(small_data, "t5/spiece.model")), tmp_path / "a.spm.fb"
    for bad in (b"", b"\x00", good[:1000], struct.pack("<I", 2**31) + good[4:], bytes(64), b"\xff" * 4096):
        path.write_bytes(bad)
        with pytest.raises(FormatError, match=r"a\.spm\.fb: "):
            subwords.load(path)
