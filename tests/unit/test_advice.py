"""The cost of a vocabulary, and documents that words are in: the numbers of their definitions (V12, W6)."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

import subwords
from commands import json_of, run
from seeds import seed_of_run
from subwords import InputError, Reading

SEED = seed_of_run()
WORDS = ["low", "lower", "lowest", "new", "newer", "wide", "niedrig", "neu", "weit"]


def texts(number: int, words: list[str] = WORDS) -> list[str]:
    rng = random.Random(SEED)
    return [" ".join(rng.choices(words, k=rng.choice([2, 9, 30]))) + f" {k % 50}" for k in range(number)]


def test_the_cost_of_a_vocabulary() -> None:
    corpus = texts(200)
    plain = subwords.study.sweep(corpus, vocab_sizes=[256, 270, 300])
    assert "FLOPs" not in str(plain)
    assert plain.cheapest is None
    found = subwords.study.sweep(corpus, vocab_sizes=[256, 270, 300], width=64, layer_parameters=10_000)
    for one, same in zip(found.sizes, plain.sizes, strict=True):
        assert one.bytes_per_token == same.bytes_per_token
        assert one.embedding_parameters == one.vocab_size * 64 * 2
        assert one.flops_per_byte is not None
        assert math.isclose(one.flops_per_byte, 2 * (10_000 + one.vocab_size * 64) / one.bytes_per_token)
    assert found.cheapest == min(found.sizes, key=lambda one: one.flops_per_byte or 0)
    tied = subwords.study.sweep(corpus, vocab_sizes=[256], width=64, layer_parameters=10_000, tied=True)
    assert tied.sizes[0].embedding_parameters == 256 * 64
    for options, message in (({"width": 1}, "together"), ({"tied": True}, "tied is for"), ({"width": 0}, "together")):
        with pytest.raises(InputError, match=message):
            subwords.study.sweep(corpus, vocab_sizes=[256], **options)


def test_min_documents_gives_only_tokens_of_as_many_documents() -> None:
    corpus = [*texts(60), *["secret secret secret secret"] * 2]
    tok = subwords.train(corpus, vocab_size=330, min_documents=3)
    assert "secret" in subwords.train(corpus, vocab_size=330).decode([*range(256, 330)])
    for index in range(256, tok.vocab_size):
        token = tok.decode([index])
        assert sum(token in f"{text}" for text in corpus) >= 3
        assert "secr" not in token
    counts = subwords.count(corpus, document_frequencies=True)
    assert subwords.train(counts, vocab_size=330, min_documents=3).merges == tok.merges
    assert {word for word, _ in counts.at_least(documents=3)} == {
        word
        for (word, _), number in zip(counts, counts.documents.tolist(), strict=True)  # type: ignore[union-attr]
        if number >= 3
    }
    with pytest.raises(InputError, match="these counts have no numbers of documents"):
        subwords.train(subwords.count(corpus), vocab_size=330, min_documents=3)
    with pytest.raises(subwords.TrainingError, match="no word is in 1000 documents"):
        subwords.train(corpus, vocab_size=330, min_documents=1000)
    with pytest.raises(InputError, match="leave `memory` out"):
        subwords.count(corpus, document_frequencies=True, memory="1GB")


def test_commands(tmp_path: Path) -> None:
    text, counts, tok = tmp_path / "a.txt", tmp_path / "a.counts", tmp_path / "tok.json"
    text.write_text("\n".join(texts(200)))
    lines = ["--documents", "line"]
    half = json_of("count", text, *lines, "--sample", 0.5, "--sample-seed", 2, "-o", counts)
    assert half["words"] == subwords.count(text, reading=Reading(documents="line", sample=0.5, sample_seed=2)).total
    run("count", text, *lines, "--document-frequencies", "-o", counts)
    for source in ([text, *lines], [counts]):
        run("train", *source, "--vocab-size", 280, "--min-documents", 9, "-o", tok)
        assert (
            subwords.load(tok).merges
            == subwords.train(text, reading=Reading(documents="line"), vocab_size=280, min_documents=9).merges
        )
    workers = ["--workers", 2, "--shard-bytes", 900]
    run("count", text, *lines, "--sample", 0.5, "--sample-seed", 2, *workers, "-q", "-o", tmp_path / "b.counts")
    assert subwords.WordCounts.load(tmp_path / "b.counts").total == half["words"]
    stderr = run("count", text, "--document-frequencies", *workers, "-o", counts, code=2).stderr
    assert "--document-frequencies works in one process" in stderr
    assert (
        "--sample is for text" in run("train", counts, "--sample", 0.5, "--vocab-size", 280, "-o", tok, code=2).stderr
    )
    assert "--sample-seed is for" in run("count", "--add", counts, "--sample-seed", 0, "-o", counts, code=2).stderr
    cost = ["--width", 64, "--layer-parameters", 1000]
    assert "FLOPs per byte" in run("study", "sweep", counts, "--vocab-size", 270, *cost, "--tied").stdout
