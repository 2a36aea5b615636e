"""Kernels read a tokenizer.json as Python does: the same specs, and the same errors, of sound and of damaged files."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from inside import formats_hf_by_kernel as by_kernel
from seeds import sweep_seed
from small_data import file_of
from subwords import FormatError
from subwords.machine import read_tokenizer_json
from test_mutations import changed, damaged, files_in_json

FILES = int(os.environ.get("SUBWORDS_FILES", "600"))  # 100,000 were tried once


def spelled(rng: random.Random, value: Any) -> str:
    """JSON with white space and escapes anywhere, and merges in either form."""
    blank = rng.choice(["", "", " ", "\n", "\t\r\n "])
    if isinstance(value, dict):
        inner = [f"{spelled(rng, key)}{blank}:{blank}{spelled(rng, each)}" for key, each in value.items()]
        return f"{{{blank}{f'{blank},{blank}'.join(inner)}{blank}}}"
    if isinstance(value, list):
        if (
            len(value) == 2
            and all(isinstance(each, str) and each.isprintable() for each in value)
            and rng.random() < 0.5
        ):
            return spelled(rng, " ".join(value))
        return f"[{blank}{f'{blank},{blank}'.join(spelled(rng, each) for each in value)}{blank}]"
    if isinstance(value, str) and rng.random() < 0.3:
        return json.dumps(value, ensure_ascii=rng.random() < 0.5).replace("/", "\\/")
    if isinstance(value, float) and value.is_integer() and rng.random() < 0.3:
        return rng.choice([f"{value:.0f}", f"{value:.2E}"])
    return json.dumps(value, ensure_ascii=False)


def respelled(rng: random.Random, data: bytes) -> bytes:
    top = json.loads(data)
    merges = top["model"].get("merges")
    if merges and rng.random() < 0.3:
        merges.insert(0, "#version: 0.2")
    if rng.random() < 0.2:
        top["model"] = dict(reversed(top["model"].items()))
    return spelled(rng, top).encode("utf-8", "surrogatepass")


def outcome(monkeypatch: pytest.MonkeyPatch, data: bytes, smallest: int) -> object:
    """What a file is read as by kernels from a size on."""
    monkeypatch.setattr(by_kernel, "is_for_kernels", lambda data: len(data) >= smallest)
    try:
        return read_tokenizer_json(data, "a.json")
    except FormatError as error:
        return str(error)


def test_kernels_read_files_as_python_does(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = sweep_seed()
    read: list[object] = []
    whole = by_kernel.read_entries_of

    def counted(data: bytes, name: str) -> object:
        read.append(whole(data, name))
        return read[-1]

    monkeypatch.setattr(by_kernel, "read_entries_of", counted)
    for number in range(FILES):
        rng = random.Random(seed * 10**6 + number)
        data = files_in_json(rng)
        data = respelled(rng, data) if number % 3 else data
        data = [damaged, changed, lambda _, same: same][number % 3 if number % 2 else 2](rng, data)
        assert outcome(monkeypatch, data, 0) == outcome(monkeypatch, data, len(data) + 1), number
    assert FILES / 3 < FILES - read.count(None) < FILES, "most are read by kernels, and some are left to Python"


PLAIN = {"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "c": 3}, "merges": [["a", "b"]]}}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"a": 0', '"a": 0, "a": 0'),
        ('"a": 0', '"a": 00'),
        ('"a": 0', '"a": -0'),
        ('"a": 0', '"a": 0.0'),
        ('"a": 0', '"a": 4000000000000'),
        ('"c": 3', '"c": 2'),
        ('"c": 3', '"c": 3,'),
        ('"c": 3', '"c" 3'),
        ('"c": 3', '"\\ud83d": 3'),
        ('"c": 3', '"\\ud83d\\u0041": 3'),
        ('"c": 3', '"\\x": 3'),
        ('"c": 3', '"\n": 3'),
        ('"c": 3', '"c\ud800": 3'),
        ('["a", "b"]', '["a", "b"],'),
        ('["a", "b"]', '["a", "b", "c"]'),
        ('["a", "b"]', '["a" "b"]'),
        ('["a", "b"]', '"a  b"'),
        ('["a", "b"]', '"a b ", "a b"'),
        ('["a", "b"]', '"#version", ["a", "b"]'),
        ('["a", "b"]', '"#version",'),
        ('["a", "b"]', '["a", "b"], "#version"'),
        ('["a", "b"]', '"#ver sion"'),
        ('["a", "b"]', '["b", "a"]'),
        ('["a", "b"]', '["a", "b"], ["a", "b"]'),
        ('"vocab": {', '"vocab": {"x": 0}, "vocab": {'),
        ('"vocab": {', '"voc\\u0061b": {"x": 0}, "vocab": {'),
        ('{"model": {', '{"model": {"vocab": {}}, "model": {'),
        ('"vocab": {', '"merges": 5, "vocab": {'),
        ('"merges": [', '"merges": 5, "merges2": ['),
        ('"merges": [', '"continuing_subword_prefix": "b", "merges": ['),
        ("}}", "}} x"),
        ("}}", "}"),
        ("}}", "}}}"),
        ("]}}", "}]}}"),
    ],
)
def test_what_no_trainer_writes_is_left_to_python(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    text = json.dumps(PLAIN)
    assert old in text
    data = text.replace(old, new).encode("utf-8", "surrogatepass")
    assert outcome(monkeypatch, data, 0) == outcome(monkeypatch, data, len(data) + 1)


def test_a_sound_file_is_read_by_kernels() -> None:
    data = json.dumps(PLAIN).encode()
    assert by_kernel.read_entries_of(data, "a.json") is not None
    assert by_kernel.read_entries_of(data.replace(b'"a": 0', b'"a": 0, "a": 0'), "a.json") is None


def test_an_added_token_with_the_id_of_a_piece_that_is_there_twice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = [["▁", 0.0], ["a", -1.0], ["▁", -2.0]]
    top = {"model": {"type": "Unigram", "unk_id": 0, "vocab": pieces}, "added_tokens": [{"id": 0, "content": "<unk>"}]}
    data = json.dumps(top).encode()
    got = outcome(monkeypatch, data, 0)
    assert str(got).startswith("a.json: added_tokens: expected tokens that fit the model, not these: expected added")
    assert outcome(monkeypatch, data, len(data) + 1) == got


@pytest.mark.parametrize("name", ["gpt2", "bert/bert-base-uncased-tokenizer.json", "t5", "phi-3", "falcon"])
def test_files_of_models(shared_data: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path = file_of(shared_data, name if name.endswith(".json") else f"{name}/tokenizer.json")
    data = path.read_bytes()
    assert by_kernel.read_entries_of(data, "a.json") is not None
    assert outcome(monkeypatch, data, 0) == outcome(monkeypatch, data, len(data) + 1)
