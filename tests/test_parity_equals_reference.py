"""Parity-aware training gives the merges, languages and sizes of the textbook (B11)."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from inside import Choice, initial_tokens, parity_merges
from strategies import counts_of, settings_of, word_counts
from subwords.reference.bpe import train_parity as reference

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
    settings = settings_of("bpe", vocab_size=400, **rules)
    base, _ = initial_tokens(pool, settings)  # type: ignore[arg-type]
    extra = data.draw(st.integers(1, 40))
    expected = reference(languages, base, len(base) + extra, scales, measured=measured, **choice, **rules)
    known, held = {*base}, None if measured is None else [*map(counts_of, measured)]
    if any(symbol not in known for part in held or [] for word, _ in part for symbol in symbols(word, byte_level)):
        return  # what no language has splits a word
    pooled = choice.pop("pooled")
    found = parity_merges(
        [*map(counts_of, languages)],
        held,
        settings_of("bpe", vocab_size=len(base) + extra, **rules),
        Choice(np.array(scales), **choice),
        pooled=pooled,
    )
    vocab = [*found.vocab]
    got = [(vocab[left], vocab[right]) for left, right, _ in found.merges.tolist()]
    assert (vocab, got, found.picks.tolist(), found.after) == expected
    sizes = [sum(len(symbols(word, byte_level)) * n for word, n in part.items()) for part in measured or languages]
    assert found.before == sizes


def symbols(word: bytes, byte_level: bool) -> list[bytes]:
    return (
        [bytes([byte]) for byte in word] if byte_level else [char.encode() for char in word.decode("utf-8", "replace")]
    )
