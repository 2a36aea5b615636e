"""A pattern as a deterministic automaton, leftmost-first with one character of look-ahead; its transducer.

A state is an ordered list of positions in the pattern, the preferred one first. A position may depend on the next
character (look-ahead, end of text), so a match is detected one step later, when the character after it is known.

Source: R. Cox, "Regular Expression Matching: the Virtual Machine Approach" (2009).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.split.pattern import Chars, Either, End, Look, Node, Outside, Repeat, Then
from subwords.split.transducer import Machine

T = TypeVar("T", bound=Hashable)

DEAD = -1
MOST_STATES = 2000
MOST_WORK = 400_000  # positions visited over all states and classes: 1 to 2 s; named rules need at most 2,490
MOST_CLASSES = 120  # a class and the flag 128 share a byte in the kernels


@dataclass(frozen=True, slots=True, eq=False)
class Automaton:
    """Transitions and matches by state and class; state 0 is the start.

    `classes` (uint8): the class of every code point; the last entry is for bytes that are not UTF-8. `moves` (int32,
    states by classes): the next state or DEAD. `matches` (bool, states by classes plus the end of the text): whether a
    match ends before a character of that class.
    """

    classes: NDArray[np.uint8]
    moves: NDArray[np.int32]
    matches: NDArray[np.bool_]


class Numbers(Generic[T]):
    """Numbers items in order of first occurrence; `items` may be iterated while it grows."""

    def __init__(self, first: T) -> None:
        self.items = [first]
        self._numbers = {first: 0}

    def __call__(self, item: T) -> int:
        """Return the number of an item; a new item gets the next number."""
        number = self._numbers.setdefault(item, len(self.items))
        if number == len(self.items):
            self.items.append(item)
        return number


class _Instruction(NamedTuple):
    """One instruction: its kind, its next instructions and the set that it tests."""

    kind: str  # "take", "look", "end", "fork", "match"
    goes: tuple[int, ...] = ()
    members: int = 0
    negative: bool = False


class _Program:
    """The pattern as instructions, built from its end: each part knows its successor."""

    def __init__(self, node: Node) -> None:
        self.steps = [_Instruction("match")]
        self.sets: dict[Chars, int] = {}
        self.start = self.build(node, 0)

    def add(self, step: _Instruction) -> int:
        self.steps.append(step)
        return len(self.steps) - 1

    def set_of(self, chars: Chars) -> int:
        return self.sets.setdefault(chars, len(self.sets))

    def build(self, node: Node, after: int) -> int:
        match node:
            case Chars():
                return self.add(_Instruction("take", (after,), self.set_of(node)))
            case Look(chars=chars, negative=negative):
                return self.add(_Instruction("look", (after,), self.set_of(chars), negative))
            case End():
                return self.add(_Instruction("end", (after,)))
            case Then(items=items):
                for item in reversed(items):
                    after = self.build(item, after)
                return after
            case Either(branches=branches):
                return self.add(_Instruction("fork", tuple(self.build(branch, after) for branch in branches)))
            case Repeat():
                return self.repeat(node, after)
        raise Outside(f"{type(node).__name__} in a pattern")

    def repeat(self, node: Repeat, after: int) -> int:
        leave = after
        if node.possessive:
            # A possessive run of one set ends where no further member of the set follows.
            if not isinstance(node.item, Chars):
                raise Outside("a possessive repetition of more than one character")
            leave = self.add(_Instruction("look", (after,), self.set_of(node.item), negative=True))
        elif not node.greedy:
            raise Outside("a lazy repetition")
        if node.high is None:
            if nullable(node.item):
                raise Outside("a repetition of an item that may be empty")
            start = self.add(_Instruction("fork"))
            self.steps[start] = _Instruction("fork", (self.build(node.item, start), leave))
        else:
            start = after
            for _ in range(node.high - node.low):
                start = self.add(_Instruction("fork", (self.build(node.item, start), leave)))
        for _ in range(node.low):
            start = self.build(node.item, start)
            if len(self.steps) > 20 * MOST_STATES:
                raise Outside("repetitions of repetitions")
        return start


def nullable(node: Node) -> bool:
    """Whether the node can match the empty string."""
    match node:
        case Chars():
            return False
        case Then(items=items):
            return all(map(nullable, items))
        case Either(branches=branches):
            return any(map(nullable, branches))
        case Repeat(item=item, low=low):
            return low == 0 or nullable(item)
    return True


def automaton(node: Node) -> Automaton:
    """Return the automaton of a pattern's tree; raises `Outside` if there is none within the limits."""
    if nullable(node):
        raise Outside("it can match the empty string")
    program = _Program(node)
    classes, members = partition([chars.members for chars in program.sets])
    count = members.shape[1]
    states = Numbers[tuple[int, ...]]((program.start,))
    moves: list[list[int]] = []
    matches: list[list[bool]] = []
    work = 0
    for places in states.items:
        work += len(places) * (count + 1)
        if work > MOST_WORK:
            raise Outside("its states hold too many positions")
        row = [_step(program.steps, places, members[:, c] if c < count else None) for c in range(count + 1)]
        matches.append([match for match, _ in row])
        moves.append([states(goes) if goes else DEAD for _, goes in row[:-1]])
        if len(states.items) > MOST_STATES:
            raise Outside(f"it needs more than {MOST_STATES} states")
    return _smallest(Automaton(classes, np.array(moves, np.int32), np.array(matches, np.bool_)))


def _step(
    steps: list[_Instruction], places: tuple[int, ...], member: NDArray[np.bool_] | None
) -> tuple[bool, tuple[int, ...]]:
    """Return whether a match ends before a character, and the next positions; `member`: its sets (None: text end)."""
    goes: dict[int, None] = {}
    seen: set[int] = set()
    stack = list(reversed(places))
    while stack:
        place = stack.pop()
        if place in seen:
            continue
        seen.add(place)
        step = steps[place]
        holds = member is not None and bool(member[step.members])
        if step.kind == "match":
            return True, tuple(goes)
        if step.kind == "take":
            if holds:
                goes[step.goes[0]] = None
        elif step.kind == "fork" or (step.kind == "look" and holds != step.negative):
            stack.extend(reversed(step.goes))
        elif step.kind == "end" and member is None:
            stack.append(step.goes[0])
    return False, tuple(goes)


def partition(sets: Sequence[NDArray[np.bool_]]) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Return the class of every code point (characters in the same sets share one), and the sets by classes."""
    changes = np.zeros(len(sets[0]), np.bool_)
    changes[0] = True
    for members in sets:
        changes[1:] |= members[1:] != members[:-1]
    starts = np.flatnonzero(changes)
    rows = np.stack([members[starts] for members in sets], axis=1)
    packed = np.packbits(rows, axis=1)
    _, first, inverse = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))  # classes are numbered in order of first occurrence
    if len(first) > MOST_CLASSES:
        raise Outside(f"it has more than {MOST_CLASSES} classes")
    lengths = np.diff(starts, append=len(changes))
    classes = np.repeat(order[inverse.ravel()].astype(np.uint8), lengths)
    return classes, rows[np.sort(first)].T


def _smallest(big: Automaton) -> Automaton:
    """Return the minimal automaton, in states and in classes."""
    part = merged_states(big.moves, big.matches)
    first = np.unique(part, return_index=True)[1]
    moves = np.where(big.moves[first] == DEAD, DEAD, part[big.moves[first]])
    matches = big.matches[first]
    classes, kept = merged_classes(big.classes, np.concatenate([moves, matches[:, :-1]]))
    return Automaton(classes, moves[:, kept].astype(np.int32), matches[:, [*kept, -1]])


def merged_states(moves: NDArray[np.int32], outputs: NDArray[np.generic]) -> NDArray[np.int64]:
    """Return a number per state, the same for equivalent states, in order of first occurrence.

    Source: E. F. Moore, "Gedanken-experiments on sequential machines" (1956).
    """
    part = _numbered(outputs.reshape(len(moves), -1))
    count = 0
    while count != part.max() + 1:
        count = int(part.max()) + 1
        part = _numbered(np.column_stack([part, np.where(moves == DEAD, DEAD, part[moves])]))
    return part


def merged_classes(classes: NDArray[np.uint8], columns: NDArray[np.generic]) -> tuple[NDArray[np.uint8], list[int]]:
    """Merge classes with equal columns, in order of first occurrence; also return each remaining class's column."""
    part = _numbered(columns.T)
    kept = np.unique(part, return_index=True)[1]
    return part.astype(np.uint8)[classes], kept.tolist()


def _numbered(rows: NDArray[np.generic]) -> NDArray[np.int64]:
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    number: NDArray[np.int64] = np.argsort(np.argsort(first))[inverse.ravel()]
    return number


# ---------------------------------------------------------------------------------------------------------------------
# The boundary transducer of an automaton, and of several steps.

FAR_PLACE = 1 << 20  # distance that represents the saved position
MOST_MACHINE_STATES = 3000
# What a machine emits: all borders of matches, only the ends of matches, or only their starts.
EMITS = {"borders": ("end", "after gap"), "ends": ("end",), "starts": ("start", "after gap")}


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
        since = since._replace(end=FAR_PLACE)
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
        if len(numbers.items) > MOST_MACHINE_STATES:
            raise Outside(f"splitting needs more than {MOST_MACHINE_STATES} states")
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
    return _smallest_machine(made)


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
        if len(numbers.items) > MOST_MACHINE_STATES:
            raise Outside(f"splitting needs more than {MOST_MACHINE_STATES} states")
    columns = [np.array([[cell[k] for cell in row] for row in rows]) for k in range(4)]
    return _smallest_machine(
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


def _smallest_machine(big: Machine) -> Machine:
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
