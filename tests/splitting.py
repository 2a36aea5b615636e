"""Rules as the textbook applies them, a little faster, and texts made of what a rule tells apart."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from characters import settled
from inside import split_finders
from inside import splitter_NAMED as NAMED
from strategies import FRAGMENTS, INVALID
from subwords.machine import ByteChars, Rule, Split, SplitBuffers, SplitterEngine
from subwords.reference import pattern as reference

# To translate a pattern takes longer than to split a word.
reference._for_regex = cache(reference._for_regex)  # type: ignore[assignment]

Span = tuple[int, int]

# A rule that has a name of its own, and none twice.
DISTINCT = [name for name, rule in NAMED.items() if name == next(n for n, same in NAMED.items() if same == rule)]
# What takes hours on one core is a part of the sweeps only with SUBWORDS_SWEEP=full.
FULL = os.environ.get("SUBWORDS_SWEEP") == "full"
# It tries every digit behind every digit.
SLOW = "superbpe"


# ------------------------------------------------------------------ the textbook


def _parts(piece: str, step: Split) -> list[Span]:
    return [(a, b) for a, b, _ in reference.segments(piece, step.pattern, step.behavior, step.invert) if a < b]


_short_parts = lru_cache(1 << 16)(_parts)


def reference_spans(text: str, rule: Rule) -> list[Span]:
    """The ranges of the characters of the words, by a rule whose steps are all of the kind Split."""
    spans = [(0, len(text))] if text else []
    for step in rule:
        assert isinstance(step, Split)
        spans = [
            (start + a, start + b)
            for start, end in spans
            for a, b in (_short_parts if end - start < 100 else _parts)(text[start:end], step)
        ]
    return spans


def to_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def codes_of(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def byte_offsets(text: str) -> NDArray[np.int64]:
    """Where every character begins in UTF-8, and last the length; an escaped byte is one byte long."""
    codes = codes_of(text)
    lengths = 1 + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000)
    lengths[(codes >= 0xD800) & (codes < 0xE000)] = 1
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])


BYTES_OF = {char: byte for byte, char in reference.BYTE_CHARS.items()}


def reference_words(text: str, rule: Rule) -> tuple[list[bytes], list[Span], list[Span]]:
    """The words as bytes, and the ranges of their bytes and of their characters."""
    if all(isinstance(step, Split) for step in rule):
        spans = reference_spans(text, rule)
        words = [to_bytes(text[a:b]) for a, b in spans]
        places = byte_offsets(text)[np.array(spans, np.int64).reshape(-1, 2)]
        return words, [(a, b) for a, b in places.tolist()], spans
    pieces = reference.pre_tokenize(text, rule)
    spans = [span for _, span in pieces]
    if any(isinstance(step, ByteChars) for step in rule):
        # Nothing is dropped or put in: the words, which may cut characters, lie one behind the other.
        words = [bytes(BYTES_OF[char] for char in piece) for piece, _ in pieces]
        assert b"".join(words) == to_bytes(text)
        return words, list(pairwise(np.cumsum([0, *map(len, words)]).tolist())), spans
    places = byte_offsets(text)[np.array(spans, np.int64).reshape(-1, 2)]
    return [to_bytes(piece) for piece, _ in pieces], [(a, b) for a, b in places.tolist()], spans


def check(splitter: SplitterEngine, text: str) -> None:
    """The words of a text, and their places, are those of the textbook."""
    words, places, spans = reference_words(text, splitter.rule)
    same("byte_spans", splitter.byte_spans(to_bytes(text)).tolist(), list(map(list, places)), text)
    if not any("\ud800" <= char < "\ue000" for char in text):
        same("split", splitter.split(text), [word.decode("utf-8", "replace") for word in words], text)
        same("spans", splitter.spans(text).tolist(), list(map(list, spans)), text)


def same(what: str, got: list[object], ref: list[object], text: str) -> None:
    """Equal, or the first difference says more than the whole."""
    if got != ref:
        at = next((i for i, pair in enumerate(zip(got, ref, strict=False)) if pair[0] != pair[1]), 0)
        raise AssertionError(f"{what}: {got[at : at + 3]} is not {ref[at : at + 3]} at {at} of {text!r:.200}")


def words_of(splitter: SplitterEngine, texts: Sequence[bytes], words: int | None = None) -> list[list[bytes]]:
    """The words of each text, split together with room for so many."""
    bounds = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    marks = SplitBuffers() if words is None else SplitBuffers(words)
    found: list[list[bytes]] = []
    unfinished: list[bytes] = []
    for text, base, ends, upto, complete in splitter.texts(np.frombuffer(b"".join(texts), np.uint8), bounds, marks):
        first = 0
        stop = base + int(ends[upto[-1] - 1]) if upto[-1] else base
        data, at = text[base:stop].tobytes(), 0
        for last in upto.tolist():
            for end in ends[first:last].tolist():
                unfinished.append(data[at:end])
                at = end
            first = last
            if complete:
                found.append(unfinished)
                unfinished = []
    assert not unfinished
    return found


def check_cut(splitter: SplitterEngine, text: bytes, at: int) -> int:
    """Cut a text where `cut` says, at most here: the words of both parts are those of the whole; return the place."""
    cut = splitter.cut(np.frombuffer(text, np.uint8), at)
    assert 0 <= cut <= at
    left, right = splitter.byte_spans(text[:cut]).tolist(), splitter.byte_spans(text[cut:]).tolist()
    whole = splitter.byte_spans(text).tolist()
    same("cut", [*left, *([a + cut, b + cut] for a, b in right)], whole, to_text(text))
    return cut


# ------------------------------------------------------------------ texts


def agreed(text: str) -> str:
    """The text without characters that Unicode 16 and the one of `regex` see differently; escaped bytes stay."""
    codes = codes_of(text)
    keep = settled()[codes] | ((codes >= 0xDC80) & (codes < 0xDD00))
    return codes[keep].astype(np.uint32).tobytes().decode("utf-32-le", "surrogatepass")


FRAGMENTS_AGREED = [fragment for fragment in map(agreed, FRAGMENTS) if fragment]


@lru_cache(4)
def classes_of(rule: Rule) -> NDArray[np.int64]:
    """What the patterns of a rule tell apart: a number for every code point, and last for an invalid byte."""
    finders = [split_finders.finder(step) for step in rule if isinstance(step, Split)]
    rows = [found._automaton.classes for found in finders if isinstance(found, split_finders.MachineStepSplitter)]
    if not rows:
        rows = [np.searchsorted([ord("0"), ord(":"), ord("a"), 0x300], np.arange(0x110001), side="right")]
    classes = np.zeros(0x110001, np.int64)
    for row in rows:
        classes = np.unique(classes * 256 + row, return_inverse=True)[1]
    return classes


@lru_cache(4)
def members_of(rule: Rule) -> list[NDArray[np.int64]]:
    """The settled characters of each class."""
    classes = classes_of(rule)[:-1]
    return [np.flatnonzero((classes == number) & settled()) for number in range(int(classes.max()) + 1)]


def class_characters(rule: Rule, rng: random.Random, each: int = 3) -> list[list[str]]:
    """Some characters of each class, those of ASCII among them; the escaped byte 0xFF stands for the invalid ones."""
    invalid = int(classes_of(rule)[-1])
    found = []
    for number, codes in enumerate(members_of(rule)):
        chars = [chr(code) for code in codes[codes < 128][:each]]
        chars += [chr(codes[rng.randrange(len(codes))]) for _ in range(each if len(codes) else 0)]
        chars += ["\udcff"] if number == invalid else []
        if chars:
            found.append(chars)
    return found


def settled_text(data: bytes) -> str:
    """The text of some bytes without what `regex` may not judge; what is left side by side may be a character again."""
    while to_bytes(text := agreed(to_text(data))) != data:
        data = to_bytes(text)
    return text


def mixture(rng: random.Random, chars: Sequence[Sequence[str]], size: int, longest: int = 9000) -> str:
    """About `size` characters: classes at random, runs of one of them, fragments, prose of some scripts, bytes."""
    parts: list[str] = []
    length = 0
    while length < size:
        match rng.randrange(9):
            case 0 | 1:
                part = "".join(rng.choice(rng.choice(chars)) for _ in range(rng.choice([1, 3, 10, 50])))
            case 2:
                runs = [1, 2, 5, 25, 26, 27, 28, 31, 32, 33, 64, 100, rng.choice([200, 1000, 9000])]
                part = rng.choice(rng.choice(chars)) * min(longest, rng.choice(runs))
            case 3 | 4:
                part = "".join(rng.choices(FRAGMENTS_AGREED, k=rng.choice([1, 5, 30])))
            case 5:
                blanks = rng.choice(" \t\u3000") * rng.randrange(80)
                part = rng.choice("\r\n ") + blanks + rng.choice(["\n", "\r\n", "a"])
            case 6:
                part = "".join(rng.choices("abc de1,.'sT\n", k=rng.choice([20, 300])))
            case 7:
                part = to_text(rng.choice(INVALID))
            case _:
                part = "".join(rng.choices("слово фы. 文字かな한글कि ค๊", k=rng.choice([20, 300])))
        parts.append(part)
        length += len(part)
    return settled_text(to_bytes("".join(parts)))


def shared_texts(folder: Path, size: int | None, pattern: str = "*.txt") -> Iterable[tuple[str, str]]:
    """The names and beginnings of the files in a folder."""
    for file in sorted(folder.glob(pattern)):
        with file.open("rb") as stream:
            yield file.name, settled_text(stream.read(size))
