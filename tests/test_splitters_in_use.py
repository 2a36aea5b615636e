"""Counting, training and encoding by rules of every route (S4, W1)."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import subwords
from engines import splitter
from inside import splitter_NAMED as NAMED
from inside import splitter_Replace as Replace
from inside import training_count as training
from splitting import class_characters, mixture, reference_words
from strategies import contested
from subwords.machine import Prefix, Rule, Split
from subwords.reference import bpe as reference

SEED = 8

LEADING: Rule = (Split(" ", "removed"), Replace(" ", "▁"), Prefix("▁", "first"), Split("▁", "merged_with_next"))
RULES: dict[str, Any] = {
    **{name: name for name in ("gpt2", "cl100k", "o200k", "deepseek-v3", "exaone-moe", "bloom", "gemma")},
    **{
        name: name
        for name in ("deepseek-coder", "falcon", "bert", "whitespace", "metaspace", "t5", "tiny-aya", "chameleon")
    },
    "nothing": None,
    "numbers": r"\d+(?:,\d+)*|\p{L}+|[^\p{L}\d]",
    "regex": r"(?<=\s)\w+|\W",
    "list": ["digits", "gpt2"],
    "file": {"pre_tokenizer": {"type": "Digits", "individual_digits": True}},
    "first": LEADING,
}

named = pytest.mark.parametrize("name", RULES)


@pytest.fixture(scope="module")
def text() -> str:
    """Prose of several scripts, blanks, numbers and what the rules tell apart."""
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    chars = [*class_characters(NAMED["o200k"], rng), *class_characters(NAMED["bert"], rng)]
    chars = [[char for char in of_class if char != "\udcff"] for of_class in chars]
    parts = [mixture(rng, [c for c in chars if c], 300, 40) for _ in range(12)]
    clean = "".join(parts).encode("utf-8", "replace").decode().replace("\0", "")
    assert contested().isdisjoint(clean)
    return (clean + " It's 1,234 o'clock; здравствуй, 文字が 123 여기 <s>x\n\n") * 2


def reference_counts(texts: list[str], rule: Rule) -> dict[bytes, int]:
    return dict(Counter(word for text in texts for word in reference_words(text, rule)[0]))


@pytest.mark.rotating(3)
@named
@pytest.mark.parametrize("threads", [1, 3])
def test_blocks_and_threads_change_no_count(
    name: str, threads: int, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = splitter(RULES[name])
    ref = reference_counts([text], made.rule)
    path = tmp_path / "text"
    path.write_bytes(text.encode())
    for block in (61, 1 << 20) if threads == 1 else (1000,):
        monkeypatch.setattr(training, "BLOCK", block)
        assert list(subwords.count(path, splitter=RULES[name], threads=threads)) == list(ref.items())


@named
def test_special_tokens_are_cut_out(name: str, text: str) -> None:
    made = splitter(RULES[name])
    parts = [part for part in text.split("<s>") if part]
    ref = reference_counts(parts, made.rule)
    assert dict(subwords.count([text], splitter=RULES[name], special_tokens=["<s>"])) == ref


@pytest.mark.rotating(3)
@named
def test_training_and_encoding(name: str, text: str) -> None:
    made = splitter(RULES[name])
    sample = text[-700:]
    tok = subwords.train([sample, sample[:300]], vocab_size=290, splitter=RULES[name])
    vocab, merges = reference.train(reference_counts([sample, sample[:300]], made.rule), 290)
    assert [*tok.merges] == merges
    assert list(tok.model.vocab) == vocab
    ids = {token: number for number, token in enumerate(vocab)}
    texts = [sample, "", sample[200:260], "ò 12345 文字", " a  b", text[:2000]]
    ref = []
    for each in texts:
        words = reference_words(each, made.rule)[0]
        ref.append([ids[token] for word in words for token in reference.encode_word(word, merges)])
        assert tok.encode(each) == ref[-1]
        joined = b"".join(words)
        if name in ("metaspace", "t5", "first"):  # U+2581 comes back as a space, the prefix does not
            joined = joined.replace("\u2581".encode(), b" ").removeprefix(b" ")
        assert tok.decode_bytes(ref[-1]) == joined
    assert tok.encode_batch(texts, threads=2).to_lists() == ref


@pytest.mark.rotating(2)
@pytest.mark.parametrize("name", ["gpt2", "llama3", "bert", "falcon"])
def test_bytes_that_are_no_text(name: str, text: str) -> None:
    tok = subwords.train([text], vocab_size=300, splitter=name)
    data = b"caf\xc3\xa9 \xff\xfe x\xe2\x82 12\xf0\x9f " * 40
    words = reference_words(data.decode("utf-8", "surrogateescape"), NAMED[name])[0]
    assert tok.decode_bytes(tok.encode(data)) == b"".join(words)


@pytest.mark.parametrize("name", ["cl100k", "gpt2", "deepseek-v3", "bert"])
def test_one_splitter_on_many_threads(name: str, text: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    made = splitter(name)
    data = text.encode()
    ref = made.byte_spans(data)
    with ThreadPoolExecutor(4) as pool:
        for got in pool.map(made.byte_spans, [data] * 12):
            assert np.array_equal(got, ref)
