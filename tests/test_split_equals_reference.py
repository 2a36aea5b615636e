"""GPT-2's rule: the compiled scanner equals the regex on every byte sequence (S1, S2, S4)."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engines import splitter
from inside import (
    CATEGORIES,
    CHUNK_WORDS,
    OTHER,
    PATTERNS,
    MachineRoute,
    MachineStepSplitter,
    MaskRoute,
    RegexStepSplitter,
    Split,
    SplitBuffers,
    SplitRoute,
    categories,
    gpt2_classes,
    whole_text,
)
from inside import kernels_layout as layout
from inside import split_routes as routes
from seeds import sweep_seed
from splitting import words_of
from strategies import BLANKS, CONTRACTIONS, FRAGMENTS, INVALID, MARKS, byte_texts, contested, regex_classes, texts
from subwords import InputError
from subwords.reference.bpe import GPT2_PATTERN, split, split_bytes

GPT2 = splitter("gpt2")
BY_MACHINE = MachineRoute(MachineStepSplitter(Split(GPT2_PATTERN)).machine())
LEAST_WORDS = 64  # the least capacity a scan by masks can work with: one block at a time
LEAST_BY_MACHINE = 1024


@pytest.fixture(scope="module", autouse=True)
def masks_alone() -> Iterator[None]:
    """The route by masks leaves no text to the machine, which needs more room."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(routes, "SAMPLE", 1 << 40)
        yield


def reference_ends(data: bytes) -> list[int]:
    return list(itertools.accumulate(map(len, split_bytes(data, GPT2_PATTERN))))


def ends_with(route: SplitRoute, marks: SplitBuffers, data: bytes, start: int, stop: int) -> list[int]:
    text, bounds = np.frombuffer(data, np.uint8), np.array([start, stop], np.int64)
    return [base + end for _, base, ends, n, _ in route.texts(text, bounds, marks) for end in ends[: n[-1]].tolist()]


def test_rule_is_the_reference_pattern() -> None:
    assert PATTERNS["gpt2"] == GPT2_PATTERN
    assert isinstance(GPT2.route, MaskRoute)


# ------------------------------------------------------------------ the pinned Unicode


def test_classes_differ_from_regex_only_where_unassigned() -> None:
    # regex 2026.11 is at Unicode 18 and differs at 17,480 code points; an older one may know fewer than 16.0 does.
    differing = [*map(ord, contested())]
    names = {CATEGORIES[index] for index in categories()[differing]}
    print(f"{len(differing)} code points differ")
    assert names <= {"Cn"}
    assert len(differing) < 20_000
    assert (gpt2_classes() == regex_classes()).sum() == 0x110000 - len(differing)


STANDS_FOR = {layout.LETTER: "é", layout.NUMBER: "½", layout.SPACE: "\u3000", OTHER: "€"}


def by_class(text: str) -> str:
    """The text with every character beyond ASCII replaced by one of its class: all that the rule can see of it."""
    classes = gpt2_classes()
    return "".join(c if c.isascii() else STANDS_FOR[int(classes[ord(c)])] for c in text)


def check_code_points(codes: list[int]) -> None:
    probes = [f"a{c}a {c}1{c}{c}'s{c} !{c}  {c} " for c in map(chr, codes)]
    for at in range(0, len(probes), 4096):
        text = "".join(probes[at : at + 4096])
        ref = list(itertools.accumulate(map(len, split(by_class(text), GPT2_PATTERN))))
        got = list(itertools.accumulate(map(len, GPT2.split(text))))
        assert got == ref


def test_code_points_where_the_class_changes() -> None:
    changes = np.flatnonzero(np.diff(gpt2_classes()))
    codes = {int(c) + step for c in changes for step in (0, 1)} | set(range(0x80, 0x800))
    check_code_points(sorted(c for c in codes if not 0xD800 <= c < 0xE000))


@pytest.mark.sweep
def test_every_code_point() -> None:
    check_code_points([c for c in range(0x110000) if not 0xD800 <= c < 0xE000])


# ------------------------------------------------------------------ one text


@given(byte_texts())
def test_any_bytes(data: bytes) -> None:
    assert GPT2.byte_spans(data)[:, 1].tolist() == reference_ends(data)


@given(texts())
def test_any_text(text: str) -> None:
    assert GPT2.split(text) == split(text, GPT2_PATTERN)


@given(byte_texts(12))
def test_regex_package_finds_the_same(data: bytes) -> None:
    text = np.frombuffer(data, np.uint8)
    whole = whole_text(text, np.array([0, len(text)], np.int64), np.ones(1, np.bool_), tracked=False)
    assert RegexStepSplitter(Split(GPT2_PATTERN)).split(whole).words[1:].tolist() == reference_ends(data)


@given(byte_texts(60))
def test_machine_finds_the_same(data: bytes) -> None:
    assert ends_with(BY_MACHINE, SplitBuffers(), data, 0, len(data)) == reference_ends(data)


@pytest.mark.parametrize("before", [b"a", b"1", b" ", b"\n", b"!", b"\xc3\xa9", b"\xff", "\u3000".encode(), b"'"])
def test_every_fragment_at_every_offset_of_a_block(before: bytes) -> None:
    width = len(before)
    fragments = [*map(str.encode, (*CONTRACTIONS, *BLANKS, *MARKS, *FRAGMENTS)), *INVALID]
    for fragment in dict.fromkeys(fragments):
        for offset in range(64 - len(fragment) - width, 66):
            data = b"x" * (offset % width) + before * (offset // width) + fragment + b"a 1"
            assert GPT2.byte_spans(data)[:, 1].tolist() == reference_ends(data), (offset, fragment)


ATOMS = (b"a", b"1", b" ", b"\n", b"'", b"s", b"l", b"!", "é".encode(), "\u3000".encode(), "€".encode(), b"\xe2")


@pytest.mark.parametrize("offset", [0, 61, 62, 63])
def test_every_short_sequence_across_a_block_border(offset: int) -> None:
    for atoms in [*itertools.product(ATOMS, repeat=4)][sweep_seed() % 5 :: 5]:  # all of them within those of five
        data = b"b" * offset + b"".join(atoms)
        assert GPT2.byte_spans(data)[:, 1].tolist() == reference_ends(data), atoms


@pytest.mark.sweep
@pytest.mark.parametrize("offset", [0, *range(58, 66)])
def test_every_sequence_of_five_across_a_block_border(offset: int) -> None:
    for atoms in itertools.product(ATOMS, repeat=5):
        data = b"b" * offset + b"".join(atoms)
        assert GPT2.byte_spans(data)[:, 1].tolist() == reference_ends(data), atoms


def test_random_atoms_of_many_blocks() -> None:
    seed = 11
    print(f"seed {seed}")
    rng = random.Random(seed)
    atoms = [*ATOMS, *INVALID, *map(str.encode, FRAGMENTS)]
    for _ in range(60):
        data = b"".join(rng.choices(atoms, k=rng.randrange(3000)))
        assert GPT2.byte_spans(data)[:, 1].tolist() == reference_ends(data)


# ------------------------------------------------------------------ parts of a text


@given(byte_texts(60), st.integers(LEAST_WORDS, 200))
def test_chunk_size_changes_no_word(data: bytes, words: int) -> None:
    assert ends_with(GPT2.route, SplitBuffers(words), data, 0, len(data)) == reference_ends(data)


@given(byte_texts(), byte_texts(), byte_texts())
def test_bytes_around_the_window_are_not_seen(before: bytes, inside: bytes, after: bytes) -> None:
    start, stop = len(before), len(before + inside)
    for route, words in ((GPT2.route, LEAST_WORDS), (BY_MACHINE, LEAST_BY_MACHINE)):
        got = ends_with(route, SplitBuffers(words), before + inside + after, start, stop)
        assert got == [start + end for end in reference_ends(inside)]


@given(st.lists(byte_texts(8), max_size=30), st.sampled_from([LEAST_WORDS, 100, 1000, CHUNK_WORDS]))
def test_many_texts_equal_each_alone(texts: list[bytes], words: int) -> None:
    assert words_of(GPT2, texts, words) == [split_bytes(text, GPT2_PATTERN) for text in texts]


def test_thousands_of_texts_equal_each_alone() -> None:
    seed = 3
    print(f"seed {seed}")
    rng = random.Random(seed)
    atoms = [*map(str.encode, FRAGMENTS), *INVALID]
    sizes = [0, 1, 2, 5, 5, 20]
    texts = [b"".join(rng.choices(atoms, k=4000 if i % 500 == 0 else rng.choice(sizes))) for i in range(4000)]
    assert words_of(GPT2, texts) == [split_bytes(text, GPT2_PATTERN) for text in texts]


@given(byte_texts(), byte_texts(), st.integers(0, 10_000))
def test_cutting_where_cut_says_changes_no_word(left: bytes, right: bytes, at: int) -> None:
    data = left + right
    at = min(at, len(data))
    place = GPT2.cut(np.frombuffer(data, np.uint8), at)
    assert 0 <= place <= at
    parts = [*split_bytes(data[:place], GPT2_PATTERN), *split_bytes(data[place:], GPT2_PATTERN)]
    assert parts == split_bytes(data, GPT2_PATTERN)


@example(b" " * 128 + b"thethethe", 136)
@example(b"\xc2\x85" * 17 + b"the" * 17, 70)
@given(byte_texts(), st.integers(70, 300))
def test_window_of_a_huge_text_cuts_no_word(data: bytes, longest: int) -> None:
    # The window is 2 GiB; a small one shows the same borders.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(routes, "WINDOW", longest)
        ref = reference_ends(data)
        # A word that long is refused, see below. A run of whitespace is up to two words, and `cut` only finds the place
        # before it.
        borders = np.array([0, 0, 0, *ref])
        if max(borders[3:] - borders[:-3], default=0) >= longest - 8:
            return
        assert ends_with(GPT2.route, SplitBuffers(LEAST_WORDS), data, 0, len(data)) == ref


@pytest.mark.parametrize("sample", [64, 4096])
def test_dense_text_goes_the_way_of_the_machine(sample: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "SAMPLE", sample)
    text = "x " + "слово и ещё; 12 " * 500 + "plain text of ASCII letters " * 400 + "\xff"
    data = text.encode() + b"\xff\xd0"
    for words in (LEAST_BY_MACHINE, 5000, CHUNK_WORDS):
        assert ends_with(GPT2.route, SplitBuffers(words), data, 0, len(data)) == reference_ends(data)
        assert ends_with(GPT2.route, SplitBuffers(words), data, 2, len(data)) == [
            2 + end for end in reference_ends(data[2:])
        ]


def test_word_longer_than_the_window_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "WINDOW", 100)
    with pytest.raises(InputError, match="at byte 3 may be longer"):
        ends_with(GPT2.route, SplitBuffers(LEAST_WORDS), b"one" + b" " + b"a" * 200, 0, 204)
