"""why_not: every obstacle of a string, and what is computed of it equals a tokenizer that is really changed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import subwords
from small_data import file_of
from strategies import texts
from subwords import InputError
from subwords.machine import BPE, Unigram, Vocab

CORPUS = ["low lower lowest, new newer newest: naïve wide wider widest slow slower " * 9]
TOK = subwords.train(CORPUS, vocab_size=285, special_tokens=["<s>"])
WORDS = subwords.train(CORPUS, algorithm="wordpiece", normalizer="bert-uncased", vocab_size=60)
PIECES = subwords.train(CORPUS, algorithm="unigram", vocab_size=40)
LEVEL = subwords.train(CORPUS, algorithm="wordlevel", vocab_size=8)


def kinds(found: Any) -> list[str]:
    return [one.kind for one in found.obstacles]


@pytest.mark.parametrize("tok", [TOK, WORDS, PIECES, LEVEL], ids=["bpe", "wordpiece", "unigram", "wordlevel"])
@settings(max_examples=12)
@given(text=texts().filter(bool) | st.text("lowern<s>dst ##▁Ġé", min_size=1, max_size=12))
def test_any_string(tok: subwords.Tokenizer, text: str) -> None:
    found = subwords.study.why_not(tok, text)
    assert found.ids == tuple(tok.encode(text))
    assert (found.id is not None) == (len(found.ids) == 1 and found.ids[0] != tok.model.unk_id)
    assert all((one.instead == "") == (one.ids_then is None) for one in found.obstacles)
    assert json.loads(json.dumps(found.to_dict()))["id"] == found.id
    assert str(found).startswith(repr(text))
    assert found.id is not None or not text.strip() or found.obstacles or not found.ids


@given(st.permutations(range(len(TOK.merges))), st.text("lowestnrid", min_size=1, max_size=9))
def test_a_model_without_the_shadowing_merges_has_the_token(order: list[int], text: str) -> None:
    model = TOK.model
    assert isinstance(model, BPE)
    merges = model.merges[order]
    tok = TOK.with_(model=replace(model, merges=merges))
    for one in subwords.study.why_not(tok, text).obstacles:
        if one.kind != "shadowed":
            continue
        assert text.encode() in model.vocab.ids
        kept = np.delete(merges, list(one.merges), axis=0) if one.ids_then else merges
        without = TOK.with_(model=replace(model, merges=kept)).encode(text)
        if one.ids_then is not None:
            assert tuple(without) == one.ids_then == (model.vocab.ids[text.encode()],)


def tiny(merges: list[tuple[str, str]], extra: tuple[str, ...] = ()) -> subwords.Tokenizer:
    """A byte-level tokenizer with these merges."""
    vocab = [bytes([byte]) for byte in range(256)]
    vocab += [*dict.fromkeys((a + b).encode() for a, b in merges), *(token.encode() for token in extra)]
    ids = {token: index for index, token in enumerate(vocab)}
    rows = [(ids[a.encode()], ids[b.encode()], ids[(a + b).encode()]) for a, b in merges]
    return TOK.with_(model=BPE(Vocab(vocab), np.array(rows, np.int64)), added_tokens=())


def test_shadowed_by_an_earlier_merge() -> None:
    found = subwords.study.why_not(tiny([("b", "c"), ("a", "b"), ("ab", "c")]), "abc")
    assert (found.tokens, kinds(found)) == (("a", "bc"), ["shadowed"])
    (one,) = found.obstacles
    assert one.why == "the merge that makes it, 'ab' + 'c' (rank 2), finds no pair: 'b' + 'c' (rank 0) comes first"
    assert str(found).endswith("\n  without the merge 'b' + 'c' it would be one token")
    assert one.merges == (0,)


def test_shadowed_by_two_merges() -> None:
    found = subwords.study.why_not(
        tiny([("b", "c"), ("d", "e"), ("a", "b"), ("c", "d"), ("ab", "cd"), ("abcd", "e")]), "abcde"
    )
    assert found.obstacles[0].merges == (0, 1)
    assert found.obstacles[0].instead == "without the merges 'b' + 'c' and 'd' + 'e'"


def test_a_shadowing_merge_that_the_token_needs_has_no_counterfactual() -> None:
    # The last "b" of "abba" + "b" merges with the "a" before it, as the first one must.
    found = subwords.study.why_not(tiny([("a", "b"), ("b", "a"), ("ab", "ba"), ("abba", "b")]), "abbab")
    assert found.obstacles[0].kind == "shadowed"
    assert "finds no pair: 'a' + 'b' (rank 0) comes first" in found.obstacles[0].why
    assert (found.obstacles[0].instead, found.obstacles[0].ids_then) == ("", None)


def test_a_token_without_a_merge() -> None:
    found = subwords.study.why_not(tiny([("a", "b")], ("zz",)), "zz")
    assert kinds(found) == ["no merge"]
    assert found.obstacles[0].instead == ""


def test_not_learned() -> None:
    found = subwords.study.why_not(TOK, "lowlow")
    assert kinds(found) == ["not learned"]
    assert found.obstacles[0].instead == "with 1 more merge at the end, 'low' + 'low',"
    model = TOK.model
    assert isinstance(model, BPE)
    low, size = model.vocab.ids[b"low"], len(model.vocab)
    merges = np.concatenate([model.merges, [[low, low, size]]])
    more = TOK.with_(model=replace(model, vocab=Vocab([*model.vocab, b"lowlow"]), merges=merges))
    assert tuple(more.encode("lowlow")) == found.obstacles[0].ids_then == (size,)


def test_cuts_of_the_splitter() -> None:
    found = subwords.study.why_not(TOK.with_(splitter="gpt2"), "low, lower")
    assert kinds(found) == ["splitter", "not learned"]
    one = found.obstacles[0]
    assert one.places == (3, 4)
    assert one.why.startswith(r"the pattern splits it into 'low' by  ?\p{L}+, ',' by ")
    assert one.ids_then == tuple(TOK.with_(splitter=[]).encode("low, lower"))
    whitespace = subwords.study.why_not(WORDS, "new low")
    assert kinds(whitespace)[0] == "splitter"
    assert whitespace.obstacles[0].ids_then == (WORDS.model.unk_id,)  # the space is no piece


def test_changes_of_the_normalizer() -> None:
    tok = TOK.with_(normalizer="lowercase")
    found = subwords.study.why_not(tok, "WidEr")
    assert kinds(found)[0] == "normalizer"
    assert found.obstacles[0].places == (0, 3)
    assert found.obstacles[0].ids_then == tuple(TOK.encode("WidEr"))


def test_added_and_special_tokens() -> None:
    found = subwords.study.why_not(TOK, "<s>")
    assert kinds(found)[0] == "special token"
    assert found.obstacles[0].ids_then == (TOK.token_to_id("<s>"),)
    assert subwords.study.why_not(TOK, "<s>", special="allow").id == TOK.token_to_id("<s>")
    inner = subwords.study.why_not(TOK, "low<s>er", special="allow")
    assert (inner.obstacles[0].kind, inner.obstacles[0].places) == ("added token", (3, 6))
    assert inner.obstacles[0].ids_then == tuple(TOK.encode("low<s>er"))


def test_tokens_as_files_spell_them() -> None:
    content = next(token for token in TOK.model.vocab if token.startswith(b" ") and len(token) > 2).decode()
    found = subwords.study.why_not(TOK, content.replace(" ", "Ġ"))
    assert (found.obstacles[0].kind, found.obstacles[0].instead) == ("spelling", f"as {content!r}")
    assert found.obstacles[0].ids_then == tuple(TOK.encode(content))
    assert "'##' is not part of its text" in str(subwords.study.why_not(WORDS, "##er"))


def test_a_piece_with_a_lower_score() -> None:
    model = PIECES.model
    assert isinstance(model, Unigram)
    index = next(i for i, piece in enumerate(model.vocab) if piece.startswith("▁".encode()) and len(piece) > 4)
    scores = model.scores.copy()
    scores[index] = -300
    text = model.vocab[index].decode()[1:]
    found = subwords.study.why_not(PIECES.with_(model=replace(model, scores=scores)), text)
    one = found.obstacles[-1]
    assert (one.kind, one.ids_then) == ("lower score", (index,))
    assert one.why.startswith("its score is -300.0000, and the best path has ")
    scores[index] = float(one.instead.removeprefix("with a score of "))
    assert PIECES.with_(model=replace(model, scores=scores)).encode(text) == [index]
    scores[index] -= 2 / 128  # two units less are too few
    assert PIECES.with_(model=replace(model, scores=scores)).encode(text) != [index]


def test_words_of_wordpiece_and_wordlevel() -> None:
    assert kinds(subwords.study.why_not(WORDS, "l" * 101)) == ["too long"]
    unknown = subwords.study.why_not(LEVEL, "zebra")
    assert str(unknown).splitlines() == [
        "'zebra' is unknown: '<unk>'",
        "not learned: 'zebra' is not in the vocabulary",
        "  if it were one of the words it would be one token",
    ]


REAL: list[tuple[str, str, list[str]]] = [
    ("gpt2/tokenizer.json", "Ġthe", ["spelling", "not learned"]),
    ("bert/bert-base-uncased-tokenizer.json", "Tokenizer", ["normalizer", "not learned"]),
    ("t5/spiece.model", "two words", ["normalizer", "splitter", "not learned"]),
]


@pytest.mark.parametrize(("name", "text", "expected"), REAL, ids=[name for name, *_ in REAL])
def test_real_files(data: Path, name: str, text: str, expected: list[str]) -> None:
    found = subwords.study.why_not(subwords.load(file_of(data, name)), text)
    assert kinds(found) == expected


def test_counts_say_how_often_a_string_occurs() -> None:
    counts = subwords.count(CORPUS)
    found = str(subwords.study.why_not(TOK, " low", counts=counts))
    assert "not in the vocabulary; it is a word 8 times in the counts, and part of other words 18 times" in found
    assert "it is a word 0 times in the counts, and part" in str(subwords.study.why_not(TOK, "zebra", counts=counts))
    wrong: Any = {b"low": 1}
    with pytest.raises(InputError, match="counts"):
        subwords.study.why_not(TOK, "low", counts=wrong)


def test_bytes_that_are_no_character_are_escaped_once() -> None:
    assert str(subwords.study.why_not(TOK, "\xe9")).startswith("'\xe9' is 2 tokens: '\\xc3' '\\xa9'\n")


def test_hostile_and_wrong_strings() -> None:
    wrong: Any = 5
    with pytest.raises(InputError, match="expected a string to explain, not an empty one"):
        subwords.study.why_not(TOK, "")
    with pytest.raises(InputError, match="text"):
        subwords.study.why_not(TOK, wrong)
    with pytest.raises(InputError):
        subwords.study.why_not(TOK, "a\ud800")
    shown = subwords.study.why_not(TOK, "<script>\x00\u202e")._repr_html_()
    assert "<script>" not in shown
