"""Checks of merges: their order, and whether they are ever used."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from subwords.bpe.model import BPE
from subwords.families import need
from subwords.study.checks.subject import Subject
from subwords.study.finding import Finding

__all__ = ["check_merges"]


def check_merges(subject: Subject) -> Iterator[Finding]:
    """Yield merges that come too early, that are never used, and that make special tokens."""
    if not subject.model.merge_count:
        return
    model = need(subject.model, BPE, "audit of merges")
    size, merges = len(model.symbols), model.merges
    first = np.full(size, -1, np.int64)  # the first merge that makes each token; -1 for tokens that no merge makes
    first[merges[::-1, 2]] = np.arange(len(merges))[::-1]
    alive = np.ones(size, np.bool_)
    alive[: len(subject.tokens)] = subject.reachable
    special = np.zeros(size, np.bool_)
    special[list(model.special_ids)] = True

    def pair(rank: int) -> tuple[str, ...]:
        vocab = model.symbols
        return tuple(vocab[int(index)].decode("utf-8", "backslashreplace") for index in merges[rank, :2])

    ranks = np.arange(len(merges))
    single = np.diff(model.symbols.offsets) <= (1 if model.byte_level else 4)
    early = (first[merges[:, :2]] > ranks[:, None]) & ~single[merges[:, :2]]
    # Some files have all pairs that join to a token: one of them in time is enough.
    timely = np.zeros(size, np.bool_)
    timely[merges[~early.any(axis=1), 2]] = True
    for rank in np.flatnonzero(early.any(axis=1) & ~timely[merges[:, 2]]).tolist():
        side = int(np.argmax(early[rank]))
        later, names = int(first[merges[rank, side]]), pair(rank)
        message = f"merge {rank} ({names[0]!r} + {names[1]!r}) needs {names[side]!r}, which merge {later} makes"
        yield Finding("merge-order", message, (), names)
    if model.ranks is None:
        for rank in np.flatnonzero(~alive[merges[:, :2]].all(axis=1)).tolist():
            names = pair(rank)
            lost = names[int(np.argmin(alive[merges[rank, :2]]))]
            yield Finding(
                "dead-merge", f"merge {rank} ({names[0]!r} + {names[1]!r}): {lost!r} is unreachable", (), names
            )
    for rank in np.flatnonzero(special[merges[:, 2]]).tolist():
        index, names = int(merges[rank, 2]), pair(rank)
        message = (
            f"merge {rank} makes the special token {subject.shown(index)!r}; here text does not yield it, in HF it does"
        )
        yield Finding("merged-special", message, (index,), (subject.shown(index),), "".join(names))
