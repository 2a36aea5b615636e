"""Read and write the Unigram model of a tokenizer.json."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from subwords.formats.hf.vocabulary import encode_vocabulary, quoted, unyielded_ids
from subwords.formats.hf.vocabulary import token_texts as token_texts
from subwords.formats.json_node import Node, parse_json, show_json
from subwords.models.unigram.model import Unigram
from subwords.spec.added_token import AddedToken
from subwords.spec.splitter import SPACE
from subwords.spec.tokenizer import TokenizerSpec
from subwords.spec.vocab import Vocab
from subwords.support.errors import FormatError


def read_pieces(node: Node) -> list[tuple[str, float]]:
    """Return the pieces of a vocabulary and their scores, in order of id.

    >>> from subwords.formats.json_node import Node
    >>> from subwords.formats.hf.unigram import read_pieces
    >>> read_pieces(Node("a.json", "model.vocab", [["<unk>", 0.0], ["a", -1.5]]))
    [('<unk>', 0.0), ('a', -1.5)]
    """
    entries = node.array()
    if {*map(type, entries)} == {list} and {*map(len, entries)} == {2}:  # all at once: 5 ms instead of 50 for T5
        texts, scores = [text for text, _ in entries], [score for _, score in entries]
        if {*map(type, texts)} == {str} and {*map(type, scores)} == {float} and all(map(math.isfinite, scores)):
            return list(zip(texts, scores, strict=True))
    pieces = []
    for entry in node.items():
        pair = entry.array()
        if len(pair) != 2 or not isinstance(pair[0], str) or type(pair[1]) not in (int, float):
            raise entry.wrong(
                "a piece and its score", f"an array of {len(pair)}: {', '.join(map(show_json, pair[:3]))}"
            )
        if not math.isfinite(pair[1]):
            raise entry.wrong("a finite score", show_json(pair[1]))
        pieces.append((pair[0], float(pair[1])))
    return pieces


def read_model(node: Node, pieces: Sequence[tuple[str, float]], added: Sequence[AddedToken]) -> Unigram:
    """Return the model of a `model` object with these pieces and added tokens.

    As in HF, the last of duplicate pieces wins, and byte pieces also match text that spells them.

    Source: HF tokenizers 0.23.
    """
    texts, scores = [text for text, _ in pieces], [score for _, score in pieces]
    late = {token.id: token.content for token in added if token.id >= len(pieces)}
    size = max([len(pieces), *(i + 1 for i in late)])
    texts += [late.get(i, "") for i in range(len(texts), size)]
    known = set(texts[: len(pieces)])
    unk = node["unk_id"]
    try:
        return Unigram(
            Vocab(encode_vocabulary(node["vocab"], texts)),
            np.array(scores + [0.0] * (size - len(scores))),
            None if unk.value is None else unk.integer(max(0, len(pieces) - 1)),
            byte_fallback=node["byte_fallback"].boolean(False),
            special_ids=unyielded_ids(added, known),
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
