"""From matching to splitting: a machine that reads a text once and says where words end.

An automaton tells how one match goes on; a splitter needs all matches, one behind the other, without going back. So a
state of the machine holds, besides the place in the current match, what would have happened since its last sure end
had it ended there: where words would have ended meanwhile, and in which state the machine would be. When the match
goes on, that is forgotten; when it fails, it is what happened. Word ends are told late, but never more than REACH
characters late, except the end of one match that may still go on (`\\s*[\\r\\n]+` in a long run of blanks): that
place is kept aside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.kernels.layout import CODE_POINTS, REACH
from subwords.split.automaton import DEAD, MOST_CLASSES, Automaton, Numbers, merged_classes, merged_states
from subwords.split.pattern import Outside

__all__ = ["Machine", "composed", "machine", "unsplit"]

FAR = 1 << 20  # further away: the place kept aside
MOST_STATES = 3000
# What a machine tells: all borders of matches, or only where matches end, or only where they start.
TELLS = {"borders": ("end", "after gap"), "ends": ("end",), "starts": ("start", "after gap")}


@dataclass(frozen=True, slots=True, eq=False)
class Machine:
    """What to do by state and class; state 0 starts.

    `classes` (uint8) is the class of every code point, and last that of a byte which is not UTF-8. By state (rows) and
    class (columns; the last is the end of the text): `moves` (int32) is the next state, at the end 0; bit d of
    `borders` (uint32) says that a word ends d characters before this one; `keeps` that the place REACH characters
    before this one is to be kept aside, and `tells` that a word ends at the place that was.
    """

    classes: NDArray[np.uint8]
    moves: NDArray[np.int32]
    borders: NDArray[np.uint32]
    keeps: NDArray[np.bool_]
    tells: NDArray[np.bool_]

    @property
    def count(self) -> int:
        """How many classes there are."""
        return int(self.moves.shape[1]) - 1

    def cuts(self) -> NDArray[np.bool_]:
        """Where a text may be cut, by the classes of the characters before and after: cutting changes no word (S4)."""
        n = self.count
        safe = np.ones((n, n), np.bool_)
        ends = self.borders[:, n] | 1
        same = (self.borders[:, :n] & ~np.uint32(1) == (ends & ~np.uint32(1))[:, None]) & (self.borders[:, :n] & 1 > 0)
        same &= (self.tells[:, :n] == self.tells[:, n:]) & ~self.keeps[:, :n] & (self.moves[:, :n] == self.moves[0, :n])
        same &= self.borders[0, :n] == 0
        for before in range(n):
            safe[before] = same[np.unique(self.moves[:, before])].all(axis=0)
        return safe

    def holds(self) -> NDArray[np.bool_]:
        """By state, whether the place kept aside may still be told: from there a `tells` comes before a `keeps`."""
        holds: NDArray[np.bool_] = np.zeros(len(self.moves), np.bool_)
        goes_on = ~self.keeps
        goes_on[:, -1] = False
        while True:
            more: NDArray[np.bool_] = np.any(self.tells | (holds[self.moves] & goes_on), axis=1)
            if np.array_equal(more, holds):
                return holds
            holds = more

    @property
    def identity(self) -> bytes:
        """Equal for machines that split every text alike."""
        return b"".join(array.tobytes() for array in (self.classes, self.moves, self.borders, self.keeps, self.tells))


class _Config(NamedTuple):
    """A state being made: the automaton's state, where its match started if not told, and what happened since its end.

    Distances are in characters, back from the next one.
    """

    state: int
    start: int | None
    after_gap: bool
    since: _Since | None


class _Since(NamedTuple):
    """Had the match ended where it last could: `end`, or None: had there been none, its first character being gap."""

    end: int | None
    borders: tuple[tuple[str, int], ...]
    config: _Config | None  # None: a match will end here or later, whatever comes


_Told = tuple[tuple[str, int], ...]
_FRESH = _Config(0, 0, False, None)
_FRESH_GAP = _Config(0, 0, True, None)
_SURE = _Since(0, (), None)


class _Maker:
    """Steps of an automaton's configurations."""

    def __init__(self, automaton: Automaton, kinds: tuple[str, ...]) -> None:
        self.kinds = kinds
        self.moves = automaton.moves.tolist()
        self.matches = automaton.matches.tolist()
        self.sure = _sure(automaton).tolist()
        self.done: dict[tuple[_Config, int], tuple[_Told, _Config]] = {}

    def step(self, config: _Config, c: int) -> tuple[_Told, _Config]:
        """What a character of class c tells, back from itself, and the configuration after it."""
        if (config, c) not in self.done:
            self.done[config, c] = self._step(config, c)
        return self.done[config, c]

    def _matched(self, config: _Config, c: int) -> tuple[_Told, _Config]:
        if not self.matches[config.state][c]:
            return (), config
        return self._start(config), config._replace(start=None, since=_Since(0, (), _FRESH))

    def _step(self, config: _Config, c: int) -> tuple[_Told, _Config]:
        told, config = self._matched(config, c)
        goes, since = self.moves[config.state][c], config.since
        if goes == DEAD:
            if since is None:
                return told, _FRESH_GAP
            assert since.config is not None
            more, after = self.step(since.config, c)
            return told + self._ended(since) + more, after
        if self.sure[goes]:
            return told + self._start(config), _Config(goes, None, config.after_gap, _SURE)
        if since is None:
            since = _Since(None, (), _FRESH_GAP)
        else:
            assert since.config is not None
            more, inner = self.step(since.config, c)
            borders = tuple((kind, at + 1) for kind, at in since.borders + more)
            since = _Since(None if since.end is None else since.end + 1, borders, inner)
        start = None if config.start is None else config.start + 1
        return told, _Config(goes, start, config.after_gap, since)

    def finish(self, config: _Config) -> _Told:
        """What the end of the text tells."""
        told, config = self._matched(config, -1)
        if config.since is None:
            return told
        assert config.since.config is not None
        return told + self._ended(config.since) + self.finish(config.since.config)

    def _start(self, config: _Config) -> _Told:
        kind = "after gap" if config.after_gap else "start"
        return () if config.start is None or kind not in self.kinds else ((kind, config.start),)

    def _ended(self, since: _Since) -> _Told:
        return since.borders if since.end is None or "end" not in self.kinds else (("end", since.end), *since.borders)


def _sure(automaton: Automaton) -> NDArray[np.bool_]:
    """The states from which a match will end, whatever comes: at the next character, or at one after more of them."""
    sure = np.ones(len(automaton.moves), np.bool_)
    while True:
        later = np.pad(sure[automaton.moves] & (automaton.moves != DEAD), ((0, 0), (0, 1)))
        still = (automaton.matches | later).all(axis=1)
        if (still == sure).all():
            return sure
        sure = still


def _bounded(config: _Config) -> tuple[bool, _Config]:
    """Whether the end of the match has just gone too far, to be kept aside; Outside where anything else has."""
    kept = False
    since = config.since
    if since is not None and since.end is not None and since.end > REACH:
        kept = since.end == REACH + 1
        since = since._replace(end=FAR)
        config = config._replace(since=since)
    inner = config._replace(since=since and since._replace(end=0))
    while inner.since is not None:
        distances = [inner.start or 0, inner.since.end or 0, *(at for _, at in inner.since.borders)]
        if max(distances) > REACH:
            raise Outside("words depend on characters too far behind them")
        if inner.since.config is None:
            break
        inner = inner.since.config
    return kept, config


def unsplit() -> Machine:
    """Return the machine that leaves a text whole."""
    classes, no = np.zeros(CODE_POINTS + 1, np.uint8), np.zeros((1, 2), np.bool_)
    return Machine(classes, np.zeros((1, 2), np.int32), np.array([[0, 1]], np.uint32), no, no)


def machine(automaton: Automaton, tells: str = "borders", *, last: bool = True) -> Machine:
    """Return the machine of an automaton; raises `Outside` where there is none, or none that is small.

    It tells the end of the text as well; without `last` only where it is a border of the kind.
    """
    kinds = TELLS[tells]
    maker = _Maker(automaton, kinds)
    count = automaton.moves.shape[1]
    numbers = Numbers(_FRESH._replace(start=None))  # what begins the text is told by nobody
    rows = []
    for config in numbers.items:
        row = []
        for c in range(count):
            told, after = maker.step(config, c)
            keeps, after = _bounded(after)
            row.append((numbers(after), told, keeps))
        row.append((0, maker.finish(config), False))
        rows.append(row)
        if len(numbers.items) > MOST_STATES:
            raise Outside(f"splitting needs more than {MOST_STATES} states")
    bits = [[sum(1 << at for _, at in told if at <= REACH) for _, told, _ in row] for row in rows]
    tells_far = [[any(at > REACH for _, at in told) for _, told, _ in row] for row in rows]
    made = Machine(
        automaton.classes,
        np.array([[goes for goes, _, _ in row] for row in rows], np.int32),
        np.array(bits, np.uint32),
        np.array([[keeps for _, _, keeps in row] for row in rows], np.bool_),
        np.array(tells_far, np.bool_),
    )
    if last:
        made.borders[:, -1] |= 1
    if tells != "borders" and made.tells.any():
        raise Outside("words depend on characters too far behind them")
    return _smallest(made)


def composed(first: Machine, second: Machine) -> Machine:
    """Return the machine that splits the words of `first` by `second`; Outside where `first` tells anything late."""
    if (first.borders > 1).any() or first.keeps.any():
        raise Outside("a step before another tells its words late")
    pairs = first.classes.astype(np.int64) * second.count + second.classes
    found, where, classes = np.unique(pairs, return_index=True, return_inverse=True)
    if len(found) > MOST_CLASSES:
        raise Outside(f"splitting needs more than {MOST_CLASSES} classes")
    order = np.argsort(np.argsort(where))
    found = found[np.argsort(where)]
    numbers = Numbers((0, 0))
    rows = []
    for a, b in numbers.items:
        row = []
        for pair in found.tolist():
            c, d = divmod(pair, second.count)
            borders, tells = 0, False
            if first.borders[a, c]:
                borders, tells, b_before = int(second.borders[b, -1]) | 1, bool(second.tells[b, -1]), 0
            else:
                b_before = b
            after = int(first.moves[a, c]), int(second.moves[b_before, d])
            borders |= int(second.borders[b_before, d])
            tells |= bool(second.tells[b_before, d])
            row.append((numbers(after), borders, bool(second.keeps[b_before, d]), tells))
        row.append((0, int(second.borders[b, -1]), False, bool(second.tells[b, -1])))
        rows.append(row)
        if len(numbers.items) > MOST_STATES:
            raise Outside(f"splitting needs more than {MOST_STATES} states")
    columns = [np.array([[cell[k] for cell in row] for row in rows]) for k in range(4)]
    moves, borders_, keeps, tells_ = columns
    return _smallest(
        Machine(
            order[classes.ravel()].astype(np.uint8),
            moves.astype(np.int32),
            borders_.astype(np.uint32),
            keeps.astype(np.bool_),
            tells_.astype(np.bool_),
        )
    )


def _smallest(big: Machine) -> Machine:
    """The same with as few states and classes as possible, numbered as they are reached: equal machines are equal."""
    n = big.count
    part = merged_states(big.moves, np.concatenate([big.borders, big.keeps, big.tells], axis=1))
    first = np.unique(part, return_index=True)[1]
    moves, borders = part[big.moves[first]].astype(np.int32), big.borders[first]
    keeps, tells = big.keeps[first], big.tells[first]
    columns = np.concatenate([moves, borders.astype(np.int64), keeps, tells])[:, :n]
    classes, kept = merged_classes(big.classes, columns)
    kept = [*kept, n]
    order = [0]
    seen = {0}
    for state in order:  # grows meanwhile
        for goes in moves[state, kept[:-1]].tolist():
            if goes not in seen:
                seen.add(goes)
                order.append(goes)
    number = np.zeros(len(moves), np.int32)
    number[order] = np.arange(len(order))
    rows = np.ix_(order, kept)
    return Machine(classes, number[moves][rows], borders[rows], keeps[rows], tells[rows])
