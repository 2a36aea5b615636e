"""WordPiece training gives one file, byte for byte, on any threads, blocks, shards, and in any process (W1, A2)."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import subwords
from inside import training_count as training
from strategies import FRAGMENTS

OPTICKS = Path(__file__).parents[1] / "examples" / "opticks.txt"
SIZE = 1200
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SCORES = ("likelihood", "course", "count")
scores = pytest.mark.parametrize("score", SCORES)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """English, and every script among its lines."""
    lines = OPTICKS.read_text(encoding="utf-8").splitlines()
    mixed = [f"{line} {FRAGMENTS[n % len(FRAGMENTS)]}" for n, line in enumerate(lines)]
    path = tmp_path_factory.mktemp("corpus") / "mixed.txt"
    path.write_bytes("\n".join(mixed).encode())
    return path


def saved(source: Any, folder: Path, **options: Any) -> bytes:
    tok = subwords.train(source, algorithm="wordpiece", vocab_size=SIZE, **options)
    tok.save(folder / "tok.json")
    return (folder / "tok.json").read_bytes()


@pytest.fixture(scope="module")
def expected(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("expected")
    found = {score: saved(corpus, folder, score=score, threads=1) for score in SCORES}
    assert len({*found.values()}) == 3, "each score has its own vocabulary"
    return found


@scores
@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("block", [4096, 33_333, 1 << 19])
def test_any_threads_and_blocks(
    corpus: Path,
    expected: dict[str, bytes],
    score: str,
    threads: int,
    block: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(training, "BLOCK", block)
    assert saved(corpus, tmp_path, score=score, threads=threads) == expected[score]


@scores
@pytest.mark.parametrize("number", [1, 2, 7])
def test_added_counts_of_shards(
    corpus: Path, expected: dict[str, bytes], score: str, number: int, tmp_path: Path
) -> None:
    lines = corpus.read_text(encoding="utf-8").splitlines(keepends=True)
    bounds = [n * len(lines) // number for n in range(number + 1)]
    counts = [
        subwords.count(
            ["".join(lines[start:stop])], splitter="bert", normalizer="bert-uncased", special_tokens=SPECIALS
        )
        for start, stop in pairwise(bounds)
    ]
    counts[-1].save(tmp_path / "last.counts")
    total = subwords.WordCounts.load(tmp_path / "last.counts")
    for part in counts[:-1]:  # the last one's words come first: no tie may fall by where words stand
        total = total + part
    assert saved(total, tmp_path, score=score) == expected[score]


@pytest.mark.parametrize("seed", ["0", "7"])
def test_new_processes(corpus: Path, expected: dict[str, bytes], seed: str, tmp_path: Path) -> None:
    script = Path(__file__).parent / "programs" / "train_wordpiece.py"
    command = [sys.executable, str(script), str(corpus), str(tmp_path), str(SIZE), *SCORES]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": seed})
    assert {score: (tmp_path / f"{score}.json").read_bytes() for score in SCORES} == expected
