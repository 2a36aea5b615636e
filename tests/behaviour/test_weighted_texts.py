"""Texts and words with their counts: a dict or Counter as a corpus, and word counts of words as they are."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords

KINDS: list[dict[str, Any]] = [
    {"splitter": "gpt2"},
    {"splitter": "bert", "normalizer": "bert-uncased"},
    {"splitter": "sentencepiece", "normalizer": "sentencepiece", "special_tokens": ["<s>"]},
    {"splitter": "gpt2", "reading": subwords.Reading(documents="line")},
]
TEXTS = st.text(st.sampled_from("ab A.é▁<s>\n"), max_size=8)


@pytest.mark.rotating(2)
@pytest.mark.parametrize("options", KINDS)
@given(texts=st.dictionaries(TEXTS, st.integers(0, 40), min_size=1, max_size=6))
def test_a_counter_is_a_corpus_with_each_text_so_many_times(options: dict[str, Any], texts: dict[str, int]) -> None:
    try:
        expected = subwords.count([text for text, times in texts.items() for _ in range(times)], **options)
    except subwords.CorpusError:
        with pytest.raises(subwords.CorpusError, match="no text to count"):
            subwords.count(texts, **options)
        return
    got = subwords.count(texts, **options)
    assert list(got) == list(expected)  # in the same order
    assert (got.provenance, got.text_bytes) == (expected.provenance, expected.text_bytes)
    assert list(subwords.count({text.encode(): times for text, times in texts.items()}, **options)) == list(expected)


def test_training() -> None:
    words = Counter({" low": 500, " lower": 200, "newest": 60, "": 4})
    tok = subwords.train(words, vocab_size=262)
    assert tok.vocab == subwords.train(list(words.elements()), vocab_size=262).vocab
    assert subwords.train(Counter(low=5), vocab_size=258).tokenize("low") == ["low"]
    pieces = subwords.train(Counter(low=50, lower=20), algorithm="unigram", vocab_size=11)
    assert pieces.tokenize("low lower") == ["▁low", "▁lower"]


def test_counts_beyond_32_bits() -> None:
    counts = subwords.count({"a b": 2**40, " b": 2**33 + 1})
    assert dict(counts) == {b"a": 2**40, b" b": 2**40 + 2**33 + 1}
    assert subwords.count(Counter({"a": np.int64(3)})).total == 3
    assert subwords.count({"a": 2**62}).total == 2**62
    assert subwords.count({"ab": 2**40}).text_bytes == 2**41
    with pytest.raises(subwords.InputError, match="too many words"):
        subwords.count({"a a a": 2**62})


@pytest.mark.parametrize("value", [1.5, "3", -1, None, True])
def test_what_is_no_count(value: object) -> None:
    for make in (
        subwords.count,
        lambda texts: subwords.WordCounts.from_words(texts, splitter=subwords.splitter("gpt2")),
    ):
        with pytest.raises(subwords.InputError, match="expected a dict of texts and their counts"):
            make({"a": value})


def test_options_for_documents_are_refused() -> None:
    with pytest.raises(subwords.InputError, match="document_frequencies is for documents"):
        subwords.count({"a": 1}, document_frequencies=True)
    with pytest.raises(subwords.InputError, match="document_frequencies is for documents"):
        subwords.train({"a": 1}, vocab_size=257, min_documents=2)
    with pytest.raises(subwords.InputError, match="memory is for documents"):
        subwords.count({"a": 1}, memory="2GB")
    with pytest.raises(subwords.InputError, match="in UTF-8"):
        subwords.count({b"\xff": 1})


def test_words_as_they_are() -> None:
    rule = subwords.splitter("o200k")
    words: dict[Any, int] = {" low": 2**40, b" low": 1, "a b": 3, "<s>": 9, "zero": 0, b"\xff": 2}
    counts = subwords.WordCounts.from_words(words, splitter=rule, special_tokens=["<s>"])
    assert dict(counts) == {b" low": 2**40 + 1, b"a b": 3, b"\xff": 2}
    assert counts.total == 2**40 + 6
    counted = subwords.count([" low lower lowest"] * 9, special_tokens=["<s>"])
    same = subwords.WordCounts.from_words(dict(counted), splitter=rule, special_tokens=["<s>"])
    assert same.provenance == counted.provenance
    assert dict(same + counted) == {word: 2 * times for word, times in counted}
    assert subwords.train(same, vocab_size=262, special_tokens=["<s>"]).vocab == (
        subwords.train(counted, vocab_size=262, special_tokens=["<s>"]).vocab
    )
    with pytest.raises(subwords.InputError, match=r"expected splitter as subwords\.splitter"):
        subwords.WordCounts.from_words({"a": 1}, splitter="gpt2")  # type: ignore[arg-type]
    with pytest.raises(subwords.InputError, match="an empty word has no tokens"):
        subwords.WordCounts.from_words({"": 1}, splitter=rule)
    with pytest.raises(subwords.InputError, match="total below 2"):
        subwords.WordCounts.from_words({"a": 2**62, "b": 2**62}, splitter=rule)


def test_what_cannot_be_counted() -> None:
    texts = (text for text in ["a b"])
    subwords.count(texts)
    with pytest.raises(subwords.CorpusError, match=r"no text to count: .* the iterable is empty or exhausted"):
        subwords.count(texts)
    with pytest.raises(subwords.CorpusError, match="every document is empty"):
        subwords.count(["", ""])
    for algorithm in ("unigram", "wordpiece", "wordlevel"):
        with pytest.raises(subwords.CorpusError, match="whitespace"):
            subwords.train([" \n\t", "  "], vocab_size=300, algorithm=algorithm)  # type: ignore[call-overload]
    with pytest.warns(subwords.SubwordsWarning, match="whitespace only"):
        subwords.train([" \n\t", "  "], vocab_size=300)
