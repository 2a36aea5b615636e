"""What the targets of tools/fuzz.py share: small tokenizers, inputs as numbers and texts, changes of inputs."""

from __future__ import annotations

import atexit
import json
import random
import shutil
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any


@cache
def scratch() -> Path:
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def file_with(name: str, data: bytes) -> Path:
    path = scratch() / name
    path.write_bytes(data)
    return path


def check(holds: object, what: str) -> None:
    """Raise AssertionError unless something holds."""
    if not holds:
        raise AssertionError(what)


def check_spans(spans: Any, size: int) -> None:
    rows = spans.tolist()
    check(all(0 <= start <= stop <= size for start, stop in rows), f"spans outside a text of {size}: {rows}")


# ------------------------------------------------------------------ tokenizers

TEXT = (
    "The low lower lowest newer wide words, 12345 of them: naïve cafés aren't newer.\n\n  It's 'so'; ünd 中文字 "
    "สวัสดี कि e\u0301 \U0001f469\u200d x"
)
TEXTS = ("", "low lower", "  Ünd 12345 it's\n\n文字 ก็ \t", "<|endoftext|> </s> a", "e\u0301\ufdfa\U0001f469\u200d x")


def trained(*texts: str, size: int = 290, **options: Any) -> Any:
    import subwords

    return subwords.train([*(texts or (TEXT,))] * 9, vocab_size=size, **options)


def short(**options: Any) -> Any:
    """A tokenizer whose files are small."""
    return trained("low lower lowest newer", **{"size": 16, **options})


def _flagged() -> Any:
    """Tokens that take the whitespace around them, are whole words, or are found in normalized text."""
    tok = trained(splitter="gpt2", normalizer="nfc", size=300)
    tok = tok.with_tokens(["<l>"], lstrip=True).with_tokens(["<r>"], rstrip=True)
    return tok.with_tokens(["low"], single_word=True).with_tokens(["é!"], normalized=True, special=False)


def _spoken() -> Any:
    """The pipeline of Llama 2: a normalizer instead of a splitter, bytes for unknown characters."""
    tok = short(byte_level=False, byte_fallback=True, splitter="none", size=280)
    document = json.loads(file_of(tok, "tokenizer.json"))
    steps = [{"type": "Prepend", "prepend": "▁"}, _replace("String", " ", "▁")]
    document["normalizer"] = {"type": "Sequence", "normalizers": steps}
    undo = [_replace("String", "▁", " "), {"type": "ByteFallback"}, {"type": "Fuse"}]
    undo.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    document["decoder"] = {"type": "Sequence", "decoders": undo}
    return read_as_file("tokenizer.json", json.dumps(document).encode())


def _replace(kind: str, old: str, new: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {kind: old}, "content": new}


TOKENIZERS: tuple[Callable[[], Any], ...] = (
    lambda: trained(splitter="gpt2", special_tokens=["<|endoftext|>"]),
    lambda: trained(splitter="cl100k", size=300),
    lambda: trained(splitter="deepseek-v3", normalizer="nfc"),
    lambda: trained(splitter="o200k", special_tokens=["<|end|>", "<|end|>x"]),
    lambda: trained(byte_level=False, byte_fallback=True, splitter="metaspace", size=330),
    lambda: trained(algorithm="wordpiece", size=90),
    lambda: trained(algorithm="unigram", size=90),
    lambda: trained(algorithm="unigram", byte_fallback=True, size=330),
    lambda: trained(algorithm="unigram", splitter="t5", normalizer="nfkc", size=90),
    lambda: trained(algorithm="wordlevel", size=30),
    lambda: trained(splitter="superbpe", normalizer="strip-accents"),
    lambda: trained(splitter="(?<=a)b|\\w+?(?=r)|."),
    lambda: trained(algorithm="wordpiece", normalizer="lowercase", splitter="whitespace", size=90),
    lambda: trained("ab abab aab ba", splitter="none", byte_level=False, unk_token="?", special_tokens=["?"], size=12),
    _flagged,
    _spoken,
)


@cache
def tokenizer(number: int) -> Any:
    """A tokenizer for texts. A text that grows is cut into blocks at once, not after a thousand characters."""
    from subwords.engine import growing

    growing.OPEN, growing.BLOCK, growing.NEAR_PLACES, growing.FAR_PLACES = 16, 32, 8, 16
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
        return tokenizer(self.number(len(TOKENIZERS)))

    @property
    def rest(self) -> bytes:
        """What is after the numbers."""
        return self.data[self.at :]

    def texts(self) -> list[str]:
        """The texts; at least one."""
        return self.rest.decode("utf-8", "ignore").split("\0")


def file_of(tok: Any, name: str) -> bytes:
    """The file of a tokenizer in the format that a name tells."""
    from subwords.formats.write import files_of, target_of

    return next(iter(files_of(tok.spec, target_of(f"nowhere/{name}")).values()))


def read_as_file(name: str, data: bytes) -> Any:
    from subwords import Tokenizer
    from subwords.formats.read import kind_of, read_as

    path = Path(name)
    return Tokenizer(read_as(kind_of(data, path), data, path, None, None))


# ------------------------------------------------------------------ changes

SPLIT = {"type": "Split", "pattern": {"Regex": r"\p{L}+|\s"}, "behavior": "Isolated", "invert": False}
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
    {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": True,
    },
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
    SPLIT,
    {"type": "WordPiece", "prefix": "##", "cleanup": True},
    {"type": "BPEDecoder", "suffix": "</w>"},
    {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True},
    {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
    {"type": "RobertaProcessing", **_ENDS},
    {"type": "Sequence", "normalizers": [{"type": "NFD"}], "pretokenizers": [SPLIT], "decoders": [{"type": "Fuse"}]},
    {"type": "Sequence", "processors": [{"type": "RobertaProcessing", **_ENDS}]},
    {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "a", "type_id": 1}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"a": {"id": "a", "ids": [0], "tokens": ["a"]}},
    },
    {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 1},
    {
        "strategy": {"Fixed": 8},
        "direction": "Left",
        "pad_to_multiple_of": 3,
        "pad_id": 0,
        "pad_type_id": 1,
        "pad_token": "a",
    },
    {
        "id": 5,
        "content": "low",
        "single_word": True,
        "lstrip": True,
        "rstrip": True,
        "normalized": True,
        "special": False,
    },
)


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
    *(
        "naïve",
        "é",
        "e\u0301",
        "\u0301",
        "ßſK",
        "İ",
        "Σς",
        "中文",
        "สวัสดี",
        "कि",
        "\U0001f469\u200d",
        "\U0001f1e9",
        "\ufdfa",
    ),
    *(
        "\u1100",
        "\u1161",
        "\u11a8",
        "\uac01",
        "\u200b",
        "\ufeff",
        "\ufffd",
        "▁",
        "##",
        "</w>",
        "<|endoftext|>",
        "<|end|>",
    ),
    *("<l>", "<r>", "é!", "[UNK]", "[CLS]", "<unk>", "<0x41>", "x.", "--", "…", "Ⅳ", "Ǆ", "ﬁ"),
)
change_text = changes_of(SNIPPETS, 3)
