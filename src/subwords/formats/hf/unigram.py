"""Read and write the Unigram model of a tokenizer.json."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.formats.hf.vocabulary import FileVocab, encode_vocabulary, quoted, unyielded_ids
from subwords.formats.hf.vocabulary import token_texts as token_texts
from subwords.formats.json_node import Node, parse_json, show_json
from subwords.models.unigram.model import Unigram
from subwords.spec.added_token import AddedToken
from subwords.spec.splitter import SPACE
from subwords.spec.tokenizer import TokenizerSpec
from subwords.spec.vocab import Vocab
from subwords.support.errors import FormatError


class ScoredPieces(NamedTuple):
    """The pieces of a file, in UTF-8, in order of id, with their scores."""

    tokens: Vocab
    scores: NDArray[np.float64]


def read_pieces(node: Node) -> tuple[Mapping[str, int], ScoredPieces]:
    """Return the id of every piece of a vocabulary, the last one of equal pieces, and the pieces.

    >>> from subwords.formats.json_node import Node
    >>> from subwords.formats.hf.unigram import read_pieces
    >>> read_pieces(Node("a.json", "model.vocab", [["<unk>", 0.0], ["a", -1.5]]))[0]
    {'<unk>': 0, 'a': 1}
    """
    if isinstance(node.value, FileVocab):
        return node.value, ScoredPieces(node.value.texts, node.value.scores)
    texts, scores = [], []
    for entry in node.items():
        pair = entry.array()
        if len(pair) != 2 or not isinstance(pair[0], str) or type(pair[1]) not in (int, float):
            raise entry.wrong(
                "a piece and its score", f"an array of {len(pair)}: {', '.join(map(show_json, pair[:3]))}"
            )
        if not math.isfinite(pair[1]):
            raise entry.wrong("a finite score", show_json(pair[1]))
        texts.append(pair[0])
        scores.append(float(pair[1]))
    ids = {text: i for i, text in enumerate(texts)}
    return ids, ScoredPieces(Vocab(encode_vocabulary(node, texts)), np.array(scores, np.float64))


def read_model(node: Node, vocab: Mapping[str, int], added: Sequence[AddedToken], pieces: ScoredPieces) -> Unigram:
    """Return the model of a `model` object with these pieces, whose ids are `vocab`, and added tokens.

    As in HF, the last of duplicate pieces wins, and byte pieces also match text that spells them.

    Source: HF tokenizers 0.23.
    """
    count = len(pieces.tokens)
    late = {token.id: token.content.encode() for token in added if token.id >= count}
    more = [late.get(i, b"") for i in range(count, max([count, *(i + 1 for i in late)]))]
    unk = node["unk_id"]
    try:
        return Unigram(
            pieces.tokens.with_more(more) if more else pieces.tokens,
            np.concatenate([pieces.scores, np.zeros(len(more))]),
            None if unk.value is None else unk.integer(max(0, count - 1)),
            byte_fallback=node["byte_fallback"].boolean(False),
            special_ids=unyielded_ids(added, vocab),
        )
    except FormatError as error:
        raise node.wrong("a Unigram model", f"this: {error}") from None


def write_model(model: Unigram, _texts: list[str]) -> dict[str, Any]:
    """Return the `model` object with empty pieces; `vocab` is its last key."""
    return {"type": "Unigram", "unk_id": model.unk_id, "byte_fallback": model.byte_fallback, "vocab": []}


def write_vocab(model: Unigram, texts: list[str], appended: set[int]) -> dict[str, str]:
    """Return the JSON of pieces and scores, indented as HF does; `texts` are the tokens by id."""
    names, scores = quoted(texts), model.scores.tolist()
    entries = [
        f"      [\n        {names[i]},\n        {json.dumps(scores[i])}\n      ]"
        for i in range(len(texts))
        if i not in appended
    ]
    return {"vocab": "[\n" + ",\n".join(entries) + "\n    ]" if entries else "[]"}


def read_unigram_json(data: bytes, name: str) -> TokenizerSpec:
    """Return the spec of a unigram.json: a model without rules, which are those of the class that writes such files.

    Source: HF tokenizers 0.23, SentencePieceUnigramTokenizer.
    """
    from subwords.formats.hf.tokenizer_json import spec_from

    top = parse_json(data, name)
    spaces = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always", "split": True}
    runs = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
    rules = {
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "Nmt"}, {"type": "NFKC"}, runs]},
        "pre_tokenizer": spaces,
        "decoder": spaces,
    }
    return spec_from(Node(name, "", {**rules, "model": {"type": "Unigram", **top.object()}}))
