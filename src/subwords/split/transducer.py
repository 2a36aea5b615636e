"""Boundary transducer: a machine that reads a text once, without backtracking, and emits the word ends.

An automaton follows one match; a splitter needs all matches in order. So a state of the machine is the position in the
current match, plus the outcome if that match ended at its last possible end: the word ends after that end, and the
state of the machine. If the match reaches a later end, this outcome is discarded; if the match fails, it is used.
Word ends are emitted up to REACH characters late. The only exception is the end of one match that may still grow
(`\\s*[\r\n]+` in a long run of whitespace): this position is saved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.kernels.layout import SafeCuts, Transducer
from subwords.split.automaton import DEAD, MOST_CLASSES, Automaton, Numbers, merged_classes, merged_states
from subwords.split.pattern import Outside
from subwords.support.names import distinct

FAR = 1 << 20  # distance that represents the saved position
MOST_STATES = 3000
# What a machine emits: all borders of matches, only the ends of matches, or only their starts.
EMITS = {"borders": ("end", "after gap"), "ends": ("end",), "starts": ("start", "after gap")}


@dataclass(frozen=True, slots=True, eq=False)
class Machine:
    """Transition tables of a boundary transducer; state 0 is the start.

    `classes` (uint8): the class of every code point; the last entry is for bytes that are not UTF-8. The other arrays
    have a row per state and a column per class; the last column is the end of the text. `moves` (int32): the next
    state, 0 at the end of the text. `borders` (uint32): bit d means that a word ends d characters before this one.
    `saves`: save the position REACH characters before this one. `emits`: a word ends at the saved position.
    """

    classes: NDArray[np.uint8]
    moves: NDArray[np.int32]
    borders: NDArray[np.uint32]
    saves: NDArray[np.bool_]
    emits: NDArray[np.bool_]

    @property
    def count(self) -> int:
        """The number of classes."""
        return int(self.moves.shape[1]) - 1

    def cuts(self) -> NDArray[np.bool_]:
        """Return where cutting a text changes no word (S4), by the classes of the characters before and after."""
        n = self.count
        safe = np.ones((n, n), np.bool_)
        ends = self.borders[:, n] | 1
        same = (self.borders[:, :n] & ~np.uint32(1) == (ends & ~np.uint32(1))[:, None]) & (self.borders[:, :n] & 1 > 0)
        same &= (self.emits[:, :n] == self.emits[:, n:]) & ~self.saves[:, :n] & (self.moves[:, :n] == self.moves[0, :n])
        same &= self.borders[0, :n] == 0
        for before in range(n):
            safe[before] = same[distinct(self.moves[:, before])].all(axis=0)
        return safe

    def uses_saved(self) -> NDArray[np.bool_]:
        """Return for each state whether the saved position is still needed: an `emits` can come before a `saves`."""
        uses_saved: NDArray[np.bool_] = np.zeros(len(self.moves), np.bool_)
        goes_on = ~self.saves
        goes_on[:, -1] = False
        while True:
            more: NDArray[np.bool_] = np.any(self.emits | (uses_saved[self.moves] & goes_on), axis=1)
            if np.array_equal(more, uses_saved):
                return uses_saved
            uses_saved = more

    @property
    def identity(self) -> bytes:
        """Bytes that are equal for machines that split every text alike."""
        return b"".join(array.tobytes() for array in (self.classes, self.moves, self.borders, self.saves, self.emits))


class _Config(NamedTuple):
    """A state under construction: the automaton's state, the start of its match if not emitted, and the alternative.

    Distances are in characters, counted backwards from the next one.
    """

    state: int
    start: int | None
    after_gap: bool
    since: _Since | None


class _Since(NamedTuple):
    """The outcome if the match ended at its last possible `end`; None: no match, and its first character is a gap."""

    end: int | None
    borders: tuple[tuple[str, int], ...]
    config: _Config | None  # None: a match ends here or later, whatever follows


_Emitted = tuple[tuple[str, int], ...]
_FRESH = _Config(0, 0, False, None)
_FRESH_GAP = _Config(0, 0, True, None)
_SURE = _Since(0, (), None)


class _Maker:
    """Transitions between the configurations of an automaton."""

    def __init__(self, automaton: Automaton, kinds: tuple[str, ...]) -> None:
        self.kinds = kinds
        self.moves = automaton.moves.tolist()
        self.matches = automaton.matches.tolist()
        self.sure = _sure(automaton).tolist()
        self.done: dict[tuple[_Config, int], tuple[_Emitted, _Config]] = {}

    def step(self, config: _Config, c: int) -> tuple[_Emitted, _Config]:
        """Return the borders that a character of class c emits, as distances back from it, and the next one."""
        if (config, c) not in self.done:
            self.done[config, c] = self._step(config, c)
        return self.done[config, c]

    def _matched(self, config: _Config, c: int) -> tuple[_Emitted, _Config]:
        if not self.matches[config.state][c]:
            return (), config
        return self._start(config), config._replace(start=None, since=_Since(0, (), _FRESH))

    def _step(self, config: _Config, c: int) -> tuple[_Emitted, _Config]:
        emitted, config = self._matched(config, c)
        goes, since = self.moves[config.state][c], config.since
        if goes == DEAD:
            if since is None:
                return emitted, _FRESH_GAP
            assert since.config is not None
            more, after = self.step(since.config, c)
            return emitted + self._ended(since) + more, after
        if self.sure[goes]:
            return emitted + self._start(config), _Config(goes, None, config.after_gap, _SURE)
        if since is None:
            since = _Since(None, (), _FRESH_GAP)
        else:
            assert since.config is not None
            more, inner = self.step(since.config, c)
            borders = tuple((kind, at + 1) for kind, at in since.borders + more)
            since = _Since(None if since.end is None else since.end + 1, borders, inner)
        start = None if config.start is None else config.start + 1
        return emitted, _Config(goes, start, config.after_gap, since)

    def finish(self, config: _Config) -> _Emitted:
        """Return the borders emitted at the end of the text."""
        emitted, config = self._matched(config, -1)
        if config.since is None:
            return emitted
        assert config.since.config is not None
        return emitted + self._ended(config.since) + self.finish(config.since.config)

    def _start(self, config: _Config) -> _Emitted:
        kind = "after gap" if config.after_gap else "start"
        return () if config.start is None or kind not in self.kinds else ((kind, config.start),)

    def _ended(self, since: _Since) -> _Emitted:
        return since.borders if since.end is None or "end" not in self.kinds else (("end", since.end), *since.borders)


def _sure(automaton: Automaton) -> NDArray[np.bool_]:
    """Return the states from which a match always ends, at the next character or later, whatever follows."""
    sure = np.ones(len(automaton.moves), np.bool_)
    while True:
        later = np.pad(sure[automaton.moves] & (automaton.moves != DEAD), ((0, 0), (0, 1)))
        still = (automaton.matches | later).all(axis=1)
        if (still == sure).all():
            return sure
        sure = still


def _bounded(config: _Config) -> tuple[bool, _Config]:
    """Return whether the match's end must be saved now; raises Outside if any other distance exceeds REACH."""
    kept = False
    since = config.since
    if since is not None and since.end is not None and since.end > layout.REACH:
        kept = since.end == layout.REACH + 1
        since = since._replace(end=FAR)
        config = config._replace(since=since)
    inner = config._replace(since=since and since._replace(end=0))
    while inner.since is not None:
        distances = [inner.start or 0, inner.since.end or 0, *(at for _, at in inner.since.borders)]
        if max(distances) > layout.REACH:
            raise Outside("words depend on characters too far after them")
        if inner.since.config is None:
            break
        inner = inner.since.config
    return kept, config


def unsplit() -> Machine:
    """Return the machine that does not split: the whole text is one word."""
    classes, no = np.zeros(layout.CODE_POINTS + 1, np.uint8), np.zeros((1, 2), np.bool_)
    return Machine(classes, np.zeros((1, 2), np.int32), np.array([[0, 1]], np.uint32), no, no)


def machine(automaton: Automaton, emits: str = "borders", *, last: bool = True) -> Machine:
    """Return the machine of an automaton; raises `Outside` if there is none within the limits.

    It also emits the end of the text; with last=False only if that is a border of the requested kind.
    """
    kinds = EMITS[emits]
    maker = _Maker(automaton, kinds)
    count = automaton.moves.shape[1]
    numbers = Numbers(_FRESH._replace(start=None))  # the start of the text is not emitted
    rows = []
    for config in numbers.items:
        row = []
        for c in range(count):
            emitted, after = maker.step(config, c)
            saves, after = _bounded(after)
            row.append((numbers(after), emitted, saves))
        row.append((0, maker.finish(config), False))
        rows.append(row)
        if len(numbers.items) > MOST_STATES:
            raise Outside(f"splitting needs more than {MOST_STATES} states")
    bits = [[sum(1 << at for _, at in emitted if at <= layout.REACH) for _, emitted, _ in row] for row in rows]
    emits_far = [[any(at > layout.REACH for _, at in emitted) for _, emitted, _ in row] for row in rows]
    made = Machine(
        automaton.classes,
        np.array([[goes for goes, _, _ in row] for row in rows], np.int32),
        np.array(bits, np.uint32),
        np.array([[saves for _, _, saves in row] for row in rows], np.bool_),
        np.array(emits_far, np.bool_),
    )
    if last:
        made.borders[:, -1] |= 1
    if emits != "borders" and made.emits.any():
        raise Outside("words depend on characters too far after them")
    return _smallest(made)


def compose_machines(first: Machine, second: Machine) -> Machine:
    """Return the machine that splits the words of `first` by `second`; raises `Outside` if there is none small enough.

    If `first` may still emit a border before some of the last characters, `second` reads these later.
    """
    if first.saves.any():
        raise Outside("a step before another saves word ends")
    late = _lateness(first)
    if late.any() and second.saves.any():
        raise Outside("a step saves word ends, and one before it emits them late")
    pairs = first.classes.astype(np.int64) * second.count + second.classes
    found, where, classes = np.unique(pairs, return_index=True, return_inverse=True)
    if len(found) > MOST_CLASSES:
        raise Outside(f"splitting needs more than {MOST_CLASSES} classes")
    order = np.argsort(np.argsort(where))
    maker = _Composer(first, second, late.tolist())
    numbers = Numbers(_Composed(0, 0, ()))
    rows = []
    for state in numbers.items:
        row = []
        for pair in found[np.argsort(where)].tolist():
            after, borders, saves, emits = maker.step(state, *divmod(pair, second.count))
            row.append((numbers(after), borders, saves, emits))
        row.append((0, *maker.finish(state)))
        rows.append(row)
        if len(numbers.items) > MOST_STATES:
            raise Outside(f"splitting needs more than {MOST_STATES} states")
    columns = [np.array([[cell[k] for cell in row] for row in rows]) for k in range(4)]
    return _smallest(
        Machine(
            order[classes.ravel()].astype(np.uint8),
            columns[0].astype(np.int32),
            columns[1].astype(np.uint32),
            columns[2].astype(np.bool_),
            columns[3].astype(np.bool_),
        )
    )


def _lateness(made: Machine) -> NDArray[np.int64]:
    """Return for each state before how many of the last characters a border may still be emitted."""
    own = np.zeros(len(made.moves), np.int64)
    for d in range(1, layout.REACH + 1):
        own[(made.borders >> np.uint32(d) & np.uint32(1)).any(axis=1)] = d
    late = own
    while True:
        more = np.maximum(own, late[made.moves[:, :-1]].max(axis=1) - 1)
        if np.array_equal(more, late):
            return late
        late = more


class _Composed(NamedTuple):
    """A state of two machines: `waiting`, classes of the second's next characters, and whether a word begins there."""

    first: int
    second: int
    waiting: tuple[tuple[int, bool], ...]


class _Composer:
    """Transitions of two machines; the second splits the words of the first."""

    def __init__(self, first: Machine, second: Machine, late: list[int]) -> None:
        self.late = late
        self.first = first.moves.tolist(), first.borders.tolist()
        self.second = second.moves.tolist(), second.borders.tolist(), second.saves.tolist(), second.emits.tolist()

    def step(self, state: _Composed, c: int, d: int) -> tuple[_Composed, int, bool, bool]:
        """Return the state after a character of these classes, its borders, and whether it saves and emits."""
        moves, borders = self.first
        after = moves[state.first][c]
        waiting = _begun([*state.waiting, (d, False)], borders[state.first][c])
        ready = max(0, len(waiting) - self.late[after])
        b, found, saves, emits = self._read(state.second, waiting[:ready], len(waiting) - 1)
        return _Composed(after, b, tuple(waiting[ready:])), found, saves, emits

    def finish(self, state: _Composed) -> tuple[int, bool, bool]:
        """Return the borders at the end of the text, and whether it saves and emits."""
        waiting = _begun([*state.waiting, (0, False)], self.first[1][state.first][-1])[:-1]
        b, found, _, emits = self._read(state.second, waiting, len(waiting))
        return found | self.second[1][b][-1], False, emits or self.second[3][b][-1]

    def _read(self, b: int, waiting: list[tuple[int, bool]], ago: int) -> tuple[int, int, bool, bool]:
        """Let the second machine read characters, the first of them `ago` characters back."""
        moves, borders, saving, emitting = self.second
        found, saves, emits = 0, False, False
        for d, begins in waiting:
            if begins:
                found |= (borders[b][-1] | 1) << ago
                emits |= emitting[b][-1]
                b = 0
            found |= borders[b][d] << ago
            saves, emits = saving[b][d], emits or emitting[b][d]
            b = moves[b][d]
            ago -= 1
        if found >> layout.REACH + 1:
            raise Outside("words depend on characters too far after them")
        return b, found, saves, emits


def _begun(waiting: list[tuple[int, bool]], borders: int) -> list[tuple[int, bool]]:
    """Return the characters with the borders that the last one emits."""
    if borders >> len(waiting):
        raise Outside("a border before the text")
    return [(d, begins or borders >> len(waiting) - 1 - k & 1 > 0) for k, (d, begins) in enumerate(waiting)]


def _smallest(big: Machine) -> Machine:
    """Return the minimal machine; states are numbered by first visit, so that equivalent machines are equal."""
    n = big.count
    part = merged_states(big.moves, np.concatenate([big.borders, big.saves, big.emits], axis=1))
    first = np.unique(part, return_index=True)[1]
    moves, borders = part[big.moves[first]].astype(np.int32), big.borders[first]
    saves, emits = big.saves[first], big.emits[first]
    columns = np.concatenate([moves, borders.astype(np.int64), saves, emits])[:, :n]
    classes, kept = merged_classes(big.classes, columns)
    kept = [*kept, n]
    order = [0]
    seen = {0}
    for state in order:  # grows during the loop
        for goes in moves[state, kept[:-1]].tolist():
            if goes not in seen:
                seen.add(goes)
                order.append(goes)
    number = np.zeros(len(moves), np.int32)
    number[order] = np.arange(len(order))
    rows = np.ix_(order, kept)
    return Machine(classes, number[moves][rows], borders[rows], saves[rows], emits[rows])


# ---------------------------------------------------------------------------------------------------------------------
# The boundary transducer as arrays for the kernels.

NO_CUTS = SafeCuts(np.zeros(0, np.uint64), np.zeros(0, np.uint16), np.zeros(0, np.uint8), np.zeros(0, np.uint16))
MOST_ENTRIES = 1 << 22  # 32 MB
BORDERS = np.uint64((1 << layout.TOP_BORDER + 1) - 1)
SAVES_BIT, EMITS_BIT, USES_BIT = np.uint64(layout.SAVES), np.uint64(layout.EMITS_SAVED), np.uint64(layout.USES_SAVED)


class Tables(NamedTuple):
    """The constant arrays of a `Transducer`."""

    classes: NDArray[np.uint8]
    pairs: NDArray[np.uint16]
    second: NDArray[np.uint32]
    entries: NDArray[np.uint64]
    safe: NDArray[np.uint8]


class Cutter(NamedTuple):
    """The input of `last_cut`: classes of code points, and for two classes whether a text may be cut between them."""

    classes: NDArray[np.uint8]
    safe: NDArray[np.uint8]


def tables_of(machine: Machine) -> Tables:
    """Return the arrays described in kernels/split/transducer.py; raises Outside if they have over 2**22 entries."""
    n, states = machine.count, len(machine.moves)
    width = n * n + n + 1
    if states * width > MOST_ENTRIES:
        from subwords.split.pattern import Outside

        raise Outside(f"its table needs more than {MOST_ENTRIES} entries")
    of_byte = np.concatenate([machine.classes[:128], np.arange(128) % n]).astype(np.uint32)
    pairs = (of_byte * n + of_byte[:, None]).astype(np.uint16)  # index: second byte, first byte (little-endian)
    single = _entries(machine.borders, machine.saves, machine.emits)
    table = np.empty((states, width), np.uint64)
    rows = machine.moves.astype(np.uint64) * np.uint64(width) << np.uint64(32)
    rows |= machine.uses_saved()[machine.moves].astype(np.uint64) * USES_BIT
    table[:, n * n :] = single | rows
    middle = machine.moves[:, :n]
    both = single[:, :n, None] >> np.uint64(1) & BORDERS | single[:, :n, None] & (SAVES_BIT | EMITS_BIT)
    table[:, : n * n] = (both | single[middle][:, :, :n] | rows[middle][:, :, :n]).reshape(states, -1)
    second = np.append(of_byte, np.uint32(n))
    assert len(second) == layout.CLASSES_COUNT + 1
    safe = machine.cuts().astype(np.uint8)
    return Tables(machine.classes | np.uint8(layout.CLASS_FLAG), pairs.ravel(), second, table.ravel(), safe.ravel())


def cutter(machine: Machine) -> Cutter:
    """Return the input of `last_cut` for a machine."""
    safe = np.zeros((layout.CLASS_FLAG, layout.CLASS_FLAG), np.uint8)
    safe[: machine.count, : machine.count] = machine.cuts()
    return Cutter(machine.classes | np.uint8(layout.CLASS_FLAG), safe.ravel())


def _entries(borders: NDArray[np.uint32], saves: NDArray[np.bool_], emits: NDArray[np.bool_]) -> NDArray[np.uint64]:
    entries: NDArray[np.uint64] = np.zeros(borders.shape, np.uint64)
    for d in range(layout.TOP_BORDER):
        entries |= (borders >> np.uint32(d) & np.uint32(1)).astype(np.uint64) << np.uint64(layout.TOP_BORDER - d)
    entries |= saves.astype(np.uint64) * SAVES_BIT
    entries |= emits.astype(np.uint64) * EMITS_BIT
    return entries


def with_scratch(tables: Tables, cuts: SafeCuts, *, runs: bool = False) -> Transducer:
    """Return a transducer with safe cuts and with scratch buffers for one thread; `runs`: see `kernels/layout.py`."""
    if len(cuts.bits):
        members = cuts.members << 8 | tables.classes[: len(cuts.members)]
        room = layout.STREAM + 4 * layout.LANES
        cuts = SafeCuts(cuts.bits, members, np.zeros(room, np.uint8), np.empty(room, np.uint16))
    words = 8 * layout.PART_WORDS + 2 * layout.BLOCKS
    stream = np.empty(layout.STREAM + 4 * layout.LANES, np.uint8)
    recent, flag = np.empty(layout.GROUP, np.uint32), np.zeros(int(runs), np.uint8)
    return Transducer(*tables, stream, np.empty(words, np.uint64), recent, cuts, flag)
