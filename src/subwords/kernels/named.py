"""Every entry kernel by the name of its function: `from subwords.kernels.named import split_gpt2`.

This imports no kernel's source. A name that no kernel has fails at its first call; `tests/test_house.py` finds it.
"""

from __future__ import annotations

from subwords.kernels.entry import Kernel, entry_kernel


def __getattr__(name: str) -> Kernel:
    if name.startswith("_"):
        raise AttributeError(name)
    return entry_kernel(name)
