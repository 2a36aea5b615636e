"""`tok(...)`: what it refuses, positions in bytes, texts with trusted parts (D3, D5)."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from inside import ModelInputs
from subwords import InputError, Padding, Special, Text, Tokenizer, Truncation

TOKENS = ["<pad>", "<|end|>", "<|user|>"]
WORDS = ["naïve ", "Ω", "low ", "lower", "  ", "\u3000", "😀", "é", "\n", "<|end|>", "x"]


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return subwords.train(["low lower naïve naïve Ω Ω é"] * 3, vocab_size=280, special_tokens=TOKENS)


@pytest.mark.parametrize("text", ["", "low naïve<|end|> \u3000é", "lower " * 900])
@pytest.mark.parametrize("normalizer", [None, "nfd", "lowercase"])
def test_places_that_wait_are_those_of_a_list(tok: Tokenizer, text: str, normalizer: str | None) -> None:
    each = tok.with_(normalizer=normalizer)
    (listed,) = each([text])
    for read in ("spans", "ids", "ranges"):  # whichever is read first; twice, since the fast path refuses new words
        found = each(text)
        getattr(found, read)
        assert not found.ids.flags.writeable and not found.spans.flags.writeable
        assert found.ids.tolist() == each.encode(text)
        assert found == listed and hash(found) == hash(listed)
        assert pickle.loads(pickle.dumps(each(text))) == copy.deepcopy(each(text)) == listed
    with pytest.raises(AttributeError, match="no attribute 'places'"):
        each(text).places  # type: ignore[attr-defined] # noqa: B018


def test_tokens_of_one_text_are_those_of_a_list() -> None:
    options = {"special_tokens": ["<s>", "<unk>"], "unk_token": "<unk>", "vocab_size": 16}
    made = subwords.train(["low lower"] * 9, algorithm="unigram", **options)
    for each in (made, made.with_(template=["$A <s> $A"])):
        tokens = each("low 龜").tokens
        assert tokens == each(["low 龜"])[0].tokens and "龜" in "".join(tokens)


# ------------------------------------------------------------------ trusted and untrusted parts


def test_parts_that_are_refused(tok: Tokenizer) -> None:
    with pytest.raises(InputError, match=r"expected an added token, not '<\|ned\|>'; did you mean '<\|end\|>'"):
        tok.encode([Special("<|ned|>")])
    with pytest.raises(InputError, match="expected a list of Text and Special as one text, not of str"):
        tok.encode([Text("a"), "b"])  # type: ignore[list-item]
    with pytest.raises(InputError, match="expected special='text' for a list of Text and Special, not 'allow'"):
        tok.encode([Text("a")], special="allow")
    with pytest.raises(InputError, match="expected text"):
        tok.encode(3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected Text of str or bytes, not int"):
        Text(3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected Special to be a non-empty str"):
        Special("")


# ------------------------------------------------------------------ lists, padding, truncation


def test_a_list_of_texts_is_a_batch(tok: Tokenizer) -> None:
    texts = ["low", "", "lower naïve"]
    batch = tok(texts)
    assert [encoding.ids.tolist() for encoding in batch] == tok.encode_batch(texts).to_lists()
    assert [*batch[1:]] == [*tok(texts[1:])] and batch[1:].texts == (1, 2)
    assert batch[-1] == tok(texts[-1]) and len(tok([])) == 0
    assert [*tok(text for text in texts)] == [*batch]
    assert tok(texts, texts)[2] == tok(texts[2], texts[2])
    padded = tok(texts, padding=True).to_numpy()
    assert {rows.shape for rows in padded.values()} == {(3, len(batch[2]))}
    assert tok([]).to_numpy()["input_ids"].shape == (0, 0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda tok: tok(b"low"), r"expected text \(str\), not bytes; encode also accepts bytes"),
        (lambda tok: tok(["low", 3]), r"text 1: expected text \(str\), not int"),
        (lambda tok: tok(["low"], ["a", "b"]), "expected as many second texts as first texts, not 1 and 2"),
        (lambda tok: tok(["low"], "low"), "expected a list of 1 second texts, not str"),
        (lambda tok: tok("low", padding="max_length"), "expected padding as True, False, None, a number"),
        (lambda tok: tok("low", truncation=-1), "expected truncation as True, False, .* not -1"),
        (lambda tok: tok("low", truncation=True), "truncation=True needs a length"),
        (lambda tok: tok("low", template=1), "expected template to be True or False"),
        (lambda tok: tok(["low low", "low"]).to_numpy(), "expected encodings of one length, not of 1 to 2 tokens"),
        (lambda tok: tok("low low low", truncation=Truncation(2, stride=2)), "expected a stride below 2"),
        (lambda tok: tok("low low", "low", truncation=Truncation(1, "only_second")), "cannot reach max_length 1"),
        (lambda tok: tok("low low", truncation=Truncation(1, "only_second")), "needs a pair of texts"),
    ],
)
def test_what_is_refused(tok: Tokenizer, call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call(tok)


def test_padding_needs_a_token() -> None:
    tok = subwords.train(["low lower"], vocab_size=258)
    with pytest.raises(InputError, match=r"padding needs a pad token, and this tokenizer has none: tok\.with_"):
        tok(["low"], padding=True)
    assert tok(["low"], padding=Padding(9, pad_id=7))[0].ids.tolist()[-1] == 7


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        *((Padding, field, value) for field, value in [("length", -1), ("pad_id", 2**32), ("direction", "up")]),
        *((Padding, field, value) for field, value in [("multiple_of", 1.5), ("pad_token", 3), ("pad_type_id", True)]),
        *((Truncation, field, value) for field, value in [("max_length", None), ("stride", -1), ("strategy", "x")]),
    ],
)
def test_settings_are_checked(kind: Any, field: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"expected {field} to be|unknown {field}=.*: expected one of"):
        kind(**{field: value})


def test_pieces_that_would_fill_the_memory_are_refused(tok: Tokenizer) -> None:
    with pytest.raises(InputError, match="truncation cuts this pair into more than 1048576 pieces: raise max_length"):
        tok("x" * 5000, "x" * 5000, truncation=2)


def test_arrays_of_a_batch_are_those_of_its_texts(tok: Tokenizer) -> None:
    texts = ["low", "low lower", "", "naïve naïve naïve"]
    batch = tok.encode_batch(texts)
    for padding in (Padding(pad_id=0), Padding(5, "left", pad_id=3), Padding(multiple_of=4, pad_id=1)):
        for length in (None, 2):
            cut = batch if length is None else batch.truncated(length)
            options = {
                "length": padding.length,
                "direction": padding.direction or "right",
                "multiple_of": padding.multiple_of,
            }
            got = cut.padded(padding.pad_id or 0, **options)
            expected = tok(texts, padding=padding, truncation=False if length is None else length).to_numpy()
            assert {name: rows.tolist() for name, rows in got.items()} == {
                name: expected[name].tolist() for name in ("input_ids", "attention_mask")
            }
            assert {rows.dtype for rows in got.values()} == {np.dtype(np.int64)}
    assert batch.truncated(1, direction="left").to_lists() == [row[-1:] for row in batch.to_lists()]
    with pytest.raises(InputError, match="expected at most 2 tokens in every text, not 4"):
        batch.padded(0, length=2)


@given(
    texts=st.lists(st.tuples(*[st.lists(st.sampled_from(WORDS), max_size=6).map("".join)] * 2), min_size=1, max_size=4),
    pair=st.booleans(),
    template=st.booleans(),
    truncation=st.one_of(
        st.sampled_from([None, 5]),
        st.builds(
            Truncation,
            st.integers(0, 9),
            st.sampled_from(["longest_first", "only_first", "only_second"]),
            stride=st.integers(0, 2),
            direction=st.sampled_from(["left", "right"]),
        ),
    ),
    padding=st.one_of(
        st.sampled_from([None, True, 6]),
        st.builds(
            Padding,
            st.sampled_from([None, 4]),
            st.sampled_from(["left", "right"]),
            multiple_of=st.sampled_from([None, 3]),
        ),
    ),
)
def test_arrays_of_ids_are_those_of_whole_encodings(
    tok: Tokenizer, texts: list[tuple[str, str]], pair: bool, template: bool, truncation: Any, padding: Any
) -> None:
    framed = tok.with_(template=["<|user|> $A <|end|>", "<|user|> $A <|end|> $B:1 <|end|>:1"])
    options: dict[str, Any] = {"truncation": truncation, "padding": padding, "template": template, "special": "allow"}
    given = [[*column] for column in zip(*texts, strict=True)][: 1 + pair]
    each = []
    for row in zip(*given, strict=True):
        try:
            each.append(framed(*row, **{**options, "padding": False}))
        except InputError:
            with pytest.raises(InputError):
                framed(*given, **options)
            return
    quick, whole = framed(*given, **options), framed(*given, **options)
    names = ("ids", "type_ids", "special_tokens_mask", "attention_mask")
    for number, (one, alone) in enumerate(zip(whole, each, strict=True)):
        assert len(one.tokens) == len(one.ids)  # read first, the tokens make all fields
        assert one == quick[number]
        for name in names:  # also if it is the first that is read of a batch
            assert getattr(framed(*given, **options)[number], name).tolist() == getattr(one, name).tolist(), name
        assert one.ids[one.attention_mask == 1].tolist() == alone.ids.tolist()
        assert one.overflow[:1] == () or len(one.overflow) == len(alone.overflow)
    for row in zip(*given, strict=True):  # one text or pair: what is read first must not matter either
        expected = framed(*row, **{**options, "special": {*TOKENS}})  # has no short way
        for name in (*names, "tokens", "file_tokens", "spans", "byte_spans", "word_ids", "ranges", "overflow"):
            found, wanted = (getattr(one, name) for one in (framed(*row, **options), expected))
            assert np.array_equal(found, wanted) if isinstance(found, np.ndarray) else found == wanted, name
    columns = [np.array([getattr(one, name) for one in whole]) for name in names] if padding is True else []
    again = framed(*given, **options)
    for name, column in zip(
        ("input_ids", "token_type_ids", "special_tokens_mask", "attention_mask"), columns, strict=False
    ):
        arrays = again.to_numpy(token_type_ids=True, special_tokens_mask=True)
        assert arrays[name].tolist() == column.tolist()
        assert [getattr(one, names[0]).dtype for one in again] == [np.uint32] * len(again)


# ------------------------------------------------------------------ what fills, and what a model takes

FILLED = {
    "True": True,
    "9": 9,
    "left": Padding(direction="left"),
    "length": Padding(9),
    "multiple": Padding(multiple_of=8),
}


@pytest.mark.parametrize("way", FILLED)
def test_padding_without_a_token_takes_that_of_the_role(way: str) -> None:
    tok = subwords.train(["low lower"] * 9, vocab_size=262, special_tokens=["<s>", "<fill>"])
    texts, padding = ["low", "low lower low"], FILLED[way]
    with pytest.raises(InputError, match="padding needs a pad token, and this tokenizer has none"):
        tok(texts, padding=padding)
    named = tok.with_(roles={"pad": "<fill>"})
    for one in (named, named.with_(inputs=ModelInputs(padding_side="left"))):
        first = one(texts, padding=padding)[0]
        left = way == "left" or one is not named
        assert first.ids[0 if left else -1] == 1 and first.file_tokens[0 if left else -1] == "<fill>"
        assert (first.attention_mask == (first.ids != 1)).all()
    if isinstance(padding, Padding):
        kept = tok.with_(padding=padding, roles={"pad": "<fill>"})
        assert kept.spec.padding is not None and kept.spec.padding.filler == (1, "<fill>")
        assert [each.ids.tolist() for each in kept(texts)] == [
            each.ids.tolist() for each in named(texts, padding=padding)
        ]


def test_a_pad_token_is_found_by_its_text_or_its_id() -> None:
    tok = subwords.train(["low lower"] * 9, vocab_size=262, special_tokens=["<s>", "<fill>"])
    for padding in (Padding(pad_token="<fill>"), Padding(pad_id=1)):
        assert tok(["low", "low low"], padding=padding)[0].file_tokens[-1] == "<fill>"
    with pytest.raises(InputError, match="pad_token '<none>' is not a token of this tokenizer: give its pad_id, too"):
        tok(["low"], padding=Padding(pad_token="<none>"))
    assert tok(["low", "low low"], padding=Padding(pad_id=1, pad_token="<x>"))[0].file_tokens[-1] == "<x>"


def test_arrays_are_those_that_the_model_takes() -> None:
    bpe = subwords.train(["low lower"] * 9, vocab_size=262)
    bert = subwords.train(["low lower"] * 9, algorithm="wordpiece", vocab_size=40)
    three = ["input_ids", "token_type_ids", "attention_mask"]
    assert [*bpe(["low"]).to_numpy()] == ["input_ids", "attention_mask"]
    assert [*bert(["low"], ["low"]).to_numpy()] == three
    assert [*bpe(["low"]).to_numpy(token_type_ids=True)] == three
    assert [*bert(["low"]).to_numpy(token_type_ids=False, attention_mask=False)] == ["input_ids"]
    masked = bert(["low"])[:1].with_overflow().to_numpy(special_tokens_mask=True)
    assert [*masked] == [*three, "special_tokens_mask"] and masked["special_tokens_mask"].tolist()[0][0] == 1
    few = bert.with_(inputs=ModelInputs(names=("input_ids", "pixel_values")))
    assert [*few(["low"]).to_numpy()] == ["input_ids"] == [*pickle.loads(pickle.dumps(few(["low"]))).to_numpy()]
    with pytest.raises(InputError, match="token_type_ids"):
        bpe(["low"]).to_numpy(token_type_ids="yes")  # type: ignore[arg-type]


def test_truncation_true_cuts_to_the_longest_input_of_the_model() -> None:
    tok = subwords.train(["low lower"] * 9, vocab_size=262).with_(inputs=ModelInputs(2, truncation_side="left"))
    ids = tok.encode("low lower low")
    assert tok("low lower low", truncation=True).ids.tolist() == ids[-2:]
    assert tok("low lower low").ids.tolist() == ids
    file = tok.with_(truncation=subwords.Truncation(1))
    assert (len(file("low low low")), len(file("low low low", truncation=True))) == (1, 2)
