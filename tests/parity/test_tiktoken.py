"""The same ids as tiktoken, from the same rank file (E2)."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from hypothesis import given

from building import tokenizer_of
from engines import splitter
from small_data import file_of
from strategies import byte_texts, contested, merge_lists, model_of, texts
from subwords import Tokenizer
from subwords.machine import BPE
from subwords.reference.bpe import GPT2_PATTERN

BYTES = [bytes([byte]) for byte in range(256)]


@pytest.fixture(scope="module")
def spec(data: Path) -> dict[str, Any]:
    found = json.loads(file_of(data, "tiktoken/specs.json").read_text())["r50k_base"]
    lines = [line.split() for line in file_of(data, f"tiktoken/{found['file']}").read_bytes().splitlines()]
    return {**found, "ranks": {base64.b64decode(token): int(rank) for token, rank in lines}}


@pytest.fixture(scope="module")
def r50k(spec: dict[str, Any]) -> Tokenizer:
    tokens = sorted(spec["ranks"], key=spec["ranks"].__getitem__)
    assert [spec["ranks"][token] for token in tokens] == [*range(len(tokens))]
    return tokenizer_of(BPE.from_ranks(tokens), splitter("gpt2"))


@pytest.fixture(scope="module")
def peer(spec: dict[str, Any]) -> tiktoken.Encoding:
    return tiktoken.Encoding("r50k", pat_str=spec["pat_str"], mergeable_ranks=spec["ranks"], special_tokens={})


def check_ids(tok: Tokenizer, peer: tiktoken.Encoding, documents: list[str]) -> None:
    ref = [peer.encode_ordinary(text) for text in documents]
    for text, ids in zip(documents, ref, strict=True):
        assert tok.encode(text) == ids, text[:200]
    assert tok.encode_batch(documents).to_lists() == ref


@given(texts())
def test_ids_of_any_text(r50k: Tokenizer, peer: tiktoken.Encoding, text: str) -> None:
    check_ids(r50k, peer, [text])


@given(byte_texts(), merge_lists([b"a", b"b", b" ", b"\xc3", b"\xa9"]))
def test_decoding_any_ids(data: bytes, pairs: list[tuple[bytes, bytes]]) -> None:
    model = model_of(BYTES, pairs)
    ranks = {token: index for index, token in enumerate(model.vocab)}
    peer = tiktoken.Encoding("random", pat_str=GPT2_PATTERN, mergeable_ranks=ranks, special_tokens={})
    tok = tokenizer_of(BPE.from_ranks([*model.vocab]), splitter("gpt2"))
    ids = tok.encode(data)
    assert peer.decode_bytes(ids) == tok.decode_bytes(ids) == data
    assert tok.decode(ids) == peer.decode(ids)


@given(texts(), merge_lists([b"a", b"b", b" ", b"\n", b"'", b"s", b"\xc3", b"\xa9"]))
def test_ids_by_random_ranks(text: str, pairs: list[tuple[bytes, bytes]]) -> None:
    tokens = [*model_of(BYTES, pairs).vocab]
    ranks = {token: index for index, token in enumerate(tokens)}
    peer = tiktoken.Encoding("random", pat_str=GPT2_PATTERN, mergeable_ranks=ranks, special_tokens={})
    check_ids(
        tokenizer_of(BPE.from_ranks(tokens), splitter("gpt2")), peer, [text, "ab" * 90 + text, " a" * 200 + "é's"]
    )


def test_ids_of_characters_regex_knows_otherwise(r50k: Tokenizer, peer: tiktoken.Encoding) -> None:
    check_ids(r50k, peer, [f"a{c}1 {c} {c}{c}" for c in sorted(contested())])


def test_ids_of_corpus_slices(r50k: Tokenizer, peer: tiktoken.Encoding, data: Path) -> None:
    for path in sorted((data / "corpora").glob("*.txt")):
        content = path.read_bytes()
        thirds = range(0, len(content), len(content) // 3 + 1)
        check_ids(r50k, peer, [content[at : at + 100_000].decode("utf-8", "ignore") for at in thirds])
