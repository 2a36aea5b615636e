"""Run the programs of this folder that are named, in this order; print the mode and whether Numba is loaded."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # what the programs share with the tests

for name in sys.argv[1:]:
    import_module(name)

print(import_module("subwords.kernels.modes").MODE, "numba" in sys.modules)
