"""The bytes of all tokens as arrays, and the trie of these bytes (D11)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NoReturn, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from subwords.spec.vocab import Vocab
from subwords.support.checks import as_index, check_choice, exact
from subwords.support.errors import InputError
from subwords.support.value import read_only

if TYPE_CHECKING:
    from subwords.spec.tokenizer import TokenizerSpec

Flags: TypeAlias = NDArray[np.bool_]
Matching: TypeAlias = Literal["begins", "extends", "contains", "fits"]


@dataclass(frozen=True, eq=False, repr=False)
class TokenTrie:
    """The trie of the bytes of all tokens, as flat arrays; made by `TokenTable.trie`.

    Nodes are numbered depth first, children in the order of their bytes; node 0 is the root. labels: uint8, the byte
    that leads to each node. ends: int32, the number after the last node below it: the children of n are n + 1,
    ends[n + 1], ... before ends[n]. ids: int32, all ids with bytes in the order of their nodes; those whose bytes end
    at n are ids[starts[n]:starts[n + 1]], those at n or below it ids[starts[n]:starts[ends[n]]]. starts: int32.

    >>> import subwords
    >>> trie = subwords.train(["ab ab"], vocab_size=257).token_table().trie
    >>> trie.ids_below(trie.find(b"a")).tolist()
    [64, 256]
    """

    labels: NDArray[np.uint8]
    ends: NDArray[np.int32]
    starts: NDArray[np.int32]
    ids: NDArray[np.int32]
    _table: TokenTable = field(compare=False)

    def find(self, data: bytes) -> int:
        """Return the node that some bytes lead to from the root, -1 if there is none."""
        tokens, size = self.tokens, len(_checked(data))
        first = bisect_left(tokens, data)  # the node is one of those that this token added
        if first == len(tokens) or tokens[first][:size] != data:
            return 0 if not data else -1
        return int(np.searchsorted(self.starts, first, "right")) - 1 - (len(tokens[first]) - size)

    @cached_property
    def tokens(self) -> list[bytes]:
        """The bytes of `ids`."""
        return [self._table[index] for index in self.ids.tolist()]

    def ids_below(self, node: int) -> NDArray[np.int32]:
        """Return the ids whose bytes begin with those of a node, in the order of their bytes; none for -1."""
        if not -1 <= (node := as_index(node, "a node as an int")) < len(self.labels):
            raise InputError(f"expected a node from 0 to {len(self.labels) - 1}, or -1, not {node!r:.60}")
        return self.ids[:0] if node < 0 else self.ids[self.starts[node] : self.starts[self.ends[node]]]

    def mask(self, data: bytes, matching: Matching = "begins") -> Flags:
        """Return which ids match some bytes, bool of shape (vocab_size,). Ids without bytes match nothing.

        matching: "begins": the token begins with the bytes, or is them. "extends": it begins with them and is longer.
        "contains": they are somewhere in it. "fits": it begins with them, or they begin with it: what may come first
        where a text must go on with these bytes.

        >>> import subwords
        >>> table = subwords.train(["ab ab"], vocab_size=258).token_table()
        >>> [table[index] for index in table.trie.mask(b"ab", "contains").nonzero()[0]]
        [b'ab', b' ab']
        """
        check_choice("matching", matching, get_args(Matching))
        found = np.zeros(len(self._table), np.bool_)
        if matching == "contains":
            found[self._table.containing(_checked(data))] = True
            return found
        node = self.find(data)
        found[self.ids_below(node)] = True
        if matching == "extends" and node >= 0:
            found[self.ids[self.starts[node] : self.starts[node + 1]]] = False
        if matching == "fits":
            found[self.ids_within(data)] = True
        return found

    def ids_within(self, data: bytes) -> NDArray[np.int32]:
        """Return the ids whose bytes some bytes begin with, the shortest first."""
        nodes = [self.find(data[:size]) for size in range(1, min(len(_checked(data)), self._table.longest) + 1)]
        rows = [self.ids[self.starts[node] : self.starts[node + 1]] for node in nodes if node >= 0]
        return np.concatenate([self.ids[:0], *rows])

    def __reduce__(self) -> NoReturn:
        raise InputError("a TokenTrie cannot be pickled: tok.token_table().trie makes it again")

    def __repr__(self) -> str:
        return f"TokenTrie({len(self.labels)} nodes, {len(self.ids)} tokens)"


@dataclass(frozen=True, eq=False, repr=False)
class TokenTable(Sequence[bytes]):
    """The bytes that each id adds to a text, and what kind of token it is; made by `Tokenizer.token_table`.

    data: uint8; data[offsets[i]:offsets[i + 1]] are the bytes of id i, as `token_bytes` returns them. offsets: int64.
    Of bool, by id: special: `decode` leaves it out on request. control: it has a name and no text. unused: it has no
    token, or no text ever yields it. adds_space: encoding puts a space before a text. drops: the space at an end of the
    joined bytes that decoding drops: "first", "last" or "none".
    """

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    special: Flags
    control: Flags
    unused: Flags
    adds_space: bool
    drops: Literal["none", "first", "last"]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> bytes:  # type: ignore[override]
        """Return the bytes of an id."""
        if not 0 <= (place := as_index(index, f"an id from 0 to {len(self) - 1}")) < len(self):
            raise InputError(f"expected an id from 0 to {len(self) - 1}, not {index!r:.60}")
        return self.data[self.offsets[place] : self.offsets[place + 1]].tobytes()

    def __iter__(self) -> Iterator[bytes]:
        data, bounds = self.data.tobytes(), self.offsets.tolist()
        return (data[a:b] for a, b in pairwise(bounds))

    @cached_property
    def longest(self) -> int:
        """The bytes of the longest token."""
        return int(np.diff(self.offsets).max(initial=0))

    @cached_property
    def trie(self) -> TokenTrie:
        """The trie of the bytes."""
        ids, shared = self._sorted()
        sizes = np.diff(self.offsets)[ids]
        begins = np.concatenate(
            [np.ones(1, np.int64), 1 + np.cumsum(sizes - shared)]
        )  # each token adds nodes at its end
        total = int(begins[-1])
        steps = np.arange(total - 1) - np.repeat(begins[:-1] - 1, sizes - shared)
        depths, labels = np.zeros(total, np.int32), np.zeros(total, np.uint8)
        depths[1:] = np.repeat(shared + 1, sizes - shared) + steps
        labels[1:] = self.data[np.repeat(self.offsets[ids] + shared, sizes - shared) + steps]
        places = begins[1:] - 1
        firsts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(places, minlength=total))])
        starts, order = firsts.astype(np.int32), ids.astype(np.int32)
        return TokenTrie(read_only(labels), read_only(_ends(depths)), read_only(starts), read_only(order), self)

    def _sorted(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the ids with bytes in the order of these, and how many each shares with the one before."""
        sizes = np.diff(self.offsets)
        ids = np.flatnonzero(sizes)
        data = np.concatenate([self.data, np.zeros(8, np.uint8)])
        group, open_, at = np.zeros(len(ids), np.int64), np.arange(len(ids)), 0  # groups of equal bytes so far
        while len(open_):
            some = ids[open_]
            rest = (sizes[some] - at).clip(0, 8)
            columns = data[np.minimum(self.offsets[some] + at, len(data) - 8)[:, None] + np.arange(8)]
            columns[np.arange(8) >= rest[:, None]] = 0
            keys, groups = columns.view(">u8").ravel().astype(np.uint64), group[open_]
            order = np.lexsort((rest, keys, groups))
            some, keys, rest, groups = some[order], keys[order], rest[order], groups[order]
            ids[open_] = some
            new = np.ones(len(some), np.bool_)
            new[1:] = (keys[1:] != keys[:-1]) | (rest[1:] != rest[:-1]) | (groups[1:] != groups[:-1])
            group[open_] = open_[np.maximum.accumulate(np.where(new, np.arange(len(some)), 0))]
            alone = new & np.append(new[1:], True)
            open_, at = open_[~alone & (rest == 8)], at + 8
        shared, active = np.zeros(len(ids), np.int64), np.arange(1, len(ids))
        size = 0
        while len(active):
            a, b = ids[active - 1], ids[active]
            inside = (sizes[a] > size) & (sizes[b] > size)
            active, a, b = active[inside], a[inside], b[inside]
            active = active[self.data[self.offsets[a] + size] == self.data[self.offsets[b] + size]]
            size += 1
            shared[active] = size
        return ids, shared

    def containing(self, data: bytes) -> NDArray[np.int64]:
        """Return the ids whose bytes contain some bytes, ascending; all with bytes for b""."""
        size, sizes = len(_checked(data)), np.diff(self.offsets)
        if not size:
            return np.flatnonzero(sizes)
        at = np.flatnonzero(self.data[: len(self.data) - size + 1] == data[0])
        for k in range(1, size):
            at = at[self.data[at + k] == data[k]]
        ids = np.searchsorted(self.offsets, at, "right") - 1
        return np.unique(ids[at + size <= self.offsets[ids + 1]])

    def __reduce__(self) -> NoReturn:
        raise InputError("a TokenTable cannot be pickled: pickle the tokenizer, and tok.token_table() makes it again")

    def __repr__(self) -> str:
        return f"TokenTable({len(self)} ids, {self.offsets[-1]} bytes)"


def _ends(depths: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the number after the last node below each node, for nodes in depth-first order."""
    ends = np.zeros(len(depths), np.int32)
    order = np.argsort(depths, kind="stable").astype(np.int32)
    levels = np.searchsorted(depths[order], np.arange(int(depths.max()) + 2))
    above, ends[0] = order[:1], len(depths)
    for first, stop in pairwise(levels[1:].tolist()):
        level = order[first:stop]
        parents = above[np.searchsorted(above, level) - 1]
        ends[level] = np.minimum(np.append(level[1:], len(depths)), ends[parents])
        above = level
    return ends


def _checked(data: object) -> bytes:
    if not isinstance(data, bytes):
        raise InputError(f"expected bytes, not {type(data).__name__}")
    return exact(data)


def table_of(
    spec: TokenizerSpec, texts: Vocab, decode: Callable[[list[int]], str], encode: Callable[[str], list[int]]
) -> TokenTable:
    """Return the table of a tokenizer. texts: the bytes by id."""
    model, size = spec.model, len(texts)
    added = {token.id for token in spec.added_tokens}
    known = added | {index for index in model.byte_ids.tolist() if index >= 0} | {model.unk_id}
    special, unused = np.zeros(size, np.bool_), np.diff(model.vocab.offsets) == 0
    special[[token.id for token in spec.added_tokens if token.special]] = True
    unused[[index for index in model.special_ids | model.unused_ids if index not in known]] = True
    control = ~unused & (np.diff(texts.offsets) == 0)
    adds, drops = _spaces(texts, decode, encode)
    data = texts.data[: texts.offsets[-1]]
    flags = {"special": read_only(special), "control": read_only(control), "unused": read_only(unused)}
    return TokenTable(data, texts.offsets, **flags, adds_space=adds, drops=drops)


def _spaces(
    texts: Vocab, decode: Callable[[list[int]], str], encode: Callable[[str], list[int]]
) -> tuple[bool, Literal["none", "first", "last"]]:
    """Return whether encoding adds a space before a text, and which one decoding drops: what a word shows."""
    words = [(index, data.strip(b" ")) for index, data in enumerate(texts)]
    ascii_ = [(index, word) for index, word in words if word.isalpha() and word.isascii()]
    drops: Literal["none", "first", "last"] = "none"
    spaced = next((index for index, word in ascii_ if len(texts[index]) == len(word) + 1), None)
    lone = next((index for index, _ in words if texts[index] == b" "), None)
    some = [spaced] if spaced is not None else [lone, ascii_[0][0]] if lone is not None and ascii_ else []
    if some:
        data = b"".join(texts[index] for index in some)
        shown = decode(some).encode()
        drops = "none" if shown == data else "first" if data.startswith(b" ") else "last"
    for _, word in ascii_:
        try:
            joined = b"".join(texts[index] for index in encode(word.decode()))
        except InputError:
            continue
        if joined.strip(b" ") == word:
            return joined.startswith(b" "), drops
    return False, drops
