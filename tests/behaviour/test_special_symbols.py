"""No special token comes from ordinary text, be it a single symbol: any family, any file, any call (A3)."""

from __future__ import annotations

import base64
import json
import random
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import subwords
from inside import CHARACTERS
from seeds import seed_of_run
from subwords import InputError, Special, SubwordsWarning, Text, Tokenizer

SYMBOLS = [*"abc@<> ", "é", "▁"]
UNK, END = "<unk>", "<end>"
SPLITTERS: list[Any] = [
    None,
    {"type": "WhitespaceSplit"},
    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
]
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


def added(content: str, index: int, **flags: bool) -> dict[str, Any]:
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": index, "content": content, "special": True, **plain, **flags}


def vocabulary(rng: random.Random, kind: str) -> dict[str, Any]:
    """The file of a random model, some of whose symbols and longer tokens are special."""
    byte_level = kind == "bytes"
    symbols = [*CHARACTERS] if byte_level else SYMBOLS
    usual = ["a", "b", "c", "@", "<", "Ġ", "Ã"] if byte_level else SYMBOLS
    prefix, suffix = ("##" if kind == "WordPiece" else rng.choice(["", "", "##"])), rng.choice(["", "", "</w>"])
    if kind in ("Unigram", "WordLevel"):
        prefix = suffix = ""
    suffix = "" if kind == "WordPiece" else suffix
    forms = [prefix * one + symbol + suffix * two for symbol in usual for one in (0, 1) for two in (0, 1)]
    pairs = [(rng.choice(usual), rng.choice(usual)) for _ in range(8)]
    if prefix:
        pairs = [(left, prefix + right) for left, right in pairs]
    joined = [left + right.removeprefix(prefix) for left, right in pairs]
    tokens = list(dict.fromkeys([UNK, END, *symbols, *forms, *joined, *(f"<0x{byte:02X}>" for byte in range(256))]))
    special = {UNK, END, *rng.sample(usual, 2), *rng.sample([*forms, *joined], 3), *rng.sample(["<0x40>", "<0xC3>"], 1)}
    ids = {token: i for i, token in enumerate(tokens)}
    unk = rng.choice([UNK, UNK, None])
    model: dict[str, Any] = {"type": "BPE" if kind in ("bytes", "characters") else kind, "vocab": ids}
    if model["type"] == "BPE":
        model |= {"merges": [list(pair) for pair in dict.fromkeys(pairs)], "unk_token": unk, "dropout": None}
        model |= {"fuse_unk": rng.random() < 0.5, "ignore_merges": rng.random() < 0.3}
        model |= {"byte_fallback": not byte_level and not prefix and not suffix and rng.random() < 0.4}
        model |= {"continuing_subword_prefix": prefix or None, "end_of_word_suffix": suffix or None}
    elif kind == "WordPiece":
        model |= {"unk_token": UNK, "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
    elif kind == "Unigram":
        model |= {"unk_id": 0, "vocab": [[token, -float(i % 7)] for i, token in enumerate(tokens)]}
        model |= {"byte_fallback": rng.random() < 0.4}
    else:
        model |= {"unk_token": UNK}
    listed = [added(token, ids[token], normalized=rng.random() < 0.3) for token in tokens if token in special]
    parts = {"normalizer": None, "post_processor": None, "decoder": None, "truncation": None, "padding": None}
    pre_tokenizer = BYTES if byte_level else rng.choice(SPLITTERS)
    return {"version": "1.0", **parts, "pre_tokenizer": pre_tokenizer, "added_tokens": listed, "model": model}


def every_way(tok: Tokenizer, text: str) -> Iterator[Callable[[], list[int]]]:
    """The calls that take ordinary text."""
    long = text * 400
    yield lambda: tok.encode(text)
    yield lambda: tok.encode(text.encode())
    yield lambda: tok.encode(long)
    yield lambda: tok.encode_batch([text, long])[1].tolist()
    yield lambda: tok.encode_to_numpy(text).tolist()
    yield lambda: tok.encode([Text(text), Special(END), Text(text)])
    yield lambda: tok(text, template=False).ids.tolist()
    yield lambda: np.asarray(subwords.PromptCache(tok).encode(long)).tolist()
    yield lambda: tok.growing(text).append(text).ids.tolist()
    yield lambda: [index for part in tok.chunks(text, 40) for index in tok.encode(part)]

    def stream() -> list[int]:
        feeding = tok.encode_stream()
        return [*(index for char in text for index in feeding.feed(char)), *feeding.finish()]

    yield stream


def load(data: dict[str, Any], folder: Path) -> tuple[Tokenizer, str]:
    (folder / "tokenizer.json").write_text(json.dumps(data))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", SubwordsWarning)
        tok = subwords.load(folder / "tokenizer.json")
    return tok, " ".join(str(each.message) for each in told if each.category is SubwordsWarning)


def yielded(tok: Tokenizer, ids: Any) -> set[str]:
    """The special tokens among ids, but for those that stand for unknown text."""
    unknown = {tok.model.unk_id, *tok.model.byte_ids.tolist()}
    return {token for token, index in tok.special_tokens.items() if index in set(ids) - unknown} - {END}


TEXTS = ["a@b<c", "@", "a@", "@a", " é@é ", "▁a ▁ b", "##@ @</w>@", "<0x40>☃", "<end><unk>", "aa  bb @@ <<"]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", ["bytes", "characters", "WordPiece", "Unigram", "WordLevel"])
def test_no_call_yields_a_special_token(kind: str, seed: int, tmp_path: Path) -> None:
    rng = random.Random(f"{kind} {seed} {seed_of_run()}")
    tok, told = load(vocabulary(rng, kind), tmp_path)
    mark = "@" * ("@" in tok.special_tokens)
    template = f"{{% for m in messages %}}{mark}<end>{{{{ m.content }}}}<end>{{% endfor %}}"
    for text in TEXTS:
        for call in every_way(tok, text):
            try:
                ids = call()
            except InputError as error:
                assert "no unk token" in str(error)
                continue
            assert all(repr(token) in told for token in yielded(tok, ids)), (text, told)
        try:
            chat = tok.chat([{"role": "user", "content": text}], template=template)
            ids, control = chat.ids, chat.control
        except InputError as error:
            assert "no unk token" in str(error) or (told and "messages[0]" in str(error))
            continue
        assert not yielded(tok, ids[~control])
        owned = [part.token for part in chat.parts if isinstance(part, Special)]
        assert [tok.id_to_token(index) for index in ids[control]] == owned
