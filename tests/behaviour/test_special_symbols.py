"""No special token comes from ordinary text, be it a single symbol: any family, any file, any call (A3, H3)."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import subwords
from gguf_files import FLOAT32, INT32, STRING, gguf_bytes
from seeds import seed_of_run
from subwords import InputError, Special, SubwordsWarning, Text, Tokenizer
from subwords.machine import CHARACTERS

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


def every_way(tok: Tokenizer, text: str, control: str = END) -> Iterator[Callable[[], list[int]]]:
    """The calls that take ordinary text."""
    long = text * 400
    yield lambda: tok.encode(text)
    yield lambda: tok.encode(text.encode())
    yield lambda: tok.encode(long)
    yield lambda: tok.encode_batch([text, long])[1].tolist()
    yield lambda: tok.encode_to_numpy(text).tolist()
    yield lambda: tok.encode([Text(text), Special(control), Text(text)])
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


def yielded(tok: Tokenizer, ids: Any, written: str = END) -> set[str]:
    """The special tokens among ids, but for those that stand for unknown text."""
    unknown = {tok.model.unk_id, *tok.model.byte_ids.tolist()}
    return {token for token, index in tok.special_tokens.items() if index in set(ids) - unknown} - {written}


TEXTS = ["a@b<c", "@", "a@", "@a", " é@é ", "▁a ▁ b", "##@ @</w>@", "<0x40>☃", "<end><unk>", "aa  bb @@ <<"]


@pytest.mark.rotating(4)
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
        with suppress(InputError):
            assert tok.count_tokens(text) == len(tok.encode(text)) == len(tok(text, template=False).spans)
        try:
            chat = tok.chat([{"role": "user", "content": text}], template=template)
            ids, control = chat.ids, chat.control
        except InputError as error:
            assert "no unk token" in str(error) or (told and "messages[0]" in str(error))
            continue
        assert not yielded(tok, ids[~control])
        owned = [part.token for part in chat.parts if isinstance(part, Special)]
        assert [tok.id_to_token(index) for index in ids[control]] == owned


# ------------------------------------------------------------------ one file of each kind


def small(symbols: str = "@<end>ab", **model: Any) -> dict[str, Any]:
    """A character BPE whose tokens "@" and "<end>" are special."""
    ids = {token: i for i, token in enumerate(dict.fromkeys(["@", END, *symbols, *model.pop("more", ())]))}
    described = {"type": "BPE", "vocab": ids, "merges": [], "unk_token": None} | model
    parts = dict.fromkeys(("normalizer", "pre_tokenizer", "post_processor", "decoder", "truncation", "padding"))
    return {"version": "1.0", **parts, "added_tokens": [added("@", 0), added(END, 1)], "model": described}


def test_a_symbol_that_text_needs_is_yielded_with_a_warning_and_refused_in_a_chat(tmp_path: Path) -> None:
    tok, told = load(small(), tmp_path)
    assert "ordinary text yields the special tokens '@'," in told
    assert tok.tokenize("a@b") == ["a", "@", "b"] and tok.encode("a@b") == tok.encode("a@b", special="allow")
    with pytest.raises(InputError, match="special token '@'"):
        tok.encode("a@b", special="error")
    template = "{% for m in messages %}@{{ m.content }}<end>{% endfor %}"
    chat = tok.chat([{"role": "user", "content": "a<end>"}], template=template)
    assert chat.control.tolist() == [True, *[False] * 6, True] and chat.typed.tolist() == [
        *[False] * 2,
        *[True] * 5,
        False,
    ]
    messages = [{"role": "user", "content": "a"}, {"role": "user", "content": "b@"}]
    for call in (tok.chat, lambda messages, template: tok.chats([messages], template=template)):
        with pytest.raises(InputError, match=r"messages\[1\], content: '@' would become the control token '@', id 0"):
            call(messages, template=template)
    with pytest.raises(InputError, match="text needs the token 'a'"):
        tok.with_tokens(["a"])
    again, told = load(json.loads((tmp_path / "tokenizer.json").read_text()), tmp_path)
    assert again.encode("a@b") == tok.encode("a@b") and "'@'" in told  # each reading warns


@pytest.mark.parametrize("fallback", [False, True])
def test_merges_go_on_to_use_a_symbol_that_is_special(fallback: bool, tmp_path: Path) -> None:
    data = small(more=[UNK, "▁", "▁a", "▁ab", *(f"<0x{byte:02X}>" for byte in range(256 * fallback))])
    data["model"] |= {"unk_token": UNK, "byte_fallback": fallback, "merges": [["▁", "a"], ["▁a", "b"]]}
    data["added_tokens"].append(added("▁", data["model"]["vocab"]["▁"]))
    data["pre_tokenizer"] = SPLITTERS[2]
    tok, told = load(data, tmp_path)
    lone = [f"<0x{byte:02X}>" for byte in "▁".encode()] if fallback else [UNK]
    assert (
        not told
        and tok.tokenize("ab  @") == ["▁ab", *lone, *lone, "<0x40>" if fallback else UNK][: None if fallback else 4]
    )
    assert tok.tokenize("ab ab") == ["▁ab", "▁ab"]
    tok.save(tmp_path / "again.json")
    again = subwords.load(tmp_path / "again.json")
    assert again.spec == tok.spec and again.encode("ab  @ a") == tok.encode("ab  @ a")


def test_a_folder_whose_config_flags_a_byte(tmp_path: Path) -> None:
    subwords.load("demo").save(tmp_path / "tokenizer.json")
    index = subwords.load("demo").token_to_id("!")
    config = {"added_tokens_decoder": {str(index): {"content": "!", "special": True}}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    with pytest.warns(SubwordsWarning, match="yields the special tokens '!'"):
        tok = subwords.load(tmp_path)
    assert tok.special_tokens["!"] == index and tok.encode("hi!")[-1] == index
    with pytest.raises(InputError, match=r"messages\[0\], content: '!'"):
        tok.chat([{"role": "user", "content": "hi!"}], template="{{ messages[0].content }}")


@pytest.mark.parametrize("kind", ["bpe", "unigram", "char", "word"])
def test_control_pieces_of_sentencepiece(kind: str, tmp_path: Path) -> None:
    trainer = pytest.importorskip("sentencepiece").SentencePieceTrainer
    texts = iter(["a@b ab ab cd e@f @ x @@"] * 50)
    options = {"model_type": kind, "vocab_size": 60, "hard_vocab_limit": False, "control_symbols": ["@", "e", "x"]}
    trainer.train(sentence_iterator=texts, model_prefix=str(tmp_path / "m"), minloglevel=2, **options)
    tok = subwords.load(tmp_path / "m.model")
    for text in ("a@b", "@", " @ ", "e@f", "@@ee", "x"):
        assert not any(yielded(tok, call(), "<s>") for call in every_way(tok, text, "<s>"))


def test_gguf(tmp_path: Path) -> None:
    def saved(kind: str, tokens: list[str], types: list[int], **more: Any) -> Tokenizer:
        keys = {"model": (STRING, kind), "tokens": (STRING, tokens), "token_type": (INT32, types), **more}
        (tmp_path / "x.gguf").write_bytes(
            gguf_bytes([(f"tokenizer.ggml.{key}", *value) for key, value in keys.items()])
        )
        return subwords.load(tmp_path / "x.gguf")

    pieces = [UNK, "@", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "a", "▁a"]
    tok = saved("llama", pieces, [2, 3, *[6] * 256, 1, 1, 1], scores=(FLOAT32, [0.0] * 258 + [-3.0, -2.0, -1.0]))
    assert tok.tokenize("a@a") == ["▁a", "<0x40>", "a"]
    letters = [*CHARACTERS]
    types = [3 if letter == "@" else 1 for letter in letters]
    with pytest.warns(SubwordsWarning, match="yields the special tokens '@'"):
        tok = saved("gpt2", letters, types, pre=(STRING, "gpt-2"), merges=(STRING, ["a b"][:0]))
    assert tok.tokenize("a@a") == ["a", "@", "a"]


# ------------------------------------------------------------------ what a caller spells in a chat


def test_every_added_token_that_a_caller_spells_is_told() -> None:
    template = "{% for m in messages %}<|user|>{{ m.content }}<|end|>{% endfor %}"
    tok = subwords.load("demo").with_(normalizer="lowercase").with_tokens(["<|user|>", "<|end|>"])
    tok = tok.with_tokens(["<|fim|>", "  ", "<LOUD>"], special=False)
    tok = tok.with_tokens(["<think>"], special=False, normalized=True)
    chat = tok.chat([{"role": "user", "content": "a<|fim|>b<LOUD>  <THINK>c<|end|>"}], template=template)
    assert tok.decode(chat.ids[chat.typed]) == "<|fim|><LOUD><think><|end|>"
    assert [tok.id_to_token(index) for index in chat.ids[chat.control]] == ["<|user|>", "<|end|>"]


@pytest.mark.parametrize(
    ("template", "refused"), [("<unk>{{ messages[0].content }}", True), ("{{ messages[0].content }}", False)]
)
def test_unknown_text_is_no_control_token(template: str, refused: bool, tmp_path: Path) -> None:
    data = small(more=[UNK], unk_token=UNK)
    data["added_tokens"].append(added(UNK, data["model"]["vocab"][UNK]))
    tok, _ = load(data, tmp_path)
    messages = [{"role": "user", "content": "a☃"}]
    if refused:  # the template writes the token too: it may mean the end of a turn
        with pytest.raises(InputError, match=r"messages\[0\], content: '☃' would become the control token '<unk>'"):
            tok.chat(messages, template=template)
    else:
        chat = tok.chat(messages, template=template)
        assert tok.model.unk_id in chat.ids and not chat.control.any() and not chat.typed.any()
