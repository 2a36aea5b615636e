"""BPE by scores and byte fallback equal the textbook, word by word (E3, E4)."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines import splitter
from inside import encoder_of, space_rule
from inside import kernels_layout as layout
from strategies import Pair, byte_texts, merge_lists, small_words
from subwords import FormatError
from subwords.machine import BPE, Vocab
from subwords.reference import bpe as reference
from subwords.reference.bpe import encode_word_scores
from test_modes import GUARDED, WITHOUT_NUMBA, run
from twins import check_words

WHOLE = splitter(r"(?s:.+)")  # a text is one word
BYTES = [b"<0x%02X>" % byte for byte in range(256)]
LETTERS = "abcé文"
# Few scores, so that most pieces tie with others; the two zeros are not equal.
SCORES = st.sampled_from([-0.0, 0.0, -1.0, -2.5, -1e9, 3.0, 1.5])


def model_of(scores: Mapping[bytes, float], fallback: bool, unused: Sequence[bytes] = ()) -> BPE:
    """Ids are <unk>, the bytes if there is a fallback, then the pieces."""
    tokens = [b"<unk>", *(BYTES if fallback else []), *scores]
    lost = range(len(tokens) - len(scores))
    return BPE.from_scores(
        tokens,
        [0.0] * len(lost) + list(scores.values()),
        unk_id=0,
        byte_fallback=fallback,
        special_ids=lost,
        unused_ids=[tokens.index(piece) for piece in unused],
    )


def ordered(scores: Mapping[bytes, float]) -> dict[bytes, float]:
    """Scores as the textbook takes them: it knows one zero."""
    return {piece: 1e-30 if score == 0 and np.copysign(1, score) > 0 else score for piece, score in scores.items()}


@st.composite
def scored_pieces(draw: st.DrawFn, letters: str = LETTERS) -> dict[bytes, float]:
    """Pieces of any length; what they begin with need not be a piece, nor need every letter."""
    pieces = draw(st.lists(st.text(letters, min_size=1, max_size=2), max_size=8, unique=True))
    for _ in range(draw(st.integers(0, 25))):
        known = [*pieces, *letters]
        joint = draw(st.sampled_from(known)) + draw(st.sampled_from(known))
        if len(joint) <= 12 and joint not in pieces:
            pieces.append(joint)
    return {piece.encode(): draw(SCORES) for piece in pieces}


@given(scored_pieces(), st.booleans(), st.data(), st.lists(small_words(LETTERS + "😀"), min_size=1, max_size=6))
def test_any_scores(scores: dict[bytes, float], fallback: bool, data: st.DataObject, words: list[str]) -> None:
    unused = data.draw(st.lists(st.sampled_from(sorted(scores)), max_size=6, unique=True)) if scores else []
    datas = [word.encode() for word in words]
    ref = [encode_word_scores(word, ordered(scores), byte_fallback=fallback, unused=unused) for word in datas]
    check_words(encoder_of(model_of(scores, fallback, unused), WHOLE), datas, ref)


@given(
    scored_pieces("ab"), st.lists(st.sampled_from("aab文"), min_size=layout.SHORT_WORD - 3, max_size=250), st.booleans()
)
def test_long_words(scores: dict[bytes, float], letters: list[str], fallback: bool) -> None:
    word = "".join(letters).encode()
    ref = encode_word_scores(word, ordered(scores), byte_fallback=fallback)
    check_words(encoder_of(model_of(scores, fallback), WHOLE), [word], [ref])


@given(byte_texts())
def test_any_bytes_fall_back(data: bytes) -> None:
    scores = {token: -float(rank) for rank, token in enumerate(map(str.encode, ["th", "the", "слов", "文字", "  "]))}
    scores |= {bytes([byte]): -100.0 for byte in range(32, 127)}
    ref = encode_word_scores(data, scores, byte_fallback=True)
    check_words(encoder_of(model_of(scores, True), WHOLE), [data] if data else [], [ref] if data else [])


@pytest.mark.parametrize("length", [1, 15, 16, 17, layout.SHORT_WORD, 57, 1000, 70_001])
def test_runs_that_tie(length: int) -> None:
    # Mistral's and Gemma's runs of blanks are equal in score; there is none of 15.
    scores = {("▁" * n).encode(): -1e9 for n in (*range(2, 15), 16)} | {"▁".encode(): -1.0, b"t": -2.0}
    word = ("▁" * length).encode()
    encoder = encoder_of(model_of(scores, False), WHOLE)
    got = [encoder.segmenter.model.vocab[i].decode() for i in encoder.encode(word).tolist()]
    assert "".join(got) == "▁" * length
    assert [len(token) for token in got[: length // 16]] == [16] * (length // 16)
    if length <= 1000:
        assert [token.encode() for token in got] == encode_word_scores(word, scores)


def test_pieces_unreachable_or_never_used_are_taken_apart() -> None:
    scores = dict.fromkeys([b"a", b"b", b"ab", b"abab", b"ba"], 0.0) | {b"ab": 1.0, b"abab": 2.0, b"x": 0.0}
    unused = [b"ab", b"abab", b"ba", b"x"]
    words = [b"abab", b"ba", b"xx", b"axb", b"ab"]
    ref = [[b"a", b"b", b"a", b"b"], [b"b", b"a"], [b"<unk>"], [b"a", b"<unk>", b"b"], [b"a", b"b"]]
    assert ref == [encode_word_scores(word, scores, unused=unused) for word in words]
    check_words(encoder_of(model_of(scores, False, unused), WHOLE), words, ref)


def test_unused_pieces_are_taken_apart_no_deeper_than_sentencepiece_does() -> None:
    # Piece n is taken apart into piece n - 1 and a letter: 101 times, not more.
    scores = {b"a" * n: float(n) for n in range(1, 131)}
    unused = [b"a" * n for n in range(2, 131)]
    model = model_of(scores, False, unused)
    ids = encoder_of(model, WHOLE).encode(b"a" * 130).tolist()
    assert [len(model.vocab[i]) for i in ids] == [29, *[1] * 101]
    ids = encoder_of(model, WHOLE).encode(b"a" * 100).tolist()
    assert [len(model.vocab[i]) for i in ids] == [1] * 100


def test_a_word_that_is_user_defined_is_taken_at_once() -> None:
    tokens = [b"<unk>", b"a", b"b", b"ab", b"<x>", b"aab", b"<"]
    model = BPE.from_scores(
        tokens, [0, -1, -2, -3, 0, 0, -4], unk_id=0, byte_fallback=False, special_ids=[0], user_ids=[4, 5]
    )
    rule = space_rule([tokens[i] for i in (1, 2, 3, 6)], [tokens[i] for i in model.user_ids])
    encoder = encoder_of(model, splitter(rule))
    assert [tokens[i] for i in encoder.encode(b"b<x>aabab<x").tolist()] == [b"b", b"<x>", b"aab", b"ab", b"<", b"<unk>"]


@pytest.mark.parametrize("fallback", [False, True])
def test_models_of_characters_and_of_words(fallback: bool) -> None:
    tokens = [b"<unk>", *(BYTES if fallback else []), *map(str.encode, ["▁", "a", "b", "ab", "▁ab", "é"])]
    first = len(tokens) - 6
    options = {"unk_id": 0, "byte_fallback": fallback, "special_ids": range(first), "unused_ids": [len(tokens) - 1]}
    words = list(map(str.encode, ["▁ab", "▁abé", "ab", "éx▁"]))
    tail = BYTES[0xC3:0xC4] + BYTES[0xA9:0xAA] if fallback else [b"<unk>"]
    last = [*tail, BYTES[ord("x")]] if fallback else tail
    space = "▁".encode()
    model = BPE.from_scores(tokens, [0.0] * len(tokens), kind="char", **options)  # type: ignore[arg-type]
    ref = [[space, b"a", b"b"], [space, b"a", b"b", *tail], [b"a", b"b"], [*last, space]]
    check_words(encoder_of(model, WHOLE), words, ref)
    model = BPE.from_scores(tokens, [0.0] * len(tokens), kind="word", **options)  # type: ignore[arg-type]

    def whole(word: bytes) -> list[bytes]:
        return [BYTES[byte] for byte in word] if fallback else [b"<unk>"]

    check_words(encoder_of(model, WHOLE), words, [["▁ab".encode()], whole(words[1]), [b"ab"], whole(words[3])])


@pytest.mark.parametrize("fuse", [False, True])
@given(data=st.data(), words=st.lists(small_words("abé文😀x"), min_size=1, max_size=5))
def test_merges_with_byte_fallback(fuse: bool, data: st.DataObject, words: list[str]) -> None:
    # Some bytes only: é and x fall back, the others become unk, behind the bytes that follow. Bytes may be merged too.
    base = [b"a", b"b", b"<0xC3>", b"<0xA9>", b"<0x78>"]
    pairs: list[Pair] = data.draw(merge_lists(base))
    tokens = list(dict.fromkeys([b"<unk>", *base, *(left + right for left, right in pairs)]))
    ids = {token: i for i, token in enumerate(tokens)}
    merges = np.array([(ids[a], ids[b], ids[a + b]) for a, b in pairs], np.int64).reshape(-1, 3)
    model = BPE(Vocab(tokens), merges, byte_level=False, unk_id=0, fuse_unk=fuse, byte_fallback=True)
    datas = [word.encode() for word in words]
    options = {"byte_level": False, "vocab": tokens, "unk": "<unk>", "fuse_unk": fuse, "byte_fallback": True}
    ref = [reference.encode_word(word, pairs, **options) for word in datas]  # type: ignore[arg-type]
    check_words(encoder_of(model, WHOLE), datas, ref)


def test_cuts_at_blanks_change_nothing() -> None:
    seed = 8
    print(f"seed {seed}")
    rng = random.Random(seed)
    for _ in range(200):
        letters = rng.choice(["abc", "ab\n"])
        pieces = [
            "▁",
            *("▁" * rng.randint(0, 2) + "".join(rng.choices(letters, k=rng.randint(1, 3))) for _ in range(30)),
        ]
        pieces += ["\n", "\n\n"]
        scores = {piece.encode(): rng.choice([-1.0, -2.0, -3.0]) for piece in pieces}
        if rng.random() < 0.5:
            scores = {piece.decode()[::-1].encode(): score for piece, score in scores.items()}
        model = model_of(scores, False)
        text = "".join(rng.choices("▁▁abcx\n", k=200)).encode()
        fine = encoder_of(model, splitter(space_rule(scores, lines=True)))
        assert fine.encode(text).tolist() == encoder_of(model, WHOLE).encode(text).tolist()


def test_parts_and_unused_tokens_want_something_to_stand_for_them() -> None:
    with pytest.raises(FormatError, match="need an unk token, or all 256 byte tokens"):
        BPE.from_scores([b"ab"], [0.0], unk_id=None, byte_fallback=False, special_ids=[])
    with pytest.raises(FormatError, match="needs byte_level=False"):
        BPE(Vocab([b"a"]), np.zeros((0, 3), np.int64), byte_fallback=True)


def test_interpreted(tmp_path: Path) -> None:
    assert run([WITHOUT_NUMBA, GUARDED, "scores"], tmp_path, SUBWORDS_KERNELS="interpreted") == ("interpreted", False)


@pytest.mark.sweep
def test_checked(tmp_path: Path) -> None:
    assert run(["scores"], tmp_path, SUBWORDS_KERNELS="checked") == ("checked", True)
