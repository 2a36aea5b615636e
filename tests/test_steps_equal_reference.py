"""Rules of any steps: the words, and their places, are those of the textbook."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines import splitter
from inside import (
    DIGIT,
    PATTERNS,
    SIGN,
    ByteChars,
    MachineRoute,
    MachineStepSplitter,
    Prefix,
    Split,
    StepsRoute,
    finder,
    put_bytes_back,
    whole_text,
    write_byte_chars,
)
from inside import split_finders as steps
from inside import splitter_Replace as Replace
from inside import splitter_Step as Step
from patterns import INVENTED, characters_of, small_patterns, string
from splitting import check, class_characters, mixture, reference_words, settled_text, to_bytes, words_of
from subwords import InputError
from subwords.reference.pattern import BYTE_CHARS

SEED = 9
SPLITS = (" ", "a+", "a*", "|b", "(?=a)", "ab|b", "b$", "^a?", r"\b", "(?<=a)b", r"\s", r"\w+", DIGIT, SIGN, "▁")
SPLITS = (*SPLITS, r"\s+(?!\S)|\s", PATTERNS["gpt2"], PATTERNS["cl100k"], INVENTED["far end"], INVENTED["gaps"])
BEHAVIORS = ("isolated", "removed", "contiguous", "merged_with_previous", "merged_with_next")
REPLACED = ((" ", "▁"), ("▁", " "), ("a", "b"), ("a", "é"), ("é", "a"), ("b", "😀"))
FRAGMENTS = (b" ", b"  ", b"a", b"b", b"aab", "▁".encode(), "é".encode(), "文".encode(), b"\n", b"12", b".")
FRAGMENTS = (*FRAGMENTS, "😀".encode(), b"\xff", b"\x80", b"\xc3", b"\xe2\x96", b"\xf0\x9f\x98", b"\xed\xa0\x80")

splits = st.builds(Split, st.sampled_from(SPLITS), st.sampled_from(BEHAVIORS), st.booleans())
prefixes = st.builds(Prefix, st.sampled_from(["▁", " ", "ab"]), st.sampled_from(["always", "first"]))
replacements = st.sampled_from(REPLACED).map(lambda pair: Replace(*pair))
byte_texts = st.lists(st.sampled_from(FRAGMENTS), max_size=12).map(
    lambda parts: to_bytes(settled_text(b"".join(parts)))
)


def check_rule(rule: tuple[Step, ...], texts: list[bytes]) -> None:
    made = splitter(rule)
    ref = []
    for data in texts:
        text = data.decode("utf-8", "surrogateescape")
        check(made, text)
        ref.append(reference_words(text, rule)[0])
    assert words_of(made, texts) == ref


@given(st.lists(st.one_of(splits, splits, prefixes, replacements), max_size=4), st.lists(byte_texts, max_size=4))
def test_any_steps(rule: list[Step], texts: list[bytes]) -> None:
    check_rule(tuple(rule), texts)


@given(st.lists(splits, max_size=2), st.lists(splits, max_size=3), st.lists(byte_texts, max_size=4))
def test_any_steps_over_bytes(before: list[Split], after: list[Split], texts: list[bytes]) -> None:
    # What is dropped cannot be told from the words of bytes; what lies between them is kept here.
    kept = [
        Split(step.pattern, "isolated" if step.behavior == "removed" else step.behavior, step.invert) for step in after
    ]
    before = [step for step in before if step.behavior != "removed"]
    check_rule((*before, ByteChars(), *kept), texts)


@pytest.mark.parametrize(
    ("rule", "text", "ref"),
    [
        ((Split(r"\w+", "isolated", True), Split("ab|b", "merged_with_next")), ".abaab", [".", "aba", "ab"]),
        ((Prefix("▁"), Split("▁"), Prefix("▂", "first")), "ab", ["▂▁", "▂ab"]),
        ((Split("a", "removed"), Prefix("▁", "first")), "ab", ["b"]),
        ((Replace("é", "e"), Prefix("é", "first")), "éa", ["éea"]),
        ((Split(""), Prefix("_", "first")), "文字", ["_文", "字"]),
        ((), "left whole", ["left whole"]),
        ((), "", []),
    ],
)
def test_steps_that_were_wrong_once(rule: tuple[Step, ...], text: str, ref: list[str]) -> None:
    assert splitter(rule).split(text) == ref
    check_rule(rule, [text.encode()])


def test_steps_with_many_classes_go_one_by_one() -> None:
    letters = [chr(0x4E00 + n) for n in range(200)]
    rule = tuple(
        Split("|".join(f"{a}{b}*" for a, b in zip(part[::2], part[1::2], strict=True)))
        for part in (letters[:100], letters[100:])
    )
    assert isinstance(splitter(rule).route, StepsRoute)
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    check_rule(rule, ["".join(rng.choice(letters) * rng.choice([1, 2]) for _ in range(40)).encode() for _ in range(20)])


# ------------------------------------------------------------------ patterns nobody has seen


@pytest.mark.rotating(4)
@pytest.mark.parametrize("name", INVENTED)
def test_invented_patterns(name: str) -> None:
    made = splitter(INVENTED[name])
    assert isinstance(made.route, MachineRoute)
    print(f"seed {SEED}{name}")
    rng = random.Random(f"{SEED}{name}")
    chars = class_characters(made.rule, rng)
    for size in (100, 1000, 5000):
        check(made, mixture(rng, chars, size))
    texts = [to_bytes(settled_text(to_bytes(string(rng, chars)))) for _ in range(100)]
    check_rule(made.rule, texts)


@settings(max_examples=settings.default.max_examples // 3)
@given(small_patterns(), st.sampled_from(BEHAVIORS), st.booleans(), st.integers(0, 2**32))
def test_small_patterns_on_texts_of_many_groups(pattern: str, behavior: str, invert: bool, seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("subwords.split.automaton.MOST_MACHINE_STATES", 100)
        patch.setattr("subwords.split.automaton.MOST_STATES", 100)
        step = Split(pattern, behavior, invert)  # type: ignore[arg-type]
        made = splitter(step)
    found = finder(step)
    if not isinstance(found, MachineStepSplitter):
        return  # `regex` would judge itself
    rng = random.Random(seed)
    chars = characters_of(found._automaton.classes, rng)
    parts = [string(rng, chars) for _ in range(rng.choice([2, 20]))]
    for text in (parts[0], "".join(parts), "".join(parts * 4)):
        check(made, settled_text(to_bytes(text)))


# ------------------------------------------------------------------ long texts, step by step


@pytest.mark.parametrize(
    "rule",
    [
        (Split(r"\s", "removed"), Prefix("▁", "first"), Split("a")),
        (Replace(" ", "▁"), Prefix("▁"), Split("▁", "merged_with_next")),
        (Split(r"\w+", "removed", True), Prefix("▁")),
        (Split(SIGN, "contiguous"), ByteChars(), Split(DIGIT)),
        (Split(r"(?<=a)b|\s"),),
    ],
    ids=["first", "metaspace", "words", "bytes", "regex"],
)
@pytest.mark.parametrize("stretch", [1, 30, 1000])
def test_stretches_change_no_word(rule: tuple[Step, ...], stretch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "STRETCH", stretch)
    monkeypatch.setattr(steps, "CHUNK_WORDS", 7)
    made = splitter(rule)
    assert isinstance(made.route, StepsRoute)
    texts = ["", "aab a1b.", "", "  ", "Ein längerer Text, der 12 Mal 문장 hat.\n" * 5, "b" * 90, "é", ""]
    ref = [reference_words(text, rule)[0] for text in texts]
    assert words_of(made, [text.encode() for text in texts]) == ref


def test_many_texts_step_by_step() -> None:
    texts = [f"text {n}: a {'b' * (n % 7)}" if n % 3 else "" for n in range(3000)]
    rule = (Split(r"\s", "removed"), Prefix("▁", "first"))
    assert words_of(splitter(rule), [text.encode() for text in texts]) == [reference_words(t, rule)[0] for t in texts]


def test_bytes_as_characters_and_back() -> None:
    data = bytes(range(256)) * 2
    whole = whole_text(
        np.frombuffer(data, np.uint8), np.array([0, 5, 512], np.int64), np.ones(2, np.bool_), tracked=True
    )
    there = write_byte_chars(whole)
    assert there.text.tobytes().decode() == "".join(map(BYTE_CHARS.__getitem__, data))
    back = put_bytes_back(there)
    assert back.text.tobytes() == data
    assert back.words.tolist() == [0, 5, 512]
    assert np.array_equal(back.origin, whole.origin)


def test_text_of_two_gigabytes_in_steps_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subwords.kernels.named.split_texts", lambda *_: 0)
    with pytest.raises(InputError, match="less than 2 GiB"):
        splitter("whitespace-split").split("a b")
