"""verify_training: every merge is counted as the textbook counts it, and planted faults are found (B1, B2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from commands import run
from inside import learned_merges, one_merge_each
from strategies import counts_of, settings_of, train_model, word_counts
from subwords import InputError
from subwords.machine import BPE, Vocab
from subwords.reference.bpe import apply_merge, count_pairs

TEXT = "low lower lowest new newer newest wide wider widest slow slower the then there " * 9


def textbook(
    words: dict[bytes, int], merges: list[tuple[bytes, bytes]], refused: set[bytes]
) -> Iterator[tuple[int, int]]:
    """The count of each merge at its turn, and the highest count at that time of pairs that are not refused by then."""
    state = [([bytes([byte]) for byte in word], count) for word, count in words.items()]
    for pair in merges:
        counts = count_pairs(state)
        rest = (count for (left, right), count in counts.items() if left + right not in refused)
        yield counts.get(pair, 0), max(rest, default=0)
        state = [(apply_merge(tokens, pair), count) for tokens, count in state]


@given(word_counts("abé"), word_counts("abé"), st.integers(1, 20), st.sampled_from(["ids", "first", "bytes"]))
def test_counts_are_those_of_the_textbook(first: Any, second: Any, add: int, tie_break: Any) -> None:
    model = train_model("bpe", counts_of(first), settings_of("bpe", vocab_size=256 + add, tie_break=tie_break))
    tokens = list(model.vocab)
    merges = [(tokens[left], tokens[right]) for left, right, _ in model.merges.tolist()]
    for words in (first, second):
        found = [*learned_merges(model, counts_of(words), tie_break)]
        assert [one.rank for one in found] == [*range(len(merges))]
        refused: set[bytes] = set()
        for one, (count, best) in zip(found, textbook(words, merges, refused), strict=True):
            assert one.count == count
            assert (one.best is None) == (count == best and count > 0) or count == best
            assert one.best is None or one.best_count in (best, 0)
            if one.best is not None and one.best_count:
                joint = b"".join(tokens[index] for index in one.best)
                refused |= {joint} - {left + right for left, right in merges}
        if words is first:
            assert all(one.best is None for one in found)


def trained() -> tuple[subwords.Tokenizer, subwords.WordCounts]:
    counts = subwords.count([TEXT])
    return subwords.train(counts, vocab_size=275), counts


def planted(tok: subwords.Tokenizer, order: list[int]) -> subwords.Tokenizer:
    """The tokenizer with merges in another order, or without some."""
    model = tok.model
    assert isinstance(model, BPE)
    return tok.with_(model=replace(model, merges=model.merges[order]))


def test_a_sound_tokenizer_is_proven() -> None:
    tok, counts = trained()
    found = subwords.study.verify_training(tok, counts)
    assert found.proven
    assert found.counts[0] == max(found.counts)
    assert found.to_dict()["proven"] is True


def test_planted_faults_are_found() -> None:
    tok, counts = trained()
    every = [*range(len(tok.merges))]
    drop = subwords.study.verify_training(tok, counts).counts
    place = next(k for k in range(2, 15) if drop[k] > drop[k + 1])
    swapped = [*every[:place], place + 1, place, *every[place + 2 :]]
    found = subwords.study.verify_training(planted(tok, swapped), counts)
    assert (found.deviations[0].rank, found.deviations[0].kind) in ((place, "not the best"), (place, "never occurs"))
    last = subwords.study.verify_training(planted(tok, every[1:]), counts)
    assert last.deviations[0].rank == 0
    assert not last.proven
    tied = subwords.study.verify_training(tok, counts, tie_break="bytes")
    assert {one.kind for one in tied.deviations} <= {"wrong tie"}


def test_a_pair_that_training_refused_is_told_once() -> None:
    counts = subwords.count(["abababab abcabc abcd " * 9])
    tok = subwords.train(counts, vocab_size=264, max_token_length=2)
    found = subwords.study.verify_training(tok, counts)
    told = ["".join(one.best) for one in found.deviations]
    assert len(told) == len({*told}) > 0
    assert found.checked == found.merges
    assert all(len(one) > 2 for one in told)
    assert not found.proven


@given(word_counts("abc"), st.integers(2, 3))
def test_without_refused_pairs_each_merge_is_the_best(words: Any, longest: int) -> None:
    counts = counts_of(words)
    model = train_model("bpe", counts, settings_of("bpe", vocab_size=266, max_token_length=longest))
    for one in learned_merges(model, counts):
        if one.best is not None:
            assert sum(len(model.vocab[index]) for index in one.best) > longest


def test_a_merge_that_never_occurs_is_found() -> None:
    tok, counts = trained()
    model = tok.model
    assert isinstance(model, BPE)
    more = Vocab([*model.vocab, b"zq"])
    merges = np.concatenate([model.merges, [[model.vocab.ids[b"z"], model.vocab.ids[b"q"], len(model.vocab)]]])
    found = subwords.study.verify_training(tok.with_(model=replace(model, vocab=more, merges=merges)), counts)
    assert [(one.kind, one.merge, one.count) for one in found.deviations] == [("never occurs", ("z", "q"), 0)]
    assert "never occurs: ('z', 'q') 0" in str(found)


def test_files_of_hf_are_proven(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE())
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=290, initial_alphabet=alphabet, show_progress=False)
    theirs.train_from_iterator([TEXT], trainer)
    theirs.save(str(tmp_path / "tokenizer.json"))
    tok = subwords.load(tmp_path / "tokenizer.json")
    assert subwords.study.verify_training(tok, subwords.count([TEXT], splitter=tok.splitter)).proven


def test_rank_files_and_models_have_one_merge_each(tmp_path: Path) -> None:
    tok, counts = trained()
    tok.save(tmp_path / "x.tiktoken")
    ranks = subwords.load(tmp_path / "x.tiktoken", splitter="o200k")
    assert isinstance(ranks.model, BPE)
    assert len(ranks.model.merges) >= len(tok.merges)
    single = one_merge_each(ranks.model)
    assert [(single.vocab[a], single.vocab[b]) for a, b, _ in single.merges.tolist()] == [*tok.merges]
    assert subwords.study.verify_training(ranks, counts).proven


def test_files_of_sentencepiece(tmp_path: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    (tmp_path / "x.txt").write_text(TEXT.replace("the ", "the\n"))
    sentencepiece.SentencePieceTrainer.train(
        input=str(tmp_path / "x.txt"), model_prefix=str(tmp_path / "x"), vocab_size=60, model_type="bpe"
    )
    tok = subwords.load(tmp_path / "x.model")
    counts = subwords.count(
        tmp_path / "x.txt", splitter=tok.splitter, normalizer=tok.normalizer, reading=subwords.Reading(documents="line")
    )
    found = subwords.study.verify_training(tok, counts)
    assert found.merges > 20
    assert found.missing == 0
    assert {one.kind for one in found.deviations} == {
        "wrong tie",
        "never occurs",
    }  # its own rule of ties; pairs that do not occur


def test_a_corpus_is_counted_as_the_tokenizer_says(tmp_path: Path) -> None:
    tok, counts = trained()
    assert subwords.study.verify_training(tok, [TEXT]) == subwords.study.verify_training(tok, counts)
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    tok.save(tmp_path / "tok.json")
    assert "each was the best pair" in run("study", "verify-training", tmp_path / "tok.json", path).stdout
    counts.save(tmp_path / "counts")
    assert (
        "each was the best pair" in run("study", "verify-training", tmp_path / "tok.json", tmp_path / "counts").stdout
    )
    message = run(
        "study", "verify-training", tmp_path / "tok.json", tmp_path / "counts", "--documents", "line", code=2
    ).stderr
    assert "--documents is for text" in message


def test_clear_errors() -> None:
    tok, counts = trained()
    with pytest.raises(InputError, match="verify_training needs a BPE model; this is Unigram"):
        subwords.study.verify_training(subwords.train([TEXT], algorithm="unigram", vocab_size=30), counts)
    with pytest.raises(InputError, match="expected counts made with splitter"):
        subwords.study.verify_training(tok, subwords.count([TEXT], splitter="bert"))
    with pytest.raises(InputError, match="limit"):
        subwords.study.verify_training(tok, counts, limit=0)
    with pytest.raises(InputError, match="tie_break"):
        subwords.study.verify_training(tok, counts, tie_break="best")  # type: ignore[arg-type]
