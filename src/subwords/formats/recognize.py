"""Tell formats apart by the beginning of a file, or by its name where the content says too little."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, TypeAlias

from subwords.errors import FormatError

__all__ = ["BESIDE", "GGUF", "MERGES", "TEMPLATES", "VOCABS", "Kind", "kind_at", "kind_of"]

Kind: TypeAlias = Literal["ranks", "merges", "vocab.json", "vocab.txt", "sentencepiece", "tokenizer.json"]

# What transformers reads beside tokenizer.json.
BESIDE = ("tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja", "added_tokens.json")
TEMPLATES = "additional_chat_templates"  # a folder of more of them
GGUF = b"GGUF"  # how such a file begins
VOCABS, MERGES = ("vocab.json", "encoder.json"), ("merges.txt", "vocab.bpe")

_RANK_LINE = re.compile(rb"[\r\n]*[A-Za-z0-9+/]*={0,2} [0-9]+\r?(?:\n|$)")
_HEAD = 1 << 16  # bytes that are enough to recognize a format
_UNIGRAM = re.compile(rb'\s*\{\s*"unk_id"\s*:\s*\d+\s*,\s*"vocab"\s*:\s*\[')  # what HF's save_model writes
_FIRST_ENTRY = re.compile(rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*[0-9]')


def kind_of(data: bytes, file: Path) -> Kind | None:
    """Return the format of a file; None for an unknown format.

    >>> kind_of(b"IQ== 0\\n", Path("tokenizer.model")), kind_of(b'{"a": 0}', Path("vocab.json"))
    ('ranks', 'vocab.json')
    """
    if _RANK_LINE.match(data):
        return "ranks"
    if data.startswith(b"#version") or file.name in MERGES:
        return "merges"
    if (_FIRST_ENTRY.match(data) and not _UNIGRAM.match(data)) or file.name in VOCABS:
        return "vocab.json"
    if file.suffix == ".txt":
        return "vocab.txt"
    begins_json = data.lstrip().startswith(b"{")
    if file.suffix in (".model", ".spm") or (data.startswith(b"\n") and not begins_json):
        return "sentencepiece"
    return "tokenizer.json" if begins_json else None


def kind_at(path: Path) -> Kind | Literal["folder"] | None:
    """Return the format of the file at a path, or "folder"; FormatError if it cannot be read."""
    if path.is_dir():
        return "folder"
    try:
        with path.open("rb") as file:
            return kind_of(file.read(_HEAD), path)
    except OSError as error:
        raise FormatError(f"expected a tokenizer file or folder; {path}: {error.strerror}") from None
