"""Files that are no tokenizers are named; ids and flags of a wrong type are refused where HF refuses them."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

import subwords
from subwords import FormatError

TEKKEN = {
    "config": {"pattern": r"\p{L}+|\P{L}+", "num_vocab_tokens": 256, "version": "v7"},
    "vocab": [{"rank": i, "token_bytes": b64encode(bytes([i])).decode(), "token_str": None} for i in range(256)],
    "special_tokens": [{"rank": 0, "token_str": "<unk>", "is_control": True}],
}
MIDITOK = {"config": {"pitch_range": [21, 109]}, "tokenization": "REMI", "miditok_version": "3.0"}
FILES: dict[str, tuple[str, str]] = {
    "tekken.json": (json.dumps(TEKKEN), "config.default_vocab_size: expected an integer"),
    "tokenizer.json": (json.dumps(MIDITOK), "a configuration of MidiTok"),
    "rwkv_vocab_v20230424.txt": ("1 '\\x00' 1\n2 '\\x01' 1\n257 b'\\xe2\\x96' 2\n", "a token for each of 256 bytes"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_other_libraries_are_named(name: str, tmp_path: Path) -> None:
    content, said = FILES[name]
    (tmp_path / name).write_text(content)
    with pytest.raises(FormatError, match=said) as caught:
        subwords.load(tmp_path / name)
    assert name in str(caught.value)


def whole() -> dict[str, Any]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    template = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
    }
    spans = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": 1, "content": "<s>", **flags}],
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": {"type": "Sequence", "processors": [spans, template]},
        "decoder": None,
        "model": {"type": "BPE", "vocab": {"a": 0, "<s>": 1}, "merges": []},
    }


@pytest.mark.parametrize("place", ["added_tokens[0].id", "use_regex", "special_tokens.<s>.id"])
@pytest.mark.parametrize("value", ["x", 1.5, None, -1, True, 1, 7, 2**32, [1], "deleted"])
def test_ids_and_flags_of_a_wrong_type(place: str, value: Any, tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    file = whole()
    spans, template = file["post_processor"]["processors"]
    holder, key = {
        "added_tokens[0].id": (file["added_tokens"][0], "id"),
        "use_regex": (spans, "use_regex"),
        "special_tokens.<s>.id": (template["special_tokens"]["<s>"], "id"),
    }[place]
    if value == "deleted":
        del holder[key]
    else:
        holder[key] = value
    (tmp_path / "t.json").write_text(json.dumps(file))
    try:
        tokenizers.Tokenizer.from_file(str(tmp_path / "t.json"))
    except Exception:
        with pytest.raises(FormatError, match="expected") as caught:
            subwords.load(tmp_path / "t.json")
        assert place.rpartition(".")[2] in str(caught.value)
    else:
        assert subwords.load(tmp_path / "t.json")("a").ids.tolist() == [1, 0]


def test_a_longest_input_of_1e30_is_no_truncation() -> None:
    tok = subwords.train(["ab ab"], vocab_size=257)
    assert tok("ab ab", truncation=int(1e30)).ids.tolist() == tok.encode("ab ab")
    assert tok(["ab ab"], truncation=2**63)[0].ids.tolist() == tok.encode("ab ab")
