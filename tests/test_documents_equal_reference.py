"""Samples of documents and document frequencies equal the textbook's, in any blocks and threads (W5, W6)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from engines import splitter
from inside import HEAD, sample_blocks, training_count
from inside import corpus_count as count
from inside import corpus_word_table as word_table
from seeds import seed_of_run
from strategies import SPECIALS, texts
from subwords import CorpusError, Reading
from subwords.machine import Block, read_blocks
from subwords.reference.bpe import GPT2_PATTERN, count_words
from subwords.reference.text import document_frequencies, is_kept

SEED = seed_of_run()
LENGTHS = (1, 2, 50, HEAD - 1, HEAD, HEAD + 1, 3 * HEAD)


def made(rng: random.Random, number: int) -> list[bytes]:
    """Documents of many lengths, some with the same first bytes."""
    heads = [rng.randbytes(3 * HEAD) for _ in range(3)]
    return [rng.choice(heads)[: rng.choice(LENGTHS)] + rng.randbytes(rng.choice([0, 0, 1])) for _ in range(number)]


def blocks_of(documents: list[bytes], rng: random.Random) -> Iterator[Block]:
    """The documents in blocks that end anywhere, within documents too."""
    data, ends = b"".join(documents), np.cumsum([len(one) for one in documents])
    at = 0
    while at < len(data):
        stop = min(len(data), at + rng.choice([1, 2, 30, HEAD, 5 * HEAD, 1 << 16]))
        yield Block(data[at:stop], ends[(ends > at) & (ends <= stop)] - at, "", at)
        at = stop


def documents_of(blocks: Iterator[Block]) -> list[bytes]:
    found, held = [], b""
    for block in blocks:
        assert block.data
        start = 0
        for end in block.ends.tolist():
            found.append(held + block.data[start:end])
            held, start = b"", end
        held += block.data[start:]
    assert not held
    return found


@pytest.mark.parametrize("share", [2**-60, 0.01, 0.3, 0.7, 1 - 2**-53, 1.0])
@pytest.mark.parametrize("seed", [0, 1, 2**63 - 1])
def test_samples(share: float, seed: int) -> None:
    rng = random.Random(f"{SEED} {share} {seed}")
    for _ in range(15):
        documents = made(rng, rng.choice([1, 2, 40]))
        expected = [one for one in documents if is_kept(one, share, seed)]
        assert documents_of(sample_blocks(blocks_of(documents, rng), share, seed)) == expected


def test_samples_are_nested_and_of_about_their_share() -> None:
    documents = [f"document {k} of {SEED}".encode() for k in range(20_000)]
    kept = [{one for one in documents if is_kept(one, share, 5)} for share in (0.01, 0.1, 0.5)]
    assert kept[0] < kept[1] < kept[2]
    for found, share in zip(kept, (0.01, 0.1, 0.5), strict=True):
        assert abs(len(found) / len(documents) - share) < 6 * (share / len(documents)) ** 0.5
    assert kept[1] != {one for one in documents if is_kept(one, 0.1, 6)}


@pytest.mark.parametrize("kind", ["texts", "lines", "rows"])
def test_samples_are_the_same_from_any_source(tmp_path: Path, kind: str) -> None:
    import json

    rng = random.Random(SEED)
    documents = [" ".join(rng.choices(["low", "né", "文字", "x" * 5000], k=rng.choice([1, 4]))) for _ in range(400)]
    kept = [one for one in documents if is_kept(one.encode(), 0.4, 9)]
    if kind == "lines":
        documents = [one + "\n" for one in documents]
        kept = [one for one in documents if is_kept(one.encode(), 0.4, 9)]
        (tmp_path / "a.txt").write_text("".join(documents))
    elif kind == "rows":
        (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": one}) + "\n" for one in documents))
    source = documents if kind == "texts" else tmp_path
    reading = Reading(documents="line" if kind == "lines" else "file", sample=0.4, sample_seed=9)
    for size in (1 << 10, 1 << 16, 1 << 22):
        found = documents_of(read_blocks(source, reading, block_size=size))
        assert [one.decode() for one in found] == kept
    expected = subwords.count(kept)
    for threads in (1, 2):
        got = subwords.count(
            source, reading=Reading(documents=reading.documents, sample=0.4, sample_seed=9), threads=threads
        )
        assert list(got) == list(expected)


@given(st.lists(texts(20), min_size=1, max_size=8), st.booleans(), st.sampled_from([1, 2]))
def test_document_frequencies(documents: list[str], special: bool, threads: int) -> None:
    rules: Any = {"splitter": "gpt2", "special_tokens": SPECIALS if special else ()}
    try:
        got = subwords.count(documents, document_frequencies=True, threads=threads, **rules)
    except CorpusError:
        return
    plain = subwords.count(documents, threads=threads, **rules)
    assert list(got) == list(plain)
    assert got.documents is not None
    expected = document_frequencies([*count_words([text], GPT2_PATTERN, rules["special_tokens"])] for text in documents)
    assert {word: int(number) for (word, _), number in zip(got, got.documents, strict=True)} == expected


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("normalizer", [None, "bert-uncased"])
def test_frequencies_of_growing_tables_and_long_documents(
    monkeypatch: pytest.MonkeyPatch, threads: int, normalizer: str | None
) -> None:
    monkeypatch.setattr(word_table, "FIRST_SLOTS", 16)
    monkeypatch.setattr("subwords.corpus.count.CHUNK_WORDS", 5000)
    rng = random.Random(SEED)
    words = [f"w{k}" for k in range(300)] + ["x" * k for k in range(14, 60)]
    documents = [" ".join(rng.choices(words, k=rng.choice([0, 1, 5, 400]))) for _ in range(120)]
    documents.insert(60, " ".join(rng.choices(words, k=20_000)))  # more than a chunk
    blocks = read_blocks(documents, block_size=700)

    rule = training_count.word_source(splitter("whitespace"), training_count.normalizer_or_none(normalizer))
    got = count.count_blocks(blocks, rule, document_frequencies=True, threads=threads)
    assert got.documents is not None
    expected = document_frequencies([word.encode() for word in text.split()] for text in documents)
    assert {word: int(number) for (word, _), number in zip(got, got.documents, strict=True)} == expected
