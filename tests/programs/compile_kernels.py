"""Compile every kernel that the cache lacks, in as many processes as there are cores. Prints nothing."""

from __future__ import annotations

import multiprocessing
import os
import pkgutil
import sys
from importlib import import_module
from pathlib import Path

import subwords.kernels
from subwords.kernels.jit import KERNELS

MOST_PROCESSES = 4  # each takes half a gigabyte


def import_all() -> None:
    for module in pkgutil.walk_packages(subwords.kernels.__path__, "subwords.kernels."):
        import_module(module.name)


def names() -> list[str]:
    """All kernels; long files first, since they take longest and should not be left for the end."""
    import_all()
    sizes = {
        kernel.name: Path(str(sys.modules[kernel.function.__module__].__file__)).stat().st_size for kernel in KERNELS
    }
    return sorted(sizes, key=sizes.__getitem__, reverse=True)


def ready(name: str) -> None:
    next(kernel for kernel in KERNELS if kernel.name == name).without_gil()


if __name__ == "__main__":
    processes = min(os.cpu_count() or 1, MOST_PROCESSES)
    with multiprocessing.get_context("spawn").Pool(processes, initializer=import_all) as pool:
        for _ in pool.imap_unordered(ready, names(), chunksize=1):
            pass
