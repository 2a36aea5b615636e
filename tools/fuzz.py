"""Fuzz what reads files, patterns, templates, texts and ids of strangers, with coverage (Atheris); a campaign goes on.

    pip install atheris
    python tools/fuzz.py gguf --seconds 600     # one target; inputs that reach new code are kept in the folder fuzz
    python tools/fuzz.py campaign --hours 8     # all targets in turn, a tenth with checked kernels; can be stopped
    python tools/fuzz.py --list                 # the targets, with the executions and the coverage so far

A target takes bytes and may raise `SubwordsError`, a warning or nothing else. What else happens, a difference between
two ways to one result, a crash, more than 2 GB or 60 seconds, is a finding: its input is left in the folder fuzz.
`campaign` begins with the inputs of tests/data/fuzz, and leaves the smallest ones there that reach all that is reached.
tests/unit/test_fuzz.py runs them without Atheris.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import io
import json
import os
import pkgutil
import random
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))
KEPT = ROOT / "tests" / "data" / "fuzz"  # one file for each target, one input in each line; and the table
MOST_KEPT = 14_000  # bytes of such a file
CHECKED = {"SUBWORDS_KERNELS": "checked", "NUMBA_OPT": "0"}
MEMORY = Path("/dev/shm")  # files there take a third of the time


class Target(NamedTuple):
    """What takes bytes, the inputs that it begins with, the modules that are traced, and how an input is changed.

    change: None for bit by bit. longest: of an input, in bytes.
    """

    run: Callable[[bytes], None]
    seeds: Callable[[], Iterable[bytes]]
    modules: tuple[str, ...]
    change: Callable[[bytes, random.Random], bytes] | None = None
    longest: int = 4096


@cache
def _place() -> Path:
    return Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))


def _file(name: str, data: bytes) -> Path:
    path = _place() / name
    path.write_bytes(data)
    return path


def check(holds: object, what: str) -> None:
    """Raise AssertionError unless something holds."""
    if not holds:
        raise AssertionError(what)


# ------------------------------------------------------------------ tokenizers

TEXT = (
    "The low lower lowest newer wide words, 12345 of them: naïve cafés aren't newer.\n\n  It's 'so'; ünd 中文字 "
    "สวัสดี कि e\u0301 \U0001f469\u200d x"
)
TEXTS = ("", "low lower", "  Ünd 12345 it's\n\n文字 ก็ \t", "<|endoftext|> </s> a", "e\u0301\ufdfa\U0001f469\u200d x")


def _trained(*texts: str, size: int = 290, **options: Any) -> Any:
    import subwords

    return subwords.train([*(texts or (TEXT,))] * 9, vocab_size=size, **options)


def _short(**options: Any) -> Any:
    """A tokenizer whose files are small."""
    return _trained("low lower lowest newer", **{"size": 16, **options})


def _flagged() -> Any:
    """Tokens that take the whitespace around them, are whole words, or are found in normalized text."""
    tok = _trained(splitter="gpt2", normalizer="nfc", size=300)
    tok = tok.with_tokens(["<l>"], lstrip=True).with_tokens(["<r>"], rstrip=True)
    return tok.with_tokens(["low"], single_word=True).with_tokens(["é!"], normalized=True, special=False)


def _spoken() -> Any:
    """The pipeline of Llama 2: a normalizer instead of a splitter, bytes for unknown characters."""
    tok = _short(byte_level=False, byte_fallback=True, splitter="none", size=280)
    document = json.loads(_written(tok, "tokenizer.json"))
    steps = [{"type": "Prepend", "prepend": "▁"}, _replace("String", " ", "▁")]
    document["normalizer"] = {"type": "Sequence", "normalizers": steps}
    undo = [_replace("String", "▁", " "), {"type": "ByteFallback"}, {"type": "Fuse"}]
    undo.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    document["decoder"] = {"type": "Sequence", "decoders": undo}
    return _read("tokenizer.json", json.dumps(document).encode())


def _replace(kind: str, old: str, new: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {kind: old}, "content": new}


TOKENIZERS: tuple[Callable[[], Any], ...] = (
    lambda: _trained(splitter="gpt2", special_tokens=["<|endoftext|>"]),
    lambda: _trained(splitter="cl100k", size=300),
    lambda: _trained(splitter="deepseek-v3", normalizer="nfc"),
    lambda: _trained(splitter="o200k", special_tokens=["<|end|>", "<|end|>x"]),
    lambda: _trained(byte_level=False, byte_fallback=True, splitter="metaspace", size=330),
    lambda: _trained(algorithm="wordpiece", size=90),
    lambda: _trained(algorithm="unigram", size=90),
    lambda: _trained(algorithm="unigram", byte_fallback=True, size=330),
    lambda: _trained(algorithm="unigram", splitter="t5", normalizer="nfkc", size=90),
    lambda: _trained(algorithm="wordlevel", size=30),
    lambda: _trained(splitter="superbpe", normalizer="strip-accents"),
    lambda: _trained(splitter="(?<=a)b|\\w+?(?=r)|."),
    lambda: _trained(algorithm="wordpiece", normalizer="lowercase", splitter="whitespace", size=90),
    lambda: _trained("ab abab aab ba", splitter="none", byte_level=False, unk_token="?", special_tokens=["?"], size=12),
    _flagged,
    _spoken,
)


@cache
def _tokenizer(number: int) -> Any:
    """A tokenizer for texts. A text that grows is cut into blocks at once, not after a thousand characters."""
    from subwords.engine import growing

    growing.OPEN, growing.BLOCK, growing.NEAR, growing.FAR = 16, 32, 8, 16
    return TOKENIZERS[number]()


class Given:
    """What an input says: first numbers, of a byte each, then texts with NUL between."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def number(self, stop: int = 256) -> int:
        """The next number, below `stop`; 0 after the end."""
        self.at += 1
        return self.data[self.at - 1] % stop if self.at <= len(self.data) else 0

    def tokenizer(self) -> Any:
        """One of the tokenizers."""
        return _tokenizer(self.number(len(TOKENIZERS)))

    @property
    def rest(self) -> bytes:
        """What is after the numbers."""
        return self.data[self.at :]

    def texts(self) -> list[str]:
        """The texts; at least one."""
        return self.rest.decode("utf-8", "ignore").split("\0")


def _written(tok: Any, name: str) -> bytes:
    """The file of a tokenizer in the format that a name tells."""
    from subwords.formats.write import files_of, target_of

    return next(iter(files_of(tok.spec, target_of(f"nowhere/{name}")).values()))


def _read(name: str, data: bytes) -> Any:
    from subwords import Tokenizer
    from subwords.formats.read import kind_of, read_as

    path = Path(name)
    return Tokenizer(read_as(kind_of(data, path), data, path, None, None))


# ------------------------------------------------------------------ files of tokenizers


def _use(tok: Any, chosen: int) -> None:
    """Encode and decode with what was read: all ways give the same ids. Now and then, write it and read it again."""
    from subwords import SubwordsError

    text, more = TEXTS[chosen % len(TEXTS)], (chosen >> 3) % 8
    try:
        ids = tok.encode(text)
        check(tok.encode_batch([text]).to_lists()[0] == ids, f"a batch gives other ids for {text!r}")
        decoded = tok.decode(ids)
        if more == 0:
            grown = tok.growing(text[:3]).append(text[3:]).ids.tolist()
            check(grown == tok.encode(text, template=False), f"growing text gives other ids for {text!r}")
        elif more == 1:
            found, spans = tok.decode_with_spans(ids)
            check(found == decoded and len(spans) == len(ids), f"other text with spans of {ids}")
        elif more == 2:
            stream = tok.stream()
            check(stream.step(ids) + stream.finish() == decoded, f"a stream gives other text of {ids}")
        elif more == 3:
            one = tok(text)
            _check_spans(one.spans, len(text))
            check(len(one.tokens) == len(one.ids), "a token for each id")
        elif more == 4:
            data = _written(tok, "tokenizer.json")
            check(_read("tokenizer.json", data).encode(text) == ids, f"other ids of {text!r} after writing {data!r}")
        elif chosen % 256 == 47:
            import subwords

            repr(subwords.study.diff(tok, _tokenizer(0)))
            repr(subwords.study.audit(tok))
    except SubwordsError:
        pass


def _reader(name: str) -> Callable[[bytes], None]:
    """A reader of files of this name."""

    def run(data: bytes) -> None:
        from subwords import SubwordsError

        try:
            tok = _read(name, data)
        except SubwordsError:
            return
        _use(tok, crc32(data))

    return run


def _gguf(data: bytes) -> None:
    from subwords import SubwordsError, Tokenizer
    from subwords.formats.gguf.read import read_gguf

    stream = io.BytesIO(b"GGUF" + data)
    stream.seek(4)
    try:
        tok = Tokenizer(read_gguf(stream, "a.gguf"))
    except SubwordsError:
        return
    _use(tok, crc32(data))


LISTS = ("vocab.txt", "a.txt", "a.tiktoken", "vocab.json", "merges.txt", "unigram.json", "tekken.json")


def _list(data: bytes) -> None:
    """A file without rules. vocab.json and merges.txt are two, with NUL between."""
    from subwords import SubwordsError, Tokenizer
    from subwords.formats import tiktoken
    from subwords.formats.hf.vocab_merges import read_vocab_merges
    from subwords.spec.splitter import NAMED

    given = Given(data)
    name = LISTS[given.number(len(LISTS))]
    try:
        if name in ("vocab.json", "merges.txt"):
            vocab, _, merges = given.rest.partition(b"\0")
            both: Any = (vocab, "vocab.json"), (merges, "merges.txt")
            spec = read_vocab_merges(*both, splitter=None, special_tokens={"<s>": 300} if name[0] == "m" else None)
        elif name == "a.tiktoken":
            added = {"<s>": 300} if b"=" in data else None
            spec = tiktoken.read_rank_file(given.rest, name, splitter=NAMED["gpt2"], special_tokens=added)
        else:
            spec = _read(name, given.rest).spec
    except SubwordsError:
        return
    _use(Tokenizer(spec), crc32(data))


def _list_seeds() -> Iterator[bytes]:
    bytes_too, word = _trained(splitter="gpt2", size=260), _short(algorithm="wordpiece", size=40)
    yield b"\0" + _written(word, "vocab.txt")
    yield b"\1" + b"1 'a' 1\n2 'b' 1\n3 b'\\xff' 1\n4 'ab' 2\n5 '\\n' 1\n"
    yield b"\2" + _written(bytes_too, "a.tiktoken")
    yield b"\2" + b"YQ== 0\nYg== 1\nYWI= 2\n"
    yield b"\3" + b'{"a": 0, "b": 1, "ab": 2, "</w>": 3, "<|endoftext|>": 4}\0#version: 0.2\na b\n'
    yield b"\4" + b'{"a": 0, "b</w>": 1, "ab</w>": 2, "<unk>": 3}\0a b</w>\n'
    yield b"\5" + b'{"unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.5], ["ab", -2]], "byte_fallback": false}'
    yield b"\6" + json.dumps(_tekken()).encode()


def _tekken() -> dict[str, Any]:
    ranked = [{"rank": n, "token_bytes": "YWI=" if n == 256 else _base64(n), "token_str": None} for n in range(257)]
    special = [{"rank": 0, "token_str": "<s>", "is_control": True}]
    config = {"pattern": r"\p{L}+|.", "num_vocab_tokens": 257, "default_vocab_size": 259, "version": "v3"}
    return {
        "config": {**config, "default_num_special_tokens": 2},
        "vocab": ranked,
        "special_tokens": special,
    }


def _base64(byte: int) -> str:
    from base64 import b64encode

    return b64encode(bytes([byte])).decode()


def _tekken_file(data: bytes) -> None:
    """A tekken.json, whose 256 bytes are not in the input."""
    from subwords import SubwordsError

    try:
        document = json.loads(data)
        document["vocab"] = _tekken()["vocab"][: document.pop("bytes")] + document["vocab"]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return
    try:
        tok = _read("tekken.json", json.dumps(document).encode())
    except SubwordsError:
        return
    _use(tok, crc32(data))


def _tekken_seeds() -> Iterator[bytes]:
    document = _tekken()
    yield json.dumps({**document, "bytes": 256, "vocab": document["vocab"][256:]}).encode()


FOLDER = (
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "config.json",
    "chat_template.jinja", "vocab.json", "merges.txt", "vocab.txt", "spiece.model",
)  # fmt: skip


def _folder(data: bytes) -> None:
    """A folder: a JSON object of its files, of which those of JSON are values."""
    import subwords

    try:
        files = json.loads(data)
    except (ValueError, RecursionError):
        return
    folder = _place() / "folder"
    folder.mkdir(exist_ok=True)
    for name in FOLDER:
        place = folder / name
        content = files.get(name) if isinstance(files, dict) else None
        if content is None:
            place.unlink(missing_ok=True)
        else:
            text = content if isinstance(content, str) else json.dumps(content)
            place.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        tok = subwords.load(folder)
    except subwords.SubwordsError:
        return
    _use(tok, crc32(data))


def _folder_seeds() -> Iterator[bytes]:
    added = {"content": "<s>", "lstrip": False, "normalized": False, "rstrip": False, "single_word": False}
    config = {
        "added_tokens_decoder": {"30": {**added, "special": True}},
        "bos_token": "<s>",
        "eos_token": added,
        "additional_special_tokens": ["<x>", "</s>"],
        "chat_template": [{"name": "default", "template": "{{ messages }}"}],
        "clean_up_tokenization_spaces": True,
        "model_max_length": 512,
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": False,
        "add_bos_token": True,
        "add_prefix_space": True,
    }
    word = _short(algorithm="wordpiece", size=30)
    beside = {"special_tokens_map.json": {"unk_token": "[UNK]", "pad_token": added}, "added_tokens.json": {"<y>": 31}}
    whole = json.loads(_written(word, "tokenizer.json"))
    yield json.dumps({"tokenizer.json": whole, "tokenizer_config.json": config, **beside}).encode()
    vocab = _written(word, "vocab.txt").decode()
    yield json.dumps({"vocab.txt": vocab, "tokenizer_config.json": config, **beside}).encode()
    pair = {"vocab.json": {"a": 0, "b": 1, "ab": 2, "<unk>": 3, "</s>": 4}, "merges.txt": "#version: 0.2\na b\n"}
    for name in ("GPT2Tokenizer", "CLIPTokenizer", "RobertaTokenizer", "OpenAIGPTTokenizer", "Qwen2Tokenizer"):
        yield json.dumps({**pair, "tokenizer_config.json": {**config, "tokenizer_class": name}, **beside}).encode()
    yield json.dumps({**pair, "config.json": {"model_type": "bart"}}).encode()


# ------------------------------------------------------------------ changes of JSON

_SPLIT = {"type": "Split", "pattern": {"Regex": r"\p{L}+|\s"}, "behavior": "Isolated", "invert": False}
_ENDS = {"sep": ["</s>", 1], "cls": ["<s>", 0], "trim_offsets": True, "add_prefix_space": False}
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 255, 2**31, 2**63, 2**64, 10**30, 1.5, -0.0, 1e300, float("inf"), float("nan")),
    *("", "a", " ", "\ud800", "▁", "##", "</w>", "<0x41>", "(?<=a)b|", "🙂", "Ġ", "\0", "é", "e\u0301", "a b"),
    *([], {}, [[]], [["a", -1.0]], ["a", "b"], {"a": 0}, [None], "Isolated", "Removed", "MergedWithNext", "always"),
    *("BPE", "WordPiece", "Unigram", "WordLevel", "1.0", "2.0", "first", "never", "LongestFirst", "Left"),
    *({"String": " "}, {"Regex": r"\d{1,3}(?=(\d{3})*\b)"}, {"Fixed": 8}, "BatchLongest"),
    *({"type": name} for name in ("NFC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel", "Fuse")),
    *({"type": name} for name in ("ByteFallback", "BertPreTokenizer", "Whitespace", "WhitespaceSplit")),
    *({"type": name} for name in ("UnicodeScripts", "MetaspaceNormalizer")),
    {"type": "Strip", "strip_left": True, "strip_right": False},
    {"type": "Strip", "content": " ", "start": 1, "stop": 1},
    {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
    {"type": "Precompiled", "precompiled_charsmap": "AAAAAA=="},
    {"type": "Prepend", "prepend": "▁"},
    _replace("String", "a", "bb"),
    _replace("Regex", "l+", ""),
    {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
    {"type": "Digits", "individual_digits": True},
    {"type": "Punctuation", "behavior": "Contiguous"},
    {"type": "CharDelimiterSplit", "delimiter": "w"},
    {"type": "FixedLength", "length": 2},
    _SPLIT,
    {"type": "WordPiece", "prefix": "##", "cleanup": True},
    {"type": "BPEDecoder", "suffix": "</w>"},
    {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True},
    {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
    {"type": "RobertaProcessing", **_ENDS},
    {"type": "Sequence", "normalizers": [{"type": "NFD"}], "pretokenizers": [_SPLIT], "decoders": [{"type": "Fuse"}]},
    {"type": "Sequence", "processors": [{"type": "RobertaProcessing", **_ENDS}]},
    {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "a", "type_id": 1}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"a": {"id": "a", "ids": [0], "tokens": ["a"]}},
    },
    {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 1},
    {"strategy": {"Fixed": 8}, "direction": "Left", "pad_to_multiple_of": 3, "pad_id": 0, "pad_type_id": 1, "pad_token": "a"},
    {"id": 5, "content": "low", "single_word": True, "lstrip": True, "rstrip": True, "normalized": True, "special": False},
)  # fmt: skip


def change_json(data: bytes, rng: random.Random) -> bytes:
    """Change a few places of a JSON document: another value, a value of elsewhere, a key or an item more or less."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return data
    places = list[tuple[Any, Any]]()

    def walk(node: Any, depth: int) -> None:
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in [*items][:60]:
            places.append((node, key))
            if depth < 8:
                walk(value, depth + 1)

    walk(document, 0)
    if not places:
        return data
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        node, key = rng.choice(places)
        kind = rng.random()
        if kind < 0.15:
            if isinstance(node, dict):
                node.pop(key, None)
            elif key < len(node):
                del node[key]
            continue
        value: Any = rng.choice(ODD)
        if kind > 0.8:
            other, at = rng.choice(places)
            value = other.get(at) if isinstance(other, dict) else other[at] if at < len(other) else None
        if kind > 0.95 and isinstance(node, dict):
            key = rng.choice([place for _, place in places if isinstance(place, str)] or ["a"])
        if isinstance(node, dict) or key < len(node):
            node[key] = value
        elif kind > 0.5:
            node.append(value)
    try:
        return json.dumps(document).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        return data


def change_model(data: bytes, rng: random.Random) -> bytes:
    """Change a field of a SentencePiece message."""
    from google.protobuf.message import DecodeError

    from subwords.formats.sentencepiece.read import model_class

    try:
        message = model_class().FromString(data)
    except DecodeError:
        return data
    odd = {str: ["", "a", "▁", "<0x41>", "<s>", " "], bytes: [b"", bytes(4), b"a\0b"], bool: [True, False]}
    odd |= {int: [0, 1, 2, 3, 4, 5, 6, -1, 300, 2**31 - 1], float: [0.0, -1.0, 1e38, float("nan"), float("inf")]}
    for _ in range(rng.choice([1, 1, 2, 4])):
        node, name = message, rng.choice(["pieces", "pieces", "trainer_spec", "normalizer_spec"])
        if name == "pieces":
            if not len(message.pieces):
                continue
            at = rng.randrange(len(message.pieces))
            if rng.random() < 0.3:
                del message.pieces[at]
                continue
            if rng.random() < 0.3:
                message.pieces.add().CopyFrom(message.pieces[at])
            node = message.pieces[at]
        else:
            node = getattr(message, name)
        field = rng.choice([*node.DESCRIPTOR.fields])
        value = getattr(node, field.name)
        if type(value) in odd:
            if rng.random() < 0.2:
                node.ClearField(field.name)
            else:
                setattr(node, field.name, rng.choice(odd[type(value)]))
    return bytes(message.SerializeToString())


def changes_of(snippets: Sequence[str], head: int) -> Callable[[bytes, random.Random], bytes]:
    """A change of a text with some numbers before it: a number, or a snippet put in or in place of some bytes."""
    pieces = [snippet.encode() for snippet in snippets]

    def change(data: bytes, rng: random.Random) -> bytes:
        for _ in range(rng.choice([1, 1, 2, 3])):
            if rng.random() < 0.2 and head:
                at = rng.randrange(head)
                data = data[:at].ljust(at, b"\0") + bytes([rng.randrange(256)]) + data[at + 1 :]
                continue
            at = rng.randint(min(head, len(data)), len(data))
            piece = rng.choice(pieces) * rng.choice([1, 1, 1, 1, 2, 5])
            data = data[:at] + piece + data[at + rng.choice([0, 0, 1, 3, 8]) :]
        return data

    return change


SNIPPETS = (
    *("\0", "\0", " ", "  ", "\n", "\r\n", "\t", "\u3000", "\x85", "'s", "'LL", "123", "1", "a", "ab", "lower", " low"),
    *("naïve", "é", "e\u0301", "\u0301", "ßſK", "İ", "Σς", "中文", "สวัสดี", "कि", "\U0001f469\u200d", "\U0001f1e9", "\ufdfa"),
    *("\u1100", "\u1161", "\u11a8", "\uac01", "\u200b", "\ufeff", "\ufffd", "▁", "##", "</w>", "<|endoftext|>", "<|end|>"),
    *("<l>", "<r>", "é!", "[UNK]", "[CLS]", "<unk>", "<0x41>", "x.", "--", "…", "Ⅳ", "Ǆ", "ﬁ"),
)  # fmt: skip
change_text = changes_of(SNIPPETS, 3)


# ------------------------------------------------------------------ other files


def _note(data: bytes) -> None:
    """Small files and texts of JSON: a number that says which, and the document."""
    import subwords
    from subwords.adapt.id_maps import read_embedding_map
    from subwords.normalize.resolve import normalizer, splitter
    from subwords.scale.work import done_of
    from subwords.tokens.manifest import read_manifest

    given = Given(data)
    kind, text = given.number(6), given.rest.decode("utf-8", "replace")
    path = _file("note.json", given.rest)
    try:
        if kind == 0:
            subwords.files.check_lock(path, tokenizer=_tokenizer(0))
        elif kind == 1:
            read_embedding_map(path)
        elif kind == 2:
            repr(read_manifest(path))
            subwords.files.check(path)
        elif kind == 3:
            done_of(path, 0)
        elif kind == 4:
            check("".join(splitter(text).split("a b")) != "b", "a part is left")
        else:
            normalizer(text).normalize(TEXTS[2])
    except subwords.SubwordsError:
        pass


def _note_seeds() -> Iterator[bytes]:
    import subwords
    from subwords.spec.splitter import NAMED, to_text

    path = _place() / "seed.json"
    subwords.files.lock(_tokenizer(0), path)
    yield b"\0" + path.read_bytes()
    subwords.adapt.id_map(_short(algorithm="unigram", size=16), _short(algorithm="unigram", size=14)).save(path)
    yield b"\1" + path.read_bytes()
    _tokenizer(0).encode_files(["low", "lower"], _place() / "seed.npy")
    yield b"\2" + next(_place().glob("*.manifest.json")).read_bytes()
    yield b'\3{"number": 0, "name": "a", "documents": 1, "tokens": 2, "skipped": 0, "replaced": 0, "cut": 0}'
    yield b"\4" + to_text(NAMED["t5"]).encode()
    yield b"\4" + json.dumps({"type": "Sequence", "pretokenizers": [_SPLIT]}).encode()
    yield b"\5" + to_text(_short(algorithm="unigram", normalizer="sentencepiece").spec.normalizer).encode()
    yield b"\5" + json.dumps({"type": "Sequence", "normalizers": [{"type": "NFC"}]}).encode()


def change_note(data: bytes, rng: random.Random) -> bytes:
    """Change the document, not the number before it."""
    return data[:1] + change_json(data[1:], rng)


def _counts(data: bytes) -> None:
    """A file of counts: the header, LF and what follows, with a checksum that fits; or a Parquet file."""
    import subwords
    from subwords.corpus.counts import MAGIC

    header, _, body = data.partition(b"\n")
    if data.startswith(b"PAR1"):
        path = _file("counts.parquet", data)
    else:
        header += b" " * (-(len(MAGIC) + 16 + len(header)) % 64)
        sums = len(header).to_bytes(8, "little") + crc32(header).to_bytes(8, "little")
        path = _file("words.counts", MAGIC + sums + header + body)
    try:
        counts = subwords.WordCounts.load(path)
        words = dict(counts)
        check(len(words) <= len(counts), "more words than rows")
        counts.at_least(2)
        subwords.WordCounts.joined([counts, counts])
        if counts.total < 1 << 20:
            subwords.train(counts, vocab_size=258)
    except subwords.SubwordsError:
        pass


def _counts_seeds() -> Iterator[bytes]:
    import subwords
    from subwords.corpus.counts import MAGIC, write_parquet

    counts = subwords.count(["low lower low", "new"])
    path = _place() / "seed.counts"
    counts.save(path)
    data = path.read_bytes()
    start = len(MAGIC) + 16
    size = int.from_bytes(data[len(MAGIC) : len(MAGIC) + 8], "little")
    yield data[start : start + size] + b"\n" + data[-(-(start + size) // 64) * 64 :]
    write_parquet(counts, path)
    yield path.read_bytes()


def change_counts(data: bytes, rng: random.Random) -> bytes:
    """Change the header, or a number after it."""
    header, _, body = data.partition(b"\n")
    if data.startswith(b"PAR1") or (rng.random() < 0.6 and len(body) >= 8):
        at = rng.randrange(max(1, len(data) - 8))
        if not data.startswith(b"PAR1"):
            at = len(header) + 1 + rng.randrange(len(body) // 8) * 8
        value = rng.choice([0, 1, 2, 3, 7, 64, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1])
        return data[:at] + value.to_bytes(8, "little") + data[at + 8 :]
    return change_json(header, rng) + b"\n" + body


TOKEN_FILES = ("a.npy", "a.bin", "a.bin", "a.ds", "a.parquet", "m.bin", "d.ds")


def _tokens(data: bytes) -> None:
    """A token file, of which some have an index beside; a matrix of a model."""
    import numpy as np

    import subwords

    given = Given(data)
    name, option, words = TOKEN_FILES[given.number(len(TOKEN_FILES))], given.number(8), given.number()
    index, content = given.rest[: 8 * words], given.rest[8 * words :]
    folder = _place() / "tokens"
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    path = folder / name
    path.write_bytes(content)
    if name == "m.bin":
        path.with_suffix(".idx").write_bytes(index)
    elif name == "d.ds":
        path.with_name("d.ds.index").write_bytes(index)
    kinds: Any = (None, None, "uint8", "uint16", "uint32", "int32")
    try:
        opened = subwords.files.open(path, dtype=kinds[option % 6], eos=3 if option > 5 else None)
        documents = [*opened[:50]]
        check(len(documents) == min(50, len(opened)), "another number of documents")
        for number, ids in enumerate(documents):
            check(np.array_equal(ids, opened[number]) and ids.sum() >= -(2**62), "another document by its number")
        check(opened.num_tokens >= sum(map(len, documents)), "fewer tokens than in documents")
    except subwords.SubwordsError:
        pass


def _tokens_seeds() -> Iterator[bytes]:
    place = _place() / "written"
    place.mkdir(exist_ok=True)
    for number, (name, format) in enumerate(
        (("a.npy", "npy"), ("a.bin", "bin"), ("l.bin", "llmc"), ("a.ds", "datatrove"), ("a.parquet", "parquet"),
         ("m.bin", "megatron"), ("d.ds", "datatrove")),
    ):  # fmt: skip
        _tokenizer(0).encode_files(["low lower", "", "new"], place / name, format=format, eos="<|endoftext|>")
        data = next(path for path in sorted(place.glob(f"{name}*")) if path.suffix in (".npy", ".bin", ".ds", ".parquet"))
        beside = [path for path in place.glob(f"{name[0]}*") if path.suffix in (".idx", ".index")]
        index = beside[0].read_bytes() if beside and number > 4 else b""
        yield bytes([number, 3, len(index) // 8]) + index + data.read_bytes()
        for path in place.iterdir():
            path.unlink()


@cache
def _kept_bytes() -> tuple[bytes, bytes]:
    """A kept file of a tokenizer, and a stored table."""
    from subwords.engine.kept import write_kept
    from subwords.kernels.stored import packed
    from subwords.tokenizer import engine_of

    tok = _tokenizer(0)
    path = _place() / "tables" / "kept"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    write_kept(str(path), engine_of(tok), tok.spec)
    return path.read_bytes(), packed((tok.spec, "digest"))


def _kept(data: bytes) -> None:
    """A kept file or a stored table that was damaged: it is not used. Four numbers for each byte: place, change."""
    from subwords.engine.kept import read_kept
    from subwords.kernels import stored

    given = Given(data)
    kind, whole = given.number(3), _kept_bytes()[data[:1] > b"\x7f"]
    damaged = bytearray(whole)
    for at in range(0, len(given.rest) - 3, 4):
        damaged[int.from_bytes(given.rest[at : at + 3], "little") % len(damaged)] ^= given.rest[at + 3]
    if kind == 1 and len(given.rest):
        del damaged[-given.rest[0] - 1 :]
    path = _place() / "tables" / "damaged"
    path.write_bytes(damaged)
    path.chmod(0o600)
    if whole is _kept_bytes()[0]:
        found = read_kept(str(path))
        check(found is None or bytes(damaged) == whole, "a damaged kept file is used")
        check(found is None or found.encode("low") == _tokenizer(0).encode("low"), "other ids of a kept file")
    else:
        check(stored._read_table(str(path)) is None or bytes(damaged) == whole, "a damaged table is used")


# ------------------------------------------------------------------ texts of corpora


def _rows(data: bytes) -> None:
    """JSON Lines: the kernel finds the texts that Python's reader finds."""
    from subwords import SubwordsError
    from subwords.corpus.columns import _row_by_row, _texts
    from subwords.corpus.reading import Reading, Tally

    given, found = Given(data), list[Any]()
    errors: Any = ("strict", "replace", "skip")[given.number(3)]
    reading = Reading(text_column=("text", "a", "é", 'a"b')[given.number(4)], errors=errors)
    for read in (_texts, _row_by_row):
        tally = Tally()
        try:
            text, ends = read(given.rest, Path("a.jsonl"), 0, reading, tally)
            ends = [end for end, before in zip(ends, [0, *ends], strict=False) if end > before]
            found.append((bytes(text), ends, tally))
        except SubwordsError as error:
            found.append(str(error).split(":")[:2])
    check(found[0] == found[1], f"{found[0]!r:.200} by the kernel, {found[1]!r:.200} by Python")


def _row_seeds() -> Iterator[bytes]:
    yield b'\0\0{"text": "a\\u00e9\\ud83d\\ude00", "n": [1, {"text": "no"}]}\n{"n": null, "text": "\\"b\\\\"}\r\n'
    yield b'\2\1{"a": {"a": "x"}, "b": "\\/\\b\\f\\n\\r\\t", "a": "last"}\n\n {"a": 1e5}\n[]\n{"a": "\xff"}\n'
    yield '\1\2{"é": "ü\\ud800", "text": true}\n{"\\u00e9": "same"}'.encode()


ROW = (
    *('{"text": "', '"}\n', '"a": ', '"é": ', "{", "}", "[", "]", ":", ",", '"', "\\", "\\u00e9", "\\ud83d\\ude00"),
    *("\\ud800", "\\n", "\\/", "\\x", "\n", "\r", " ", "\t", "null", "true", "1e5", "-0", "NaN", "é", "\ufeff", "\0"),
    *('{"text": "a"}\n', '{"a": {"text": "b"}, "text": "c"}\n', "\\u0000", '"text"', "text", '"a\\"b": "x"', "😀"),
)  # fmt: skip


def _corpus(data: bytes) -> None:
    """Text files, as streams: the blocks have the text, and ends within it; Parquet and Arrow files."""
    from subwords import Reading, SubwordsError
    from subwords.corpus.read import read_blocks

    given = Given(data)
    errors: Any = ("strict", "replace", "skip")[given.number(3)]
    option, size = given.number(8), given.number() + 1
    options: Any = ({}, {"documents": "line"}, {"separator": "\n\n"}, {"max_document_bytes": 16})[option % 4]
    content, source = given.rest, io.BytesIO(given.rest)
    if content[:4] in (b"PAR1", b"ARRO", b"\xff\xff\xff\xff"):
        source = _file("rows.parquet" if content[:1] == b"P" else "rows.arrow", content)
    try:
        blocks = [*read_blocks(source, Reading(errors=errors, **options), block_size=size)]  # type: ignore[arg-type]
    except SubwordsError:
        return
    for block in blocks:
        bytes(block.data).decode()
        check(len(block.ends) == 0 or block.ends[-1] <= len(block.data), "an end after the text")
    if option % 4 < 2 and isinstance(source, io.BytesIO):
        plain = content.removeprefix(b"\xef\xbb\xbf")
        wanted = plain.decode("utf-8", "replace").encode() if errors == "replace" else plain
        if errors != "skip":
            check(b"".join(bytes(block.data) for block in blocks) == wanted, f"another text than {wanted!r:.200}")


def _corpus_seeds() -> Iterator[bytes]:
    import pyarrow
    from pyarrow import parquet

    yield b"\0\0\7" + TEXT.encode()
    yield b"\1\1\3" + b"a\xffb\n\nc\xc3\r\n" + TEXT.encode()[:60]
    table = pyarrow.table({"text": ["low", None, "é"], "n": [1, 2, 3]})
    path = _place() / "seed.parquet"
    parquet.write_table(table, path, compression=None)
    yield b"\1\0\7" + path.read_bytes()
    for make in (pyarrow.ipc.new_stream, pyarrow.ipc.new_file):
        sink = io.BytesIO()
        with make(sink, table.schema) as writer:
            writer.write_table(table)
        yield b"\1\0\7" + sink.getvalue()


# ------------------------------------------------------------------ patterns, templates, chats

LETTERS = "aAbBzZ09 \n\r\t'_-.éßſKİσΣक्\u0301中😀ⅣǅǄ\x85\u2028"
PATTERN = (
    *(r"\p{L}", r"\P{N}", r"\p{Lu}", r"\p{Han}", r"\s", r"\S", r"\w", r"\d", r"\b", r"\B", r"\A", r"\z", r"\R", r"\X"),
    *("(?:", "(?i:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(", ")", "|", "*", "+", "?", "*?", "++", "{1,3}", "{2}", "{,2}"),
    *("[", "[^", "]", "&&", "--", "a-z", "^", "$", ".", "a", "b", "'", " ", r"\1", r"\x{e9}", r"\u0301", "é", "ß", "[:alpha:]"),
    *("\0", "\0a", "\0b ", r"\n", r"[\r\n]", r"\-", "#", "(?x)", "(?s).", "(?m)^", "(?i)k", "σ", r"\N{2}", r"\k<a>", "(?<a>"),
)  # fmt: skip


def _pattern(data: bytes) -> None:
    """A pattern, NUL and a text over some letters: the words are those of the reference, which uses `regex`."""
    import regex

    from subwords import SubwordsError
    from subwords.reference.pattern import segments
    from subwords.spec.splitter import Split
    from subwords.split.splitter import Splitter

    pattern, *texts = data.decode("utf-8", "ignore").split("\0")
    text = "".join(LETTERS[ord(char) % len(LETTERS)] for char in "".join(texts)[:14]) or "aB 09\n'é"
    try:
        found = Splitter((Split(pattern),)).split(text)
    except SubwordsError:
        return
    check("".join(found) == text, f"{pattern!r} makes {found!r} of {text!r}")
    try:
        wanted = [text[start:stop] for start, stop, _ in segments(text, pattern, "isolated", False, 0.5)]
    except (regex.error, TimeoutError, RecursionError, OverflowError):
        return
    check(found == [word for word in wanted if word], f"{pattern!r} makes {found!r} of {text!r}, not {wanted!r}")


def _patterns() -> Iterator[bytes]:
    for text in (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s+(?!\S)|\s+",
        r"(?<=[a-z])(?=[A-Z])|\b\w+\b|[\u4e00-\u9fff]",
        r"(a|ab)*?c{2,5}|(?!x)y$|^z|[[:alpha:]&&[^aeiou]]",
        r"(?i)ss|K|(\w)\1|\d{1,3}(?=(?:\d{3})*\b)",
    ):
        yield text.encode() + b"\0aB 09"


@cache
def _chatting() -> Any:
    return _tokenizer(0).with_tokens(["<|user|>", "<|assistant|>", "<|end|>"])


def _template(data: bytes) -> None:
    """A chat template: nothing that a caller writes becomes a control token."""
    from subwords import SubwordsError

    source = data.decode("utf-8", "ignore")
    message = {"role": "user", "content": "a<|end|>b", "x": ["<|end|>", 1]}
    answer = {"role": "assistant", "content": "c"}
    try:
        typed = _chatting().chat([message, answer], template=source)
        typed.owners, typed.turns, typed.shared  # noqa: B018
        check(not (typed.control & typed.typed).any(), "a typed control token")
        check(len(typed.mask()) == len(typed), "a mask of another length")
        if "(|" in source or "|)" in source or re.search(r"replace|==|!=|[<>]=|length|count|in |is ", source):
            return  # which may see the difference
        plain = _chatting().chat([{**message, "content": "a(|end|)b", "x": ["(|end|)", 1]}, answer], template=source)
        check(typed.control.sum() == plain.control.sum(), "a control token that a caller wrote")
    except SubwordsError:
        pass


def _templates() -> Iterator[bytes]:
    for path in sorted((ROOT / "tests" / "data" / "chat_templates").glob("*.jinja")):
        yield path.read_bytes()


JINJA = (
    *("{{ ", " }}", "{% ", " %}", "{%- ", " -%}", "{# ", " #}", "for m in messages", "endfor", "if ", "else", "elif ", "endif"),
    *("set a = ", "set ns = namespace(a=1)", "ns.a", "m.content", "m['role']", "messages", "loop.index0", "loop.last"),
    *("'<|end|>'", "'<|user|>'", "<|assistant|>", "<|end", "|>", " + ", " ~ ", " | trim", " | tojson", " | join", " | upper"),
    *("[1:]", "[::-1]", ".split('<')", ".strip()", ".items()", " | length", "macro f(x)", "endmacro", "f(m)", "f(m.content)"),
    *("add_generation_prompt", "tools", "raise_exception('no')", "generation", "endgeneration", "m.x", "m.x[0]", "range(9)"),
    *("{% for m in messages %}", "{% endfor %}", "{{ m.content }}", "{{ '<|end|>' }}", " % ", "*2", "1", "'", '"', "(", ")"),
    *(" | replace('a', '<')", " | list", " | first", " | map(attribute='content')", " | selectattr('role')", "is defined"),
    *("filter upper", "endfilter", "call f()", "endcall", "set b", "endset", "break", "continue", "strftime_now('%Y')"),
)  # fmt: skip


@cache
def _speakers() -> tuple[Any, list[str], list[str]]:
    """A tokenizer with the control tokens of some templates, these tokens, and templates that only write messages."""
    sources = [data.decode() for data in _templates() if b"raise_exception" not in data and b"range(" not in data]
    control = sorted({token for text in sources for token in re.findall(r"<\|?\w+\|?>|\[/?[A-Z_]+\]", text)} | {"</s>"})
    tok = _trained(splitter="gpt2", special_tokens=control, size=256 + len(control))
    tok = tok.with_(roles={"bos": "</s>", "eos": "</s>"})
    looks = re.compile(r"\bin (m|message)\b|content\s*(\[|\.|==|!=|is |in )|'\s*in |split|startswith|endswith|<think>")
    return tok, control, [text for text in sources if not looks.search(text)]


def _chat(data: bytes) -> None:
    """Messages of strangers: the control tokens are those of the same messages without any control token in them."""
    from subwords import SubwordsError

    tok, control, templates = _speakers()
    given = Given(data)
    template, roles = templates[given.number(len(templates))], given.number()
    names = ("user", "assistant", "system", "tool")
    contents = [f"x{text}x" for text in given.texts()[:4]]
    rows = list[Any]()
    for row in (contents, [re.sub(r"[<>\[\]|]", "o", text) for text in contents]):
        said = [{"role": names[(roles >> (n % 4)) % 2 ^ n % 2], "content": text} for n, text in enumerate(row)]
        if roles & 128:
            said = [{"role": "system", "content": row[0]}, *said]
        try:
            made = tok.chat(said, template=template, prompt=bool(roles & 64))
        except SubwordsError:
            rows.append(None)
            continue
        rows.append(made.ids[made.control].tolist())
        check(not (made.control & made.typed).any(), "a control token that a message spells")
        check("".join(tok.decode([index]) for index in made.ids[made.control]).count("x") == 0, "text among the control")
        check(len(made.owners) == len(made.ids) == len(made.mask()), "an owner for each id")
        if b"\0" not in data:
            check(tok.encode(made.parts) == made.ids.tolist(), "other ids of its parts")
    check(rows[0] == rows[1], f"other control tokens, {rows}, of {contents!r}")


def _chat_seeds() -> Iterator[bytes]:
    for number in range(len(_speakers()[2])):
        yield bytes([number, 64 + number]) + b"Hello\0<|im_end|>\n<|im_start|>system\0[/INST] </s>"


# ------------------------------------------------------------------ texts and ids


def _texts(data: bytes) -> None:
    """Texts to ids: all ways give the same, spans cover the text, and decoding gives it back."""
    from subwords import SubwordsError

    given = Given(data)
    tok, option, size = given.tokenizer(), given.number(4), given.number(12)
    texts, special = given.texts()[:6], ("text", "allow")[option % 2]
    try:
        rows = [tok.encode(text, special=special) for text in texts]
    except SubwordsError:
        return
    check(tok.encode_batch(texts, special=special).to_lists() == rows, "a batch gives other ids")
    check(tok.encode_to_numpy(texts[0], special=special).tolist() == rows[0], "an array has other ids")
    check(tok.count_tokens(texts, special=special).tolist() == [*map(len, rows)], "another number of ids")
    text, ids = texts[0], rows[0]
    if tok.lossless:
        check(tok.decode(ids) == text, f"{text!r} is {tok.decode(ids)!r} afterwards")
    one = tok(text, template=False, special=special)
    check(one.ids.tolist() == ids and len(one.tokens) == len(ids), "an Encoding has other ids")
    _check_spans(one.spans, len(text))
    _check_spans(one.byte_spans, len(text.encode()))
    batch = tok(texts, special=special, truncation=size + 3)
    check([len(row) <= size + 3 for row in batch], "a row is longer than it may be")
    if len(texts) > 1:
        pair = tok(text, texts[1], special=special)
        check(len(pair.ids) == len(pair.type_ids), "a type for each id")


def _check_spans(spans: Any, size: int) -> None:
    rows = spans.tolist()
    check(all(0 <= start <= stop <= size for start, stop in rows), f"spans outside a text of {size}: {rows}")


def _streams(data: bytes) -> None:
    """Text in pieces, and ids in pieces: the same as at once, up to a stop."""
    from subwords import SubwordsError

    given = Given(data)
    tok, cuts, steps = given.tokenizer(), given.number(), given.number()
    pieces = given.texts()
    text = "".join(pieces)
    try:
        ids = tok.encode(text)
    except SubwordsError:
        return
    stream, found = tok.encode_stream(), list[int]()
    content = text.encode()
    if cuts % 2:
        parts: Iterable[Any] = [content[at : at + cuts // 2 + 1] for at in range(0, len(content), cuts // 2 + 1)]
    else:
        parts = pieces
    for part in parts:
        found += stream.feed(part).tolist()
    check([*found, *stream.finish().tolist()] == ids, f"other ids in pieces: {pieces!r}")
    whole = tok.decode(ids)
    stops = [piece for piece in pieces[:3] if piece]
    for stop in ([], stops):
        decoder, out = tok.stream(stop=stop or None), ""
        for at in range(0, len(ids), steps % 5 + 1):
            out += decoder.step(ids[at : at + steps % 5 + 1])
        out += decoder.finish()
        ends = [whole.find(each) + len(each) for each in stop if each in whole]
        longest = max((len(each) for each in stop if ends and whole[: min(ends)].endswith(each)), default=0)
        wanted = whole[: min(ends) - longest] if ends else whole
        check(out == wanted, f"a stream with the stops {stop} gives {out!r}, not {wanted!r}")
        check((decoder.stopped is not None) == bool(ends), "a stop is not reported")


def _decoding(data: bytes) -> None:
    """Ids of any kind: all ways to text give the same."""
    from subwords import SubwordsError

    given = Given(data)
    tok, option = given.tokenizer(), given.number(8)
    size = tok.vocab_size + (option == 7)
    rest = given.rest
    ids = [int.from_bytes(rest[at : at + 2], "little") % size for at in range(0, len(rest) - 1, 2)]
    skip = option % 2 == 1
    try:
        text = tok.decode(ids, skip_special_tokens=skip)
    except SubwordsError:
        return
    decoded, spans = tok.decode_with_spans(ids, skip_special_tokens=skip)
    check(decoded == text and len(spans) == len(ids), "spans have another text")
    rows = spans.tolist()
    _check_spans(spans, len(text))
    check(all(a[0] <= b[0] and a[1] <= b[1] and b[0] <= a[1] for a, b in zip(rows, rows[1:], strict=False)), f"{rows}")
    check(not rows or (rows[0][0] == 0 and rows[-1][1] == len(text)), f"spans do not cover {text!r}: {rows}")
    check(tok.decode_batch([ids, ids[:3]], skip_special_tokens=skip)[0] == text, "a batch has another text")
    streams = tok.streams(2, skip_special_tokens=skip)
    one, out, slots = tok.stream(skip_special_tokens=skip), "", ["", ""]
    for index in ids:
        out += one.step(index)
        slots = [a + b for a, b in zip(slots, streams.step([index, index]), strict=True)]
    check(out + one.finish() == text, f"a stream has another text than {text!r}: {out!r}")
    check([slots[0] + streams.finish(0), slots[1] + streams.finish(1)] == [text] * 2, "streams have another text")
    cut = option % (len(ids) + 1)
    prompt = tok.decode(ids[:cut], skip_special_tokens=skip)
    after = tok.stream(prompt=ids[:cut], skip_special_tokens=skip)
    out = after.step(ids[cut:]) + after.finish()
    check(out == text[len(os.path.commonprefix([prompt, text])) :], f"{out!r} after {prompt!r} of {text!r}")
    tok.decode_bytes(ids)


def _growing(data: bytes) -> None:
    """A script of changes: the ids are always those of the whole text, and final ids stay."""
    from subwords import SubwordsError

    given = Given(data)
    tok, special = given.tokenizer(), ("text", "allow")[given.number(2)]
    version, final = tok.growing(special=special), list[int]()
    for piece in given.texts()[:12]:
        text, kind = version.text, piece[:1]
        try:
            if kind == "~":  # replace a range, which the next two characters say
                start, size = (ord(char) % (len(text) + 1) for char in piece[1:3].ljust(2))
                version, final = version.edit(start, min(start + size, len(text)), piece[3:]), []
            elif kind == "^":  # take back the end
                start = ord(piece[1:2] or "a") % (len(text) + 1)
                version, final = version.edit(start, len(text), ""), []
            else:
                version = version.append(piece)
            wanted = tok.encode(version.text, special=special)
            ids = version.ids.tolist()
        except SubwordsError:
            return
        check(ids == wanted, f"{ids}, not {wanted} for {version.text!r}")
        check(ids[: len(final)] == final, f"ids that were final changed in {version.text!r}")
        check(version.kept <= len(ids) and version.final <= len(ids), "more kept ids than ids")
        final = ids[: version.final]
    _check_spans(version.spans, len(version.text))


def _parts(data: bytes) -> None:
    """Parts of a text: they join to it, none is too large, and no longer beginning fits than `truncate` gives."""
    from subwords import SubwordsError

    given = Given(data)
    tok, size, option = given.tokenizer(), given.number(12) + 1, given.number()
    text = "".join(given.texts())[:80]
    at: Any = ("token", "word", "sentence", "line")[option % 4]
    graphemes, overlap = bool(option & 4), (option >> 3) % 3
    try:
        parts = tok.chunks(text, size, at=at, graphemes=graphemes)
        check("".join(parts) == text, f"parts of {text!r} by {size}")
        check(parts.counts.tolist() == [tok.count_tokens(part) for part in parts], "other counts")
        check(max(parts.counts.tolist(), default=0) <= size, "a part is too large")
        if overlap < size:
            again = tok.chunks(text, size, at=at, graphemes=graphemes, overlap=overlap)
            check(max(again.counts.tolist(), default=0) <= size, "a part with an overlap is too large")
            check(all(text[a:b] == part for (a, b), part in zip(again.spans.tolist(), again, strict=True)), "other spans")
    except SubwordsError:
        pass
    try:
        first, last = (tok.truncate(text, size, side=side, graphemes=graphemes) for side in ("right", "left"))
        check(text.startswith(first) and text.endswith(last), "not the beginning and the end")
        check(max(tok.count_tokens(first), tok.count_tokens(last)) <= size, "too many ids after truncate")
        if not graphemes:
            longer = [n for n in range(len(first) + 1, len(text) + 1) if tok.count_tokens(text[:n]) <= size]
            check(not longer, f"a longer beginning of {text!r} fits {size}: {longer}, not {len(first)}")
            longer = [n for n in range(len(last) + 1, len(text) + 1) if tok.count_tokens(text[len(text) - n :]) <= size]
            check(not longer, f"a longer end of {text!r} fits {size}: {longer}, not {len(last)}")
    except SubwordsError:
        pass


def _prefixes(data: bytes) -> None:
    """Beginnings of ids: those of a real text are possible, and healing keeps what every longer text keeps."""
    from subwords import SubwordsError

    given = Given(data)
    tok, cut, more = given.tokenizer(), given.number(), given.number()
    text, *after = given.texts()
    text, longer = text[:24], "".join(after)[:12]
    try:
        ids, whole = tok.encode(text), tok.encode(text + longer)
    except SubwordsError:
        return
    try:
        row = whole[: cut % (len(whole) + 1)]
        check(tok.is_prefix(row), f"{row} begins the ids of {text + longer!r}")
        changed = [*row, more % tok.vocab_size]
        found = tok.is_prefix(changed)
        check(found.index is None or found.index == len(row), f"{changed} is wrong at {found.index}")
        if not found:
            check(tok.encode(tok.decode(changed)) != changed, f"{changed} are the ids of their text")
    except SubwordsError:
        pass
    try:
        healed = tok.heal(text)
        check(list(healed.ids) == ids[: len(healed.ids)] and healed.taken == len(ids) - len(healed.ids), f"{healed}")
        check(whole[: len(healed.ids)] == list(healed.ids), f"{text!r} is healed to {healed}, {longer!r} changes it")
        rows = tok.continuations(text.encode(), limit=50)
        if rows.complete and text:
            check(any(tuple(whole[: len(row)]) == tuple(row) for row in rows), f"no way of {text!r} with {longer!r} is there")
    except SubwordsError:
        pass


def _text_seeds() -> Iterator[bytes]:
    for number in range(len(TOKENIZERS)):
        yield bytes([number, 2 * number + 1, number]) + "low naïve\0er 123's\n\n  e\u0301 文字\0 <l> x".encode()
        yield bytes([number, 4, 3]) + "ab\0 a\0b <|endoftext|>".encode()


# ------------------------------------------------------------------ all targets

_ENGINE = ("engine", "chat.pieces")
TARGETS = {
    "json": Target(
        _reader("tokenizer.json"),
        lambda: (_written(tok, "tokenizer.json") for tok in _small_tokenizers()),
        ("formats.hf", "formats.json_node", "spec", "normalize", "split.splitter", "engine.added_tokens"),
        change_json,
    ),
    "folder": Target(_folder, _folder_seeds, ("formats",), change_json),
    "model": Target(
        _reader("spiece.model"),
        lambda: (_written(tok, "a.model") for tok in _small_tokenizers("unigram")),
        ("formats.sentencepiece", "spec", "normalize", "models.unigram"),
        change_model,
    ),
    "flatbuffer": Target(
        _reader("a.spm.fb"),
        lambda: (_written(tok, "a.spm.fb") for tok in _small_tokenizers("unigram")),
        ("formats.sentencepiece", "spec.normalizer"),
    ),
    "gguf": Target(_gguf, lambda: (_written(tok, "a.gguf")[4:] for tok in _small_tokenizers("gguf")), ("formats.gguf",)),
    "lists": Target(_list, _list_seeds, ("formats", "spec.vocab"), None, 3000),
    "tekken": Target(_tekken_file, _tekken_seeds, ("formats.tiktoken", "formats.json_node", "spec"), change_json),
    "notes": Target(_note, _note_seeds, ("interop.lock", "adapt", "tokens", "scale.work", "normalize.resolve", "spec", "formats"), change_note),
    "counts": Target(_counts, _counts_seeds, ("corpus.counts",), change_counts),
    "tokens": Target(_tokens, _tokens_seeds, ("tokens",)),
    "kept": Target(_kept, lambda: [b"\0", b"\0\1\1\1\1", b"\xff\7\0\0\1", b"\1\9"], ("engine.kept", "kernels.stored")),
    "rows": Target(_rows, _row_seeds, ("corpus",), changes_of(ROW, 2), 512),
    "corpus": Target(_corpus, _corpus_seeds, ("corpus",), None, 2048),
    "patterns": Target(_pattern, _patterns, ("split.pattern", "split.fallback", "split.finders"), changes_of(PATTERN, 0), 120),
    "templates": Target(_template, _templates, ("chat",), changes_of(JINJA, 0), 1500),
    "chat": Target(_chat, _chat_seeds, ("chat",), changes_of((*SNIPPETS, "[INST]", "<|im_start|>", "<|", "|>", "\0"), 2), 256),
    "texts": Target(_texts, _text_seeds, _ENGINE, change_text, 256),
    "streams": Target(_streams, _text_seeds, _ENGINE, change_text, 256),
    "decoding": Target(_decoding, _text_seeds, ("engine.decode",), None, 64),
    "growing": Target(_growing, _text_seeds, _ENGINE, changes_of((*SNIPPETS, "\0~ab", "\0^a"), 2), 300),
    "parts": Target(_parts, _text_seeds, _ENGINE, change_text, 100),
    "prefixes": Target(_prefixes, _text_seeds, ("engine.prefixes",), change_text, 60),
}  # fmt: skip


def _small_tokenizers(kind: str = "") -> list[Any]:
    """Tokenizers with small files; kind: that a format can hold."""
    special = ["<unk>", "<s>", "</s>"]
    unigram = [_short(algorithm="unigram", size=18), _short(algorithm="unigram", normalizer="none", size=18)]
    if kind == "unigram":
        return unigram
    word = _short(algorithm="wordpiece", size=24)
    if kind == "gguf":
        return [_trained(splitter="gpt2", size=257), word, unigram[0]]
    chars = _short(byte_level=False, alphabet="corpus", splitter="metaspace", special_tokens=special, unk_token="<unk>")
    return [*unigram, word, chars, _short(algorithm="wordlevel", size=8), _trained("low", splitter="gpt2", size=257)]


def inputs(name: str) -> list[bytes]:
    """Return the inputs of a target that are kept in tests/data/fuzz."""
    path = KEPT / f"{name}.txt"
    return [unwritten(line) for line in path.read_text("ascii").splitlines()] if path.exists() else []


def written(data: bytes) -> str:
    """Write an input as a line of ASCII: a JSON string, in which bytes that are not UTF-8 are lone surrogates."""
    return json.dumps(data.decode("utf-8", "surrogateescape"))


def unwritten(line: str) -> bytes:
    """Return the input that `written` wrote."""
    return str(json.loads(line)).encode("utf-8", "surrogateescape")


# ------------------------------------------------------------------ running


def fuzz(name: str, folder: Path | None, arguments: Sequence[str]) -> None:
    """Run libFuzzer on a target, in this process, which it ends; folder: where its first inputs are written."""
    import atheris

    target = TARGETS[name]
    traced = [f"subwords.{each}" for each in target.modules]
    with atheris.instrument_imports(include=traced, enable_loader_override=False):
        import subwords

        for each in pkgutil.walk_packages(subwords.__path__, "subwords."):  # these are imported when first used
            if f"{each.name}.".startswith(tuple(f"{module}." for module in traced)):
                importlib.import_module(each.name)
    for number, seed in enumerate([] if folder is None else [*target.seeds(), *inputs(name)]):
        if folder is not None and len(seed) <= target.longest:
            (folder / f"seed-{number}").write_bytes(seed)

    def change(data: bytes, most: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < 0.8:
            return target.change(data, rng)[:most]  # type: ignore[misc]
        return bytes(atheris.Mutate(data, most))

    gc.collect()
    gc.freeze()  # collections then take a third of the time
    limits = ["-rss_limit_mb=2048", "-timeout=60", f"-max_len={target.longest}", "-print_final_stats=1"]
    atheris.Setup(
        [f"{sys.executable} {__file__} {name} --", *limits, *arguments], target.run, custom_mutator=change if target.change else None
    )
    atheris.Fuzz()


def run(name: str, folder: Path, seconds: float, *, checked: bool = False) -> dict[str, int]:
    """Fuzz a target in a process of its own; return its executions, seconds, edges and findings."""
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    found = dict.fromkeys(("executions", "seconds", "edges", "findings"), 0)
    began = time.monotonic()
    while (left := seconds - (time.monotonic() - began)) > 5 and found["findings"] < 3:
        options = [f"-max_total_time={int(left)}", f"-artifact_prefix={folder}/finding-{name}-"]
        started = time.monotonic()
        process = _process(name, [str(place), *options], checked=checked)
        lines = list[str]()
        for line in process.stderr or ():
            lines.append(line)
            if not line.startswith("#") and "stat::" not in line:
                sys.stderr.write(line)
        process.wait()
        said = "".join(lines)
        edges = max(map(int, re.findall(r" cov: (\d+)", said)), default=0)
        ran = _ran(said)
        found["executions"] += ran
        found["seconds"] += round(time.monotonic() - started)
        found["edges"] = max(found["edges"], edges)
        found["findings"] += process.returncode != 0
        if process.returncode and not ran:
            raise SystemExit(f"{name} does not run:\n{said}")
    return found


def _ran(said: str) -> int:
    """The executions that libFuzzer reports at its end, or reported last."""
    counts = re.findall(r"(?:^#|number_of_executed_units: )(\d+)", said, re.MULTILINE)
    return max(map(int, counts), default=0)


def _process(name: str, arguments: Sequence[str], *, checked: bool = False) -> subprocess.Popen[str]:
    settings = {**os.environ, "SUBWORDS_TABLES": "off", "HF_HUB_OFFLINE": "1", **(CHECKED if checked else {})}
    command = [sys.executable, __file__, name, "--", *arguments]
    return subprocess.Popen(command, env=settings, stderr=subprocess.PIPE, text=True, errors="replace")


def keep(name: str, folder: Path) -> None:
    """Leave those inputs of a target that reach all that is reached, and write the smallest to tests/data/fuzz."""
    place, least = folder / name, folder / f"{name}-merged"
    least.mkdir(exist_ok=True)
    process = _process(name, ["-merge=1", str(least), str(place)])
    said = process.communicate()[1]
    files = sorted(least.iterdir(), key=lambda path: (path.stat().st_size, path.name))
    if process.returncode or not files:
        raise SystemExit(f"{name} cannot be merged:\n{said}")
    for path in place.iterdir():
        path.unlink()
    lines, size = list[str](), 0
    for path in files:
        line = written(path.read_bytes())
        path.rename(place / path.name)
        size += len(line) + 1
        if size <= MOST_KEPT:
            lines.append(line)
    least.rmdir()
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / f"{name}.txt").write_text("\n".join(sorted(lines, key=lambda line: (len(line), line))) + "\n", "ascii")


def campaign(names: Sequence[str], folder: Path, seconds: float) -> None:
    """Fuzz targets one after the other, a tenth of the time with checked kernels; add up what ran."""
    for name in names:
        usual = run(name, folder, 0.9 * seconds / len(names))
        checked = run(name, folder, 0.1 * seconds / len(names), checked=True)
        keep(name, folder)
        table = read_table()
        row = table.setdefault(name, dict.fromkeys(COLUMNS, 0))
        row["executions"] += usual["executions"] + checked["executions"]
        row["checked"] += checked["executions"]
        row["seconds"] += usual["seconds"] + checked["seconds"]
        row["edges"] = max(row["edges"], usual["edges"])
        row["findings"] += usual["findings"] + checked["findings"]
        (KEPT / "campaign.json").write_text(json.dumps(dict(sorted(table.items())), indent=1) + "\n", "ascii")
        print(*(f"{key} {value}" for key, value in {"target": name, **usual}.items()), flush=True)


COLUMNS = ("executions", "checked", "seconds", "edges", "findings")


def read_table() -> dict[str, dict[str, int]]:
    """Return what ran so far, in all campaigns, by target."""
    path = KEPT / "campaign.json"
    found: dict[str, dict[str, int]] = json.loads(path.read_text("ascii")) if path.exists() else {}
    return found


def main() -> None:
    """Run what the command line says."""
    arguments, own = sys.argv[1:], list[str]()
    if "--" in arguments:  # a process of this program: a target and the options of libFuzzer
        own = arguments[arguments.index("--") + 1 :]
        warnings.simplefilter("ignore")
        merges = any(each.startswith("-merge") for each in own)
        fuzz(arguments[0], None if merges else Path(own[0]), own)
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", nargs="?", choices=[*TARGETS, "campaign"])
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=[*TARGETS], help="those of a campaign")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--hours", type=float, help="instead of seconds")
    parser.add_argument("--corpus", type=Path, default=Path("fuzz"), help="the folder of inputs and findings")
    parser.add_argument("--checked", action="store_true", help="one target, with checked kernels")
    parser.add_argument("--list", action="store_true", help="the targets, and what ran so far")
    options = parser.parse_args()
    folder, seconds = options.corpus.resolve(), options.hours * 3600 if options.hours else options.seconds
    if options.list or options.target is None:
        table = read_table()
        print(f"| target | {' | '.join(COLUMNS)} |\n|:--|{'--:|' * len(COLUMNS)}")
        for name in TARGETS:
            print(f"| {name} | {' | '.join(f'{table.get(name, {}).get(column, 0):,}' for column in COLUMNS)} |")
    elif options.target == "campaign":
        campaign(options.targets, folder, seconds)
    else:
        print(run(options.target, folder, seconds, checked=options.checked))


if __name__ == "__main__":
    main()
