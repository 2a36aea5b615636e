"""`explain` answers first; `explain-training` says why a tied pair won, and writes a page in the style of `show`."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import subwords
from commands import run

WORDS = "low lower lowest new newer newest"


def test_the_answer_comes_before_the_rules_and_unused_ones_are_left_out() -> None:
    tok = subwords.train([WORDS] * 3, vocab_size=262)
    lines = str(subwords.study.explain(tok, "lower 12")).splitlines()
    first_word = next(k for k, line in enumerate(lines) if " word " in line)
    rules = [k for k, line in enumerate(lines) if line.startswith(("splitter", "  alternative"))]
    assert first_word == 1
    assert min(rules) > max(k for k, line in enumerate(lines) if " word " in line)
    trace = subwords.study.explain(tok, "lower 12")
    used = {word.alternative for word in trace.words}
    listed = {int(number) for number in re.findall(r"^  alternative (\d+): ", "\n".join(lines), re.MULTILINE)}
    assert listed == used
    assert len(listed) < len(trace.alternatives)


@pytest.mark.parametrize("rule", ["ids", "first", "bytes"])
def test_a_tied_pair_says_why_it_won(rule: str) -> None:
    found = subwords.study.explain_training([WORDS], vocab_size=15, alphabet="corpus", tie_break=rule)
    tied = [step for step in found.steps if type(step).__name__ == "MergeStep" and step.tied > 1]
    assert tied
    says = {"ids": "smallest ids", "first": "occurs first", "bytes": "smallest bytes"}[rule]
    assert all(says in step.tie for step in tied)
    assert str(found).count(says) == len(tied)
    if rule == "ids":
        order = list(found.vocab)
        for step in tied:
            a, b = (order.index(part.encode()) for part in step.chosen.pair)
            assert step.tie.endswith(f"{a} and {b}")


class _Page(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.classes: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.classes += (dict(attributes).get("class") or "").split()


@pytest.mark.parametrize("algorithm", ["bpe", "wordpiece", "unigram"])
def test_training_is_a_page_with_title_candidates_and_colours(tmp_path: Path, algorithm: str) -> None:
    source = tmp_path / "x.txt"
    source.write_text(f"{WORDS} <script>alert(1)</script> ")
    size = 290 if algorithm == "bpe" else 28
    run(
        "study",
        "explain-training",
        source,
        "--algorithm",
        algorithm,
        "--vocab-size",
        size,
        "--html",
        tmp_path / "x.html",
    )
    text = (tmp_path / "x.html").read_text("utf-8")
    found = _Page(text)
    assert f"<title>Training on {source}</title>" in text
    assert "script" not in found.tags
    assert {"chip", "panel", "c0", "c5"} <= {*found.classes}
    assert found.tags.count("details") == found.tags.count("section") - 1 > 0
    assert "prefers-color-scheme: dark" in text  # the style sheet of the page, which is in the file
    assert "candidates" in text


def test_explanations_of_texts_are_pages_of_one_style(tmp_path: Path) -> None:
    subwords.train([WORDS], vocab_size=260).save(tmp_path / "tok.json")
    for command in ("explain", "why-not"):
        run("study", command, tmp_path / "tok.json", "--text", "lowest", "--html", tmp_path / "x.html")
        found = _Page((tmp_path / "x.html").read_text("utf-8"))
        assert found.tags.count("h1") == found.tags.count("title") == 1
        assert "panel" in found.classes
