"""Encodings in bulk equal those made one by one, whose words are segmented again to find places (D5)."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import subwords
from inside import SpanFinder
from strategies import texts
from subwords import Encoding, EncodingBatch, InputError, Padding, Tokenizer, Truncation
from subwords.machine import Template, engine_of


@cache
def covering(kind: str) -> Tokenizer:
    """A tokenizer of which `cover` finds the places: without a normalizer or with a form."""
    corpus = ["the cat, naïve Ünï 日本 \u0301a"] * 9
    tok = subwords.train(corpus, vocab_size=280, special_tokens=["<s>", "</s>"])
    tok = tok.with_(normalizer="nfc" if kind == "form" else None)
    return tok.with_(template="<s> $A </s>") if kind == "template" else tok


@pytest.mark.parametrize("kind", ["plain", "template", "form"])
@given(texts(20))
def test_spans_of_known_ids_are_those_of_the_words(kind: str, text: str) -> None:
    tok = covering(kind)
    made, (whole,) = tok(text), tok([text])
    for name in ("byte_spans", "spans"):
        assert getattr(made, name).tolist() == getattr(whole, name).tolist()
        assert not getattr(made, name).flags.writeable
    assert made == whole
    assert text == "" or not text.isascii() or engine_of(tok).cover is not None


# ------------------------------------------------------------------ in bulk and one by one

LINES = ["A line of some words: low, lower, lowest and it's 2024.", "naïve 文字 ĳ", "  spaces\tand\n lines "] * 9


def trained(normalizer: Any = None, template: Any = None, **options: Any) -> Tokenizer:
    tok = subwords.train(LINES, special_tokens=["<s>", "</s>", "<pad>", "<unk>", "[UNK]"], **options)
    tok = tok.with_(roles={"pad": "<pad>"})
    tok = tok.with_(normalizer=normalizer) if normalizer else tok
    return tok.with_(template=template) if template else tok


# A prefix at the start of the input, which the normalizer may remove.
FIRST = '[{"step": "Prefix", "text": "x", "scheme": "first"}, {"step": "Split", "pattern": " ?\\\\w+"}]'


def trimming(keeps: bool) -> Tokenizer:
    tok = trained(vocab_size=320, template="<s> $A </s>")
    assert tok.template is not None
    return tok.with_(template=Template(tok.template.single, tok.template.pair, (keeps,)))


FAMILIES: dict[str, Callable[[], Tokenizer]] = {
    "bpe": lambda: trained(vocab_size=320),
    "bpe-machine": lambda: trained(vocab_size=320, splitter="llama3"),
    "bpe-steps": lambda: trained(vocab_size=320, splitter="falcon"),
    "bpe-nfkc": lambda: trained(vocab_size=320, normalizer="nfkc", template=("<s> $A </s>", "<s> $A $B </s>")),
    "bpe-trims": lambda: trimming(False),
    "bpe-trims-keeps": lambda: trimming(True),
    "bpe-added": lambda: trained(vocab_size=320, normalizer="lowercase").with_tokens(
        ["low", " of"], special=False, normalized=True
    ),
    "bpe-first": lambda: trained("strip", vocab_size=320).with_(splitter=FIRST),
    "wordpiece": lambda: trained("bert-uncased", "<s> $A </s>", vocab_size=60, algorithm="wordpiece"),
    "unigram": lambda: trained(vocab_size=70, algorithm="unigram"),
    "unigram-unknown": lambda: trained("sentencepiece", vocab_size=50, algorithm="unigram"),
    "unigram-bert": lambda: trained("bert-uncased", vocab_size=50, algorithm="unigram"),
    "wordlevel": lambda: trained(vocab_size=30, algorithm="wordlevel"),
}
made = cache(lambda name: FAMILIES[name]())


@cache
def slow(name: str) -> Tokenizer:
    """A tokenizer that finds no span by the sizes of ids: each word is segmented again."""
    tok = Tokenizer(made(name).spec)
    engine_of(tok).spans._sizes = engine_of(tok).spans._unknown = None
    engine_of(tok).__dict__["cover"] = None
    return tok


def one_by_one(tok: Tokenizer, rows: list[list[str]], truncation: Any, padding: Any, **options: Any) -> list[Encoding]:
    found = [tok(*row, truncation=truncation, padding=False, **options) for row in rows]
    filled = tok._calls.framing(True, truncation, padding).padding
    if filled is None:
        return found
    length = filled.length_for(max(map(len, found)))
    filled = replace(filled, length=length, multiple_of=None)
    return [tok(*row, truncation=truncation, padding=filled, **options) for row in rows]


def check(name: str, rows: list[list[str]], special: str, truncation: Any, padding: Any, threads: int) -> None:
    tok, given = made(name), [list(column) for column in zip(*rows, strict=True)]
    options: Any = {"special": special, "truncation": truncation, "padding": padding}
    try:
        expected = one_by_one(slow(name), rows, **options)
    except InputError as error:
        with pytest.raises(InputError) as caught:
            tok(*given, **options, threads=threads)
        assert str(caught.value).endswith(str(error))
        return
    got = tok(*given, **options, threads=threads)
    assert [*got] == expected
    assert [repr(each) for each in got] == [repr(each) for each in expected]
    assert one_by_one(tok, rows, **options) == expected


PARTS = ["<s>", "low", " of", "a", " ", "é", "LOW"]
GIVEN = st.one_of(texts(8), st.lists(st.sampled_from(PARTS), max_size=5).map("".join))
# A pair has a piece for every combination of the pieces of its texts: small lengths take long.
TRUNCATIONS = st.sampled_from([None, None, 16, Truncation(18, stride=2), Truncation(17, direction="left")])
PADDINGS = st.sampled_from([None, True, 8, Padding(direction="left", multiple_of=4, pad_id=0, pad_token="P")])


@pytest.mark.rotating(4)
@pytest.mark.parametrize("name", FAMILIES)
@given(
    rows=st.integers(1, 2).flatmap(lambda n: st.lists(st.lists(GIVEN, min_size=n, max_size=n), min_size=1, max_size=3)),
    special=st.sampled_from(["text", "allow"]),
    truncation=TRUNCATIONS,
    padding=PADDINGS,
)
@example(rows=[["low 文字 of"], [""], ["LOW\u0301 <s>low"]], special="allow", truncation=None, padding=None)
@example(rows=[["low 文字 of", "it's"], ["", "文"]], special="text", truncation=None, padding=True)
def test_encodings_in_bulk_are_those_made_one_by_one(
    name: str, rows: list[list[str]], special: str, truncation: Any, padding: Any
) -> None:
    check(name, rows, special, truncation, padding, threads=1)


@pytest.mark.parametrize("name", FAMILIES)
def test_no_word_of_usual_text_is_segmented_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sizes of ids say where they are; were they wrong, all would be right and slow."""
    monkeypatch.setattr(SpanFinder, "_searched", lambda *_: pytest.fail("segmented again"))
    for each in made(name)([*LINES[:3], "lowline lowerwords somelow, it's 2420 tandslines"]):
        assert len(each.spans) == len(each.ids)


@pytest.mark.rotating(3)
@pytest.mark.parametrize("name", FAMILIES)
def test_parts_and_chunks_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subwords.engine.spans.PART", 40)
    rows = [[line] for line in [*LINES, *LINES, "low " * 2000, "文字" * 900]]
    check(name, rows, "text", None, None, threads=2)


# ------------------------------------------------------------------ the objects


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
