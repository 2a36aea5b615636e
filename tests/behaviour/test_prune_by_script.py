"""prune --script says how many tokens of the script stay."""

from __future__ import annotations

import re
from pathlib import Path

import subwords
from commands import run


def test_what_stays_is_said(tmp_path: Path) -> None:
    texts = ["привет мир привет low lower 東京 " * 9]
    tok = subwords.train(texts, vocab_size=60, byte_level=False)
    tok.save(tmp_path / "a.json")
    error = run("adapt", "prune", tmp_path / "a.json", "--script", "Cyrillic", "-o", tmp_path / "b.json").stderr
    (said,) = re.findall(r"subwords: ([0-9]+) tokens with letters of Cyrillic stay", error)
    left = [token.decode() for token in subwords.load(tmp_path / "b.json").model.vocab]
    assert int(said) == sum(bool(re.search("[а-я]", token)) for token in left) == len({*"приветмир"})
    assert (
        run("adapt", "prune", tmp_path / "a.json", "--script", "Cyrillic", "-q", "-o", tmp_path / "b.json").stderr == ""
    )
    byte_level = subwords.train(texts, vocab_size=290)
    byte_level.save(tmp_path / "c.json")
    error = run("adapt", "prune", tmp_path / "c.json", "--script", "Cyrillic", "-o", tmp_path / "d.json").stderr
    left = list(subwords.load(tmp_path / "d.json").model.vocab)  # type: ignore[assignment]
    stays = sum(bool(re.search("[а-я]", token.decode("utf-8", "ignore"))) for token in left)  # type: ignore[attr-defined]
    assert (f"subwords: {stays} tokens" in error) == (stays > 0)
