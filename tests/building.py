"""Tokenizers put together from parts, and files read and written as tokenizers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from inside import formats_hf_tokenizer_json as tokenizer_json
from inside import formats_sentencepiece_read as sentencepiece_read
from inside import formats_sentencepiece_write as sentencepiece_write
from inside import formats_vocab_txt as vocab_txt
from inside import json_node_Node as Node
from subwords import AddedToken, Tokenizer, TokenizerSpec
from subwords.machine import BPE, NormalizerEngine, SplitterEngine, Vocab

__all__ = [
    "node_of",
    "read_json",
    "read_model",
    "read_vocab",
    "tokenizer_of",
    "with_decoder",
    "write_json",
    "write_model",
]


def tokenizer_of(
    model: Any,
    splitter: SplitterEngine,
    *,
    normalizer: NormalizerEngine | None = None,
    added_tokens: Iterable[AddedToken] = (),
    **parts: Any,
) -> Tokenizer:
    """Return the tokenizer of a model and of what stands around it."""
    return Tokenizer(
        TokenizerSpec(
            model=model,
            splitter=splitter.rule,
            normalizer=normalizer.steps if normalizer else (),
            added_tokens=tuple(added_tokens),
            **parts,
        )
    )


def with_decoder(decoder: Any, tokens: list[str], **parts: Any) -> tuple[Tokenizer, list[int]]:
    """Return a tokenizer that has these tokens and a decoder, and the id of each; "" has an id without a token."""
    known = [*dict.fromkeys([*tokens, "?"])]
    model = BPE(Vocab([token.encode() for token in known]), np.zeros((0, 3), np.int64), byte_level=False)
    tok = tokenizer_of(model, SplitterEngine(()), **parts).with_(decoder=decoder)
    return tok, [known.index(token) for token in tokens]


def node_of(value: Any, path: str = "node") -> Node:
    return Node("", path, value)


def read_json(data: bytes, name: str) -> Tokenizer:
    return Tokenizer(tokenizer_json.read_tokenizer_json(data, name))


def write_json(tok: Tokenizer) -> bytes:
    return tokenizer_json.write_tokenizer_json(tok.spec)


def read_model(data: bytes, name: str) -> Tokenizer:
    return Tokenizer(sentencepiece_read.read_model_file(data, name))


def write_model(tok: Tokenizer) -> bytes:
    return sentencepiece_write.write_model_file(tok.spec)


def read_vocab(data: bytes, name: str) -> Tokenizer:
    return Tokenizer(vocab_txt.read_vocab_txt(data, name))
