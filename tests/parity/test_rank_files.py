"""Rank files give the ids of tiktoken, special tokens included; what is written is read by it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given
from tiktoken.load import load_tiktoken_bpe

import subwords
from small_data import file_of
from strategies import texts
from subwords import Tokenizer
from subwords.machine import ENCODINGS

OWN = {"<|end|>": 60_000, "<|a b|>": 60_001}


@pytest.fixture(autouse=True, scope="module")
def no_cache() -> Iterator[None]:
    """tiktoken keeps what it reads by path, and a path may come again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", "")
        yield


def peer_of(path: Path, pattern: str, special_tokens: dict[str, int]) -> tiktoken.Encoding:
    return tiktoken.Encoding(
        "peer", pat_str=pattern, mergeable_ranks=load_tiktoken_bpe(str(path)), special_tokens=special_tokens
    )


@pytest.fixture(scope="module")
def pair(data: Path) -> tuple[Tokenizer, tiktoken.Encoding]:
    path = file_of(data, "tiktoken/r50k_base.tiktoken")
    pattern = json.loads(file_of(data, "tiktoken/specs.json").read_text("utf-8"))["r50k_base"]["pat_str"]
    return subwords.load(path, splitter=pattern, special_ids=OWN), peer_of(path, pattern, OWN)


@given(texts())
def test_ids_and_text(pair: tuple[Tokenizer, tiktoken.Encoding], text: str) -> None:
    ours, theirs = pair
    assert ours.encode(text) == theirs.encode_ordinary(text)
    marked = f"{text}<|end|>{text}<|a b|><|end|>"
    ids = theirs.encode(marked, allowed_special="all")
    assert ours.encode(marked, special="allow") == ids
    assert ours.decode(ids) == theirs.decode(ids) == marked
    assert ours.vocab_size == theirs.n_vocab


@pytest.mark.rotating(2)
@pytest.mark.parametrize("name", ["r50k_base", "p50k_base", "cl100k_base", "o200k_base"])
def test_openai_s_files_by_content_and_by_name(name: str, shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shared_data / "tokenizers" / "tiktoken"
    specs = json.loads((folder / "specs.json").read_text("utf-8"))
    theirs = peer_of(folder / f"{name}.tiktoken", specs[name]["pat_str"], specs[name]["special_tokens"])
    ours = subwords.load(folder / f"{name}.tiktoken")
    monkeypatch.chdir(folder)
    assert subwords.load(name.upper().replace("_", "-")) == ours
    text = (shared_data / "corpora" / "multilingual.txt").read_text("utf-8")[:200_000]
    assert ours.encode(text) == theirs.encode_ordinary(text)
    marked = f"a{''.join(ENCODINGS[name].special_tokens)} b"
    assert ours.encode(marked, special="allow") == theirs.encode(marked, allowed_special="all")
    assert (ours.vocab_size, ours.special_tokens) == (theirs.n_vocab, specs[name]["special_tokens"])


def test_what_is_written_is_read_by_tiktoken(tmp_path: Path) -> None:
    text = "it's a low, lower, lowest price of 1,234 é 語 and so on\n" * 3
    tok = subwords.train([text], vocab_size=300, special_tokens=["<|end|>"])
    tok.save(tmp_path / "a.tiktoken")
    pattern = tok.splitter.rule[0].pattern  # type: ignore[union-attr]
    theirs = peer_of(tmp_path / "a.tiktoken", pattern, tok.special_tokens)
    for each in (text, "unseen words: zebra, 77 ü", "<|end|>low<|end|>"):
        assert theirs.encode(each, allowed_special="all") == tok.encode(each, special="allow")
