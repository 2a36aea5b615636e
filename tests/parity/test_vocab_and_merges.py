"""vocab.json and merges.txt as written here: HF's classes for GPT-2 load them and give the same ids."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tokenizers import ByteLevelBPETokenizer

import subwords
from peer_trained import lines
from small_data import file_of
from subwords import FormatError, Tokenizer
from subwords.machine import BPE

TEXTS = [*lines()[:60], "low  lower\n\n it's 12,345 é中😀\x00 ", " ", ""]


def trained(**options: Any) -> Tokenizer:
    options = {"vocab_size": 400, "progress": False, "splitter": "gpt2", "special_tokens": ["<|end|>"], **options}
    return subwords.train(lines(), **options)


def check(tok: Tokenizer, vocab: Path, merges: Path) -> None:
    peer = ByteLevelBPETokenizer.from_file(str(vocab), str(merges))
    again = subwords.load(merges)
    for text in TEXTS:
        assert tok.encode(text) == peer.encode(text).ids == again.encode(text), text
        assert tok.decode(tok.encode(text)) == peer.decode(tok.encode(text)) == text


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        ("merges.txt", ("vocab.json", "merges.txt")),
        ("vocab.json", ("vocab.json", "merges.txt")),
        ("vocab.bpe", ("encoder.json", "vocab.bpe")),
    ],
)
def test_both_files_are_written_whichever_is_named(name: str, pair: tuple[str, str], tmp_path: Path) -> None:
    tok = trained()
    tok.save(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(pair)
    check(tok, tmp_path / pair[0], tmp_path / pair[1])
    assert json.loads((tmp_path / pair[0]).read_text("utf-8"))["<|end|>"] == 0
    again = subwords.load(tmp_path / name, special_ids={"<|end|>": 0})
    assert again == tok


def test_transformers_loads_the_folder(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    tok = trained(special_tokens=["<|endoftext|>"])
    tok.save(tmp_path / "merges.txt")
    theirs = transformers.GPT2Tokenizer.from_pretrained(str(tmp_path))
    for text in TEXTS:
        assert theirs(text).input_ids == tok.encode(text), text
    assert theirs("a<|endoftext|>b").input_ids == tok.encode("a<|endoftext|>b", special="allow")


def test_a_real_vocabulary(data: Path, tmp_path: Path) -> None:
    tok = subwords.load(file_of(data, "gpt2/tokenizer.json"))
    tok.save(tmp_path / "merges.txt")
    check(tok, tmp_path / "vocab.json", tmp_path / "merges.txt")


REFUSED: dict[str, tuple[Callable[[], Tokenizer], str]] = {
    "splitter": (lambda: trained(splitter="llama3"), "hold no splitter"),
    "normalizer": (lambda: trained(normalizer="nfc"), "hold no normalizer"),
    "added": (lambda: trained().with_tokens(["<x>"], special=False), 'without flags.*"<x>"'),
    "flags": (lambda: trained().with_tokens(["<x>"], lstrip=True), 'without flags.*"<x>"'),
    "letters": (lambda: trained(special_tokens=["< >"]), 'in the letters of its alphabet; not "< >"'),
    "bytes": (lambda: trained(alphabet="corpus", vocab_size=200), "a token for each of 256 bytes"),
    "characters": (lambda: trained(byte_level=False), "byte-level BPE only"),
    "family": (lambda: trained(algorithm="wordpiece", special_tokens=None), "byte-level BPE only"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_files_cannot_hold(case: str, tmp_path: Path) -> None:
    make, message = REFUSED[case]
    with pytest.raises(FormatError, match=message):
        make().save(tmp_path / "merges.txt")
    assert not list(tmp_path.iterdir())


def test_words_taken_at_once(tmp_path: Path) -> None:
    """Allowed if merges make every token."""
    tok = trained()
    assert isinstance(tok.model, BPE)
    whole = tok.with_(model=replace(tok.model, whole_words=True))
    whole.save(tmp_path / "merges.txt")
    check(whole, tmp_path / "vocab.json", tmp_path / "merges.txt")
    missing = whole.with_(model=replace(tok.model, merges=tok.model.merges[:-1], whole_words=True))
    with pytest.raises(FormatError, match="takes words that are tokens at once"):
        missing.save(tmp_path / "merges.txt")
