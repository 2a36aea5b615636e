"""The pre-tokenizer ByteLevel before models that are not BPE of bytes: they read the letters of bytes, as in HF."""

from __future__ import annotations

import json
from itertools import product
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


TEXTS = ("a", "a é", "é", "", "aé\n a  12é", "a" * 101, "\u3000中文 🙂", "a\u0301")


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", BEFORE)
@pytest.mark.parametrize("decoder", [None, BYTES])
def test_ids_tokens_spans_and_text_are_hf_s(tmp_path: Path, kind: str, name: str, decoder: Any) -> None:
    path = file_with(tmp_path / "tok.json", kind, pre_tokenizer=BEFORE[name], decoder=decoder)
    peer, tok = tokenizers.Tokenizer.from_file(str(path)), subwords.load(path)
    tok.save(tmp_path / "again.json")
    again = subwords.load(tmp_path / "again.json")
    assert again == tok
    assert (
        json.loads((tmp_path / "again.json").read_bytes())["pre_tokenizer"]
        == json.loads(tokenizers.Tokenizer.from_file(str(tmp_path / "again.json")).to_str())["pre_tokenizer"]
    )
    for text in TEXTS:
        found, expected = tok(text), peer.encode(text)
        assert found.ids.tolist() == expected.ids == tok.encode(text) == again.encode(text), text
        assert [*found.file_tokens] == expected.tokens
        assert [tuple(span) for span in found.spans.tolist()] == expected.offsets
        assert tok.decode(found.ids) == peer.decode(expected.ids, skip_special_tokens=False)
    assert tok.encode_batch([*TEXTS]).to_lists() == [peer.encode(text).ids for text in TEXTS]
    assert tok.encode("aé".encode()) == peer.encode("aé").ids


@pytest.mark.parametrize("kind", MODELS)
def test_other_formats_refuse_it(tmp_path: Path, kind: str) -> None:
    tok = subwords.load(file_with(tmp_path / "tok.json", kind, pre_tokenizer=BYTES))
    for name in ("a.model", "a.gguf", "vocab.txt", "a.tiktoken", "tekken.json"):
        with pytest.raises(FormatError):
            tok.save(tmp_path / name)


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


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("kind", MODELS)
def test_spans_without_spaces_are_hf_s(tmp_path: Path, kind: str, keeps: bool) -> None:
    """A space before the first token of a text keeps its place, as do spaces that one character becomes there."""
    steps = [{"type": "Strip", "strip_left": True, "strip_right": True}]
    steps += [{"type": "Replace", "pattern": {"String": "x"}, "content": "  "}]
    parts: dict[str, Any] = {"normalizer": {"type": "Sequence", "normalizers": steps}}
    parts["pre_tokenizer"] = BYTES | {"add_prefix_space": True, "use_regex": kind == "WordLevel"}
    parts["post_processor"] = BYTES | {"add_prefix_space": keeps}
    path = file_with(tmp_path / "tok.json", kind, **parts)
    peer, tok = tokenizers.Tokenizer.from_file(str(path)), subwords.load(path)
    for text, other in product(("", "a", "  a a", " é  a ", "xa"), (None, "a", "  aé ", " x")):
        expected = peer.encode(text, other)
        assert [*map(tuple, tok(text, other).spans.tolist())] == expected.offsets, (text, other)
