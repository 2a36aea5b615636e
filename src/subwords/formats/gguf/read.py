"""Read the vocabulary of a GGUF file."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from subwords.formats.json_node import Node, show_json
from subwords.models.bpe.model import BPE, LARGEST_ID
from subwords.spec import decoder as decoders
from subwords.spec import normalizer as normalizers
from subwords.spec.added_token import AddedToken, checked_roles
from subwords.spec.splitter import NAMED, SPACE, Rule, Split, space_rule
from subwords.spec.template import Inserted, Piece, Slot, Template, bert
from subwords.spec.tokenizer import TokenizerSpec
from subwords.spec.vocab import CHARACTERS, Vocab
from subwords.support.errors import FormatError

# ---------------------------------------------------------------------------------------------------------------------
# The container: GGUF's metadata, a list of typed values by key. Tensors are not read.

MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_ALIGNMENT = 32

# Types of values: the numbers of the format. Numbers have a code of the struct module, which NumPy shares.
UINT8, INT8, UINT32, INT32, FLOAT32, BOOL, STRING, _ARRAY = 0, 1, 4, 5, 6, 7, 8, 9
_CODES = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d"}
_INTEGERS = frozenset((0, 1, 2, 3, 4, 5, 10, 11))

_MOST_KEYS, _LONGEST_KEY = 1 << 16, (1 << 16) - 1
_MOST_STRINGS = 1 << 24

_Value = tuple[int, Any]  # the type and the value; for an array the type of its elements and a list or an array


class Metadata:
    """The values of the keys of a file; a method for each kind of value raises FormatError for another kind."""

    def __init__(self, values: dict[str, tuple[int, Any]], name: str) -> None:
        self._values = values
        self.name = name
        self.warned = ""  # what a reader of the file is warned of

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def wrong(self, key: str, expected: str, came: object) -> FormatError:
        """Return the error for an unexpected value."""
        return FormatError(f"{self.name}: {key}: expected {expected}, not {came}")

    def _single(self, key: str, kinds: Collection[int], expected: str) -> Any:
        """Return a value that is no array, None if the key is absent."""
        kind, value = self._values.get(key, (None, None))
        if kind is not None and (kind not in kinds or isinstance(value, list | np.ndarray)):
            raise self.wrong(key, expected, _shown_kind(kind, value))
        return value

    def text(self, key: str) -> str | None:
        """Return a string, None if the key is absent."""
        value = self._single(key, (STRING,), "a string")
        try:
            return None if value is None else value.decode()
        except UnicodeDecodeError as error:
            raise self.wrong(key, "UTF-8", f"the byte {error.start}") from None

    def flag(self, key: str, default: bool) -> bool:
        """Return a boolean."""
        value = self._single(key, (BOOL,), "true or false")
        if value not in (None, 0, 1):
            raise self.wrong(key, "true or false", value)
        return default if value is None else bool(value)

    def index(self, key: str, size: int) -> int | None:
        """Return an id below `size`, None if the key is absent."""
        value: int | None = self._single(key, _INTEGERS, f"an id below {size}")
        if value is not None and not 0 <= value < size:
            raise self.wrong(key, f"an id below {size}", value)
        return value

    def texts(self, key: str) -> list[str]:
        """Return an array of strings, which must exist."""
        kind, value = self._required(key, "an array of strings")
        if kind != STRING or not isinstance(value, list):
            raise self.wrong(key, "an array of strings", _shown_kind(kind, value))
        try:
            return [text.decode() for text in value]
        except UnicodeDecodeError:
            wrong = next(i for i, text in enumerate(value) if text != text.decode("utf-8", "replace").encode())
            raise self.wrong(key, "UTF-8", f"{value[wrong]!r:.60} at index {wrong}") from None

    def numbers(self, key: str, kinds: Sequence[int], length: int | None = None) -> NDArray[Any]:
        """Return an array of numbers of one of these types, with at least `length` elements; it must exist."""
        kind, value = self._required(key, "an array of numbers")
        if kind not in kinds or not isinstance(value, np.ndarray):
            expected = f"an array of type {' or '.join(map(str, kinds))}"
            raise self.wrong(key, expected, _shown_kind(kind, value))
        if length is not None and len(value) < length:
            raise self.wrong(key, f"a value for each of {length} tokens", len(value))
        return value[:length]

    def _required(self, key: str, expected: str) -> _Value:
        if key not in self._values:
            raise FormatError(f"{self.name}: {key} is missing; expected {expected}")
        return self._values[key]


def _shown_kind(kind: int, value: object) -> str:
    if isinstance(value, (list, np.ndarray)):
        return f"an array of {len(value)} values of type {kind}"
    return f"the string {show_json(value.decode('utf-8', 'replace'))}" if isinstance(value, bytes) else f"{value}"


def read_metadata(stream: BinaryIO, name: str, wanted: Callable[[str], bool]) -> Metadata:
    """Return the values whose keys are `wanted`; the others are skipped, and nothing after the metadata is read.

    stream: open at its start, of a known size. Raises FormatError that names the key for lengths and counts that the
    file has no room for.

    Source: the GGUF specification of ggml, versions 2 and 3.
    """
    reader = _Reader(stream, name)
    if reader.take(4) != MAGIC:
        raise FormatError(f"{name}: expected a GGUF file, which begins with {MAGIC!r}")
    version = reader.number("I")
    if version not in _VERSIONS:
        if version & 0xFFFF == 0:
            raise FormatError(f"{name}: expected little-endian GGUF; this file is big-endian: convert it")
        raise FormatError(f"{name}: expected GGUF version 2 or 3, not {version}")
    reader.number("Q")  # tensors
    count = reader.number("Q")
    if count > _MOST_KEYS:
        raise FormatError(f"{name}: expected at most {_MOST_KEYS} keys, not {count}")
    values: dict[str, _Value] = {}
    seen: set[bytes] = set()
    for i in range(count):
        reader.place = f"key {i}"
        if (size := reader.number("Q")) > _LONGEST_KEY:
            raise reader.wrong(f"expected a key of at most {_LONGEST_KEY} bytes, not {size}")
        raw = reader.take(size)
        key = raw.decode("utf-8", "replace")
        reader.place = show_json(key)
        if raw in seen:
            raise FormatError(f"{name}: expected distinct keys; {show_json(key)} occurs twice")
        seen.add(raw)
        value = reader.value(wanted(key))
        if wanted(key):
            values[key] = value
    return Metadata(values, name)


class _Reader:
    """Reads a stream forward; `place` is the key that errors name."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream = stream
        self._left = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        self._name = name
        self.place = "header"

    def wrong(self, message: str) -> FormatError:
        return FormatError(f"{self._name}: {self.place}: {message}")

    def take(self, size: int, wanted: bool = True) -> bytes:
        """Return the next bytes; b"" for bytes that are skipped."""
        if size > self._left:
            raise self.wrong(f"truncated: expected {size} more bytes, not {self._left}")
        self._left -= size
        if not wanted:
            self._stream.seek(size, os.SEEK_CUR)
            return b""
        data = self._stream.read(size)
        if len(data) != size:  # the file shrinks while it is read
            raise self.wrong(f"truncated: expected {size} more bytes, not {len(data)}")
        return data

    def number(self, code: str) -> Any:
        return struct.unpack(f"<{code}", self.take(struct.calcsize(code)))[0]

    def value(self, wanted: bool) -> _Value:
        """Return a value with its type; strings and numbers of an array that are not wanted are empty."""
        kind = self.number("I")
        if kind == STRING:
            return kind, self.take(self.number("Q"), wanted)
        if kind in _CODES:
            return kind, self.number(_CODES[kind])
        if kind != _ARRAY:
            raise self.wrong(f"expected a type of value from 0 to 12, not {kind}")
        kind, count = self.number("I"), self.number("Q")
        if kind in _CODES:
            data = self.take(count * struct.calcsize(_CODES[kind]), wanted)
            return kind, np.frombuffer(data, f"<{_CODES[kind]}")
        if kind != STRING:
            raise self.wrong(f"expected an array of numbers or strings, not of type {kind}")
        if count > _MOST_STRINGS or count * 8 > self._left:
            raise self.wrong(f"expected at most {min(_MOST_STRINGS, self._left // 8)} strings, not {count}")
        return kind, [self.take(self.number("Q"), wanted) for _ in range(count)]


def gguf_bytes(entries: Sequence[tuple[str, int, Any]]) -> bytes:
    """Return a GGUF 3 file without tensors; an entry is a key, a type and a value, or a list of values.

    >>> gguf_bytes([("a", BOOL, True)])[:8]
    b'GGUF\\x03\\x00\\x00\\x00'
    """
    parts = [MAGIC, struct.pack("<IQQ", 3, 0, len(entries))]
    for key, kind, value in entries:
        parts.append(_string(key))
        if isinstance(value, (list, np.ndarray)):
            parts.append(struct.pack("<IIQ", _ARRAY, kind, len(value)))
            if kind == STRING:
                parts += map(_string, value)
            else:
                parts.append(np.asarray(value).astype(f"<{_CODES[kind]}").tobytes())
        else:
            parts.append(struct.pack("<I", kind))
            parts.append(_string(value) if kind == STRING else struct.pack(f"<{_CODES[kind]}", value))
    size = sum(map(len, parts))
    return b"".join([*parts, bytes(-size % _ALIGNMENT)])  # tensor data would begin here


def _string(text: str | bytes) -> bytes:
    data = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(data)) + data


# ---------------------------------------------------------------------------------------------------------------------
# The pre-tokenizers of llama.cpp: a file names one, here are their rules.
#
# The rules give llama.cpp's words, not those of the tokenizer that a file was converted from. llama.cpp reduces every
# character beyond ASCII to its category, and it has only the main categories: its rules for GPT-4o and Tekken do not
# know capitals beyond ASCII, nor combining marks. Where the rules are the same, they are the named rules of
# `spec/splitter.py`; the tests compare all of them with a twin of llama.cpp's way of splitting.


@dataclass(frozen=True, slots=True)
class Pre:
    """A pre-tokenizer.

    whole_words: a word that is a token is not segmented. add_bos: whether the bos token is added unless the file says
    otherwise. strips_mask: `<mask>` also matches the whitespace before it.
    """

    rule: Rule
    whole_words: bool = False
    add_bos: bool = False
    strips_mask: bool = False


_SUFFIX = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?"
_WHITESPACE = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
_SIGNS = Split(r"[\p{P}$+<=>^~|]+")
_CODER, _LLM = NAMED["deepseek-coder"], NAMED["deepseek-llm"]
_CJK = Split("[一-龥ࠀ-一가-퟿&&[^\\s]]+")  # U+3000 and others are whitespace
_GPT2, _STARCODER, _LLAMA3, _QWEN2 = (NAMED[name] for name in ("gpt2", "starcoder", "llama3", "qwen2"))


def _cased(numbers: str, suffix: str = "", letters: str = r"\p{L}") -> Rule:
    """Return the rule of words that split before a capital; every letter beyond ASCII is both cases."""
    before = r"[^\r\n\p{L}\p{N}]?"
    upper, lower = f"[{letters}&&[^a-z]]", f"[{letters}&&[^A-Z]]"
    words = f"{before}{upper}*{lower}+{suffix}|{before}{upper}+{lower}*{suffix}"
    return (Split(f"{words}|{numbers}" + r"| ?[^\s\p{L}\p{N}]+[\r\n/]*" + _WHITESPACE),)


_GPT4O = Pre(_cased(r"\p{N}{1,3}", _SUFFIX))

# For a rule of several names the first one is written.
PRE: dict[str, Pre] = {
    "gpt-2": Pre(_GPT2),
    **dict.fromkeys(
        ("phi-2", "jina-es", "jina-de", "gigachat", "a.x-4.0", "mellum", "modern-bert", "mpt", "olmo", "jais"),
        Pre(_GPT2),
    ),
    **dict.fromkeys(("trillion", "granite-docling", "exaone4", "jina-v1-en", "roberta-bpe"), Pre(_GPT2)),
    **dict.fromkeys(("jina-v2-es", "jina-v2-de", "jina-v2-code"), Pre(_GPT2, strips_mask=True)),
    **dict.fromkeys(
        ("llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano"),
        Pre(_LLAMA3, whole_words=True, add_bos=True),
    ),
    **dict.fromkeys(("dbrx", "smaug-bpe", "chatglm-bpe", "glm4"), Pre(_LLAMA3)),
    **dict.fromkeys(("qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "stablelm2", "megrez"), Pre(_QWEN2)),
    **dict.fromkeys(("hunyuan", "solar-open", "grok-2"), Pre(_QWEN2)),
    "qwen35": Pre(NAMED["qwen35"]),
    **dict.fromkeys(
        ("starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b", "mellum2"), Pre(_STARCODER)
    ),
    **dict.fromkeys(("deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"), Pre(NAMED["deepseek-v3"])),
    "deepseek-coder": Pre((*_CODER[:3], _CJK, Split(r"\p{N}"))),
    "deepseek-llm": Pre((*_LLM[:2], Split(r"\s?[!-/:-~！-／：-～‘-‟、。]+"), _LLM[3], _CJK, Split(r"\p{N}+"))),
    "falcon": Pre((Split(r"[\p{P}$+<=>^~|`]+"), *_GPT2, Split("[0-9][0-9][0-9]"))),
    **dict.fromkeys(("bloom", "poro-chat", "gpt3-finnish"), Pre(NAMED["bloom"])),
    "viking": Pre(NAMED["viking"]),
    "chameleon": Pre(NAMED["chameleon"], add_bos=True),
    "superbpe": Pre((Split(r"\p{N}+"), Split("(?=([0-9]{3})+(?![0-9]))"))),
    "tekken": Pre(_cased(r"\p{N}"), whole_words=True, add_bos=True),
    **dict.fromkeys(("gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"), _GPT4O),
    "granite-embed-multi-97m": Pre(_cased(r"\p{N}{1,3}", _SUFFIX, r"\p{L}\p{M}"), whole_words=True),
    **dict.fromkeys(("bailingmoe", "bailingmoe2", "llada-moe"), Pre(NAMED["bailing"])),
    "seed-coder": Pre(NAMED["seed-coder"]),
    "exaone-moe": Pre(NAMED["exaone-moe"]),
    "minicpm5": Pre((Split(r"\p{N}{1,3}"), *_LLAMA3), whole_words=True),
    "default": Pre((_SIGNS, *_GPT2, Split(r"\p{N}+"), Split("[0-9][0-9][0-9]"))),
}


def name_of(rule: Rule, *, whole_words: bool) -> str | None:
    """Return the name of the pre-tokenizer with this rule, None if there is none.

    >>> name_of(NAMED["llama3"], whole_words=True), name_of(NAMED["o200k"], whole_words=False)
    ('llama-bpe', None)
    """
    known = (name for name, pre in PRE.items() if (pre.rule, pre.whole_words) == (rule, whole_words))
    return next(known, None)


NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
PREFIX = "tokenizer.ggml."
MODELS = ("gpt2", "llama", "t5", "bert")
ROLES = {
    **{role: f"{PREFIX}{role}_token_id" for role in ("bos", "eos", "cls", "mask")},
    "unk": f"{PREFIX}unknown_token_id",
    "pad": f"{PREFIX}padding_token_id",
    "sep": f"{PREFIX}seperator_token_id",  # the format's spelling
}
# What llama.cpp assumes if a file does not say it: ids of roles, and whether bos and eos are added.
_DEFAULTS = {
    "gpt2": {},
    "llama": {"bos": 1, "eos": 2, "unk": 0},
    "t5": {"eos": 1, "unk": 2, "pad": 0},
    "bert": {"bos": 101, "unk": 100, "sep": 102, "pad": 0, "mask": 103},
}
_ADDED = {"gpt2": (False, False), "llama": (True, False), "t5": (False, True), "bert": (True, False)}


@dataclass(frozen=True)
class _Tokens:
    """The tokens of a file, "" for ids without one, their types, and the ids of roles."""

    texts: list[str]
    types: NDArray[np.int32]
    roles: dict[str, int]

    def of(self, *types: int) -> list[int]:
        """Return the ids of tokens of these types."""
        return [i for i in np.flatnonzero(np.isin(self.types, types)).tolist() if self.texts[i]]

    def added(self, *, lstrip: str = "") -> tuple[AddedToken, ...]:
        """Return the tokens that llama.cpp finds in text: control tokens and the unknown one are special."""
        special = frozenset(self.of(CONTROL, UNKNOWN))
        ids = sorted([*special, *self.of(USER_DEFINED)])
        return tuple(AddedToken(self.texts[i], i, special=i in special, lstrip=self.texts[i] == lstrip) for i in ids)


def read_gguf(stream: BinaryIO, name: str) -> TokenizerSpec:
    """Return the spec of the vocabulary of a GGUF file; only the metadata is read, never the tensors.

    Ids are those of llama.cpp. Raises FormatError for damaged files, and for models and pre-tokenizers that are not
    known here.

    Source: the GGUF specification, and llama.cpp as of 2026.
    """
    data = read_metadata(stream, name, lambda key: key.startswith("tokenizer."))
    kind = data.text(f"{PREFIX}model")
    if kind not in MODELS:
        came = "none: the file has no vocabulary" if kind is None else show_json(kind)
        raise data.wrong(f"{PREFIX}model", f"one of {', '.join(MODELS)}", came)
    tokens = _read_tokens(data, kind)
    spec = {"gpt2": _gpt2, "llama": _llama, "t5": _t5, "bert": _read_bert}[kind](data, tokens)
    given = tuple((role, i) for role, key in ROLES.items() if (i := data.index(key, len(tokens.texts))) is not None)
    if kind == "bert":  # where bos is another name of cls
        given = tuple((role, i) for role, i in given if role != "bos" or ("cls", i) not in given)
    roles = checked_roles(given, len(tokens.texts))
    template = data.text("tokenizer.chat_template")
    return replace(spec, roles=roles, chat_template=template, foreign=replace(spec.foreign, warned=data.warned))


def _read_tokens(data: Metadata, kind: str) -> _Tokens:
    texts = data.texts(f"{PREFIX}tokens")
    if len(texts) > LARGEST_ID:
        raise data.wrong(f"{PREFIX}tokens", f"at most {LARGEST_ID} tokens", len(texts))
    types = np.full(len(texts), NORMAL, np.int32)
    if f"{PREFIX}token_type" in data:
        types = data.numbers(f"{PREFIX}token_type", [INT32], len(texts))
    last = {text: i for i, text in enumerate(texts)}
    if equal := [i for i, text in enumerate(texts) if text and last[text] != i]:
        # As in llama.cpp, the last one counts.
        data.warned = (
            f"{data.name}: {PREFIX}tokens: {show_json(texts[equal[0]])} has the ids {equal[0]} and "
            f"{last[texts[equal[0]]]}; the last of equal tokens counts; ids left without a token: {len(equal)}"
        )
        texts = ["" if last[text] != i else text for i, text in enumerate(texts)]
    for i in np.flatnonzero(types == UNUSED).tolist():
        if texts[i] == f"[PAD{i}]":  # what converters write for ids without a token
            texts[i] = ""
    roles = {role: i for role, i in _DEFAULTS[kind].items() if i < len(texts)}
    for role, key in ROLES.items():
        if (index := data.index(key, len(texts))) is not None:
            roles[role] = index
    return _Tokens(texts, types, roles)


def _template(data: Metadata, tokens: _Tokens, defaults: tuple[bool, bool]) -> Template | None:
    """Return the template of what llama.cpp adds; a pair is two texts, and bos stands before each, as in Llama."""
    flags = [data.flag(f"{PREFIX}add_{role}_token", on) for role, on in zip(("bos", "eos"), defaults, strict=True)]
    if not any(flags):
        return None
    ends: list[tuple[int, str] | None] = []
    for role, on in zip(("bos", "eos"), flags, strict=True):
        index = tokens.roles.get(role)
        if on and (index is None or not tokens.texts[index]):
            key = f"{PREFIX}add_{role}_token"
            if key not in data:
                pre = data.text(f"{PREFIX}pre") or "this model"
                raise data.wrong(ROLES[role], f"an id, because {pre} adds {role} unless {key} is false", "no such key")
            raise data.wrong(key, f"{ROLES[role]} with it", "no such key")
        ends.append((index, tokens.texts[index]) if on and index is not None else None)
    framed: list[Piece] = []
    for slot in (Slot("A"), Slot("B", 1)):
        bos, eos = ([Inserted(end[1], (end[0],), (end[1],), slot.type_id)] if end else [] for end in ends)
        framed += [*bos, slot, *eos]
    return Template(tuple(framed[: len(framed) // 2]), tuple(framed))


# ------------------------------------------------------------------ byte-level BPE


def _gpt2(data: Metadata, tokens: _Tokens) -> TokenizerSpec:
    from subwords.formats.hf import bpe

    name = data.text(f"{PREFIX}pre") or "default"
    if name not in PRE:
        raise data.wrong(f"{PREFIX}pre", f"one of {', '.join(PRE)}", show_json(name))
    pre = PRE[name]
    added = tokens.added(lstrip="<mask>" if pre.strips_mask else "")
    found = {token.id for token in added}
    # Tokens that no byte spells, and unused ones: no text yields them.
    lost = [
        AddedToken(text, i)
        for i, text in enumerate(tokens.texts)
        if text and i not in found and (tokens.types[i] == UNUSED or not CHARACTERS.issuperset(text))
    ]
    ids = {text: i for i, text in enumerate(tokens.texts) if text}
    merges = list(dict.fromkeys(data.texts(f"{PREFIX}merges")))  # of equal ones the first counts
    node = Node(f"{data.name}: {PREFIX}merges", "", {"vocab": ids, "merges": merges})
    model = bpe.read_model(node, ids, [*added, *lost], byte_level=True)
    if len(model.vocab) < len(tokens.texts):  # the last ids have no token
        model = replace(model, vocab=model.vocab.with_more([b""] * (len(tokens.texts) - len(model.vocab))))
    template = _template(data, tokens, (pre.add_bos, False))
    model = replace(model, whole_words=pre.whole_words)
    return TokenizerSpec(model=model, splitter=pre.rule, template=template, added_tokens=added)


# ------------------------------------------------------------------ SentencePiece


def _read_scores(data: Metadata, tokens: _Tokens) -> NDArray[np.float64]:
    scores = data.numbers(f"{PREFIX}scores", [FLOAT32, INT32], len(tokens.texts)).astype(np.float64)
    if not np.isfinite(scores).all():
        wrong = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise data.wrong(f"{PREFIX}scores", "finite scores", f"{scores[wrong]} of token {wrong}")
    return scores


def _llama(data: Metadata, tokens: _Tokens) -> TokenizerSpec:
    special = tokens.of(CONTROL, UNKNOWN, BYTE)
    unk_id = next(iter(tokens.of(UNKNOWN)), None)
    pieces = [text.encode() for text in tokens.texts]
    model = BPE.from_scores(
        pieces, _read_scores(data, tokens).tolist(), unk_id=unk_id, byte_fallback=True, special_ids=special
    )
    if (missing := model.byte_ids < 0).any():
        piece = f"<0x{int(np.argmax(missing)):02X}>"
        raise data.wrong(f"{PREFIX}tokens", "a token for each of 256 bytes", f"tokens without {piece}")
    spaced = normalizers.Replace(" ", SPACE)
    prefixed = data.flag(f"{PREFIX}add_space_prefix", True)
    steps = decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()
    return TokenizerSpec(
        model=model,
        normalizer=(normalizers.Prepend(SPACE), spaced) if prefixed else (spaced,),
        splitter=model.space_rule,
        template=_template(data, tokens, _ADDED["llama"]),
        decoder=decoders.DecoderSequence((*steps, decoders.Strip(" ", 1, 0)) if prefixed else steps),
        added_tokens=tokens.added(),
    )


def _t5(data: Metadata, tokens: _Tokens) -> TokenizerSpec:
    from subwords.models.unigram.model import Unigram
    from subwords.spec.normalizer import read_charsmap

    charsmap = b""
    if f"{PREFIX}precompiled_charsmap" in data:
        charsmap = data.numbers(f"{PREFIX}precompiled_charsmap", [INT8, UINT8]).tobytes()
        try:
            read_charsmap(charsmap)
        except FormatError as error:
            raise FormatError(f"{data.name}: {PREFIX}precompiled_charsmap: {error}") from None
    unk_id = tokens.roles.get("unk")
    lost = frozenset([*tokens.of(CONTROL, UNKNOWN, BYTE), *([] if unk_id is None else [unk_id])])
    scores = _read_scores(data, tokens)
    ordinary = tokens.of(NORMAL)
    others = np.ones(len(scores), np.bool_)
    others[ordinary] = False
    # An unknown character scores less than the lowest of the normal tokens; the others must not be lower.
    scores[others] = np.maximum(scores[others], scores[ordinary].min(initial=0.0))
    scores[tokens.of(USER_DEFINED)] = 0.0
    model = Unigram(Vocab([text.encode() for text in tokens.texts]), scores, unk_id, special_ids=lost)
    pieces = [text for i, text in enumerate(model.vocab) if text and i not in lost]
    merging = data.flag(f"{PREFIX}remove_extra_whitespaces", False)
    prefixed = merging or data.flag(f"{PREFIX}add_space_prefix", False)
    unknown = frozenset() if unk_id is None else frozenset([tokens.texts[unk_id]])
    control = frozenset(tokens.texts[i] for i in tokens.of(CONTROL))
    return TokenizerSpec(
        model=model,
        normalizer=(normalizers.SentencePiece(charsmap, prefixed, merging),),
        splitter=space_rule(pieces, unk_space=SPACE.encode() not in pieces),
        template=_template(data, tokens, _ADDED["t5"]),
        decoder=decoders.SentencePieceDecoder(unknown, control, drops_first=prefixed, drops_leading=merging),
        added_tokens=tokens.added(),
    )


# ------------------------------------------------------------------ WordPiece


def _read_bert(data: Metadata, tokens: _Tokens) -> TokenizerSpec:
    from subwords.models.wordpiece.model import WordPiece
    from subwords.spec.added_token import BERT_TOKENS

    usual = [i for i in tokens.roles.values() if tokens.texts[i] in BERT_TOKENS]
    literal = {*tokens.of(CONTROL, UNKNOWN, USER_DEFINED, UNUSED), *usual}
    texts = [text if i in literal else _unspaced(text) for i, text in enumerate(tokens.texts)]
    first: dict[str, int] = {}
    for i, text in enumerate(texts):
        if text and first.setdefault(text, i) != i:
            raise data.wrong(
                f"{PREFIX}tokens", "distinct tokens", f"{show_json(text)} as the ids {first[text]} and {i}"
            )
    cls, sep, unk = (tokens.roles.get(role) for role in ("bos", "sep", "unk"))
    if cls is None or sep is None or unk is None:
        raise FormatError(f"{data.name}: {PREFIX}tokens: expected tokens for {', '.join(BERT_TOKENS[1:4])}")
    added = {token.id: token for token in tokens.added()}
    added |= {i: AddedToken(texts[i], i) for i in usual if i not in added}
    special = frozenset([*(i for i, token in added.items() if token.special), *tokens.of(UNUSED)])
    lowercase = data.flag(f"{PREFIX}normalizer.lowercase", True)
    strips = data.flag(f"{PREFIX}normalizer.strip_accents", lowercase)
    return TokenizerSpec(
        model=WordPiece(Vocab([text.encode() for text in texts]), unk, special_ids=special),
        normalizer=(normalizers.Bert(lowercase=lowercase, strip_accents=None if strips == lowercase else strips),),
        splitter=NAMED["bert"],
        template=bert(cls, sep, texts[cls], texts[sep]),
        decoder=decoders.WordPieceDecoder(),
        added_tokens=tuple(added[i] for i in sorted(added)),
    )


def _unspaced(text: str) -> str:
    """Return a token as in vocab.txt: converters write U+2581 before those that begin a word, and remove the `##`."""
    if text.startswith(SPACE) or (text[:1] + text[-1:] == "[]" and len(text) > 2):
        return text.removeprefix(SPACE)
    return f"##{text}" if text else ""


# ---------------------------------------------------------------------------------------------------------------------
# Added tokens that llama.cpp would find elsewhere in a text.

MOST_WORK = 1 << 28  # characters of all prefixes and suffixes


def check_added(tokens: Sequence[AddedToken], *, normalizes: bool) -> None:
    """Raise FormatError for added tokens that llama.cpp finds differently: it knows no flags, and the longest wins.

    Here the leftmost wins, then the longest; tokens that are `normalized` come after the others. The two differ for
    tokens that may overlap in a text. normalizes: whether there is a normalizer.
    """
    for token in tokens:
        if flag := next((flag for flag in ("single_word", "lstrip", "rstrip") if getattr(token, flag)), None):
            raise FormatError(
                f"GGUF has no flags of added tokens; {show_json(token.content)} has {flag}: "
                "llama.cpp would give other ids"
            )
        if token.normalized and normalizes:
            raise FormatError(
                f"llama.cpp does not find tokens in normalized text, as {show_json(token.content)} is found"
            )
    _check_overlaps([token.content for token in tokens])
    late = [token.content for token in tokens if token.normalized]
    for first in (token.content for token in tokens if not token.normalized):
        if inside := next((text for text in late if first in text), None):
            raise FormatError(
                f"llama.cpp finds the longest added token first: {show_json(inside)} before {show_json(first)}"
            )


def _check_overlaps(contents: Sequence[str]) -> None:
    longest = max(map(len, contents), default=0)
    if sum(map(len, contents)) * longest > MOST_WORK:
        raise FormatError("GGUF: added tokens too long to compare; write a .json file")
    starts: dict[str, str] = {}  # the longest token with each proper prefix
    for text in sorted(contents, key=len):
        for stop in range(1, len(text)):
            starts[text[:stop]] = text
    for text in contents:
        for start in range(max(1, len(text) - longest), len(text)):
            other = starts.get(text[start:])
            # In a run of one character both find the same tokens.
            if other and len(other) >= len(text) and other != text and len({*text, *other}) > 1:
                both = show_json(text[:start] + other)
                raise FormatError(
                    f"llama.cpp would find {show_json(other)} in the text {both}, "
                    f"where {show_json(text)} comes first here"
                )
