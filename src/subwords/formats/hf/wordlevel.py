"""Read and write the WordLevel model of a tokenizer.json."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from subwords.formats.hf.vocabulary import encode_vocabulary, texts_by_id, unk_text, unyielded_ids
from subwords.formats.hf.vocabulary import token_texts as token_texts
from subwords.formats.hf.vocabulary import write_vocab as write_vocab
from subwords.formats.json_node import Node
from subwords.models.wordlevel.model import WordLevel
from subwords.spec.added_token import AddedToken
from subwords.spec.vocab import Vocab


def read_model(node: Node, vocab: dict[str, int], added: Sequence[AddedToken]) -> WordLevel:
    """Return the model of a `model` object, which must have all fields, with this vocabulary and added tokens.

    As in HF, unk_token may be missing from the vocabulary: then an unknown word is an error.

    Source: HF tokenizers 0.23.

    >>> from subwords.formats.json_node import Node
    >>> read_model(Node("a.json", "model", {"unk_token": "[UNK]"}), {"[UNK]": 0, "a": 1}, ()).unk_id
    0
    """
    tokens = Vocab(encode_vocabulary(node["vocab"], texts_by_id(vocab, added)))
    return WordLevel(tokens, vocab.get(node["unk_token"].string()), unyielded_ids(added, vocab))


def write_model(model: WordLevel, texts: list[str]) -> dict[str, Any]:
    """Return the `model` object with an empty vocabulary; `texts` are the tokens by id.

    The format needs an unk_token: a model without one names a token that does not exist.

    >>> write_model(WordLevel(Vocab([b"a"])), ["a"])
    {'type': 'WordLevel', 'vocab': {}, 'unk_token': '<unk>'}
    """
    return {"type": "WordLevel", "vocab": {}, "unk_token": unk_text(model.unk_id, texts)}
