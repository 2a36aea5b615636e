"""The rules of GPT-4, Llama 3 and Qwen: masks equal the regex on every byte sequence (S1, S2, S4)."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engines import splitter
from inside import CHUNK_WORDS, PATTERNS, GapsRoute, SplitBuffers
from inside import split_routes as routes
from seeds import sweep_seed
from splitting import words_of
from strategies import BLANKS, CONTRACTIONS, FRAGMENTS, INVALID, MARKS, byte_texts
from subwords.reference.bpe import split_bytes

NAMES = ("cl100k", "llama3", "qwen2")
LEAST_WORDS = 64  # the least capacity a scan by masks can work with: one block at a time
names = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(scope="module", autouse=True)
def masks_alone() -> Iterator[None]:
    """The route by masks leaves no text to the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(routes, "SAMPLE", 1 << 40)
        yield


def reference_ends(data: bytes, name: str) -> list[int]:
    return list(itertools.accumulate(map(len, split_bytes(data, PATTERNS[name]))))


def ends_with(name: str, words: int, data: bytes, start: int, stop: int) -> list[int]:
    text, bounds = np.frombuffer(data, np.uint8), np.array([start, stop], np.int64)
    chunks = splitter(name).route.texts(text, bounds, SplitBuffers(words))
    return [base + end for _, base, ends, n, _ in chunks for end in ends[: n[-1]].tolist()]


@names
def test_rule_goes_by_masks(name: str) -> None:
    assert isinstance(splitter(name).route, GapsRoute)
    assert isinstance(splitter(PATTERNS[name]).route, GapsRoute)


@names
@given(byte_texts())
def test_any_bytes(name: str, data: bytes) -> None:
    assert splitter(name).byte_spans(data)[:, 1].tolist() == reference_ends(data, name)


@names
@given(st.lists(st.sampled_from(["\n", "\r\n", " ", "  ", "\t", "\u2028", "\u3000", "!", "'", "a", "1"])).map("".join))
def test_any_whitespace(name: str, text: str) -> None:
    data = text.encode()
    assert splitter(name).byte_spans(data)[:, 1].tolist() == reference_ends(data, name)


ATOMS = (b"a", b"1", b" ", b"\n", b"\r", b"\t", b"'", b"S", b"l", b"!", "é".encode(), "\u3000".encode(), b"\xe2")


@names
@pytest.mark.parametrize("offset", [0, 61, 62, 63])
def test_every_short_sequence_across_a_block_border(name: str, offset: int) -> None:
    for atoms in [*itertools.product(ATOMS, repeat=4)][sweep_seed() % 40 :: 40]:  # all of them within those of five
        data = b"!" * offset + b"".join(atoms)
        assert splitter(name).byte_spans(data)[:, 1].tolist() == reference_ends(data, name), atoms


@pytest.mark.sweep
@names
@pytest.mark.parametrize("offset", [0, *range(59, 65)])
def test_sequences_of_five_across_a_block_border(name: str, offset: int) -> None:
    for atoms in [*itertools.product(ATOMS, repeat=5)][sweep_seed() % 20 :: 20]:
        data = b"!" * offset + b"".join(atoms)
        assert splitter(name).byte_spans(data)[:, 1].tolist() == reference_ends(data, name), atoms


@names
@pytest.mark.parametrize("before", [b"a", b"1", b" ", b"\n", b"!", b"\xc3\xa9", "\u3000".encode(), b"'"])
def test_every_fragment_at_every_offset_of_a_block(name: str, before: bytes) -> None:
    width = len(before)
    fragments = [*map(str.encode, (*CONTRACTIONS, "'\u017f", "'LL", *BLANKS, *MARKS, *FRAGMENTS)), *INVALID]
    for fragment in [*dict.fromkeys(fragments)][sweep_seed() % 4 :: 4]:
        for offset in range(64 - len(fragment) - width, 66):
            data = b"x" * (offset % width) + before * (offset // width) + fragment + b"a 1"
            assert splitter(name).byte_spans(data)[:, 1].tolist() == reference_ends(data, name), (offset, fragment)


@names
def test_random_atoms_of_many_blocks(name: str) -> None:
    seed = sweep_seed()
    print(f"seed {seed}")
    rng = random.Random(seed)
    atoms = [*ATOMS, *INVALID, *map(str.encode, FRAGMENTS)]
    for _ in range(60):
        data = b"".join(rng.choices(atoms, k=rng.randrange(2000)))
        assert splitter(name).byte_spans(data)[:, 1].tolist() == reference_ends(data, name)


@names
def test_runs_of_whitespace_of_many_blocks(name: str) -> None:
    rng = random.Random(5)
    for _ in range(60):
        runs = (rng.choice((b" ", b"\n", b"\r\n", b"\t", "\u3000".encode())) * rng.randrange(200) for _ in range(6))
        data = rng.choice((b"", b"a", b"!", b"1")) + b"".join(runs) + rng.choice((b"", b"a", b"!", b"1"))
        assert splitter(name).byte_spans(data)[:, 1].tolist() == reference_ends(data, name)


@names
@given(byte_texts(60), st.integers(LEAST_WORDS, 200))
def test_chunk_size_changes_no_word(name: str, data: bytes, words: int) -> None:
    assert ends_with(name, words, data, 0, len(data)) == reference_ends(data, name)


@names
@given(byte_texts(), byte_texts(), byte_texts())
def test_bytes_around_the_text_are_not_seen(name: str, before: bytes, inside: bytes, after: bytes) -> None:
    start, stop = len(before), len(before + inside)
    got = ends_with(name, LEAST_WORDS, before + inside + after, start, stop)
    assert got == [start + end for end in reference_ends(inside, name)]


@names
@given(st.lists(byte_texts(8), max_size=30), st.sampled_from([LEAST_WORDS, 100, 1000, CHUNK_WORDS]))
def test_many_texts_equal_each_alone(name: str, texts: list[bytes], words: int) -> None:
    assert words_of(splitter(name), texts, words) == [split_bytes(text, PATTERNS[name]) for text in texts]


@names
@example(b"!", b"\n  a", 3)
@given(byte_texts(), byte_texts(), st.integers(0, 10_000))
def test_cutting_where_cut_says_changes_no_word(name: str, left: bytes, right: bytes, at: int) -> None:
    data = left + right
    place = splitter(name).cut(np.frombuffer(data, np.uint8), min(at, len(data)))
    parts = [*split_bytes(data[:place], PATTERNS[name]), *split_bytes(data[place:], PATTERNS[name])]
    assert parts == split_bytes(data, PATTERNS[name])
