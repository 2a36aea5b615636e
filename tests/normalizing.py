"""Steps, texts and the textbook's normalization, for the tests of normalizers."""

from __future__ import annotations

import itertools
import random
from functools import cache

import numpy as np
import regex
from numpy.typing import NDArray

from charsmap import write_charsmap
from inside import Bert, ByteLevel, Form, Lowercase, Nmt, Precompiled, Prepend, SentencePiece, StripAccents
from inside import kernels_layout as layout
from inside import normalize_characters as tables
from inside import normalize_stages as stages
from inside import normalizer_Replace as Replace
from inside import normalizer_Step as Step
from inside import normalizer_Strip as Strip
from strategies import FRAGMENTS
from subwords.machine import NormalizerEngine
from subwords.reference import normalize as reference

BERTS = [Bert(*flags) for flags in itertools.product((True, False), (True, False), (None, True, False), (True, False))]
FORMS = [Form("NFC"), Form("NFD"), Form("NFKC"), Form("NFKD")]
STRIPS = [Strip(), Strip(right=False), Strip(left=False)]
REPLACES = [
    *(Replace(" ", "▁"), Replace("e", ""), Replace("ab", "é"), Replace("", "-"), Replace("中", "x" * 300)),
    *(Replace("a", "b" * 70), Replace(r"\s+", " ", regex=True), Replace("a*", "xy", regex=True)),
]
# Strings of one character and of several, that become nothing, spaces, less and more; some begin graphemes.
RULES = (
    {"\t": " ", "\n": " ", "\r": " ", "\r\n": "-", "\u3000": " ", "\u200b": "", "\x07": "", "\xad": "", "\xa0": " "}
    | {"e\u0301": "é", "e\u0323\u0301": "ẹ́", "A\u030a": "Å", "か\u3099": "が", "\u1100\u1161": "가", "가\u11a8": "각"}
    | {
        "ﬁ": "fi",
        "Ⅳ": "IV",
        "中": "中中",
        "\u0e33": "\u0e4d\u0e32",
        "©": "(c)",
        "\xa8": " \u0308",
        "…": " . ",
        "▁": "_",
    }
    | {"ab": "", "abab": "x", "\u0301": "'", "😀": ":)", "😀\u200d": "-", "क\u093c": "क़", "x ": " x", "y": " "}
    | {"\u0600": "#"}
)
MAPS = [write_charsmap(RULES), write_charsmap({"a": "X"})]
SENTENCEPIECES = [
    SentencePiece(charsmap, *flags, users)
    for charsmap in (*MAPS, b"")
    for flags in itertools.product((True, False), (True, False), (True, False), (False, True))
    for users in ((), ("<x>", "a", "ab ", "▁", " ", "e\u0301x"))
]
STEPS: list[Step] = [
    *BERTS,
    *FORMS,
    Lowercase(),
    Nmt(),
    ByteLevel(),
    StripAccents(),
    *STRIPS,
    Prepend("▁x"),
    Prepend(""),
    *REPLACES,
]
STEPS += map(Precompiled, MAPS)

# What forms, marks and case are about: compositions, classes of all sizes, marks that stay in BERT, Hangul in parts.
HARD = (
    *(
        "e",
        "é",
        "İ",
        "Σ",
        "ǆ",
        "ﬁ",
        "ẞ",
        "Å",
        "한",
        "각",
        "ᄀ",
        "\u1161",
        "\u11a8",
        "가",
        "中",
        "\U0002f800",
        "\u200d",
        "\0",
    ),
    *("\u0301", "\u0323", "\u0327", "\u0345", "\u0334", "\u0f73", "\u0344", "\u0f71", "\u302e", "\u302f", "\u3099"),
    *("\U0001d165", "\U0001d16d", "\U0001d15e", "\u093c", "\u094d", "\u05b4", "\u05bc", "\u0651", "\u064e", "\u0e49"),
    *("\ufffd", "\ue000", "\u3000", "\x85", "\x1c", "\t", "a", "b", "ab", " ", "\U00011938", "\u0898", "\U0001e030"),
)
MARKS = [chr(code) for code in np.flatnonzero(tables.combining_classes()).tolist()]
DECOMPOSING = [chr(code) for code in tables.decompositions("NFKD")]


class Pinned(reference.Characters):
    """What characters are by our tables, which the parity tests compare with HF's."""

    def __init__(self) -> None:
        self._control = {code for code, text in tables.clean().items() if not text}
        self._classes = tables.combining_classes()

    def control(self, char: str) -> bool:
        return ord(char) in self._control

    def nonspacing(self, char: str) -> bool:
        return ord(char) in tables.nonspacing_marks()

    def mark(self, char: str) -> bool:
        return ord(char) in tables.marks()

    def lower(self, char: str) -> str:
        return tables.lowercase().get(ord(char), char)

    def combining(self, char: str) -> int:
        return int(self._classes[ord(char)])

    def decomposed(self, char: str, compatible: bool) -> str:
        return tables.decompositions("NFKD" if compatible else "NFD").get(ord(char), char)

    def graphemes(self, text: str) -> list[str]:
        ends = itertools.accumulate(map(len, super().graphemes(text.translate(_pinned_joins()))), initial=0)
        return [text[start:end] for start, end in itertools.pairwise(ends)]

    def composed(self, first: str, second: str) -> str | None:
        return tables.compose_pair(first, second)


PINNED = Pinned()


@cache
def _pinned_joins() -> dict[int, int]:
    """What the `regex` package's Unicode has otherwise than ours, as a character of the class that it has here."""
    every = "".join(map(chr, scalars()))
    others = {0: 0x378, layout.GRAPHEME.extend: 0x301, layout.GRAPHEME.spacing: 0x903}
    ours = tables.grapheme_classes()
    found = {}
    for kind, name in ((layout.GRAPHEME.extend, "Extend"), (layout.GRAPHEME.spacing, "SpacingMark")):
        theirs = np.zeros(len(ours), np.bool_)
        theirs[[*map(ord, regex.findall(rf"\p{{GCB={name}}}", every))]] = True
        kinds = [kind] if kind == layout.GRAPHEME.spacing else [kind, layout.GRAPHEME.linker, layout.GRAPHEME.zwnj]
        for code in np.flatnonzero(theirs != np.isin(ours, kinds)).tolist():
            found[code] = others.get(int(ours[code]), code)
    return found


def to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _of_sentencepiece(data: bytes, step: SentencePiece) -> tuple[bytes, list[list[int]]]:
    """Of SentencePiece's step every byte ends where what the next one stands for begins."""
    source = data.decode("utf-8", "surrogateescape")
    chars, end = reference.sentencepiece([(char, at) for at, char in enumerate(source)], step)
    places = [0, *itertools.accumulate(len(to_bytes(char)) for char in source)]
    begins = [places[at] for char, at in chars for _ in to_bytes(char)]
    return to_bytes("".join(char for char, _ in chars)), [begins, [*begins[1:], places[end]] if begins else []]


def textbook(data: bytes, steps: list[Step]) -> tuple[bytes, list[list[int]]]:
    """The normalized bytes, and where the character begins and ends that each of them stands for."""
    if steps and isinstance(steps[0], SentencePiece):
        return _of_sentencepiece(data, steps[0])
    source = data.decode("utf-8", "surrogateescape")
    text, places = reference.normalize(source, steps, PINNED)
    ends = [0, *itertools.accumulate(len(to_bytes(char)) for char in source)]
    origin = [
        (ends[at], ends[at + 1]) if at >= 0 else (0, 0)
        for char, at in zip(text, places, strict=True)
        for _ in to_bytes(char)
    ]
    return to_bytes(text), [[start for start, _ in origin], [end for _, end in origin]]


def array(data: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(data, np.uint8)


def applied(rule: NormalizerEngine, texts: list[bytes], part: stages.Position = stages.WHOLE) -> list[bytes]:
    """The texts, normalized all at once."""
    out, bounds = rule.apply(array(b"".join(texts)), np.cumsum([0, *map(len, texts)], dtype=np.int64), part)
    return [out[a:b].tobytes() for a, b in itertools.pairwise(bounds.tolist())]


def in_parts(rule: NormalizerEngine, data: bytes, cuts: list[int]) -> bytes:
    """A text, normalized in parts between some cuts."""
    bounds = [0, *cuts, len(data)]
    parts = [stages.Position(start == 0, end == len(data)) for start, end in itertools.pairwise(bounds)]
    texts = [data[start:end] for start, end in itertools.pairwise(bounds)]
    return b"".join(applied(rule, [text], part)[0] for text, part in zip(texts, parts, strict=True))


@cache
def scalars() -> list[int]:
    """All code points but surrogates."""
    return [*range(0xD800), *range(0xE000, 0x110000)]


def mixture(rng: random.Random, count: int) -> str:
    """Text of fragments, hard characters, marks in any order, characters that decompose, and any others."""
    kinds = [FRAGMENTS, HARD, HARD, MARKS, DECOMPOSING]
    parts = (rng.choice(rng.choice(kinds)) if rng.random() < 0.95 else chr(rng.choice(scalars())) for _ in range(count))
    return "".join(parts)
