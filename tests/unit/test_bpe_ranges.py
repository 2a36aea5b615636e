"""Where tokens of words with unknown symbols begin and end: as HF tokenizers counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers

import subwords

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


def file_of(vocab: list[str], merges: list[list[str]] = [], **fields: Any) -> str:  # noqa: B006
    model = {"type": "BPE", "vocab": {text: i for i, text in enumerate(vocab)}, "merges": merges}
    return json.dumps({"version": "1.0", "pre_tokenizer": fields.pop("before", None), "model": {**model, **fields}})


CASES = {
    "a dropped character": (file_of(["a"]), ["Xa", "aXa", "XX", "éa"]),
    "dropped bytes": (file_of(["Ã", "a", "Ġ"], before=BYTE_LEVEL), ["é", "éa", " éa é", "èé", "\x0b\t"]),
    "dropped bytes among merges": (
        file_of(["Ã", "a", "b", "ab"], [["a", "b"]], before=BYTE_LEVEL),
        ["éab", "abé", "xabx", "ébab"],
    ),
    "an unknown byte": (file_of(["<unk>", "Ã", "a"], before=BYTE_LEVEL, unk_token="<unk>"), ["éa", "aéé"]),
    "unknown characters": (file_of(["<unk>", "a"], unk_token="<unk>"), ["xya", "axy", "日a本"]),
    "fused unknown characters": (file_of(["<unk>", "a"], unk_token="<unk>", fuse_unk=True), ["xya", "axy", "日本a語"]),
    "some bytes only": (file_of(["a", "<0x41>"], byte_fallback=True), ["é", "A", "aéA", "éAa"]),
    "some bytes and an unknown character": (
        file_of(["<unk>", "a", "<0x41>", "<0x42>"], byte_fallback=True, unk_token="<unk>", fuse_unk=True),
        ["éA", "éAéa", "ABé", "éABa"],
    ),
    "merges of an unknown character": (
        file_of(["<unk>", "a", "<unk>a"], [["<unk>", "a"]], unk_token="<unk>"),
        ["xa", "éa", "xxa", "axa"],
    ),
    "merges of bytes": (
        file_of(["a", "<0x41>", "<0x42>", "<0x41><0x42>"], [["<0x41>", "<0x42>"]], byte_fallback=True),
        ["AB", "aABa", "BA"],
    ),
    "a whole word of unknown characters": (file_of(["xy"], ignore_merges=True), ["xy", "xyz"]),
}


@pytest.mark.parametrize("name", CASES)
def test_ids_tokens_and_offsets_are_those_of_hf(tmp_path: Path, name: str) -> None:
    data, texts = CASES[name]
    path = tmp_path / "tok.json"
    path.write_text(data, encoding="utf-8")
    tok, peer = subwords.load(path), tokenizers.Tokenizer.from_str(data)
    for text in texts:
        got, ref = tok(text), peer.encode(text)
        assert (got.ids.tolist(), list(got.file_tokens)) == (ref.ids, ref.tokens), text
        assert [*map(tuple, got.spans.tolist())] == ref.offsets, text


def test_wordpiece_may_spell_the_unknown_token(tmp_path: Path) -> None:
    model = {"type": "WordPiece", "unk_token": "<unk>", "continuing_subword_prefix": "##"}
    vocab = {"<unk>": 0, "##s": 1, "a": 2}
    fields = {"version": "1.0", "pre_tokenizer": {"type": "WhitespaceSplit"}}
    data = json.dumps({**fields, "model": {**model, "max_input_chars_per_word": 100, "vocab": vocab}})
    path = tmp_path / "tok.json"
    path.write_text(data, encoding="utf-8")
    tok, peer = subwords.load(path), tokenizers.Tokenizer.from_str(data)
    for text in ("<unk>s", "xyz a <unk>s", "as", "<unk>", "x"):
        got, ref = tok(text), peer.encode(text)
        assert (got.ids.tolist(), [*map(tuple, got.spans.tolist())]) == (ref.ids, ref.offsets), text
