"""A cache of prompts: texts that begin like earlier ones are encoded from a proved cut on."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from sys import getsizeof
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from subwords.engine.growing import FRESH, LOOK, NO_IDS, ROOT, Before, Ids
from subwords.support.checks import check_integer, encode_text
from subwords.support.errors import InputError

if TYPE_CHECKING:
    from subwords.engine.growing import Grower
    from subwords.tokenizer import SpecialPolicy, Tokenizer

MARK = 4096  # characters from one mark to the next, about
LABEL = 1 << 14  # characters of a leaf that still grows: longer ones would be copied too often
OF_NODE, OF_MARK = 700, 150  # bytes of a node and of a mark, besides text and ids


class Mark(NamedTuple):
    """A proved cut: its character, the number of ids before it, and what the text after it depends on."""

    place: int
    count: int
    before: Before


START = Mark(0, 0, FRESH)


class Node:
    """Text that several prompts have in common, or the rest of one; a node of a tree by characters.

    marks: the cuts that are proved when its text was read. ids: from the last mark before its own to its last one.
    key: its first character; of a root, the salt.
    """

    __slots__ = ("children", "ids", "key", "marks", "parent", "text")

    def __init__(self, parent: Node | None, key: object, text: str, marks: list[Mark], ids: Ids) -> None:
        self.parent, self.key, self.text, self.marks, self.ids = parent, key, text, marks, ids
        self.children: dict[str, Node] = {}

    @property
    def size(self) -> int:
        """The bytes that it takes, about."""
        return OF_NODE + getsizeof(self.text) + self.ids.nbytes + OF_MARK * len(self.marks)


class Walk(NamedTuple):
    """How far a text is known: nodes whose whole text it has, then `common` characters of `other`."""

    path: list[Node]
    at: int  # the character after the nodes
    other: Node | None
    common: int
    mark: Mark  # the last one that is proved
    parts: list[Ids]  # the ids up to there


class CacheStats(NamedTuple):
    """What a cache did: `texts` and their `ids`, how many of these were `known`, and the `bytes` that it holds now."""

    texts: int
    ids: int
    known: int
    bytes: int


class PromptCache:
    """Encodes prompts that begin like earlier ones without encoding their common part again; threads may share it.

    special: as in `Tokenizer.encode`. max_bytes: what it holds at most; the texts used least recently are dropped.
    Ids are those of `tok.encode`: known ids are used up to a cut that is proved (ALGORITHMS.md, G1), texts are compared
    and not hashed. Raises InputError for a wrong value.

    Hazard: who can measure times learns whether a beginning of a text is known. A `salt` keeps tenants apart.

    >>> import subwords
    >>> tok = subwords.load("demo")
    >>> cache = subwords.PromptCache(tok)
    >>> prompt = "The rays of light are refracted. " * 9
    >>> cache.encode(prompt) == tok.encode(prompt), cache.encode(prompt + "Why?") == tok.encode(prompt + "Why?")
    (True, True)
    >>> cache.stats.texts, cache.stats.known > 50
    (2, True)
    """

    def __init__(self, tok: Tokenizer, *, special: SpecialPolicy = "text", max_bytes: int = 256 << 20) -> None:
        from subwords.tokenizer import grower_of, tokenizer_of

        check_integer("max_bytes", max_bytes, 1 << 16, 1 << 48)
        self._grower: Grower = grower_of(tokenizer_of(tok), special)
        self._most = max_bytes
        self._lock = Lock()
        self._roots: dict[object, Node] = {}
        self._used: OrderedDict[Node, None] = OrderedDict()  # each node after its children, the least recent first
        self._bytes = self._texts = self._ids = self._known = self._changes = 0

    def encode(self, text: str, *, salt: str | bytes | None = None) -> list[int]:
        """Return the ids of a text, as `Tokenizer.encode` does; texts of different salts share nothing."""
        ids: list[int] = self.encode_to_numpy(text, salt=salt).tolist()
        return ids

    def encode_to_numpy(self, text: str, *, salt: str | bytes | None = None) -> Ids:
        """Return the ids as a uint32 array: for a long text much faster than a list.

        Raises InputError as `Tokenizer.encode` does; the cache then stays as it was.
        """
        if not isinstance(text, str):
            raise InputError(f"expected text as str, not {type(text).__name__}")
        if not isinstance(salt, str | bytes | None):
            raise InputError(f"expected salt as str, bytes or None, not {type(salt).__name__}")
        with self._lock:
            walk, changes = self._walk(text, salt), self._changes
        rest = text[walk.mark.place :]
        if not rest.isascii():
            encode_text(rest)
        start, count, before = walk.mark
        root = ROOT._replace(before=before)
        block, end = self._grower.settled(root, rest, most=MARK)
        found, marks = block.ids_after(root), list[Mark]()
        while block.parent is not None:
            marks.append(Mark(start + block.chars, count + block.count, block.before))
            block = block.parent
        ids = np.concatenate([*walk.parts, *found, self._grower.after(marks[0].before if marks else before, end)])
        with self._lock:
            self._texts, self._ids, self._known = self._texts + 1, self._ids + len(ids), self._known + count
            if changes != self._changes:  # by another thread
                walk = self._walk(text, salt)
            self._insert(text, salt, ids, marks[::-1], walk)
        return ids

    @property
    def stats(self) -> CacheStats:
        """What the cache did."""
        with self._lock:
            return CacheStats(self._texts, self._ids, self._known, self._bytes)

    def clear(self) -> None:
        """Drop all texts."""
        with self._lock:
            self._roots.clear()
            self._used.clear()
            self._bytes, self._changes = 0, self._changes + 1

    def _walk(self, text: str, salt: object) -> Walk:
        at, mark, parts = 0, START, list[Ids]()
        root = self._roots.get(salt)
        if root is None:
            return Walk([], 0, None, 0, mark, parts)
        path = [root]
        while (node := path[-1].children.get(text[at : at + 1])) is not None:
            if not text.startswith(node.text, at):
                common = _common(node.text, text, at)
                proved = bisect_right(node.marks, at + common - LOOK, key=_place)
                if proved:
                    parts.append(node.ids[: node.marks[proved - 1].count - mark.count])
                    mark = node.marks[proved - 1]
                return Walk(path, at, node, common, mark, parts)
            path.append(node)
            at += len(node.text)
            if node.marks:
                mark = node.marks[-1]
                parts.append(node.ids)
        return Walk(path, at, None, 0, mark, parts)

    def _insert(self, text: str, salt: object, ids: Ids, marks: list[Mark], walk: Walk) -> None:
        path, at = walk.path, walk.at
        new = [mark for mark in marks if mark.place > walk.mark.place]
        more = len(text) - at - walk.common
        if new and more > 0 and OF_NODE + 8 * more <= self._most:
            self._changes += 1
            if not path:
                self._roots[salt] = root = Node(None, salt, "", [], NO_IDS)
                path.append(root)
                self._hold(root)
            if walk.other is not None:
                path.append(self._divided(walk.other, at, walk.common, walk.mark))
                at += walk.common
            last, known = path[-1], ids[walk.mark.count : new[-1].count]
            if last.parent is not None and not last.children and len(last.text) < LABEL:
                self._bytes -= last.size
                last.text, last.marks = last.text + text[at:], last.marks + new
                last.ids = np.concatenate([last.ids, known])
                self._bytes += last.size
            else:
                path.append(Node(last, text[at], text[at:], new, known.copy()))
                last.children[text[at]] = path[-1]
                self._hold(path[-1])
        if walk.other is not None and walk.other in self._used:
            self._used.move_to_end(walk.other)
        for node in reversed(path):
            self._used.move_to_end(node)
        while self._bytes > self._most:
            self._drop(next(iter(self._used)))

    def _hold(self, node: Node) -> None:
        self._used[node] = None
        self._bytes += node.size

    def _drop(self, node: Node) -> None:
        del self._used[node]
        self._bytes -= node.size
        home: dict[Any, Node] = self._roots if node.parent is None else node.parent.children
        del home[node.key]

    def _divided(self, node: Node, at: int, common: int, mark: Mark) -> Node:
        """Cut a node after `common` characters; return the new node of these. mark: the last one in it, or before."""
        assert node.parent is not None, "a root has no text to divide"
        self._bytes -= node.size
        proved = bisect_right(node.marks, at + common - LOOK, key=_place)
        count = len(node.ids) - (node.marks[-1].count - mark.count) if proved else 0
        upper = Node(node.parent, node.key, node.text[:common], node.marks[:proved], node.ids[:count].copy())
        node.parent.children[upper.text[0]] = upper
        node.text, node.marks, node.ids = node.text[common:], node.marks[proved:], node.ids[count:].copy()
        node.parent, node.key = upper, node.text[0]
        upper.children[node.text[0]] = node
        self._bytes += node.size
        self._hold(upper)
        return upper


def _place(mark: Mark) -> int:
    return mark.place


def _common(label: str, text: str, at: int) -> int:
    """Return how many characters of a label the text has at a place: fewer than all."""
    low, high = 0, len(label)
    while high - low > 1:
        middle = (low + high) // 2
        if text.startswith(label[low:middle], at + low):
            low = middle
        else:
            high = middle
    return low
