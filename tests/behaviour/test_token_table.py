"""The bytes of all tokens as arrays, their trie, and what grammar engines make of them (D7, D11)."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import subwords
from seeds import seed_of_run
from subwords import InputError
from subwords.machine import Vocab
from test_docs import blocks

TEXT = "Hello world again, the naïve café says: 你好 🙂!\n\tdon't do not  stop."
WORDS = ["Hello world again, the naïve café says: don't do not stop. " * 9]
FAMILIES: list[dict[str, Any]] = [
    {"vocab_size": 300, "special_tokens": ["<end>"]},
    {"vocab_size": 60, "algorithm": "wordpiece", "normalizer": "bert-cased"},
    {"vocab_size": 60, "algorithm": "unigram"},
    {"vocab_size": 60, "byte_level": False},
    {"vocab_size": 320, "byte_level": False, "byte_fallback": True},
    {"vocab_size": 12, "algorithm": "wordlevel", "splitter": "whitespace"},
]
MATCHES = {
    "begins": lambda token, data: token.startswith(data),
    "extends": lambda token, data: token.startswith(data) and len(token) > len(data),
    "contains": lambda token, data: data in token,
    "fits": lambda token, data: token.startswith(data) or data.startswith(token),
}


@pytest.fixture(scope="module", params=range(len(FAMILIES)))
def tok(request: pytest.FixtureRequest) -> subwords.Tokenizer:
    return subwords.train([*WORDS, TEXT], **FAMILIES[request.param])


def check_joins(tok: subwords.Tokenizer, text: str) -> None:
    """Joined bytes of ids are those of the decoded text, but for the spaces that the table says are dropped."""
    table, ids = tok.token_table(), tok.encode(text)
    joined, whole = b"".join(table[index] for index in ids), tok.decode_bytes(ids)
    if table.drops == "first":
        assert joined.lstrip(b" ") == whole.lstrip(b" ") and joined.endswith(whole)
    elif table.drops == "last":
        assert joined in (whole, whole + b" ")
    else:
        assert joined == whole
    if text[:1].isalpha() and ids[0] != tok.model.unk_id:
        assert joined.startswith(b" ") == table.adds_space


def check_trie(table: Any, prefixes: list[bytes]) -> None:
    trie, tokens = table.trie, list(table)
    for data in prefixes:
        for matching, match in MATCHES.items():
            expected = np.array([bool(token) and match(token, data) for token in tokens])
            assert (trie.mask(data, matching) == expected).all(), (data, matching)
    walked: dict[int, bytes] = {0: b""}
    for node in range(len(trie.labels)):  # a parent comes before its children
        child, stop = node + 1, int(trie.ends[node])
        while child < stop:
            walked[child] = walked[node] + bytes([trie.labels[child]])
            child = int(trie.ends[child])
        assert child == stop
        assert all(tokens[index] == walked[node] for index in trie.ids[trie.starts[node] : trie.starts[node + 1]])
    assert len(walked) == len(trie.labels) == len({token[:k] for token in tokens for k in range(len(token) + 1)})
    assert sorted(trie.ids.tolist()) == [index for index, token in enumerate(tokens) if token]


def test_joined_bytes_are_those_of_the_text(tok: subwords.Tokenizer) -> None:
    for text in (TEXT, "Hello world", " Hello", "again and again ", "\n\n s"):
        check_joins(tok, text)


def test_bytes_of_the_table_are_those_of_each_token(tok: subwords.Tokenizer) -> None:
    table = tok.token_table()
    assert list(table) == [tok.token_bytes(index) for index in range(len(tok))] == [table[i] for i in range(len(table))]
    assert len(table) == tok.vocab_size and table.longest == max(map(len, table))


def test_masks_and_nodes_equal_a_search_of_all_tokens(tok: subwords.Tokenizer) -> None:
    table = tok.token_table()
    check_trie(table, [b"", b" ", b"a", b"the", b" the", b"\xe4\xbd", b"zzz", *list(table)[-9:]])


def test_random_vocabularies_with_nul_bytes_and_repeats() -> None:
    rng, table = np.random.default_rng(seed_of_run()), subwords.load("demo").token_table()
    for _ in range(30):
        words = [bytes(rng.choice([0, 97, 255], rng.integers(0, 20)).tolist()) for _ in range(rng.integers(1, 40))]
        vocab = Vocab(words)
        check_trie(replace(table, data=vocab.data[: vocab.offsets[-1]], offsets=vocab.offsets), words[:4])


def test_flags() -> None:
    tok = subwords.train(WORDS, vocab_size=300, special_tokens=["<end>"]).with_tokens(["<pad>"])
    table = tok.token_table()
    assert table.special.nonzero()[0].tolist() == sorted(tok.special_tokens.values())
    assert not table.control.any() and not table.unused.any() and not table.adds_space and table.drops == "none"
    unigram = subwords.train(WORDS, vocab_size=60, algorithm="unigram").token_table()
    assert unigram.adds_space and unigram.drops == "first"


def test_wrong_arguments() -> None:
    table = subwords.load("demo").token_table()
    for index in (-1, len(table), "a", 1.5, True):
        with pytest.raises(InputError, match="expected an id from 0 to 4095"):
            table[index]  # type: ignore[index]
    with pytest.raises(InputError, match="expected bytes, not str"):
        table.trie.mask("a")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="matching"):
        table.trie.mask(b"a", "ends")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected a node"):
        table.trie.ids_below(-2)
    for value in (table, table.trie):
        with pytest.raises(InputError, match="cannot be pickled"):
            pickle.dumps(value)


REAL = (
    *("phi-3/tokenizer.json", "gpt2/tokenizer.json", "t5/tokenizer.json", "bert/bert-base-uncased-tokenizer.json"),
    *("mistral/tokenizer.model.v1", "t5/spiece.model", "albert/spiece.model", "clip/merges.txt"),
    *("openai-gpt/merges.txt", "falcon/tokenizer.json", "sentencepiece-own/test_ja_model.model"),
)


@pytest.mark.parametrize("name", REAL)
def test_real_files(shared_data: Path, name: str) -> None:
    path = shared_data / "tokenizers" / name
    if not path.exists():
        pytest.skip(f"no {name}")
    tok = subwords.load(path)
    for text in (TEXT, "hello world", "again and again "):
        check_joins(tok, text)
    table, tokens = tok.token_table(), list(tok.token_table())
    for data in (b" th", b"ing", b"\xe4"):
        expected = np.array([token.startswith(data) for token in tokens])
        assert (table.trie.mask(data) == expected).all()


def recipe(package: str) -> dict[str, Any]:
    """What the recipe of a package in the guide leaves; skipped where the package is not installed."""
    pytest.importorskip(package, exc_type=ImportError)
    body = next(body for _, body in blocks("docs/serving.md", "py") if f"import {package}\n" in body)
    tok = subwords.load("demo").with_tokens(["</s>"])
    names: dict[str, Any] = {"tok": tok, "table": tok.token_table()}
    exec(body, names)
    return names


def test_the_recipe_for_xgrammar() -> None:
    names = recipe("xgrammar")
    table, info = names["table"], names["info"]
    assert info.special_token_ids == [0]  # those that stop are apart
    assert info.stop_token_ids == [len(table) - 1] and info.decoded_vocab[1:-1] == list(table)[1:-1]
    assert not info.add_prefix_space


def test_the_recipe_for_llguidance() -> None:
    names = recipe("llguidance")
    llguidance, table = names["llguidance"], names["table"]
    matcher = llguidance.LLMatcher(names["tokenizer"], llguidance.LLMatcher.grammar_from_regex("(light|lights) of"))
    mask = np.unpackbits(np.frombuffer(matcher.compute_bitmask(), np.uint8), bitorder="little")[: len(table)]
    fits = table.trie.mask(b"light of", "fits") | table.trie.mask(b"lights of", "fits")
    assert not (mask.astype(bool) & ~fits).any() and mask.any()


def test_the_recipe_for_outlines() -> None:
    names = recipe("outlines_core")
    table, index = names["table"], names["index"]
    allowed = {*index.get_allowed_tokens(index.get_initial_state())}
    assert allowed == {*table.trie.ids_within(b" yes").tolist(), *table.trie.ids_within(b" no").tolist()}
