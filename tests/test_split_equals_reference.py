"""The rules whose words masks find equal the regex on every byte sequence, by masks and by the machine (S1, S2, S4)."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engines import splitter
from inside import CATEGORIES, PATTERNS, categories, gpt2_classes
from inside import kernels_layout as layout
from inside import split_routes as routes
from seeds import sweep_seed
from splitting import words_of
from strategies import BLANKS, CONTRACTIONS, FRAGMENTS, INVALID, MARKS, byte_texts, contested, regex_classes
from subwords import InputError
from subwords.machine import SplitBuffers
from subwords.reference.bpe import split_bytes

CASED = ("o200k", "tekken")
NAMES = ("gpt2", "cl100k", "llama3", "qwen2", *CASED)
names = pytest.mark.parametrize("name", NAMES)
cased = pytest.mark.parametrize("name", CASED)
LEAST_WORDS = 64  # the least capacity a scan by masks can work with: one block at a time
REAL_SAMPLE = routes.sample_text


@pytest.fixture(scope="module", autouse=True)
def masks_first() -> Iterator[None]:
    """Every text goes to the masks, and to the machine only where they stop."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(routes, "sample_text", lambda text, start, stop: np.zeros(1, np.uint8))
        patch.setattr(routes, "WORTH", 1)
        patch.setattr(routes.CasedRoute, "_many", lambda self, text, bounds, first, buffers: first)
        yield


def reference_ends(data: bytes, name: str) -> list[int]:
    return list(itertools.accumulate(map(len, split_bytes(data, PATTERNS[name]))))


def ends_of(
    name: str, data: bytes, words: int = routes.CHUNK_WORDS, start: int = 0, stop: int | None = None
) -> list[int]:
    text, bounds = np.frombuffer(data, np.uint8), np.array([start, len(data) if stop is None else stop], np.int64)
    chunks = splitter(name).route.texts(text, bounds, SplitBuffers(words))
    return [base + end for _, base, ends, n, _ in chunks for end in ends[: n[-1]].tolist()]


def check(name: str, data: bytes) -> None:
    assert ends_of(name, data) == reference_ends(data, name), data


def test_classes_differ_from_regex_only_where_unassigned() -> None:
    # regex 2026.11 is at Unicode 18 and differs at 17,480 code points; an older one may know fewer than 16.0 does.
    differing = [*map(ord, contested())]
    assert {CATEGORIES[index] for index in categories()[differing]} <= {"Cn"}
    assert len(differing) < 20_000
    assert (gpt2_classes() == regex_classes()).sum() == 0x110000 - len(differing)


# ------------------------------------------------------------------ one text


@names
@given(byte_texts())
def test_any_bytes(name: str, data: bytes) -> None:
    check(name, data)
    assert splitter(name).byte_spans(data)[:, 1].tolist() == reference_ends(data, name)


PIECES = ["a", "B", "é", "É", "ǅ", "文", "ʰ", "\u0301", "1", "½", "'", "'s", "'lL", "'\u017f", "!", "/", "\n", "\r"]
PIECES += ["\r\n", " ", "  ", "\t", "\u2028", "\u3000", "⚠\ufe0f"]


@names
@example("!\n/'\u0301Aa")
@example("⚠\u0301⚠\u0301\n//⚠\u0301a")
@given(st.lists(st.sampled_from(PIECES), max_size=100).map("".join))
def test_any_letters_marks_signs_and_whitespace(name: str, text: str) -> None:
    check(name, text.encode())


ATOMS = (b"a", b"1", b" ", b"\n", b"\r", b"\t", b"'", b"S", b"l", b"!", "é".encode(), "\u3000".encode(), b"\xe2")
CASED_ATOMS = (*ATOMS[:1], b"B", *ATOMS[2:4], *ATOMS[6:11], b"/", "\u0301".encode(), "文".encode(), b"\xe2")


def atoms_of(name: str) -> tuple[bytes, ...]:
    return CASED_ATOMS if name in CASED else ATOMS


@names
@pytest.mark.parametrize("offset", [0, 61, 62, 63])
def test_every_short_sequence_across_a_block_border(name: str, offset: int) -> None:
    for atoms in [*itertools.product(atoms_of(name), repeat=4)][sweep_seed() % 40 :: 40]:  # all of them within five
        check(name, b"b!"[offset % 2 :][:1] * offset + b"".join(atoms))


@pytest.mark.sweep
@names
@pytest.mark.parametrize("offset", [0, *range(59, 65)])
def test_sequences_of_five_across_a_block_border(name: str, offset: int) -> None:
    for atoms in [*itertools.product(atoms_of(name), repeat=5)][sweep_seed() % 20 :: 20]:
        check(name, b"!" * offset + b"".join(atoms))


@names
@pytest.mark.parametrize("before", ["a", "A", "1", " ", "\n", "!", "/", "é", "\u0301", "⚠\u0301", "文", "\u3000", "'"])
def test_every_fragment_at_every_offset_of_a_block(name: str, before: str) -> None:
    repeated, width = before.encode(), len(before.encode())
    fragments = [*map(str.encode, (*CONTRACTIONS, *PIECES, "'LL", *BLANKS, *MARKS, *FRAGMENTS)), *INVALID]
    for fragment in [*dict.fromkeys(fragments)][sweep_seed() % 8 :: 8]:
        for offset in range(64 - len(fragment) - width, 66):
            check(name, b"x" * (offset % width) + repeated * (offset // width) + fragment + b"a 1")


@names
def test_random_atoms_and_runs_of_many_blocks(name: str) -> None:
    rng = random.Random(sweep_seed())
    atoms = [*atoms_of(name), *INVALID, *map(str.encode, (*PIECES, *FRAGMENTS))]
    units = (b" ", b"\n", b"\r\n", b"/", b"!", b"1", b"\t", "\u3000".encode(), "\u0301".encode(), b"A", b"a")
    for _ in range(40):
        check(name, b"".join(rng.choices(rng.choice((atoms, atoms[:9])), k=rng.randrange(2000))))
        check(name, b"".join(rng.choice(units) * rng.randrange(200) for _ in range(6)))


# As in kernels/split/masks.py, `usual_characters`.
LETTERS = (
    *(*range(0xC0, 0xD7), *range(0xD8, 0xF7), *range(0xF8, 0x2C0), *range(0x400, 0x480), *range(0x1E00, 0x1F00)),
    *(*range(0x620, 0x64B), *range(0x671, 0x6D4), *range(0x904, 0x93A), *range(0x958, 0x962)),
)
OTHERS = (*range(0x900, 0x904), *range(0x93E, 0x950))
# Their neighbours, which go another way; and what is no UTF-8.
NEIGHBOURS = (0xD7, 0xF7, 0x2C0, 0x482, 0x61F, 0x64B, 0x66A, 0x6D4, 0x93C, 0x93D, 0x950, 0x966, 0x2003)
BROKEN = (b"\xc3", b"\xe1\xb8", b"\xe0\xa4", b"\xe0", b"\x80", b"\xd9", b"\xf0\x9f", b"\xe1\xba\x41")
PLAIN = (b"a", b" ", b"1", b".", b"'s", b"\n", b"  ", b"\xe2\x80\x9c")


@pytest.mark.rotating(3)
@names
def test_each_character_that_masks_classify_at_a_place_of_a_block(name: str) -> None:
    assert {*gpt2_classes()[[*LETTERS]].tolist()} == {layout.LETTER}
    assert {*gpt2_classes()[[*OTHERS]].tolist()} == {0}
    for k, code in enumerate((*LETTERS, *OTHERS, *NEIGHBOURS)):
        for before in (k % 64, 61, 62, 63):
            check(name, b"x" * before + f"{chr(code)}b {chr(code)} 1{chr(code)}".encode())


@names
def test_mixtures_with_what_is_no_utf8(name: str) -> None:
    rng = random.Random(sweep_seed())
    usual, near = ([chr(code).encode() for code in codes] for codes in ((*LETTERS, *OTHERS), NEIGHBOURS))
    for _ in range(150):
        pools = rng.choice([(usual, PLAIN), (usual, PLAIN, BROKEN), (usual, near, PLAIN, BROKEN)])
        check(name, b"".join(rng.choice(rng.choice(pools)) for _ in range(rng.randrange(300))))


# ------------------------------------------------------------------ masks or machine


@cased
@pytest.mark.parametrize("repeats", [1, 100, 3000, 9000])
def test_masks_that_stop_soon_leave_much_to_the_machine(
    name: str, repeats: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "WORTH", 1 << 14)
    check(name, ("Plain text!\n" * repeats + "文Aa文A ").encode() * 3)


@pytest.mark.parametrize("sample", [64, 4096])
def test_dense_text_goes_the_way_of_the_machine(sample: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "sample_text", REAL_SAMPLE)
    monkeypatch.setattr(routes, "SAMPLE", sample)
    text = "x " + "слово и ещё; 12 " * 500 + "plain text of ASCII letters " * 400 + "\xff"
    data = text.encode() + b"\xff\xd0"
    for words in (1024, 5000, routes.CHUNK_WORDS):
        assert ends_of("gpt2", data, words) == reference_ends(data, "gpt2")
        assert ends_of("gpt2", data, words, 2) == [2 + end for end in reference_ends(data[2:], "gpt2")]


# ------------------------------------------------------------------ parts of a text


@names
@given(byte_texts(60), st.integers(0, 200))
def test_chunk_size_changes_no_word(name: str, data: bytes, more: int) -> None:
    least = layout.LEAST_ENDS if name in CASED else LEAST_WORDS
    many = data * (1 + 3 * least // (len(data) + 1))
    assert ends_of(name, many, least + more) == reference_ends(many, name)


@names
@given(byte_texts(), byte_texts(), byte_texts())
def test_bytes_around_the_text_are_not_seen(name: str, before: bytes, inside: bytes, after: bytes) -> None:
    start, stop = len(before), len(before + inside)
    got = ends_of(name, before + inside + after, start=start, stop=stop)
    assert got == [start + end for end in reference_ends(inside, name)]


@cased
@given(byte_texts(), st.data())
def test_a_scan_may_start_at_any_word(name: str, data: bytes, draw: st.DataObject) -> None:
    ends = reference_ends(data, name)
    at = draw.draw(st.sampled_from([0, *ends]))
    assert ends_of(name, data, start=at) == [end for end in ends if end > at]


@names
@given(st.lists(byte_texts(8), max_size=30), st.sampled_from([0, 40, 1000, routes.CHUNK_WORDS]))
def test_many_texts_equal_each_alone(name: str, texts: list[bytes], more: int) -> None:
    least = layout.LEAST_ENDS if name in CASED else LEAST_WORDS
    assert words_of(splitter(name), texts, least + more) == [split_bytes(text, PATTERNS[name]) for text in texts]


@names
@example(b"!", b"\n  a", 3)
@given(byte_texts(), byte_texts(), st.integers(0, 10_000))
def test_cutting_where_cut_says_changes_no_word(name: str, left: bytes, right: bytes, at: int) -> None:
    data = left + right
    at = min(at, len(data))
    place = splitter(name).cut(np.frombuffer(data, np.uint8), at)
    assert 0 <= place <= at
    parts = [*split_bytes(data[:place], PATTERNS[name]), *split_bytes(data[place:], PATTERNS[name])]
    assert parts == split_bytes(data, PATTERNS[name])


@example(b" " * 128 + b"thethethe", 136)
@example(b"\xc2\x85" * 17 + b"the" * 17, 70)
@given(byte_texts(), st.integers(70, 300))
def test_window_of_a_huge_text_cuts_no_word(data: bytes, longest: int) -> None:
    # The window is 2 GiB; a small one shows the same borders.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(routes, "WINDOW", longest)
        ref = reference_ends(data, "gpt2")
        # A word that long is refused, see below. A run of whitespace is up to two words, and `cut` only finds the place
        # before it.
        borders = np.array([0, 0, 0, *ref])
        if max(borders[3:] - borders[:-3], default=0) >= longest - 8:
            return
        assert ends_of("gpt2", data, LEAST_WORDS) == ref


def test_word_longer_than_the_window_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "WINDOW", 100)
    with pytest.raises(InputError, match="at byte 3 may be longer"):
        ends_of("gpt2", b"one" + b" " + b"a" * 200, LEAST_WORDS)
