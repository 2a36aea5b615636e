"""A tokenizer.json with a Unigram model means what HF says: ties, unknown characters, spaces, offsets (U5)."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tokenizers

import subwords
from building import read_json as read
from building import write_json as write
from small_data import file_of, is_small
from subwords import Tokenizer

SEED = 37
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}


def both(pieces: list[list[Any]], **fields: Any) -> tuple[Tokenizer, tokenizers.Tokenizer]:
    """Ours and theirs."""
    model = {"type": "Unigram", "unk_id": 0, "byte_fallback": fields.pop("byte_fallback", False), "vocab": pieces}
    data = json.dumps({"version": "1.0", **fields, "model": model}).encode()
    return read(data, "a.json"), tokenizers.Tokenizer.from_buffer(data)


def check(ours: Tokenizer, theirs: tokenizers.Tokenizer, text: str, *, spans: bool = True) -> None:
    ref = theirs.encode(text, add_special_tokens=False)
    assert ours.encode(text) == ref.ids, text
    got = ours(text)
    assert not spans or [tuple(span) for span in got.spans.tolist()] == ref.offsets, text
    assert ours.decode(ref.ids) == theirs.decode(ref.ids, skip_special_tokens=False), text


def test_equal_sums_as_in_t5() -> None:
    """With T5's scores: equal sums but for the last digits, which their parser reads otherwise than Python."""
    pieces = [["<unk>", 0.0], ["▁", -2.0122928619384766], ["-", -5.129043102264404]]
    pieces += [["---", -12.130167007446289], ["…", -13.590115547180176]]
    ours, theirs = both(pieces, pre_tokenizer=METASPACE)
    for n in range(61):
        check(ours, theirs, "-" * n)


def test_scores_that_are_read_with_another_last_digit() -> None:
    print("seed", SEED)
    rng = random.Random(SEED)
    for _ in range(12):
        scores = [round(rng.uniform(-9, -1), rng.choice([1, 2, 16])) for _ in range(3)]
        whole = {"a": scores[0], "b": scores[1], "▁": scores[2]}
        whole |= {text: sum(map(whole.__getitem__, text)) for text in ("aa", "aaa", "ab", "ba", "▁a", "aab", "▁aa")}
        ours, theirs = both(
            [["<unk>", -9.5], *([text, score] for text, score in whole.items())], pre_tokenizer=METASPACE
        )
        for text in ["a" * n for n in range(1, 61, 9)] + ["".join(rng.choices("aab c", k=12)) for _ in range(12)]:
            assert ours.encode(text) == theirs.encode(text, add_special_tokens=False).ids, text


@cache
def real(data: Path) -> tuple[Tokenizer, tokenizers.Tokenizer]:
    path = file_of(data, "t5/tokenizer.json")
    return subwords.load(path), tokenizers.Tokenizer.from_file(str(path))


def check_batch(data: Path, texts: list[str]) -> None:
    ours, theirs = real(data)
    ref = theirs.encode_batch(texts, add_special_tokens=False)
    for text, got, expected in zip(texts, ours.encode_batch(texts).to_lists(), ref, strict=True):
        assert got == expected.ids, text


def test_runs_of_characters_in_t5(data: Path) -> None:
    assert is_small(data) or real(data)[0].encode("-------") == [3, 14817, 14817, 18]
    check_batch(data, [char * n for n in range(1, 61) for char in "-.=_*,ae1!?#~ \"'é中"])


def test_few_characters_in_t5(data: Path) -> None:
    print("seed", SEED)
    rng = random.Random(SEED)
    for letters in ("-. ", "ae", "tion ", "01.", "-_=", "st e"):
        check_batch(data, ["".join(rng.choices(letters, k=rng.randrange(1, 40))) for _ in range(400)])


@pytest.mark.parametrize("byte_fallback", [False, True])
def test_the_unk_token_spelled_out_is_one_with_unknown_neighbours(byte_fallback: bool) -> None:
    print("seed", SEED)
    rng = random.Random(SEED)
    pieces = [["<unk>", -1.0], ["a", -2.0], ["ab", -2.5], ["b", -3.25], *([char, -5.0] for char in "▁<unk>")]
    pieces += [[f"<0x{byte:02X}>", -20.0] for byte in range(256 if byte_fallback else 0)]
    ours, theirs = both(pieces)
    fixed = ["<unk>☃", "☃<unk>", "<unk>", "<unk><unk>", "a<unk>b", "☃", "<unk", ""]
    for text in fixed + ["".join(rng.choices(["a", "b", "<unk>", "☃", "é", "<", "k"], k=7)) for _ in range(60)]:
        # Of bytes of a run each has its character here, and in HF all of the run.
        check(ours, theirs, text, spans=not byte_fallback)


SPACES = ["▁", "▁", " ", "  ", "\t", "\n", "\u3000", "\x85", "\x00", "hug", "h", "☃", "字", "▁ ", "ug"]


@pytest.mark.parametrize("strips", [False, True])
def test_a_file_written_here_is_what_hf_reads(strips: bool) -> None:
    """strips: as earlier versions wrote it, where U+2581 at the end of a text stays."""
    print("seed", SEED)
    rng = random.Random(SEED)
    texts = ["hug hugs  hugging, unhugged\tbug 字\n", "  ", "naïve ▁x 12"]
    tok = subwords.train(texts * 5, algorithm="unigram", vocab_size=48)
    data = write(tok)
    if strips:
        top = json.loads(data)
        top["normalizer"]["normalizers"][1] = {"type": "Strip", "strip_left": True, "strip_right": True}
        data = json.dumps(top).encode()
    back, theirs = read(data, "a.json"), tokenizers.Tokenizer.from_buffer(data)
    fixed = ["", " ", "▁", "▁▁▁", "a▁", "a▁ ▁\n", " ▁a", "▁▁", "hug▁\x00"]
    every = fixed + ["".join(rng.choices(SPACES, k=rng.randrange(9))) for _ in range(120)]
    for text in every:
        check(back, theirs, text)
        if not strips:
            ids = tok.encode(text)
            assert back.encode(text) == ids, text
            assert back.decode(ids) == tok.decode(ids), text
    assert back.encode_batch(every).to_lists() == [back.encode(text) for text in every]
    long = "".join(rng.choices(SPACES, k=60_000))
    assert back.encode(long) == theirs.encode(long, add_special_tokens=False).ids
    assert strips == (b"Strip" in data.replace(b'"type": "Replace"', b"").split(b"pre_tokenizer")[0])
