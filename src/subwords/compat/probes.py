"""Rare characters and patterns, on which two tokenizers are most likely to differ."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["PROBES", "probes"]

_TRICKY = {
    "empty": "",
    "space": " ",
    "spaces": "  a   b    c     ",
    "tabs and line ends": "\ta\t\tb\r\nc\rd\n\n\ne \n f\n  \n",
    "line separators": "a\x0bb\x0cc\x85d\u2028e\u2029f",
    "other spaces": "a\xa0b\u2003c\u3000d\u200be\ufefff\u202fg",
    "control characters": "a\x00b\x01c\x7fd\x9be",
    "contractions": "it's I'LL we've DON'T you\u2019re ''s 'tis",
    "case": "HELLO HeLLo hELLO ǅ ǆ İ ı ß ẞ Σ σ ς",
    "numbers": "1 12 123 1234 12345 1,234.56 ½ ² Ⅷ ٣ १२३ 𝟘",
    "punctuation": "(a).[b]!?...--- --_--; #x @y $z % ^ & * ~ `q` |w| <e> {r}",
    "code": 'def f(x):\n    return x["a"] + 1  # \t note\n\n\nif (a&&b||!c) { i++; }',
    "address": "https://example.com/a-b_c?d=e&f=%20#g user.name+tag@example.org",
    "accents": "naïve café résumé Å Å ḍ̇ q̣̇",
    "combining marks": "e\u0301 a\u0308\u0304 \u0301x ̈ \u034f z\u0489",
    "ligatures and widths": "ﬁ ﬃ ＡＢＣ ｱｲｳ ㎏ ① ℌ ﷺ",
    "Chinese": "我喜欢学习机器学习。你好，世界！漢字𠀀𪚥",
    "Japanese": "これはテストです。カタカナとひらがな、ー・「引用」",
    "Korean": "한국어 형태소 분석 각 \u1112\u1161\u11ab",
    "Thai": "ภาษาไทยไม่มีช่องว่าง น้ำ",
    "Hindi": "हिन्दी में क्षत्रिय ज्ञ \u200d र्\u200dय",
    "Arabic": "مرحبا بِكُمْ في العالَم ـ لا \u200f!\u200e",
    "Hebrew": "שָׁלוֹם עולם abc שלום",
    "Cyrillic and Greek": "Привет, мир! Ёё Ελληνικά ΆΈ",
    "emoji": "😀 👍🏽 👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪🇫🇷 ❤️ ☺︎ 1️⃣",
    "private and unassigned": "\ue000 \U000f0000 \U0010fffd \ufdd0 \u0378",
    "replacement character": "a\ufffdb \ufffc",
    "SentencePiece's space": "▁ ▁▁ a▁b <0x0A> <unk> ▁",
    "byte letters": "Ġ Ċ ĠĠthe âĢĻ ##ing </w> @@",
    "long word": "a" * 300 + "Bc" * 150 + "é" * 101,
    "long run of spaces": "x" + " " * 200 + "y",
    "long run of signs": "=" * 97 + "\n" + "-" * 65,
    "long word without a space": "一" * 120,
    "line end at the end": "The end.\n",
    "space at the end": "The end. ",
    "line ends at both ends": "\n\nThe middle.\n\n",
}

PROBES: tuple[tuple[str, str], ...] = tuple(_TRICKY.items())
_MOST_SPECIAL = 64


def probes(special_tokens: Iterable[str]) -> list[tuple[str, str]]:
    """Return names and texts: the fixed ones, and those that spell up to 64 of these special tokens out.

    >>> probes(["<s>"])[-1]
    ("spelled '<s>'", 'a<s>b <s> <s><s>, <S>\\n<s>')
    """
    found = [*PROBES]
    for token in list(special_tokens)[:_MOST_SPECIAL]:
        other = token.swapcase()
        found.append((f"spelled {token!r:.40}", f"a{token}b {token} {token}{token}, {other}\n{token}"))
    return found
