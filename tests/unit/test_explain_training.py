"""explain_training: the tables of the teaching documents, and the result of `train` on the same settings."""

from __future__ import annotations

import json
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

import subwords
from strategies import counts_of, word_counts
from subwords import InputError, TrainingError
from subwords.reference import unigram
from subwords.reference.bpe import byte_to_char

VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[1] / "data" / "mission_vectors.json").read_text("utf-8"))
CORPUS: list[str] = VECTORS["corpus"]
CHARS = byte_to_char()
TOY = {word.encode(): count for word, count in VECTORS["toy"]["word_counts"].items()}


def shown(text: str) -> str:
    """Text as the documents print it: with a character for each byte."""
    return "".join(CHARS[byte] for byte in text.encode())


def merges(found: Any) -> list[Any]:
    return [step for step in found.steps if type(step).__name__ == "MergeStep"]


def rounds(found: Any) -> list[Any]:
    return [step for step in found.steps if type(step).__name__ == "PieceStep"]


def character_bpe() -> Any:
    options: dict[str, Any] = {"alphabet": "corpus", "special_tokens": ["<|endoftext|>"], "tie_break": "first"}
    return subwords.study.explain_training(CORPUS, vocab_size=VECTORS["character_bpe"]["vocab_size"], **options)


def test_tables_of_the_bpe_document() -> None:
    found, expected = character_bpe(), VECTORS["character_bpe"]
    assert {shown(word.word): word.count for word in found.words} == expected["word_counts"]
    assert [shown(token) for token in found.alphabet[1:]] == expected["alphabet"]
    assert [[shown(part) for part in step.chosen.pair] for step in merges(found)] == expected["merges"]
    assert [shown(token.decode()) for token in found.vocab[1:]] == expected["vocab"][1:]
    first = merges(found)[0]
    pairs = [[*map(shown, pair.pair), pair.count] for pair in first.pairs]
    assert [pair for pair in pairs if pair in expected["first_pair_counts"]] == expected["first_pair_counts"]
    words = {shown(word.word): [*map(shown, word.tokens)] for word in first.words}
    assert all(words[word] == tokens for word, tokens in expected["after_first_merge"].items())


def test_tables_of_the_byte_level_document() -> None:
    expected = VECTORS["byte_level_bpe"]
    found = subwords.study.explain_training(
        [sentence + "\n" for sentence in CORPUS],
        vocab_size=256 + expected["merge_count"],
        splitter=expected["pattern"],
        tie_break="first",
    )
    assert {shown(word.word): word.count for word in found.words} == expected["word_counts"]
    assert [[shown(part) for part in step.chosen.pair] for step in merges(found)] == expected["merges"]
    assert [shown(step.token) for step in merges(found)] == expected["learned_tokens"]


def test_tables_of_the_wordpiece_document() -> None:
    expected = VECTORS["wordpiece"]
    options: dict[str, Any] = {"score": "course", "tie_break": "first", "normalizer": None}
    size = expected["vocab_size"]
    found = subwords.study.explain_training(CORPUS, algorithm="wordpiece", vocab_size=size, **options)
    assert {word.word: word.count for word in found.words} == expected["word_counts"]
    assert [*found.alphabet[5:]] == expected["alphabet"]
    assert [token.decode() for token in found.vocab] == expected["vocab"]
    first = merges(found)[0]
    scores = {pair.pair: pair.score for pair in first.pairs}
    assert all(scores[left, right] == pytest.approx(score) for left, right, score in expected["first_scores"])
    assert [*first.chosen.pair, first.chosen.score] == expected["first_merge"]


def test_tables_of_the_toy_corpus() -> None:
    expected = VECTORS["toy"]
    found = subwords.study.explain_training(
        counts_of(TOY), vocab_size=9, splitter="gpt2", alphabet="corpus", tie_break="first"
    )
    assert [[*step.chosen.pair] for step in merges(found)][:4] == expected["bpe"]["merges"][: len(found.steps)]
    options: dict[str, Any] = {"splitter": "gpt2", "normalizer": None, "score": "course", "tie_break": "first"}
    options |= {"special_tokens": ["[UNK]"], "vocab_size": 11}
    pieces = subwords.study.explain_training(counts_of(TOY, ("[UNK]",)), algorithm="wordpiece", **options)
    assert [*pieces.alphabet[1:]] == expected["wordpiece"]["alphabet"]
    got = [[*step.chosen.pair, step.chosen.score] for step in merges(pieces)]
    assert got == [[left, right, float(Fraction(s))] for left, right, s in expected["wordpiece"]["first_merges"]]


def course() -> Any:
    options: dict[str, Any] = {"splitter": "gpt2", "normalizer": None, "special_tokens": ["<unk>"]}
    return subwords.study.explain_training(
        counts_of(TOY, ("<unk>",)), algorithm="unigram-course", vocab_size=10, **options
    )


def test_tables_of_the_unigram_document() -> None:
    path = Path(__file__).parents[3] / "shared" / "mission" / "vectors.json"
    if not path.exists():
        pytest.skip("needs ../shared/mission")
    expected, first = json.loads(path.read_text("utf-8"))["toy"]["unigram"], rounds(course())[0]
    assert {piece.piece: piece.count for piece in first.pieces} == expected["seed_counts"]
    assert sum(piece.count for piece in first.pieces) == expected["total"]
    assert first.loss == pytest.approx(expected["loss"])
    losses = {piece.piece: piece.loss for piece in first.pieces}
    for piece, loss in expected["loss_increase_if_removed"].items():
        assert losses[piece] == pytest.approx(loss, abs=1e-9)


def test_rounds_of_the_course_are_those_of_the_textbook() -> None:
    words = {word.decode(): count for word, count in TOY.items()}
    pieces = unigram.substring_counts(words, whole_words=False)
    found = course()
    for step in rounds(found):
        scores = unigram.log_shares(pieces)
        assert {piece.piece: piece.count for piece in step.pieces} == pieces
        assert step.loss == pytest.approx(unigram.corpus_loss(words, scores))
        for one in step.pieces:
            assert one.score == pytest.approx(scores[one.piece])
            if one.loss is not None:
                assert one.loss == pytest.approx(unigram.loss_if_removed(one.piece, words, scores), abs=1e-9)
        kept = [one.loss for one in step.pieces if one.kept and one.loss is not None]
        assert all(one.loss is not None and one.loss <= min(kept) for one in step.pieces if not one.kept)
        pieces = {piece: count for piece, count in pieces.items() if piece not in step.removed}
    assert {token.decode() for token in found.vocab} == {*pieces}
    assert len(pieces) == 10


SETTINGS: list[dict[str, Any]] = [
    {"vocab_size": 262},
    {"vocab_size": 270, "tie_break": "first", "alphabet": "corpus", "special_tokens": ["<s>"], "max_token_length": 3},
    {"vocab_size": 20, "alphabet": "corpus", "tie_break": "bytes", "limit_alphabet": 3, "min_frequency": 3},
    {"vocab_size": 30, "alphabet": "corpus", "whole_characters": True},
    {"vocab_size": 20, "byte_level": False, "limit_alphabet": 3},
    {"vocab_size": 20, "algorithm": "wordpiece", "max_token_length": 4},
    {"vocab_size": 20, "algorithm": "wordpiece", "score": "course", "min_frequency": 2, "tie_break": "first"},
    {"vocab_size": 20, "algorithm": "wordpiece", "score": "count", "tie_break": "bytes", "prefix": "a"},
    {"vocab_size": 12, "algorithm": "unigram", "min_frequency": 1},
]


@pytest.mark.rotating(6)
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.filterwarnings("ignore::subwords.SubwordsWarning")
@given(words=word_counts("abé "))
def test_the_result_is_that_of_train(settings: dict[str, Any], words: dict[bytes, int]) -> None:
    rules: dict[str, Any] = {"splitter": "gpt2", "normalizer": None, **settings}
    if settings.get("algorithm") in ("wordpiece", "unigram"):
        rules["special_tokens"] = ["[UNK]"] if settings["algorithm"] == "wordpiece" else ["<unk>"]
    counts = counts_of(words, tuple(rules.get("special_tokens", ())))
    try:
        trained = subwords.train(counts, progress=False, **rules)
    except TrainingError as error:
        with pytest.raises(TrainingError, match=str(error)[:20]):
            subwords.study.explain_training(counts, **rules)
        return
    found = subwords.study.explain_training(counts, **rules)
    assert found.vocab == tuple(trained.model.vocab)
    if trained.model.__class__.__name__ == "BPE":
        assert found.merges == trained.merges
    assert json.loads(json.dumps(found.to_dict()))["algorithm"] == found.algorithm


@pytest.mark.filterwarnings("ignore::subwords.SubwordsWarning")
@given(words=word_counts("abc"))
def test_each_merge_has_the_best_score(words: dict[bytes, int]) -> None:
    found = subwords.study.explain_training(counts_of(words), vocab_size=20, splitter="gpt2", alphabet="corpus")
    for step in merges(found):
        assert step.chosen.count == max(pair.count for pair in step.pairs)
        assert step.tied == sum(pair.count == step.chosen.count for pair in step.pairs)
        assert all(word.word == "".join(word.tokens) for word in step.words)


def test_text_and_html() -> None:
    found = character_bpe()
    lines = str(found).splitlines()
    assert lines[0] == "bpe: 30 words, 31 first tokens, 50 at the end"
    assert "step 1: merge ' ' 't' to ' t': count 7" in lines
    assert "    then 'i' 's': count 5" in lines
    found = subwords.study.explain_training(["<script>alert(1)</script> " * 3], vocab_size=260)
    html = found._repr_html_()
    assert "<script" not in html
    assert html.count("candidates") == len(found.steps)


def test_large_corpora_and_wrong_settings_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_bytes(b"a " * 600_000)
    with pytest.raises(TrainingError, match="expected at most 1048576 bytes of text to explain training on"):
        subwords.study.explain_training(tmp_path / "x.txt", vocab_size=300)
    with pytest.raises(TrainingError, match="expected at most 1000 different words"):
        subwords.study.explain_training([" ".join(map(str, range(1100)))], vocab_size=300)
    with pytest.raises(TrainingError, match="more than 3 steps to explain"):
        subwords.study.explain_training(CORPUS, vocab_size=300, limit=3)
    with pytest.raises(TrainingError, match="more than 1 steps to explain"):
        subwords.study.explain_training(CORPUS, vocab_size=40, algorithm="unigram", limit=1)
    wrong: Any = "wordlevel"
    with pytest.raises(InputError, match="algorithm"):
        subwords.study.explain_training(CORPUS, vocab_size=300, algorithm=wrong)
    with pytest.raises(InputError, match="`score` is for wordpiece"):
        subwords.study.explain_training(CORPUS, vocab_size=300, score="course")
    with pytest.raises(InputError, match="expected counts made with splitter"):
        subwords.study.explain_training(counts_of({b"a": 1}), vocab_size=300, splitter="bert")


def test_words_with_unknown_characters_have_no_path() -> None:
    options: dict[str, Any] = {"algorithm": "unigram", "character_coverage": 0.9, "vocab_size": 12}
    found = subwords.study.explain_training(["low lower low newer lowest q " * 3], **options)
    assert all(step.loss < float("inf") for step in rounds(found))
    assert any(word.tokens == tuple(word.word) for word in rounds(found)[-1].words)


def test_a_few_hundred_words_take_a_moment() -> None:
    start = time.process_time()
    subwords.study.explain_training([" ".join(f"w{k}rd{k % 7}s" for k in range(300))], vocab_size=300)
    assert time.process_time() - start < 20


@pytest.mark.parametrize("settings", [{"byte_level": False}, {"algorithm": "wordpiece", "special_tokens": ["[UNK]"]}])
def test_bytes_that_are_not_utf8_split_words(settings: dict[str, Any]) -> None:
    specials = tuple(settings.get("special_tokens", ()))
    counts = counts_of({b"ab\xffcd": 3, b"\xfe": 1, b"abcd": 2}, specials)
    rules: dict[str, Any] = {"splitter": "gpt2", "normalizer": None, "vocab_size": 12, **settings}
    found, trained = subwords.study.explain_training(counts, **rules), subwords.train(counts, progress=False, **rules)
    assert found.vocab == tuple(trained.model.vocab)
    assert [(word.word, len(word.tokens)) for word in found.words] == [("ab\\xffcd", 2), ("ab\\xffcd", 2), ("abcd", 4)]
