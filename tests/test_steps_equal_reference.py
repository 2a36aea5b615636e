"""Rules of any steps: the words, and their places, are those of the textbook."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import subwords
from engines import splitter
from inside import DIGIT, PATTERNS, SIGN, escape, space_rule
from inside import kernels_layout as layout
from inside import split_finders as steps
from inside import split_routes as routes
from inside import splitter_NAMED as NAMED
from inside import splitter_Replace as Replace
from inside import splitter_Step as Step
from patterns import INVENTED, PARSED, small_patterns, string
from seeds import sweep_seed
from splitting import check, check_cut, class_characters, mixture, reference_words, settled_text, to_bytes, words_of
from subwords import InputError
from subwords.machine import ByteChars, Prefix, Rule, Split

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
    assert isinstance(splitter(rule).route, steps.StepsRoute)
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    check_rule(rule, ["".join(rng.choice(letters) * rng.choice([1, 2]) for _ in range(40)).encode() for _ in range(20)])


# ------------------------------------------------------------------ patterns nobody has seen


@pytest.mark.rotating(4)
@pytest.mark.parametrize("pattern", PARSED)
def test_small_patterns_of_every_construct(pattern: str) -> None:
    rule = (Split(pattern),)
    print(f"seed {SEED}")
    rng = random.Random(f"{SEED}{pattern}")
    chars = class_characters(rule, rng)
    check_rule(rule, [to_bytes(settled_text(to_bytes(string(rng, chars)))) for _ in range(20)])


@pytest.mark.rotating(4)
@pytest.mark.parametrize("name", INVENTED)
def test_invented_patterns(name: str) -> None:
    made = splitter(INVENTED[name])
    assert isinstance(made.route, routes.MachineRoute)
    print(f"seed {SEED}{name}")
    rng = random.Random(f"{SEED}{name}")
    chars = class_characters(made.rule, rng)
    for size in (100, 1000, 5000):
        text = mixture(rng, chars, size)
        check(made, text)
        for at in (rng.randrange(len(to_bytes(text))) for _ in range(20)):
            check_cut(made, to_bytes(text), at)
    texts = [to_bytes(settled_text(to_bytes(string(rng, chars)))) for _ in range(100)]
    check_rule(made.rule, texts)
    behavior, invert = BEHAVIORS[sweep_seed() % len(BEHAVIORS)], rng.random() < 0.5
    check_rule((Split(INVENTED[name], behavior, invert),), texts[:20])  # type: ignore[arg-type]


FAR_ENDS = ["far end", "far end of many", "far end in words"]  # a word ends far before it is known that it does


@pytest.mark.rotating(3)
@pytest.mark.parametrize("name", [*FAR_ENDS, "llama3", "cl100k", "bailing"])
def test_ends_that_are_kept_aside(name: str) -> None:
    texts = [
        (before + run * blanks + after) * times
        for blanks in range(layout.REACH - 3, layout.REACH + 20)
        for before, run, after in product(("\n", "a", "a>"), (" ", "-"), ("\n", "b", "", ">", " \n\n b"))
        for times in (1, 2)
    ]
    check_rule((Split({**INVENTED, **PATTERNS}[name]),), [*map(str.encode, texts)])


@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k", "kimi-k2", "numbers with separators", "camel case"])
def test_a_text_may_be_cut_in_most_places(name: str) -> None:
    # Were no cut known to be safe, every text would still be split rightly, on one thread.
    made = splitter((Split({**INVENTED, **PATTERNS}[name]),))
    text = "It's 12 o'clock, he said;\n\n naïve words in 文字 and слово. ".encode() * 3
    assert len({check_cut(made, text, at) for at in range(len(text))}) > 20


@settings(max_examples=settings.default.max_examples // 3)
@given(small_patterns(), st.sampled_from(BEHAVIORS), st.booleans(), st.integers(0, 2**32))
def test_small_patterns_on_texts_of_many_groups(pattern: str, behavior: str, invert: bool, seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("subwords.split.automaton.MOST_MACHINE_STATES", 100)
        patch.setattr("subwords.split.automaton.MOST_STATES", 100)
        made = splitter(Split(pattern, behavior, invert))  # type: ignore[arg-type]
    if not made.compiled:
        return  # `regex` would judge itself
    rng = random.Random(seed)
    chars = class_characters(made.rule, rng)
    parts = [string(rng, chars) for _ in range(rng.choice([2, 20]))]
    for text in (parts[0], "".join(parts), "".join(parts * 4)):
        check(made, settled_text(to_bytes(text)))


# ------------------------------------------------------------------ rules that run as one machine, or by their kinds

RULES: dict[str, tuple[Step, ...]] = {
    "other signs": (Split(r"\s", "removed"), Split("[-x]")),
    "late and late": (Split("abc|a|b+"), Split("b1|ab| <+"), Split(PATTERNS["gpt2"])),
    "late and dropped": (Split("abc|[abc]", "removed", invert=True), Split("ab")),
    # The second step leaves words of the first that begin with a dropped character.
    "a match with a dropped character": (Split("a b|[ab]", "removed", invert=True), Split("a")),
    "another prefix": (
        *(Split(r"\s+", "removed"), Replace(" ", "-"), Prefix("-")),
        Split("-", "merged_with_next"),
    ),
    "spaces stay": (Split("b", "removed"), Replace(" ", "-"), Prefix("-"), Split("-", "merged_with_next")),
    "numbers first": (ByteChars(), Split(r"\p{N}", "contiguous"), Split("[0-9][0-9][0-9]")),
    "other digits": (ByteChars(), Split("[2-9]", "contiguous"), Split("[0-9][0-9][0-9]")),
    "digits, llama3": (Split(r"\p{N}"), Split(PATTERNS["llama3"])),
    "letters, camel case": (Split(r"\p{L}+"), Split(INVENTED["camel case"])),
    "spaces, far end": (Split(" ", "merged_with_next"), Split(INVENTED["far end"])),
    "threes, gaps": (Split(INVENTED["any three"]), Split(INVENTED["gaps"])),
    "lines, cl100k": (Split("\n", "merged_with_previous"), Split(PATTERNS["cl100k"])),
    "signs, words": (Split(SIGN, "contiguous"), Split(r"\w+| \w+")),
    **{name: NAMED[name] for name in ("clip", "bert", "t5", "falcon", "deepseek-coder", "viking")},
}
PIECES = (
    *(
        "<|startoftext|>",
        "<|endoftext|>",
        "<|start",
        "'s",
        "'re",
        " ",
        "  ",
        "\n",
        "\t",
        "a",
        "ab",
        "abc",
        "Bc",
        "é",
        "中",
    ),
    *(
        "12",
        "3",
        "4567",
        "²",
        "½",
        "१",
        ".",
        "!?",
        ",",
        "-",
        "▁",
        "<",
        "|",
        "\u3000",
        "ア",
        "ò",
        "$",
        "b1",
        "«",
        "—",
        "।",
    ),
    *("\x85", "\U00010100"),
)
LINE = "It's 12345 ▁▁a—b <|startoftext|><|startoftex 7890²é\u3000中文, abcab1 -x!?"


@given(st.sampled_from([*RULES]), st.lists(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), max_size=5))
@example("t5", ["a", "", "b"])
@example("falcon", ["x\u00b2123456ò7", "12", "34"])
def test_rules_of_several_steps(name: str, texts: list[str]) -> None:
    check_rule(RULES[name], [text.encode() for text in texts])


@pytest.mark.parametrize("name", RULES)
def test_many_texts_and_a_text_of_several_chunks(name: str) -> None:
    data = LINE.encode()
    check_rule(RULES[name], [data[k:] + data[:k] for k in range(0, len(data), 9)] + [data * 40])
    (words, _, _), times = reference_words(LINE + "\n", RULES[name]), 4000
    if name != "t5" and words == reference_words((LINE + "\n") * 2, RULES[name])[0][: len(words)]:
        expected = reference_words((LINE + "\n") * 2, RULES[name])[0][len(words) :]
        assert words_of(splitter(RULES[name]), [(LINE + "\n").encode() * times])[0] == words + expected * (times - 1)


@pytest.mark.rotating(4)
@pytest.mark.parametrize("name", [name for name in RULES if ByteChars() not in RULES[name]])
def test_places_of_the_words_of_a_batch(name: str) -> None:
    """An unknown word is one id, whose span is that of the word."""
    tok = subwords.train(["a"], algorithm="wordlevel", vocab_size=2, splitter=list(RULES[name]))
    texts = [LINE[k:] + LINE[:k] for k in range(0, len(LINE), 5)] + ["", "a \u4e2d ▁ " * 9000, "b c"]
    for text, found in zip(texts, tok(texts), strict=True):
        assert found.spans.tolist() == [*map(list, reference_words(text, RULES[name])[2])]
        assert tok(text).spans.tolist() == found.spans.tolist()


def test_signs_and_whitespace_at_each_place_of_a_block() -> None:
    odd = ["«", "\u037e", "—", "।", "。", "\U00010100", "\x85", "\u3000", "é", "中", "😀"]
    broken = [b"\xc2", b"\xe2\x80", b"\xe0\xa5", b"\xf0\x90\x84", b"\xa4", b"\xe2\x80a", b"\xf4\x90\x80\x80", b"\xc2 "]
    for first in [*map(str.encode, odd), *broken]:
        for before in range(58, 66):
            for after in (b"", b"b c", "«".encode(), b" " + first + b"d" * 70):
                check_rule(NAMED["bert"], [b"x" * before + first + after, first + after])


# ------------------------------------------------------------------ literal strings, as user-defined pieces are

LETTERS = "▁ab<é>\n"


def symbol_rule(rng: random.Random) -> Rule:
    symbols = ["".join(rng.choices(LETTERS, k=rng.choice([1, 2, 3, 5]))) for _ in range(rng.randint(1, 8))]
    first, *_ = space_rule([], [symbol.encode() for symbol in sorted({*symbols})])
    return first, *space_rule([rng.choice(["▁a", "▁▁", "a▁", "a▁▁"]).encode()])


def test_rules_of_literal_strings() -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    found = 0
    for _ in range(60):
        rule = symbol_rule(rng)
        texts = ["".join(rng.choices(LETTERS, k=rng.choice([0, 1, 5, 40, 2000]))).encode() for _ in range(8)]
        check_rule(rule, texts)
        found += sum(check_cut(splitter(rule), text[:40], rng.randint(0, len(text[:40]))) > 0 for text in texts)
    assert found > 50


def test_many_literal_strings_and_a_long_text() -> None:
    symbols = [f"<unused{n}>" for n in range(6000)] + ["▁" * n for n in range(2, 32)]
    rule = splitter(space_rule([], map(str.encode, symbols)))
    assert rule.split("▁a▁▁▁b<unused70>c<unused6000>") == ["▁a", "▁▁▁", "b", "<unused70>", "c<unused6000>"]
    text = "▁word" * 100_000 + "<unused7>" + "▁word" * 100_000
    assert len(rule.split(text)) == 200_001
    data = np.frombuffer(text.encode(), np.uint8)
    assert rule.cut(data, len(data)) > len(data) - 20


def test_strings_with_signs_of_patterns_are_escaped() -> None:
    rng = random.Random(SEED)
    for _ in range(30):
        found = {"".join(rng.choices(r"\|a.[]()*+?{}^$-&#" + "\n", k=rng.randint(1, 4))) for _ in range(5)}
        symbols = sorted(found, key=len, reverse=True)
        made = splitter((Split("|".join(map(escape, symbols))),))
        assert made.split("é".join(symbols))[::2] == symbols


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
    assert isinstance(made.route, steps.StepsRoute)
    texts = ["", "aab a1b.", "", "  ", "Ein längerer Text, der 12 Mal 문장 hat.\n" * 5, "b" * 90, "é", ""]
    ref = [reference_words(text, rule)[0] for text in texts]
    assert words_of(made, [text.encode() for text in texts]) == ref


def test_many_texts_step_by_step() -> None:
    texts = [f"text {n}: a {'b' * (n % 7)}" if n % 3 else "" for n in range(3000)]
    rule = (Split(r"\s", "removed"), Prefix("▁", "first"))
    assert words_of(splitter(rule), [text.encode() for text in texts]) == [reference_words(t, rule)[0] for t in texts]


def test_text_of_two_gigabytes_in_steps_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subwords.kernels.named.split_texts", lambda *_: 0)
    with pytest.raises(InputError, match="less than 2 GiB"):
        splitter("whitespace-split").split("a b")
