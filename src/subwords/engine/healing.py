"""Which ids of a text stay whatever follows it, for byte-level BPE: exact, or refused (ALGORITHMS.md, X1)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords.engine.growing import ProvedCuts
from subwords.kernels.layout import CODE_POINTS, REACH
from subwords.spec.splitter import Split
from subwords.spec.token_batch import as_ids
from subwords.support.errors import InputError

if TYPE_CHECKING:
    from subwords.engine.decode.token_table import TokenTable
    from subwords.engine.engine import Engine
    from subwords.split.transducer import Machine

Ids: TypeAlias = tuple[int, ...]
# By the class of the first character, the classes of a text that puts some borders.
Paths: TypeAlias = dict[int, tuple[int, ...]]
SAVED = 1  # of places counted from the end of a text, which are at most 0: the saved place, wherever it is
TRIED = 1 << 13  # characters that are tried after ids
BATCH = 256  # tokens that are encoded at once


@dataclass(frozen=True)
class Healing:
    """How a text can go on: the ids that every longer text keeps, how many are taken back, and the bytes that follow.

    ids: a tuple. taken: how many ids at the end are taken back. data: the bytes of these, with which the text goes on.
    """

    ids: Ids
    taken: int
    data: bytes


class Splitting(NamedTuple):
    """One way in which longer texts split a text: the borders inside it, and whether a word ends at its end."""

    borders: tuple[int, ...]
    closed: bool
    paths: Paths  # of the texts after it that do so


class Beginning(NamedTuple):
    """Ids up to a place at or before the end of a text, where a token that goes beyond it may begin."""

    shared: int  # ids at the beginning that are those of the text
    back: int  # bytes from the end of the text to the place: 0 or less
    ids: Ids
    last: Ids  # the id that ends there in the same word, if there is one
    borders: tuple[int, ...]
    closed: bool
    paths: Paths


class Healer:
    """Heals texts for one tokenizer and one policy for special tokens."""

    def __init__(self, engine: Engine, table: TokenTable, special: Any) -> None:
        self._engine, self._table, self._trie, self._special = engine, table, table.trie, special
        finder, machine = engine.added.finder(special), engine.splitter.machine
        added = finder.literal.tokens
        flagged = finder.normalized.tokens or any(t.single_word or t.lstrip or t.rstrip for t in added.values())
        reasons = {
            "another model, or tokens that merges do not make": not engine.segmenter.goes_on,
            "a normalizer": engine.normalizer is not None,
            "a splitter that changes text": not all(isinstance(step, Split) for step in engine.splitter.rule),
            "a splitter that is not one automaton": machine is None,
            "added tokens with normalized, single_word, lstrip or rstrip": flagged,
        }
        if machine is None or any(reasons.values()):
            why = next(why for why, holds in reasons.items() if holds)
            raise InputError(
                "heal needs byte-level BPE with all bytes, no normalizer and a splitter that is one automaton: "
                f"this tokenizer has {why}"
            )
        self._added, self._vocab, self._encoder = {t.id for t in added.values()}, [*engine.model.vocab], engine.encoder
        self._cuts, self._quick = ProvedCuts(engine, special), engine.fast_paths["text"].encode
        self._machine, (self._future, self._uses) = machine, _late_borders(machine)
        self._known: dict[tuple[int, bool, frozenset[int] | None], dict[frozenset[int], Paths]] = {}

    def heal(self, text: str | Iterable[int]) -> Healing:
        """Return which ids stay whatever follows; see `Tokenizer.heal`."""
        found = self._engine.encode(text, self._special) if isinstance(text, str) else as_ids(text)
        row, size = tuple(found.tolist()), len(self._vocab)
        if (wrong := next((at for at, index in enumerate(row) if not 0 <= index < size), None)) is not None:
            raise InputError(f"expected ids from 0 to {size - 1}; ids[{wrong}] is {row[wrong]}")
        start = max((at + 1 for at, index in enumerate(row) if index in self._added), default=0)
        kept = start + self._kept(row[start:])
        return Healing(row[:kept], len(row) - kept, b"".join(self._table[index] for index in row[kept:]))

    def _kept(self, row: Ids) -> int:
        """Return how many ids at the beginning all longer texts share with a row."""
        if (whole := _whole_characters(b"".join(self._vocab[index] for index in row))) is None:
            raise InputError("expected ids whose bytes begin a text in UTF-8")
        text, half = whole
        cut = self._cuts.last(text, 0, len(text))
        head, text = tuple(self._ids(text[:cut])), text[cut:]
        if not row or row[: len(head)] != head:
            return _common(head, row)
        best = undecided = len(row)
        found = self._beginnings(row[len(head) :], text, half)
        for each in sorted(found, key=lambda each: (each.shared, not each.closed, each.back)):
            shared = len(head) + each.shared
            if shared >= best:
                break
            occurs = each.closed or self._occurs(each, text, half)
            if occurs:
                best = shared
            elif occurs is None:
                undecided = min(undecided, shared)
        if undecided < best:
            raise InputError("heal is not proved for this text: with more text, the splitter might cut it otherwise")
        return best

    def _beginnings(self, row: Ids, text: str, half: bytes) -> Iterator[Beginning]:
        """Yield the ids before the last place at or before the end where a token of a longer text may begin (X1)."""
        for borders, closed, paths in self._splittings(text, half):
            *words, word = (text[a:b].encode() for a, b in pairwise((0, *borders, len(text))))
            word += half
            known = tuple(index for ids in self._encode(words) for index in ids)
            first = max(0, len(word) - self._table.longest)
            places = [] if closed else [at for at in range(first, len(word)) if self._beyond(word[at:])]
            places.append(len(word))
            for at, ids in zip(places, self._encode([word[:at] for at in places]), strict=True):
                node = known + tuple(ids)
                yield Beginning(_common(node, row), at - len(word), node, tuple(ids[-1:]), borders, closed, paths)

    def _occurs(self, each: Beginning, text: str, half: bytes) -> bool | None:
        """Return whether a longer text has these ids, and then a token over the end of this text; None: undecided."""
        if not each.back:
            return self._is_followed(text, half, each.ids, each.paths) or None
        found: bool | None = False
        data = text.encode() + half
        beyond, last = self._beyond(data[each.back :]), b"".join(self._vocab[index] for index in each.last)
        for start in range(beyond.start, beyond.stop, BATCH):
            part = slice(start, min(start + BATCH, beyond.stop))
            ids, tokens = self._trie.ids[part].tolist(), self._trie.tokens[part]
            pairs = self._encode([last + token for token in tokens])
            for index, token, pair in zip(ids, tokens, pairs, strict=True):
                if pair != [*each.last, index]:  # in one word, they are the ids of it then (the fact about neighbours)
                    continue
                if (whole := _whole_characters(data[: each.back] + token)) is None:
                    continue
                for borders, closed, paths in self._splittings(*whole):
                    if borders == each.borders:
                        if closed or self._is_followed(*whole, (*each.ids, index), paths):
                            return True
                        found = None
        return found

    def _is_followed(self, text: str, half: bytes, ids: Ids, paths: Paths) -> bool:
        """Whether these ids are followed by others for some text that goes on in such a way: characters are tried."""
        for path in paths.values():
            codes, *rest = (self._members[kind] for kind in path if kind < self._machine.count)
            if half:
                codes = codes[np.isin(codes, _completions(half))]
            if len(codes) and all(map(len, rest)):
                end = "".join(chr(some[0]) for some in rest)
                for code in codes[:: 1 + len(codes) // TRIED].tolist():
                    if tuple(self._ids(text + chr(code) + end)[: len(ids)]) == ids:
                        return True
        return False

    def _splittings(self, text: str, half: bytes) -> Iterator[Splitting]:
        """Yield the ways in which texts that begin with these bytes split them."""
        borders, state, saved = _read_borders(self._machine, text)
        size, firsts = len(text), None
        if half:
            firsts = frozenset(self._machine.classes[_completions(half)].tolist())
        for late, paths in self._futures(state, saved is not None, firsts).items():
            places = {*borders, *(size + place for place in late - {SAVED})}
            if SAVED in late and saved is not None:
                places.add(saved)
            inner = sorted(place for place in places if 0 < place < size + bool(half))
            yield Splitting(tuple(inner), not half and size in places, paths)

    def _futures(self, state: int, has_saved: bool, firsts: frozenset[int] | None) -> dict[frozenset[int], Paths]:
        """Return the borders that texts to come put at the end of a text or before, counted from the end: 0 and less.

        firsts: the classes of the first character; None: any, or none.
        """
        if (found := self._known.get(key := (state, has_saved, firsts))) is not None:
            return found
        machine, found, seen, end = self._machine, dict[frozenset[int], Paths](), set[Any](), self._machine.count
        waiting = [(state, SAVED if has_saved else None, frozenset[int](), tuple[int, ...]())]
        for at, saved, late, path in waiting:
            age = len(path)
            for kind in range(end + 1) if path or firsts is None else firsts:
                bits = int(machine.borders[at, kind]) | (kind == end)
                more = late | {age - back for back in range(age, REACH + 1) if bits >> back & 1}
                if machine.emits[at, kind] and saved is not None:
                    more |= {saved}
                kept = saved
                if machine.saves[at, kind]:
                    kept = age - REACH if age <= REACH else None
                after = int(machine.moves[at, kind])
                waits = self._future[after] >> age + 1 or (self._uses[after] and kept is not None)
                if kind == end or not waits:
                    found.setdefault(more, {}).setdefault((*path, kind)[0], (*path, kind))
                elif (config := (after, kept, more, min(age, REACH))) not in seen:
                    seen.add(config)
                    waiting.append((after, kept, more, (*path, kind)))
        self._known[key] = found  # at once: threads share it
        return found

    @cached_property
    def _members(self) -> list[NDArray[np.int64]]:
        """The characters of each class."""
        classes = self._machine.classes[:CODE_POINTS].astype(np.int64)
        classes[0xD800:0xE000] = -1
        return [np.flatnonzero(classes == kind) for kind in range(self._machine.count)]

    def _beyond(self, data: bytes) -> range:
        """Return the places in the sorted tokens of those that begin with some bytes and are longer."""
        tokens = self._trie.tokens
        first = bisect_right(tokens, data)
        if first == len(tokens) or not tokens[first].startswith(data):
            return range(0)
        return range(first, bisect_left(tokens, True, first, key=lambda token: token[: len(data)] > data))

    def _ids(self, text: str) -> list[int]:
        found = self._quick(text)
        return self._encoder.encode(text.encode()).tolist() if found is None else found

    def _encode(self, words: list[bytes]) -> list[list[int]]:
        """Return the ids of words, none of an empty one."""
        bounds = np.cumsum([0, *(len(word) for word in words if word)], dtype=np.int64)
        if len(bounds) == 1:
            return [[] for _ in words]
        found = iter(self._encoder.encode_words(np.frombuffer(b"".join(words), np.uint8), bounds).to_lists())
        return [next(found) if word else [] for word in words]


def _late_borders(machine: Machine) -> tuple[list[int], list[bool]]:
    """Return by state the distances back at which borders may still come, as bits, and whether the saved place may."""
    future = np.bitwise_or.reduce(machine.borders, axis=1)
    while True:
        more = future | np.bitwise_or.reduce(future[machine.moves[:, :-1]] >> np.uint32(1), axis=1)
        if np.array_equal(more, future):
            return future.tolist(), machine.uses_saved().tolist()
        future = more


def _read_borders(machine: Machine, text: str) -> tuple[list[int], int, int | None]:
    """Return the borders that a transducer emits in a text, its state, and the saved place."""
    state, saved, borders = 0, None, list[int]()
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    for at, kind in enumerate(machine.classes[codes].tolist()):
        if machine.emits[state, kind]:
            assert saved is not None, "only a saved place is emitted"
            borders.append(saved)
        if bits := int(machine.borders[state, kind]):
            borders += [at - back for back in range(bits.bit_length()) if bits >> back & 1]
        if machine.saves[state, kind]:
            saved = at - REACH
        state = int(machine.moves[state, kind])
    return borders, state, saved


def _common(one: Ids, other: Ids) -> int:
    same = (k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(same, min(len(one), len(other)))


def _whole_characters(data: bytes) -> tuple[str, bytes] | None:
    """Return the text of some bytes, and those at the end that begin a character; None for other bytes."""
    decoder = getincrementaldecoder("utf-8")()
    try:
        text, half = decoder.decode(data), decoder.getstate()[0]
    except UnicodeDecodeError:
        return None
    return None if half and not len(_completions(half)) else (text, half)  # one of a surrogate waits in Python


def _completions(half: bytes) -> NDArray[np.int64]:
    """Return the characters whose UTF-8 begins with some bytes, which are the beginning of one."""
    size = 2 if half[0] < 0xE0 else 3 if half[0] < 0xF0 else 4
    first = half[0] & (0x7F >> size)
    for byte in half[1:]:
        first = first << 6 | byte & 0x3F
    shift = 6 * (size - len(half))
    least = (0x80, 0x800, 0x10000)[size - 2]
    codes = np.arange(max(first << shift, least), min((first + 1) << shift, CODE_POINTS))
    return codes[(codes < 0xD800) | (codes >= 0xE000)]
