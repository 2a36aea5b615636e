"""Figures with intervals are the same in every form; what does not come back is counted (V5, V7, V19)."""

from __future__ import annotations

import random
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import subwords
from inside import Resampled
from seeds import seed_of_run

TEXTS = ["Low lower  lowest, naïve 文字 हिन्दी", "new newer newest 12 cafe\u0301\n", "the rays of light"] * 9
KINDS: dict[str, dict[str, Any]] = {
    "bpe": {"vocab_size": 290},
    "bpe that lowers": {"vocab_size": 290, "normalizer": "lowercase"},
    "bpe of characters": {"vocab_size": 50, "byte_level": False, "special_tokens": ["<unk>"], "unk_token": "<unk>"},
    "wordpiece": {"algorithm": "wordpiece", "vocab_size": 90},
    "unigram": {"algorithm": "unigram", "vocab_size": 60},
    "unigram of bytes": {"algorithm": "unigram", "vocab_size": 310, "byte_fallback": True, "normalizer": "nfkc"},
    "wordlevel": {"algorithm": "wordlevel", "vocab_size": 9},
}
TOKS = {name: subwords.train(TEXTS, **options) for name, options in KINDS.items()}
PIECES = ["low", " light", "  ", "Low", "é", "e\u0301", "हि", "文", " ", "\n", "☃", "ﬁ", "<unk>", "1", "[UNK]"]
DOCUMENTS = st.lists(st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join), min_size=1, max_size=6)


def returned(tok: subwords.Tokenizer, texts: list[str]) -> tuple[float, float]:
    """The share of the texts that do not come back, and of their characters that are missing then."""
    back = [tok.decode(tok.encode(text)) for text in texts]
    missing = Counter(chain(*texts)) - Counter(chain(*back))
    lossy = sum(text != other for text, other in zip(texts, back, strict=True))
    return lossy / len(texts), missing.total() / sum(map(len, texts))


@pytest.mark.parametrize("name", TOKS)
@given(texts=DOCUMENTS, threads=st.sampled_from([1, 2]))
def test_texts_that_do_not_come_back_are_counted(name: str, texts: list[str], threads: int) -> None:
    tok, texts = TOKS[name], ["low", *texts]
    found = subwords.study.evaluate(tok, texts, threads=threads)
    assert (found.lossy, found.characters_lost) == returned(tok, texts)
    assert ("lossy" in found.intervals) == (0 < found.lossy < 1)
    assert found.lossy == 0 or not tok.lossless
    assert bool([note for note in found.notes() if note.startswith("Lost text")]) == (found.lossy > 0)


@pytest.mark.parametrize("name", TOKS)
def test_long_documents_come_back_as_a_whole(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed_of_run())
    tok, texts = TOKS[name], ["".join(rng.choices(PIECES, k=k)) for k in (9_000, 50, 6_000)]
    for k, text in enumerate(texts):
        (tmp_path / f"{k}.txt").write_text(text, "utf-8", newline="")
    monkeypatch.setattr("subwords.study.evaluation.BLOCK", 1 << 12)
    for threads in (1, 2):
        found = subwords.study.evaluate(tok, str(tmp_path), threads=threads)
        assert (found.documents, found.lossy, found.characters_lost) == (3, *returned(tok, texts))


def test_a_lossy_tokenizer_does_not_win_unsaid() -> None:
    pytest.importorskip("matplotlib")
    burmese = ["သုတေသနကို စမ်းသပ်သည်", "သည် ကို", "ကိုယ်"] * 4
    toks = [subwords.train(burmese, vocab_size=300), subwords.train(burmese, algorithm="wordpiece", vocab_size=60)]
    found = subwords.study.compare(toks, burmese, names=["bpe", "wordpiece"])
    assert [one.lossy for one in found.evaluations] == [0, 1]
    (note,) = found.notes()
    assert note.startswith("Lost text: wordpiece does not give back 100 % of the texts (38 %")
    assert found.to_frame()["lossy"].tolist() == [0, 1]
    assert found.to_dict()["evaluations"][1]["lossy"] == 1
    assert "wordpiece does not give back" in found.plot().axes[0].get_xlabel()
    alone = subwords.study.evaluate(toks[1], {"a": burmese, "b": burmese}, parallel=True)
    assert "does not give back" in alone.plot().axes[0].get_xlabel() and "does not give back" in str(alone)


def test_bytes_that_are_not_a_character_are_shown_as_bytes() -> None:
    toks = [subwords.train([text] * 9, vocab_size=262) for text in ("low 東京", "東京 東京")]
    found = subwords.study.compare(toks, ["low 東京"])
    tokens = [token for one in found.disagreements for own in one.tokens for token in own]
    assert "\\xb1\\xe4" in tokens
    assert "\ufffd" not in str(found) and "\ufffd" not in repr(found.to_dict())
    assert "'\\xb1\\xe4'" in str(found)


def segments(axes: Any) -> list[tuple[float, float]]:
    return [(one[0][1], one[1][1]) for line in axes.collections for one in line.get_segments()]


@given(st.lists(st.tuples(*[st.text("ab é文", min_size=1, max_size=12)] * 3), min_size=1, max_size=9))
def test_costs_have_the_same_interval_everywhere(rows: list[tuple[str, str, str]]) -> None:
    pytest.importorskip("matplotlib")
    tok, groups = TOKS["bpe"], {name: [*texts] for name, texts in zip("xyz", zip(*rows, strict=True), strict=True)}
    how: dict[str, Any] = {"parallel": True, "reference": "y", "resamples": 50}
    found = subwords.study.evaluate(tok, groups, **how)
    counts = {name: [len(tok.encode(text)) for text in texts] for name, texts in groups.items()}
    both = subwords.study.compare([tok, TOKS["bpe that lowers"]], groups, **how)
    for k, group in enumerate(found.groups):
        assert group.cost == sum(counts[group.name]) / sum(counts["y"]) and group.relative is None
        drawn = Resampled([counts[group.name], counts["y"]], resamples=50, seed=0)  # type: ignore[arg-type]
        wanted = None if group.name == "y" else drawn.interval(lambda sums: sums[:, 0] / sums[:, 1], 0.95)
        assert group.cost_interval == both.evaluations[0].groups[k].cost_interval == wanted
        assert (wanted is None) == (len(rows) == 1 or group.name == "y")
        if wanted is not None:
            each = {one / other for one, other in zip(counts[group.name], counts["y"], strict=True)}
            assert wanted.low <= group.cost <= wanted.high
            assert (wanted.low < wanted.high) == (len(each) > 1)
        row = dict(zip(found.tables()[1].columns, found.tables()[1].rows[k], strict=True))
        assert (row["cost"], row["cost, interval"]) == (group.cost, wanted)
        assert found.to_frame()["cost, interval"][k] == wanted or wanted is None
        assert found.to_dict()["groups"][k]["cost_interval"] == (None if wanted is None else list(wanted))
        assert both.to_frame()["cost, interval, 1"][k] == wanted or wanted is None
    known = [group.cost_interval for group in found.groups if group.cost_interval is not None]
    for axes, number in ((found.plot().axes[0], 1), (both.plot().axes[0], 2)):
        drawn_now = segments(axes)
        assert len(drawn_now) == number * len(known)
        assert all(ends == pytest.approx(one) for ends, one in zip(drawn_now, known, strict=False))
    turned = subwords.study.evaluate(tok, {name: texts[::-1] for name, texts in groups.items()}, **how)
    assert [group.cost for group in turned.groups] == [group.cost for group in found.groups]
    assert found.gini == pytest.approx(turned.gini)


@pytest.mark.parametrize("name", TOKS)
@given(documents=st.lists(DOCUMENTS, min_size=2, max_size=3))
def test_intervals_hold_their_figures(name: str, documents: list[list[str]]) -> None:
    tok = TOKS[name]
    groups = {str(k): [f"low {text}" for text in texts] for k, texts in enumerate(documents)}
    found = subwords.study.evaluate(tok, groups, resamples=300)
    for kind, interval in found.intervals.items():
        assert interval.low <= getattr(found, kind) <= interval.high, kind
    for k, group in enumerate(found.groups):
        assert group.cost is None and group.cost_interval is None
        assert group.relative == pytest.approx(found.groups[0].characters_per_token / group.characters_per_token)  # type: ignore[operator]
        one = len(groups["0"]) < 2 or len(groups[group.name]) < 2
        assert (group.relative_interval is None) == (k == 0 or one)
        for value, interval in ((group.bytes_per_token, group.interval), (group.relative, group.relative_interval)):
            assert interval is None or interval.low - 1e-9 <= value <= interval.high + 1e-9  # type: ignore[operator]
    assert (found.gini_interval is None) == any(len(texts) < 2 for texts in groups.values())
    turned = subwords.study.evaluate(tok, {key: texts[::-1] for key, texts in groups.items()}, resamples=0)
    assert turned.intervals == {} and turned.bytes_per_token == found.bytes_per_token
    assert [group.relative for group in turned.groups] == [group.relative for group in found.groups]
    latex = found.to_latex()
    assert "tokens per character, relative" in latex and "Gini of tokens per character" in latex
    assert ("cost" in latex) is False
    with pytest.raises(subwords.InputError, match="no costs to plot"):
        found.plot("costs")


def test_plots_go_into_axes_and_are_told_apart_in_grey() -> None:
    figures = pytest.importorskip("matplotlib.figure")
    figure = figures.Figure()
    upper, lower = figure.subplots(2)
    groups = {"en": ["low", "the light"], "de": ["lower", "newest light"]}
    found = subwords.study.evaluate(TOKS["bpe"], groups, parallel=True)
    assert found.plot(ax=upper, title="cost of groups") is figure
    assert upper.get_title() == "cost of groups"
    both = subwords.study.compare([TOKS["bpe"], TOKS["unigram"]], groups)
    assert both.plot(ax=lower) is figure
    assert len({bar.get_hatch() for bar in lower.patches}) == 2
    sweep = subwords.study.sweep(groups, vocab_sizes=[256, 258])
    assert sweep.plot(ax=upper) is figure
    assert len({line.get_marker() for line in upper.lines[-3:]}) == 3
    assert found.plot("zipf", ax=lower) is figure
    with pytest.raises(subwords.InputError, match="expected ax to be axes of matplotlib, not str"):
        found.plot(ax="x")


def test_no_ids_at_all_are_refused() -> None:
    with pytest.raises(subwords.CorpusError, match="no tokens to evaluate"):
        subwords.study.evaluate(TOKS["wordpiece"], [" ", "\n"])
