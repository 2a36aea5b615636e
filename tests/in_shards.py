"""Counts of a corpus in shards, saved as the command line saves them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import subwords
from subwords.scale import Run


def count_to(source: Any, path: Path | str, *, run: Run | None = None, **options: Any) -> subwords.WordCounts | None:
    """Count in shards, which are kept beside `path` until the work is done."""
    run = Run() if run is None else run
    folder = f"{path}.parts" if run.folder is None else run.folder
    counts = subwords.count(source, run=replace(run, folder=folder), **options)
    if counts is not None:
        counts.save(path)
    return counts
