"""Counting equals the textbook's, word for word and in the same order (W1-W3)."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import chain, pairwise, zip_longest
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from engines import splitter
from inside import corpus_count as counting
from inside import corpus_word_table as word_table
from inside import first_invalid
from inside import training_count as training
from strategies import FRAGMENTS, INVALID, SPECIALS, byte_texts, contested, texts
from subwords.machine import Block
from subwords.reference import bpe as reference
from subwords.reference.bpe import GPT2_PATTERN

# Tokens that overlap, begin or end with a blank, or are part of a word.
ODD_SPECIALS = (*SPECIALS, " <s> ", "the", "'s", "\n\n", "é")


def check(documents: list[str], special_tokens: tuple[str, ...] = (), **options: Any) -> None:
    options["splitter"] = "gpt2"
    ref = reference.count_words(documents, GPT2_PATTERN, special_tokens)
    if not ref:
        with pytest.raises(subwords.CorpusError, match="every document is empty"):
            subwords.count(iter(documents), special_tokens=special_tokens, **options)
        return
    got = subwords.count(iter(documents), special_tokens=special_tokens, **options)
    assert list(got) == list(ref.items())
    assert got.total == sum(ref.values())


def count_bytes(documents: list[bytes]) -> list[tuple[bytes, int]]:
    """Count bytes that need not be UTF-8, which no reader yields."""
    data = b"".join(documents)
    ends = np.unique(np.cumsum([len(document) for document in documents], dtype=np.int64))
    return list(counting.count_blocks([Block(data, ends, "", 0)] if data else [], splitter("gpt2")))


@given(st.lists(texts(20), min_size=1, max_size=8))
def test_any_texts(documents: list[str]) -> None:
    check(documents)


@given(st.lists(byte_texts(20), max_size=8))
def test_any_bytes(documents: list[bytes]) -> None:
    ref = reference.count_words(documents, GPT2_PATTERN)
    assert count_bytes(documents) == list(ref.items())


@given(st.lists(texts(20), min_size=1, max_size=5), st.sets(st.sampled_from(ODD_SPECIALS)))
def test_special_tokens_are_cut_out(documents: list[str], special_tokens: set[str]) -> None:
    check(documents, tuple(special_tokens))


@given(
    st.lists(texts(20), min_size=1, max_size=5),
    st.sets(st.sampled_from(ODD_SPECIALS)),
    st.integers(1, 40),
    st.integers(1, 3),
)
def test_block_borders_and_threads_change_nothing(
    documents: list[str], special_tokens: set[str], block: int, threads: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "BLOCK", block)
        check(documents, tuple(special_tokens), threads=threads)


@given(texts())
def test_lines_are_documents(text: str) -> None:
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    ref = reference.count_words(lines, GPT2_PATTERN)
    if ref:
        assert list(subwords.count(iter([text]), splitter="gpt2", reading=subwords.Reading(documents="line"))) == list(
            ref.items()
        )


# ------------------------------------------------------------------ the table


def random_documents(seed: int, words: int) -> list[bytes]:
    print(f"seed {seed}")
    rng = random.Random(seed)
    letters = [*map(str.encode, FRAGMENTS), *INVALID, *(bytes([byte]) for byte in range(128))]
    return [b"".join(rng.choices(letters, k=rng.randrange(30))) for _ in range(words)]


def test_growing_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    grown = set[int]()
    grow = word_table.CountingTable._grow

    def spy(table: word_table.CountingTable, status: int, length: int) -> None:
        grown.add(status)
        grow(table, status, length)

    monkeypatch.setattr(word_table.CountingTable, "_grow", spy)
    monkeypatch.setattr(word_table, "FIRST_SLOTS", 16)
    monkeypatch.setattr(word_table, "FIRST_ARENA", 16)
    documents = random_documents(21, 2000)
    ref = reference.count_words(documents, GPT2_PATTERN)
    assert count_bytes(documents) == list(ref.items())
    assert len(grown) == 2, "slots and arena"


def test_words_at_the_border_of_inline_keys() -> None:
    # Fifteen bytes fit a slot, sixteen do not; NUL bytes differ in nothing but their number.
    words = [letter * length for letter in (b"\0", b"a", b"\xff", b"1") for length in range(1, 70)]
    documents = [word for n, word in enumerate(words) for _ in range(1 + n % 3)]
    ref = reference.count_words(documents, GPT2_PATTERN)
    assert count_bytes(documents) == list(ref.items())


def colliding(seed: int, length: int) -> Iterable[bytes]:
    """Words of one hash when all seeds are 1: eight bytes that are 1 cancel what the eight beside them do."""
    one = (1).to_bytes(8, "little")
    rng = random.Random(seed)
    return [one + bytes(rng.choices(b"!#$%&()*+,-./", k=8)) + one + b"!" * (length - 24) for _ in range(40)]


def test_colliding_hashes_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_table, "_SEEDS", [1] * 8)
    documents = [*colliding(1, 40), *colliding(2, 32), *colliding(1, 40)]
    assert not contested().intersection(b"".join(documents).decode())
    ref = reference.count_words(documents, GPT2_PATTERN)
    assert len(ref) == 80
    assert count_bytes(documents) == list(ref.items())


# ------------------------------------------------------------------ the tables of several threads


WORDS = st.text("ab é文", min_size=1, max_size=40).map(str.encode)


@given(
    st.lists(st.lists(st.tuples(WORDS, st.integers(0, 2**40)), max_size=30), min_size=1, max_size=4),
    st.integers(1, 3),
    st.booleans(),
)
def test_tables_are_joined_as_a_dict_counts(
    tables: list[list[tuple[bytes, int]]], threads: int, colliding: bool
) -> None:
    ref: dict[bytes, int] = {}
    for word, count in filter(None, chain.from_iterable(zip_longest(*tables))):
        ref[word] = ref.get(word, 0) + count
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_table, "FIRST_SLOTS", 16)
        patch.setattr(word_table, "PART", 16)
        if colliding:
            patch.setattr(word_table, "_SEEDS", [1] * 8)
        filled = [word_table.CountingTable() for _ in tables]
        for place, row in enumerate(zip_longest(*tables)):
            for column, pair in enumerate(row):
                if pair is not None:
                    word, count = np.frombuffer(pair[0], np.uint8), np.array([pair[1]], np.uint64)
                    counted = word_table.CountedWords(word, np.array([0, len(word)]), count)
                    filled[column].add(counted, place * len(tables) + column)
        data, offsets, counts = word_table.collect_words(filled, threads)
    words = [data[a:b].tobytes() for a, b in pairwise(offsets.tolist())]
    assert list(zip(words, counts.tolist(), strict=True)) == list(ref.items())


# ------------------------------------------------------------------ UTF-8


@given(byte_texts())
def test_first_invalid_byte_is_that_of_bytes_decode(data: bytes) -> None:
    try:
        data.decode()
        ref = -1
    except UnicodeDecodeError as error:
        ref = error.start
    assert first_invalid(np.frombuffer(data, np.uint8)) == ref


@given(st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=60), st.integers(0), st.integers(0, 255))
def test_one_wrong_byte_in_a_long_text_is_found(fragments: list[str], at: int, byte: int) -> None:
    data = bytearray("".join(fragments * 4).encode())
    data[at % len(data)] = byte
    try:
        data.decode()
        ref = -1
    except UnicodeDecodeError as error:
        ref = error.start
    assert first_invalid(np.frombuffer(data, np.uint8)) == ref


def test_every_pair_and_lead_of_bytes_is_judged_as_decode_does() -> None:
    heads = [bytes([a, b]) for a in range(256) for b in range(0x70, 0xD0)]
    for data in [head + tail for head in heads for tail in (b"", b"\x80", b"\x80\xbf", b"a")]:
        padded = b"x" * 63 + data
        try:
            padded.decode()
            ref = -1
        except UnicodeDecodeError as error:
            ref = error.start
        assert first_invalid(np.frombuffer(padded, np.uint8)) == ref, data
