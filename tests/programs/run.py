"""Run the programs of this folder that are named, in this order; print the mode and whether Numba is loaded."""

from __future__ import annotations

import sys
from importlib import import_module

for name in sys.argv[1:]:
    import_module(name)

print(import_module("subwords.kernels.jit").MODE, "numba" in sys.modules)
