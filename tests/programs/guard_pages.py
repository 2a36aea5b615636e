"""Accesses at the borders of what a kernel is given, each in a child: how it ends, in the guard mode of an argument."""

from __future__ import annotations

import os
import sys

import numpy as np

import subwords.kernels.jit as jit
import subwords.kernels.objects as objects
from guards import guarded_memory
from subwords.kernels import entry
from subwords.kernels.jit import Int
from subwords.kernels.layout import U8s


def byte_in(values: U8s, at: Int) -> Int:
    return jit.I64(jit.pointer(values)[at])


def byte_of_text(carried: Int, text: Int) -> Int:
    numbers = objects.data_of(objects.item(carried, 1))
    address, _ = objects.utf8_of(carried, text, 100, numbers, False, numbers)
    return objects.call_at(
        objects.api_of(carried, entry.INT_NEW), objects.byte_at(address + objects.load_at(numbers + 8))
    )


DATA = "a文é".encode()
planted = {"__name__": "subwords.planted"}
with guarded_memory(before=sys.argv[1] == "before") as guards:
    exec("import numpy as np\nmade, zeros = np.empty(6, np.uint8), np.zeros(6, np.uint8)", planted)
    numbers, kernel = np.zeros(2, np.int64), entry.Kernel("byte_in", byte_in)
    read = entry.built_in(entry.Kernel("byte_of_text", byte_of_text), (entry.api(), numbers))
    arrays = {
        "bytes": np.frombuffer(DATA, np.uint8),
        "slice": np.frombuffer(bytes(9) + DATA + bytes(9), np.uint8)[9:15],
        "made": planted["made"],
        "zeros": planted["zeros"],
    }
    for array in arrays.values():
        if array.flags.writeable:
            array[:] = list(DATA)
    for kind in (*arrays, "text"):
        for at in (0, 5, -1, 6):
            child = os.fork()
            if not child:
                before, numbers[1] = guards.copied, at
                if kind in arrays:
                    found = kernel(arrays[kind], at)
                    assert (guards.copied > before) == (kind in ("bytes", "slice"))
                else:
                    found = read("abcdef")
                os._exit(at in (0, 5) and found != (b"abcdef" if kind == "text" else DATA)[at])
            print(kind, at, os.waitpid(child, 0)[1], sep=",")
