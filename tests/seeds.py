"""The seed of sweeps and of rotating cases: another one every day, and one of your choice by SUBWORDS_SEED."""

from __future__ import annotations

import os
import time

__all__ = ["seed_of_today", "sweep_seed"]


def seed_of_today() -> int:
    """Return the number of the day, or SUBWORDS_SEED."""
    return int(os.environ.get("SUBWORDS_SEED", time.time() // 86400))


def sweep_seed() -> int:
    """Return the seed of today's sweeps and print it."""
    seed = seed_of_today()
    print(f"seed {seed}: SUBWORDS_SEED={seed} repeats this")
    return seed
