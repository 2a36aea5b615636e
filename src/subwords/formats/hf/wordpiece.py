"""Read and write the WordPiece model of a tokenizer.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from subwords.formats.hf.vocabulary import token_texts as token_texts
from subwords.formats.hf.vocabulary import tokens_by_id, unk_text, unyielded_ids
from subwords.formats.hf.vocabulary import write_vocab as write_vocab
from subwords.formats.json_node import Node
from subwords.models.wordpiece.model import LONGEST_WORD, WordPiece
from subwords.spec.added_token import AddedToken

_LARGEST_NUMBER = 2**64 - 1  # the largest value that HF reads


def read_model(node: Node, vocab: Mapping[str, int], added: Sequence[AddedToken]) -> WordPiece:
    """Return the model of a `model` object, which must have all fields, with this vocabulary and added tokens.

    As in HF, unk_token may be missing from the vocabulary: then an unknown word is an error.

    Source: HF tokenizers 0.23.

    >>> from subwords.formats.json_node import Node
    >>> from subwords.formats.hf.wordpiece import read_model
    >>> fields = {"unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
    >>> read_model(Node("a.json", "model", fields), {"[UNK]": 0, "a": 1}, ()).unk_id
    0
    """
    return WordPiece(
        tokens_by_id(node["vocab"], vocab, added),
        vocab.get(node["unk_token"].string()),
        prefix=node["continuing_subword_prefix"].string(),
        max_chars=min(node["max_input_chars_per_word"].integer(_LARGEST_NUMBER), LONGEST_WORD),
        special_ids=unyielded_ids(added, vocab),
    )


def write_model(model: WordPiece, texts: list[str]) -> dict[str, Any]:
    """Return the `model` object with empty tokens; `vocab` is its last key. `texts` are the tokens by id.

    >>> from subwords.formats.hf.wordpiece import write_model
    >>> from subwords.spec.vocab import Vocab
    >>> from subwords.models.wordpiece.model import WordPiece
    >>> list(write_model(WordPiece(Vocab([b"[UNK]"]), 0), ["[UNK]"]).values())
    ['WordPiece', '[UNK]', '##', 100, {}]
    """
    return {
        "type": "WordPiece",
        "unk_token": unk_text(model.unk_id, texts),
        "continuing_subword_prefix": model.prefix,
        "max_input_chars_per_word": model.max_chars,
        "vocab": {},
    }
