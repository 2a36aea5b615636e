"""Reading and writing a tokenizer.json with a Unigram model, against HF tokenizers."""

from __future__ import annotations

import json
import random
import struct
from typing import Any

import numpy as np
import pytest
import tokenizers

import subwords
from building import read_json as read
from building import write_json as write
from inside import parsed
from subwords import FormatError
from subwords.reference import unigram as reference

PIECES = [["<unk>", 0.0], ["a", -1.5], ["ab", -2.25], ["b", -3], ["▁", -2.5]]


def document(**model: Any) -> bytes:
    return json.dumps({"model": {"type": "Unigram", "unk_id": 0, "vocab": PIECES, **model}}).encode()


def test_a_model_is_read_and_written() -> None:
    tok = read(document(), "a.json")
    assert tok.encode("abba▁") == [2, 3, 1, 4]
    assert tok.encode("axyb") == [1, 0, 3]
    written = json.loads(write(tok))["model"]
    assert written == {
        "type": "Unigram",
        "unk_id": 0,
        "byte_fallback": False,
        "vocab": [[p, float(s)] for p, s in PIECES],
    }
    assert tokenizers.Tokenizer.from_buffer(write(tok)).encode("axyb").ids == [1, 0, 3]


@pytest.mark.parametrize("special", [True, False])
def test_places_of_unknown_ids(special: bool) -> None:
    added = {"id": 0, "content": "<unk>", "special": special, "normalized": False}
    added |= {"single_word": False, "lstrip": False, "rstrip": False}
    document = {"model": {"type": "Unigram", "unk_id": 0, "vocab": [*PIECES, ["字", -3], ["cd", -2]]}}
    data = json.dumps({**document, "added_tokens": [added]}).encode()
    tok, theirs = read(data, "a.json"), tokenizers.Tokenizer.from_buffer(data)
    # "d" begins no piece, and "c" a longer one.
    texts = ["axyb", "xxa☃☃字d", "ddcd", "dcdc", "cda", "ccd", "cx", "xc", "", "<unx", "☃", "字☃▁xé"]
    for text, one in zip(texts, tok(texts), strict=True):
        expected = theirs.encode(text)
        assert one.ids.tolist() == tok(text).ids.tolist() == expected.ids
        assert [*map(tuple, one.spans.tolist())] == [*map(tuple, tok(text).spans.tolist())] == expected.offsets
        assert one.tokens == tok(text).tokens == tuple(text[a:b] for a, b in expected.offsets)


def test_the_last_of_equal_pieces_counts_as_in_hf() -> None:
    data = document(vocab=[*PIECES, ["a", -0.5]])
    assert read(data, "a.json").encode("a") == tokenizers.Tokenizer.from_buffer(data).encode("a").ids == [5]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"vocab": [["a"]]}, r"a\.json: model\.vocab\[0\]: expected a piece and its score, not an array of 1"),
        ({"vocab": [["a", "b"]]}, r"model\.vocab\[0\]: expected a piece and its score"),
        ({"vocab": [["a", True]]}, r"model\.vocab\[0\]: expected a piece and its score"),
        ({"vocab": [["a", float("nan")]]}, r"model\.vocab\[0\]: expected a finite score"),
        ({"vocab": [["a", float("inf")]]}, r"model\.vocab\[0\]: expected a finite score"),
        ({"unk_id": 5}, r"model\.unk_id: expected an integer from 0 to 4"),
        ({"unk_id": None, "byte_fallback": True}, r"a model without an unk token needs all 256"),
        ({"vocab": [["\ud800", 0]]}, r"model\.vocab: expected tokens without lone surrogates"),
    ],
)
def test_what_is_no_model_is_refused(model: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read(document(**model), "a.json")


def test_a_trained_one_is_the_same_to_hf_and_comes_back() -> None:
    texts = ["hug hugs  hugging, unhugged\tbug 字\n", "  ", "naïve ▁x 12"]
    tok = subwords.train(texts * 5, algorithm="unigram", vocab_size=48)
    back, theirs = read(write(tok), "a.json"), tokenizers.Tokenizer.from_buffer(write(tok))
    assert back.normalizer is not None
    assert back.normalizer.name == "sentencepiece"
    for text in [*texts, "", "a\u3000b", "unknown ☃☃ ☃", "hughug"]:
        ids = tok.encode(text)
        assert back.encode(text) == ids == theirs.encode(text, add_special_tokens=False).ids
        assert back.decode(ids) == theirs.decode(ids, skip_special_tokens=False)
        assert subwords.Tokenizer.decode(back, ids).replace("<unk>", " ⁇ ") == tok.decode(ids)


# ------------------------------------------------------------------
# Scores of a tokenizer.json are read as the floats that HF reads


SEED = 23


def read_by_hf(scores: list[float]) -> list[float]:
    """What HF has of scores in a file: it writes the shortest form of each."""
    vocab = [["<unk>", 0.0], *([f"p{i}", score] for i, score in enumerate(scores))]
    text = json.dumps({"version": "1.0", "model": {"type": "Unigram", "unk_id": 0, "vocab": vocab}})
    written = json.loads(tokenizers.Tokenizer.from_str(text).to_str())["model"]["vocab"]
    return [score for _, score in written[1:]]


def test_any_number_is_read_as_in_hf() -> None:
    print("seed", SEED)
    rng = random.Random(SEED)
    scores = [struct.unpack("d", rng.randbytes(8))[0] for _ in range(5000)]
    scores += [rng.uniform(-20, 0) for _ in range(5000)]
    scores += [np.float32(rng.gauss(-10, 5)).item() for _ in range(5000)]
    scores = [score for score in scores if np.isfinite(score)]
    scores += [0.0, -0.0, 1e22, 1e23, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1e16, 1e-5, 100.0]
    scores += [123456789012345680.0, -8800207069889529.0]
    found = parsed(np.array(scores)).tolist()
    assert found == read_by_hf(scores)
    assert found != scores
    assert [reference.parsed(score) for score in scores if 1e-200 < abs(score) < 1e200] == [
        score for score, before in zip(found, scores, strict=True) if 1e-200 < abs(before) < 1e200
    ]


def test_what_training_gives_stays() -> None:
    scores = -np.arange(0, 4000) / 128
    assert (parsed(scores) == scores).all()
