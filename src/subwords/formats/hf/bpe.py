"""Read and write the BPE model of a tokenizer.json."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.formats.hf.vocabulary import (
    quoted,
    tokens_by_id,
    unyielded_ids,
    written_texts,
    written_vocab,
)
from subwords.formats.json_node import Node, show_json
from subwords.models.bpe.model import BPE
from subwords.spec.added_token import AddedToken
from subwords.spec.vocab import CHARACTERS, Vocab, tokens_from_text, tokens_to_text, vocab_from_text
from subwords.support.errors import FormatError, InputError

_COMMA, _BETWEEN = ",\n        ", "\n      ],\n      [\n        "


def read_model(node: Node, vocab: Mapping[str, int], added: Sequence[AddedToken], byte_level: bool) -> BPE:
    """Return the model of a `model` object with this vocabulary and these added tokens.

    Without an unk token, unknown characters are dropped, as in HF. Files written here may say `"unknown": "error"`:
    then they raise an error. HF ignores that field.
    """
    prefix, suffix = (_mark(node[key]) for key in ("continuing_subword_prefix", "end_of_word_suffix"))
    merges = _read_merges(node["merges"], vocab, prefix)
    tokens, odd = _tokens(node["vocab"], vocab, added, merges, byte_level)
    unk = node["unk_token"]
    settings: dict[str, Any] = {
        "byte_level": byte_level,
        "unk_id": None if unk.value is None else vocab.get(unk.string()),
        "fuse_unk": node["fuse_unk"].boolean(False),
        # HF drops unknown symbols only if no unk token is named; naming an unk token that does not exist is an error.
        "unknown": _unknown(node["unknown"]) if unk.value is None else "error",
        "whole_words": node["ignore_merges"].boolean(False),
        "byte_fallback": node["byte_fallback"].boolean(False),
        "special_ids": unyielded_ids(added, vocab) | odd,
        "literal_ids": odd,
        "prefix": _mark_bytes(node["continuing_subword_prefix"], prefix, byte_level),
        "suffix": _mark_bytes(node["end_of_word_suffix"], suffix, byte_level),
        "dropout": _dropout(node["dropout"]),
    }
    try:
        model = BPE(tokens, merges, **settings)
        return model.for_text({token.id for token in added if token.special and token.content in vocab})
    except FormatError as error:
        if str(error).startswith("byte_fallback"):
            raise node["byte_fallback"].wrong("false in this model", f"true: {error}") from None
        raise node["merges"].wrong("merges of these tokens", f"these: {error}") from None


def _unknown(node: Node) -> str:
    if node.value not in (None, "drop", "error"):
        raise node.wrong('"drop" or "error"')
    return node.value or "drop"


def _dropout(node: Node) -> float | None:
    value = node.value
    if value is None:
        return None
    if type(value) not in (int, float) or not 0 <= value <= 1:
        raise node.wrong("a number from 0 to 1, or null")
    return float(value)


def _mark(node: Node) -> str:
    """Return a prefix or suffix; it may be absent."""
    return "" if node.value is None else node.string()


def _mark_bytes(node: Node, mark: str, byte_level: bool) -> bytes:
    if not byte_level:
        return mark.encode()
    if not CHARACTERS.issuperset(mark):
        raise node.unsupported("characters that represent bytes, as in the tokens of a byte-level model")
    return tokens_from_text([mark])[0]


def _read_merges(node: Node, vocab: Mapping[str, int], prefix: str) -> NDArray[np.int64]:
    """Return the merges, shape (m, 3); of duplicate pairs the last one wins, as in HF.

    The result of a merge is the left token and the right one without the bytes of the prefix.
    """
    if isinstance(node.value, np.ndarray):  # see `hf/by_kernel.py`
        return _latest(node.value)
    entries = node.array()
    if entries and isinstance(entries[0], str) and entries[0].startswith("#version"):
        entries = entries[1:]
    try:
        left, right = _merge_sides(entries)
        ids = vocab.__getitem__
        rest = [_without(token, prefix) for token in right] if prefix else right
        merges = np.empty((len(left), 3), np.int64)
        for column, tokens in enumerate((left, right, map(add, left, rest))):
            merges[:, column] = np.fromiter(map(ids, tokens), np.int64, len(left))
    except (AttributeError, KeyError, TypeError, ValueError):
        _refuse_merge(node, vocab, prefix)
        raise
    return _latest(merges)


def _latest(merges: NDArray[np.int64]) -> NDArray[np.int64]:
    keys = (merges[:, 0] << 32) | merges[:, 1]
    if not np.diff(np.sort(keys)).all():
        _, latest = np.unique(keys[::-1], return_index=True)
        merges = merges[np.sort(len(keys) - 1 - latest)]
    return merges


def _merge_sides(entries: list[Any]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the left and the right tokens of merges, "left right" or [left, right] each; ValueError for others."""
    if set(map(type, entries)) <= {str}:  # all at once: lists of two would cost as much as everything else
        flat = " ".join(entries).split(" ") if entries else []
        if list(map(str.count, entries, repeat(" "))).count(1) != len(entries):
            raise ValueError("a merge is not two tokens")
        return flat[::2], flat[1::2]
    pairs = [entry if type(entry) is list else entry.split(" ") for entry in entries]
    # Not zip(*pairs): 130 ms instead of 30 for o200k.
    return [left for left, _ in pairs], [right for _, right in pairs]


def _without(token: str, prefix: str) -> str:
    """Return a token without the bytes of the prefix; ValueError if the rest is not text."""
    data, cut = token.encode(), len(prefix.encode())
    if len(data) < cut:
        raise ValueError("a token is shorter than the prefix")
    return data[cut:].decode()


def _refuse_merge(node: Node, vocab: Mapping[str, int], prefix: str) -> None:
    for i, entry in enumerate(node.items()):
        parts = entry.value.split(" ") if isinstance(entry.value, str) else entry.value
        if i == 0 and isinstance(entry.value, str) and entry.value.startswith("#version"):
            continue
        if not (isinstance(parts, list) and len(parts) == 2 and all(isinstance(part, str) for part in parts)):
            raise entry.wrong("two tokens", _listed(parts) if isinstance(parts, list) else None) from None
        try:
            joined = parts[0] + _without(parts[1], prefix)
        except ValueError:
            raise entry.wrong(
                f"a right token that begins with the prefix {show_json(prefix)}", _listed(parts)
            ) from None
        for token in (*parts, joined):
            if token not in vocab:
                came = f"{_listed(parts)}: {show_json(token)} is not a token"
                raise entry.wrong("two tokens whose concatenation is a token", came) from None


def _listed(parts: list[Any]) -> str:
    return f"[{', '.join(map(show_json, parts))}]"


def _tokens(
    node: Node, vocab: Mapping[str, int], added: Sequence[AddedToken], merges: NDArray[np.int64], byte_level: bool
) -> tuple[Vocab, frozenset[int]]:
    """Return the bytes of every id, b"" for ids without a token, and the ids of `_odd_ids`."""
    tokens = tokens_by_id(node, vocab, added)
    if not byte_level:
        return tokens, frozenset()
    odd = frozenset[int]()
    spelled = _spelled(tokens, [token.id for token in added if not _is_of_model(token, vocab, merges)])
    try:
        return vocab_from_text(spelled), odd
    except InputError:
        odd = _odd_ids(node, spelled, merges)
        return vocab_from_text(_spelled(spelled, odd)), odd


def _spelled(tokens: Vocab, literal: Iterable[int]) -> Vocab:
    """Return tokens in the byte alphabet, given the ids of those that are the text itself."""
    found = {i: (tokens[i], tokens_to_text([tokens[i]])[0].encode()) for i in literal}
    changed = {i: text for i, (token, text) in found.items() if text != token}
    return tokens.with_other(changed) if changed else tokens


def _odd_ids(node: Node, tokens: Vocab, merges: NDArray[np.int64]) -> frozenset[int]:
    """Return the tokens that no bytes spell. HF keeps them, and no text yields them; here no merge may use them."""
    texts = [token.decode() for token in tokens]
    found = frozenset(i for i, text in enumerate(texts) if not CHARACTERS.issuperset(text))
    if used := found & {*merges[np.isin(merges, list(found))].tolist()}:
        came = f"{show_json(texts[min(used)])} in a merge"
        raise node.wrong("tokens of a byte-level model", f"{came}: its characters stand for no bytes")
    return found


def _is_of_model(token: AddedToken, vocab: Mapping[str, int], merges: NDArray[np.int64]) -> bool:
    # An added token is literal text. If it is a single byte, or merges use it, it is spelled in the byte alphabet like
    # the rest of the vocabulary. In ASCII the two spellings are equal.
    if token.content.isascii() or token.content not in vocab or not CHARACTERS.issuperset(token.content):
        return False
    return len(token.content) == 1 or bool((merges == token.id).any())


def write_model(model: BPE, texts: list[str]) -> dict[str, Any]:
    """Return the `model` object with empty tokens and merges as its last keys; `texts` are the tokens by id.

    Raises FormatError for properties of score-based models that tokenizer.json cannot hold.
    """
    _check_writable(model)
    refuses = model.unknown == "error" and model.unk_id is None and not model.knows_all
    return {
        "type": "BPE",
        **({"unknown": "error"} if refuses else {}),
        "dropout": model.dropout,
        "unk_token": None if model.unk_id is None else texts[model.unk_id],
        "continuing_subword_prefix": _written_mark(model.prefix, model.byte_level),
        "end_of_word_suffix": _written_mark(model.suffix, model.byte_level),
        "fuse_unk": model.fuse_unk,
        "byte_fallback": model.byte_fallback,
        "ignore_merges": model.whole_words,
        "vocab": {},
        "merges": [],
    }


def _written_mark(mark: bytes, byte_level: bool) -> str | None:
    if not mark:
        return None
    return tokens_to_text([mark])[0] if byte_level else mark.decode()


def _check_writable(model: BPE) -> None:
    special = {model.vocab[i] for i in model.special_ids}  # reading makes such parts again
    odd = {"user_ids": model.user_ids, "unused_ids": model.unused_ids, "parts": {*model.parts} - special}
    if name := next((name for name, ids in {**odd, "words_only": model.words_only}.items() if ids), None):
        raise FormatError(f"tokenizer.json cannot hold this model: it has {name}")
    if model.ranks is None:
        return
    from subwords.models.bpe.merges import is_ordered, ties

    for tied in ties(model):
        if not is_ordered(model, tied):
            raise FormatError(
                "tokenizer.json needs merges in a total order; "
                f"{model.vocab[tied[0]]!r} and {model.vocab[tied[1]]!r} have equal priority"
            )


def token_texts(model: BPE, added: Sequence[AddedToken]) -> list[str]:
    """Return the text of every id in the file, "" for ids without a token."""
    tokens = list(model.vocab)
    try:
        texts = tokens_to_text(tokens) if model.byte_level else [token.decode() for token in tokens]
        for index in model.literal_ids:
            texts[index] = tokens[index].decode()
    except UnicodeDecodeError as error:
        raise FormatError(f"tokenizer.json cannot hold {error.object!r:.60}: it is not UTF-8") from None
    texts = written_texts(texts, added)
    for token in added:  # that no text yields; as a word of its own, a file's tokens are found by their spelling
        spelled = model.from_files(token.content) if token.id in model.special_ids else None
        if spelled and spelled != token.content.encode() and (len(spelled) == 1 or model.whole_words):
            raise FormatError(
                f"tokenizer.json cannot hold the token {token.content!r:.60}: there it spells {spelled!r}"
            )
    # BPE has checked that bytes of merges concatenate; their texts may not if an added token is spelled literally.
    literal = np.array(sorted(token.id for token in added), np.int64)
    prefix, names = _written_mark(model.prefix, model.byte_level) or "", _with_parts(texts, model)
    for left, right, result in model.merges[np.isin(model.merges, literal).any(1)].tolist():
        try:
            joined = names[left] + _without(names[right], prefix)
        except ValueError:
            joined = ""
        if joined != texts[result]:
            came = f"{names[left]!r} and {names[right]!r} would make {texts[result]!r}"
            raise FormatError(f"tokenizer.json cannot hold a merge: {came}")
    return texts


def write_vocab(model: BPE, texts: list[str], appended: set[int]) -> dict[str, str]:
    """Return the JSON of the last keys of the `model` object, indented as HF does."""
    merges = _written_merges(_with_parts(texts, model), model.merges)
    return {"vocab": written_vocab(texts, appended), "merges": merges}


def _with_parts(texts: list[str], model: BPE) -> list[str]:
    return [*texts, *(part.decode("utf-8", "replace") for part in model.parts)]


def _written_merges(texts: list[str], merges: NDArray[np.int64]) -> str:
    names = quoted(texts)
    if not len(merges):
        return "[]"
    pairs = zip(*(map(names.__getitem__, column) for column in merges[:, :2].T.tolist()), strict=True)
    return f"[\n      [\n        {_BETWEEN.join(map(_COMMA.join, pairs))}\n      ]\n    ]"
