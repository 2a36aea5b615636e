"""Templates: the tokens around texts and pairs, and trimmed spans, against HF tokenizers."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
import tokenizers
from tokenizers.processors import TemplateProcessing

import subwords
from inside import bert, from_post_processor, template_of, to_post_processor
from inside import json_node_Node as Node
from subwords import FormatError, InputError, TokenBatch
from subwords.machine import Inserted, Slot, Template, json_of

VOCAB = {"a": 0, "b": 1, "c": 2, "[CLS]": 3, "[SEP]": 4, "x": 5, "y": 6}
BERT = {"type": "BertProcessing", "sep": ["[SEP]", 4], "cls": ["[CLS]", 3]}
ROBERTA = {**BERT, "type": "RobertaProcessing", "trim_offsets": True, "add_prefix_space": True}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
TOKENS = {
    "[CLS]": {"id": "[CLS]", "ids": [3], "tokens": ["[CLS]"]},
    "long": {"id": "long", "ids": [5, 6, 5], "tokens": ["x", "y", "x"]},
    "none": {"id": "none", "ids": [], "tokens": []},
}


def slot(name: str, type_id: int = 0) -> dict[str, Any]:
    return {"Sequence": {"id": name, "type_id": type_id}}


def token(name: str, type_id: int = 0) -> dict[str, Any]:
    return {"SpecialToken": {"id": name, "type_id": type_id}}


def processing(single: list[Any], pair: list[Any], tokens: Any = TOKENS) -> dict[str, Any]:
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": tokens}


def sequence(*processors: Any) -> dict[str, Any]:
    return {"type": "Sequence", "processors": list(processors)}


LONG = processing(
    [token("long", 2), slot("A"), token("none"), token("[CLS]", 1)],
    [token("[CLS]"), slot("B", 7), token("long", 3), slot("A", 1)],
)
KNOWN = {
    "none": None,
    "bert": BERT,
    "roberta": ROBERTA,
    "bert that is roberta": {**ROBERTA, "type": "BertProcessing"},
    "roberta that is bert": {**BERT, "type": "RobertaProcessing", "trim_offsets": True},
    "bytes": BYTE_LEVEL,
    "bytes without trimming": {**BYTE_LEVEL, "trim_offsets": False},
    "empty sequence": sequence(),
    "llama-3": sequence(BYTE_LEVEL, processing([token("[CLS]"), slot("A")], [token("[CLS]"), slot("A"), slot("B", 1)])),
    "nested": sequence(sequence(BYTE_LEVEL), sequence(sequence(ROBERTA))),
    "long": LONG,
    "twice": processing([slot("A"), token("[CLS]"), slot("A", 3)], [slot("B"), slot("A"), slot("B", 2)]),
    "first text only": processing([slot("A")], [token("[CLS]"), slot("A")]),
    "no text": processing([token("[CLS]")], [slot("A"), slot("B")]),
}  # fmt: skip


def read(value: Any) -> Template | None:
    return from_post_processor(Node("a.json", "post_processor", value))


def peer(value: Any) -> tokenizers.Tokenizer:
    model = {"type": "WordLevel", "vocab": VOCAB, "unk_token": "x"}
    pre_tokenizer = {"type": "WhitespaceSplit"}
    top = {"version": "1.0", "model": model, "pre_tokenizer": pre_tokenizer, "post_processor": value}
    return tokenizers.Tokenizer.from_str(json.dumps(top))


@pytest.mark.parametrize("value", KNOWN.values(), ids=KNOWN)
def test_template_puts_around_texts_what_hf_puts(value: Any) -> None:
    template = read(value) or Template()
    tok = peer(value)
    for texts in (["a b"], ["a b c", "b"], [""], ["", "a"], ["a", ""]):
        ref = tok.encode(*texts)
        parts = [[VOCAB[word] for word in text.split()] for text in texts]
        assert template.apply(*parts) == ref.ids
        assert template.apply(*(np.array(part, np.uint32) for part in parts)).tolist() == ref.ids
        assert template.fill(*(text.split() for text in texts), inserted=lambda piece: piece.tokens) == ref.tokens
        mask = template.fill(*([0] * len(part) for part in parts), inserted=lambda piece: [1] * len(piece.ids))
        assert mask == ref.special_tokens_mask
        assert template.added(len(texts) == 2) == tok.num_special_tokens_to_add(len(texts) == 2)


@pytest.mark.parametrize("value", KNOWN.values(), ids=KNOWN)
def test_written_template_is_read_as_the_same(value: Any) -> None:
    template = read(value)
    written = to_post_processor(template)
    assert read(written) == template
    if written is not None:
        assert json.loads(peer(written).to_str())["post_processor"] == written
    for texts in (["a b"], ["a b c", "b"]):
        got, ref = peer(written).encode(*texts), peer(value).encode(*texts)
        assert (got.ids, got.type_ids, got.tokens, got.offsets) == (ref.ids, ref.type_ids, ref.tokens, ref.offsets)


def test_template_is_written_as_hf_writes_it() -> None:
    ref = tokenizers.processors.TemplateProcessing("$A y x", "x $A:3 y:1 $B:2", [("y", 6), ("x", 5)])
    written = json.loads(ref.__getstate__())
    assert json.dumps(to_post_processor(read(written))) == json.dumps(written)
    assert to_post_processor(read(BYTE_LEVEL)) == BYTE_LEVEL


@pytest.mark.parametrize("value", [BERT, LONG, None, KNOWN["twice"]])
def test_batch_gets_what_each_text_gets(value: Any) -> None:
    template = read(value) or Template()
    texts = [[0, 1], [], [2], [1, 1, 1], []]
    arrays = [np.array(text, np.uint32) for text in texts]
    batch = TokenBatch(np.concatenate(arrays), np.cumsum([0, *map(len, texts)]))
    assert template.apply_batch(batch).to_lists() == [template.apply(text) for text in texts]
    nothing = TokenBatch(np.zeros(0, np.uint32), np.zeros(1, np.int64))
    assert template.apply_batch(nothing).to_lists() == []


def test_order_of_trimming_and_template_does_not_matter() -> None:
    template = processing([token("[CLS]"), slot("A")], [slot("A"), slot("B")])
    assert read(sequence(BYTE_LEVEL, template)) == read(sequence(template, BYTE_LEVEL))


@pytest.mark.parametrize("prefix", [False, True])
@pytest.mark.parametrize("times", [1, 2])
def test_spans_are_trimmed_as_in_hf(prefix: bool, times: int) -> None:
    seed = 7
    print("seed", seed)
    rng = random.Random(seed)
    trim = sequence(*[{**BYTE_LEVEL, "add_prefix_space": prefix}] * times)
    words = ["Ġ", "ĠĠ", "Ġa", "aĠ", "ĠĠaĠ", "a", "\u3000a", "a\u2028", "a\x1c", "Ġ\x1c", "Ċ", "aĠĠĠ"]
    model = {"type": "WordLevel", "vocab": {word: i for i, word in enumerate(words)}, "unk_token": "a"}
    pre_tokenizer = {"type": "Split", "pattern": {"String": "|"}, "behavior": "Removed", "invert": False}
    top = {"version": "1.0", "model": model, "pre_tokenizer": pre_tokenizer}
    plain, trimming = (
        tokenizers.Tokenizer.from_str(json.dumps({**top, "post_processor": value})) for value in (None, trim)
    )
    template = read(trim)
    assert template and template.trims == (prefix,) * times
    for _ in range(100):
        text = "|".join(rng.choices(words, k=rng.randint(0, 5)))
        before = plain.encode(text)
        spans = np.array(before.offsets, np.int64).reshape(-1, 2)
        assert list(map(tuple, template.trimmed(spans, before.tokens).tolist())) == trimming.encode(text).offsets


def test_bert_is_the_template_of_bert() -> None:
    assert bert(3, 4) == read(BERT)
    assert bert(3, 4, "<s>", "</s>").single == (
        Inserted("<s>", (3,), ("<s>",)),
        Slot("A"),
        Inserted("</s>", (4,), ("</s>",)),
    )


def test_template_that_changes_nothing_is_none() -> None:
    for value in (
        None,
        sequence(),
        KNOWN["bytes without trimming"],
        processing([slot("A")], [slot("A"), slot("B", 1)]),
    ):
        assert read(value) is None
    assert to_post_processor(None) is None
    assert to_post_processor(Template()) is None


def test_impossible_templates_are_refused() -> None:
    with pytest.raises(InputError, match="it has a slot for a second text"):
        Template(single=(Slot("B"),))
    with pytest.raises(InputError, match="ambiguous template token 'x'"):
        Template(single=(Inserted("x", (1,), ("x",)), Inserted("x", (2,), ("x",))))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("BertProcessing", "post_processor: expected an object"),
        ([], "post_processor: expected an object"),
        ({}, "post_processor: an object is not supported"),
        ({"type": "Foo"}, 'post_processor: "Foo" is not supported; expected BertProcessing or'),
        ({"type": ["BertProcessing"]}, "not supported"),
        ({"type": "BertProcessing", "cls": ["a", 1]}, r"post_processor\.sep: expected an array, not null"),
        ({**BERT, "sep": ["a", 1, 2]}, r"\.sep: expected a token and its id, not an array of 3"),
        ({**BERT, "sep": [1, "a"]}, r"\.sep\[0\]: expected a string, not 1"),
        ({**BERT, "sep": ["a", "1"]}, r'\.sep\[1\]: expected an integer from 0 to 4294967295, not "1"'),
        ({**BERT, "sep": ["a", 2**32]}, r"\.sep\[1\]: expected an integer"),
        ({**BERT, "sep": ["a", True]}, r"\.sep\[1\]: expected an integer"),
        ({**ROBERTA, "trim_offsets": 1}, r"\.trim_offsets: expected true or false, not 1"),
        ({"type": "ByteLevel", "add_prefix_space": True}, r"\.trim_offsets: expected true or false, not null"),
        ({"type": "Sequence"}, r"\.processors: expected an array, not null"),
        (sequence(BERT, LONG), r"processors\[1\]: \"TemplateProcessing\" .*is not supported; expected a single"),
        (sequence(None), r"processors\[0\]: expected an object, not null"),
        (processing(["[CLS]", "$A"], [slot("A")]), r"\.single\[0\]: expected an object, not \"\[CLS\]\""),
        (processing([slot("A")], None), r"\.pair: expected an array"),  # type: ignore[arg-type]
        (processing([slot("a")], []), r"\.single\[0\]: expected a Sequence, .*, not \"Sequence\" \"a\""),
        (processing([{"Foo": {"id": "A", "type_id": 0}}], []), "not \"Foo\" \"A\""),
        (processing([{**slot("A"), **token("[CLS]")}], []), r"\.single\[0\]: expected a Sequence or a SpecialToken"),
        (processing([{}], []), r"\.single\[0\]: expected a Sequence or a SpecialToken"),
        (processing([{"Sequence": {"id": "A"}}], []), r"\.Sequence\.type_id: expected an integer"),
        (processing([slot("A", -1)], []), r"\.Sequence\.type_id: expected an integer"),
        (processing([slot("B")], []), "expected a template that can be applied, not this one: invalid template"),
        (processing([token("z")], []), r"\.SpecialToken\.id: expected one of the special_tokens, not \"z\""),
        (processing([], [], None), r"\.special_tokens: expected an object, not null"),
        (processing([], [], {"z": {"id": "z", "ids": [1], "tokens": []}}), "as many ids as tokens, not 1 and 0"),
        (processing([], [], {"z": {"id": "z", "ids": 1, "tokens": []}}), r"tokens\.z\.ids: expected an array"),
        (processing([], [], {"z": {"id": "z", "ids": [1], "tokens": ["\ud800"]}}), "without lone surrogates"),
    ],
)  # fmt: skip
def test_damaged_post_processor_is_named_with_its_place(value: Any, message: str) -> None:
    with pytest.raises(FormatError, match=rf"^a\.json: post_processor.*{message.removeprefix('post_processor')}"):
        read(value)


# ------------------------------------------------------------------ Templates written as text


IDS = {"[CLS]": 3, "[SEP]": 4, "x:1": 5, "é": 6}


@pytest.mark.parametrize(
    "texts",
    [
        ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1"),
        ("$A", "$A $B"),
        ("[SEP]:7 $1", "$b:2 é $a:1"),
        ("$ $0 [CLS]", "$B $0 $A:4"),
    ],
)
def test_templates_are_those_of_hf(texts: tuple[str, str]) -> None:
    ref = TemplateProcessing(*texts, special_tokens=list(IDS.items()))
    assert template_of(texts, IDS.get) == from_post_processor(Node("", "", json.loads(ref.__getstate__())))


def test_one_text_frames_both_of_a_pair() -> None:
    assert template_of("[CLS] $A [SEP]", IDS.get) == template_of(
        ["[CLS] $A [SEP]", "[CLS] $A [SEP] [CLS]:1 $B:1 [SEP]:1"], IDS.get
    )


def test_other_values() -> None:
    assert template_of(None, IDS.get) is None
    assert template_of(Template(), IDS.get) == Template()
    found = template_of("x:1 $A", IDS.get)
    assert found is not None and found.apply([0]) == [5, 0]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("<s> $A", "expected a template of tokens that exist, not '<s>'"),
        ("[CLS]", "expected a template with \\$A"),
        ("", "expected a template with \\$A"),
        ("$B", "has a slot for a second text"),
        (["$A", "$A"], "expected a template of a pair with \\$A and \\$B"),
        (["$A", "$A $B", "$A"], "expected a template such as"),
        (3, "expected a template such as"),
        ([3], "expected a template such as"),
        ("$A:99999999999999999999", "expected type ids up to"),
        ("$A1", "expected a text of a template such as"),
    ],
)
def test_what_is_refused(value: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        template_of(value, IDS.get)  # type: ignore[arg-type]


def test_with_template_is_saved_and_read_by_hf() -> None:
    tok = subwords.train(["ab ab"], vocab_size=260, special_tokens=["<s>", "</s>"]).with_(template="<s> $A </s>")

    ref = tokenizers.Tokenizer.from_str(json_of(tok.spec).decode())
    for texts in (["ab"], ["ab", "b"]):
        found, peer = tok(*texts), ref.encode(*texts)
        assert (found.ids.tolist(), found.type_ids.tolist()) == (peer.ids, peer.type_ids)
    assert tok.encode("ab", template=True) == [0, *tok.encode("ab"), 1]
    assert tok.encode_batch(["ab", ""], template=True).to_lists() == [[0, *tok.encode("ab"), 1], [0, 1]]
    assert tok.with_(template=None).encode("ab", template=True) == tok.encode("ab")
