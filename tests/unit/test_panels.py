"""The panels of the page: evaluation, and what `explain` says of a word before the model."""

from __future__ import annotations

from typing import Any

import pytest

import subwords
from inside import panels
from subwords import InputError

CORPUS = ["low lower lowest hugs naïve newest widest hugging bun"] * 9
TOKENIZERS: dict[str, subwords.Tokenizer] = {
    "bpe": subwords.train(CORPUS, vocab_size=290),
    "wordpiece": subwords.train(CORPUS, algorithm="wordpiece", normalizer="bert-uncased", vocab_size=40),
    "unigram": subwords.train(CORPUS, algorithm="unigram", vocab_size=40),
}


def test_metrics_are_those_of_evaluate_on_the_text() -> None:
    toks = list(TOKENIZERS.values())
    found: Any = panels().evaluate
    text = "low lower\n\nhugs\n"
    rows = {name: values for name, *values in found(toks, text)}
    assert rows["bytes"] == [len(text)] * 3
    assert rows["tokens"] == [len(tok.encode(text)) for tok in toks]
    with pytest.raises(InputError, match="at least one word"):
        found(toks, " \n")


def test_what_happened_before_the_model_is_told() -> None:
    before: Any = panels().before
    bpe, wordpiece = (subwords.study.explain(TOKENIZERS[name], "low é") for name in ("bpe", "wordpiece"))
    assert any("split pattern" in said for said in before(bpe, 3, 5))
    assert any("'e'" in said and "'é'" in said for said in before(wordpiece, 4, 5))


def test_audit_tells_the_worst_first() -> None:
    audit = panels().audit
    assert audit is not None
    found = audit(TOKENIZERS["bpe"])
    expected = subwords.study.audit(TOKENIZERS["bpe"]).findings
    assert [(one["severity"], one["kind"], one["message"], one["ids"]) for one in found] == [
        (one.severity, one.rule, one.message, [*one.ids]) for one in expected
    ]
    assert {one["severity"] for one in found} <= {"error", "warning", "note"}
