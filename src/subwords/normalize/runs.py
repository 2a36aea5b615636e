"""Replaces runs of characters of one set, as CLIP's `\\s+`: all at once, without the `regex` package."""

from __future__ import annotations

import numpy as np

from subwords.components.normalizer import Replace
from subwords.kernels import layout
from subwords.kernels.layout import Normalized, Runs
from subwords.kernels.named import run_texts
from subwords.normalize.stages import WHOLE, Bytes, Offsets, Position, Result, Stage, written
from subwords.split.pattern import Chars, Repeat, parse
from subwords.split.routes import StageCall
from subwords.split.sets import Members, Outside

__all__ = ["RunStage", "run_stage"]


def run_stage(step: Replace) -> RunStage | None:
    r"""Return the stage for a pattern that matches runs of characters of one set; None for other patterns.

    >>> from subwords.components.normalizer import Replace
    >>> run_stage(Replace(r"\s+", " ", regex=True)) is None, run_stage(Replace(r"a+b", " ", regex=True)) is None
    (False, True)
    """
    try:
        tree = parse(step.pattern)
    except Outside:
        return None
    if not isinstance(tree, Repeat) or not isinstance(tree.item, Chars) or tree.high is not None:
        return None
    if tree.low < 1 or not tree.greedy:
        return None
    return RunStage(tree.item.members, tree.low, step.content.encode())


class RunStage(Stage):
    """Replaces runs of at least `low` characters of a set; the content has the origin of a run's last character."""

    def __init__(self, members: Members, low: int, content: bytes) -> None:
        self._members = members
        data = np.frombuffer(content + bytes(layout.LANES), np.uint8)
        self._runs = Runs(members.astype(np.uint8), np.array([low], np.int64), data)
        self.growth = 1 + len(content)

    def apply(self, text: Bytes, bounds: Offsets, *, tracked: bool, part: Position = WHOLE) -> Result | None:
        """Replace the runs."""
        kernel, runs = run_texts.by_size(len(text)), self._runs
        spare = 2 * layout.BLOCK_GROWTH + len(runs.content)

        def run(out: Normalized, progress: Offsets) -> int:
            return kernel(text, bounds, runs, out, progress)

        return written(run, text, bounds, tracked=tracked, spare=spare)

    def fast_path(self) -> StageCall | None:
        """Return the kernel."""
        return StageCall(run_texts, self._runs)

    def heads(self, codes: Offsets) -> Offsets:
        """Return the character itself if it is in no run."""
        return np.where(self._members[codes], -1, codes)
