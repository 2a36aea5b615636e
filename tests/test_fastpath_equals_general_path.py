"""Built-in functions for short texts and for batches give what the general path gives, which is their twin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import subwords
from inside import CUT_TEXT, FIELDS, MODE
from inside import kernels_layout as layout
from seeds import seed_of_run
from strategies import texts
from subwords import InputError
from subwords.machine import engine_of

LINES = ["A line of some words: low, lower, lowest and it's 2024.", "naïve 文字 ﬁ Ⅷ  two  spaces", "Çà et là\n"] * 9


def trained(**options: object) -> subwords.Tokenizer:
    return subwords.train(LINES, **{"special_tokens": ["<s>"], **options})  # type: ignore[arg-type]


def wordpiece() -> subwords.Tokenizer:
    unk = ["<s>", "[UNK]"]
    return trained(vocab_size=90, algorithm="wordpiece", normalizer="bert-uncased", splitter="bert", special_tokens=unk)


MADE: dict[str, Callable[[], subwords.Tokenizer]] = {
    "masks": lambda: trained(vocab_size=300),
    "machine": lambda: trained(vocab_size=300, splitter="llama3"),
    "wordpiece": wordpiece,
    "unigram": lambda: trained(vocab_size=90, algorithm="unigram"),
    "sentencepiece": lambda: trained(vocab_size=90, algorithm="unigram", normalizer="sentencepiece"),
    "form": lambda: trained(vocab_size=300, normalizer="nfc"),
    "ordinary": lambda: trained(vocab_size=300).with_tokens(["low", "文"], special=False),
    "normalized": lambda: trained(vocab_size=300, normalizer="nfc").with_tokens(["lo"], special=False, normalized=True),
}


def framed(make: Callable[[], subwords.Tokenizer]) -> Callable[[], subwords.Tokenizer]:
    return cache(lambda: make().with_(template="<s> <s> $A <s>"))


FAMILIES = {name: framed(make) for name, make in MADE.items()}
FILES = {
    "gpt2": "gpt2/tokenizer.json",
    "cl100k": "converted/cl100k_base.tokenizer.json",
    "mistral": "mistral/tokenizer.model.v1",
    "mistral3": "mistral/mistral_instruct_tokenizer_240323.model.v3",
    "phi-3": "phi-3/tokenizer.json",
    "bert": "bert/bert-base-uncased-tokenizer.json",
    "t5": "t5/spiece.model",
    "albert": "albert/spiece.model",
    "phi-2": "phi-2/tokenizer.json",
    "neox": "gpt-neox/tokenizer.json",
}
EDGES = [
    *("", " ", "▁", "a▁b", "\0", "\x7f", "\x80", "é", "😀", "a" * layout.SHORT_TEXT, "a" * (layout.SHORT_TEXT + 1)),
    *("é" * (layout.SHORT_TEXT // 2), "é" * (layout.SHORT_TEXT // 2 + 1), "<s>", "<s>a", "low", "e\u0301", "  "),
    *("\n\n", "ab" * 700, "文" * 900, "one\u2028two", " x" * (layout.SHORT_TEXT // 2 - 1)),
    "\ufdfa" * (layout.SHORT_TEXT // 3),  # NFKC makes 18 characters of it
]


def by_python(tok: subwords.Tokenizer, text: str, special: str = "text") -> list[int] | None:
    try:
        return engine_of(tok).encode(text, special).tolist()  # type: ignore[no-any-return]
    except InputError:
        return None


def check(tok: subwords.Tokenizer, text: str) -> None:
    for special in ("text", "allow", "error"):
        expected = by_python(tok, text, special)
        for template in (False, True) if tok.template else (False,):
            check_one(tok, text, special, template, expected)


def check_one(tok: subwords.Tokenizer, text: str, special: Any, template: bool, expected: list[int] | None) -> None:
    options: dict[str, Any] = {"special": special, "template": template}
    if expected is None:
        for call in (tok.encode, tok.count_tokens, tok):
            with pytest.raises(InputError):
                call(text, **options)
        return
    framed = tok.template.apply(expected) if template and tok.template else expected
    for _ in range(2):  # the first call may make room for what the second one finds
        assert tok.encode(text, **options) == framed
        assert tok.count_tokens(text, **options) == len(framed)
        assert tok.encode_to_numpy(text, special=special).tolist() == expected
    assert tok.encode_batch([text, "", text], **options)[-1].tolist() == framed
    fast = engine_of(tok).fast_paths[special]
    assert fast.encode(text) in (None, expected)
    assert fast.in_pieces(text) in (None, expected)
    assert fast.count_ids(text) in (None, len(expected))
    whole = tok(text, **options, truncation=False, padding=False)
    assert whole.ids.tolist() == framed
    assert not whole.ids.flags.writeable


@given(text=st.text("ab文é<|", max_size=20), strings=st.lists(st.text("ab文é<|", min_size=2, max_size=4), max_size=9))
def test_strings_are_found(text: str, strings: list[str]) -> None:
    tok = FAMILIES["masks"]().with_(template=None)
    made = subwords.Tokenizer(tok.spec.with_tokens(tuple(dict.fromkeys(strings)), {"special": True}))
    fast = engine_of(made).fast_paths["error"]
    if MODE == "compiled":
        tok.encode(text), made.encode_to_numpy(text)
        assert (fast.encode(text) is None) == any(string in text for string in [*strings, "<s>"])


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=settings.default.max_examples // 2)
@given(text=st.one_of(texts(), st.text(max_size=60), st.text(" ▁lowaé文", max_size=30)))
def test_short_texts(family: str, text: str) -> None:
    check(FAMILIES[family](), text)


@pytest.mark.parametrize("family", FAMILIES)
def test_edges(family: str) -> None:
    for text in [*EDGES, "\ud800", "a\udfffb"]:
        check(FAMILIES[family](), text)


@pytest.mark.skipif(MODE != "compiled", reason="no fast path")
@pytest.mark.parametrize("family", FAMILIES)
def test_the_fast_path_is_taken(family: str) -> None:
    tok = MADE[family]()
    text = "A line of some words."
    expected = tok.encode(text)
    fast = engine_of(tok).fast_paths["text"]
    assert (fast.in_pieces if family == "normalized" else fast.encode)(text) == expected
    assert fast.count_ids(text) == (None if family == "normalized" else len(expected))


def check_cut_short(tok: subwords.Tokenizer, other: subwords.Tokenizer) -> None:
    random = Random(seed_of_run())
    sizes = [100, 300, 700, 2000, 4500, 300] * 4
    many = [
        "".join(random.choices(["文字", "ไทย", "ก็วันนี้", "한글", "漢", "the ", "low", "é", "\n", "ー、。"], k=k))
        for k in sizes
    ]
    rows = [(text, by_python(other, text)) for text in many]
    for text, ids in [*rows, *random.sample(rows, len(rows)), *rows[::-1]]:
        assert tok.encode(text) == tok.encode_to_numpy(text).tolist() == ids
        assert tok.count_tokens(text) == len(ids or ())
    held = (slot := engine_of(tok).encoder.slot) and slot.held[0]
    if held:  # no text is refused for ever
        numbers = held[0].numbers
        assert numbers[FIELDS.wide] < CUT_TEXT or numbers[FIELDS.cut_plan] == id(held[1].plans[True])


@pytest.mark.parametrize("family", FAMILIES)
def test_short_texts_with_safe_cuts(family: str) -> None:
    tok = MADE[family]()
    check_cut_short(tok, MADE[family]())
    encoder = engine_of(tok).encoder
    if MODE == "compiled" and family in ("masks", "machine"):
        held = encoder.slot.held[0]
        assert held[0].numbers[FIELDS.cut_plan] == id(held[1].plans[True])


@pytest.mark.parametrize("name", FILES)
def test_short_texts_of_files_with_safe_cuts(shared_data: Path, name: str) -> None:
    path = shared_data / "tokenizers" / FILES[name]
    check_cut_short(subwords.load(path), subwords.load(path))


# ------------------------------------------------------------------ texts cut at added tokens where they are (D4)

SPECIAL: tuple[str | frozenset[str], ...] = ("text", "allow", "error", frozenset({"<s>"}), frozenset())
BETWEEN = st.one_of(
    texts(), st.sampled_from(["", " ", "▁", "a▁b", "low", "<s", "é"]), st.text(" ▁lowaé文", max_size=30)
)
WITH_TOKENS = st.lists(st.one_of(BETWEEN, st.sampled_from(["<s>", "<s>low", "[UNK]"])), max_size=8).map("".join)


def outcome(tok: subwords.Tokenizer, texts: Sequence[str | bytes], **options: Any) -> list[list[int]] | str:
    """The ids of texts, one text at a time if there is one; or what is wrong."""
    try:
        if len(texts) == 1:
            return [tok.encode_to_numpy(texts[0], **options).tolist()]
        return tok.encode_batch(texts, **options).to_lists()
    except InputError as error:
        return str(error)


def check_cut(tok: subwords.Tokenizer, twin: subwords.Tokenizer, texts: Sequence[str | bytes], **options: Any) -> None:
    engine_of(twin)._cut_in_place = lambda *_: None  # type: ignore[method-assign]
    assert outcome(tok, texts, **options) == outcome(twin, texts, **options)


TWINS = {name: cache(make) for name, make in MADE.items()}


@pytest.mark.parametrize("family", FAMILIES)
@given(
    special=st.sampled_from(SPECIAL),
    many=st.lists(WITH_TOKENS, min_size=1, max_size=5),
    times=st.sampled_from([1, 9000]),
    data=st.booleans(),
)
def test_cut_texts(family: str, special: str | frozenset[str], many: list[str], times: int, data: bool) -> None:
    texts = [text * (1 + times // (1 + len(text))) for text in many]
    try:
        given = [text.encode() if data else text for text in texts]
    except UnicodeEncodeError:
        given = list(texts)
    check_cut(FAMILIES[family](), TWINS[family](), given, special=special, threads=2)


@pytest.mark.skipif(MODE != "compiled", reason="slow, and there is no fast path")
@pytest.mark.rotating(4, always=("gpt2",))
@pytest.mark.parametrize("name", FILES)
def test_files(name: str, shared_data: Path) -> None:
    path = shared_data / "tokenizers" / FILES[name]
    if not path.exists():
        pytest.skip(f"needs {path}")
    tok = subwords.load(path)
    lines = []
    for corpus in ("english", "zh", "ru", "code", "multilingual"):
        with open(shared_data / "corpora" / f"{corpus}.txt", encoding="utf-8", errors="replace") as file:
            lines += file.read(20_000).split("\n")
    expected = [tok.encode_to_numpy(line).tolist() for line in lines]
    assert [tok.encode(line) for line in lines] == expected
    assert [tok.count_tokens(line) for line in lines] == [*map(len, expected)]
    assert tok.encode_batch(lines).to_lists() == expected
    for text in EDGES:
        check(tok, text)
