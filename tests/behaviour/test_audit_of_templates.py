"""`audit` finds ids of a template, or of the padding, that are not those of their tokens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import subwords

TEXTS = ["low lower lowest"] * 9


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    tok = subwords.train(TEXTS, algorithm="wordpiece", vocab_size=30)
    tok.save(tmp_path / "tok.json")
    fields = json.loads((tmp_path / "tok.json").read_text("utf-8"))
    fields["padding"] = {
        "strategy": {"Fixed": 8},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "[PAD]",
    }
    (tmp_path / "tok.json").write_text(json.dumps(fields), "utf-8")
    return tmp_path / "tok.json"


def test_a_good_template_has_no_finding(whole: Path) -> None:
    assert subwords.study.audit(whole, rules=["template-token"]).findings == ()


@pytest.mark.parametrize("index", [128_000, 7])
def test_a_template_of_another_tokenizer_is_an_error(whole: Path, index: int) -> None:
    fields = json.loads(whole.read_text("utf-8"))
    fields["post_processor"]["special_tokens"]["[CLS]"]["ids"] = [index]
    whole.write_text(json.dumps(fields), "utf-8")
    found = subwords.study.audit(whole, rules=["template-token"]).findings
    assert [one.severity for one in found] == ["error"]
    assert f"inserts '[CLS]' as {index}" in found[0].message
    assert (index in found[0].ids) == (index == 7)


def test_padding_of_another_tokenizer_is_an_error(whole: Path) -> None:
    fields = json.loads(whole.read_text("utf-8"))
    fields["padding"]["pad_id"] = 7
    whole.write_text(json.dumps(fields), "utf-8")
    found = subwords.study.audit(whole, rules=["template-token"]).findings
    assert [one.message.split(" inserts")[0] for one in found] == ["the padding"]
