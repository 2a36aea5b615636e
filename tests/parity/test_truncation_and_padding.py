"""Truncation, overflow and padding of texts, pairs and batches equal HF's, as a file says them (D3)."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers

import subwords
from seeds import seed_of_run
from subwords import Encoding, InputError, Tokenizer

VOCAB = {
    "[CLS]": 0,
    "[SEP]": 1,
    "[UNK]": 2,
    "a": 3,
    "b": 4,
    "##a": 5,
    "##b": 6,
    "ab": 7,
    "##ba": 8,
    "[PAD]": 9,
    "é": 10,
}
BERT = {"type": "BertProcessing", "sep": ["[SEP]", 1], "cls": ["[CLS]", 0]}
ROBERTA = {**BERT, "type": "RobertaProcessing", "trim_offsets": True, "add_prefix_space": True}
TWICE = {
    "type": "TemplateProcessing",
    "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 1}}],
    "pair": [{"Sequence": {"id": "B", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]", "type_id": 2}},
             {"Sequence": {"id": "A", "type_id": 1}}],
    "special_tokens": {"[SEP]": {"id": "[SEP]", "ids": [1], "tokens": ["[SEP]"]}},
}  # fmt: skip
PROCESSORS = {"none": None, "bert": BERT, "roberta": ROBERTA, "twice": TWICE}


def both(processor: Any, truncation: Any, padding: Any) -> tuple[tokenizers.Tokenizer, Tokenizer]:
    model = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 5,
        "vocab": VOCAB,
    }
    top = {"version": "1.0", "model": model, "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": processor}
    data = json.dumps({**top, "truncation": truncation, "padding": padding})
    from subwords.machine import read_tokenizer_json

    return tokenizers.Tokenizer.from_str(data), Tokenizer(read_tokenizer_json(data.encode(), "test.json"))


def fields(found: Encoding | tokenizers.Encoding) -> dict[str, Any]:
    """What both libraries say of an encoding."""
    tokens = found.file_tokens if isinstance(found, Encoding) else found.tokens
    names = ("ids", "type_ids", "attention_mask", "special_tokens_mask", "word_ids", "sequence_ids", "offsets")
    values = (getattr(found, name) for name in names)
    return {"tokens": list(tokens)} | {
        name: value.tolist() if isinstance(value, np.ndarray) else list(value)
        for name, value in zip(names, values, strict=True)
    }


def check(got: Encoding, ref: tokenizers.Encoding, ignored: str = "") -> None:
    """Compare encodings; `ignored`: see COMPATIBILITY.md, Truncation and padding."""
    assert fields(got) | {ignored: 0} == fields(ref) | {ignored: 0}
    assert [fields(part) | {ignored: 0} for part in got.overflow] == [
        fields(part) | {ignored: 0} for part in ref.overflowing
    ]


# HF forgets the texts of what it cut off if there is no template, and a template's type ids there.
IGNORED = {"none": "sequence_ids", "twice": "type_ids"}


def random_settings(rng: random.Random) -> tuple[Any, Any]:
    truncation = {
        "direction": rng.choice(["Left", "Right"]),
        "max_length": rng.randint(4, 9),
        "strategy": rng.choice(["LongestFirst", "LongestFirst", "OnlyFirst", "OnlySecond"]),
        "stride": rng.randint(0, 2),
    }
    padding = {
        "strategy": rng.choice(["BatchLongest", {"Fixed": rng.randint(0, 12)}]),
        "direction": rng.choice(["Left", "Right"]),
        "pad_to_multiple_of": rng.choice([None, 0, 1, 4]),
        "pad_id": 9,
        "pad_type_id": rng.randint(0, 3),
        "pad_token": "[PAD]",
    }
    return rng.choice([truncation, truncation, None]), rng.choice([padding, padding, None])


@pytest.mark.parametrize("name", PROCESSORS)
def test_a_file_says_how_texts_are_cut_and_padded(name: str) -> None:
    rng = random.Random(seed_of_run())
    errors = cut = 0
    for _ in range(150):
        peer, tok = both(PROCESSORS[name], *random_settings(rng))
        texts = ["".join(rng.choices("ab é", k=rng.randint(0, 14))) for _ in range(rng.randint(1, 2))]
        template = rng.random() < 0.8
        try:
            ref = peer.encode(*texts, add_special_tokens=template)
        except BaseException as error:  # HF panics if the stride is too long
            assert type(error).__name__ == "PanicException" or "Truncation error" in str(error)
            with pytest.raises(InputError):
                tok(*texts, template=template)
            errors += 1
            continue
        ignored = IGNORED.get(name, "" if template else "type_ids")
        check(tok(*texts, template=template), ref, ignored)
        cut += len(ref.overflowing) > 0
    assert cut > 10
    assert errors < 300


@pytest.mark.parametrize("name", PROCESSORS)
def test_batches_and_their_pairs(name: str) -> None:
    rng = random.Random(seed_of_run() + 1)
    for _ in range(60):
        truncation, padding = random_settings(rng)
        peer, tok = both(PROCESSORS[name], truncation, padding)
        firsts, seconds = (["".join(rng.choices("ab é", k=rng.randint(0, 14))) for _ in range(4)] for _ in range(2))
        pairs = rng.random() < 0.5
        try:
            ref = peer.encode_batch([*zip(firsts, seconds, strict=True)] if pairs else firsts)
        except BaseException:
            with pytest.raises(InputError, match=r"text [0-3]: "):
                tok(firsts, seconds if pairs else None)
            continue
        got = tok(firsts, seconds if pairs else None)
        assert len(got) == len(ref)
        for mine, peers in zip(got, ref, strict=True):
            check(mine, peers, IGNORED.get(name, ""))


def test_arguments_win_over_the_file() -> None:
    peer, tok = both(BERT, None, None)
    text = "ab a b ba ab"
    for length, stride in ((4, 0), (5, 2)):
        peer.enable_truncation(length, stride=stride)
        check(tok(text, truncation=subwords.Truncation(length, stride=stride)), peer.encode(text))
    peer.enable_truncation(4)
    check(tok(text, truncation=4), peer.encode(text))
    peer.enable_padding(pad_id=9, length=6)
    check(tok(text, truncation=4, padding=subwords.Padding(6, pad_id=9)), peer.encode(text))
    assert tok.with_(truncation=subwords.Truncation(4))(text, truncation=False) == tok(text)


def test_transformers_pads_and_cuts_the_same(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    texts = ["a b", "ab ab a b ba", "", "é"]
    seconds = ["b", "a", "ab ab", ""]
    tok = both(BERT, None, None)[1].with_tokens(["[PAD]", "[CLS]", "[SEP]", "[UNK]"])
    tok.save(f"{tmp_path}/")
    peer = transformers.AutoTokenizer.from_pretrained(str(tmp_path))
    calls: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"padding": True}, {"padding": True}),
        ({"padding": "max_length", "max_length": 12}, {"padding": 12}),
        ({"padding": True, "pad_to_multiple_of": 8}, {"padding": subwords.Padding(multiple_of=8, pad_id=9)}),
        ({"padding": True, "truncation": True, "max_length": 5}, {"padding": True, "truncation": 5}),
    ]
    for theirs, ours in calls:
        for pair in (None, seconds):
            ref = peer(
                texts, pair, return_tensors="np", return_special_tokens_mask=True, return_token_type_ids=True, **theirs
            )
            got = tok(texts, pair, **ours).to_numpy(token_type_ids=True, special_tokens_mask=True)
            assert {name: rows.tolist() for name, rows in got.items()} == {
                name: rows.tolist() for name, rows in ref.items()
            }
    ref = peer(
        texts,
        padding=True,
        truncation=True,
        max_length=4,
        stride=1,
        return_overflowing_tokens=True,
        return_tensors="np",
    )
    flat = tok(texts, padding=True, truncation=subwords.Truncation(4, stride=1)).with_overflow()
    assert flat.to_numpy()["input_ids"].tolist() == ref["input_ids"].tolist()
    assert list(flat.texts) == ref["overflow_to_sample_mapping"].tolist()
