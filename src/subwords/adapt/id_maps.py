"""IdMap: which ids of one tokenizer make up each id of another, for the embeddings of a model."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords import Tokenizer
from subwords.adapt.words import ids_of_words
from subwords.machine import Node, TokenizerLike, parse_json, segmenter_of, tokenizer_of
from subwords.support.checks import as_index
from subwords.support.errors import FormatError, InputError, readable
from subwords.support.files import atomic_write, check_pointer, place_of
from subwords.support.value import Value, read_only

# ---------------------------------------------------------------------------------------------------------------------
# embedding_map.json: which old ids make up each new id, for code that carries embeddings over.
#
# The file is one JSON object: "version" (1), "old" and "new" (each "size", the number of ids, and "fingerprint", the
# SHA-256 of the vocabulary), and "entries", one for each new id in order: `[[old ids], [weights]]`. The weights of an
# entry are positive and have the sum 1. An id without a token, or of which the old tokenizer knows nothing, has
# `[[], []]`.

VERSION = 1
LARGEST_ID = 2**31 - 1
SLACK = 1e-6  # of the sum of weights, which other programs may write with fewer digits


def write_embedding_map(found: IdMap, path: str | PathLike[str]) -> None:
    """Write the file, atomically; InputError if it cannot be written."""
    bounds, ids, weights = found.offsets.tolist(), found.ids.tolist(), found.weights.tolist()
    same = "[[%d], [1.0]]"
    rows = [
        same % ids[a] if b - a == 1 and weights[a] == 1.0 else json.dumps([ids[a:b], weights[a:b]])
        for a, b in pairwise(bounds)
    ]
    old = {"size": found.old_size, "fingerprint": found.old_fingerprint}
    new = {"size": len(rows), "fingerprint": found.new_fingerprint}
    head = json.dumps({"version": VERSION, "old": old, "new": new})[:-1]
    body = "[\n" + ",\n".join(rows) + "\n]" if rows else "[]"
    with atomic_write(path, "w") as file:
        file.write(f'{head}, "entries": {body}}}\n')


def read_embedding_map(path: str | PathLike[str]) -> IdMap:
    """Read the file; FormatError with the place for one that cannot be read or that breaks a rule of the format."""
    file = place_of(path, local=True)
    with readable(file, FormatError):
        data = file.read_bytes()
    check_pointer(data, file)
    top = parse_json(data, str(file))
    version = top["version"]
    if version.value != VERSION or isinstance(version.value, bool):
        raise version.wrong(f"version {VERSION} of an embedding map")
    old_size, new_size = (top[name]["size"].integer(LARGEST_ID) for name in ("old", "new"))
    old, new = (top[name]["fingerprint"].digest() for name in ("old", "new"))
    entries = top["entries"]
    if len(entries.array()) != new_size:
        raise entries.wrong(f"{new_size} entries, one for each new id", f"{len(entries.array())}")
    offsets, ids, weights = [0], list[int](), list[float]()
    for number, row in enumerate(entries.array()):
        own, parts = _entry(entries, number, row, old_size)
        ids += own
        weights += parts
        offsets.append(len(ids))
    arrays = np.array(offsets, np.int64), np.array(ids, np.int64), np.array(weights, np.float64)
    return IdMap(old_size, old, new, *arrays)


def _entry(entries: Node, number: int, row: object, size: int) -> tuple[list[int], list[float]]:
    """Return the ids and the weights of an entry."""
    node = Node(entries.file, f"{entries.path}[{number}]", row)
    if not (isinstance(row, list) and len(row) == 2 and all(isinstance(part, list) for part in row)):
        raise node.wrong("[ids, weights]")
    ids, weights = row
    if len(ids) != len(weights):
        raise node.wrong("as many weights as ids", f"{len(ids)} ids and {len(weights)} weights")
    for index in ids:
        if type(index) is not int or not 0 <= index < size:
            raise node.wrong(f"old ids below {size}", f"{index!r:.40}")
    if len(set(ids)) < len(ids):
        raise node.wrong("distinct ids", f"{ids!r:.60}")
    for weight in weights:
        if type(weight) not in (int, float) or not 0 < weight <= 1 + SLACK:
            raise node.wrong("weights above 0 and up to 1", f"{weight!r:.40}")
    if weights and abs(math.fsum(weights) - 1) > SLACK:
        raise node.wrong("weights with the sum 1", f"the sum {math.fsum(weights)!r}")
    return ids, weights


# ---------------------------------------------------------------------------------------------------------------------
# Whether two tokenizers spell alike, and the ids that one gives to the text of a token of the other.


def check_alphabets(old: Tokenizer, new: Tokenizer) -> None:
    """Raise InputError unless two tokenizers spell the same text by the same tokens."""
    first, second = old.model.spelling, new.model.spelling
    if first != second:
        raise InputError(f"unrelated tokenizers: the tokens of one are {first}, those of the other {second}")


def spelled(tokenizer: Tokenizer, tokens: Sequence[bytes], threads: int | None = None) -> list[list[int]]:
    """Return the ids of the text of each token, as one word; see `Segmenter.spell`."""
    model = tokenizer.model
    return segmenter_of(model).spell(tokens, lambda words: ids_of_words(model, words, threads))


class IdArrays(NamedTuple):
    """The entries of an `IdMap`: new id i has ids[offsets[i]:offsets[i + 1]], with weights of the same places.

    offsets, ids: int64. weights: float64. Read-only.
    """

    offsets: NDArray[np.int64]
    ids: NDArray[np.int64]
    weights: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class IdMap(Value):
    """Old ids and their weights for each new id, immutable; `id_map` makes one, and so do prune, replace and merge.

    The weights of an id are positive and have the sum 1. An id without a token has no old ids, and so has a token of
    which the old tokenizer knows no part. Fingerprints are the SHA-256 of the vocabularies.

    >>> import subwords
    >>> tok = subwords.train(["low lower lowest"] * 9, vocab_size=260)
    >>> ids = subwords.adapt.id_map(tok, subwords.adapt.extend(tok, ["slowest slower"] * 9, count=3))
    >>> len(ids), ids[259], ids[260]
    (263, {259: 1.0}, {82: 0.5, 257: 0.5})
    """

    old_size: int
    old_fingerprint: str
    new_fingerprint: str
    offsets: NDArray[np.int64]
    ids: NDArray[np.int64]
    weights: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name in ("offsets", "ids", "weights"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def new_size(self) -> int:
        """The number of new ids, those without a token included."""
        return len(self)

    def __getitem__(self, index: int) -> Mapping[int, float]:
        """Return the old ids of a new id and their weights; InputError if there is no such id."""
        if not 0 <= (place := as_index(index, f"an id from 0 to {len(self) - 1}")) < len(self):
            raise InputError(f"expected an id from 0 to {len(self) - 1}, not {index!r:.40}")
        begin, end = self.offsets[place], self.offsets[place + 1]
        return dict(zip(self.ids[begin:end].tolist(), self.weights[begin:end].tolist(), strict=True))

    @property
    def changed(self) -> NDArray[np.int64]:
        """The new ids that are not the same id of the old tokenizer with weight 1: moved, new, or without a token."""
        alone = np.diff(self.offsets) == 1
        same = np.zeros(len(self), np.bool_)
        same[alone] = self.ids[self.offsets[:-1][alone]] == np.flatnonzero(alone)
        return np.flatnonzero(~same)

    def as_arrays(self) -> IdArrays:
        """Return the entries as arrays, in the layout of sparse rows (CSR)."""
        return IdArrays(self.offsets, self.ids, self.weights)

    def compose(self, later: IdMap) -> IdMap:
        """Return the map of two changes, one after the other: from the old ids of this one to the new ids of `later`.

        InputError unless the new tokenizer of this map is the old one of `later`.

        >>> import subwords
        >>> first = subwords.train(["low lower lowest"] * 9, vocab_size=260)
        >>> second = subwords.adapt.extend(first, ["slow"] * 9, count=1)
        >>> third = subwords.adapt.extend(second, ["slowly"] * 9, count=1)
        >>> both = subwords.adapt.id_map(first, second).compose(subwords.adapt.id_map(second, third))
        >>> both[260], both[261]
        ({82: 0.5, 257: 0.5}, {75: 0.5, 88: 0.5})
        """
        if not isinstance(later, IdMap):
            raise InputError(f"expected an IdMap to compose with, not {type(later).__name__}")
        if self.new_fingerprint != later.old_fingerprint or len(self) != later.old_size:
            raise InputError(
                "unrelated maps: expected one whose old tokenizer is the new one of this map; its vocabulary has "
                f"{later.old_size} ids and the fingerprint {later.old_fingerprint[:12]}, not {len(self)} and "
                f"{self.new_fingerprint[:12]}"
            )
        sizes = np.diff(self.offsets)[later.ids]
        owner = np.repeat(np.repeat(np.arange(len(later)), np.diff(later.offsets)), sizes)
        ends = np.cumsum(sizes)
        places = np.repeat(self.offsets[later.ids] - (ends - sizes), sizes) + np.arange(int(sizes.sum()))
        weights = self.weights[places] * np.repeat(later.weights, sizes)
        rows = _id_map_rows(owner, self.ids[places], weights, len(later))
        return IdMap(self.old_size, self.old_fingerprint, later.new_fingerprint, *rows)

    def check(self, old: TokenizerLike, new: TokenizerLike) -> None:
        """Raise InputError unless the map is from one tokenizer to the other, by their vocabularies."""
        for name, given, made in (("old", old, self.old_fingerprint), ("new", new, self.new_fingerprint)):
            tok = tokenizer_of(given, f"the {name} tokenizer")
            if (came := tok.model.vocab.digest) != made:
                raise InputError(
                    f"unrelated tokenizer: the map is for another {name} tokenizer, whose vocabulary has the "
                    f"fingerprint {made[:12]}, not {came[:12]}"
                )

    def save(self, path: str | PathLike[str]) -> None:
        """Write embedding_map.json, atomically; docs/adapting.md has its format. InputError if it cannot be written."""
        write_embedding_map(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> IdMap:
        """Read what `save` wrote; FormatError for other versions, ids out of range and weights without the sum 1."""
        return read_embedding_map(path)

    def __repr__(self) -> str:
        return f"IdMap({self.old_size} ids to {len(self)}, {len(self.changed)} changed)"


def id_map(tokenizer: TokenizerLike, other: TokenizerLike) -> IdMap:
    """Return which ids of `tokenizer` make up each id of `other`: the same token, or the mean of its parts.

    Defined in ALGORITHMS.md, C1.

    A token of both has its one old id. A new one has the ids that the old model gives its text as one word, each with
    the same weight. InputError for tokenizers that spell tokens differently, such as bytes and characters.

    >>> import subwords
    >>> tok = subwords.train(["ab ab"], vocab_size=257)
    >>> subwords.adapt.id_map(tok, tok.with_tokens(["<ab>"]))[257]
    {27: 0.3333333333333333, 256: 0.3333333333333333, 29: 0.3333333333333333}
    """
    tokenizer, other = tokenizer_of(tokenizer, "the old tokenizer"), tokenizer_of(other, "the new tokenizer")
    check_alphabets(tokenizer, other)
    mapped = _same(tokenizer, other)
    tokens = list(other.model.vocab)
    lengths = np.diff(other.model.vocab.offsets)
    fresh = np.flatnonzero((mapped < 0) & (lengths > 0)).tolist()
    return mapped_by(
        tokenizer, other, mapped, dict(zip(fresh, spelled(tokenizer, [tokens[i] for i in fresh]), strict=True))
    )


def mapped_by(old: Tokenizer, new: Tokenizer, mapped: NDArray[np.int64], parts: Mapping[int, Sequence[int]]) -> IdMap:
    """Return the map of new ids that are one old id (-1: they are not) and of those with parts."""
    alone = np.flatnonzero(mapped >= 0)
    listed = [(i, ids) for i, ids in parts.items() if len(ids)]
    sizes = np.array([len(ids) for _, ids in listed], np.int64)
    owner = np.concatenate([alone, np.repeat(np.array([i for i, _ in listed], np.int64), sizes)])
    ids = np.concatenate([mapped[alone], np.array([one for _, ids in listed for one in ids], np.int64)])
    weights = np.concatenate([np.ones(len(alone)), np.repeat(1 / np.maximum(sizes, 1), sizes)])
    order = np.argsort(owner, kind="stable")
    rows = _id_map_rows(owner[order], ids[order], weights[order], len(mapped))
    vocab = old.model.vocab
    return IdMap(len(vocab), vocab.digest, new.model.vocab.digest, *rows)


def _same(old: Tokenizer, new: Tokenizer) -> NDArray[np.int64]:
    """Return the old id of each new id with the same token, -1 for others and for ids without a token.

    Of several, the same id, or else one that is special if and only if the new one is.
    """
    kinds: tuple[dict[bytes, int], dict[bytes, int]] = {}, {}
    before, after = list(old.model.vocab), list(new.model.vocab)
    special, now = old.model.special_ids, new.model.special_ids
    for index, token in enumerate(before):
        if token:
            kinds[index in special].setdefault(token, index)
    found = np.full(len(after), -1, np.int64)
    for index, token in enumerate(after):
        if not token:
            continue
        if index < len(before) and before[index] == token:
            found[index] = index
            continue
        alike, other = kinds[index in now], kinds[index not in now]
        found[index] = alike.get(token, other.get(token, -1))
    return found


def _id_map_rows(
    owner: NDArray[np.int64], ids: NDArray[np.int64], weights: NDArray[np.float64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return offsets, ids and weights of rows; equal ids of a row are one, and the sum of its weights is 1."""
    if len(owner):
        keys = owner * (int(ids.max()) + 1) + ids
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        totals = np.bincount(which.ravel(), weights).astype(np.float64)
        order = np.argsort(first)
        owner, ids, weights = owner[first[order]], ids[first[order]], totals[order]
        sums = np.bincount(owner, weights, minlength=size).astype(np.float64)
        weights = np.where(np.abs(sums[owner] - 1) < 1e-12, weights, weights / sums[owner])
    sizes = np.bincount(owner, minlength=size).astype(np.int64)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]), ids, weights
