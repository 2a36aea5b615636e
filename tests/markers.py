"""Memory filled with a marker, to find results, messages and files that hold what is not of their call.

`marked_memory` fills fresh arrays. With SUBWORDS_MARKERS=1 a whole run of pytest works on marked memory: every fresh
array; before a state encodes, its buffers and the free space of its word cache; large results that are lent again. What
public functions return, raise and warn, and the files of each test, are searched for the marker.

Hash tables, counters and the chains of a BPE model stay as they are: the next call relies on them.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, wraps
from pathlib import Path
from types import FunctionType, GeneratorType
from typing import Any

import numpy as np
import pytest

from inside import kernels_layout as layout

__all__ = ["MARKER", "Markers", "live_markers", "marked", "marked_memory"]

# Options of training, by family of models.
FAMILIES: dict[str, dict[str, Any]] = {
    "bpe": {"vocab_size": 270},
    "characters": {"byte_level": False, "vocab_size": 40},
    "wordpiece": {"algorithm": "wordpiece", "vocab_size": 60},
    "unigram": {"algorithm": "unigram", "vocab_size": 40},
    "wordlevel": {"algorithm": "wordlevel", "vocab_size": 40},
}

MARKER = 0x7F  # DEL: in UTF-8 a character, so that it also shows in messages
RUN = bytes([MARKER]) * 4


def marked(found: Any) -> bool:
    """Whether bytes, a text, an array or a list of these holds the marker."""
    if isinstance(found, np.ndarray):
        return RUN in found.tobytes()
    if isinstance(found, bytes):
        return RUN in found
    if isinstance(found, str):
        return RUN.decode() in found or "\\x7f" * len(RUN) in found
    return isinstance(found, list | tuple) and any(map(marked, found))


@contextmanager
def marked_memory() -> Iterator[None]:
    """Fill every array that the package makes without values; others' stay as they are."""
    originals = np.empty, np.empty_like

    def filled(make: Any) -> Any:
        def made(*args: Any, **options: Any) -> Any:
            array = make(*args, **options)
            if sys._getframe(1).f_globals.get("__name__", "").startswith("subwords") and array.dtype != object:
                array.view(np.uint8)[...] = MARKER if array.ndim else 0
            return array

        return made

    np.empty, np.empty_like = map(filled, originals)
    try:
        yield
    finally:
        np.empty, np.empty_like = originals


# ------------------------------------------------------------------ memory that calls share


def fill(array: Any) -> None:
    """Fill an array with the marker, unless it is of others: a text that a call was given is read-only."""
    if isinstance(array, np.ndarray) and array.flags.writeable and array.size:
        array.view(np.uint8)[...] = MARKER


def fill_buffers(buffers: Any) -> None:
    """Fill the buffers of a splitter and of the normalizer before it."""
    for name in ("ends", "text_ends", "tail", "kept_text", "kept_ends"):
        fill(getattr(buffers, name))
    for machine in (buffers.transducer, buffers.cutter):
        if machine is not None:
            for array in (machine.stream, machine.words, machine.recent, machine.cuts.codes):
                fill(array)


def fill_state(state: Any) -> None:
    """Fill the buffers of a thread's state that no call uses, and the free space of its word cache."""
    fill(state.out)
    fill(state.word_ends)
    fill(state.ids[state.counters[layout.COUNTER.ids_used] :])
    fill(state.arena[state.counters[layout.COUNTER.bytes_used] :])
    for name in ("keys", "symbols", "codes", "best", "steps"):
        fill(getattr(state.scratch, name, None))
    fill_buffers(state.buffers)
    for plan in state.plans.values():
        for array in (plan.buffer, plan.text_ends, plan.kept_text, plan.kept_ends):
            fill(array)
        for stage in plan.stages:
            fill(stage.out.text)
            for array in stage.scratch if isinstance(stage.scratch, tuple) else (stage.scratch,):
                fill(array)


class Markers:
    """What was found, and how often memory was filled."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.filled = 0

    def fill(self, state: Any) -> None:
        fill_state(state)
        self.filled += 1

    def look(self, where: str, value: Any) -> None:
        """Note the marker in what a public function gave."""
        if holds(value):
            self.found.append(where)
            raise AssertionError(f"{where} holds memory that is not of its call: {value!r:.200}")

    def checked(self, where: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with a search of what it returns, yields or raises."""

        @wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            try:
                result = function(*args, **options)
            except Exception as error:
                self.look(f"the error of {where}", str(error))
                raise
            if isinstance(result, GeneratorType):
                return self.walked(where, result)
            self.look(where, result)
            return result

        return call

    def walked(self, where: str, results: Iterator[Any]) -> Iterator[Any]:
        for result in results:
            self.look(where, result)
            yield result

    @pytest.hookimpl
    def pytest_warning_recorded(self, warning_message: Any, nodeid: str) -> None:
        if marked(str(warning_message.message)):
            self.found.append(f"a warning in {nodeid}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item: Any) -> None:
        """Search the files of a test, and fail it if anything was found, even if it caught the error."""
        folder = getattr(item, "funcargs", {}).get("tmp_path")
        for path in sorted(folder.rglob("*")) if folder is not None else ():
            if path.is_file() and os.access(path, os.R_OK) and file_holds(path):
                self.found.append(f"file {path.name}")
        found, self.found = self.found, []
        assert not found, f"memory that is not of its call: {', '.join(found)}"


def file_holds(path: Path) -> bool:
    return RUN * 2 in path.read_bytes()


def holds(value: Any) -> bool:
    """Whether a value, what it would be pickled as, or a field of a result holds the marker."""
    try:
        if RUN in pickle.dumps(value):
            return True
    except Exception:  # no object to pickle, such as a stream
        return marked(repr(value))
    kind = type(value)
    if kind.__module__ not in ("subwords.engine.encoding", "subwords.spec.token_batch"):
        return marked(value)
    fields = [name for name in dir(kind) if isinstance(getattr(kind, name, None), property | cached_property)]
    return any(holds(getattr(value, name)) for name in fields if name[0] != "_")


@contextmanager
def live_markers() -> Iterator[Markers]:
    """Fill all live memory that is free, before each use; search what public functions give."""
    import subwords
    from inside import DecodeStream, FastPath, SpanFinder
    from inside import engine_encoder as encoder
    from inside import kernels_fastpath_decode as fastpath_decode
    from inside import support_memory as memory

    markers, patch = Markers(), pytest.MonkeyPatch()
    take, crew, quick, find = encoder.Encoder.take, encoder.Encoder.crew, FastPath._function, SpanFinder.find
    built_in, lent = fastpath_decode.built_in, memory.Spare.empty

    def taken(self: Any) -> Any:
        state = take(self)
        markers.fill(state)
        return state

    def taken_crew(self: Any, size: int) -> Any:
        states = crew(self, size)
        for state in states:
            markers.fill(state)
        return states

    def made(self: Any, *kernel_and_form: Any) -> Callable[[object], Any]:
        call, slot = quick(self, *kernel_and_form), self._slot

        def after_filling(text: object) -> Any:
            if slot is not None and (held := slot.take()) is not None:
                markers.fill(held[1])
                slot.put(held)
            return call(text)

        return after_filling

    def searched(self: Any, *args: Any) -> Any:
        for buffers in list(self._words.buffers):
            fill_buffers(buffers)
        return find(self, *args)

    def built(kernel: Any, carried: tuple[Any, ...], **options: Any) -> Any:
        function, scratch = built_in(kernel, carried, **options), memoryview(carried[-1])
        content = bytes([MARKER]) * scratch.nbytes

        def call(ids: object) -> Any:
            scratch[:] = content  # holds the interpreter's lock, as the fast path does
            return function(ids)

        return call

    def lent_again(self: Any, count: int, dtype: Any) -> Any:
        array = lent(self, count, dtype)
        fill(array)
        return array

    for owner, name, changed in (
        (encoder.Encoder, "take", taken),
        (encoder.Encoder, "crew", taken_crew),
        (FastPath, "_function", made),
        (SpanFinder, "find", searched),
        (fastpath_decode, "built_in", built),
        (memory.Spare, "empty", lent_again),
    ):
        patch.setattr(owner, name, changed)
    for kind in {base for public in (subwords.Tokenizer, DecodeStream) for base in public.__mro__}:
        for name, function in list(vars(kind).items()):
            public = name == "__call__" or name[0] != "_"
            if kind.__module__.startswith("subwords.") and public and type(function) is FunctionType:
                patch.setattr(kind, name, markers.checked(f"{kind.__name__}.{name}", function))
    for name in subwords.__all__:
        if type(function := getattr(subwords, name)) is FunctionType:
            patch.setattr(subwords, name, markers.checked(name, function))
    try:
        with marked_memory():
            yield markers
    finally:
        patch.undo()
