"""Odd ids, arrays and texts: each gives the right result or a SubwordsError, and nothing is read as something else."""

from __future__ import annotations

import array
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import subwords
from subwords import Special, SubwordsError, Text, TokenBatch


@pytest.fixture(scope="module")
def tok() -> subwords.Tokenizer:
    return subwords.load("demo")


OF_IDS: dict[str, Callable[[Any, Any], Any]] = {
    "decode": lambda tok, ids: tok.decode(ids),
    "decode strict": lambda tok, ids: tok.decode(ids, errors="strict", skip_special_tokens=True),
    "decode_bytes": lambda tok, ids: tok.decode_bytes(ids),
    "decode_batch": lambda tok, ids: tok.decode_batch([ids, [1]]),
    "decode_with_spans": lambda tok, ids: tok.decode_with_spans(ids)[0],
    "heal": lambda tok, ids: tok.heal(ids),
    "stream of a prompt": lambda tok, ids: tok.stream(prompt=ids).finish(),
    "step": lambda tok, ids: tok.stream().step(ids),
    "feed": lambda tok, ids: "".join(tok.stream().feed(ids)),
    "append": lambda tok, ids: tok.growing("a").append(ids=ids).ids.tolist(),
    "TokenBatch.of": lambda tok, ids: TokenBatch.of([ids, [1]]).to_lists(),
    "canonicalize": lambda tok, ids: subwords.study.canonicalize(tok, ids),
}
GOOD: list[tuple[Callable[[], Any], list[int]]] = [
    (lambda: [300, 301, 64], [300, 301, 64]),
    (lambda: (300, np.int16(301)), [300, 301]),
    (lambda: range(300, 304), [300, 301, 302, 303]),
    (lambda: np.array([300, 301], ">u2"), [300, 301]),
    (lambda: np.array([300, 301], ">i8"), [300, 301]),
    (lambda: np.arange(300, 312, dtype=np.uint32)[::-3], [311, 308, 305, 302]),
    (lambda: np.arange(64, 80, dtype=np.uint64), [*range(64, 80)]),
    (lambda: array.array("i", [300, 301]), [300, 301]),
    (lambda: np.zeros(0), []),
]
WRONG: list[Callable[[], Any]] = [
    lambda: [1.0],
    lambda: [1.5],
    lambda: [True],
    lambda: [True, 5],
    lambda: [5, np.bool_(False)],
    lambda: ["1"],
    lambda: "12",
    lambda: b"\1\2",
    lambda: memoryview(b"\1\2"),
    lambda: {1, 2},
    lambda: {1: 2},
    lambda: None,
    lambda: [None],
    lambda: [[1, 2]],
    lambda: [[1], [1, 2]],
    lambda: np.array([1.0]),
    lambda: np.array([True]),
    lambda: np.array([[1, 2], [3, 4]]),
    lambda: np.array(["1"]),
    lambda: np.array(["2020-01-01"], "M8[D]"),
    lambda: np.ma.array([1, 2], mask=[0, 1]),
    lambda: [float("nan")],
    lambda: [10**100],
    lambda: [2**64],
    lambda: [-1],
    lambda: [2**63],
    lambda: [-(2**63)],
    lambda: np.array([2**63 + 1], np.uint64),
    lambda: np.full(5000, 2**40),
    lambda: [0] * 3000 + [2**70],
    lambda: [0] * 3000 + [None],
]


@pytest.mark.parametrize("name", OF_IDS)
def test_ids_are_integers(name: str, tok: subwords.Tokenizer) -> None:
    for make, plain in GOOD:
        assert OF_IDS[name](tok, make()) == OF_IDS[name](tok, plain), make()
    for wrong in WRONG:
        if (name, repr(wrong())) in (("heal", "'12'"), ("append", "None")):  # a text; no ids
            continue
        if name == "feed" and repr(wrong())[:2] in ("[[", "ar"):  # it takes several ids at once as well
            continue
        with pytest.raises(SubwordsError):
            print(name, wrong(), OF_IDS[name](tok, wrong()))


def test_text_is_named_in_the_message(tok: subwords.Tokenizer) -> None:
    with pytest.raises(SubwordsError, match="expected integer ids, not text"):
        tok.decode(["1"])  # type: ignore[list-item]


@pytest.mark.parametrize(
    "value", [np.array([1]), np.array([1, 2]), np.array(1.0), 1.0, True, "1", None, [1], 10**30, -2]
)
def test_an_index_is_an_int(value: Any, tok: subwords.Tokenizer) -> None:
    table = tok.token_table()
    calls = [tok.token_bytes, table.__getitem__, table.trie.ids_below]
    calls += [] if type(value) is int else [tok.id_to_token]  # None for an id without a token
    for call in calls:
        with pytest.raises(SubwordsError):
            print(call(value))
    assert tok.token_bytes(np.int8(65)) == tok.token_bytes(np.array(65)) == tok.token_bytes(65)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ids", "offsets"),
    [
        ([1, 2, 3], [0, 2]),
        ([1, 2, 3], [1, 3]),
        ([1, 2, 3], [0, 2, 1, 3]),
        ([1, 2, 3], [0, 2**62, 3]),
        ([1, 2, 3], [0, -1, 3]),
        ([1, 2, 3], []),
        ([1, 2, 3], [0.0, 3.0]),
        ([1, 2, 3], None),
        ([1, 2, 3], ["0", "3"]),
        ([-1], [0, 1]),
        ([2**32], [0, 1]),
        ([1.5], [0, 1]),
        (None, [0]),
        ("1", [0, 1]),
    ],
)
def test_a_batch_refuses_odd_arrays(ids: Any, offsets: Any) -> None:
    with pytest.raises(SubwordsError):
        TokenBatch(ids, offsets)


def test_a_batch_keeps_copies() -> None:
    ids, offsets = np.arange(6, dtype=np.uint32), np.array([0, 2, 6])
    batch = TokenBatch(ids, offsets)
    ids[:], offsets[:] = 9, 1 << 40
    assert batch.to_lists() == [[0, 1], [2, 3, 4, 5]]
    assert TokenBatch([1, 2, 3], [0, 3]).to_lists() == [[1, 2, 3]]  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------------------------------------
# Texts of types that lie about what they are.


class LyingText(str):
    def encode(self, *args: object) -> bytes:  # type: ignore[override]
        return b"\xff\xfe"

    def __len__(self) -> int:
        return 10**9

    def __str__(self) -> str:
        return "lie"

    def __getitem__(self, key: object) -> str:
        return "Z"

    def __iter__(self) -> Any:
        return iter("zzz")

    def __contains__(self, part: object) -> bool:
        return True

    def isascii(self) -> bool:
        return True


class LyingBytes(bytes):
    def __len__(self) -> int:
        return 10**9

    def __getitem__(self, key: object) -> Any:
        return 65

    def decode(self, *args: object) -> str:  # type: ignore[override]
        return "lie"


OF_TEXT: dict[str, Callable[[Any, Any], Any]] = {
    "encode": lambda tok, text: tok.encode(text),
    "encode allow": lambda tok, text: tok.encode(text, special="allow"),
    "encode_to_numpy": lambda tok, text: tok.encode_to_numpy(text).tolist(),
    "tokenize": lambda tok, text: tok.tokenize(text),
    "count_tokens": lambda tok, text: tok.count_tokens(text),
    "encode_batch": lambda tok, text: tok.encode_batch([text] * 3).to_lists(),
    "count of many": lambda tok, text: tok.count_tokens([text] * 3).tolist(),
    "Text": lambda tok, text: tok.encode([Text(text), Special("<|endoftext|>"), Text(text)]),
    "encode_stream": lambda tok, text: (lambda s: [*s.feed(text), *s.finish()])(tok.encode_stream()),
}
OF_STR: dict[str, Callable[[Any, Any], Any]] = {
    "call": lambda tok, text: tok(text).spans.tolist(),
    "calls": lambda tok, text: [each.tokens for each in tok([text, text])],
    "pair": lambda tok, text: tok(text, text).ids.tolist(),
    "heal": lambda tok, text: tok.heal(text),
    "growing": lambda tok, text: tok.growing(text).append(text).ids.tolist(),
    "edit": lambda tok, text: tok.growing("abc").edit(1, 2, text).text,
    "chunks": lambda tok, text: [*tok.chunks(text, 3)],
    "truncate": lambda tok, text: tok.truncate(text, 3),
    "PromptCache": lambda tok, text: subwords.PromptCache(tok).encode(text),
    "split": lambda tok, text: subwords.splitter("gpt2").split(text),
    "spans": lambda tok, text: subwords.splitter("gpt2").spans(text).tolist(),
    "normalize": lambda tok, text: subwords.normalizer("bert-uncased").normalize(text),
    "nfc": lambda tok, text: subwords.normalizer("nfc").normalize(text),
    "segmentations": lambda tok, text: subwords.sampling.segmentations(tok, "ab" and text, limit=10**4),
}


@pytest.fixture(scope="module")
def with_special(tok: subwords.Tokenizer) -> subwords.Tokenizer:
    return tok if "<|endoftext|>" in tok.special_tokens else tok.with_tokens(["<|endoftext|>"])


@pytest.mark.parametrize("name", [*OF_TEXT, *OF_STR])
def test_texts_of_subclasses_are_what_they_hold(name: str, with_special: subwords.Tokenizer) -> None:
    call = {**OF_TEXT, **OF_STR}[name]
    for text in ("light", "Le café", "") if name != "segmentations" else ("light",):
        assert call(with_special, LyingText(text)) == call(with_special, text)
        if name in OF_TEXT:
            assert call(with_special, LyingBytes(text.encode())) == call(with_special, text.encode())


def test_arrays_of_bytes_are_of_bytes() -> None:
    splitter, text = subwords.splitter("gpt2"), b"some text, and more"
    expected, data = splitter.byte_spans(text).tolist(), np.frombuffer(text, np.uint8)
    for given in (bytearray(text), memoryview(text), data, data.copy(), np.repeat(data, 3)[::3], LyingBytes(text)):
        assert splitter.byte_spans(given).tolist() == expected  # type: ignore[arg-type]
    assert splitter.byte_spans(memoryview(text)[::2]).tolist() == splitter.byte_spans(text[::2]).tolist()  # type: ignore[arg-type]
    odd = [
        data.astype(float),
        data.astype(">u2"),
        data[:9].reshape(3, 3),
        np.uint8(65),
        np.array(["a"]),
        "a",
        None,
        [65],
    ]
    for wrong in (*odd, memoryview(array.array("i", [1, 2])), data.astype(bool)):
        with pytest.raises(SubwordsError):
            splitter.byte_spans(wrong)  # type: ignore[arg-type]
