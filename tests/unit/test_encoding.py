"""`Encoding`: its fields, look-ups and views, against HF tokenizers."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
import tokenizers

import subwords
from building import read_json
from inside import SpanFinder
from subwords import EncodingBatch, InputError, Tokenizer

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


def ours(post_processor: Any = None) -> Tokenizer:
    return read_json(peer(post_processor).to_str().encode(), "a.json")


def peers_word(ref: tokenizers.Encoding, place: int) -> int | None:
    return ref.token_to_word(place) if ref.token_to_sequence(place) is not None else None


@pytest.mark.parametrize("value", [None, BERT, ROBERTA], ids=["none", "bert", "roberta"])
def test_encoding_is_that_of_hf(value: Any) -> None:
    seed = 4
    print("seed", seed)
    rng = random.Random(seed)
    made, tok = ours(value), peer(value)
    for _ in range(60):
        texts = ["".join(rng.choices("ab é", k=rng.randint(0, 12))) for _ in range(rng.randint(1, 2))]
        ref = tok.encode(*texts)
        got = made(*texts)
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
    for got in (ours()("a"), ours()("")):
        assert [array.dtype for array in (got.ids, got.spans, got.type_ids, got.attention_mask, got.byte_spans)] == [
            np.uint32, np.int64, np.uint32, np.uint8, np.int64
        ]  # fmt: skip
    assert ours()("").spans.shape == (0, 2)


def test_text_that_is_not_there_is_an_error() -> None:
    got = ours()("a b")
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
    tok = subwords.train(
        tokens * 9, algorithm="wordlevel", vocab_size=7, splitter=None, special_tokens=["[CLS]", "<unk>"]
    )
    parser = Spans()
    for token in tokens:
        parser.feed(tok.with_(template="[CLS] $A")(token)._repr_html_())
    assert [data for data in parser.texts if data != " "] == [x for token in tokens for x in ("[CLS]", token)]
    assert {*parser.tags} == {"div", "span"}
    assert "script" not in parser.tags
    assert parser.titles[2].endswith("characters 0 to 3")  # type: ignore[union-attr]


def test_views_of_long_texts_are_short() -> None:
    text = ours()("a " * 50_000)
    assert "and 49000 more" in text._repr_html_()
    assert len(text._repr_html_()) < 300_000
    assert repr(text) == f"Encoding(50000 tokens: {' '.join(['a'.__repr__()] * 8)} ...)"
    assert repr(ours()("a b")) == "Encoding(2 tokens: 'a' 'b')"


# ------------------------------------------------------------------ spans of usual text, and what waits to be read

LINES = ["A line of some words: low, lower, lowest and it's 2024.", "naïve 文字 ĳ", "  spaces\tand\n lines "] * 9


def trained(normalizer: Any = None, template: Any = None, **options: Any) -> Tokenizer:
    tok = subwords.train(LINES, special_tokens=["<s>", "</s>", "<pad>", "<unk>", "[UNK]"], **options)
    tok = tok.with_(normalizer=normalizer) if normalizer else tok
    return tok.with_(template=template) if template else tok


FAMILIES: dict[str, Callable[[], Tokenizer]] = {
    "bpe": lambda: trained(vocab_size=320),
    "bpe-machine": lambda: trained(vocab_size=320, splitter="llama3"),
    "bpe-steps": lambda: trained(vocab_size=320, splitter="falcon"),
    "bpe-nfkc": lambda: trained("nfkc", ("<s> $A </s>", "<s> $A $B </s>"), vocab_size=320),
    "bpe-added": lambda: trained("lowercase", vocab_size=320).with_tokens(
        ["low", " of"], special=False, normalized=True
    ),
    "wordpiece": lambda: trained("bert-uncased", "<s> $A </s>", vocab_size=60, algorithm="wordpiece"),
    "unigram": lambda: trained(vocab_size=70, algorithm="unigram"),
    "unigram-unknown": lambda: trained("sentencepiece", vocab_size=50, algorithm="unigram"),
    "unigram-bert": lambda: trained("bert-uncased", vocab_size=50, algorithm="unigram"),
    "wordlevel": lambda: trained(vocab_size=30, algorithm="wordlevel"),
}
made = cache(lambda name: FAMILIES[name]())


@pytest.mark.parametrize("name", FAMILIES)
def test_no_word_of_usual_text_is_segmented_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sizes of ids say where they are; were they wrong, all would be right and slow."""
    monkeypatch.setattr(SpanFinder, "_searched", lambda *_: pytest.fail("segmented again"))
    for each in made(name)([*LINES[:3], "lowline lowerwords somelow, it's 2420 tandslines"]):
        assert len(each.spans) == len(each.ids)


def test_fields_are_made_when_they_are_read_and_stay() -> None:
    tok = made("bpe")
    batch = tok(["low, lower", "naïve"])
    assert isinstance(batch, EncodingBatch)
    assert len(batch) == 2
    first = batch[0]
    assert "tokens" not in vars(first)
    assert first.tokens is first.tokens
    assert batch[0] is first
    assert not first.ids.flags.writeable
    assert not first.spans.flags.writeable
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        first.nothing  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError):
        first.ids = np.zeros(1, np.uint32)  # type: ignore[misc]


def test_encodings_from_rows_are_values() -> None:
    tok = made("wordpiece")
    batch = tok(["low, lower", "naïve"], truncation=4)
    same = pickle.loads(pickle.dumps(batch))
    assert same == batch
    assert same[0].overflow == batch[0].overflow != ()
    assert {*batch} == {*same}
    assert batch == EncodingBatch([*same], (0, 1), names=batch.__dict__["_names"])


def test_threads_are_an_option_for_lists() -> None:
    tok = made("bpe")
    with pytest.raises(InputError, match="threads is an option for a list of texts"):
        tok("low", threads=2)  # type: ignore[call-overload]
    with pytest.raises(InputError, match="expected threads to be a positive integer"):
        tok(["low"], threads=0)
    assert len(tok([], threads=2)) == 0


def test_an_error_names_its_text() -> None:
    with pytest.raises(InputError, match="text 1: "):
        made("bpe")(["low", "\ud800"])
    with pytest.raises(InputError, match="text 2: expected text"):
        made("bpe")(["low", "a", 3])  # type: ignore[list-item]
