"""Pointers that refuse an index before their array: Numba's checks let -1 mean the last element."""

from __future__ import annotations

import subwords.kernels.jit as jit


class Pointer:
    def __init__(self, array, start=0):
        self.array, self.start = array, start

    def place(self, index):
        assert 0 <= index < len(self.array) - self.start, (index, self.start, len(self.array))
        return self.start + index

    def __getitem__(self, index):
        return self.array[self.place(index)]

    def __setitem__(self, index, value):
        self.array[self.place(index)] = value


jit.pointer = Pointer
jit.advance = lambda pointer, k: Pointer(pointer.array, pointer.start + k)
