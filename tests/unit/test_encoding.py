"""`Encoding`: its fields, look-ups and views, against HF tokenizers."""

from __future__ import annotations

import json
import random
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
import tokenizers

from inside import Entries, Framing, Spelling, Template, from_post_processor
from inside import json_node_Node as Node
from subwords import Encoding, InputError

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


Entry = tuple[int, str, tuple[int, int], int]  # id, token, span, word


def text_of(ids: Any, tokens: list[str], spans: Any, words: list[int]) -> list[Entry]:
    return [*zip(ids, tokens, spans, words, strict=True)]


def of_peer(ref: tokenizers.Encoding) -> list[Entry]:
    return text_of(ref.ids, ref.tokens, ref.offsets, ref.word_ids)


def framed(template: Template, texts: list[list[Entry]]) -> Encoding:
    ids, tokens, spans, words = ([entry[k] for text in texts for entry in text] for k in range(4))
    found = Entries(
        ids=np.array(ids, np.uint32),
        offsets=np.cumsum([0, *map(len, texts)]),
        byte_spans=np.array(spans, np.int64).ravel(),
        spans=np.zeros(0, np.int64),
        words=np.array(words, np.int32),
        names=np.arange(len(tokens), dtype=np.int32),
        tokens=tokens,
    )
    frame = Framing(template, None, None).single if len(texts) == 1 else Framing(template, None, None).pair
    return Encoding(frame.rows(found, [""] * len(texts), Spelling({}, {}, 0)), 0)


def peers_word(ref: tokenizers.Encoding, place: int) -> int | None:
    return ref.token_to_word(place) if ref.token_to_sequence(place) is not None else None


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
        got = framed(template or Template(), [of_peer(plain.encode(text)) for text in texts])
        assert len(got) == len(ref.ids)
        assert got.ids.tolist() == ref.ids
        assert list(got.file_tokens) == ref.tokens
        assert list(map(tuple, got.spans.tolist())) == ref.offsets
        assert got.type_ids.tolist() == ref.type_ids
        assert got.special_tokens_mask.tolist() == ref.special_tokens_mask
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
            assert [got.word_to_chars(word, i) for word in chars] == [ref.word_to_chars(word, i) for word in chars]
            assert [got.char_to_word(char, i) for char in chars] == [ref.char_to_word(char, i) for char in chars]
        places = range(len(got))
        assert [got.token_to_word(place) for place in places] == [peers_word(ref, place) for place in places]
        assert [got.token_to_sequence(place) for place in places] == [ref.token_to_sequence(place) for place in places]


def test_arrays_have_their_types() -> None:
    got = framed(Template(), [text_of([3], ["a"], [[0, 1]], [0])])
    assert [array.dtype for array in (got.ids, got.spans, got.type_ids, got.attention_mask, got.byte_spans)] == [
        np.uint32, np.int64, np.uint32, np.uint8, np.int64
    ]  # fmt: skip
    empty = framed(Template(), [text_of([], [], [], [])])
    assert empty.spans.shape == (0, 2)
    assert len(empty) == 0


def test_text_that_is_not_there_is_an_error() -> None:
    got = framed(Template(), [of_peer(peer(None).encode("a b"))])
    for number in (1, -1):
        with pytest.raises(InputError, match=f"expected a text number from 0 to 0, not {number}"):
            got.char_to_token(0, number)
        with pytest.raises(InputError, match="expected a text number"):
            got.word_to_tokens(0, number)
    assert got.char_to_token(-1) is got.token_to_chars(-1) is got.word_to_tokens(-1) is None


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
    text = text_of(range(4), tokens, [[i, i + 1] for i in range(4)], [0, 1, 2, 3])
    parser = Spans()
    parser.feed(framed(from_post_processor(Node("", "", BERT)) or Template(), [text])._repr_html_())
    assert [data for data in parser.texts if data != " "] == ["[CLS]", *tokens, "[SEP]"]
    assert parser.tags == ["div", *["span"] * 6]
    assert parser.titles[1:3] == ["id 0", "id 0, characters 0 to 1"]


def test_views_of_long_texts_are_short() -> None:
    n = 50_000
    text = framed(Template(), [text_of([0] * n, ["a"] * n, [[0, 0]] * n, [-1] * n)])
    assert "and 49000 more" in text._repr_html_()
    assert len(text._repr_html_()) < 300_000
    assert repr(text) == f"Encoding({n} tokens: {' '.join(['a'.__repr__()] * 8)} ...)"
    assert repr(framed(Template(), [of_peer(peer(None).encode("a b"))])) == "Encoding(2 tokens: 'a' 'b')"
