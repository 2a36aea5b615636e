"""Two tokenizers on one text (V14), and ids of equal bytes (V15)."""

from __future__ import annotations

from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import subwords
from seeds import seed_of_run
from subwords.study import align, vocabulary_map

WORDS = ["Hello world again, the naïve café says: don't do not stop, and so on. 你好 🙂 " * 9]
TEXTS = ["Hello world", " again,  the naïve café 🙂🙂 ", "你好你好 says", "", "\n\n x", "zzz unknown 𐍈𐍈", "e\u0301"]
FAMILIES: list[dict[str, Any]] = [
    {"vocab_size": 300},
    {"vocab_size": 330, "splitter": "gpt2"},
    {"vocab_size": 60, "algorithm": "wordpiece", "normalizer": "bert-uncased"},
    {"vocab_size": 60, "algorithm": "unigram"},
    {"vocab_size": 320, "byte_level": False, "byte_fallback": True},
    {"vocab_size": 14, "algorithm": "wordlevel", "splitter": "whitespace", "special_tokens": ["<unk>"]},
]


@cache
def trained(number: int) -> subwords.Tokenizer:
    return subwords.train(WORDS, **FAMILIES[number])


def plain_chunks(text: bytes, spans: list[list[tuple[int, int]]]) -> list[int]:
    """The borders of chunks: edges of tokens, or ends of the text, that are inside no token of either."""
    edges = {0, len(text)} | {place for one in spans for span in one for place in span}
    return sorted(at for at in edges if not any(a < at < b for one in spans for a, b in one))


def check(a: subwords.Tokenizer, b: subwords.Tokenizer, text: str) -> None:
    found, data = align(a, b, text), text.encode()
    assert (found.ids_a.tolist(), found.ids_b.tolist()) == (a.encode(text), b.encode(text))
    chunks = list(found)
    assert [index for chunk in chunks for index in chunk.a] == a.encode(text)
    assert [index for chunk in chunks for index in chunk.b] == b.encode(text)
    assert all(chunk.a or chunk.b for chunk in chunks)
    if chunks:
        assert b"".join(chunk.text for chunk in chunks) == data
    spans = [[(int(x), int(y)) for x, y in tok(text, template=False).byte_spans if x < y] for tok in (a, b)]
    borders = plain_chunks(data, spans)
    assert {place for span in found.spans.tolist() for place in span} <= {*borders}
    for start, stop in found.spans.tolist():  # no chunk could be two chunks with ids
        inner = [at for at in borders if start < at < stop]
        for at in inner:
            begun = [span for one in spans for span in one if start <= span[0] < at]
            rest = [span for one in spans for span in one if at <= span[0] < stop]
            assert not begun or not rest


@pytest.mark.parametrize(("one", "other"), [*product(range(len(FAMILIES)), repeat=2)])
def test_chunks_are_the_smallest_with_borders_of_both(one: int, other: int) -> None:
    a, b = trained(one), trained(other)
    for text in TEXTS:
        try:
            b.encode(text), a.encode(text)
        except subwords.InputError:
            continue
        check(a, b, text)


def test_random_texts() -> None:
    rng = np.random.default_rng(seed_of_run())
    alphabet = ["a", "e", " ", "  ", "é", "🙂", "你", "the", "\n", "again"]
    for _ in range(150):
        text = "".join(rng.choice(alphabet, rng.integers(0, 12)))
        check(*(trained(int(number)) for number in rng.choice([0, 1, 2, 4], 2)), text)


def test_borders_inside_a_character() -> None:
    a, b = subwords.train(["🙂"], vocab_size=256), subwords.train(["🙂🙂🙂"], vocab_size=258, splitter="none")
    chunks = list(align(a, b, "🙂"))
    assert len(chunks) > 1 and b"".join(chunk.text for chunk in chunks) == "🙂".encode()


def test_what_an_alignment_shows() -> None:
    found = align(trained(0), trained(2), "Hello  world")
    assert len(found) == len(found.to_dict()["chunks"]) == len(list(found))
    assert "Hell" in found.to_markdown() and repr(found.tables()[0].columns) in repr(found.tables())
    assert len(align(trained(0), trained(0), "the " * 99).notes()) == 1


def test_a_map_to_itself_is_the_identity() -> None:
    for number in range(len(FAMILIES)):
        tok = trained(number)
        found = vocabulary_map(tok, tok)
        kept = found.ids >= 0
        assert (found.ids[kept] == np.flatnonzero(kept)).mean() > 0.9
        assert all(tok.token_bytes(i) == tok.token_bytes(int(found.ids[i])) for i in np.flatnonzero(kept))
        assert sum(found.counts.values()) == len(tok) == len(found)


@pytest.mark.rotating(3)
@pytest.mark.parametrize(("one", "other"), [*product(range(len(FAMILIES)), repeat=2)])
def test_a_map_has_all_ids_of_equal_bytes(one: int, other: int) -> None:
    a, b = trained(one), trained(other)
    found, theirs = vocabulary_map(a, b), b.token_table()
    ordinary = [i for i in range(len(b)) if not (theirs.special[i] or theirs.control[i] or theirs.unused[i])]
    for index, (start, stop) in enumerate(pairwise(found.offsets.tolist())):
        if found.reason(index) in ("equal", "several", "no token") and not a.token_table().special[index]:
            same = [i for i in ordinary if theirs[i] == a.token_bytes(index)]
            assert sorted(found.targets[start:stop].tolist()) == same
        assert (found.ids[index] == -1) == (start == stop)


def test_special_tokens_by_content_and_by_role() -> None:
    a = trained(0).with_tokens(["</s>", "<pad>", "<tool>"])
    b = trained(1).with_tokens(["<|endoftext|>", "<pad>"])
    found = vocabulary_map(a, b)
    reasons = {token: found.reason(index) for token, index in a.special_tokens.items()}
    assert reasons == {"</s>": "role", "<pad>": "equal", "<tool>": "special"}
    assert found.ids[a.special_tokens["</s>"]] == b.special_tokens["<|endoftext|>"]
    assert "special token" in found.to_markdown() and found.to_dict()["counts"] == found.counts


def test_several_ids_of_equal_bytes() -> None:
    tok = trained(4)  # "a" and <0x61>
    found, index = vocabulary_map(trained(0), tok), trained(0).token_to_id(b"a")
    assert index is not None and found.reason(index) == "several"
    targets = found.targets[found.offsets[index] : found.offsets[index + 1]].tolist()
    assert targets == [tok.token_to_id("a"), tok.token_to_id("<0x61>")]


@pytest.mark.parametrize(
    "names", [("gpt2/tokenizer.json", "t5/spiece.model"), ("clip/merges.txt", "phi-3/tokenizer.json")]
)
def test_real_files(shared_data: Path, names: tuple[str, str]) -> None:
    paths = [shared_data / "tokenizers" / name for name in names]
    if not all(path.exists() for path in paths):
        pytest.skip("no files")
    a, b = map(subwords.load, paths)
    check(a, b, "Rays of light again, the naïve café")
    found = vocabulary_map(a, b)
    assert found.counts["equal"] + found.counts["several"] > 3_000
    kept = np.flatnonzero((found.ids >= 0) & ~a.token_table().special)
    assert all(a.token_bytes(index) == b.token_bytes(int(found.ids[index])) for index in kept.tolist())
