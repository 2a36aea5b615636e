"""Trained and loaded models of each family give what the textbook gives, through public names alone."""

from __future__ import annotations

import io
from pathlib import Path
from random import Random
from typing import Any

import pytest
import sentencepiece as spm

import subwords
from subwords.reference import bpe, unigram, wordpiece

pytestmark = pytest.mark.filterwarnings("ignore::subwords.SubwordsWarning")


def words_of(rng: Random, letters: str, count: int, longest: int = 12) -> list[str]:
    return ["".join(rng.choices(letters, k=rng.randint(1, longest))) for _ in range(count)]


@pytest.mark.parametrize("byte_level", [True, False])
@pytest.mark.parametrize("tie_break", ["ids", "first", "bytes"])
@pytest.mark.parametrize("seed", range(6))
def test_bpe_learns_what_the_textbook_learns_and_encodes_with_it(seed: int, tie_break: Any, byte_level: bool) -> None:
    """Words of few letters: most pairs have a count that others have too, and most words a pair twice."""
    rng, options = Random(seed), {"tie_break": tie_break, "byte_level": byte_level}
    texts = [*(" ".join(words_of(rng, "abc", 30)) for _ in range(3)), "я "]
    size = 40 + (256 if byte_level else 5)
    vocab, merges = bpe.train(bpe.count_words(texts, bpe.GPT2_PATTERN), size, **options)
    tok = subwords.train(texts, vocab_size=size, splitter="gpt2", **options)
    assert (list(tok.vocab), list(tok.merges)) == (vocab, merges)
    for text in [*texts, *words_of(rng, "abcя ", 60, 150)]:
        assert tok.encode(text) == bpe.encode(text, vocab, merges, byte_level=byte_level)


@pytest.mark.parametrize("longest", [1, 3, 5])
def test_wordpiece_takes_the_longest_piece(longest: int, tmp_path: Path) -> None:
    for seed in range(20):
        rng = Random(f"{seed} {longest}")
        pieces = [*words_of(rng, "abя", 8, longest), *("##" + piece for piece in words_of(rng, "abя", 12, longest))]
        vocab = list(dict.fromkeys(["[UNK]", "a", "я", "##a", "##b", "##я", *pieces]))
        (tmp_path / "vocab.txt").write_text("\n".join(vocab))
        tok = subwords.load(tmp_path / "vocab.txt")
        text = " ".join(
            [*words_of(rng, "abя", 60, 20), *words_of(rng, "abяd", 9), *(c * n for c in "aя" for n in (99, 100, 101))]
        )
        assert tok.encode(text) == wordpiece.encode(text, vocab, special_tokens=["[UNK]"])


@pytest.mark.parametrize("seed", range(4))
def test_unigram_models_of_sentencepiece_sum_in_32_bits(seed: int, tmp_path: Path) -> None:
    """Runs of a letter have pieces of one sum in any order, which rounding decides."""
    rng, written = Random(seed), io.BytesIO()
    lines = [" ".join("".join(letter * rng.randint(1, 6) for letter in rng.choices("ab", k=5)) for _ in range(9))]
    lines += [" ".join(words_of(rng, "aab", 9)) for _ in range(99)]
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=written,
        vocab_size=30,
        hard_vocab_limit=False,
        normalization_rule_name="identity",
        minloglevel=2,
    )
    (tmp_path / "x.model").write_bytes(written.getvalue())
    tok, peer = subwords.load(tmp_path / "x.model"), spm.SentencePieceProcessor(model_proto=written.getvalue())
    scores = {peer.id_to_piece(k): peer.get_score(k) for k in range(3, peer.get_piece_size())}
    for text in ["".join(letter * rng.randint(1, 90) for letter in rng.choices("aab ", k=12)) for _ in range(30)]:
        text = " ".join(text.split())
        ids = peer.encode(text)
        assert tok.encode(text) == ids
        plain = unigram.encode("".join(f"▁{word}" for word in text.split()), scores, running=True)
        assert [peer.id_to_piece(index) for index in ids] == plain
