"""Every combination of the options of a BPE model in tokenizer.json: ids, tokens and spans of HF, or an error on both
sides (E4, E7)."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
import tokenizers

import subwords
from building import read_json, write_json
from subwords import Tokenizer

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
PRE_TOKENIZERS: list[Any] = [
    None,
    {"type": "WhitespaceSplit"},
    {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True},
]
TEXTS = {True: "aabb  éĠ", False: "aabbbé☃ 😀"}


def without(token: str, prefix: str) -> str:
    return token.encode()[len(prefix.encode()) :].decode()


def model_of(rng: random.Random, byte_level: bool) -> dict[str, Any]:
    """A model of few letters, some of whose forms are missing."""
    prefix, suffix = rng.choice(["", "", "#", "##", "é"]), rng.choice(["", "", "</w>", "_", "a"])
    if byte_level and prefix == "é":
        prefix = "##"
    letters = ["a", "b", "Ã", "©", "Ġ"] if byte_level else ["a", "b", "é", "☃", " "]
    lost = rng.choice([0, 0, 0.2, 0.5])
    forms = [f"{p}{c}{s}" for c in letters for p in ("", prefix) for s in ("", suffix)]
    forms = [form for form in dict.fromkeys(forms) if rng.random() >= lost] or ["b"]
    unk = rng.choice([None, None, "<unk>", "<unk>", "<unk>", "a", "missing"])
    falls_back = rng.random() < (0.1 if byte_level else 0.4)
    byte_tokens = [token for token in BYTES if rng.random() < rng.choice([1, 0.9, 0.5])] if falls_back else []
    tokens = [*forms, *(["<unk>"] if unk == "<unk>" else []), *byte_tokens]
    merges: list[list[str]] = []
    for _ in range(rng.randint(0, 25)):
        left, right = rng.choices(tokens if rng.random() < 0.02 else tokens[: len(forms)] + tokens[-8:], k=2)
        plain = {*byte_tokens, "<unk>"}
        odd = not byte_level and rng.random() < 0.01  # byte-level models with others are refused
        if (right.startswith(prefix) and not plain & {left, right}) or odd:
            if len(right.encode()) < len(prefix.encode()):
                continue
            merges.append([left, right])
            try:
                tokens.append(left + without(right, prefix))
            except UnicodeDecodeError:
                merges.pop()
    tokens = list(dict.fromkeys(tokens))
    rng.shuffle(tokens)
    return {
        "type": "BPE",
        "dropout": rng.choice([None, None, 0.0]),
        "unk_token": unk,
        "continuing_subword_prefix": prefix or rng.choice([None, ""]),
        "end_of_word_suffix": suffix or rng.choice([None, ""]),
        "fuse_unk": rng.random() < 0.5,
        "byte_fallback": falls_back,
        "ignore_merges": rng.random() < 0.3,
        "vocab": {token: i for i, token in enumerate(tokens)},
        "merges": merges,
    }


def encoded(tok: Any, text: str) -> Any:
    """Ids, tokens and spans, or None for an error."""
    try:
        if isinstance(tok, Tokenizer):
            found = tok(text)
            assert tok.encode(text) == list(found.ids)
            return list(found.ids), list(found.file_tokens), [tuple(span) for span in found.spans.tolist()]
        ref = tok.encode(text)
    except subwords.InputError:
        return None
    except Exception as error:
        assert "Unk token" in str(error), error
        return None
    return ref.ids, ref.tokens, ref.offsets


def refused(model: dict[str, Any], byte_level: bool) -> bool:
    """Whether this model is one that COMPATIBILITY.md says is refused."""
    if not model["byte_fallback"]:
        return False
    marks = [model["continuing_subword_prefix"], model["end_of_word_suffix"]]
    return byte_level or any(mark and all(BYTES[byte] in model["vocab"] for byte in mark.encode()) for mark in marks)


@pytest.mark.rotating(12)
@pytest.mark.parametrize("seed", range(12))
def test_random_models(seed: int) -> None:
    rng = random.Random(seed)
    compared = 0
    for trial in range(150):
        pre_tokenizer = rng.choice(PRE_TOKENIZERS)
        byte_level = pre_tokenizer == PRE_TOKENIZERS[2]
        model = model_of(rng, byte_level)
        value = {"version": "1.0", "added_tokens": [], "pre_tokenizer": pre_tokenizer, "model": model}
        data = json.dumps(value).encode()
        theirs = tokenizers.Tokenizer.from_buffer(data)
        if refused(model, byte_level):
            with pytest.raises(subwords.FormatError, match="byte_fallback"):
                read_json(data, "a.json")
            continue
        tok = read_json(data, "a.json")
        again = read_json(write_json(tok), "b.json")
        assert again == tok or model["unk_token"] == "missing"
        for _ in range(8):
            text = "".join(rng.choices(TEXTS[byte_level], k=rng.choice([1, 2, 5, 9, 30, 80])))
            ref = encoded(theirs, text)
            assert encoded(tok, text) == ref, (trial, value, text)
            compared += ref is not None
    assert compared > 200
