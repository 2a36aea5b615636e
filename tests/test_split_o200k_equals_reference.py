"""The rules of GPT-4o and Tekken: masks and machine together equal the regex on every byte sequence (S1, S2, S4)."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engines import splitter
from inside import CASED, CHUNK_WORDS, PATTERNS, CasedRoute, SplitBuffers, cased_classes, split_o200k
from inside import kernels_layout as layout
from inside import split_routes as mask_routes
from seeds import sweep_seed
from strategies import BLANKS, CONTRACTIONS, FRAGMENTS, INVALID, MARKS, byte_texts
from subwords.reference.bpe import split_bytes

NAMES = ("o200k", "tekken")
names = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(scope="module", autouse=True)
def masks_first() -> Iterator[None]:
    """Every text goes to the masks, and to the machine only where they stop."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mask_routes, "sample_text", lambda text, start, stop: np.zeros(1, np.uint8))
        patch.setattr(mask_routes, "WORTH", 1)
        patch.setattr(CasedRoute, "_many", lambda self, text, bounds, first, buffers: first)
        yield


def reference_ends(data: bytes, name: str) -> list[int]:
    return list(itertools.accumulate(map(len, split_bytes(data, PATTERNS[name]))))


def ends_of(name: str, data: bytes, words: int = CHUNK_WORDS, start: int = 0, stop: int | None = None) -> list[int]:
    text, bounds = np.frombuffer(data, np.uint8), np.array([start, len(data) if stop is None else stop], np.int64)
    chunks = splitter(name).route.texts(text, bounds, SplitBuffers(words))
    return [base + end for _, base, ends, n, _ in chunks for end in ends[: n[-1]].tolist()]


def ends_by_masks(name: str, data: bytes) -> list[int]:
    """The words of the masks alone: none from the block on that they leave to the machine."""
    text, ends = np.frombuffer(data, np.uint8), np.empty(len(data) + 65, np.uint32)
    (rule,) = (rule for rule in CASED if rule == splitter(name).rule)
    classes = np.concatenate([cased_classes(), np.array(CASED[rule], np.uint8)])
    return ends[: split_o200k(text, 0, len(text), classes, np.empty(64, np.uint8), ends)].tolist()


@names
def test_rule_goes_by_masks(name: str) -> None:
    assert isinstance(splitter(name).route, CasedRoute)
    assert isinstance(splitter(PATTERNS[name]).route, CasedRoute)


@names
@given(byte_texts())
def test_any_bytes(name: str, data: bytes) -> None:
    assert ends_of(name, data) == reference_ends(data, name)


PIECES = ["a", "B", "é", "É", "ǅ", "文", "ʰ", "\u0301", "1", "½", "'", "'s", "'lL", "'\u017f", "!", "/", "\n", "\r"]
PIECES += [" ", "\t", "\u3000", "⚠\ufe0f"]


@names
@example("!\n/'\u0301Aa")
@example("⚠\u0301⚠\u0301\n//⚠\u0301a")
@given(st.lists(st.sampled_from(PIECES), max_size=100).map("".join))
def test_any_letters_marks_and_signs(name: str, text: str) -> None:
    data = text.encode()
    expected = reference_ends(data, name)
    assert ends_of(name, data) == expected
    found = ends_by_masks(name, data)
    assert found == expected[: len(found)]


@names
def test_masks_stop_only_at_capitals_after_letters_without_case(name: str) -> None:
    text = "Ärger: don't, WON'T 文字 ʰa ⚠\ufe0f! (⚠\ufe0f a\u0301b\u0301 !\u0301 !!\u0301\n//\u0301a 1234½ \u3000x " * 9
    assert ends_by_masks(name, text.encode()) == reference_ends(text.encode(), name)
    assert ends_by_masks(name, text.encode() + b"." * 64 + "文A".encode())[-1] <= len(text.encode()) + 64


ATOMS = (b"a", b"B", b" ", b"\n", b"'", b"S", b"l", b"!", b"/", "é".encode(), "\u0301".encode(), "文".encode(), b"\xe2")


@names
@pytest.mark.parametrize("offset", [0, 61, 62, 63])
def test_every_short_sequence_across_a_block_border(name: str, offset: int) -> None:
    for atoms in [*itertools.product(ATOMS, repeat=4)][sweep_seed() % 40 :: 40]:  # all of them within those of five
        data = b"a" * offset + b"".join(atoms)
        assert ends_of(name, data) == reference_ends(data, name), atoms


@pytest.mark.sweep
@names
@pytest.mark.parametrize("offset", [0, *range(59, 65)])
def test_sequences_of_five_across_a_block_border(name: str, offset: int) -> None:
    for atoms in [*itertools.product(ATOMS, repeat=5)][sweep_seed() % 20 :: 20]:
        data = b"!" * offset + b"".join(atoms)
        assert ends_of(name, data) == reference_ends(data, name), atoms


@names
@pytest.mark.parametrize("before", ["a", "A", "1", " ", "\n", "!", "/", "é", "\u0301", "⚠\u0301", "文", "\u3000", "'"])
def test_every_fragment_at_every_offset_of_a_block(name: str, before: str) -> None:
    repeated, width = before.encode(), len(before.encode())
    fragments = [*map(str.encode, (*CONTRACTIONS, *PIECES, "'LL", *BLANKS, *MARKS, *FRAGMENTS)), *INVALID]
    for fragment in [*dict.fromkeys(fragments)][sweep_seed() % 8 :: 8]:
        for offset in range(64 - len(fragment) - width, 66):
            data = b"x" * (offset % width) + repeated * (offset // width) + fragment + b"a 1"
            assert ends_of(name, data) == reference_ends(data, name), (offset, fragment)


@names
def test_random_atoms_of_many_blocks(name: str) -> None:
    seed = sweep_seed()
    print(f"seed {seed}")
    rng = random.Random(seed)
    atoms = [*ATOMS, *INVALID, *map(str.encode, (*PIECES, *FRAGMENTS))]
    for _ in range(40):
        data = b"".join(rng.choices(rng.choice((atoms, atoms[:9])), k=rng.randrange(2000)))
        assert ends_of(name, data) == reference_ends(data, name)


@names
def test_runs_of_many_blocks(name: str) -> None:
    rng = random.Random(5)
    units = (b" ", b"\n", b"\r\n", b"/", b"!", b"1", b"\t", "\u3000".encode(), "\u0301".encode(), b"A", b"a")
    for _ in range(60):
        data = b"".join(rng.choice(units) * rng.randrange(200) for _ in range(6))
        assert ends_of(name, data) == reference_ends(data, name)


@names
@given(byte_texts(60), st.integers(layout.LEAST_ENDS, layout.LEAST_ENDS + 200))
def test_chunk_size_changes_no_word(name: str, data: bytes, words: int) -> None:
    many = data * (1 + 3 * layout.LEAST_ENDS // (len(data) + 1))
    assert ends_of(name, many, words) == reference_ends(many, name)


@names
@given(byte_texts(), byte_texts(), byte_texts())
def test_bytes_around_the_text_are_not_seen(name: str, before: bytes, inside: bytes, after: bytes) -> None:
    start, stop = len(before), len(before + inside)
    got = ends_of(name, before + inside + after, start=start, stop=stop)
    assert got == [start + end for end in reference_ends(inside, name)]


@names
@given(byte_texts(), st.data())
def test_a_scan_may_start_at_any_word(name: str, data: bytes, draw: st.DataObject) -> None:
    ends = reference_ends(data, name)
    at = draw.draw(st.sampled_from([0, *ends]))
    assert ends_of(name, data, start=at) == [end for end in ends if end > at]


@names
@pytest.mark.parametrize("repeats", [1, 100, 3000, 9000])
def test_masks_that_stop_soon_leave_much_to_the_machine(
    name: str, repeats: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mask_routes, "WORTH", 1 << 14)
    data = ("Plain text!\n" * repeats + "文Aa文A ").encode() * 3
    assert ends_of(name, data) == reference_ends(data, name)
