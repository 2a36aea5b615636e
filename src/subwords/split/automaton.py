"""A pattern as a deterministic automaton: leftmost-first matching with one character of look-ahead.

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

from subwords.split.pattern import Chars, Either, End, Look, Node, Outside, Repeat, Then

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
