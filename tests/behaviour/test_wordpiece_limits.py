"""WordPiece: words of any length that training counts are encoded, and what its default normalizer removes is said."""

from __future__ import annotations

import random
import warnings
from pathlib import Path

import pytest
from tokenizers import Tokenizer

import subwords

RNG = random.Random(0)
DNA = ["".join(RNG.choices("ACGT", k=300)) for _ in range(200)]
URL = ["see https://example.org/" + "a" * 150 + " for details"] * 20


def said(source: list[str], **options: object) -> tuple[subwords.Tokenizer, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tok = subwords.train(source, **{"algorithm": "wordpiece", "vocab_size": 100, **options})  # type: ignore[call-overload]
    return tok, [str(item.message) for item in caught if item.category is subwords.SubwordsWarning]


def test_sequences_of_300_letters_are_encoded_and_load_in_hf(tmp_path: Path) -> None:
    tok, warned = said(DNA)
    assert warned == [
        "words of more than 100 characters: 200 distinct words, 100 % of the text, up to 300 characters. So "
        "max_chars is 300; with max_chars=100, as in BERT, they become unknown"
    ]
    assert "[UNK]" not in tok.tokenize(DNA[0])
    assert tok.decode(tok.encode(DNA[0])) == DNA[0].lower()
    tok.save(tmp_path / "dna.json")
    hf = Tokenizer.from_file(str(tmp_path / "dna.json"))
    for text in [*DNA[:20], "".join(DNA[:2])]:
        assert hf.encode(text).ids == list(tok(text).ids)
    assert tok.tokenize("".join(DNA[:2])) == ["[UNK]"]


def test_with_a_limit_nothing_is_learned_from_longer_words() -> None:
    tok, warned = said(URL, max_chars=100, vocab_size=60)
    assert tok.tokenize("a" * 150) == ["[UNK]"]
    assert not [piece for piece in tok.vocab if piece.startswith(b"##aaaa")]
    assert not [text for text in warned if "characters" in text]
    with pytest.raises(subwords.TrainingError, match=r"all have more than 100 characters.*Raise max_chars to 300"):
        said(DNA, max_chars=100)


def test_without_long_words_the_limit_is_that_of_bert(tmp_path: Path) -> None:
    words = ["".join(RNG.choices("éa", k=100)) for _ in range(9)]  # 100 characters, more bytes
    tok, warned = said([*words, "b c"], normalizer=None, vocab_size=40)
    assert not [text for text in warned if "characters" in text]
    assert "[UNK]" not in tok.tokenize(words[0])
    assert tok.tokenize(words[0] + "a") == ["[UNK]"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("गरम चाय क्षत्रिय विद्यालय", "DEVANAGARI SIGN VIRAMA"),
        ("ガラスの中でプリズム", "COMBINING KATAKANA-HIRAGANA VOICED SOUND MARK"),
        ("tiếng Việt có dấu", "COMBINING ACUTE ACCENT"),
    ],
)
def test_marks_that_the_default_normalizer_removes_are_named(text: str, name: str) -> None:
    _, warned = said([text] * 20)
    (message,) = [one for one in warned if one.startswith("marks are lost")]
    assert name in message
    assert 'normalizer="bert-cased"' in message
    tok, warned = said([text] * 20, normalizer="bert-cased")
    assert not [one for one in warned if one.startswith("marks are lost")]
    assert tok.decode(tok.encode(text)).replace(" ", "") == text.replace(" ", "")
    assert not [one for one in said([text] * 20, normalizer="bert-uncased")[1] if one.startswith("marks are lost")]


def test_few_accents_are_no_reason_to_warn() -> None:
    _, warned = said(["The naïve reader of a long English text meets few accents" + " and many plain words" * 20])
    assert not [one for one in warned if one.startswith("marks are lost")]
