"""Vocabulary and added tokens of a tokenizer.json, as all models have them; a WordLevel model is its vocabulary."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, ValuesView
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.formats.json_node import Node, show_json
from subwords.kernels import layout
from subwords.models.bpe.model import LARGEST_ID
from subwords.models.wordlevel.model import WordLevel
from subwords.spec.added_token import FLAGS, AddedToken, check_added_tokens
from subwords.spec.model import Model
from subwords.spec.vocab import Vocab, has_gaps
from subwords.support.errors import FormatError, InputError

_LARGEST_U32 = 2**32 - 1


# ------------------------------------------------------------------ reading


class FileVocab(Mapping[str, int]):
    """The id of every token of a file: `texts` in UTF-8, in the order of the file, and their `ids`, distinct.

    scores: of the tokens, if the file has some instead of ids; else empty.
    """

    def __init__(self, found: layout.FileEntries, count: int, scores: NDArray[np.float64]) -> None:
        offsets = np.concatenate([np.zeros(1, np.int64), found.ends[:count]])
        self.texts = Vocab(found.text[: offsets[-1]].tobytes(), offsets)
        self.ids: NDArray[np.int64] = found.numbers[:count]
        self.scores, self._found = scores, found
        self._index, self._repeated = self.texts.text_index(np.ones(count, np.bool_))

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[str]:
        return (token.decode() for token in self.texts)

    def __getitem__(self, text: str) -> int:
        from subwords.kernels.named import find_text

        key = text.encode("utf-8", "surrogatepass")
        index = find_text(np.frombuffer(key + bytes(layout.LANES), np.uint8), len(key), self._index)
        if index < 0:
            raise KeyError(text)
        return int(self.ids[index])

    def values(self) -> ValuesView[int]:
        """Return the ids; without a look-up for each."""
        return dict(enumerate(self.ids.tolist())).values()

    def by_id(self, added: Iterable[AddedToken]) -> Vocab:
        """Return the tokens by id in UTF-8, b"" for ids without one, with the added tokens that are none of them."""
        more = {token.id: token.content.encode() for token in added if token.content not in self}
        size = 1 + max([int(self.ids.max()), *more])
        if (np.diff(self.ids) == 1).all() and self.ids[0] == 0:
            return self.texts.with_more([more.get(i, b"") for i in range(len(self), size)])
        tokens = dict(zip(self.ids.tolist(), self.texts, strict=True)) | more
        return Vocab([tokens.get(i, b"") for i in range(size)])

    def merges(self, data: NDArray[np.uint8], begin: int, end: int) -> NDArray[np.int64] | None:
        """Return the merges in data[begin:end] as ids, shape (m, 3); None if they are not merges of these tokens."""
        from subwords.kernels.named import read_merge_entries

        room = (end - begin) // len('" ",') + 1
        scratch, merges = np.empty(end - begin + layout.LANES, np.uint8), np.empty(3 * room, np.int64)
        count = read_merge_entries(data, begin, end, self._found._replace(digits=scratch), self._index, merges)
        return None if count < 0 else merges[: 3 * count].reshape(count, 3).copy()

    def are_distinct(self) -> bool:
        """Whether no two texts and no two ids are equal, and no id is too large."""
        largest, count = int(self.ids.max(initial=0)), len(self)
        if self._repeated or largest > LARGEST_ID or has_gaps(largest, count):
            return False
        return int(np.bincount(self.ids).max(initial=0)) == 1


def model_kind(node: Node) -> str:
    """Return the type of a model; if it is absent, infer it from the fields, as in HF.

    >>> from subwords.formats.json_node import Node
    >>> from subwords.formats.hf.vocabulary import model_kind
    >>> model_kind(Node("a.json", "model", {"vocab": {}, "merges": []}))
    'BPE'
    """
    if node["type"].value is not None:
        return node["type"].string()
    present = {key for key, value in node.object().items() if value is not None}
    if "merges" in present:
        return "BPE"
    if {"continuing_subword_prefix", "max_input_chars_per_word"} <= present:
        return "WordPiece"
    return "Unigram" if isinstance(node["vocab"].value, list) else "WordLevel"


def read_vocab(node: Node) -> dict[str, int]:
    """Return the id of every token of a vocabulary; ids must be distinct and without large gaps."""
    vocab = node.object()  # of a key that stands there twice, the last counts, as in HF; see `Node.twice`
    ids = vocab.values()
    if set(map(type, ids)) - {int} or (vocab and not 0 <= min(ids) <= max(ids) <= LARGEST_ID):
        for text in vocab:
            _entry(node, text).integer(LARGEST_ID)
    _check_density(node, max(ids, default=0), len(vocab))
    if len(set(ids)) < len(vocab):
        first: dict[int, str] = {}
        text = next(text for text, i in vocab.items() if first.setdefault(i, text) != text)
        raise _entry(node, text).wrong("an unused id", f"{vocab[text]}, the id of {show_json(first[vocab[text]])}")
    return vocab


def _entry(vocab: Node, text: str) -> Node:
    return Node(vocab.file, f"{vocab.path}[{show_json(text)}]", vocab.value[text])


def _check_density(node: Node, largest: int, count: int) -> None:
    if has_gaps(largest, count):
        raise node.wrong("ids without large gaps", f"an id of {largest} among {count} tokens")


def read_added(node: Node, vocab: Mapping[str, int]) -> tuple[AddedToken, ...]:
    """Return the added tokens; a token in the vocabulary keeps that id and ignores the file's, as in HF."""
    tokens = []
    entries = list(node.items()) if node.value is not None else []
    new = any(entry["content"].string() not in vocab for entry in entries)
    taken = {*vocab.values()} if new else set()
    for entry in entries:
        content = entry["content"].string()
        known = vocab.get(content)
        i = entry["id"].integer(LARGEST_ID) if known is None else known
        if known is not None:
            entry["id"].integer(_LARGEST_U32)  # ignored, and refused if HF refuses it
        elif i in taken:
            owner = next(text for text, at in vocab.items() if at == i)
            raise entry["id"].wrong("a free id", f"{i}, the id of {show_json(owner)}")
        _check_density(entry["id"], i, len(vocab) + len(node.array()))
        flags = {flag: entry[flag].boolean(False) for flag in FLAGS}
        tokens.append(AddedToken(content, i, **flags))
    try:
        return check_added_tokens(tokens)
    except InputError as error:
        raise node.wrong("distinct tokens", f"these: {error}") from None


def unyielded_ids(added: Iterable[AddedToken], vocab: Container[str]) -> frozenset[int]:
    """Return the ids that the model never yields: special tokens, and added tokens that the model lacks."""
    return frozenset(token.id for token in added if token.special or token.content not in vocab)


def tokens_by_id(node: Node, vocab: Mapping[str, int], added: Iterable[AddedToken] = ()) -> Vocab:
    """Return the token of every id in UTF-8, b"" for ids without one; added tokens replace those of the vocabulary."""
    if isinstance(vocab, FileVocab):
        return vocab.by_id(added)
    literal = {token.id: token.content for token in added}
    texts = [""] * (1 + max([*vocab.values(), *literal], default=-1))
    for text, i in vocab.items():
        texts[i] = text
    for i, content in literal.items():
        texts[i] = content
    return Vocab(encode_vocabulary(node, texts))


def encode_vocabulary(node: Node, texts: Iterable[str]) -> list[bytes]:
    """Return the bytes of the tokens of a vocabulary."""
    try:
        return [text.encode() for text in texts]
    except UnicodeEncodeError as error:
        raise node.wrong("tokens without lone surrogates", show_json(error.object)) from None


# ------------------------------------------------------------------ writing


def added_entries(added: Iterable[AddedToken]) -> list[dict[str, Any]]:
    """Return the `added_tokens` of a file, in order of id."""
    return [
        {"id": token.id, "content": token.content, **{flag: getattr(token, flag) for flag in (*FLAGS[1:], "special")}}
        for token in sorted(added, key=lambda token: token.id)
    ]


def token_texts(model: Model, added: Iterable[AddedToken]) -> list[str]:
    """Return the text of every id in the file, "" for ids without a token."""
    try:
        return written_texts([token.decode() for token in model.vocab], added)
    except UnicodeDecodeError as error:
        raise FormatError(f"tokenizer.json cannot hold {error.object!r:.60}: it is not UTF-8") from None


def write_vocab(_model: Model, texts: list[str], appended: set[int]) -> dict[str, str]:
    """Return the JSON of the last key of a `model` object, indented as HF does; `texts` are the tokens by id."""
    return {"vocab": written_vocab(texts, appended)}


def written_texts(texts: Sequence[str], added: Iterable[AddedToken]) -> list[str]:
    """Return the text of every id in the file, given the model's tokens; FormatError for duplicates."""
    written = list(texts)
    for token in added:
        written[token.id] = token.content
    present = [text for text in written if text]
    if len(set(present)) == len(present):
        return written
    first: dict[str, int] = {}
    for i, text in enumerate(written):
        if text and first.setdefault(text, i) != i:
            raise FormatError(f"expected distinct tokens in tokenizer.json; {text!r} is id {first[text]} and id {i}")
    return written


def appended_ids(added: Iterable[AddedToken], texts: Sequence[str], size: int) -> set[int]:
    """Return the ids to write under `added_tokens` only: they were read from there and HF would assign the same ids.

    HF ignores ids there and counts on from the size of the vocabulary; `size` is the size in the file read.
    """
    late = {token.id for token in added if token.id >= size}
    return late if late == set(range(size, len(texts))) and all(texts[:size]) else set()


def unk_text(unk_id: int | None, texts: Sequence[str]) -> str:
    """Return the `unk_token` of a model whose format needs one: without an unk token, a name that no token has."""
    if unk_id is not None:
        return texts[unk_id]
    names = ("<unk>" if i == 0 else f"<unk_{i}>" for i in count())
    return next(name for name in names if name not in texts)


def quoted(texts: Sequence[str]) -> list[str]:
    """Return texts as JSON, all at once: json.dumps with indent takes 0.1 s for GPT-2."""
    return json.dumps(texts, ensure_ascii=False, separators=("\n", ":"))[1:-1].split("\n") if texts else []


def written_vocab(texts: Sequence[str], appended: set[int]) -> str:
    """Return the JSON of a vocabulary, indented as HF does."""
    names = quoted(texts)
    kept = [i for i, text in enumerate(texts) if text and i not in appended]
    entries = map("      %s: %d".__mod__, zip(map(names.__getitem__, kept), kept, strict=True))
    return "{\n" + ",\n".join(entries) + "\n    }" if kept else "{}"


# ------------------------------------------------------------------ WordLevel


def read_model(node: Node, vocab: Mapping[str, int], added: Sequence[AddedToken]) -> WordLevel:
    """Return the model of a `model` object, which must have all fields, with this vocabulary and added tokens.

    As in HF, unk_token may be missing from the vocabulary: then an unknown word is an error.

    Source: HF tokenizers 0.23.

    >>> read_model(Node("a.json", "model", {"unk_token": "[UNK]"}), {"[UNK]": 0, "a": 1}, ()).unk_id
    0
    """
    tokens = tokens_by_id(node["vocab"], vocab, added)
    return WordLevel(tokens, vocab.get(node["unk_token"].string()), unyielded_ids(added, vocab))


def write_model(model: WordLevel, texts: list[str]) -> dict[str, Any]:
    """Return the `model` object with an empty vocabulary; `texts` are the tokens by id.

    The format needs an unk_token: a model without one names a token that does not exist.

    >>> write_model(WordLevel(Vocab([b"a"])), ["a"])
    {'type': 'WordLevel', 'vocab': {}, 'unk_token': '<unk>'}
    """
    return {"type": "WordLevel", "vocab": {}, "unk_token": unk_text(model.unk_id, texts)}
