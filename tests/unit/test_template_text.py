"""Templates written as text."""

from __future__ import annotations

import json

import pytest
import tokenizers
from tokenizers.processors import TemplateProcessing

import subwords
from inside import from_post_processor, template_of
from inside import json_node_Node as Node
from subwords import InputError
from subwords.machine import Template

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
    from inside import write_tokenizer_json

    ref = tokenizers.Tokenizer.from_str(write_tokenizer_json(tok.spec).decode())
    for texts in (["ab"], ["ab", "b"]):
        found, peer = tok(*texts), ref.encode(*texts)
        assert (found.ids.tolist(), found.type_ids.tolist()) == (peer.ids, peer.type_ids)
    assert tok.encode("ab", template=True) == [0, *tok.encode("ab"), 1]
    assert tok.encode_batch(["ab", ""], template=True).to_lists() == [[0, *tok.encode("ab"), 1], [0, 1]]
    assert tok.with_(template=None).encode("ab", template=True) == tok.encode("ab")
