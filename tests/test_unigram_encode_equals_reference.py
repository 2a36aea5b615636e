"""Unigram encoding equals the textbook's: in 64 bits word by word, and in 32 over a text as SentencePiece (U5)."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import subwords
from engines import splitter
from inside import BYTE_PIECES, Paths, encoder_of
from inside import kernels_layout as layout
from inside import models_segmenter as segmenter
from strategies import small_words
from subwords import InputError
from subwords.machine import Unigram, Vocab, segmenter_of
from subwords.reference import unigram as reference
from twins import check_words

WHOLE, SPACED = splitter(r"(?s:.+)"), splitter("▁[^▁]*|[^▁]+")
Scores = Mapping[str, float]
SCORES = st.floats(-20, -0.5) | st.sampled_from([-1.0, -2.0, -3.0, -4.0])  # ties are likely


def model_of(scores: Scores, *, running: bool, byte_fallback: bool = False) -> Unigram:
    """A model of these pieces behind <unk>, and with all byte pieces if they are wanted."""
    pieces = BYTE_PIECES if byte_fallback else ()
    special = range(1 + len(pieces))
    low = min(scores.values(), default=0.0)
    return Unigram(
        Vocab([b"<unk>", *pieces, *(piece.encode() for piece in scores)]),
        np.array([low] * len(special) + list(scores.values())),
        0,
        byte_fallback=byte_fallback,
        special_ids=frozenset(special),
        running=running,
    )


def reference_tokens(text: str, scores: Scores, *, running: bool, spaced: bool) -> list[str | None]:
    words = SPACED.split(text) if spaced else [text] if text else []
    return reference.encode(text, scores, words, running=running)


def tokens_of(model: Unigram, ids: Sequence[int]) -> list[str | None]:
    return [None if i == 0 else model.vocab[i].decode() for i in ids]


def check(scores: Scores, texts: Sequence[str], *, running: bool, spaced: bool = False) -> None:
    encoder = encoder_of(model_of(scores, running=running), SPACED if spaced else WHOLE)
    ref = [reference_tokens(text, scores, running=running, spaced=spaced) for text in texts]
    tokens = [[b"<unk>" if token is None else token.encode() for token in each] for each in ref]
    check_words(encoder, [text.encode() for text in texts], tokens)


def vocabularies(letters: str) -> st.SearchStrategy[dict[str, float]]:
    return st.dictionaries(st.text(letters, min_size=1, max_size=5), SCORES, max_size=20)


@given(vocabularies("abé文"), st.booleans(), st.lists(small_words("abé文😀"), max_size=6))
def test_any_vocabulary(scores: dict[str, float], running: bool, words: list[str]) -> None:
    check(scores, words, running=running)


@given(vocabularies("ab▁"), st.booleans(), st.lists(small_words("ab▁é"), max_size=6))
@example({"a": -3.0486779969674114, "bbb": -1.0}, True, ["b" * 71])  # SentencePiece rounds the unknown score too
def test_words_of_texts(scores: dict[str, float], running: bool, texts: list[str]) -> None:
    whole = {piece: score for piece, score in scores.items() if "▁" not in piece[1:]} | {"▁": -3.0}
    check(whole, texts, running=running, spaced=True)


@pytest.mark.parametrize("running", [False, True])
def test_equal_sums(running: bool) -> None:
    check({"a": -1.0, "aa": -2.0, "aaa": -3.0}, ["a" * n for n in range(40)], running=running)
    assert reference.best_path("aaaaa", {"a": -1.0, "aa": -2.0}) == ["a", "aa", "aa"]


def test_sums_that_are_set_back() -> None:
    # Sums pass 100,000 several times, in the midst of words and of blocks of words from the table.
    seed = 8
    print(f"seed {seed}")
    rng = random.Random(seed)
    letters = "abcd"
    scores = {letter: -rng.uniform(100, 900) for letter in letters} | {"▁": -rng.uniform(100, 900)}
    scores |= {"▁" + "".join(rng.choices(letters, k=rng.randint(1, 3))): -rng.uniform(200, 1500) for _ in range(12)}
    scores |= {"".join(rng.choices(letters, k=2)): -rng.uniform(200, 1500) for _ in range(12)}
    words = ["▁" + "".join(rng.choices(letters + "é", k=rng.randint(0, 6))) for _ in range(60)]
    texts = ["".join(rng.choices(words, k=k)) for k in (1, 40, 700, 700, 2500)]
    check(scores, texts, running=True, spaced=True)
    check(scores, ["".join(rng.choices(letters + "é", k=3000))], running=True)


@pytest.mark.parametrize("running", [False, True])
def test_many_characters(running: bool) -> None:
    """Pieces of 5,000 characters of one to four bytes: symbols that no byte has, and a trie of many blocks."""
    rng = random.Random(5)
    letters = [chr(code) for start in (0x20, 0xC0, 0x4E00, 0x1F600) for code in range(start, start + 1250)]
    letters = [letter for letter in letters if letter != "▁"]
    pieces = {"".join(rng.choices(letters[::5], k=rng.randint(1, 4))) for _ in range(3_000)} | set(letters[::2])
    scores = {piece: -rng.randint(1, 64) / 8 for piece in sorted(pieces)}
    parts = [*sorted(pieces), *letters, "\0", "\U00020000"]
    check(scores, ["".join(rng.choices(parts, k=40)) for _ in range(50)], running=running)


@pytest.mark.parametrize(("name", "most"), [("PIECES", 3), ("SYMBOLS", 2), ("NODES", 4), ("UNITS", 3)])
def test_a_trie_that_has_no_room_is_an_error(monkeypatch: pytest.MonkeyPatch, name: str, most: int) -> None:
    monkeypatch.setattr(layout, f"MOST_{name}", most)
    with pytest.raises(subwords.SubwordsError, match=f"at most {most} "):
        segmenter_of(model_of({"a": -1.0, "b": -2.0, "cab": -3.0}, running=False)).arrays  # noqa: B018  # made here


def test_words_of_unknown_characters_alone() -> None:
    # As `finer` cuts; the sums pass 100,000 in known words and in unknown ones.
    seed = 10
    print(f"seed {seed}")
    rng, rule = random.Random(seed), splitter("[ab]+|[^ab]+")
    scores = {"a": -310.7, "b": -95.3, "ab": -400.1, "ba": -406.5}
    parts = ["".join(rng.choices("é文😀", k=rng.choice([1, 2, 40]))) for _ in range(30)]
    parts += ["".join(rng.choices("ab", k=rng.randint(1, 9))) for _ in range(30)]
    model = model_of(scores, running=True)
    encoder = encoder_of(model, rule)
    for text in ("".join(rng.choices(parts, k=k)) for k in (1, 30, 900, 900)):
        ref = reference.encode(text, scores, rule.split(text), running=True)
        for _ in range(2):
            assert tokens_of(model, encoder.encode(text.encode()).tolist()) == ref
    nameless = Unigram(Vocab([b"a"]), np.array([-1.0]), None, running=True)
    with pytest.raises(segmenter.UnknownSymbolError, match="'文' is not in the vocabulary") as error:
        encoder_of(nameless, splitter("a+|[^a]+")).encode("a文é".encode())
    assert error.value.begin == 1


def test_words_the_table_has_many_times() -> None:
    seed = 9
    print(f"seed {seed}")
    rng = random.Random(seed)
    pieces = ["▁", *"abcdefgh", "▁a", "ab", "▁abc", "cd", "▁cd", "efg", "▁e"]
    scores = {piece: -rng.uniform(2, 14) for piece in pieces}
    words = ["▁" + "".join(rng.choices("abcdefgh", k=rng.randint(0, 9))) for _ in range(200)]
    texts = ["".join(rng.choices(words, k=k)) for k in (5000, 30, 300)]
    check(scores, texts, running=True, spaced=True)
    check(scores, texts, running=False, spaced=True)


@given(vocabularies("abé"), st.booleans(), small_words("abé文😀"))
def test_bytes_of_unknown_characters(scores: dict[str, float], running: bool, word: str) -> None:
    model = model_of(scores, running=running, byte_fallback=True)
    ref = [
        part
        for piece in reference.best_path(word, scores, running=running)
        for part in ([piece.encode()] if piece in scores else [BYTE_PIECES[byte] for byte in piece.encode()])
    ]
    got = encoder_of(model, WHOLE).encode(word.encode()).tolist()
    assert [model.vocab[i] for i in got] == ref
    assert all(got)


@given(vocabularies("ab<"), st.lists(small_words("ab<é文"), max_size=4), st.sampled_from(["a", "<", "ab", "b<"]))
def test_the_unk_token_in_text(scores: dict[str, float], words: list[str], unk: str) -> None:
    kept = {unk: -4.0, **scores}
    pieces = list(kept)
    model = Unigram(Vocab([piece.encode() for piece in pieces]), np.array(list(kept.values())), pieces.index(unk))
    for word in words:
        ref = reference.encode(word, kept, unk=unk)
        ids = encoder_of(model, WHOLE).encode(word.encode()).tolist()
        assert [None if i == model.unk_id else pieces[i] for i in ids] == ref
        word_spans = WHOLE.route.word_spans(np.frombuffer(word.encode(), np.uint8))  # type: ignore[arg-type]
        if word:
            ends = segmenter_of(model).token_ends(np.array(ids, np.uint32), np.array([0, len(ids)]), word_spans)
            assert [len(word.encode()[:end].decode()) for end in ends.tolist()][-1] == len(word)


def test_character_nobody_knows_is_refused() -> None:
    model = Unigram(Vocab([b"a", "é".encode()]), np.array([-1.0, -2.0]), None)
    assert encoder_of(model, WHOLE).encode("aé".encode()).tolist() == [0, 1]
    with pytest.raises(segmenter.UnknownSymbolError, match="'文' is not in the vocabulary") as error:
        encoder_of(model, WHOLE).encode("aé文".encode())
    assert error.value.begin == 3


@settings(max_examples=60)
@given(vocabularies("abé"), st.text("abé文", min_size=1, max_size=7), st.booleans())
def test_best_paths(scores: dict[str, float], text: str, running: bool) -> None:
    model = model_of(scores, running=running)
    kept = {piece: (reference.single if running else reference.parsed)(score) for piece, score in scores.items()}
    paths = Paths(encoder_of(model, WHOLE).segmenter, WHOLE.route.word_spans(np.frombuffer(text.encode(), np.uint8)))  # type: ignore[arg-type]
    got = paths.best(1000)
    ref = reference.ranked_paths(text, kept)
    assert len(got) == len(ref)
    # SentencePiece adds 10 to the unknown in 32 bits.
    np.testing.assert_allclose([score for _, score in got], [score for _, score in ref], rtol=1e-6)
    shown = [[piece if piece in scores else None for piece in path] for path, _ in ref]
    fused = [tuple(k for piece, run in groupby(path) for k in (run if piece else [None])) for path in shown]
    assert sorted(map(str, fused)) == sorted(str(tuple(tokens_of(model, ids.tolist()))) for ids, _ in got)


@pytest.mark.parametrize("temperature", [math.inf, 3.0, 1.0])
def test_paths_drawn_by_chance(temperature: float) -> None:
    seed = 5
    print(f"seed {seed}")
    scores = {"a": -1.0, "b": -1.5, "ab": -2.0, "ba": -3.5, "aba": -3.0, "é": -2.0}
    model = model_of(scores, running=False)
    paths = Paths(encoder_of(model, WHOLE).segmenter, WHOLE.route.word_spans(np.frombuffer("ababé".encode(), np.uint8)))  # type: ignore[arg-type]
    shares = reference.path_shares("ababé", scores, 1 / temperature)
    rng, draws = np.random.default_rng(seed), 6000
    found = [tuple(tokens_of(model, paths.draw(temperature, -1, rng).tolist())) for _ in range(draws)]
    assert set(found) <= set(shares)
    for path, share in shares.items():
        spread = 5 * (share * (1 - share) / draws) ** 0.5
        assert abs(found.count(path) / draws - share) < spread, path
    best = tuple(tokens_of(model, paths.draw(temperature, 1, rng).tolist()))
    assert best == tuple(reference.best_path("ababé", scores))


def test_wrong_numbers_are_refused() -> None:
    model = model_of({"a": -1.0}, running=False)
    paths = Paths(encoder_of(model, WHOLE).segmenter, WHOLE.route.word_spans(np.frombuffer(b"a", np.uint8)))  # type: ignore[arg-type]
    rng = np.random.default_rng(0)
    wrong: list[Any] = [0, -1, 1025, 2.0, True, "x", None]
    for n in wrong:
        with pytest.raises(InputError, match=f"expected n from 1 to 1024, not {n!r}"):
            paths.best(n)
    wrong = [-0.1, float("nan"), 0, 1e-9, "x", None]
    for temperature in wrong:
        with pytest.raises(InputError, match=r"expected temperature to be a number from 0\.000001 on, not"):
            paths.draw(temperature, -1, rng)
    with pytest.raises(InputError, match=r"expected nbest to be an integer, not 2.5"):
        paths.draw(0.5, 2.5, rng)  # type: ignore[arg-type]
    tok = subwords.train(["hug hugs"] * 9, algorithm="unigram", vocab_size=9)
    with pytest.raises(InputError, match=r"expected a seed for numpy\.random\.default_rng, not -1"):
        tok.sample("hug", seed=-1)


def test_many_paths_of_one_score_do_not_multiply() -> None:
    scores = {"a": -1.0, "aa": -2.0, "aaa": -3.0}
    model = model_of(scores, running=False)
    paths = Paths(encoder_of(model, WHOLE).segmenter, WHOLE.route.word_spans(np.frombuffer(b"a" * 3000, np.uint8)))  # type: ignore[arg-type]
    found = paths.best(50)
    assert [score for _, score in found] == [-3000.0] * 50
    assert len({ids.tobytes() for ids, _ in found}) == 50


def test_a_long_word_that_is_set_back_often_takes_linear_time() -> None:
    model = model_of({"a": -20.0, "b": -30.0, "ab": -45.0}, running=True)
    ids = encoder_of(model, WHOLE).encode(b"ab" * 1_000_000 + b"x" * 1_000_000)
    assert ids.tolist() == [3] * 1_000_000 + [0]
