"""What the property tests draw from: texts and bytes as real corpora hold them, and worse."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import regex
from hypothesis import strategies as st
from numpy.typing import NDArray

from engines import splitter
from inside import OTHER, gpt2_classes
from inside import kernels_layout as layout
from inside import layout_SPACE as SPACE
from subwords import WordCounts
from subwords.machine import ALGORITHMS, BPE, Provenance, Vocab

Pair = tuple[bytes, bytes]

SPECIALS = ("<s>", "<|end|>", "<|end|>>")

WORDS = (
    *(
        "the",
        "The",
        "naïve",
        "Straße",
        "ǅ",
        "ſ",
        "ʼn",
        "слово",
        "λόγος",
        "كلمة",
        "מילה",
        "शब्द",
        "คำ",
        "文字",
        "かな",
        "한글",
    ),
    *("ﬁ", "Straße", "ａｂｃ", "𝒜𝓑", "𐐷", "\U0002a6d6", "ªº", "ˢ", "_", "a_b", "x1", "Ǆ\u0301"),
)
CONTRACTIONS = (
    *(
        "'s",
        "'t",
        "'re",
        "'ve",
        "'m",
        "'ll",
        "'d",
        "'S",
        "'Re",
        "'r",
        "'l",
        "'v",
        "'",
        "''",
        "'''",
        "'sa",
        "'llx",
        "’s",
    ),
    *("'ſ", "'d'd", " 's", "1's", "!'s", "\u3000'll", "é've"),
)
NUMBERS = ("0", "7", "2024", "3.14", "½", "²", "Ⅷ", "٣", "१२", "௧", "㊿", "𝟘", "一")
BLANKS = (
    *(" ", "  ", "   ", "\t", "\n", "\r\n", "\v", "\f", "\x1c", "\x85", "\xa0", "\u1680", "\u2003", "\u2028", "\u202f"),
    *("\u3000", " \u3000", "\u3000 ", "\xa0\xa0", " \n ", "\n\n\n", "\u200b", "\ufeff", "\u180e"),
)
MARKS = (
    "e\u0301",
    "\u0301",
    "न\u093f",
    "ก\u0e49",
    "\u20dd",
    "\ufe0f",
    "\u200d",
    "👩\u200d👧",
    "🏳\ufe0f\u200d🌈",
    "🇩🇪",
    "가",
)
OTHERS = ("!", "...", "€", "→", "\0", "\x7f", "\ue000", "\ufffd", "\uffff", "😀", "{}", "=>", "\\", "<", "|>")
FRAGMENTS = (*WORDS, *CONTRACTIONS, *NUMBERS, *BLANKS, *MARKS, *OTHERS, *SPECIALS)

INVALID = (
    *(
        b"\x80",
        b"\xbf\xbf",
        b"\xc0\x80",
        b"\xc1",
        b"\xc3",
        b"\xe2\x82",
        b"\xe0\x80\x80",
        b"\xed\xa0\x80",
        b"\xed\xbf\xbf",
    ),
    *(
        b"\xf0\x9f\x98",
        b"\xf0\x80\x80\x80",
        b"\xf4\x90\x80\x80",
        b"\xf5\x80\x80\x80",
        b"\xff",
        b"\xfe\xff",
        b"\xe2\x82 ",
    ),
)


@cache
def regex_classes() -> NDArray[np.uint8]:
    """The classes of GPT-2's rule as the installed `regex` has them, whose Unicode may be newer than ours."""
    every = "".join(map(chr, range(0x110000)))
    classes = np.full(0x110000, OTHER, np.uint8)
    for member, pattern in ((layout.LETTER, r"\p{L}+"), (layout.NUMBER, r"\p{N}+"), (SPACE, r"\s+")):
        for match in regex.finditer(pattern, every):
            classes[match.start() : match.end()] = member
    return classes


@cache
def contested() -> frozenset[str]:
    """The characters whose class differs between the pinned Unicode and that of `regex`: no oracle for them."""
    return frozenset(map(chr, np.flatnonzero(gpt2_classes() != regex_classes()).tolist()))


def agreed(data: bytes) -> bool:
    """Whether `regex` may judge these bytes."""
    return contested().isdisjoint(data.decode("utf-8", "surrogateescape"))


def characters() -> st.SearchStrategy[str]:
    """Any character that UTF-8 can hold and both Unicode versions agree on."""
    return st.characters(exclude_categories=["Cs"]).filter(lambda character: character not in contested())


def _runs(fragments: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(lambda fragment, n: fragment * n, fragments, st.sampled_from([2, 3, 17, 31, 64, 65, 130]))


def texts(max_size: int = 40) -> st.SearchStrategy[str]:
    """Texts that mix scripts, blanks, contractions, digits, marks, emoji, special tokens and long runs of each."""
    fragments = st.sampled_from(FRAGMENTS)
    parts = st.one_of(fragments, fragments, st.sampled_from(BLANKS), characters(), _runs(fragments))
    return st.lists(parts, max_size=max_size).map("".join)


def byte_texts(max_size: int = 40) -> st.SearchStrategy[bytes]:
    """The same as UTF-8, with bytes between them that are none."""
    valid = st.one_of(
        st.sampled_from(FRAGMENTS), st.sampled_from(BLANKS), characters(), _runs(st.sampled_from(FRAGMENTS))
    )
    parts = st.one_of(valid.map(str.encode), st.sampled_from(INVALID), st.binary(max_size=3))
    return st.lists(parts, max_size=max_size).map(b"".join).filter(agreed)


def small_words(letters: str = "abc", max_size: int = 12) -> st.SearchStrategy[str]:
    """Words of few letters, so that pairs repeat, overlap and tie; sometimes with a long run of one letter."""
    runs = st.builds(lambda letter, n: letter * n, st.sampled_from(letters), st.integers(2, 70))
    parts = st.one_of(st.sampled_from(letters), st.sampled_from(letters), st.sampled_from(letters), runs)
    return st.lists(parts, min_size=1, max_size=max_size).map("".join)


# W2: the sums pass 2**31, 2**32 and 2**40.
COUNTS = st.one_of(st.integers(1, 4), st.integers(1, 200), st.sampled_from([2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40]))


def word_counts(letters: str = "abc", counts: st.SearchStrategy[int] = COUNTS) -> st.SearchStrategy[dict[bytes, int]]:
    """Distinct words, in the order drawn, and how often each occurs."""
    return st.dictionaries(small_words(letters).map(str.encode), counts, min_size=1, max_size=25)


def counts_of(words: Mapping[bytes, int], special_tokens: tuple[str, ...] = ()) -> WordCounts:
    """WordCounts of a plain dict."""
    rule = splitter("gpt2")
    return WordCounts(
        np.frombuffer(b"".join(words), np.uint8),
        np.cumsum([0, *map(len, words)], dtype=np.int64),
        np.array(list(words.values()), np.uint64),
        Provenance(rule.identity, None, rule.unicode_version, special_tokens),
    )


def settings_of(algorithm: str, **options: Any) -> Any:
    return ALGORITHMS[algorithm].settings(**options)


def train_model(algorithm: str, counts: WordCounts, settings: Any, **more: Any) -> Any:
    """The model that an algorithm learns from words: no tokenizer around it."""
    return ALGORITHMS[algorithm].train(counts, settings, **more)


@st.composite
def merge_lists(draw: st.DrawFn, base: list[bytes], most: int = 30) -> list[Pair]:
    """Merges that no trainer wrote: every part is a symbol or another merge's result, but their order is arbitrary."""
    tokens, pairs = list(base), dict[Pair, None]()
    for _ in range(draw(st.integers(0, most))):
        pair = draw(st.tuples(st.sampled_from(tokens), st.sampled_from(tokens)))
        if len(pair[0] + pair[1]) <= 40 and pair not in pairs:
            pairs[pair] = None
            if pair[0] + pair[1] not in tokens:
                tokens.append(pair[0] + pair[1])
    return draw(st.permutations(list(pairs)))


def model_of(base: list[bytes], pairs: list[Pair], **fields: object) -> BPE:
    """The model of these merges; ids are the base symbols, then the results in order of first mention."""
    tokens = list(dict.fromkeys([*base, *(left + right for left, right in pairs)]))
    ids = {token: index for index, token in enumerate(tokens)}
    merges = np.array([(ids[a], ids[b], ids[a + b]) for a, b in pairs], np.int64).reshape(-1, 3)
    return BPE(Vocab(tokens), merges, **fields)  # type: ignore[arg-type]
