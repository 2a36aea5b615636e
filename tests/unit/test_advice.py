"""stability, allocation and the cost of a vocabulary: the numbers of their definitions (V11, V12, V13, W6)."""

from __future__ import annotations

import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import subwords
from commands import json_of, run
from seeds import seed_of_run
from subwords import InputError, Reading
from subwords.reference.text import is_kept

SEED = seed_of_run()
WORDS = ["low", "lower", "lowest", "new", "newer", "wide", "niedrig", "neu", "weit"]


def texts(number: int, words: list[str] = WORDS) -> list[str]:
    rng = random.Random(SEED)
    return [" ".join(rng.choices(words, k=rng.choice([2, 9, 30]))) + f" {k % 50}" for k in range(number)]


def test_stability_is_that_of_its_samples() -> None:
    corpus = texts(300)
    options: dict[str, Any] = {"vocab_size": 280, "special_tokens": ["<s>"]}
    found = subwords.study.stability(corpus, shares=[1, 0.2, 0.5], seed=3, threads=2, **options)
    assert [one.share for one in found.samples] == [0.2, 0.5, 1]
    toks = [
        subwords.train([text for text in corpus if is_kept(text.encode(), share, 3)], **options)
        for share in (0.2, 0.5, 1)
    ]
    uses = [Counter(tok.model.vocab[index] for text in corpus for index in tok.encode(text)) for tok in toks]
    size = sum(map(len, corpus))
    for one, tok, use in zip(found.samples, toks, uses, strict=True):
        sample = [text for text in corpus if is_kept(text.encode(), one.share, 3)]
        counts = subwords.count(sample)
        assert (one.bytes, one.distinct_words) == (sum(map(len, sample)), len(counts))
        tokens, largest = ({*t.model.vocab} for t in (tok, toks[-1]))
        assert one.common == len(tokens & largest) / len(largest)
        every = use.keys() | uses[-1].keys()
        least = sum(min(use[token], uses[-1][token]) for token in every)
        assert math.isclose(one.overlap, least / sum(max(use[token], uses[-1][token]) for token in every))
        assert math.isclose(one.bytes_per_token, size / use.total())
    assert found.samples[-1].common == found.samples[-1].overlap == 1
    assert found.enough(0.999) == found.samples[0]
    best = max(one.bytes_per_token for one in found.samples)
    assert found.enough(0).bytes_per_token >= min(best, found.samples[-1].bytes_per_token)


@pytest.mark.parametrize("algorithm", ["wordpiece", "unigram", "wordlevel"])
def test_stability_of_other_algorithms(algorithm: str) -> None:
    found = subwords.study.stability(
        texts(200), vocab_size=40, shares=[0.5, 1], algorithm=algorithm, held_out=["low new " * 9], min_documents=2
    )
    assert 0 < found.samples[0].common <= 1
    assert found.samples[0].bytes < found.samples[1].bytes


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (iter(["a"]), {}, "not an iterator: pass a list or files"),
        (subwords.count(["a"]), {}, "word counts have no documents"),
        (["a"], {"shares": []}, "expected one or more shares"),
        (["a"], {"shares": [0]}, "expected sample as a share of documents above 0, not 0"),
        (["a"], {"shares": [2]}, "expected sample to be a number from 0 to 1, not 2"),
        (["a"], {"seed": -1}, "seed"),
        (["a"], {"shares": [2**-50]}, "no text to count: the sample has no document"),
        (["a"], {"prefix": "##"}, "`prefix` is for wordpiece"),
    ],
)
def test_what_stability_refuses(source: Any, options: Any, message: str) -> None:
    with pytest.raises(subwords.SubwordsError, match=message):
        subwords.study.stability(source, vocab_size=258, **options)
    with pytest.raises(InputError, match="expected loss as a share"):
        subwords.study.stability(texts(9), vocab_size=258, shares=[1]).enough(2)


def test_allocation_is_its_definition() -> None:
    groups = {"en": texts(90, WORDS[:6]), "de": texts(50, [*WORDS[6:], "new"]), "no": ["1 2 3"]}
    tok = subwords.train([*groups["en"], *groups["de"]], vocab_size=290)
    found = subwords.study.allocation(tok, {**groups, "de": subwords.count(groups["de"])})
    uses = {name: Counter(k for text in part for k in tok.encode(text)) for name, part in groups.items()}
    shares = {name: {k: n / use.total() for k, n in use.items()} for name, use in uses.items()}
    assert found.vocabulary == tok.vocab_size
    assert found.unused == tok.vocab_size - len({k for use in uses.values() for k in use})
    for one in found.groups:
        mine, use = shares[one.name], uses[one.name]
        others = [share for name, share in shares.items() if name != one.name]
        assert (one.tokens, one.used) == (use.total(), len(use))
        assert one.bytes == sum(map(len, groups[one.name]))
        assert one.only == sum(not any(k in other for other in others) for k in use)
        assert one.most == sum(all(mine[k] > other.get(k, 0) for other in others) for k in use)
        assert one.share == one.most / tok.vocab_size
        ranked = sorted(mine.values(), reverse=True)
        assert math.isclose(one.average_rank, sum(rank * p for rank, p in enumerate(ranked, 1)))

        def entropy(p: dict[int, float]) -> float:
            return -sum(x * math.log2(x) for x in p.values() if x)

        def divergence(p: dict[int, float], q: dict[int, float]) -> float:
            middle = {k: (p.get(k, 0) + q.get(k, 0)) / 2 for k in p.keys() | q.keys()}
            return entropy(middle) - (entropy(p) + entropy(q)) / 2

        assert one.divergence is not None
        assert math.isclose(one.divergence, sum(divergence(mine, other) for other in others) / 2, abs_tol=1e-9)


def test_allocation_of_one_group_and_of_unknown_characters() -> None:
    tok = subwords.train(["abc abd"] * 3, vocab_size=8, byte_level=False, unk_token="<unk>", special_tokens=["<unk>"])
    found = subwords.study.allocation(tok, {"x": ["abc xyz"]})
    assert found.groups[0].divergence is None
    assert found.groups[0].tokens == len(tok.encode("abc xyz"))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({}, "expected groups as a dict"),
        (["a"], "expected groups as a dict"),
        ({"x": subwords.count(["a"], splitter="cl100k")}, "group 'x': expected counts made with"),
    ],
)
def test_what_allocation_refuses(groups: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        subwords.study.allocation(subwords.train(["a b"], vocab_size=258), groups)


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
    found = json_of(
        "study", "stability", text, *lines, "--vocab-size", 280, "--share", 0.5, "--share", 1, "--held-out", counts
    )
    assert [one["share"] for one in found["samples"]] == [0.5, 1]
    assert "overlap" in run("study", "stability", text, *lines, "--vocab-size", 280, "--share", 1, "-q").stdout
    assert "have no documents" in run("study", "stability", counts, "--vocab-size", 280, code=2).stderr
    result = run("study", "allocation", tok, f"a={text}", f"b={counts}")
    assert "average rank" in result.stdout
    assert "tokens are used by no group" in result.stderr
    assert len(json_of("study", "allocation", tok, f"a={text}")["groups"]) == 1
    cost = ["--width", 64, "--layer-parameters", 1000]
    assert "FLOPs per byte" in run("study", "sweep", counts, "--vocab-size", 270, *cost, "--tied").stdout
