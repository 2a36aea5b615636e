"""Words of up to SHORT_WORD symbols, whose pairs stay in registers, and the table of pairs: equal to the textbook."""

from __future__ import annotations

import random
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines import splitter
from inside import encoder_of, engine_encoder, models_bpe_segmenter
from inside import kernels_layout as layout
from strategies import Pair, model_of
from subwords.machine import BPE, Vocab
from subwords.reference import bpe as reference
from twins import check_words

WHOLE = splitter(r"(?s:.+)")
BYTES = [bytes([byte]) for byte in range(256)]
FALLBACK = [b"<0x%02X>" % byte for byte in range(256)]
EDGES = (1, 2, 3, 15, 16, 17, 18, *(layout.SHORT_WORD + more for more in (-1, 0, 1, 2)))
LETTERS = {"bytes": ["a", "b", "c"], "characters": ["a", "é", "文"]}
EXAMPLES = settings(max_examples=settings.default.max_examples // 2)


def pairs_from(rng: random.Random, letters: list[bytes], count: int, *, once: bool) -> list[Pair]:
    """Merges in any order; with `once`, no two have the same result."""
    tokens, pairs = list(letters), dict[Pair, None]()
    for _ in range(count):
        pair = rng.choice(tokens), rng.choice(tokens)
        if len(b"".join(pair)) <= 40 and not (once and b"".join(pair) in tokens):
            pairs[pair] = None
            tokens.append(b"".join(pair))
    return rng.sample(list(pairs), len(pairs))


def words_from(rng: random.Random, letters: list[bytes]) -> list[bytes]:
    lengths = [*EDGES, *rng.sample(range(4, layout.SHORT_WORD), 4)]
    return [b"".join(rng.choices(letters[: rng.choice([1, 2, 3])], k=length)) for length in lengths]


def check(model: BPE, words: list[bytes], merges: list[Pair] | Mapping[Pair, int]) -> None:
    tokens = [reference.encode_word(word, merges, byte_level=model.byte_level) for word in words]
    check_words(encoder_of(model, WHOLE), words, tokens)


@EXAMPLES
@given(seed=st.integers(0, 2**32), kind=st.sampled_from(["all bytes", "few bytes", "links", "no links"]))
def test_short_words(seed: int, kind: str) -> None:
    rng = random.Random(seed)
    by_byte = kind.endswith("bytes")
    letters = [letter.encode() for letter in LETTERS["bytes" if by_byte else "characters"]]
    base = {"all bytes": BYTES, "links": [*FALLBACK, *letters]}.get(kind, letters)
    fields = {"byte_level": by_byte, "byte_fallback": kind == "links"}
    pairs = pairs_from(rng, letters, rng.choice([0, 3, 10, 40]), once=rng.random() < 0.5)
    check(model_of(base, pairs, **fields), words_from(rng, letters), pairs)


@EXAMPLES
@given(seed=st.integers(0, 2**32))
def test_new_words_side_by_side(seed: int) -> None:
    rng = random.Random(seed)
    letters = [letter.encode() for letter in LETTERS["bytes"]]
    pairs = pairs_from(rng, letters, rng.choice([10, 60]), once=rng.random() < 0.5)
    words = [bytes(rng.choices(b"abc", k=rng.randint(1, layout.INLINE + 2))) for _ in range(2 * layout.SIDE_WINDOW)]
    again = rng.choices(words, k=layout.SIDE_WINDOW)  # equal words, new in the same window
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models_bpe_segmenter, "SIDE_PLACES", 0)
        model = model_of(BYTES, pairs)
        check(model, rng.sample(words + again, len(words + again)), pairs)
        assert encoder_of(model, WHOLE).segmenter.arrays.settings[layout.BPE.side] == 1


def test_new_words_side_by_side_in_tables_that_are_full(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(5)
    monkeypatch.setattr(models_bpe_segmenter, "SIDE_PLACES", 0)
    monkeypatch.setattr(engine_encoder, "MOST_SLOTS", 1 << 10)
    monkeypatch.setattr(engine_encoder, "MOST_ARENA", 1 << 12)
    pairs = pairs_from(rng, [b"a", b"b", b"c"], 40, once=True)
    check(model_of(BYTES, pairs), [bytes(rng.choices(b"abc", k=rng.randint(1, 24))) for _ in range(3000)], pairs)


@EXAMPLES
@given(seed=st.integers(0, 2**32))
def test_ids_ascend_with_ranks_or_not(seed: int) -> None:
    rng = random.Random(seed)
    letters = [letter.encode() for letter in LETTERS["bytes"]]
    pairs = pairs_from(rng, letters, 20, once=True)
    model, words = model_of(BYTES, pairs), words_from(rng, letters)
    check(model, words, pairs)
    assert encoder_of(model, WHOLE).segmenter.arrays.settings[layout.BPE.first_result] == 256
    tokens = rng.sample(list(model.vocab), len(model.vocab))
    ids = {token: index for index, token in enumerate(tokens)}
    merges = np.array([(ids[a], ids[b], ids[a + b]) for a, b in pairs], np.int64)
    other = BPE(Vocab(tokens), merges)
    if min(np.diff(merges[:, 2]), default=1) < 0:
        assert encoder_of(other, WHOLE).segmenter.arrays.settings[layout.BPE.first_result] == layout.MISSING
    check(other, words, pairs)


@EXAMPLES
@given(seed=st.integers(0, 2**32), kind=st.sampled_from(["bytes", "characters"]))
def test_tied_priorities(seed: int, kind: str) -> None:
    # Among pairs of equal rank the leftmost is merged first, whatever it yields.
    rng = random.Random(seed)
    letters = [letter.encode() for letter in LETTERS[kind]]
    pairs = pairs_from(rng, letters, rng.choice([3, 10, 40]), once=False)
    ranks = sorted(rng.choices(range(rng.choice([1, 3, 20])), k=len(pairs)))
    fields = {"byte_level": kind == "bytes", "ranks": np.array(ranks, np.int64)}
    model = model_of(BYTES if kind == "bytes" else [*letters, b"<unk>"], pairs, **fields)
    if len(set(ranks)) < len({pair[0] + pair[1] for pair in pairs}):
        assert encoder_of(model, WHOLE).segmenter.arrays.settings[layout.BPE.tied] == 1
    check(model, words_from(rng, letters), dict(zip(pairs, ranks, strict=True)))


@EXAMPLES
@given(seed=st.integers(0, 2**32), kind=st.sampled_from(["merges", "ranks"]))
def test_words_if_many_pairs_have_the_same_result(seed: int, kind: str) -> None:
    rng = random.Random(seed)
    pairs = pairs_from(rng, [b"a", b"b", b"c"], rng.choice([10, 60]), once=False)
    if kind == "ranks":
        extra = [bytes(rng.choices(b"abc", k=rng.randint(2, 7))) for _ in range(10)]  # some are lost
        tokens = [*dict.fromkeys([*BYTES, *(a + b for a, b in pairs), *extra])]
        tokens[256:] = rng.sample(tokens[256:], len(tokens) - 256)
        model = BPE.from_ranks(tokens)
        ranks = {(tokens[a], tokens[b]): c for a, b, c in model.merges.tolist()}
    else:
        model, ranks = model_of(BYTES, pairs), {pair: rank for rank, pair in enumerate(pairs)}
    encoder = encoder_of(model, WHOLE)
    ids = {token: index for index, token in enumerate(model.vocab)}
    lengths = [1, 2, 3, 15, 16, 17, 31, 32, 33, layout.SHORT_WORD, layout.SHORT_WORD + 1, 200]
    words = [bytes(rng.choices(b"abc"[: rng.choice([1, 2, 3])], k=n)) for n in lengths]
    expected = [
        [word] if kind == "ranks" and word in ids else reference.encode_word(word, ranks, byte_level=True)
        for word in words
    ]
    assert encoder.encode_batch(words, 1).to_lists() == [[ids[token] for token in each] for each in expected]


def test_of_equal_pairs_the_last_counts() -> None:
    merges = np.array([(97, 98, 256), (98, 99, 257), (97, 98, 256)], np.int64)
    encoder = encoder_of(BPE(Vocab([*BYTES, b"ab", b"bc"]), merges), WHOLE)
    assert encoder.encode(b"abcab").tolist() == [97, 257, 256]
