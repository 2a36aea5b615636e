"""Parts of a text by tokens, words, sentences and lines (D9), and the longest beginnings and ends (D10)."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import regex

import subwords
from seeds import seed_of_run
from small_data import file_of
from subwords import InputError, Tokenizer

TEXT = (
    "The low lower lowest words, 12345 of them: naïve cafés aren't newer.\n\n  It's 'so'; ünd 中文字。 สวัสดี \t\r\n x! "
    'He paid 3.50 in the U.S.A. today... "Really?" said Dr. Who (yes.) and left. Next e.g. this. '
    "日本語は空白がない。はい!"
)
ODD = (
    *(" ", "  ", "\n", "\t", "\r\n", "'s", "a", "ab", "12", "--", "é", "e\u0301", "\u0301", "\ufdfa", "각", "\u1100"),
    *(
        "\u1161",
        "👩\u200d👩\u200d👧",
        "🇩🇪",
        "\u2581",
        "\u3000",
        "\u00a0",
        "\x00",
        "ﬁ",
        "İ",
        "Σ",
        "<s>",
        "</w>",
        "##",
        "[MASK]",
    ),
    *(". ", ".", "? ", "!)", "中", "文字", "...", "aaaaaaa", "low", "low er"),
)
FAMILIES: list[dict[str, Any]] = [
    {"vocab_size": 300},
    {"vocab_size": 300, "splitter": "cl100k"},
    {"vocab_size": 160, "algorithm": "wordpiece", "normalizer": "bert-uncased", "special_tokens": ["[UNK]"]},
    {"vocab_size": 90, "algorithm": "unigram"},
    {"vocab_size": 90, "byte_level": False},
    {"vocab_size": 340, "byte_level": False, "byte_fallback": True},
]
FILES = (
    *("gpt2/tokenizer.json", "phi-3/tokenizer.json", "t5/tokenizer.json", "t5/spiece.model", "albert/spiece.model"),
    *("bert/bert-base-uncased-vocab.txt", "converted/qwen3.tokenizer.json", "mistral/tokenizer.model.v1"),
    *("clip/tokenizer.json", "falcon/tokenizer.json", "marian-en-mg/target.spm", "roberta/tokenizer.json"),
)

# ------------------------------------------------------------------ twins, word by word from the definitions


def sentence_ends(text: str) -> list[int]:
    """Unicode Standard Annex #29, the rules SB3 to SB998 one by one, at each place."""
    names = ("CR", "LF", "Sep", "Extend", "Format", "Sp", "Lower", "Upper", "OLetter", "Numeric", "ATerm", "STerm")
    names += ("SContinue", "Close")
    kinds = [next((name for name in names if regex.match(rf"\p{{SB={name}}}", char)), "Other") for char in text]
    para, terms = {"CR", "LF", "Sep"}, {"ATerm", "STerm"}
    found = []
    for at in range(1, len(text)):
        before, after = kinds[:at], kinds[at:]
        if before[-1] == "CR" and after[0] == "LF":  # SB3
            continue
        if before[-1] in para:  # SB4
            found.append(at)
            continue
        if after[0] in ("Extend", "Format"):  # SB5
            continue
        left = [k for n, k in enumerate(before) if k not in ("Extend", "Format") or n == 0 or before[n - 1] in para]
        right = [k for k in after if k not in ("Extend", "Format")]
        if left[-1] == "ATerm" and right[0] == "Numeric":  # SB6
            continue
        if len(left) > 1 and left[-2] in ("Upper", "Lower") and left[-1] == "ATerm" and right[0] == "Upper":  # SB7
            continue
        rest = left[:]
        while rest and rest[-1] == "Sp":
            rest.pop()
        spaces = len(left) - len(rest)
        while rest and rest[-1] == "Close":
            rest.pop()
        if not rest or rest[-1] not in terms:
            continue  # SB998
        if rest[-1] == "ATerm":  # SB8
            stop = {"OLetter", "Upper", "Lower", "ATerm", "STerm"} | para
            if next((kind for kind in right if kind in stop), "") == "Lower":
                continue
        if right[0] in {"SContinue"} | terms:  # SB8a
            continue
        if (not spaces and right[0] == "Close") or right[0] == "Sp" or right[0] in para:  # SB9, SB10
            continue
        found.append(at)  # SB11
    return found


def places_of(text: str, kind: str, graphemes: bool = False) -> list[int]:
    """Where parts may end, the end of the text included."""
    if kind == "sentence":
        found = sentence_ends(text)
    elif kind == "line":
        found = [match.end() for match in regex.finditer("\n", text)]
    elif kind == "word":
        found = [match.start() for match in regex.finditer(r"(?w)\b", text) if not text[: match.start()][-1:].isspace()]
    elif graphemes:
        found = [match.end() for match in regex.finditer(r"\X", text)]
    else:
        found = [*range(len(text))]
    return sorted({place for place in found if place} | {len(text)})


def best_end(count: Callable[[int, int], int], start: int, places: list[int], size: int) -> int:
    return max((end for end in places if end > start and count(start, end) <= size), default=start)


def parts_of(tok: Tokenizer, text: str, size: int, overlap: int, at: str, special: Any, graphemes: bool) -> Any:
    """D9: each part is the longest; None if a character has too many ids."""
    kinds = {"line": ("line", "sentence", "word", "token"), "sentence": ("sentence", "word", "token")}
    order = kinds.get(at, ("word", "token") if at == "word" else ("token",))
    places = {kind: places_of(text, kind, graphemes) for kind in order}

    def count(start: int, stop: int) -> int:
        return len(tok.encode(text[start:stop], special=special))

    def end_of(start: int) -> int:
        ends = (best_end(count, start, places[kind], size) for kind in order)
        return next((end for end in ends if end > start), start)

    found, start, stop = [], 0, 0
    while stop < len(text):
        end = end_of(start)
        if end <= stop and start < stop:
            start = stop
            end = end_of(start)
        if end == start:
            return None
        found.append((start, end))
        begins = (k for k in places[order[0]] if overlap and start < k < end and count(k, end) <= overlap)
        start, stop = min(begins, default=end), end
    return found


def some_text(rng: random.Random) -> str:
    parts = []
    for _ in range(rng.randint(1, 8)):
        start = rng.randrange(len(TEXT))
        parts.append(TEXT[start : start + rng.randint(1, 30)] if rng.random() < 0.4 else rng.choice(ODD))
    return "".join(parts)


def check(tok: Tokenizer, rng: random.Random, times: int) -> None:
    for _ in range(times):
        text, size, at = some_text(rng), rng.randint(1, 12), rng.choice(["token", "word", "sentence", "line"])
        special = rng.choice(["text", "text", "allow"])
        graphemes = rng.random() < 0.3
        overlap = rng.choice([0, 0, rng.randrange(size)])
        options: Any = {"overlap": overlap, "at": at, "special": special, "graphemes": graphemes}
        try:
            expected = parts_of(tok, text, size, **options)
        except InputError as error:
            assert "no unk token" in str(error)
            continue
        if expected is None:
            with pytest.raises(InputError, match="expected a size of at least"):
                tok.chunks(text, size, **options)
        else:
            found = tok.chunks(text, size, **options)
            assert found.spans.tolist() == [[*each] for each in expected], (text, size, options)
            assert found.counts.tolist() == [len(tok.encode(part, special=special)) for part in found]
            assert not len(found) or found.counts.max() <= size
            assert overlap or "".join(found) == text
        places = [0, *places_of(text, "token", graphemes)]
        for side in ("right", "left"):
            cuts = [text[:k] for k in places] if side == "right" else [text[k:] for k in places]
            best = max((cut for cut in cuts if len(tok.encode(cut, special=special)) <= size), key=len, default="")
            cut = tok.truncate(text, size, side=side, special=special, graphemes=graphemes)  # type: ignore[arg-type]
            assert cut == best, (text, size, side, options)


@pytest.mark.parametrize("family", range(len(FAMILIES)))
def test_parts_of_families_equal_the_definition(family: int) -> None:
    tok = subwords.train([TEXT * 3], **FAMILIES[family])
    check(tok, random.Random(f"{family} {seed_of_run()}"), 60)


def test_the_longest_end_may_begin_beside_a_cut_and_an_overlap_at_a_border_of_graphemes() -> None:
    tok = subwords.train([TEXT * 3], **FAMILIES[3])
    text = "🇩🇪st words, 12345id 3.50 in the U.S.A. today..daİlow erᄀlow er"
    assert tok.truncate(text, 4, side="left") == "low er"
    tok = subwords.train([TEXT * 3], **FAMILIES[1])
    text = "low\t\r\n x! H🇩🇪.文字\u3000ab"
    spans = [[*each] for each in parts_of(tok, text, 10, 8, "token", "allow", graphemes=True)]
    assert tok.chunks(text, 10, overlap=8, special="allow", graphemes=True).spans.tolist() == spans


@pytest.mark.rotating(3, always=("shared-gpt2", "shared-phi-3", "shared-t5/spiece", "shared-bert"))
@pytest.mark.parametrize("name", FILES)
def test_parts_of_files_equal_the_definition(data: Path, name: str) -> None:
    check(subwords.load(file_of(data, name)), random.Random(f"{name} {seed_of_run()}"), 25)


# ------------------------------------------------------------------ examples


def test_sentences_by_the_rules_of_unicode() -> None:
    tok = subwords.load("demo")
    text = 'He paid 3.50 in the U.S.A. today... "Really?" said Dr. Who (yes.) and left. Next e.g. this.'
    # The rules know no abbreviations, but a lower-case letter after a full stop goes on.
    ends = [0, *sentence_ends(text), len(text)]
    found = [text[a:b] for a, b in pairwise(ends)]
    expected = [
        "He paid 3.50 in the U.S.A. today... ",
        '"Really?" ',
        "said Dr. ",
        "Who (yes.) and left. ",
        "Next e.g. this.",
    ]
    assert found == expected
    size = max(map(tok.count_tokens, found))
    parts = tok.chunks(text, size, at="sentence")
    assert {*np.cumsum([len(part) for part in parts]).tolist()} <= {*ends}


def test_a_word_that_is_too_long_is_cut() -> None:
    tok = subwords.load("demo")
    for at in ("word", "sentence", "line"):
        parts = tok.chunks("x" * 1000 + " end", 10, at=at)  # type: ignore[arg-type]
        assert "".join(parts) == "x" * 1000 + " end" and parts.counts.max() <= 10


def test_sequences() -> None:
    parts = subwords.load("demo").chunks("Rays of light are refracted", 3)
    assert len(parts) == len(parts.spans) == 2
    assert parts[0] == parts[-2] == "Rays of light" and parts[:1] == ["Rays of light"]
    assert repr(parts) == "Chunks(2 parts of 27 characters)" and parts.text[:4] == "Rays"
    empty = subwords.load("demo").chunks("", 3)
    assert [*empty] == [] and empty.spans.shape == (0, 2) and empty.counts.tolist() == []
    assert subwords.load("demo").truncate("", 3) == ""


def test_wrong_options() -> None:
    tok: Any = subwords.load("demo")
    for text, size, options in (
        ("a", 0, {}), ("a", True, {}), ("a", 1.5, {}), (b"a", 1, {}), (None, 1, {}), ("\ud800", 1, {}),
        ("a", 2, {"overlap": 2}), ("a", 2, {"overlap": -1}), ("a", 2, {"at": "page"}), ("a", 2, {"graphemes": 1}),
        ("a", 2, {"special": "no"}),
    ):  # fmt: skip
        with pytest.raises(InputError):
            tok.chunks(text, size, **options)
    with pytest.raises(InputError, match="side"):
        tok.truncate("a", 1, side="middle")
    with pytest.raises(InputError, match=r"expected a size of at least 4 ids: '🙂', character 1, has as many, not 3"):
        subwords.train(["a"], vocab_size=256).chunks("a🙂", 3)
    assert subwords.train(["a"], vocab_size=256).truncate("🙂", 3) == ""


def test_long_texts_without_cuts_and_with_spaces() -> None:
    """Letters, spaces and signs without a proved cut: parts are encoded for a time or two, not all of the text."""
    tok = subwords.load("demo")
    for unit in ("a", " ", "ab" * 9, "中", "\n", ". "):
        text = unit * (20_000 // len(unit))
        for at in ("token", "sentence"):
            parts = tok.chunks(text, 400, at=at)  # type: ignore[arg-type]
            assert "".join(parts) == text and parts.counts.max() <= 400


def test_counts_of_messages() -> None:
    tok = subwords.load("demo").with_tokens(["<|end|>"])
    tok = tok.with_(chat_template="{% for m in messages %}{{ m.content }}<|end|>{% endfor %}")
    messages = [{"role": "user", "content": "Rays of light<|end|>"}]
    assert tok.count_tokens(messages) == len(tok.chat(messages).ids)
    with pytest.raises(InputError, match="count messages without them"):
        tok.count_tokens(messages, template=True)  # type: ignore[call-overload]
    assert tok.count_tokens([]).tolist() == []


def test_other_threads_run_while_columns_are_counted() -> None:
    """A thread that only counts goes on while another is in the kernels: they do not hold the lock."""
    arrow = pytest.importorskip("pyarrow")
    tok, column = subwords.load("demo"), arrow.array([TEXT * 20] * 3000)
    expected = tok.count_tokens(column[:1])[0]
    ended = threading.Event()
    found = []

    def count() -> None:
        found.append(tok.count_tokens(column))
        ended.set()

    thread = threading.Thread(target=count)
    thread.start()
    ticks = 0
    while not ended.is_set():
        time.sleep(0.0005)
        ticks += 1
    thread.join()
    assert found[0].tolist() == [expected] * 3000
    assert ticks >= 10
