"""WordPiece as the textbook has it: the documents' numbers, and the parts one by one (P1, P3)."""

from __future__ import annotations

import json
from math import log
from pathlib import Path
from typing import Any

import pytest

from subwords.reference.bpe import apply_merge
from subwords.reference.wordpiece import (
    count_pairs,
    count_words,
    encode,
    encode_word,
    likelihood_gain,
    pair_scores,
    split,
    symbols,
    train,
)

VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[1] / "data" / "mission_vectors.json").read_text("utf-8"))
COURSE, TOY = VECTORS["wordpiece"], VECTORS["toy"]
SPECIALS = COURSE["special_tokens"]


def course_model() -> list[str]:
    counts = count_words(VECTORS["corpus"])
    return train(counts, COURSE["vocab_size"], score="course", tie_break="first", special_tokens=SPECIALS)[0]


def test_word_counts_keep_their_order() -> None:
    assert list(count_words(VECTORS["corpus"]).items()) == list(COURSE["word_counts"].items())


def test_first_scores() -> None:
    words = [(symbols(word), count) for word, count in COURSE["word_counts"].items()]
    ref = COURSE["first_scores"]
    scores = pair_scores(words, "course")
    assert [[*pair, float(score)] for pair, score in scores.items()][: len(ref)] == ref
    *first, score = COURSE["first_merge"]
    assert (max(scores, key=scores.__getitem__), float(max(scores.values()))) == (tuple(first), score)


def test_course_trains() -> None:
    vocab = course_model()
    assert vocab == COURSE["vocab"]
    assert vocab[len(SPECIALS) :][: len(COURSE["alphabet"])] == COURSE["alphabet"]


def test_course_encodes() -> None:
    vocab = course_model()
    for word, ref in COURSE["encode_word"].items():
        assert encode_word(word, vocab) == ref
    for text, ref in COURSE["encode"].items():
        assert [vocab[id_] for id_ in encode(text, vocab)] == ref


def test_toy_trains() -> None:
    vocab, merges = train(TOY["word_counts"], 10, score="course", tie_break="first", special_tokens=[])
    assert vocab[:7] == TOY["wordpiece"]["alphabet"]
    words = [(symbols(word), count) for word, count in TOY["word_counts"].items()]
    got = []
    for pair in merges:
        scores = pair_scores(words, "course")
        assert scores[pair] == max(scores.values())
        got.append([*pair, str(scores[pair])])
        words = [(apply_merge(tokens, pair, 2), count) for tokens, count in words]
    assert got == TOY["wordpiece"]["first_merges"]


def test_toy_encodes() -> None:
    ref = dict(TOY["wordpiece"]["encode_with_vocab"])
    vocab = ref.pop("vocab")
    assert ref
    for word, tokens in ref.items():
        assert encode_word(word, vocab) == tokens


# ------------------------------------------------------------------ the parts


def test_split_drops_blanks_and_parts_punctuation() -> None:
    assert split(" a\tb,c--d\n«é»$x_1 ") == ["a", "b", ",", "c", "-", "-", "d", "«", "é", "»", "$", "x", "_", "1"]
    assert split("") == []


@pytest.mark.parametrize(("prefix", "ref"), [("##", ["a", "##é", "##文"]), ("", ["a", "é", "文"])])
def test_symbols(prefix: str, ref: list[str]) -> None:
    assert symbols("aé文", prefix) == ref


def test_merge_of_a_token_with_itself_goes_left_to_right() -> None:
    assert apply_merge(["a", "##a", "##a", "##a"], ("##a", "##a"), 2) == ["a", "##aa", "##a"]


@pytest.mark.parametrize("length", range(1, 8))
def test_pairs_that_a_merge_would_join(length: int) -> None:
    tokens = ["x"] * length + ["y"]
    joined = length + 1 - len(apply_merge(tokens, ("x", "x")))
    assert count_pairs([(tokens, 3)], overlapping=False).get(("x", "x"), 0) == 3 * joined
    assert count_pairs([(tokens, 3)]).get(("x", "x"), 0) == 3 * (length - 1)


def log_likelihood(counts: list[int]) -> float:
    return sum(n * log(n / sum(counts)) for n in counts if n)


def test_likelihood_gain_is_what_merging_does() -> None:
    for n, a, b, others in [(3, 7, 5, 20), (5, 5, 5, 1), (1, 9, 1, 0), (2, 6, 9, 100)]:
        gain = likelihood_gain(n, a, b, a + b + others)
        ref = log_likelihood([n, a - n, b - n, others]) - log_likelihood([a, b, others])
        assert float(gain) == pytest.approx(ref)
    itself = likelihood_gain(2, 7, 5, 12)  # "a" seven times, merged twice with itself
    ref = log_likelihood([2, 3, 5]) - log_likelihood([7, 5])
    assert float(itself) == pytest.approx(ref)


def test_gain_of_a_token_with_itself_can_equal_that_of_two_others() -> None:
    words = [(["a", "a", "x"], 1), (["a", "y"], 1), (["b", "c"], 1), (["b", "y"], 2), (["c", "z"], 1)]
    scores = pair_scores(words, "likelihood")
    assert scores["a", "a"] == scores["b", "c"], "a: 3 - 1; b: 3, c: 2"


def test_limited_alphabet_parts_words() -> None:
    vocab, _ = train({"axb": 1, "xab": 1, "aab": 9}, 50, special_tokens=[], limit_alphabet=2)
    assert vocab[:3] == ["##a", "##b", "a"]
    assert not [token for token in vocab if "x" in token]
    assert "ab" not in vocab, "a and b never met at the start of a word"


def test_string_that_exists_keeps_its_id() -> None:
    vocab, merges = train({"##ab": 3, "ab": 1, "xab": 9}, 30, score="count", special_tokens=["[UNK]", "ab"])
    assert ("a", "##b") in merges
    assert ("##", "##ab") in merges
    assert len(set(vocab)) == len(vocab)


def test_vocab_size_below_the_alphabet() -> None:
    with pytest.raises(ValueError, match="special tokens and symbols are 7 tokens, more than vocab_size=6"):
        train({"ab": 1}, 6)


@pytest.mark.parametrize(("name", "value"), [("score", "bpe"), ("tie_break", "last")])
def test_wrong_names(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: expected .* got '{value}'"):
        train({"ab": 1}, 9, **{name: value})  # type: ignore[arg-type]


def test_word_longer_than_the_limit_is_unknown() -> None:
    vocab = ["[UNK]", "a", "##a"]
    assert encode_word("aaa", vocab, max_chars=3) == ["a", "##a", "##a"]
    assert encode_word("aaaa", vocab, max_chars=3) == ["[UNK]"]
    assert encode_word("", vocab) == []


def test_spelled_special_token_is_no_special_token() -> None:
    vocab = ["[UNK]", "sep", "s"]
    assert encode("sep s", vocab) == [1, 2]
    assert encode("sep s", vocab, special_tokens=["sep"]) == [0, 2]
