"""The ids of a large text do not depend on the number of threads, whatever its characters become (A4, S4)."""

from __future__ import annotations

import io
import random
from pathlib import Path

import numpy as np
import pytest
import sentencepiece as spm

import subwords

PIECES = (
    "و",
    "\ufdfa",
    "a",
    "b ",
    " ",
    "  ",
    "e",
    "\u0301",
    "\ufb01",
    "\u2026",
    "\u3000",
    "\u200b",
    "日",
    "\xad",
    ".\n",
    "▁",
)
FORMS = ("nmt_nfkc", "nfkc_cf", "identity")


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let threads share texts of a few bytes, as they share texts of megabytes."""
    for name in ("engine.batch.THREAD_TEXT",):
        monkeypatch.setattr(f"subwords.{name}", 8)
    monkeypatch.setattr("subwords.kernels.layout.SHORT_TEXT", 0)


def check(tok: subwords.Tokenizer, rng: random.Random, count: int) -> None:
    for _ in range(count):
        text = "".join(rng.choices(rng.sample(PIECES, 5), k=rng.randint(10, 60)))
        whole = tok.encode_to_numpy(text, threads=1)
        for threads in (2, 3, 7):
            assert np.array_equal(tok.encode_to_numpy(text, threads=threads), whole), (ascii(text), threads)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("saved", [False, True])
def test_models_of_sentencepiece(form: str, kind: str, saved: bool, tmp_path: Path, small_parts: None) -> None:
    out, path = io.BytesIO(), tmp_path / "m.model"
    rng = random.Random(form)
    lines = ["".join(rng.choices(PIECES[:-2], k=12)).replace("\n", " ") for _ in range(300)]
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter([*lines, "و\ufdfaو\ufdfaو\ufdfa"] * 2),
        model_writer=out,
        model_type=kind,
        vocab_size=90,
        hard_vocab_limit=False,
        character_coverage=1.0,
        normalization_rule_name=form,
        minloglevel=2,
    )
    path.write_bytes(out.getvalue())
    tok = subwords.load(path)
    if saved:  # HF applies the character map by graphemes
        tok.save(tmp_path / "tok.json")
        tok = subwords.load(tmp_path / "tok.json")
    assert np.array_equal(*(tok.encode_to_numpy("و\ufdfa" * 40, threads=threads) for threads in (1, 5)))
    check(tok, rng, 60)


@pytest.mark.parametrize("normalizer", ["bert-uncased", "nfkc", ["strip", "lowercase"], "sentencepiece"])
@pytest.mark.parametrize("splitter", ["gpt2", "bert", "metaspace", "whitespace"])
def test_normalizers_and_splitters(normalizer: object, splitter: str, small_parts: None) -> None:
    lines = ["".join(random.Random(k).choices(PIECES, k=20)) for k in range(100)]
    tok = subwords.train(lines, vocab_size=280, normalizer=normalizer, splitter=splitter)
    check(tok, random.Random(3), 40)


@pytest.mark.rotating(4)
@pytest.mark.parametrize("char", ["\ufdfa", "\u2026", "\xbd"])
@pytest.mark.parametrize("normalizer", ["nfkc", "nfkd"])
@pytest.mark.parametrize("splitter", ["gpt2", "whitespace"])
def test_characters_that_become_several(char: str, normalizer: str, splitter: str) -> None:
    """U+FDFA becomes four words, the first of which is one with the letter before it."""
    line = f"و{char}"
    tok = subwords.train([line * 3] * 9, vocab_size=290, normalizer=normalizer, splitter=splitter)
    size = -(-(1 << 22) // len(line.encode())) + 9
    three, five = (tok.encode(line * count) for count in (3, 5))
    period = (len(five) - len(three)) // 2
    whole = tok.encode_to_numpy(line * size, threads=1)
    assert len(whole) == len(five) + (size - 5) * period
    assert np.array_equal(tok.encode_to_numpy(line * size, threads=2), whole)
    assert tok.encode_batch([line * size, "x"], threads=2)[0].tolist() == whole.tolist()
