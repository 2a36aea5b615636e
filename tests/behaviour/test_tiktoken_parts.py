"""tiktoken's README makes new encodings of the parts of another one: those of a shape here do the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import subwords
from subwords import FormatError, InputError

TEXTS = ["low lower lowest, slow 12345 <|end|> é\n  x", "it's", ""]


@pytest.mark.parametrize("splitter", ["gpt2", "cl100k", "o200k", "llama3", r"\w+|\W"])
def test_a_new_encoding_of_tiktoken(splitter: str) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    tok = subwords.train(TEXTS * 9, vocab_size=280, splitter=splitter, special_tokens=["<|end|>"])
    enc = tok.as_tiktoken()
    special = {**enc._special_tokens, "<|im_start|>": tok.vocab_size}
    theirs = tiktoken.Encoding(
        "more", pat_str=enc._pat_str, mergeable_ranks=enc._mergeable_ranks, special_tokens=special
    )
    ours = tok.with_tokens(["<|im_start|>"]).as_tiktoken()
    for text in [*TEXTS, "<|im_start|>low"]:
        assert theirs.encode(text, allowed_special="all") == ours.encode(text, allowed_special="all")
        assert theirs._encode_bytes(text.encode()) == ours._encode_bytes(text.encode()) == ours.encode_ordinary(text)


def test_a_real_encoding(shared_data: Path) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    enc = subwords.load(shared_data / "tokenizers/gpt2/tokenizer.json").as_tiktoken()
    theirs = tiktoken.Encoding("gpt2", pat_str=enc._pat_str, mergeable_ranks=enc._mergeable_ranks, special_tokens={})
    assert theirs.encode_ordinary(TEXTS[0]) == enc.encode_ordinary(TEXTS[0])


def test_what_tiktoken_cannot_have() -> None:
    enc = subwords.train(TEXTS, vocab_size=258, splitter=["digits", "gpt2"]).as_tiktoken()
    with pytest.raises(InputError, match="tiktoken splits by one regex"):
        _ = enc._pat_str
    first = subwords.train(["ab ab abc abc bc bc bc"], vocab_size=258, splitter="gpt2")
    merges = first.model.merges[::-1].copy()  # type: ignore[union-attr]
    from dataclasses import replace

    odd = first.with_(model=replace(first.model, merges=merges)).as_tiktoken()  # type: ignore[call-arg]
    with pytest.raises(FormatError, match="tiktoken would give other ids"):
        _ = odd._mergeable_ranks
