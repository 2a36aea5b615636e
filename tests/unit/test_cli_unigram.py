"""Unigram on the command line: training, the n best ways to write a text, one drawn by chance, and scores."""

from __future__ import annotations

from pathlib import Path

import pytest

import subwords
from commands import json_of, run


@pytest.fixture(scope="module")
def unigram_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("unigram") / "unigram.json"
    subwords.train(["hug hugs hugging, unhugged bug"] * 9, algorithm="unigram", vocab_size=20).save(path)
    return path


def test_user_defined_pieces_and_models(corpus_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.model"
    run("train", corpus_path, "--algorithm", "unigram", "--vocab-size", 38, "--user-defined", "<sep>", "-o", out)
    assert run("encode", out, "--text", "a<sep>b", "--tokens").stdout.split()[-2] == "<sep>"
    message = run("train", corpus_path, "--vocab-size", 38, "--user-defined", "x", "-o", tmp_path / "a.json", code=2)
    assert "--user-defined is for unigram, not for bpe" in message.stderr
    message = run("train", corpus_path, "--vocab-size", 38, "-o", tmp_path / "a.model", code=2)
    assert "expected a name ending in .json or .tiktoken or .gguf, or a folder" in message.stderr


def test_nbest(unigram_path: Path) -> None:
    tok = subwords.load(unigram_path)
    ref = tok.nbest("hugs", 3)
    lines = run("encode", unigram_path, "--text", "hugs", "--nbest", 3).stdout.splitlines()
    assert lines == [f"{score:.4f}\t{' '.join(map(str, ids))}" for ids, score in ref]
    got = json_of("encode", unigram_path, "--text", "hugs", "--nbest", 3, "--json")
    assert got["nbest"] == [[{"score": score, "ids": ids} for ids, score in ref]]
    got = json_of("encode", unigram_path, "--text", "hugs", "--nbest", 1, "--tokens", "--json")
    assert "".join(got["nbest"][0][0]["tokens"]) == "▁hugs"
    assert "leave out --special" in run("encode", unigram_path, "--nbest", 2, "--special", "allow", code=2).stderr
    bpe = unigram_path.parent / "bpe.json"
    subwords.train(["ab ab"], vocab_size=257).save(bpe)
    assert "--nbest needs a Unigram model" in run("encode", bpe, "--text", "a", "--nbest", 2, code=1).stderr


def test_sample(unigram_path: Path) -> None:
    options = ["encode", unigram_path, "--text", "hugging bug", "--draw", "--temperature", "20"]
    first = run(*options, "--seed", 3).stdout
    assert first == run(*options, "--seed", 3).stdout
    assert len({run(*options, "--seed", seed).stdout for seed in range(20)}) > 3
    best = run("encode", unigram_path, "--text", "hugging bug").stdout
    assert run(*options, "--nbest", 1).stdout == best
    assert "leave out --special" in run(*options, "--special", "allow", code=2).stderr
    assert "byte 0xff at byte 0" in run("encode", unigram_path, "--draw", stdin=b"\xff", code=1).stderr


def test_inspect_shows_scores(unigram_path: Path) -> None:
    tok = subwords.load(unigram_path)
    index = tok.vocab["▁hug".encode()]
    score = round(float(tok.model.scores[index]), 6)  # type: ignore[union-attr]
    assert json_of("inspect", unigram_path, "--token", "▁hug", "--json")["score"] == score
    assert json_of("inspect", unigram_path, "--vocab", "--json")["vocab"][index]["score"] == score
    assert str(score) in run("inspect", unigram_path, "--vocab").stdout
    summary = json_of("inspect", unigram_path, "--json")
    assert summary["model"] == "unigram"
    assert summary["highest_score"] >= score >= summary["lowest_score"]
