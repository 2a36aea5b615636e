from __future__ import annotations

import json
import random
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
import tokenizers

from subwords.engine.framed import framed
from subwords.errors import InputError
from subwords.formats.hf.post_processor import from_post_processor
from subwords.formats.json_node import Node
from subwords.results.encoding import Encoding

PIECES = ["[CLS]", "[SEP]", "[UNK]", "a", "b", "##a", "##b", "ab", "##ba"]
BERT = {"type": "BertProcessing", "sep": ["[SEP]", 1], "cls": ["[CLS]", 0]}
ROBERTA = {**BERT, "type": "RobertaProcessing", "trim_offsets": True, "add_prefix_space": False}


def peer(post_processor: Any) -> tokenizers.Tokenizer:
    model = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 5,
        "vocab": {piece: i for i, piece in enumerate(PIECES)},
    }
    pre_tokenizer = {"type": "WhitespaceSplit"}
    top = {"version": "1.0", "model": model, "pre_tokenizer": pre_tokenizer, "post_processor": post_processor}
    return tokenizers.Tokenizer.from_str(json.dumps(top))


def of_peer(ref: tokenizers.Encoding) -> Encoding:
    spans = np.array(ref.offsets, np.int64).reshape(-1, 2)
    return Encoding.of_text(np.array(ref.ids, np.uint32), ref.tokens, spans, ref.word_ids)


@pytest.mark.parametrize("value", [None, BERT, ROBERTA], ids=["none", "bert", "roberta"])
def test_encoding_is_that_of_hf(value: Any) -> None:
    seed = 4
    print("seed", seed)
    rng = random.Random(seed)
    template = from_post_processor(Node("a.json", "post_processor", value))
    plain, tok = peer(None), peer(value)
    for _ in range(60):
        texts = ["".join(rng.choices("ab é", k=rng.randint(0, 12))) for _ in range(rng.randint(1, 2))]
        ref = tok.encode(*texts)
        got = framed(template, *(of_peer(plain.encode(text)) for text in texts))
        assert len(got) == len(ref.ids)
        assert got.ids.tolist() == ref.ids
        assert list(got.tokens) == ref.tokens
        assert list(map(tuple, got.spans.tolist())) == ref.offsets
        assert got.type_ids.tolist() == ref.type_ids
        assert got.special_mask.tolist() == ref.special_tokens_mask
        assert got.attention_mask.tolist() == ref.attention_mask
        assert list(got.word_ids) == ref.word_ids
        assert list(got.sequence_ids) == ref.sequence_ids
        assert [got.token_to_chars(i) for i in range(len(got) + 2)] == [
            ref.token_to_chars(i) for i in range(len(got) + 2)
        ]
        for i, text in enumerate(texts):
            chars = range(len(text) + 2)
            assert [got.char_to_token(char, i) for char in chars] == [ref.char_to_token(char, i) for char in chars]
            assert [got.word_to_tokens(word, i) for word in chars] == [ref.word_to_tokens(word, i) for word in chars]


def test_arrays_have_their_types() -> None:
    got = framed(None, Encoding.of_text(np.array([3]), ["a"], np.array([[0, 1]]), [0]))
    assert [array.dtype for array in (got.ids, got.spans, got.type_ids, got.special_mask, got.attention_mask)] == [
        np.uint32, np.int64, np.uint32, np.uint8, np.uint8
    ]  # fmt: skip
    empty = framed(None, Encoding.of_text(np.zeros(0, np.uint32), [], np.zeros((0, 2), np.int64), []))
    assert empty.spans.shape == (0, 2)
    assert len(empty) == 0


def test_text_that_is_not_there_is_an_error() -> None:
    got = of_peer(peer(None).encode("a b"))
    for number in (1, -1):
        with pytest.raises(InputError, match=f"expected a text number from 0 to 0, not {number}"):
            got.char_to_token(0, number)
        with pytest.raises(InputError, match="expected a text number"):
            got.word_to_tokens(0, number)
    assert got.char_to_token(-1) is got.token_to_chars(-1) is got.word_to_tokens(-1) is None


def test_parts_of_different_lengths_are_an_error() -> None:
    with pytest.raises(InputError, match="not 1 ids, 2 tokens, 1 spans, 1 word ids"):
        Encoding.of_text(np.array([3]), ["a", "b"], np.array([[0, 1]]), [0])


class Spans(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.titles: list[str | None] = []
        self.texts: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.titles.append(dict(attributes).get("title"))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_html_shows_every_token_escaped() -> None:
    tokens = ["<b>", "&amp;", '"', "a</span><script>"]
    spans = np.array([[i, i + 1] for i in range(4)])
    text = Encoding.of_text(np.arange(4), tokens, spans, [0, 1, 2, 3])
    parser = Spans()
    parser.feed(framed(from_post_processor(Node("", "", BERT)), text)._repr_html_())
    assert [data for data in parser.texts if data != " "] == ["[CLS]", *tokens, "[SEP]"]
    assert parser.tags == ["div", *["span"] * 6]
    assert parser.titles[1:3] == ["id 0", "id 0, characters 0 to 1"]


def test_views_of_long_texts_are_short() -> None:
    n = 50_000
    text = Encoding.of_text(np.zeros(n), ["a"] * n, np.zeros((n, 2)), [None] * n)
    assert "and 49000 more" in text._repr_html_()
    assert len(text._repr_html_()) < 300_000
    assert repr(text) == f"Encoding({n} tokens: {' '.join(['a'.__repr__()] * 8)} ...)"
    assert repr(of_peer(peer(None).encode("a b"))) == "Encoding(2 tokens: 'a' 'b')"
