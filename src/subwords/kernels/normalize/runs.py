"""Normalization of many texts at once: runs of characters of one set become another text; see `characters.py`.

A run of one byte that is the content already stays in the text around it: most spaces of most texts are such runs.
"""

from __future__ import annotations

from typing import NamedTuple

from subwords.kernels import layout
from subwords.kernels.jit import I64, I64s, Int, U8s, helper, kernel, pointer
from subwords.kernels.layout import Normalized, Runs
from subwords.kernels.normalize.characters import keep, opened_output, put
from subwords.kernels.text.utf8 import decode_at


class Replacing(NamedTuple):
    """The pointers of `Runs`."""

    members: object
    low: int
    content: object
    size: int  # bytes of the content


@helper
def run_end(r, p, i, stop):
    """The end of the run of members that begins at p[i], and how many there are; (place, 0) if p[i] is not a member."""
    count = I64(0)
    while i < stop:
        code, length = decode_at(p, i, stop)
        if r.members[code if code >= 0 else layout.INVALID] == 0:
            break
        count += 1
        i += length
    return i, count


@helper
def replace_runs(r, w, p, i, j, stop):
    """Write a text up to `stop`: (place, place in the result, status). text[kept:i] is still to be copied."""
    kept = i
    while i < stop:
        lead = I64(p[i])
        if lead < 0x80 and r.members[lead] == 0:
            i += 1
            continue
        after, count = run_end(r, p, i, stop)
        if count == 0:
            _, length = decode_at(p, i, stop)
            i += length
            continue
        stays = count < r.low or (r.size == 1 and after == i + 1 and lead == I64(r.content[0]))
        if not stays:
            if j + (i - kept) + r.size + 2 * layout.LANES > w.room:
                return kept, j, layout.NEED_OUT
            j = keep(w, j, p, kept, i - kept)
            j = put(w, j, r.content, 0, r.size, after - 1)
            kept = after
        i = after
    if j + (stop - kept) + layout.LANES > w.room:
        return kept, j, layout.NEED_OUT
    return stop, keep(w, j, p, kept, stop - kept), layout.DONE


@kernel
def run_texts(text: U8s, bounds: I64s, runs: Runs, out: Normalized, progress: I64s) -> Int:
    """Replace the runs in text[bounds[t] : bounds[t + 1]]: DONE or NEED_OUT."""
    p, b, s, ends = pointer(text), pointer(bounds), pointer(progress), pointer(out.ends)
    r = Replacing(pointer(runs.members), pointer(runs.low)[0], pointer(runs.content), len(runs.content) - layout.LANES)
    w = opened_output(text, out)
    t, i, j, status = s[layout.PROGRESS.text], s[layout.PROGRESS.byte], s[layout.PROGRESS.out], layout.DONE
    while t < len(bounds) - 1 and status == layout.DONE:
        i, j, status = replace_runs(r, w, p, i, j, b[t + 1])
        if status == layout.DONE:
            t += 1
            ends[t] = j
    s[layout.PROGRESS.text], s[layout.PROGRESS.byte], s[layout.PROGRESS.out] = t, i, j
    return status
