"""evaluate, compare, sweep: metrics are their formulas, on any split into documents, threads and groups (V1-V10)."""

from __future__ import annotations

import json
import math
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

import subwords
from inside import (
    Resampled,
    entropy,
    gini,
    renyi_efficiency,
    zipf,
)
from seeds import seed_of_run
from small_data import file_of
from strategies import texts
from subwords import CorpusError, InputError, Reading

SEED = seed_of_run()
TEXT = "low lower lowest new newer newest naïve 文字 wide wider. "
TOK = subwords.train([TEXT * 9], vocab_size=290)
OTHER = subwords.train([TEXT * 9], vocab_size=265)
LINES = [f"{TEXT}{'low ' * (k % 7)}" for k in range(40)]


def words_of(text: str) -> int:
    """Runs of letters, marks and numbers, but for those of scripts without spaces."""
    within = [unicodedata.category(char)[0] in "LMN" and not regex.match(SPACELESS, char) for char in text]
    return sum(now and not before for before, now in zip([False, *within], within, strict=False))


SPACELESS = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"


@given(st.lists(texts() | st.text("aé1 \u0301文กx", max_size=9), min_size=1, max_size=5), st.sampled_from([1, 2]))
def test_sums_are_those_of_the_documents(documents: list[str], threads: int) -> None:
    # characters that Python's older Unicode tables do not know
    documents = ["low", *("".join(char for char in text if unicodedata.category(char) != "Cn") for text in documents)]
    documents = [text for text in documents if text]
    found = subwords.study.evaluate(TOK, documents, threads=threads, resamples=0)
    whole = "".join(documents)
    assert (found.documents, found.bytes, found.characters) == (len(documents), len(whole.encode()), len(whole))
    ids = [index for text in documents for index in TOK.encode(text)]
    assert (found.tokens, found.used) == (len(ids), len({*ids}) / found.vocabulary)
    if 2 * len(regex.findall(SPACELESS, whole)) <= len(whole):
        assert found.words == sum(map(words_of, documents))


def test_metrics_are_their_formulas() -> None:
    found = subwords.study.evaluate(TOK, LINES)
    ids = [index for line in LINES for index in TOK.encode(line)]
    size = sum(len(line.encode()) for line in LINES)
    assert (found.documents, found.bytes, found.tokens) == (40, size, len(ids))
    assert found.bytes_per_token == size / len(ids)
    assert found.tokens_per_word == len(ids) / sum(map(words_of, LINES))
    shares = [n / len(ids) for n in Counter(ids).values()]
    alpha = math.log(sum(share**2.5 for share in shares)) / (1 - 2.5)
    assert found.renyi_efficiency == pytest.approx(alpha / math.log(found.vocabulary))
    assert found.entropy_efficiency == pytest.approx(-sum(p * math.log(p) for p in shares) / math.log(found.vocabulary))
    assert found.used == len(set(ids)) / found.vocabulary
    assert found.used_rarely == sum(1 for n in Counter(ids).values() if n < 10) / found.vocabulary
    assert found.unknown is None
    assert json.loads(json.dumps(found.to_dict()))["tokens"] == found.tokens
    assert str(found).split("\n")[0].split() == ["|", "metric", "|", "value", "|", "interval", "|"]
    assert "\\begin{tabular}" in found.to_latex()
    assert "<table>" in found._repr_html_()


def test_renyi_efficiency_is_the_formula_not_the_readme() -> None:
    # tokenization-scorer's README prints the values of alpha=3.0 beside alpha=2.5; by the formula:
    counts = np.array([2, 2, 1, 1, 1])
    shares = counts / counts.sum()
    for alpha in (0.5, 2.0, 2.5, 3.0, 100.0):
        expected = math.log((shares**alpha).sum()) / (1 - alpha) / math.log(5)
        assert renyi_efficiency(counts, order=alpha) == pytest.approx(expected)
    assert renyi_efficiency(counts, order=math.inf) == pytest.approx(-math.log(2 / 7) / math.log(5))
    assert entropy(counts, 1.0) == pytest.approx(-(shares * np.log(shares)).sum())
    assert renyi_efficiency(np.array([5, 0])) is None


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=9))
def test_gini_is_the_mean_difference(costs: list[float]) -> None:
    number = len(costs)
    expected = sum(abs(a - b) for a in costs for b in costs) / (2 * number**2 * (sum(costs) / number))
    assert gini(costs) == pytest.approx(expected, abs=1e-12)


def test_zipf_fits_a_line() -> None:
    fit = zipf(np.array([1000 // k for k in range(1, 50)]), (1, 40))
    assert fit is not None
    assert fit.slope == pytest.approx(-1, abs=0.02)
    assert fit.r2 > 0.99
    assert zipf(np.array([3, 2]), (1, 10)) is None


def test_intervals_cover_the_mean_as_often_as_they_say() -> None:
    rng, covered = np.random.default_rng(SEED), 0
    for trial in range(200):
        columns = [rng.poisson(50, 60), rng.poisson(10, 60) + 1]
        low, high = Resampled(columns, resamples=300, seed=trial).interval(lambda s: s[:, 0] / s[:, 1], 0.9) or (1, 0)
        covered += low <= 50 / 11 <= high
    assert 0.8 < covered / 200 < 0.97  # a fair interval misses this range once in 10^5 runs


def test_intervals_do_not_depend_on_threads_and_repeat() -> None:
    one, two = (subwords.study.evaluate(TOK, LINES, threads=threads, seed=3).intervals for threads in (1, 2))
    assert one == two
    assert one != subwords.study.evaluate(TOK, LINES, seed=4).intervals
    low, high = one["bytes_per_token"]
    assert low < (subwords.study.evaluate(TOK, LINES).bytes_per_token or 0) < high
    assert subwords.study.evaluate(TOK, LINES[:1]).intervals == {}
    assert subwords.study.evaluate(TOK, LINES, resamples=0).intervals == {}
    many = subwords.study.evaluate(TOK, LINES * 60)  # more documents than are resampled one by one
    assert many.intervals["bytes_per_token"][1] - many.intervals["bytes_per_token"][0] < high - low


def test_groups_by_a_column_a_file_or_a_dict(tmp_path: Path) -> None:
    rows = [{"text": line, "language": "ab"[k % 2]} for k, line in enumerate(LINES)]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = subwords.study.evaluate(TOK, tmp_path / "x.jsonl", by="language")
    same = subwords.study.evaluate(TOK, {"a": LINES[::2], "b": LINES[1::2]})
    assert found.groups == same.groups
    assert [group.name for group in found.groups] == ["a", "b"]
    assert sum(group.tokens for group in found.groups) == found.tokens
    assert found.groups[0].relative == 1
    for name, part in (("a", LINES[:5]), ("b", LINES[5:])):
        (tmp_path / f"{name}.txt").write_text("".join(part))
    files = subwords.study.evaluate(TOK, str(tmp_path / "*.txt"), by="file", reference="b")
    assert [group.name for group in files.groups] == ["a", "b"]
    assert files.groups[1].relative == 1
    assert "| group |" in str(files)


def test_parallel_text_has_costs_and_a_gini() -> None:
    other = [line.replace("low", "文字") for line in LINES]
    found = subwords.study.evaluate(TOK, {"en": LINES, "zh": other}, parallel=True)
    costs = [sum(len(TOK.encode(line)) for line in lines) for lines in (LINES, other)]
    assert [group.cost for group in found.groups] == [1, costs[1] / costs[0]]
    assert found.gini == pytest.approx(abs(costs[0] - costs[1]) / (2 * sum(costs)))
    assert found.gini_interval is not None
    with pytest.raises(CorpusError, match="the same number of documents in every group"):
        subwords.study.evaluate(TOK, {"en": LINES, "zh": other[:-1]}, parallel=True)


def test_parallel_text_with_empty_documents_is_refused(tmp_path: Path) -> None:
    texts = {"en": ["low", "", "lower", "low"], "de": ["low", "low", "low", ""]}  # as many, but of other lines
    rows = [{"t": text, "lang": name} for name, column in texts.items() for text in column]
    (tmp_path / "rows.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    for name, column in texts.items():
        (tmp_path / f"{name}.jsonl").write_text("\n".join(json.dumps({"t": text}) for text in column))
        (tmp_path / f"{name}.txt").write_text("||".join(column))
    message = "documents of en, de are empty or were left out"
    with pytest.raises(CorpusError, match=message):
        subwords.study.evaluate(TOK, texts, parallel=True)
    for corpus in (rows, str(tmp_path / "rows.jsonl")):
        with pytest.raises(CorpusError, match=message):
            subwords.study.evaluate(TOK, corpus, by="lang", reading=Reading(text_column="t"), parallel=True)
    with pytest.raises(CorpusError, match=message):
        paths = {name: str(tmp_path / f"{name}.jsonl") for name in texts}
        subwords.study.evaluate(TOK, paths, reading=Reading(text_column="t"), parallel=True)
    with pytest.raises(CorpusError, match=message):
        paths = {name: str(tmp_path / f"{name}.txt") for name in texts}
        subwords.study.evaluate(TOK, paths, reading=Reading(separator="||"), parallel=True)
    with pytest.raises(CorpusError, match="documents of de are"):
        texts = {"en": ["low", "lower"], "de": ["low", "\ud800"]}
        subwords.study.evaluate(TOK, texts, reading=Reading(errors="skip"), parallel=True)
    assert subwords.study.evaluate(TOK, {"en": ["", "low"], "de": ["low"]}).documents == 2


def test_more_documents_than_bundles_have_the_same_sums() -> None:
    column = np.random.default_rng(SEED).integers(0, 9, 5000)
    found = Resampled([column, np.ones_like(column)], resamples=200, seed=1)
    low, high = found.interval(lambda sums: sums[:, 1], 0.95) or (0, 0)
    assert low > 4800 and high < 5200
    low, high = found.interval(lambda sums: sums[:, 0] / sums[:, 1], 0.95) or (0, 0)
    wide = 2 * 1.96 * column.std() / 5000**0.5
    assert 0.75 * wide < high - low < 1.3 * wide


def test_languages_without_spaces_have_no_words() -> None:
    found = subwords.study.evaluate(TOK, ["文字文字ใน"])
    assert (found.words, found.tokens_per_word) == (0, None)
    assert subwords.study.evaluate(TOK, ["a 文字文字"]).tokens_per_word is None
    assert subwords.study.evaluate(TOK, ["a b"]).tokens_per_word == len(TOK.encode("a b")) / 2


def test_morphemes(tmp_path: Path) -> None:
    gold = tmp_path / "gold.tsv"
    gold.write_text("lower\tlow er\nnewest\tnew est\nwide\twide\n")
    found = subwords.study.evaluate(TOK, LINES, gold=gold).morphology
    assert found is not None
    hits = made = 0
    for word, border in (("lower", {3}), ("newest", {3}), ("wide", set())):
        ends, at = set(), -1
        for token in TOK.tokenize(f" {word}"):
            at += len(token)
            ends.add(at)
        own = ends - {0, len(word)}
        hits, made = hits + len(own & border), made + len(own)
    assert (found.precision, found.recall) == (hits / made if made else None, hits / 2)
    for bad in ("lower\tlo er\n", "lower\n", "lower\tlow  er\n", ""):
        gold.write_text(bad)
        with pytest.raises(CorpusError, match="morphemes"):
            subwords.study.evaluate(TOK, LINES, gold=gold)


def test_compare_is_paired() -> None:
    found = subwords.study.compare([TOK, OTHER], LINES, names=["long", "short"])
    assert found.relative[1] == found.evaluations[1].tokens / found.evaluations[0].tokens
    interval = found.relative_intervals[1]
    assert interval is not None
    assert interval.low <= (found.relative[1] or 0) <= interval.high
    same = subwords.study.compare([TOK, TOK], LINES)
    assert same.relative_intervals == (None, (1.0, 1.0))
    assert same.disagreements == ()
    assert same.disagreeing == 0
    for one in found.disagreements:
        bytes_of = [[tok.token_bytes(index) for index in tok.encode(one.word)] for tok in (TOK, OTHER)]
        spelled = [[token.decode("utf-8", "backslashreplace") for token in tokens] for tokens in bytes_of]
        assert [*map(list, one.tokens)] == spelled
        assert one.tokens[0] != one.tokens[1]
    counts = [one.count for one in found.disagreements]
    assert counts == sorted(counts, reverse=True)
    assert 0 < found.disagreeing <= 1
    assert json.loads(json.dumps(found.to_dict()))["names"] == ["long", "short"]
    assert "| long " in str(found)


@pytest.mark.parametrize(
    ("sizes", "options"),
    [
        ([260, 270, 285], {}),
        ([260, 270, 280], {"special_tokens": ["<s>", "low"]}),
        ([30, 34, 40], {"byte_level": False}),
        *(([30, 34, 40], {"algorithm": algorithm}) for algorithm in ("unigram", "wordpiece")),
    ],
)
def test_sweep_measures_each_size(sizes: list[int], options: dict[str, Any]) -> None:
    found = subwords.study.sweep([TEXT * 9], vocab_sizes=sizes, held_out=LINES, **options)
    assert [one.vocab_size for one in found.sizes] == sizes
    for one in found.sizes:
        tok = subwords.train([TEXT * 9], vocab_size=one.vocab_size, **options)
        assert one.tokens == sum(len(tok.encode(line)) for line in LINES)
    assert "| vocabulary |" in str(found)


def test_plots_are_figures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = subwords.study.evaluate(TOK, {"a": LINES[::2], "b": LINES[1::2]})
    for number, figure in enumerate(
        [found.plot(), found.plot("zipf"), subwords.study.sweep([TEXT * 9], vocab_sizes=[260, 270]).plot()]
    ):
        figure.savefig(tmp_path / f"{number}.png")
        assert (tmp_path / f"{number}.png").stat().st_size > 5000


def test_plots_say_what_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InputError, match=r"\[all\]"):
        subwords.study.evaluate(TOK, LINES).plot()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="pandas"):
        subwords.study.evaluate(TOK, LINES).to_frame()


def test_real_files(data: Path) -> None:
    toks = [subwords.load(file_of(data, name)) for name in ("gpt2/tokenizer.json", "t5/spiece.model")]
    corpus = sorted(data.glob("corpora/*.txt"))[0].read_bytes()[:100_000].decode("utf-8", "ignore").splitlines(True)
    found = subwords.study.compare(toks, corpus, limit=3)
    for tok, one in zip(toks, found.evaluations, strict=True):
        assert one.tokens == sum(len(tok.encode(line)) for line in corpus)


def test_clear_errors() -> None:
    for corpus in ([], [""], ["", ""]):
        with pytest.raises(CorpusError, match="no text to evaluate"):
            subwords.study.evaluate(TOK, corpus)
    with pytest.raises(InputError, match=r"got tuple .*: pass the text, not its word counts"):
        subwords.study.evaluate(TOK, subwords.count(["a"]))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="to look a word up: word in dict"):
        assert b"a" in subwords.count(["a"])
    with pytest.raises(InputError, match="expected one text, not an empty list"):
        subwords.study.align(TOK, TOK, [])
    bad: list[tuple[dict[str, Any], str]] = [
        ({"order": 0}, "order"),
        ({"confidence": 1}, "confidence"),
        ({"resamples": -1}, "resamples"),
        ({"seed": -1}, "seed"),
        ({"reference": "x"}, "reference"),
        ({"by": "language"}, "by='language' needs rows"),
    ]
    for options, message in bad:
        with pytest.raises(InputError, match=message):
            subwords.study.evaluate(TOK, LINES, **options)
    with pytest.raises(InputError, match="two or more tokenizers"):
        subwords.study.compare([TOK], LINES)
    with pytest.raises(InputError, match="expected a name for each of 2"):
        subwords.study.compare([TOK, OTHER], LINES, names=["a"])
    with pytest.raises(InputError, match="one or more sizes"):
        subwords.study.sweep([TEXT], vocab_sizes=[])


def test_a_single_document_and_groups_without_text_are_said() -> None:
    tok = subwords.train(["low lower lowest"] * 9, vocab_size=262)
    one = subwords.study.evaluate(tok, ["low lowest"])
    assert one.intervals == {} and "no interval" in str(one)
    found = subwords.study.evaluate(tok, {"en": ["low", "lower"], "xx": ["", ""], "yy": []})
    assert found.without_text == ("xx", "yy") and [group.name for group in found.groups] == ["en"]
    assert "'xx', 'yy'" in str(found) and "no interval" not in str(found)
    assert subwords.study.evaluate(tok, {"en": ["low", "lower"]}).notes() == []
