"""Parts of a text by tokens, words, sentences and lines (D9), and the longest beginnings and ends (D10)."""

from __future__ import annotations

import random
import threading
import time
from functools import lru_cache
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


@lru_cache
def sentence_kind(char: str) -> str:
    names = ("CR", "LF", "Sep", "Extend", "Format", "Sp", "Lower", "Upper", "OLetter", "Numeric", "ATerm", "STerm")
    names += ("SContinue", "Close")
    return next((name for name in names if regex.match(rf"\p{{SB={name}}}", char)), "Other")


def sentence_ends(text: str) -> list[int]:
    """Unicode Standard Annex #29, the rules SB3 to SB998 one by one, at each place."""
    kinds = [*map(sentence_kind, text)]
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


FENCE = regex.compile(r"(?P<fence>`{3,}(?=[^`]*$)|~{3,})")
HEADING, UNDERLINE = regex.compile(r"#{1,6}(\s|$)"), regex.compile(r"(=+|-+)[ \t]*$")
DELIMITERS = regex.compile(r"\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?$")
ITEM = regex.compile(r"([-+*]|[0-9]{1,9}[.)])([ \t]|$)")


def blocks_of(text: str) -> dict[str, Any]:
    """The places of Markdown, without lists in which other blocks are, from all lines before and after each."""
    lines = [line for line in regex.split(r"(?<=\n)", text) if line]
    starts = [sum(map(len, lines[:k])) for k in range(len(lines) + 1)]
    bare = [line.strip(" \t\r\n") for line in lines]
    kinds, whole, k = [""] * len(lines), [], 0

    def is_text(at: int) -> bool:
        return 0 <= at < len(lines) and kinds[at] in ("text", "item")

    while k < len(lines):
        if match := FENCE.match(bare[k]):
            mark, last = match["fence"], k + 1
            while last < len(lines) and (len(bare[last]) < len(mark) or bare[last].strip(mark[0])):
                last += 1
            last = min(last + 1, len(lines))
            kinds[k:last] = ["fence"] * (last - k)
            whole.append((starts[k], starts[last]))
            k = last
            continue
        if not bare[k]:
            kinds[k] = "blank"
        elif HEADING.match(bare[k]):
            kinds[k] = "heading"
        elif UNDERLINE.match(bare[k]) and k and kinds[k - 1] == "text":
            first = k - 1
            while is_text(first - 1) and kinds[first] != "item":
                first -= 1
            if kinds[first] == "text":
                kinds[first : k + 1] = ["heading"] + ["under"] * (k - first)
            else:
                kinds[k] = "item" if ITEM.match(bare[k]) else "text"
        elif DELIMITERS.match(bare[k]) and "|" in bare[k] and is_text(k - 1) and "|" in bare[k - 1]:
            first, last = k - 1, k + 1
            while last < len(lines) and bare[last] and not HEADING.match(bare[last]) and not FENCE.match(bare[last]):
                last += 1
            kinds[first:last] = ["table"] * (last - first)
            whole.append((starts[first], starts[last]))
            k = last
            continue
        else:
            kinds[k] = "item" if ITEM.match(bare[k]) else "text"
        k += 1
    found: dict[str, Any] = {"heading": [], "block": [], "item": [], "whole": whole, "kinds": kinds, "starts": starts}
    ends = {stop for _, stop in whole}
    for k, kind in enumerate(kinds):
        before = next((each for each in reversed(kinds[:k]) if each != "blank"), "")
        first_of_heading = before in ("heading", "under")
        begins_whole = any(starts[k] == start for start, _ in whole)
        if kind == "heading":
            found["heading"].append(starts[k])
        if kind == "item":
            found["item"].append(starts[k])
        new = kind in ("text", "item") and (k == 0 or kinds[k - 1] in ("blank", "fence", "table"))
        if kind == "heading" or starts[k] in ends or ((new or begins_whole) and not first_of_heading):
            found["block"].append(starts[k])
    return found


def flat(text: str, at: str) -> str:
    """Spaces for single newlines inside paragraphs."""
    blocks = blocks_of(text) if at == "markdown" else {}
    begins = {place for kind in ("heading", "block", "item") for place in blocks.get(kind, ())}
    chars, at_line = [*text], 0
    for match in regex.finditer(r"[ \t]*\r?\n", text):
        after = text[match.end() :].lstrip(" \t")[:1]
        inside = any(a < match.end() < b for a, b in blocks.get("whole", ()))
        line, at_line = text[at_line : match.start()].strip(" \t"), match.end()
        ends_heading = at == "markdown" and (HEADING.match(line) or UNDERLINE.match(line))
        stays = inside or match.end() in begins or ends_heading
        if not stays and text[: match.start()][-1:].strip() and after.strip():
            chars[match.start() : match.end()] = " " * len(match[0])
    return "".join(chars)


def places_of(text: str, kind: str, graphemes: bool = False) -> list[int]:
    """Where parts may end, the end of the text included."""
    if kind in ("heading", "block", "item"):
        found = blocks_of(text)[kind]
    elif kind == "paragraph":
        found = [match.end() for match in regex.finditer(r"\n([ \t\r]*\n)+", text)]
    elif kind == "sentence":
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


class Definition:
    """D9 and D10 by trying all places: what parts may be."""

    def __init__(self, tok: Tokenizer, text: str, size: int, at: str, special: Any, **options: bool) -> None:
        self.tok, self.text, self.size, self.special, self.template = tok, text, size, special, options["template"]
        names = ["markdown", "paragraph", "line", "sentence", "word", "token"]
        order = [name for name in names[names.index(at) :] if name != "paragraph" or at != "markdown"]
        order = ["heading", "block", "item", *order[1:]] if at == "markdown" else order
        lines, graphemes = flat(text, at) if options["hard_wraps"] else text, options["graphemes"]
        places = {kind: places_of(lines if kind in ("line", "sentence") else text, kind, graphemes) for kind in order}
        kept = [span for span in (blocks_of(text)["whole"] if at == "markdown" else ()) if self.count(*span) <= size]
        self.places = [[k for k in places[kind] if not any(a < k < b for a, b in kept)] for kind in order]
        begin = "sentence" if at in ("paragraph", "markdown") else order[0]
        self.begins, self.empty = self.places[order.index(begin)], self.count(0, 0)

    def count(self, start: int, stop: int) -> int:
        return len(self.tok.encode(self.text[start:stop], special=self.special, template=self.template))

    def most(self, counts: list[int], size: int) -> list[int]:
        """How many characters fit, and with one more not, or have all ids there may be; counts: of each number."""
        return [
            k
            for k, count in enumerate(counts)
            if count <= size and (k + 1 == len(counts) or count == size or counts[k + 1] > size)
        ]

    def ends(self, start: int) -> set[int]:
        """Where a part may end; at `start` if its first character does not fit."""
        counts = [self.count(start, stop) for stop in range(start, len(self.text) + 1)]
        return {self.end(start, start + k, counts) for k in self.most(counts, self.size)}

    def end(self, start: int, most: int, counts: list[int]) -> int:
        for places in self.places:
            fitting = [k for k in places if start < k <= most and counts[k - start] <= self.size]
            if fitting:
                return fitting[-1]
        # Inside a fence or table that fits: its end, or a shorter part.
        after = [k for k in self.places[-1] if most < k and counts[k - start] <= self.size]
        return after[0] if after and counts[1] <= self.size else start

    def starts(self, start: int, end: int, overlap: int) -> set[int]:
        """Where the part after one may begin."""
        counts = [self.count(k, end) - self.empty for k in range(end, start, -1)]
        places = [[k for k in self.begins if end - most <= k < end] for most in self.most(counts, overlap)]
        return {next((k for k in found if counts[end - k] <= overlap), end) for found in places}


def check_parts(tok: Tokenizer, text: str, size: int, overlap: int, options: dict[str, Any]) -> None:
    definition, start, stop = Definition(tok, text, size, **options), 0, 0
    try:
        found = tok.chunks(text, size, overlap=overlap, **options)
    except InputError as error:
        assert "expected a size of at least" in str(error)
        assert any(k in definition.ends(k) for k in range(len(text)))
        return
    for begin, end in found.spans.tolist():
        assert begin == stop or (overlap and begin in definition.starts(start, stop, overlap))
        assert end in definition.ends(begin), (text, size, options)
        start, stop = begin, end
    assert stop == len(text)
    assert found.counts.tolist() == [
        len(tok.encode(part, special=options["special"], template=options["template"])) for part in found
    ]
    assert not len(found) or found.counts.max() <= size
    assert overlap or "".join(found) == text


def some_text(rng: random.Random) -> str:
    parts = []
    for _ in range(rng.randint(1, 8)):
        start = rng.randrange(len(TEXT))
        parts.append(TEXT[start : start + rng.randint(1, 30)] if rng.random() < 0.4 else rng.choice(ODD))
    return "".join(parts)


KINDS = ("token", "word", "sentence", "line", "paragraph", "markdown")
LINES = (
    *("# One\n", "## Two three\n", "#no\n", "Under\n===\n", "---\n", "\n", "\n\n", " \t\n", "low lower words.\n"),
    *(
        "It goes on. And on\n",
        "newer\r\n",
        "- item one\n",
        "* two\n",
        "2) three\n",
        "~~~\n",
        "```\n",
        "```py\n",
        "````\n",
    ),
    *("x = `a`\n", "``` a `b`\n", "| a | b |\n", "|---|:-:|\n", "| 1 | 2 |\n", "a | b\n", "-|-\n", "last"),
)


def some_markdown(rng: random.Random) -> str:
    return "".join(rng.choices(rng.sample(LINES, rng.choice((4, 8, 20))), k=rng.randint(1, 14)))


def check(tok: Tokenizer, rng: random.Random, times: int) -> None:
    for _ in range(times):
        text, size, at = some_text(rng), rng.randint(1, 12), rng.choice(KINDS)
        if at in ("paragraph", "markdown") and rng.random() < 0.9:
            text, size = some_markdown(rng), rng.randint(3, 60)
        special = rng.choice(["text", "text", "allow"])
        graphemes = rng.random() < 0.3
        template = rng.random() < 0.4
        added = tok.count_tokens("", template=template)
        size += added
        overlap = rng.choice([0, 0, rng.randrange(size - added)])
        options: Any = {"at": at, "special": special, "graphemes": graphemes, "template": template}
        options["hard_wraps"] = at in ("sentence", "paragraph", "markdown") and rng.random() < 0.4
        try:
            tok.count_tokens([*text], special=special)
        except InputError as error:
            assert "no unk token" in str(error)
            continue
        check_parts(tok, text, size, overlap, options)
        check_cuts(tok, text, size, special=special, graphemes=graphemes, template=template)


def check_cuts(tok: Tokenizer, text: str, size: int, **options: Any) -> None:
    definition = Definition(tok, text, size, at="token", hard_wraps=False, **options)
    counts = [definition.count(0, k) for k in range(len(text) + 1)]
    ends = {definition.end(0, most, counts) for most in definition.most(counts, size)}
    assert len(tok.truncate(text, size, **options)) in ends, (text, size, options)
    counts = [definition.count(k, len(text)) for k in range(len(text), -1, -1)]
    places = [0, *definition.places[0]]
    starts = {
        next(k for k in places if k >= len(text) - most and counts[len(text) - k] <= size)
        for most in definition.most(counts, size)
    }
    assert len(text) - len(tok.truncate(text, size, side="left", **options)) in starts, (text, size, options)


@pytest.mark.parametrize("family", range(len(FAMILIES)))
def test_parts_of_families_equal_the_definition(family: int) -> None:
    tok = subwords.train([TEXT * 3], **FAMILIES[family])
    if "special_tokens" not in FAMILIES[family]:
        tok = tok.with_tokens(["[CLS]", "[SEP]"]).with_(template="[CLS] $A [SEP] [SEP]")
    check(tok, random.Random(f"{family} {seed_of_run()}"), 60)


def test_an_overlap_begins_at_a_border_of_graphemes() -> None:
    tok = subwords.train([TEXT * 3], **FAMILIES[1])
    options: dict[str, Any] = {"at": "token", "special": "allow", "graphemes": True, "template": False}
    check_parts(tok, "low\t\r\n x! H🇩🇪.文字\u3000ab", 10, 8, {**options, "hard_wraps": False})


def test_parts_of_real_texts_are_full(data: Path) -> None:
    """All but the last have as many ids as may be, or less by what one more character would bring."""
    for name, language in (("gpt2/tokenizer.json", "th"), ("t5/spiece.model", "code"), ("phi-3/tokenizer.json", "zh")):
        tok, text = subwords.load(file_of(data, name)), (data / f"corpora/{language}.txt").read_text("utf-8")[:50_000]
        parts = tok.chunks(text, 300)
        assert "".join(parts) == text and parts.counts.max() <= 300
        short = np.flatnonzero(parts.counts[:-1] < 300)
        ends = parts.spans[short, 1] + 1
        assert all(tok.count_tokens(text[a:b]) > 300 for a, b in zip(parts.spans[short, 0], ends, strict=True))


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
    with pytest.raises(InputError, match="unknown at='page': expected one of token, word,"):
        tok.chunks("a", 2, at="page")
    with pytest.raises(InputError, match="hard_wraps is for at="):
        tok.chunks("a", 2, at="word", hard_wraps=True)
    framed = tok.with_tokens(["[CLS]"]).with_(template="[CLS] $A")
    for cut in (framed.chunks, framed.truncate):
        with pytest.raises(InputError, match="expected a size of at least 2 ids, not 1: the template adds 1 to each"):
            cut("a", 1, template=True)
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
    with pytest.raises(InputError, match="leave out special and template"):
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
