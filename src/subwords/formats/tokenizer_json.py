"""HF's tokenizer.json, version 1.0: BPE models read and written."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.bpe.model import BPE, LARGEST_ID
from subwords.bytemap import CHARACTERS, tokens_from_text, tokens_to_text
from subwords.errors import FormatError, InputError
from subwords.formats.document import Node, parse, shown
from subwords.special import AddedToken, AddedTokens
from subwords.split.pre_tokenizer import from_pre_tokenizer, to_pre_tokenizer
from subwords.split.rules import ByteChars
from subwords.split.scanner import Splitter
from subwords.split.scanner import splitter as make_splitter
from subwords.tokenizer import Tokenizer
from subwords.vocab import Vocab

__all__ = ["read", "write"]

# A vocabulary may have holes, but not so many that it is mostly holes.
_SPARSEST = 16
_FREE_HOLES = 65536
_FRAME_END = '{},\n    "merges": []\n  }\n}'
_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
_KEPT = ("truncation", "padding", "post_processor")
_FLAGS = ("single_word", "lstrip", "rstrip", "normalized")


def read(data: bytes, name: str) -> Tokenizer:
    """Return the tokenizer of a tokenizer.json; `name` stands for the file in messages.

    Anything damaged, or not supported yet, is a FormatError that names the place and what was expected.
    Characters that a file's model without an unk token does not know are dropped, as in HF.
    Hazard: a file without a decoder decodes as if it had one that joins the tokens; HF would put blanks between them.

    Source: the format as HF tokenizers 0.23 reads it.

    >>> from subwords.formats.tokenizer_json import read
    >>> tok = read(b'{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}}', "ab.json")
    >>> tok.encode("abba")
    [2, 1, 0]
    """
    top = parse(data, name)
    _check_model(top["model"])
    if top["version"].value not in (None, "1.0"):
        raise top["version"].wrong('"1.0"')
    if top["normalizer"].value is not None:
        raise top["normalizer"].unsupported("null")
    splitter, byte_level = _read_splitter(top["pre_tokenizer"])
    _check_decoder(top["decoder"], byte_level)

    vocab = _read_vocab(top["model"]["vocab"])
    added = _read_added(top["added_tokens"], vocab)
    extras = {key: value for key in _KEPT if (value := top[key].verbatim()) is not None}
    extras |= {"decoder": top["decoder"].verbatim(), "model_vocab_size": len(vocab)}
    model = _read_model(top["model"], vocab, added, byte_level)
    return Tokenizer(model, splitter, added_tokens=added, extras=extras)


def _read_model(node: Node, vocab: dict[str, int], added: AddedTokens, byte_level: bool) -> BPE:
    merges = _read_merges(node["merges"], vocab)
    tokens = Vocab(_token_bytes(node["vocab"], vocab, added, merges, byte_level))
    unk = node["unk_token"]
    settings: dict[str, Any] = {
        "byte_level": byte_level,
        "unk_id": None if unk.value is None else vocab.get(unk.string()),
        "fuse_unk": node["fuse_unk"].boolean(False),
        # HF drops what it does not know only where the file names no unk token; one that is no token is an error.
        "unknown": "drop" if unk.value is None else "error",
        "whole_words": node["ignore_merges"].boolean(False),
        "special_ids": added.special_ids | {token.id for token in added if token.content not in vocab},
    }
    try:
        return BPE(tokens, merges, **settings)
    except FormatError as error:
        raise node["merges"].wrong("merges of these tokens", f"these: {error}") from None


def _check_model(model: Node) -> None:
    if not isinstance(model.value, dict):
        raise model.wrong("the model of a tokenizer.json")
    kind = model["type"]
    if kind.value not in ("BPE", None):
        raise model.unsupported("BPE")
    if kind.value is None and model["merges"].value is None:
        raise model["merges"].wrong("the merges of a BPE model (no other is supported yet)")
    if model["dropout"].value not in (None, 0):
        raise model["dropout"].unsupported("null")
    for key in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model[key].value not in (None, ""):
            raise model[key].unsupported("null")
    if model["byte_fallback"].boolean(False):
        raise model["byte_fallback"].unsupported("false")


def _read_splitter(node: Node) -> tuple[Splitter, bool]:
    """Return the splitter, and whether the model's symbols are bytes."""
    rule = from_pre_tokenizer(node.value, f"{node.file}: {node.path}")
    try:
        return make_splitter(rule), any(isinstance(step, ByteChars) for step in rule)
    except InputError as error:
        raise node.wrong("patterns that an engine takes", f"this one: {error}") from None


def _check_decoder(node: Node, byte_level: bool) -> None:
    expected = "ByteLevel" if byte_level else "Fuse"
    if node.value is not None and node["type"].value != expected:
        raise node.unsupported(f"{expected} or null with this pre_tokenizer")


def _read_vocab(node: Node) -> dict[str, int]:
    vocab = node.distinct()
    ids = vocab.values()
    if set(map(type, ids)) - {int} or (vocab and not 0 <= min(ids) <= max(ids) <= LARGEST_ID):
        for text in vocab:
            _entry(node, text).integer(LARGEST_ID)
    _check_density(node, max(ids, default=0), len(vocab))
    if len(set(ids)) < len(vocab):
        first: dict[int, str] = {}
        text = next(text for text, i in vocab.items() if first.setdefault(i, text) != text)
        raise _entry(node, text).wrong("an id of its own", f"{vocab[text]}, the id of {shown(first[vocab[text]])}")
    return vocab


def _entry(vocab: Node, text: str) -> Node:
    return Node(vocab.file, f"{vocab.path}[{shown(text)}]", vocab.value[text])


def _check_density(node: Node, largest: int, count: int) -> None:
    if largest > _SPARSEST * count + _FREE_HOLES:
        raise node.wrong("ids without large holes", f"an id of {largest} among {count} tokens")


def _read_added(node: Node, vocab: dict[str, int]) -> AddedTokens:
    taken = {i: text for text, i in vocab.items()}
    tokens = []
    for entry in node.items() if node.value is not None else ():
        content = entry["content"].string()
        if content in vocab:
            i = vocab[content]
        else:
            i = entry["id"].integer(LARGEST_ID)
            if i in taken:
                raise entry["id"].wrong("a free id", f"{i}, the id of {shown(taken[i])}")
        _check_density(entry["id"], i, len(vocab) + len(node.array()))
        flags = {flag: entry[flag].boolean(False) for flag in ("special", *_FLAGS)}
        tokens.append(AddedToken(content, i, **flags))
    try:
        return AddedTokens(tokens)
    except InputError as error:
        raise node.wrong("distinct tokens", f"these: {error}") from None


def _read_merges(node: Node, vocab: dict[str, int]) -> NDArray[np.int64]:
    """Return the merges, (m, 3); of a pair that comes twice the last one counts, as in HF."""
    entries = node.array()
    if entries and isinstance(entries[0], str) and entries[0].startswith("#version"):
        entries = entries[1:]
    try:
        pairs = [entry if type(entry) is list else entry.split(" ") for entry in entries]
        left = [vocab[a] for a, _ in pairs]
        right = [vocab[b] for _, b in pairs]
        result = [vocab[a + b] for a, b in pairs]
    except (AttributeError, KeyError, TypeError, ValueError):
        _refuse_merge(node, vocab)
        raise
    merges = np.array([left, right, result], np.int64).T.copy()
    keys = (merges[:, 0] << 32) | merges[:, 1]
    if not np.diff(np.sort(keys)).all():
        _, latest = np.unique(keys[::-1], return_index=True)
        merges = merges[np.sort(len(keys) - 1 - latest)]
    return merges


def _refuse_merge(node: Node, vocab: dict[str, int]) -> None:
    for i, entry in enumerate(node.items()):
        parts = entry.value.split(" ") if isinstance(entry.value, str) else entry.value
        if i == 0 and isinstance(entry.value, str) and entry.value.startswith("#version"):
            continue
        if not (isinstance(parts, list) and len(parts) == 2 and all(isinstance(part, str) for part in parts)):
            raise entry.wrong("two tokens", _listed(parts) if isinstance(parts, list) else None) from None
        for token in (*parts, "".join(parts)):
            if token not in vocab:
                came = f"{_listed(parts)}: {shown(token)} is none"
                raise entry.wrong("two tokens whose joint is a token", came) from None


def _listed(parts: list[Any]) -> str:
    return f"[{', '.join(map(shown, parts))}]"


def _token_bytes(
    node: Node, vocab: dict[str, int], added: AddedTokens, merges: NDArray[np.int64], byte_level: bool
) -> list[bytes]:
    """Return the bytes of every id, none where there is no token."""
    literal = {token.id: token.content for token in added if not (byte_level and _is_of_model(token, vocab, merges))}
    texts = [""] * (1 + max([*vocab.values(), *added.ids.values()], default=-1))
    for text, i in vocab.items():
        texts[i] = text
    for i, content in literal.items():
        texts[i] = "" if byte_level else content
    if not byte_level:
        try:
            return [text.encode() for text in texts]
        except UnicodeEncodeError as error:
            raise node.wrong("tokens without lone surrogates", shown(error.object)) from None
    try:
        tokens = tokens_from_text(texts)
    except InputError as error:
        raise node.wrong("tokens of a byte-level model", f"these: {error}") from None
    for i, content in literal.items():
        tokens[i] = content.encode()
    return tokens


def _is_of_model(token: AddedToken, vocab: dict[str, int], merges: NDArray[np.int64]) -> bool:
    # An added token is literal text. One that is a byte, or that merges use, is written in characters that stand for
    # bytes like the rest of the vocabulary; in ASCII the two are one.
    if token.content.isascii() or token.content not in vocab or not CHARACTERS.issuperset(token.content):
        return False
    return len(token.content) == 1 or bool((merges == token.id).any())


def write(tokenizer: Tokenizer) -> bytes:
    """Return the tokenizer.json of a tokenizer, as HF tokenizers 0.23 would write it.

    Merges are written in order of rank: that some ranks are equal is lost. What cannot be written is a FormatError.

    >>> import subwords
    >>> from subwords.formats.tokenizer_json import read, write
    >>> tok = subwords.train(["ab ab"], vocab_size=258)
    >>> read(write(tok), "copy").merges == tok.merges
    True
    """
    model, extras = tokenizer.model, tokenizer.extras
    texts = _token_texts(tokenizer)
    default_decoder = _BYTE_LEVEL if model.byte_level else {"type": "Fuse"}
    top = {
        "version": "1.0",
        "truncation": extras.get("truncation"),
        "padding": extras.get("padding"),
        "added_tokens": [
            {"id": token.id, "content": token.content, **{flag: getattr(token, flag) for flag in (*_FLAGS, "special")}}
            for token in sorted(tokenizer.added_tokens, key=lambda token: token.id)
        ],
        "normalizer": None,
        "pre_tokenizer": _pre_tokenizer(tokenizer.splitter, model.byte_level),
        "post_processor": extras.get("post_processor"),
        "decoder": extras.get("decoder", default_decoder),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None if model.unk_id is None else texts[model.unk_id],
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": model.fuse_unk,
            "byte_fallback": False,
            "ignore_merges": model.whole_words,
            "vocab": {},
            "merges": [],
        },
    }
    frame = json.dumps(top, ensure_ascii=False, indent=2)
    return _filled(frame, texts, _appended(tokenizer, texts), model.merges).encode()


def _token_texts(tokenizer: Tokenizer) -> list[str]:
    """Return what stands in the file for every id, "" where there is no token."""
    model = tokenizer.model
    tokens = list(model.vocab)
    try:
        texts = tokens_to_text(tokens) if model.byte_level else [token.decode() for token in tokens]
    except UnicodeDecodeError as error:
        raise FormatError(f"expected tokens that tokenizer.json can hold; {error.object!r} is no UTF-8") from None
    for token in tokenizer.added_tokens:
        texts[token.id] = token.content
    first: dict[str, int] = {}
    for i, text in enumerate(texts):
        if text and first.setdefault(text, i) != i:
            raise FormatError(
                f"expected tokens that tokenizer.json can tell apart; {text!r} is id {first[text]} and id {i}"
            )
    for left, right, result in model.merges.tolist():
        if texts[left] + texts[right] != texts[result]:
            came = f"{texts[left]!r} and {texts[right]!r} make {texts[result]!r}"
            raise FormatError(f"expected merges that tokenizer.json can hold; {came}")
    return texts


def _pre_tokenizer(splitter: Splitter, byte_level: bool) -> dict[str, Any] | None:
    rule = splitter.rule
    if byte_level and not any(isinstance(step, ByteChars) for step in rule):
        rule = (*rule, ByteChars())
    return to_pre_tokenizer(rule)


def _appended(tokenizer: Tokenizer, texts: list[str]) -> set[int]:
    """Return the ids that stand under `added_tokens` alone: those that were read so and that HF would number alike.

    HF ignores the ids there and counts on from the number of tokens in the vocabulary.
    """
    size = tokenizer.extras.get("model_vocab_size", len(texts))
    late = {token.id for token in tokenizer.added_tokens if token.id >= size}
    return late if late == set(range(size, len(texts))) and all(texts[:size]) else set()


def _filled(frame: str, texts: list[str], appended: set[int], merges: NDArray[np.int64]) -> str:
    # json.dumps writes indented text one value at a time: 0.1 s for GPT-2.
    quoted = json.dumps(texts, ensure_ascii=False, separators=("\n", ":"))[1:-1].split("\n")
    entries = [f"      {quoted[i]}: {i}" for i, text in enumerate(texts) if text and i not in appended]
    pairs = [f"      [\n        {quoted[a]},\n        {quoted[b]}\n      ]" for a, b, _ in merges.tolist()]
    vocab = "{\n" + ",\n".join(entries) + "\n    }" if entries else "{}"
    listed = "[\n" + ",\n".join(pairs) + "\n    ]" if pairs else "[]"
    return f'{frame.removesuffix(_FRAME_END)}{vocab},\n    "merges": {listed}\n  }}\n}}'
