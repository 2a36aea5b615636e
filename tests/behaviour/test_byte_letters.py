"""The pre-tokenizer ByteLevel before models that are not BPE of bytes: refused by name, not read with other ids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers

import subwords
from subwords import FormatError

LETTERS = {"[UNK]": 0, "a": 1, "Ġ": 2, "Ã": 3, "©": 4}
MODELS: dict[str, dict[str, Any]] = {
    "WordPiece": {
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "",
        "max_input_chars_per_word": 100,
        "vocab": LETTERS,
    },
    "WordLevel": {"unk_token": "[UNK]", "vocab": LETTERS},
    "Unigram": {"unk_id": 0, "byte_fallback": False, "vocab": [[token, -1.0] for token in LETTERS]},
}
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
BEFORE = {
    "alone": BYTES,
    "with prefix": BYTES | {"add_prefix_space": True},
    "in a sequence": {"type": "Sequence", "pretokenizers": [BYTES, {"type": "Digits", "individual_digits": True}]},
}


def file_with(path: Path, kind: str, **parts: Any) -> Path:
    rest = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "post_processor": None}
    rest |= {"normalizer": None, "pre_tokenizer": None, "decoder": None}
    path.write_text(json.dumps(rest | parts | {"model": {"type": kind} | MODELS[kind]}), encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", BEFORE)
def test_a_file_is_refused_by_name(tmp_path: Path, kind: str, name: str) -> None:
    path = file_with(tmp_path / "tok.json", kind, pre_tokenizer=BEFORE[name])
    tokenizers.Tokenizer.from_file(str(path))  # the peer reads it
    with pytest.raises(FormatError, match=f"tok.json: pre_tokenizer: ByteLevel before {kind} is not supported"):
        subwords.load(path)


@pytest.mark.parametrize("kind", MODELS)
def test_the_normalizer_is_supported(tmp_path: Path, kind: str) -> None:
    path = file_with(tmp_path / "tok.json", kind, normalizer={"type": "ByteLevel"})
    peer, tok = tokenizers.Tokenizer.from_file(str(path)), subwords.load(path)
    for text in ("a", "a é", "é", "", "aé\n"):
        assert tok.encode(text) == peer.encode(text).ids


@pytest.mark.parametrize("algorithm", ["bpe", "wordpiece", "wordlevel"])
def test_what_a_file_would_read_otherwise_is_not_written(tmp_path: Path, algorithm: str) -> None:
    # Falcon's rule cuts digits in the letters of bytes.
    options: dict[str, Any] = {"bpe": {"byte_level": False}, "wordpiece": {"normalizer": None}}.get(algorithm, {})
    tok = subwords.train(["a b c é 12 34"] * 9, algorithm=algorithm, vocab_size=60, splitter="falcon", **options)
    with pytest.raises(FormatError, match=r"^ByteLevel before"):
        tok.save(tmp_path / "tok.json")
