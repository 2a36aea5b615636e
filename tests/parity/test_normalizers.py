"""Normalizers give HF's text and places: of every step, for every code point, on hostile and on ordinary texts."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import PreTokenizedString, models, pre_tokenizers

from engines import normalizer
from inside import Bert, ByteLevel, Form, Lowercase, Prepend, StripAccents, to_normalizer
from inside import normalizer_Replace as Replace
from inside import normalizer_Step as Step
from inside import normalizer_Strip as Strip
from normalizing import BERTS, FORMS, REPLACES, STEPS, array, mixture, scalars
from seeds import sweep_seed
from splitting import FULL
from strategies import texts
from subwords.machine import NormalizerEngine

SEED = 13
FEW, MANY = 2_000, 300_000  # bytes of a file
PART = 1 << 22  # bytes: of a longer text HF keeps places that take gigabytes
CHARACTER = tokenizers.Regex(r"[\s\S]")
SEQUENCES: list[tuple[Step, ...]] = [
    (Form("NFD"), StripAccents()),
    (Lowercase(), Form("NFKD"), StripAccents(), Replace(" ", "▁")),
    (Form("NFKC"), Lowercase(), Strip(), Prepend("▁")),
    (Form("NFD"), Form("NFC"), Bert()),
    (Form("NFC"), ByteLevel(), Prepend("Ġ"), ByteLevel()),
]
RULES: list[tuple[Step, ...]] = [*((step,) for step in STEPS), *SEQUENCES]
rules = pytest.mark.parametrize("steps", RULES, ids=str)


@cache
def rule(steps: tuple[Step, ...]) -> NormalizerEngine:
    return normalizer(steps)


@cache
def peer(steps: tuple[Step, ...]) -> Any:
    top = json.loads(tokenizers.Tokenizer(models.BPE()).to_str())
    return tokenizers.Tokenizer.from_str(json.dumps(top | {"normalizer": to_normalizer(steps)})).normalizer


def check(text: str, steps: tuple[Step, ...]) -> None:
    ref, got = peer(steps).normalize_str(text), rule(steps).normalize(text)
    if got != ref:  # the first difference says more than the whole
        at = next((i for i, pair in enumerate(zip(got, ref, strict=False)) if pair[0] != pair[1]), 0)
        assert ascii(got[max(0, at - 3) : at + 5]) == ascii(ref[max(0, at - 3) : at + 5])
        assert got == ref


def places(text: str, steps: tuple[Step, ...]) -> list[tuple[str, tuple[int, int]]]:
    """The characters of the result, each with the range of characters it stands for."""
    data = array(text.encode())
    out, origin = rule(steps).aligned(data)
    upto = np.concatenate([np.zeros(1, np.int64), np.cumsum((data & 0xC0) != 0x80)])
    starts = np.flatnonzero((out & 0xC0) != 0x80)
    ranges = upto[origin[:, starts]].T.tolist()
    return [(char, (start, end)) for char, (start, end) in zip(out.tobytes().decode(), ranges, strict=True)]


def peer_places(text: str, steps: tuple[Step, ...]) -> list[tuple[str, tuple[int, int]]]:
    pieces = PreTokenizedString(text)
    pieces.normalize(peer(steps).normalize)
    pieces.split(lambda _, piece: piece.split(CHARACTER, "isolated"))
    return [(char, span) for char, span, _ in pieces.get_splits("original", "char") if char]


# ------------------------------------------------------------------ all characters


@pytest.mark.rotating(9, always=("(Bert(clean_text=True, handle_chinese_chars=True, strip_accents=None",))
@rules
def test_all_code_points(steps: tuple[Step, ...]) -> None:
    print(f"seed {SEED}")
    # HF takes half a minute where a pattern is found at every place.
    every = scalars()[sweep_seed() % 20 :: 20] if steps[0] in (Replace("", "-"), REPLACES[-1]) else scalars()
    for codes in (every, np.random.default_rng(SEED).permutation(every).tolist()):
        for at in range(0, len(codes), 20_000):
            check("".join(map(chr, codes[at : at + 20_000])), steps)


@rules
def test_some_code_points(steps: tuple[Step, ...]) -> None:
    codes = scalars()[sweep_seed() % 40 :: 40]
    check("".join(map(chr, [*codes, *random.Random(SEED).sample(codes, len(codes))])), steps)


NEIGHBOURS = ("a", " ", "e\u0301", "\u0345", "\u302e", "\u1100", "中")


@pytest.mark.rotating(3)
@rules
def test_some_code_points_between_others(steps: tuple[Step, ...]) -> None:
    dense = [code for code in scalars() if code < 0x3400]
    for n, between in enumerate(NEIGHBOURS):
        check(between.join(map(chr, [*dense[n % 3 :: 3], *scalars()[n :: 7 * 97]])), steps)


@pytest.mark.sweep
@pytest.mark.parametrize("between", NEIGHBOURS)
@rules
def test_all_code_points_between_others(steps: tuple[Step, ...], between: str) -> None:
    check(between.join(map(chr, scalars())), steps)


@pytest.mark.sweep
@rules
def test_each_code_point_alone(steps: tuple[Step, ...]) -> None:
    theirs, ours = peer(steps), rule(steps)
    chars = [chr(code).encode() for code in scalars()]
    text, bounds = ours.apply(array(b"".join(chars)), np.cumsum([0, *map(len, chars)], dtype=np.int64))
    data, ends = text.tobytes(), bounds.tolist()
    for i, char in enumerate(chars):
        assert data[ends[i] : ends[i + 1]].decode() == theirs.normalize_str(char.decode()), char.decode()


# ------------------------------------------------------------------ texts and places


@rules
def test_random_mixtures_and_their_places(steps: tuple[Step, ...]) -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    for size in (1, 2, 3, 5, 8, 13, 40, 40):
        text = mixture(rng, size)
        check(text, steps)
        assert places(text, steps) == peer_places(text, steps)


@pytest.mark.sweep
@given(texts(), st.sampled_from(RULES))
def test_any_text(text: str, steps: tuple[Step, ...]) -> None:
    check(text, steps)
    assert places(text, steps) == peer_places(text, steps)


def files(data: Path, folder: str, size: int | None) -> list[str]:
    found = []
    for file in sorted((data / folder).glob("*.txt")):
        content = file.read_bytes()[:size]
        found += [content[at : at + PART].decode("utf-8", "ignore") for at in range(0, len(content), PART)]
    assert len(found) > 10
    return found


@pytest.mark.parametrize("folder", ["adversarial", "corpora"])
@pytest.mark.parametrize("steps", [(Bert(),), (Bert(lowercase=False),), *((form,) for form in FORMS)], ids=str)
def test_files(data: Path, steps: tuple[Step, ...], folder: str) -> None:
    for text in files(data, folder, FEW):
        check(text, steps)
        assert places(text[:300], steps) == peer_places(text[:300], steps)


@pytest.mark.sweep
@pytest.mark.parametrize("folder", ["adversarial", "corpora"])
@rules
def test_more_of_files(shared_data: Path, steps: tuple[Step, ...], folder: str) -> None:
    for text in files(shared_data, folder, None if FULL else MANY):
        check(text, steps)


@pytest.mark.parametrize("step", BERTS, ids=str)
def test_offsets_of_encodings(step: Bert) -> None:
    """Of words cut behind the normalizer, as an Encoding has them."""
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    tok = tokenizers.Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    tok.normalizer, tok.pre_tokenizer = peer((step,)), pre_tokenizers.Split(CHARACTER, "isolated")
    for _ in range(30):
        text = mixture(rng, 20)
        assert tok.encode(text).offsets == [span for _, span in places(text, (step,))]
