"""Fixtures of the unit tests."""

from __future__ import annotations

from pathlib import Path

import pytest

import subwords
from commands import TEXT
from subwords import Tokenizer


@pytest.fixture
def corpus_path(tmp_path: Path) -> Path:
    """A file of TEXT."""
    path = tmp_path / "corpus.txt"
    path.write_bytes(TEXT.encode())
    return path


@pytest.fixture(scope="session")
def tok_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a tokenizer trained on TEXT, with the special token <s>."""
    path = tmp_path_factory.mktemp("tok") / "tok.json"
    subwords.train([TEXT], vocab_size=282, special_tokens=["<s>"]).save(path)
    return path


@pytest.fixture
def tok(tok_path: Path) -> Tokenizer:
    """The tokenizer of `tok_path`."""
    return subwords.load(tok_path)
