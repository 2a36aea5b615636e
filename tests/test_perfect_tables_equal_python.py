"""The perfect table of merges, and the last two parts of each token: equal to a dictionary and to the textbook."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from engines import splitter
from inside import BPE, BPESegmenter, MergeTables, encoder_of, last_parts, open_tables, perfect_tables, without_repeats
from inside import kernels_layout as layout
from strategies import Pair, model_of
from subwords.reference import bpe as reference

WHOLE = splitter(r"(?s:.+)")
BYTES = [bytes([byte]) for byte in range(256)]
LETTERS = [b"a", b"b", b"c"]
LARGEST, ALL = (1 << 21) - 2, (1 << 64) - 1
EXAMPLES = settings(max_examples=settings.default.max_examples // 2)
Rows = NDArray[np.int64]


def rank_in(tables: MergeTables, left: int, right: int) -> int | None:
    """`known_rank` in Python, on integers of any size."""
    key = left << 21 | right
    product = (key ^ tables.seed) * 0x9E3779B97F4A7C15
    spread = product >> 64 ^ product & ALL
    pilot = int(tables.pilots[spread * len(tables.pilots) >> 64])
    if not pilot >> (16 + (spread >> 40 & 15)) & 1:
        return None
    entry = int(tables.pairs[(spread >> (pilot & 15) ^ (pilot & 0xFFFF) >> 4) & (len(tables.pairs) - 1)])
    return entry & ((1 << 22) - 1) if entry >> 22 == key else None


def rows_of(pairs: list[tuple[int, int]], results: list[int]) -> Rows:
    return np.array([(*pair, result) for pair, result in zip(pairs, results, strict=True)], np.int64).reshape(-1, 3)


@EXAMPLES
@given(
    pairs=st.lists(st.tuples(st.integers(0, LARGEST), st.integers(0, LARGEST)), max_size=60, unique=True),
    seed=st.integers(0, 2**32),
)
def test_a_rank_for_every_pair_and_for_no_other(pairs: list[tuple[int, int]], seed: int) -> None:
    rng = random.Random(seed)
    results = rng.sample(range(1000), len(pairs))
    ascending = rng.random() < 0.5
    tables = perfect_tables(rows_of(pairs, sorted(results) if ascending else results))
    ranks = [rank_in(tables, *pair) for pair in pairs]
    assert None not in ranks
    assert sorted(set(ranks)) == ranks
    assert [tables.results[rank] for rank in ranks if rank is not None] == (sorted(results) if ascending else results)
    if tables.first_result != layout.MISSING:
        assert [rank + tables.first_result for rank in ranks if rank is not None] == sorted(results)
    others = {(right, left) for left, right in pairs} | {(left, right ^ 1) for left, right in pairs} | {(0, 0), (1, 0)}
    assert {rank_in(tables, *pair) for pair in others - {*pairs}} <= {None}


def test_many_pairs() -> None:
    rng = random.Random(3)
    pairs = [*{(rng.randrange(3000), rng.randrange(3000)) for _ in range(20_000)}]
    tables = perfect_tables(rows_of(pairs, [*range(256, 256 + len(pairs))]))
    assert (tables.first_result, len(tables.pairs)) == (256, 1 << 15)
    for rank in rng.sample(range(len(pairs)), 300):
        assert rank_in(tables, *pairs[rank]) == rank
    ranks = {pair: rank for rank, pair in enumerate(pairs)}
    for _ in range(300):
        pair = rng.randrange(3000), rng.randrange(3000)
        assert rank_in(tables, *pair) == ranks.get(pair)


def test_of_equal_pairs_the_last_stays() -> None:
    rows = rows_of([(1, 2), (2, 1), (1, 2), (3, 3), (2, 1)], [5, 6, 7, 8, 9])
    assert rows[without_repeats(rows)].tolist() == [[1, 2, 7], [3, 3, 8], [2, 1, 9]]


# ------------------------------------------------------------------ which pairs meet


def pairs_from(rng: random.Random, count: int) -> list[Pair]:
    """Merges in any order; many have the same result."""
    tokens, pairs = list(LETTERS), dict[Pair, None]()
    for _ in range(count):
        pair = rng.choice(tokens), rng.choice(tokens)
        if len(b"".join(pair)) <= 12:
            pairs[pair] = None
            tokens.append(b"".join(pair))
    return rng.sample(list(pairs), len(pairs))


def last_two(token: bytes, ranks: dict[Pair, int]) -> list[bytes]:
    """The textbook, until two symbols are left."""
    symbols = [bytes([byte]) for byte in token]
    while len(symbols) > 2:
        found = [(ranks[pair], k) for k, pair in enumerate(pairwise(symbols)) if pair in ranks]
        if not found:
            break
        _, k = min(found)
        symbols[k : k + 2] = [symbols[k] + symbols[k + 1]]
    return symbols


@EXAMPLES
@given(seed=st.integers(0, 2**32))
def test_last_parts(seed: int) -> None:
    rng = random.Random(seed)
    pairs = pairs_from(rng, rng.choice([0, 5, 40]))
    pairs += [(b"a" * 30, b"a" * 40)] * (rng.random() < 0.2)
    letters = [*BYTES, b"a" * 30, b"a" * 40] if pairs[-1:] == [(b"a" * 30, b"a" * 40)] else BYTES
    model = model_of(letters, pairs)
    ranks = {pair: rank for rank, pair in enumerate(pairs)}
    arrays = BPESegmenter(model)._arrays(open_tables(model.merges, np.arange(len(pairs)), np.zeros((2, 0), np.int64)))
    for token, parts in zip(model.vocab, last_parts(model.vocab, arrays).tolist(), strict=True):
        expected = last_two(token, ranks)
        assert [model.vocab[part] for part in parts if part != layout.MISSING] == (
            expected if len(expected) == 2 else []
        )


@EXAMPLES
@given(seed=st.integers(0, 2**32), kind=st.sampled_from(["merges", "ranks"]))
def test_words_if_many_pairs_have_the_same_result(seed: int, kind: str) -> None:
    rng = random.Random(seed)
    pairs = pairs_from(rng, rng.choice([10, 60]))
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
