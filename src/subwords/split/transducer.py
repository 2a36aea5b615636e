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
from subwords.support.names import distinct


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

    def cuts_between(self, before: str, after: str) -> bool:
        """Whether any text may be cut between two characters; `last_cut` says where."""
        classes = self.classes
        first = int(classes[layout.INVALID if "\ud800" <= before < "\ue000" else ord(before)]) - layout.CLASS_FLAG
        second = int(classes[layout.INVALID if "\ud800" <= after < "\ue000" else ord(after)]) - layout.CLASS_FLAG
        return bool(self.safe[first * layout.CLASS_FLAG + second])


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
