"""A .model saved as tokenizer.json: HF, and this package again, give SentencePiece's ids and text."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tokenizers

from building import read_json, write_json
from building import read_model as read
from inside import Kind
from small_data import file_of
from subwords.machine import PieceType, model_class

SEED = 41
MODELS = (
    "t5/spiece.model",
    "marian-en-mg/source.spm",
    "marian-en-mg/target.spm",
    "mistral/tokenizer.model.v1",
    "sentencepiece-own/test_model.model",
    "sentencepiece-own/test_ja_model.model",
)
TEXTS = ("hello world", "  x  y ", "☃ é", "", " ", "▁", "a▁", "☃☃ a ☃", "\U00012345 q", "a\tb", "a\nb", "☃")


def check(data: bytes, texts: list[str]) -> None:
    tok, peer = read(data, "x.model"), sentencepiece.SentencePieceProcessor(model_proto=data)
    written = write_json(tok)
    back, theirs = read_json(written, "x.json"), tokenizers.Tokenizer.from_buffer(written)
    assert write_json(back) == written
    for text in texts:
        ids = peer.encode(text)
        assert back.encode(text) == theirs.encode(text, add_special_tokens=False).ids == ids, text
        ref = peer.decode(ids)
        assert tok.decode(ids) == back.decode(ids) == theirs.decode(ids, skip_special_tokens=False) == ref, text
    special = [*tok.special_tokens.values()]
    for ids in ([*special, *peer.encode("a"), *special], [special[0], *peer.encode("the low")], special):
        assert back.decode(ids) == theirs.decode(ids, skip_special_tokens=False) == peer.decode(ids), ids


def lines(data: Path) -> Iterator[str]:
    for path in sorted((data / "corpora").glob("*.txt")):
        with path.open("rb") as stream:
            yield from stream.read(4000).decode("utf-8", "ignore").split("\n")[:6]


@pytest.mark.rotating(3, always=("small",))
@pytest.mark.parametrize("name", MODELS)
def test_real_models(data: Path, name: str) -> None:
    check(file_of(data, name).read_bytes(), [*TEXTS, *lines(data)])


def small_model(
    kind: int, rng: random.Random, *, byte_fallback: bool, prefix: bool, strips: bool, surface: Any
) -> bytes:
    message = model_class()()
    message.trainer_spec.model_type, message.trainer_spec.byte_fallback = kind, byte_fallback
    message.normalizer_spec.add_dummy_prefix, message.normalizer_spec.remove_extra_whitespaces = prefix, strips
    if surface is not None:
        message.trainer_spec.unk_surface = surface
    message.pieces.add(piece=b"<unk>", type=PieceType.UNKNOWN)
    for piece in ("<s>", "</s>", "[x|.y]"):
        message.pieces.add(piece=piece.encode(), type=PieceType.CONTROL)
    # Each with a score of its own: tokenizer.json has merges in order.
    words = [*"▁ablowerth", "lo", "▁lo", "low", "▁low", "er", "th", "▁th", "▁the"]
    for piece, score in zip(words, rng.sample(range(1, 99), len(words)), strict=True):
        message.pieces.add(piece=piece.encode(), score=-score / 8)
    for byte in range(256 if byte_fallback else 0):
        message.pieces.add(piece=b"<0x%02X>" % byte, type=PieceType.BYTE)
    data: bytes = message.SerializeToString()
    return data


@pytest.mark.parametrize("kind", [Kind.UNIGRAM, Kind.BPE])
@pytest.mark.parametrize("surface", [None, b"?", "▁⁇".encode()])
def test_small_models(kind: int, surface: bytes | None) -> None:
    print("seed", SEED)
    rng = random.Random(SEED)
    parts = ["a", "b", "low", "lower", " ", "  ", "the ", "☃", "é", "\n", "x"]
    texts = [*TEXTS, *("".join(rng.choices(parts, k=rng.randrange(9))) for _ in range(15))]
    for byte_fallback, prefix, strips in product([False, True], repeat=3):
        check(small_model(kind, rng, byte_fallback=byte_fallback, prefix=prefix, strips=strips, surface=surface), texts)
