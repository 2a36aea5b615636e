"""The layout of a call plan: what the fast path of encoding runs and works on; see `fastpath.py`."""

from __future__ import annotations

from typing import Any, NamedTuple

BUFFER = 750_000  # bytes of a text, three times `layout.LONG_TEXT`, as NFD of Korean is: all its words have room
MANY_BYTES = 60_000  # bytes of several texts at once, which stay in a core's cache
WORD_ENDS = BUFFER + 3 * 64  # those of a text, and what kernels that split ask for beyond
SPARE_BYTES = 128  # bytes after them that may be read
MOST_TEXTS = 1024  # at once
MOST_STAGES = 8  # of a normalizer
MOST_AROUND = 64  # ids of a template around those of one text
LEAST_CUT = 1 << 8  # bytes of a text that may gain by them
CUT_TEXT = 1 << 14  # bytes of such texts for which the table of safe cuts is made
NEVER = -(1 << 62)  # as `wide`, where there are no safe cuts


class CallPlan(NamedTuple):
    """What a call works on; only one thread at a time has it."""

    fields: Any  # int64: `Fields`
    buffer: Any  # texts, one after another
    bounds: Any  # where they begin and end in it
    tables: Any  # what the split kernel takes: classes or a transducer
    tail: Any  # and a second table, if it takes two
    ascii_tables: Any  # the two tables of the kernel for text that is mostly ASCII, or None
    word_ends: Any
    text_ends: Any  # the number of words, then of ids, up to the end of each text
    drops: Any  # what the kernel that drops words takes, and writes
    kept_text: Any
    kept_ends: Any
    stages: Any  # a tuple of `StagePlan`
    counters: Any  # of the encoding kernel
    numbers: Any  # the fields as a memoryview: NumPy is slower for single numbers


class StagePlan(NamedTuple):
    """What a stage of the normalizer works on."""

    tables: Any
    scratch: Any
    out: Any  # a `Normalized`
    progress: Any


class Fields(NamedTuple):
    """The places of numbers in a call plan.

    The texts `next` to `last` - 1 remain. `addresses`, `lengths`, `after`: of the arrays of all texts; what comes after
    each is 1 + an id, or 0, and `after` may be 0. `offsets`: where the number of ids up to the end of text `next` goes.
    `filled`: the number of ids in `out`. After a return: the texts
    up to `upto` are in the buffer, `size` bytes, with `words`. `status`: of the encoding kernel, or 0.
    """

    split: int  # kernels; 0 if the next one splits too
    keep: int  # the one that drops words, or 0
    ascii_split: int  # the one that is tried first for text that is mostly ASCII, or 0
    encode: int
    two_tables: int  # whether the split kernel takes two tables
    prefixed: int  # whether a space is put before a text
    marked: int  # whether a text with U+2581 needs the general path
    stages: int  # how many
    workspace: int  # addresses of the objects that the encoding kernel takes
    out: int
    next: int
    last: int
    addresses: int
    lengths: int
    after: int
    offsets: int
    upto: int
    size: int
    words: int
    status: int
    filled: int
    wide: int  # bytes of the texts that gained by cuts, without `cut_plan`; or NEVER
    cut_plan: int  # the address of a plan for such texts, of the same state, or 0
    busy: int  # whether a call uses the plan while it is in its slot
    away: int  # whether a call has taken it out of its slot
    argument: int  # two arguments of a call of Python
    argument_type: int
    room: int  # bytes of a text, given and normalized, for which the arrays have room


PLAN, STAGE, FIELDS = CallPlan(*range(14)), StagePlan(*range(4)), Fields(*range(28))
# Arrays made up: a header, and then its length.
HEADER = 6
TEXT_ARRAY, BOUNDS_ARRAY, ENDS_ARRAY = range(len(FIELDS), len(FIELDS) + 3 * HEADER, HEADER)
# For each stage of the normalizer: its kernel, and whether this takes a scratch.
FIRST_STAGE, STAGE_ROW = ENDS_ARRAY + HEADER, 2
PLAN_FIELDS = FIRST_STAGE + MOST_STAGES * STAGE_ROW


def stage_row(stage: int) -> slice:
    """Return the places of the fields of a stage."""
    return slice(FIRST_STAGE + STAGE_ROW * stage, FIRST_STAGE + STAGE_ROW * (stage + 1))
