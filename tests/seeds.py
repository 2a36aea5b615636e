"""The seed of sweeps, rotating cases and random tests: one for every change, so that a tree gives the same result.

Scheduled runs set SUBWORDS_SEED=day: another part of the cases every day.
"""

from __future__ import annotations

import os
import time

__all__ = ["SEED", "seed_of_run", "sweep_seed"]

SEED = 20_783


def seed_of_run() -> int:
    """Return SEED, or SUBWORDS_SEED: a number, or "day" for the number of the day."""
    given = os.environ.get("SUBWORDS_SEED", str(SEED))
    return int(time.time() // 86400) if given == "day" else int(given)


def sweep_seed() -> int:
    """Return the seed of this run's sweeps and print it."""
    seed = seed_of_run()
    print(f"seed {seed}: SUBWORDS_SEED={seed} repeats this")
    return seed
