"""The seed of sweeps: another one every day, and one of your choice by SUBWORDS_SEED."""

from __future__ import annotations

import os
import time

__all__ = ["sweep_seed"]


def sweep_seed() -> int:
    """Return the seed of today's sweeps and print it."""
    seed = int(os.environ.get("SUBWORDS_SEED", time.time() // 86400))
    print(f"seed {seed}: SUBWORDS_SEED={seed} repeats this")
    return seed
