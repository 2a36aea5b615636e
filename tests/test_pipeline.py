"""A normalizer before a splitter: stretches and cuts change no word (S4), and every byte's origin is kept."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines import normalizer, splitter
from inside import Pipeline, Prepend, encoder_of
from inside import normalize_normalizer as pipeline
from inside import normalizer_Replace as Replace
from inside import normalizer_Strip as Strip
from inside import splitter_NAMED as NAMED
from splitting import class_characters, mixture, words_of
from strategies import texts
from subwords.machine import Vocab, WordPiece

# As files of Llama 2 and Mistral have it: looks at where a text begins, as SentencePiece does.
PREPENDED = normalizer([Strip(left=False), Prepend("▁"), Replace(" ", "▁")]).identity
PAIRS = [
    ("bert-uncased", "bert"),
    ("bert-cased", "whitespace"),
    ("nfc", "gpt2"),
    ("nfkc", "metaspace"),
    ("sentencepiece", "sentencepiece"),
    (PREPENDED, "sentencepiece"),
]
both = pytest.mark.parametrize(("before", "rule"), PAIRS)


def made(before: str, rule: str) -> Pipeline:
    return Pipeline(normalizer(before), splitter(rule))


def words(source: Pipeline, text: bytes) -> list[bytes]:
    word_spans = source.word_spans(np.frombuffer(text, np.uint8))
    data = word_spans.text.tobytes()
    return [data[a:b] for a, b in zip(word_spans.words[:-1], word_spans.words[1:], strict=True)]


def some_text(rng: random.Random, rule: str, size: int) -> bytes:
    return mixture(rng, class_characters(NAMED[rule], rng), size).encode("utf-8", "surrogateescape")


@given(st.lists(texts().map(str.encode), max_size=4), st.sampled_from(PAIRS))
def test_words_are_those_of_the_normalized_text(texts: list[bytes], pair: tuple[str, str]) -> None:
    source = made(*pair)
    ref = []
    for text in texts:
        data, _ = source.normalizer.apply(np.frombuffer(text, np.uint8), np.array([0, len(text)]))
        ref.append(words_of(source.splitter, [data.tobytes()])[0])
        assert words(source, text) == ref[-1]
    assert words_of(source, texts) == ref  # type: ignore[arg-type]


@pytest.mark.rotating(3)
@both
@pytest.mark.parametrize("stretch", [1, 64, 1000])
def test_stretches_change_no_word(before: str, rule: str, stretch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "STRETCH", stretch)
    source = made(before, rule)
    rng = random.Random(f"{before}{stretch}")
    print(f"seed {before}{stretch}")
    texts = [some_text(rng, rule, size) for size in (0, 3, 200, 3000, 0, 9000)]
    assert words_of(source, texts) == [words(source, text) for text in texts]  # type: ignore[arg-type]


def test_a_short_text_that_becomes_long_loses_no_word() -> None:
    vocab = Vocab([b"[UNK]", b"a", b"b"])
    source = Pipeline(normalizer(Replace("x", "a b " * 50)), splitter("bert"))
    assert len(encoder_of(WordPiece(vocab, 0), source).encode(b"x" * 4000)) == 4000 * 100


def test_origin_is_that_of_the_source() -> None:
    text = "Çà 文Ⅳ!".encode()
    word_spans = made("bert-uncased", "bert").word_spans(np.frombuffer(text, np.uint8))
    assert words(made("bert-uncased", "bert"), text) == [b"ca", "文".encode(), "ⅳ".encode(), b"!"]
    begins, ends = word_spans.origin[0, word_spans.words[:-1]], word_spans.origin[1, word_spans.words[1:] - 1]
    assert [text[a:b].decode() for a, b in zip(begins, ends, strict=True)] == ["Çà", "文", "Ⅳ", "!"]
