"""TokenizerSpec: equality, digests, changes, what is foreign, and what is refused."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import subwords
from building import read_json, read_model, write_json, write_model
from inside import ByteDecoder, Foreign, Fuse, ModelInputs, bert
from subwords import AddedToken, InputError, Padding, TokenizerSpec, Truncation
from subwords.machine import BPE, Vocab

TEXTS = ["hug pug pun bun hugs low lower lowest " * 9]
OPTIONS: dict[str, dict[str, Any]] = {
    "bpe": {"vocab_size": 270, "special_tokens": ["<s>"]},
    "wordpiece": {"vocab_size": 30},
    "unigram": {"vocab_size": 24},
}


def trained(algorithm: str) -> subwords.Tokenizer:
    return subwords.train(TEXTS, algorithm=algorithm, **OPTIONS[algorithm])  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("algorithm", OPTIONS)
def test_equal_content_is_an_equal_spec(algorithm: str) -> None:
    first, second = trained(algorithm), trained(algorithm)
    assert first == second
    assert first.spec.digest == second.spec.digest
    assert len({first, second, copy.deepcopy(first), pickle.loads(pickle.dumps(first))}) == 1
    assert first != trained("bpe" if algorithm != "bpe" else "unigram")
    assert first != 1
    assert first.spec != first


def test_digest_is_the_same_in_every_process() -> None:
    model = BPE(Vocab([b"a", b"b", b"ab"]), np.array([[0, 1, 2]]))
    assert TokenizerSpec(model=model).digest == TokenizerSpec(model=copy.deepcopy(model)).digest
    assert TokenizerSpec(model=model).digest[:16] == "3ef25f73ec9a33b1"


CHANGES: dict[str, Any] = {
    "normalizer": "lowercase",
    "splitter": "cl100k",
    "template": bert(0, 0, "<s>", "<s>"),
    "decoder": Fuse(),
    "added_tokens": [AddedToken("<s>", 0, lstrip=True)],
    "roles": (("mask", 0),),
    "chat_template": "{{ messages }}",
    "padding": Padding(length=4, pad_id=0),
    "inputs": ModelInputs(9, padding_side="left"),
    "truncation": Truncation(max_length=9),
}


@pytest.mark.parametrize("name", CHANGES)
def test_every_field_counts_and_can_be_changed_back(name: str) -> None:
    tok = trained("bpe")
    changed = tok.with_(**{name: CHANGES[name]})
    assert changed != tok
    assert hash(changed) != hash(tok)
    assert replace(changed.spec, **{name: getattr(tok.spec, name)}) == tok.spec


def test_with_changes_what_runs_and_what_is_written() -> None:
    tok = trained("wordpiece")
    bare = tok.with_(template=None, normalizer=None)
    assert tok("HUG").tokens == ("[CLS]", "hug", "[SEP]")
    assert bare("HUG").tokens == ("[UNK]",)
    again = read_json(write_json(bare), "again")
    assert again == bare
    assert (again.template, again.normalizer) == (None, None)


def test_a_file_s_own_spelling_never_wins_over_the_spec() -> None:
    top = json.loads(write_json(trained("wordpiece")))
    top["post_processor"] = {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}
    top["decoder"] = {"type": "Sequence", "decoders": [{"type": "WordPiece", "prefix": "##", "cleanup": True}]}
    top["made by"] = {"a tool": [1, "é"]}
    tok = read_json(json.dumps(top).encode(), "a.json")
    kept = json.loads(write_json(tok))
    assert all(kept[key] == top[key] for key in ("post_processor", "decoder", "made by"))
    changed = json.loads(write_json(tok.with_(template=None, decoder=ByteDecoder(byte_level=False))))
    assert changed["post_processor"] is None
    assert changed["decoder"] == {"type": "Fuse"}
    assert changed["made by"] == top["made by"]


def test_foreign_fields_do_not_make_a_tokenizer_another_one() -> None:
    spec = trained("bpe").spec
    assert replace(spec, foreign=Foreign((("a", "1"),))) == spec
    assert replace(spec, foreign=Foreign((("a", "1"),))).digest == spec.digest


def test_a_model_file_that_was_changed_is_described_anew() -> None:
    tok = read_model(write_model(trained("unigram")), "a.model")
    assert tok.spec.foreign.sentencepiece is not None
    model = replace(tok.model, scores=np.where(np.arange(tok.vocab_size) == 9, -1.5, tok.model.scores))
    changed = read_model(write_model(tok.with_(model=model)), "b.model")
    assert changed.model.scores[9] == -1.5
    assert changed.model.scores[8] == tok.model.scores[8]


def test_arrays_of_models_cannot_be_written_to() -> None:
    for algorithm in OPTIONS:
        model = trained(algorithm).model
        for each in (model, pickle.loads(pickle.dumps(model))):
            for name in ("merges", "scores"):
                if hasattr(each, name):
                    with pytest.raises(ValueError, match="read-only"):
                        getattr(each, name)[0] = 1
            with pytest.raises(ValueError, match="read-only"):
                each.vocab.offsets[0] = 1
            with pytest.raises(AttributeError):
                each.vocab = None


def test_results_cannot_be_written_to() -> None:
    tok = trained("bpe")
    found, batch = tok("hug"), tok.encode_batch(["hug", "pug"])
    for array in (found.ids, found.spans, found.type_ids, found.special_tokens_mask, batch.ids, batch.offsets):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    assert isinstance(found.tokens, tuple)
    assert isinstance(found.word_ids, tuple)
    assert (found, batch) == (tok("hug"), tok.encode_batch(["hug", "pug"]))
    assert found != tok("pug")
    assert batch != tok.encode_batch(["hug", "hug"])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model": None}, "expected a BPE, WordPiece, Unigram or WordLevel model, not NoneType"),
        ({"splitter": "gpt2"}, "expected splitter to be a tuple of steps, not 'gpt2'"),
        ({"normalizer": (1,)}, "expected normalizer to be a tuple of steps"),
        ({"added_tokens": (AddedToken("<s>", 270),)}, "expected added token ids below 270; '<s>' has 270"),
        (
            {"added_tokens": (AddedToken("<s>", 1), AddedToken("<s>", 2))},
            "duplicate added token '<s>': it has the ids 1 and 2",
        ),
        ({"roles": (("begin", 1),)}, r"expected roles: each of bos, .*, not \('begin', 1\)"),
        ({"roles": (("bos", 270),)}, r"expected roles: .* with an id below 270, not \('bos', 270\)"),
    ],
)
def test_what_does_not_fit_is_refused(fields: dict[str, Any], message: str) -> None:
    spec = trained("bpe").spec
    with pytest.raises(InputError, match=message):
        replace(spec, **fields)


def test_unknown_part_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"unknown field 'vocab' of a tokenizer; the fields are model, normalizer"):
        trained("bpe").with_(vocab=None)  # type: ignore[call-arg]


def test_a_spec_is_what_a_tokenizer_takes() -> None:
    with pytest.raises(InputError, match=r"expected a TokenizerSpec, not str; subwords\.load reads files"):
        subwords.Tokenizer("gpt2.json")  # type: ignore[arg-type]


def test_repr_does_not_list_the_merges() -> None:
    assert "254 merges" not in repr(trained("bpe"))
    assert repr(trained("bpe")).startswith("Tokenizer(bpe, 270 tokens, 13 merges, 1 special, splitter 'o200k'")
