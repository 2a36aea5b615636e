"""Parity-aware training gives the merges, languages and sizes of the textbook (B11)."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from strategies import counts_of, word_counts
from subwords.bpe.train import BPESettings, first_tokens
from subwords.learning.characters import character_rules
from subwords.learning.merging import read_words
from subwords.learning.parity import Choice, ParityLoop
from subwords.reference.parity import train as reference

LETTERS = "abé文"


@given(st.lists(word_counts(LETTERS), min_size=1, max_size=4), st.data())
def test_any_words_and_options_are_the_textbook(languages: list[dict[bytes, int]], data: st.DataObject) -> None:
    languages = [words or {b"ab": 1} for words in languages]
    number = len(languages)
    byte_level = data.draw(st.booleans())
    rules: dict[str, Any] = {
        "tie_break": data.draw(st.sampled_from(["ids", "bytes"])),
        "min_frequency": data.draw(st.sampled_from([0, 2, 9])),
        "max_token_length": data.draw(st.sampled_from([None, 3])),
        "byte_level": byte_level,
        "whole_characters": byte_level and data.draw(st.booleans()),
    }
    scales = data.draw(st.lists(st.sampled_from([0.1, 0.5, 1.0]), min_size=number, max_size=number))
    measured = None
    if data.draw(st.booleans()):
        measured = data.draw(st.lists(word_counts(LETTERS), min_size=number, max_size=number))
    window = data.draw(st.sampled_from([0, number, 7]))
    choice: dict[str, int] = {
        "window": max(window, number) if window else 0,
        "most_picks": data.draw(st.integers(1, 4)),
        "pooled": data.draw(st.sampled_from([0, 2, 90])),
    }
    pool = sum(map(counts_of, languages))
    settings = BPESettings(vocab_size=400, **rules)
    base, ids = first_tokens(pool, settings)  # type: ignore[arg-type]
    extra = data.draw(st.integers(1, 40))
    expected = reference(languages, base, len(base) + extra, scales, measured=measured, **choice, **rules)
    parts = [*map(counts_of, [*languages, *(measured or [])]), *([pool] if choice["pooled"] else [])]
    known = {*base}
    sizes = [sum(len(symbols(word, byte_level)) * n for word, n in part) for part in parts]  # type: ignore[union-attr]
    if any(symbol not in known for part in measured or [] for word in part for symbol in symbols(word, byte_level)):
        return  # what no language has splits a word
    loop = ParityLoop(
        [read_words(part, ids, in_order=False) for part in parts],  # type: ignore[arg-type]
        sizes,
        base,
        BPESettings(vocab_size=len(base) + extra, **rules),
        Choice(np.array(scales), **choice),
        character_rules(base) if rules["whole_characters"] else None,
    )
    loop.run(lambda *_: None)
    vocab = [*loop.vocab]
    merges, counts, picks = loop.learned
    got = [(vocab[left], vocab[right]) for left, right, _ in merges.tolist()]
    start = number if measured else 0
    assert (vocab, got, picks.tolist(), loop.sizes[start : start + number].tolist()) == expected
    assert all(count > 0 for count in counts.tolist())


def symbols(word: bytes, byte_level: bool) -> list[bytes]:
    return (
        [bytes([byte]) for byte in word] if byte_level else [char.encode() for char in word.decode("utf-8", "replace")]
    )
