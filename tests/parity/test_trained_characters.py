"""Character-level BPE trained here and saved as .model: SentencePiece gives the same ids and the same text."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tokenizers

import subwords
from peer_trained import lines
from subwords import InputError, Tokenizer

OPTIONS: dict[str, dict[str, Any]] = {
    "fused": {"fuse_unk": True},
    "bytes": {"byte_fallback": True},
    "both": {"fuse_unk": True, "byte_fallback": True},
}
WAYS = [("sentencepiece", "sentencepiece"), ("sentencepiece", None), (None, "sentencepiece"), (None, None)]


def trained(
    splitter: str | None = "sentencepiece", normalizer: str | None = "sentencepiece", **given: Any
) -> Tokenizer:
    options = {"special_tokens": ["<unk>", "<s>", "</s>"], "unk_token": "<unk>", "vocab_size": 600, **given}
    return subwords.train(
        lines(), byte_level=False, splitter=splitter, normalizer=normalizer, progress=False, **options
    )


def texts(seed: int) -> list[str]:
    rng = random.Random(seed)
    pool = "".join(lines()) + "☃é中 ▁😀  \t\n\u2003" * 50
    return ["", " ", "▁", *("".join(rng.choices(pool, k=rng.randint(1, 24))) for _ in range(300))]


@pytest.mark.parametrize(("splitter", "normalizer"), WAYS)
@pytest.mark.parametrize("kind", OPTIONS)
def test_sentencepiece_gives_the_same(kind: str, splitter: str | None, normalizer: str | None, tmp_path: Path) -> None:
    tok = trained(splitter, normalizer, **OPTIONS[kind])
    assert tok.vocab_size == 600
    tok.save(tmp_path / "x.model")
    peer = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "x.model"))
    again = subwords.load(tmp_path / "x.model")
    for text in texts(1):
        ids = peer.encode(text)
        assert tok.encode(text) == ids == again.encode(text), text
        if normalizer:
            assert tok.decode(ids) == peer.decode(ids) == again.decode(ids), text


@pytest.mark.parametrize("kind", OPTIONS)
def test_tokenizers_gives_the_same(kind: str, tmp_path: Path) -> None:
    tok = trained(**OPTIONS[kind])
    tok.save(tmp_path / "x.json")
    peer = tokenizers.Tokenizer.from_file(str(tmp_path / "x.json"))
    for text in texts(2):
        assert tok.encode(text) == peer.encode(text).ids, text
        assert tok.decode(tok.encode(text)) == peer.decode(peer.encode(text).ids, skip_special_tokens=False), text


def test_bytes_stand_behind_the_special_tokens() -> None:
    tok = trained(byte_fallback=True)
    assert [tok.model.vocab[i] for i in (2, 3, 258)] == [b"</s>", b"<0x00>", b"<0xFF>"]
    assert tok.decode(tok.encode("☃")) == "☃"
    alone = trained(byte_fallback=True, unk_token=None, special_tokens=[])
    assert alone.decode(alone.encode("☃ so")) == "☃ so"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"byte_level": True, "fuse_unk": True}, "fuse_unk needs byte_level=False"),
        ({"byte_fallback": True}, "byte_fallback needs byte_level=False"),
        ({"byte_level": False, "fuse_unk": True}, "fuse_unk needs unk_token"),
        ({"byte_level": False, "byte_fallback": 1}, "byte_fallback"),
        ({"algorithm": "wordpiece", "fuse_unk": True}, "`fuse_unk` is for bpe"),
        ({"algorithm": "wordpiece", "byte_fallback": True}, "`byte_fallback` is for bpe, unigram and mingram"),
    ],
)
def test_options_that_do_not_apply(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        subwords.train(["ab ab"], vocab_size=300, **options)


def test_too_few_tokens_for_the_bytes() -> None:
    with pytest.raises(subwords.TrainingError, match="vocab_size 200 is too small"):
        trained(byte_fallback=True, vocab_size=200)
