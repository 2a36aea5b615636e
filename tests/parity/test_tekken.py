"""tekken.json: ids and text of Mistral's library, and files that come back byte for byte."""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path
from typing import Any

import pytest

import subwords
from subwords import FormatError, Tokenizer

HOW = "pip install --no-deps mistral-common && pip install --group mistral"  # it would bring an older NumPy
mistral = pytest.importorskip("mistral_common.tokens.tokenizers.tekken", reason=HOW)
FILES = sorted((Path(mistral.__file__).parents[2] / "data").glob("tekken*.json"))
TEXTS = ["", "Hello  wörld!\n\n\n 1234 中文 हिन्दी 🙂", "don't <s>[INST] x [/INST]</s> HTTPServer's\r\n\t ", "a" * 3000]


def small() -> dict[str, Any]:
    """A file of 300 tokens and 24 special tokens, four of them without a name."""
    trained = subwords.train(["low lower lowest, naïve café <s>"] * 9, vocab_size=300, splitter="tekken")
    tokens = [*(bytes([byte]) for byte in range(256)), *(token for token in trained.vocab if len(token) > 1)]
    vocab = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": shown(token)}
        for rank, token in enumerate(tokens)
    ]
    config = {
        "pattern": subwords.splitter("tekken").rule[0].pattern,  # type: ignore[union-attr]
        "num_vocab_tokens": len(vocab),
        "default_vocab_size": 24 + len(vocab) - 10,
        "default_num_special_tokens": 24,
        "version": "v3",
    }
    return {"config": config, "vocab": vocab}


def shown(token: bytes) -> str | None:
    try:
        return token.decode()
    except UnicodeDecodeError:
        return None


def written(place: Path, fields: dict[str, Any]) -> Path:
    place.write_text(json.dumps(fields), "utf-8")
    return place


def check(theirs: Any, ours: Tokenizer, texts: list[str]) -> None:
    assert ours.vocab_size == theirs.n_words
    for text in texts:
        ids = ours.encode(text)
        assert ids == theirs.encode(text, False, False), text
        assert ours.decode(ids) == theirs.decode(ids) == text
    for role in ("bos", "eos", "pad", "unk"):
        assert ours.roles[role] == getattr(theirs, f"{role}_id")
    assert [*ours.special_tokens.values()] == sorted(theirs.special_ids)
    assert all(theirs.get_special_token(text) == index for text, index in ours.special_tokens.items())


@pytest.mark.rotating(2)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_mistral_s_own_files(path: Path, data: Path, tmp_path: Path) -> None:
    ours = subwords.load(path)
    corpus = (data / "corpora" / "multilingual.txt").read_text("utf-8")[:100_000]
    check(mistral.Tekkenizer.from_file(path), ours, [*TEXTS, corpus])
    ours.save(tmp_path / "tekken.json")
    assert (tmp_path / "tekken.json").read_bytes() == path.read_bytes()


def test_a_small_file(tmp_path: Path) -> None:
    path = written(tmp_path / "tekken_small.json", small())
    ours = subwords.load(path)
    rng = random.Random(5)
    texts = ["".join(rng.choices("low erst,é<>s\n 1", k=rng.randrange(40))) for _ in range(300)]
    check(mistral.Tekkenizer.from_file(path), ours, [*TEXTS, *texts])
    assert [*ours.special_tokens][20:] == [f"<SPECIAL_{index}>" for index in range(20, 24)]
    ours.save(tmp_path / "tekken.json")
    assert json.loads((tmp_path / "tekken.json").read_text("utf-8")) == small()
    ours.save(tmp_path / "tokenizer.json")
    assert (
        subwords.load(tmp_path / "tokenizer.json").encode_batch(texts).to_lists() == ours.encode_batch(texts).to_lists()
    )
    (tmp_path / "tokenizer.json").unlink()
    assert subwords.load(tmp_path).spec == ours.spec  # the folder


def test_special_tokens_of_the_file(tmp_path: Path) -> None:
    named = [{"rank": 0, "token_str": "<unk>", "is_control": True}, {"rank": 1, "token_str": "<s>", "is_control": True}]
    named += [
        {"rank": 2, "token_str": "</s>", "is_control": True},
        {"rank": 3, "token_str": "<pad>", "is_control": False},
    ]
    fields = small() | {"special_tokens": named, "image": {"image_patch_size": 16, "max_image_size": 1024}}
    path = written(tmp_path / "tekken_small.json", fields)
    ours = subwords.load(path)
    check(mistral.Tekkenizer.from_file(path), ours, TEXTS)
    ours.save(tmp_path / "tekken.json")
    assert json.loads((tmp_path / "tekken.json").read_text("utf-8")) == fields


def test_what_a_tekken_cannot_hold_is_refused(tmp_path: Path) -> None:
    text = ["low lower lowest"] * 9
    last = subwords.train(text, vocab_size=280, splitter="tekken").with_tokens(["<s>"])
    steps = subwords.train(text, vocab_size=280, splitter="deepseek-v3", special_tokens=["<s>"])
    lower = subwords.train(text, vocab_size=280, normalizer="lowercase", special_tokens=["<s>"])
    order = subwords.train(text, vocab_size=280, splitter="tekken", special_tokens=["<s>"])
    for tok, said in ((order, "bytes in order"), (last, "first"), (steps, "one pattern"), (lower, "normalizer")):
        with pytest.raises(FormatError, match=said):
            tok.save(tmp_path / "tekken.json")
        assert not (tmp_path / "tekken.json").exists()


CHANGES: dict[str, tuple[Any, str]] = {
    "size": (lambda f: f["config"].update(default_vocab_size=9999), "default_vocab_size: expected at most"),
    "count": (lambda f: f["config"].update(default_num_special_tokens=-1), "default_num_special_tokens: expected"),
    "few": (lambda f: f["config"].update(default_num_special_tokens=3), "special_tokens: expected at most 3"),
    "pattern": (lambda f: f["config"].update(pattern="(a"), "config.pattern: expected a supported pattern"),
    "rank": (lambda f: f["vocab"][7].update(rank=9), "vocab[7].rank: expected 7, its place"),
    "bytes": (lambda f: f["vocab"][257].update(token_bytes="*"), "vocab[257].token_bytes: expected bytes in base64"),
    "byte": (lambda f: f["vocab"][7].update(token_bytes="CA=="), "vocab[7].token_bytes: expected the byte 7"),
    "empty": (lambda f: f["vocab"][257].update(token_bytes=""), "vocab[257].token_bytes: expected a token"),
    "twice": (lambda f: f["vocab"][257].update(f["vocab"][258] | {"rank": 257}), "vocab: expected distinct tokens"),
    "special": (lambda f: f.update(special_tokens=[{"rank": 1, "token_str": "<s>"}]), "rank: expected 0, its place"),
    "names": (
        lambda f: f.update(special_tokens=[{"rank": 0, "token_str": "<s>"}, {"rank": 1, "token_str": "<s>"}]),
        'expected distinct special tokens, not "<s>" twice',
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_damaged_file_is_an_error_with_its_place(change: str, tmp_path: Path) -> None:
    fields = small()
    make, said = CHANGES[change]
    make(fields)
    with pytest.raises(FormatError) as caught:
        subwords.load(written(tmp_path / "tekken.json", fields))
    assert said in str(caught.value)
    assert "tekken.json: " in str(caught.value)
