"""Arrays that end, or begin, at a page that may not be touched: a kernel that leaves one ends the process.

With SUBWORDS_GUARDS=1 a whole run of pytest works so, and with SUBWORDS_GUARDS=before the page is before each array.
Compiled kernels check no index, and their block loads exist only as machine code, which the checked mode does not run.
All that a kernel takes is guarded: what `np.empty`, `np.zeros`, `memory.zeros` and `Spare` make for the package lies so
already; of anything else, such as a slice or the bytes of a text, the kernel gets a copy. A text that a built-in
function reads in place, and the rooms it writes to, are guarded too. So room for block loads and copies has to be part
of an array: an access beyond its length ends the process even where the memory goes on.

Not guarded: where a text ends in the buffers of a call plan, after which there is room on purpose (the same kernels run
without it elsewhere); arrays within a kept file.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import numpy as np
import pytest

from inside import MODE, Int
from inside import engine_batch as batch
from inside import kernels_entry as entry
from inside import support_memory as memory

__all__ = ["guarded", "guarded_memory"]

PAGE = mmap.PAGESIZE
PROTECT = ctypes.CDLL(None, use_errno=True).mprotect
NOBODY = 0  # PROT_NONE
MOST = 1 << 16  # bytes of a text or a room of the fast path that is guarded
MOST_TEXTS = 1 << 9  # of a batch that are guarded
TURNS = 64  # so many of them are in use at once, at most


class Pages(mmap.mmap):
    """Memory of whole pages between `first` and `last`, beside which is a page that may not be touched."""

    first: int
    last: int


def forbid(page: int) -> None:
    if PROTECT(ctypes.c_void_p(page), ctypes.c_size_t(PAGE), NOBODY):
        raise OSError(ctypes.get_errno(), "mprotect")


def pages_of(size: int, *, before: bool) -> Pages:
    room = max(PAGE, -(-size // PAGE) * PAGE)
    made = Pages(-1, room + PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = np.frombuffer(made, np.uint8).ctypes.data
    forbid(address if before else address + room)
    made.first = address + PAGE if before else address
    made.last = made.first + room
    return made


def guarded(size: int, *, before: bool) -> np.ndarray[Any, Any]:
    """Zero bytes beside a page that may not be touched."""
    pages = pages_of(size, before=before)
    at = PAGE if before else len(pages) - PAGE - size
    return np.frombuffer(pages, np.uint8, size, at)


def end_of(array: Any) -> int:
    return int(array.ctypes.data) + int(array.nbytes)


class Guards:
    """Gives kernels guarded arrays; counts the calls, and the arrays that were copied."""

    def __init__(self, *, before: bool) -> None:
        self.before = before
        self.calls = self.copied = self.made = 0
        self._free: dict[int, list[Pages]] = {}

    def place(self, size: int) -> np.ndarray[Any, Any]:
        self.made += 1
        return guarded(size, before=self.before)

    def stays(self, first: int, last: int, array: Any) -> bool:
        """Whether an array is guarded where it is, or is what lies between texts that are anywhere (`memory_at`)."""
        while isinstance(array, np.ndarray):
            array = array.base
        owner = array.obj if isinstance(array, memoryview) else array
        if isinstance(owner, Pages):
            return first == owner.first if self.before else last == owner.last
        return owner is None and isinstance(array, memoryview)

    def calling(self, function: Callable[..., int]) -> Callable[..., int]:
        """Return a kernel that works on guarded memory."""

        def call(*args: Any) -> int:
            found: dict[int, Any] = {}
            arrays_in(args, found)
            moved: dict[int, Any] = {}
            taken = [self._move(block, moved) for block in blocks_of(list(found.values()))]
            before = {number: copy.tobytes() for number, copy in moved.items()}
            result = function(*(replaced(each, moved) for each in args)) if moved else function(*args)
            self.calls += 1
            for number, copy in moved.items():
                give_back(found[number], copy, before[number])
            moved.clear()
            for pages in taken:
                if pages is not None:
                    self._free.setdefault(len(pages), []).append(pages)
            return result

        call._as_parameter_ = function  # type: ignore[attr-defined]  # for its address
        return call

    def _move(self, block: list[Any], moved: dict[int, Any]) -> Pages | None:
        """Copy arrays that overlap, unless they stay."""
        first, last = min(each.ctypes.data for each in block), max(map(end_of, block))
        if any(self.stays(first, last, each) for each in block):
            return None
        self.copied += len(block)
        free = self._free.get(max(PAGE, -(-(last - first) // PAGE) * PAGE) + PAGE)
        try:
            pages = free.pop() if free else pages_of(last - first, before=self.before)
        except IndexError:  # another thread took it
            pages = pages_of(last - first, before=self.before)
        at = PAGE if self.before else len(pages) - PAGE - (last - first)
        for each in block:
            copy = np.ndarray(each.shape, each.dtype, pages, at + each.ctypes.data - first)
            copy[...] = each
            moved[id(each)] = copy
        return pages


def arrays_in(things: Any, found: dict[int, Any]) -> None:
    for each in things:
        if isinstance(each, np.ndarray):
            found[id(each)] = each
        elif isinstance(each, tuple):
            arrays_in(each, found)


def replaced(thing: Any, moved: dict[int, Any]) -> Any:
    if isinstance(thing, tuple):
        return tuple.__new__(type(thing), [replaced(each, moved) for each in thing])
    return moved.get(id(thing), thing) if isinstance(thing, np.ndarray) else thing


def blocks_of(arrays: list[Any]) -> Iterator[list[Any]]:
    """Arrays that overlap, together."""
    block: list[Any] = []
    last = 0
    for array in sorted(arrays, key=lambda each: (each.ctypes.data, end_of(each))):
        if block and array.ctypes.data >= last:
            yield block
            block = []
        block.append(array)
        last = max(end_of(array), last if len(block) > 1 else 0)
    if block:
        yield block


def give_back(array: Any, copy: Any, before: bytes) -> None:
    """Write what a kernel changed to the array itself, and nothing else: other threads write to other parts of it."""
    if copy.tobytes() != before:
        assert array.flags.writeable, "a kernel wrote to an array that is read-only"
        after = copy.view(np.uint8)
        changed = after != np.frombuffer(before, np.uint8)
        array.view(np.uint8)[changed] = after[changed]


# ------------------------------------------------------------------ what is made for the package


def made_for_us(make: Callable[..., Any], guards: Guards) -> Callable[..., Any]:
    @wraps(make)
    def made(*args: Any, **options: Any) -> Any:
        array = make(*args, **options)
        ours = sys._getframe(1).f_globals.get("__name__", "").startswith("subwords")
        if not ours or array.ndim == 0 or array.dtype.hasobject or not array.flags.c_contiguous:
            return array
        placed = guards.place(array.nbytes).view(array.dtype).reshape(array.shape)
        if make is np_full:
            placed[...] = array
        return placed

    return made


np_full = np.full


def everywhere(patch: pytest.MonkeyPatch, original: Any, changed: Any) -> None:
    """Replace a function in every module of the package that has it."""
    for name, module in list(sys.modules.items()):
        if name.startswith("subwords"):
            for key, value in list(vars(module).items()):
                if value is original:
                    patch.setattr(module, key, changed)


# ------------------------------------------------------------------ what built-in functions read in place


def guard_texts(table: Any, *, before: bool) -> Any:
    """Let two functions of Python that give an address give that of a guarded copy; returns what this needs.

    What does this is compiled, since no Python code may run within a built-in function.
    """
    from llvmlite import binding

    from inside import kernels_compile as compiler
    from inside import kernels_machine_code as machine_code
    from inside import kernels_objects as objects

    stride = MOST + PAGE
    pages, turn = pages_of(TURNS * stride, before=before), (ctypes.c_int64 * 1)()
    first, turn_at, size_of = pages.first, ctypes.addressof(turn), int(table[entry.BYTES_SIZE])
    for k in range(TURNS):
        forbid(pages.first + k * stride + (0 if before else MOST))

    def copying(original: int, of_bytes: bool) -> Callable[..., int]:
        def guarded_copy(thing: Int, size_at: Int) -> Int:
            if of_bytes:
                address, size = objects.call_at(original, thing), objects.call_at(size_of, thing)
            else:
                address, size = objects.call_at(original, thing, size_at), objects.load_at(size_at)
            if address == 0 or size > MOST:
                return address
            k = objects.load_at(turn_at)
            objects.store_at(turn_at, (k + 1) % TURNS)
            to = first + k * stride + (PAGE if before else MOST - size)
            for i in range(size):
                objects.store_byte_at(to + i, objects.byte_at(address + i))
            return to

        return guarded_copy

    for place, of_bytes in ((entry.STR_UTF8, False), (entry.BYTES_DATA, True)):
        kernel = entry.Kernel(f"guarded_{place}", copying(int(table[place]), of_bytes))
        engine = machine_code._engine(os.getpid())
        engine.add_object_file(binding.ObjectFileRef.from_data(compiler.machine_code(kernel)))
        engine.finalize_object()
        table[place] = engine.get_function_address(kernel.symbol)
    return pages, turn


@contextmanager
def guarded_memory(*, before: bool = False) -> Iterator[Guards]:
    """Let kernels work on guarded memory."""
    assert MODE == "compiled", "other modes check indices, or have no pointers"
    guards, patch = Guards(before=before), pytest.MonkeyPatch()
    loaded, built_in, table = entry.Kernel._loaded, entry.built_in, entry.api()
    plain = type(table)(*table)
    kept = guard_texts(table, before=before) if entry.available() else None
    for name in ("empty", "zeros", "full", "empty_like", "zeros_like"):
        patch.setattr(np, name, made_for_us(getattr(np, name), guards))
    everywhere(
        patch,
        memory.zeros,
        lambda count, dtype, *, random=False: guards.place(count * np.dtype(dtype).itemsize).view(dtype),
    )
    patch.setattr(
        memory.Spare,
        "empty",
        lambda self, count, dtype: guards.place(max(1, count) * np.dtype(dtype).itemsize).view(dtype),
    )
    patch.setattr(entry.Kernel, "_loaded", lambda self: tuple(map(guards.calling, loaded(self))))

    def built(kernel: Any, carried: tuple[Any, ...], **options: Any) -> Any:
        # This one gives addresses of texts that are read later.
        return built_in(kernel, (plain, *carried[1:]) if kernel.name == "read_texts" else carried, **options)

    everywhere(patch, built_in, built)
    read_places = batch.read_places

    def read(texts: Any, *, marked: bool) -> Any:
        places = read_places(texts, marked=marked)
        if places is None or len(places.lengths) > MOST_TEXTS:
            return places
        copies = [
            copy_of(memory.memory_at(*each))
            for each in zip(places.addresses.tolist(), places.lengths.tolist(), strict=True)
        ]
        return places._replace(addresses=np.array([copy.ctypes.data for copy in copies], np.int64), owners=copies)

    def copy_of(array: Any) -> Any:
        copy = guards.place(array.nbytes)
        copy[...] = array
        return copy

    everywhere(patch, read_places, read)
    patch.setattr(batch, "memory_at", lambda address, size: copy_of(memory.memory_at(address, size)))
    for kernel in entry.KNOWN.values():
        patch.setattr(kernel, "_bound", None)
    try:
        yield guards
    finally:
        table[:] = plain[:]
        patch.undo()
        del kept
