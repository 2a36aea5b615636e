"""The panels of the page: evaluation, and what `explain` says of a word before the model."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from subwords.errors import InputError
from subwords.study.panels import MOST_EXPLAINED, panels
from subwords.study.steps import Lattice, Matching, Merging
from subwords.study.token_facts import TokenFacts
from subwords.study.word_steps import Lattice as LatticeSteps
from subwords.study.word_steps import Matches, Merges, steps_of

CORPUS = ["low lower lowest hugs naïve newest widest hugging bun"] * 9
TOKENIZERS: dict[str, subwords.Tokenizer] = {
    "bpe": subwords.train(CORPUS, vocab_size=290),
    "wordpiece": subwords.train(CORPUS, algorithm="wordpiece", normalizer="bert-uncased", vocab_size=40),
    "unigram": subwords.train(CORPUS, algorithm="unigram", vocab_size=40),
}


@given(st.sampled_from(sorted(TOKENIZERS)), st.text(st.sampled_from("lowernst hugbié🙂"), max_size=12))
def test_the_page_and_explain_tell_the_same_steps(name: str, text: str) -> None:
    tok = TOKENIZERS[name]
    for word in subwords.explain(tok, text).words:
        if "\ufffd" in word.text:
            continue
        steps, ref = steps_of(TokenFacts(tok), word.text), word.segmentation
        if isinstance(ref, Merging):
            assert isinstance(steps, Merges)
            assert [(m.rank, m.left, m.right, m.result, m.place) for m in ref.merges] == [
                (s.rank, s.left, s.right, s.result, s.at) for s in steps.steps
            ]
        elif isinstance(ref, Matching):
            assert isinstance(steps, Matches)
            assert [(m.id, m.start, m.stop, m.tried) for m in ref.matches] == [
                (s.id, s.start, s.stop, len(s.tried) + s.more_tried) for s in steps.matches
            ]
        elif isinstance(ref, Lattice):
            assert isinstance(steps, LatticeSteps)
            assert steps.best == pytest.approx(ref.score, abs=1e-5)
            assert (steps.second is None) == (ref.gap is None)
            if steps.second is not None and ref.gap is not None:
                assert steps.best - steps.second == pytest.approx(ref.gap, abs=1e-4)


def test_metrics_are_those_of_evaluate_on_the_text() -> None:
    toks = list(TOKENIZERS.values())
    found: Any = panels().evaluate
    text = "low lower\n\nhugs\n"
    rows = dict(found(toks, text).rows)
    assert rows["bytes"] == (len(text),) * 3
    assert rows["tokens"] == tuple(len(tok.encode(text)) for tok in toks)
    with pytest.raises(InputError, match="at least one word"):
        found(toks, " \n")


def test_what_happened_before_the_model_is_told() -> None:
    before: Any = panels().before
    assert any("split pattern" in said for said in before(TOKENIZERS["bpe"], "low lower", 3, 9))
    assert any("'e'" in said and "'é'" in said for said in before(TOKENIZERS["wordpiece"], "low é", 4, 5))
    assert before(TOKENIZERS["bpe"], "a" * (MOST_EXPLAINED + 1), 0, 1) == []


def test_audit_tells_the_worst_first() -> None:
    audit = panels().audit
    assert audit is not None
    found = audit(TOKENIZERS["bpe"])
    expected = subwords.audit(TOKENIZERS["bpe"]).findings
    assert [(one.severity, one.kind, one.message, one.ids) for one in found] == [
        (one.severity, one.rule, one.message, one.ids) for one in expected
    ]
    assert {one.severity for one in found} <= {"error", "warning", "note"}
