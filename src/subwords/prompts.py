"""A cache of prompts: texts that begin like earlier ones are encoded from a proved cut on."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from sys import getsizeof
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from subwords.engine.growing import FRESH, LOOK, NO_IDS, ROOT, Before, Ids, SettledText
from subwords.support.checks import check_integer, encode_text, exact
from subwords.support.errors import InputError
from subwords.tokenizer import grower_of, tokenizer_of

if TYPE_CHECKING:
    from subwords.engine.growing import Grower
    from subwords.tokenizer import SpecialPolicy, TokenizerLike

MARK = 1024  # characters from one mark to the next, about
FEW_CHARACTERS = MARK // 4  # characters after a mark that get none
LABEL = 1 << 14  # characters of a leaf that still grows: longer ones would be copied too often
OF_NODE, OF_MARK = 700, 150  # bytes of a node and of a mark, besides text and ids


class Mark(NamedTuple):
    """A proved cut: its character, the number of ids before it, and what the text after it depends on."""

    place: int
    total_ids: int
    before: Before


START = Mark(0, 0, FRESH)


class PromptNode:
    """Text that several prompts have in common, or the rest of one; a node of a tree by characters.

    marks: the cuts that are proved when its text was read. ids: those from id `first` on, which is not after the last
    mark before its own, up to its last mark. key: its first character; of a root, the salt.
    """

    __slots__ = ("children", "first", "ids", "key", "marks", "parent", "text")

    def __init__(
        self, parent: PromptNode | None, key: object, text: str, marks: list[Mark], first: int, ids: Ids
    ) -> None:
        self.parent, self.key, self.text, self.marks, self.first, self.ids = parent, key, text, marks, first, ids
        self.children: dict[str, PromptNode] = {}

    @property
    def size(self) -> int:
        """The bytes that it takes, about."""
        return OF_NODE + getsizeof(self.text) + self.ids.nbytes + OF_MARK * len(self.marks)


class Walk(NamedTuple):
    """How far a text is known: nodes whose whole text it has, then some characters of `other`."""

    path: list[PromptNode]
    at: int  # the character after the nodes
    other: PromptNode | None
    known: int  # the character after those of `other`
    mark: Mark  # the last one that is proved
    parts: list[Ids]  # the ids up to there


class CacheStats(NamedTuple):
    """What a cache did: `texts` and their `ids`, how many of these were `known`, and the `bytes` that it holds now."""

    texts: int
    ids: int
    known: int
    bytes: int


class PromptCache:
    """Encodes prompts that share a prefix with earlier ones without encoding it again; threads may share it.

    tok: a tokenizer, a path or a name. special: as in `Tokenizer.encode`. max_bytes: what it holds at most; the texts
    used least recently are dropped.
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

    def __init__(self, tok: TokenizerLike, *, special: SpecialPolicy = "text", max_bytes: int = 256 << 20) -> None:
        check_integer("max_bytes", max_bytes, 1 << 16, 1 << 48)
        self._grower: Grower = grower_of(tokenizer_of(tok), special)
        self._most = max_bytes
        self._lock = Lock()
        self._roots: dict[object, PromptNode] = {}
        self._used: OrderedDict[PromptNode, None] = (
            OrderedDict()
        )  # each node after its children, the least recent first
        self._bytes = self._texts = self._ids = self._known = self._changes = 0

    def encode(self, text: str, *, salt: str | bytes | None = None) -> list[int]:
        """Return the ids of a text, as `Tokenizer.encode` does; texts of different salts share nothing."""
        return self._grower.listed(self.encode_to_numpy(text, salt=salt))

    def encode_to_numpy(self, text: str, *, salt: str | bytes | None = None) -> Ids:
        """Return the ids as a uint32 array: for a long text much faster than a list.

        Raises InputError as `Tokenizer.encode` does; the cache then stays as it was.
        """
        if not isinstance(text, str):
            raise InputError(f"expected text as str, not {type(text).__name__}")
        text = exact(text)
        if not isinstance(salt, str | bytes | None):
            raise InputError(f"expected salt as str, bytes or None, not {type(salt).__name__}")
        with self._lock:
            walk, changes = self._walk(text, salt), self._changes
        rest = text[walk.mark.place :]
        if not rest.isascii():
            encode_text(rest)
        mark, known = walk.mark, walk.known - walk.mark.place
        root = ROOT._replace(before=mark.before, chars=mark.place, total_ids=mark.total_ids)
        shared, block, end = root, root, rest
        if len(rest) > FEW_CHARACTERS or not mark.place:  # fewer are encoded again for less than a mark costs
            if known > MARK // 8:  # the next text that differs here too will find a mark
                shared, end = self._grower.settled(root, rest[:known], most=MARK)
                end += rest[known:]
            block, end = self._grower.settled(shared, end, most=MARK)
        ids = np.concatenate([*walk.parts, *block.ids_after(root), self._grower.after(block.before, end)])
        with self._lock:
            self._texts, self._ids, self._known = self._texts + 1, self._ids + len(ids), self._known + mark.total_ids
            if changes != self._changes:  # by another thread
                walk = self._walk(text, salt)
            self._insert(text, salt, ids, _marks(shared, root), _marks(block, shared), walk)
        return ids

    def __repr__(self) -> str:
        found = self.stats
        share = f"{found.known / found.ids:.0%}" if found.ids else "none"
        return (
            f"PromptCache({found.texts:,} texts, {found.ids:,} ids, {share} of them known, {found.bytes:,} bytes held)"
        )

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

    def __reduce__(self) -> NoReturn:
        raise InputError("a PromptCache cannot be pickled: each process makes its own, PromptCache(tok)")

    def _walk(self, text: str, salt: object) -> Walk:
        at, mark, parts = 0, START, list[Ids]()
        root = self._roots.get(salt)
        if root is None:
            return Walk([], 0, None, 0, mark, parts)
        path = [root]
        while (node := path[-1].children.get(text[at : at + 1])) is not None:
            whole = text.startswith(node.text, at)
            known = at + (len(node.text) if whole else _common(node.text, text, at))
            proved = len(node.marks) if whole else bisect_right(node.marks, known - LOOK, key=_place)
            if proved and node.marks[proved - 1].place > mark.place:
                last = node.marks[proved - 1]
                parts.append(node.ids[mark.total_ids - node.first : last.total_ids - node.first])
                mark = last
            if not whole:
                return Walk(path, at, node, known, mark, parts)
            path.append(node)
            at = known
        return Walk(path, at, None, at, mark, parts)

    def _insert(self, text: str, salt: object, ids: Ids, shared: list[Mark], others: list[Mark], walk: Walk) -> None:
        """Add a text: `shared` marks are proved by known characters if no other thread changed the tree."""
        path, at, mark = walk.path, walk.at, walk.mark
        more, new = len(text) - walk.known, [each for each in others if each.place > mark.place]
        if new and more > 0 and OF_NODE + 8 * more <= self._most:
            self._changes += 1
            if not path:
                self._roots[salt] = root = PromptNode(None, salt, "", [], 0, NO_IDS)
                path.append(root)
                self._hold(root)
            if walk.other is not None:
                path.append(self._divided(walk.other, at, walk.known))
                at = walk.known
            found = [each for each in shared if mark.place < each.place <= at - LOOK]
            if found and path[-1].parent is not None:
                self._extend(path[-1], "", found, ids, mark)
                mark = found[-1]
            last = path[-1]
            if last.parent is not None and not last.children and len(last.text) < LABEL:
                self._extend(last, text[at:], new, ids, mark)
            else:
                known = ids[mark.total_ids : new[-1].total_ids].copy()
                path.append(PromptNode(last, text[at], text[at:], new, mark.total_ids, known))
                last.children[text[at]] = path[-1]
                self._hold(path[-1])
        if walk.other is not None and walk.other in self._used:
            self._used.move_to_end(walk.other)
        for node in reversed(path):
            self._used.move_to_end(node)
        while self._bytes > self._most:
            self._drop(next(iter(self._used)))

    def _extend(self, node: PromptNode, text: str, marks: list[Mark], ids: Ids, mark: Mark) -> None:
        """Add text and marks to a node; `mark`: the last one before them."""
        self._bytes -= node.size
        if not node.marks:
            node.first, node.ids = mark.total_ids, NO_IDS
        marks = [each for each in marks if not node.marks or each.place > node.marks[-1].place]
        node.ids = np.concatenate([node.ids, ids[node.first + len(node.ids) : marks[-1].total_ids]])
        node.text, node.marks = node.text + text, node.marks + marks
        self._bytes += node.size

    def _hold(self, node: PromptNode) -> None:
        self._used[node] = None
        self._bytes += node.size

    def _drop(self, node: PromptNode) -> None:
        del self._used[node]
        self._bytes -= node.size
        home: dict[Any, PromptNode] = self._roots if node.parent is None else node.parent.children
        del home[node.key]

    def _divided(self, node: PromptNode, at: int, known: int) -> PromptNode:
        """Cut a node, which begins at character `at`, before another one; return the new node of what is before it."""
        assert node.parent is not None, "a root has no text to divide"
        self._bytes -= node.size
        proved, common = bisect_right(node.marks, known - LOOK, key=_place), known - at
        count = node.marks[proved - 1].total_ids - node.first if proved else 0
        marks, ids = node.marks[:proved], node.ids[:count].copy()
        upper = PromptNode(node.parent, node.key, node.text[:common], marks, node.first, ids)
        node.parent.children[upper.text[0]] = upper
        node.text, node.marks, node.ids = node.text[common:], node.marks[proved:], node.ids[count:].copy()
        node.parent, node.key, node.first = upper, node.text[0], node.first + count
        upper.children[node.text[0]] = node
        self._bytes += node.size
        self._hold(upper)
        return upper


def _marks(block: SettledText, first: SettledText) -> list[Mark]:
    """Return the cuts after one block up to the end of another."""
    found = []
    while block is not first:
        found.append(Mark(block.chars, block.total_ids, block.before))
        assert block.parent is not None, "all blocks begin with the first"
        block = block.parent
    return found[::-1]


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
