"""The commands that explain, verify and extend."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from click.testing import CliRunner

import subwords
from commands import TEXT, json_of, run
from subwords import Tokenizer
from subwords.cli import main
from subwords.machine import Vocab


def test_explain_prints_a_trace(tok_path: Path, tok: Tokenizer, corpus_path: Path, tmp_path: Path) -> None:
    assert run("study", "explain", tok_path, "--text", "lowest").stdout == f"{subwords.study.explain(tok, 'lowest')}\n"
    assert json_of("study", "explain", tok_path, stdin=TEXT.encode())["ids"] == tok.encode(TEXT)
    run("count", corpus_path, "--special-token", "<s>", "-o", tmp_path / "x.counts")
    assert ", count " in run("study", "explain", tok_path, "--text", " low", "--counts", tmp_path / "x.counts").stdout


def test_why_not_names_the_obstacles(tok_path: Path, tok: Tokenizer, tmp_path: Path) -> None:
    assert run("study", "why-not", tok_path, "--text", "slow").stdout == f"{subwords.study.why_not(tok, 'slow')}\n"
    assert json_of("study", "why-not", tok_path, stdin=b"slow\n") == json.loads(
        json.dumps(subwords.study.why_not(tok, "slow").to_dict())
    )
    assert "is not UTF-8" in run("study", "why-not", tok_path, stdin=b"a\xff", code=1).stderr


def test_explanations_become_pages(tok_path: Path, tmp_path: Path) -> None:
    run("study", "explain", tok_path, "--text", "<script>", "--html", tmp_path / "x.html")
    page = (tmp_path / "x.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    run("study", "explain", tok_path, "--text", "a", "--html", tmp_path / "y.html", "--json", code=2)


def test_explain_training_prints_the_steps(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("low lower lowest")
    arguments = (
        "study",
        "explain-training",
        path,
        "--vocab-size",
        12,
        "--alphabet",
        "corpus",
        "--special-token",
        "<s>",
    )
    steps = subwords.study.explain_training(path, vocab_size=12, alphabet="corpus", special_tokens=["<s>"])
    assert run(*arguments).stdout == f"{steps}\n"
    assert json_of(*arguments)["merges"] == steps.to_dict()["merges"]
    run(*arguments, "--html", tmp_path / "x.html")
    assert "<table>" in (tmp_path / "x.html").read_text("utf-8")
    characters = json_of("study", "explain-training", path, "--vocab-size", 12, "--character-level")
    assert characters["alphabet"] == sorted({*"low lower lowest"})
    assert "--score is for wordpiece" in run(*arguments, "--score", "course", code=1).stderr


def test_verify_training_says_what_is_wrong(corpus_path: Path, tmp_path: Path) -> None:
    run("count", corpus_path, "-o", tmp_path / "x.counts")
    run("train", tmp_path / "x.counts", "--vocab-size", 270, "-o", tmp_path / "tok.json")
    assert (
        "each was the best pair" in run("study", "verify-training", tmp_path / "tok.json", tmp_path / "x.counts").stdout
    )
    assert json_of("study", "verify-training", tmp_path / "tok.json", tmp_path / "x.counts")["proven"] is True
    (tmp_path / "other.txt").write_text("zq zq zq")
    run("count", tmp_path / "other.txt", "-o", tmp_path / "y.counts")
    run("train", tmp_path / "y.counts", "--vocab-size", 257, "-o", tmp_path / "other.json")
    from click.testing import CliRunner

    from subwords.cli import main

    found = CliRunner().invoke(
        main, ["study", "verify-training", str(tmp_path / "other.json"), str(tmp_path / "x.counts")]
    )
    assert found.exit_code == 1
    assert "never occurs: ('z', 'q') 0" in found.stdout


def test_extend_saves_a_longer_tokenizer(tok_path: Path, tok: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("slowly slower unknowable knowledge " * 5)
    out = tmp_path / "more.json"
    got = json_of("adapt", "extend", tok_path, tmp_path / "more.txt", "--count", 5, "-o", out)
    assert (got["tokens"], got["new"], got["saved"]) == (tok.vocab_size + 5, 5, str(out))
    assert subwords.load(out) == subwords.adapt.extend(tok, tmp_path / "more.txt", count=5)
    (tmp_path / "way.txt").write_text("by the way of the way " * 30)
    run(
        "adapt",
        "extend",
        tok_path,
        tmp_path / "way.txt",
        "--count",
        20,
        "--splitter",
        "x+",
        "--max-words",
        2,
        "-q",
        "-o",
        out,
    )
    assert any(token.count(b" ") == 2 for token in [*subwords.load(out).model.vocab][tok.vocab_size :])
    longer = json_of("adapt", "extend", _unigram(tmp_path), tmp_path / "more.txt", "--count", 5, "-o", out)
    assert (longer["tokens"], longer["new"]) == (35, 5)
    message = run(
        "adapt", "extend", _unigram(tmp_path), tmp_path / "more.txt", "--count", 5, "--max-words", 2, "-o", out, code=1
    )
    assert "--max-words is for BPE" in message.stderr


def _unigram(folder: Path) -> Path:
    subwords.train([TEXT] * 9, algorithm="unigram", vocab_size=30).save(folder / "unigram.json")
    return folder / "unigram.json"


def test_evaluate_compare_and_sweep_print_tables(
    tok_path: Path, tok: Tokenizer, corpus_path: Path, tmp_path: Path
) -> None:
    lines = ("--documents", "line")
    found = subwords.study.evaluate(tok, corpus_path, reading=subwords.Reading(documents="line"))
    assert (
        run("study", "evaluate", tok_path, corpus_path, *lines).stdout.splitlines()[:4] == str(found).splitlines()[:4]
    )
    assert json_of("study", "evaluate", tok_path, corpus_path, *lines)["tokens"] == found.tokens
    assert "\\begin{tabular}" in run("study", "evaluate", tok_path, corpus_path, "--latex").stdout
    assert "no interval" in run("study", "evaluate", tok_path, corpus_path).stderr
    assert "no interval" not in run("study", "evaluate", tok_path, corpus_path, "--quiet").stderr
    got = json_of("study", "compare", tok_path, tok_path, "--source", corpus_path, *lines)
    assert (got["relative"], got["disagreements"]) == ([1.0, 1.0], [])
    run("count", corpus_path, "-o", tmp_path / "x.counts")
    for source in (corpus_path, tmp_path / "x.counts"):
        sizes = json_of("study", "sweep", source, "--vocab-size", 258, "--vocab-size", 262)["sizes"]
        assert [one["vocab_size"] for one in sizes] == [258, 262]
    run("study", "evaluate", tok_path, tmp_path / "none", code=1)


def test_encode_in_other_segmentations(tok_path: Path, tok: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("unknowable knowledge\nslower\n")
    lines = ["unknowable knowledge", "slower"]
    for method in ("fewest", "longest"):
        got = json_of("encode", tok_path, tmp_path / "lines.txt", "--lines", "--method", method)["ids"]
        assert got == [subwords.sampling.encode_with(tok, line, method=method) for line in lines]  # type: ignore[arg-type]
    drawn: dict[str, Any] = {"method": "maxmatch-dropout", "p": 0.5, "seed": 3}
    options = ["--method", "maxmatch-dropout", "--p", 0.5, "--seed", 3]
    expected = [subwords.sampling.encode_with(tok, line, document=number, **drawn) for number, line in enumerate(lines)]
    assert json_of("encode", tok_path, tmp_path / "lines.txt", "--lines", *options)["ids"] == expected
    texts = [argument for line in lines for argument in ("--text", line)]
    assert json_of("encode", tok_path, *texts, *options)["ids"] == expected
    for wrong, message in (
        (["--seed", 1], "--seed is for --draw"),
        (["--p", 0.5], "--p is for --method"),
        (["--method", "uniform", "--special", "allow"], "--method reads ordinary text"),
        (["--method", "uniform", "--draw"], "--method reads ordinary text"),
    ):
        assert message in run("encode", tok_path, "--text", "a", *wrong, code=2).stderr
    assert (
        "p is not an option" in run("encode", tok_path, "--text", "a", "--method", "fewest", "--p", 0.5, code=1).stderr
    )
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"\xff")
    assert "expected UTF-8" in run("encode", tok_path, bad, "--method", "fewest", code=1).stderr


# ------------------------------------------------------------------
# The command audit: what it prints, when it fails, what it accepts


def test_findings_fail_unless_they_are_accepted(tok: Tokenizer, tmp_path: Path, corpus_path: Path) -> None:
    model = replace(tok.model, vocab=Vocab([*tok.model.vocab, b"zzz"]))  # type: ignore[type-var]
    bad, base, sarif = tmp_path / "bad.json", tmp_path / "base.json", tmp_path / "out.sarif"
    tok.with_(model=model).save(bad)
    got = CliRunner().invoke(main, ["study", "audit", str(bad), "--sarif", str(sarif)])
    assert got.exit_code == 1
    assert "error: unreachable-token (1)" in got.stdout
    assert json.loads(sarif.read_text())["version"] == "2.1.0"
    assert json_of("study", "audit", bad, "--fail-on", "never")["error"] == 1
    run("study", "audit", bad, "--write-baseline", base)
    assert json_of("study", "audit", bad, "--fail-on", "note", "--baseline", base)["findings"] == []
    assert run("study", "audit", bad, "--rule", "hole").stdout == "0 errors, 0 warnings, 0 notes\n"
    assert (
        json_of("study", "audit", bad, "--fail-on", "never", "--source", corpus_path, "--rule", "unused-token")["note"]
        > 0
    )
    base.write_text("{}")
    assert (
        "expected a baseline that --write-baseline wrote"
        in run("study", "audit", bad, "--baseline", base, code=1).stderr
    )
    assert "expected rules among" in run("study", "audit", bad, "--rule", "x", code=1).stderr
    assert subwords.study.audit(tok).count("error") == 0
