"""Ids without places are those with places: texts cut at added tokens, short, long, and in batches."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import subwords
from inside import Form, Lowercase
from inside import normalizer_Replace as Replace
from subwords import AddedToken, Tokenizer
from subwords.machine import NormalizerEngine, engine_of

LINES = ["A line of low, lower, lowest  words; it's 2024.", "naïve 文字 ĳ Å Ω", "  spaces\tand\n lines "] * 9
PLAIN = [AddedToken("  ", 0), AddedToken("   ", 0), AddedToken("\t\t", 0), AddedToken("Low", 0)]
# U+212A, the sign of kelvin, is a letter in normal forms: a token is found where the text has none.
CHANGED = [AddedToken("  ", 0, normalized=True), AddedToken("KK", 0, normalized=True), AddedToken("<e>", 0)]
BORDERED = [
    AddedToken("low", 0, single_word=True),
    AddedToken("Å", 0, lstrip=True, rstrip=True),
    AddedToken("<s>", 0, special=True),
]
MANY = [AddedToken(f"<{k}>", 0 + k) for k in range(300)] + [AddedToken("  ", 0)]
CLIP = (Form("NFC"), Replace(r"\s+", " ", regex=True), Lowercase())
NORMALIZERS: dict[str, Any] = {
    "none": None,
    "NFC": "nfc",
    "NFKD": "nfkd",
    "lowercase": "lowercase",
    "runs": CLIP,
    "strip": "strip",
}
TOKENS = {"plain": PLAIN, "changed": CHANGED, "bordered": BORDERED, "many": MANY}
PARTS = [
    "low",
    "Low",
    " ",
    "  ",
    "   ",
    "\t\t",
    "\n",
    "K",
    "\u212a",
    "A\u030a",
    "Å",
    "é",
    "e\u0301",
    "文字",
    "ĳ",
    "<e>",
    "<7>",
]
TEXTS = st.lists(st.sampled_from([*PARTS, "<s>", "\u0301", "\U000e0001", "lower it's 2024 "]), max_size=24)


@pytest.fixture(scope="module", params=[(a, b) for a in NORMALIZERS for b in TOKENS], ids="-".join)
def tok(request: pytest.FixtureRequest) -> Tokenizer:
    name, tokens = request.param
    return made(NORMALIZERS[name], TOKENS[tokens])


def made(normalizer: Any, tokens: list[AddedToken]) -> Tokenizer:
    contents = [token.content for token in tokens]
    tok = subwords.train(LINES, vocab_size=300 + len(contents), special_tokens=contents).with_(normalizer=normalizer)
    added = tuple(replace(token, id=tok.added_tokens.ids[token.content]) for token in tokens)
    return Tokenizer(replace(tok.spec, added_tokens=added))


def with_places(tok: Tokenizer, text: str | bytes, special: str = "text") -> list[int]:
    """The ids of a text, part by part."""
    return [
        index
        for part in engine_of(tok).parts.cut(text, special)
        for index in (engine_of(tok).encoder_of(part).encode(part.data).tolist() if part.id is None else [part.id])
    ]


@settings(max_examples=20)
@given(st.lists(TEXTS.map("".join), min_size=1, max_size=12))
def test_ids_without_places(tok: Tokenizer, texts: list[str]) -> None:
    for special in ("text", "allow"):
        ref = [with_places(tok, text, special) for text in texts]
        assert [tok.encode(text, special=special) for text in texts] == ref
        assert [tok.encode(text.encode(), special=special) for text in texts] == ref
        assert [tok.count_tokens(text, special=special) for text in texts] == [*map(len, ref)]
        assert tok.encode_batch(texts, special=special).to_lists() == ref
        assert tok.encode_batch([text.encode() for text in texts], special=special).to_lists() == ref
        assert tok.encode_batch([*texts, *texts], special=special, threads=2).to_lists() == ref + ref
    long = "".join(texts) * 40
    assert tok.encode(long) == with_places(tok, long)


def test_bytes_that_are_not_utf8(tok: Tokenizer) -> None:
    rng = random.Random(3)
    for _ in range(20):
        text = b"".join(rng.choices([b"\xff", b"\xe2\x98", b" ", b"  ", b"K", "é".encode(), b"\xcc"], k=20))
        assert tok.encode(text) == with_places(tok, text)


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_what_keeps_says_is_so(form: str) -> None:
    one = NormalizerEngine((Form(form),))
    every = [chr(code) for code in [*range(0xD800), *range(0xE000, 0x1FFFF), *range(0x2F700, 0x2FB00), 0xE0001]]
    kept = [*filter(one.keeps, every)]
    assert len(kept) > 110_000
    for text in ("\n".join(kept), "".join(kept)):
        data = np.frombuffer(text.encode(), np.uint8)
        if one.keeps(text):
            assert one.apply(data, np.array([0, len(data)]))[0].tobytes() == data.tobytes()
    rng = random.Random(11)
    marks = [char for char in every if 0x300 <= ord(char) < 0x370 or 0x591 <= ord(char) < 0x5C0] + [
        "\U0001e4ec",
        "\u0897",
    ]
    for _ in range(3000):
        text = "".join(rng.choice(marks if rng.random() < 0.6 else "aeÅΩ가각़क") for _ in range(5))
        if one.keeps(text):
            assert one.normalize(text) == text


def test_time_is_linear_in_the_number_of_tokens() -> None:
    tok = made("nfc", CHANGED)
    text = "low  lower " * 40_000  # 30 s if each token looks at the whole text
    assert len(tok.encode_to_numpy(text)) == tok.count_tokens(text) == len(with_places(tok, text))
