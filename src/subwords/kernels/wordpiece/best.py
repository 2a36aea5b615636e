"""The best pair of WordPiece training by likelihood: exact where floating point decides, a choice for Python where not.

The heap has the scores at an earlier number of tokens, and scores fall with that number (heap.py).
"""

from __future__ import annotations

import numpy as np

from subwords.kernels import layout
from subwords.kernels.arithmetic import ln, sortable
from subwords.kernels.jit import I64, helper, inlined
from subwords.kernels.wordpiece.gain import TOLERANCE, gain
from subwords.kernels.wordpiece.heap import entry_at, gain_at, same_counts, tie_before


@inlined
def next_place(at, size, below):
    """The next place of the heap in preorder, with or without the places below this one; -1 after the last."""
    if below and 2 * at + 1 < size:
        return 2 * at + 1
    while at > 0 and (at & 1 == 0 or at + 1 >= size):
        at = (at - 1) >> 1
    return at + 1 if at > 0 else I64(-1)


@helper
def best_gain(t):
    """The record that gains most, or -1 - status: EXHAUSTED, COLD, or UNDECIDED between the `choices`."""
    total, size = t.counters[layout.TALLY.total], t.counters[layout.TALLY.heap_size]
    ln_total, slack = ln(total), 2.0 * TOLERANCE * np.float64(total)
    best, most = entry_at(t, 0), gain_at(t, entry_at(t, 0), total, ln_total)
    rivals, at = 0, next_place(I64(0), size, True)
    # With fewer tokens every gain is lower than in the heap: an entry below `most` there is below it now.
    while at > 0:
        # If this entry cannot gain as much, none below it in the heap can: the walk skips them.
        below = t.heap[layout.ENTRY.width * at + layout.ENTRY.score] >= sortable(most - slack)
        if below:
            e = entry_at(t, at)
            if same_counts(e, best):
                if tie_before(t, e, best):
                    best = e
            else:
                now = gain_at(t, e, total, ln_total)
                if abs(now - most) <= slack:
                    rivals += 1
                if now > most:
                    best, most = e, now
        at = next_place(at, size, below)
    if sortable(most - slack) < t.counters[layout.TALLY.warm]:
        return I64(-1 - layout.COLD)
    m = t.settings[layout.TRAIN.threshold] - 1
    if m >= t.settings[layout.TRAIN.floor] and most - slack <= gain(m, m, m, total, ln(m), ln(m), ln_total):
        return I64(-1 - layout.EXHAUSTED)
    if rivals == 0:
        return best.record
    return choose(t, best, most, total, ln_total, slack)


@helper
def choose(t, best, most, total, ln_total, slack):
    """The best record, or -1 - UNDECIDED if floating point cannot separate it from the other `choices`."""
    t.counters[layout.TALLY.choices] = 0
    at = I64(0)
    while at >= 0:
        below = t.heap[layout.ENTRY.width * at + layout.ENTRY.score] >= sortable(most - slack)
        if below:
            e = entry_at(t, at)
            error = TOLERANCE * np.float64(e.n + best.n)
            if same_counts(e, best) or abs(gain_at(t, e, total, ln_total) - most) <= error:
                add_choice(t, at, e)
        at = next_place(at, t.counters[layout.TALLY.heap_size], below)
    return entry_at(t, t.choices[0]).record if t.counters[layout.TALLY.choices] == 1 else I64(-1 - layout.UNDECIDED)


@helper
def add_choice(t, at, e):
    """Add an entry to the choices; of entries with the same counts only the first by the tie rule."""
    for k in range(t.counters[layout.TALLY.choices]):
        other = entry_at(t, t.choices[k])
        if same_counts(e, other):
            if tie_before(t, e, other):
                t.choices[k] = at
            return
    t.choices[t.counters[layout.TALLY.choices]] = at
    t.counters[layout.TALLY.choices] += 1
