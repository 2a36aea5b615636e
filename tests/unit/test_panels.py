"""The panels of the page: evaluation, and what `explain` says of a word before the model."""

from __future__ import annotations

import pytest

import subwords
from inside import audited, evaluated, told_before
from subwords import InputError

CORPUS = ["low lower lowest hugs naïve newest widest hugging bun"] * 9
TOKENIZERS: dict[str, subwords.Tokenizer] = {
    "bpe": subwords.train(CORPUS, vocab_size=290),
    "wordpiece": subwords.train(CORPUS, algorithm="wordpiece", normalizer="bert-uncased", vocab_size=40),
    "unigram": subwords.train(CORPUS, algorithm="unigram", vocab_size=40),
}


def test_metrics_are_those_of_evaluate_on_the_text() -> None:
    toks = list(TOKENIZERS.values())
    text = "low lower\n\nhugs\n"
    rows = {name: values for name, *values in evaluated(toks, text)}
    assert rows["bytes"] == [len(text)] * 3
    assert rows["tokens"] == [len(tok.encode(text)) for tok in toks]
    with pytest.raises(InputError, match="at least one word"):
        evaluated(toks, " \n")


def test_what_happened_before_the_model_is_told() -> None:
    bpe, wordpiece = (subwords.study.explain(TOKENIZERS[name], "low é") for name in ("bpe", "wordpiece"))
    assert any("split pattern" in said for said in told_before(bpe, 3, 5))
    assert any("'e'" in said and "'é'" in said for said in told_before(wordpiece, 4, 5))


def test_audit_tells_the_worst_first() -> None:
    found = audited(TOKENIZERS["bpe"])
    expected = subwords.study.audit(TOKENIZERS["bpe"]).findings
    assert [(one["severity"], one["kind"], one["message"], one["ids"]) for one in found] == [
        (one.severity, one.rule, one.message, [*one.ids]) for one in expected
    ]
    assert {one["severity"] for one in found} <= {"error", "warning", "note"}
