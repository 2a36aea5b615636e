"""Mingram: the fewest pieces, as in the textbook, and the same ids in HF (U7)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from commands import json_of, run
from inside import learned_pieces
from strategies import counts_of, settings_of
from subwords import InputError, TrainingError
from subwords.reference.unigram import train_mingram as reference

TEXT = (Path(__file__).parents[2] / "examples" / "opticks.txt").read_text("utf-8")[:150_000]
WORDS = st.dictionaries(st.text("abé文", min_size=1, max_size=8), st.integers(1, 30), min_size=1, max_size=8)


@given(WORDS, st.integers(1, 20), st.sampled_from([1.0, 1.1, 2.0]))
def test_any_words_are_the_textbook(words: dict[str, int], size: int, factor: float) -> None:
    settings = settings_of("mingram", vocab_size=size + 1, seed_factor=factor)
    counts = counts_of({word.encode(): n for word, n in words.items()})
    if len({*"".join(words)}) > size:
        with pytest.raises(TrainingError, match="too small"):
            learned_pieces(counts, settings)
        return
    try:
        expected = reference(words, size, factor)
    except ValueError:
        with pytest.raises(TrainingError, match="too large"):
            learned_pieces(counts, settings)
        return
    found = learned_pieces(counts, settings)
    assert found == expected
    assert [*found] == [*expected]


def mingram(source: Any, **options: Any) -> subwords.Tokenizer:
    return subwords.train(source, algorithm="mingram", **options)


def test_few_tokens_and_the_same_ids_in_hf(tmp_path: Path) -> None:
    rules = {"splitter": "sentencepiece", "normalizer": "sentencepiece"}
    found = mingram([TEXT], vocab_size=1500)
    unigram = subwords.train([TEXT], algorithm="unigram", vocab_size=1500)
    bpe = subwords.train([TEXT], byte_level=False, vocab_size=1500, special_tokens=["<unk>", "<s>", "</s>"], **rules)  # type: ignore[arg-type]
    tokens = found.count_tokens(TEXT)
    assert found.vocab_size == 1500
    assert tokens < 1.02 * unigram.count_tokens(TEXT)
    assert tokens < bpe.count_tokens(TEXT)
    found.save(tmp_path / "tokenizer.json")
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    lines = TEXT.split("\n")
    assert [one.ids for one in theirs.encode_batch(lines, add_special_tokens=False)] == found.encode_batch(
        lines
    ).to_lists()


def test_in_sentencepiece_only_ties_differ(tmp_path: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    tok = mingram([TEXT], vocab_size=1500)
    tok.save(tmp_path / "tok.model")
    lines = [line for line in TEXT.split("\n") if line]
    theirs = sentencepiece.SentencePieceProcessor(str(tmp_path / "tok.model")).encode(lines)
    ours = tok.encode_batch(lines).to_lists()
    assert [*map(len, theirs)] == [*map(len, ours)]
    assert sum(one != other for one, other in zip(ours, theirs, strict=True)) < len(lines) / 20


def test_options_and_the_command_line(tmp_path: Path) -> None:
    tok = mingram([TEXT], vocab_size=900, byte_fallback=True, special_tokens=["<unk>", "<pad>"])
    assert tok.tokenize("☂")[-3:] == ["<0xE2>", "<0x98>", "<0x82>"]
    assert tok.encode("<pad>", special="allow") == [1]
    (tmp_path / "text.txt").write_text(TEXT)
    got = json_of(
        "train", tmp_path / "text.txt", "--algorithm", "mingram", "--vocab-size", 900, "-o", tmp_path / "tok.json"
    )
    assert got["tokens"] == 900
    run("count", tmp_path / "text.txt", "-o", tmp_path / "counts", *_counted())
    run("train", tmp_path / "counts", "--algorithm", "mingram", "--vocab-size", 900, "-o", tmp_path / "again.json")
    assert json.loads((tmp_path / "tok.json").read_text()) == json.loads((tmp_path / "again.json").read_text())


def _counted() -> list[str]:
    special = [argument for token in ("<unk>", "<s>", "</s>") for argument in ("--special-token", token)]
    return ["--splitter", "sentencepiece", "--normalizer", "sentencepiece", *special]


def test_clear_errors() -> None:
    for factor in (0.5, True, "2", float("inf")):
        with pytest.raises(InputError, match="seed_factor"):
            mingram([TEXT], vocab_size=900, seed_factor=factor)
    with pytest.raises(TrainingError, match="too small: the text has"):
        mingram([TEXT], vocab_size=20)
    with pytest.raises(TrainingError, match="3 tokens are special or bytes"):
        mingram([TEXT], vocab_size=3)
    with pytest.raises(TrainingError, match="too large: these counts give at most"):
        mingram(["ab ab"], vocab_size=900)
    with pytest.raises(InputError, match="expected counts made with"):
        mingram(subwords.count([TEXT]), vocab_size=900)
