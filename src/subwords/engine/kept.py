"""Kept files: what encodes short texts with one tokenizer, as one file to map, so that a process starts without NumPy.

The fast path works on addresses (`kernels/fastpath.py`): of an array it reads the address of its data and its size, of
a tuple the addresses of its items. So a call plan and all that it points to can lie in a file: arrays and tuples that
are made up, and what is in them. Where an address goes is in a list: it is added up when the file is mapped, copied on
write. What is empty at first is not in the file.

A kept file is named as the other tables on disk are (`kernels/stored.py`), by the names and the content of the
tokenizer's files, and made from what was read for that name. It is made after a tokenizer that was loaded has encoded
its first short text. The spec is at its end, and is read when something asks for it: for whatever the fast path does
not do.

Row: startup_encode, "any but the first on a machine": three times as long without it.
"""

from __future__ import annotations

import ctypes
import hashlib
import mmap
import os

from subwords.kernels.entry import DATA, HEADS, SIZES, address_of, api, available, built_in, entry_kernel
from subwords.kernels.stored import (
    HEAD_SUM,
    SWITCH,
    mapped_table,
    padded,
    summed,
    table_name,
    write_table,
)
from subwords.support.errors import SubwordsError

TYPE_CHECKING = False  # `typing` takes longer to import than this module
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from os import PathLike
    from typing import Any

    from numpy.typing import NDArray

    from subwords.engine.engine import Engine
    from subwords.spec.tokenizer import TokenizerSpec

# What is added to a word: the address of the words, of the data in the file, of empty memory, or of a kernel by number.
WORDS, FILLED, EMPTY, KERNEL = range(4)
DEMO = os.path.join(os.path.dirname(os.path.dirname(__file__)), "demo.json")
HEADER = SIZES + 16  # bytes of an array that is made up; the last eight are its size
# As in `layout`, which takes 4 ms to import: bytes after an array that kernels may read, and forms of results.
LANES, AS_LIST, AS_NUMBER = 64, 0, 1
HEAD = HEAD_SUM + 16  # bytes: these, how many numbers follow, and the place of the spec
LONG_WORD = 1 << 9  # bytes of a word for which a kept file has buffers
MOST_BYTES = 1 << 26  # bytes of the files of a tokenizer
# Endings of the files that a tokenizer is read from.
READ_ENDINGS = (".json", ".txt", ".model", ".jinja", ".tiktoken", ".spm", ".bpe", ".vocab", ".gz")


class Kept:
    """The functions of a tokenizer's short texts, and its spec; None from a function: use the general path."""

    def __init__(self, data: mmap.mmap) -> None:
        view, base = memoryview(data), ctypes.addressof(ctypes.c_char.from_buffer(data))
        count, spec_at = view[HEAD_SUM:HEAD].cast("q")
        first = HEAD + 8 * count
        plan, empty, size, named, lengths, *numbers = view[HEAD:first].cast("q")
        places, texts = numbers[lengths:], []
        for length in numbers[:lengths]:
            texts.append(str(view[first : first + length], "utf-8", "surrogatepass"))
            first += length
        kernels, strings, pattern = texts[:named], texts[named:-1], texts[-1]
        first, blank = padded(first), mmap.mmap(-1, empty)
        bases = base + first, base + padded(first + size), ctypes.addressof(ctypes.c_char.from_buffer(blank))
        codes, words = [address_of(entry_kernel(name)) for name in kernels], view[first : first + size].cast("q")
        for at, kind, what in zip(*[iter(places)] * 3, strict=True):
            words[at] = codes[what] if kind == KERNEL else bases[kind] + what
        self._stored = view[spec_at:].toreadonly()
        nothing = (ctypes.c_int64 * 3)()  # no strings to look for here, no ids around those of a text, no ints kept
        slot, kernel = [_slot(bases[WORDS] + plan)], entry_kernel("fast_text")

        def function(form: int) -> Callable[[object], Any]:
            around = (ctypes.c_int64 * 3)(0, 0, form)
            return built_in(kernel, (api(), slot, nothing, around, nothing, None, (data, blank)))

        self.encode: Callable[[object], list[int] | None] = function(AS_LIST)
        self.count_ids: Callable[[object], int | None] = function(AS_NUMBER)
        if strings or pattern:
            self.encode, self.count_ids = (_unless(call, strings, pattern) for call in (self.encode, self.count_ids))

    def spec(self) -> TokenizerSpec:
        """Return the spec of the tokenizer."""
        from subwords.kernels.stored import unpacked

        stored: tuple[TokenizerSpec, str] = unpacked(self._stored)  # type: ignore[assignment]
        spec, vars(stored[0].model)["digest"] = stored
        return spec


def _slot(plan: int) -> object:
    """Return an object that kernels take for the tuple of a plan and its state, but that owns nothing.

    A capsule has two addresses, its name and its context, where a tuple has its first item (before Python 3.14, and
    since). Python would count references to the plan itself, even after its memory was given back.
    """
    new = ctypes.pythonapi["PyCapsule_New"]
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    context = ctypes.pythonapi["PyCapsule_SetContext"]
    context.argtypes = ctypes.py_object, ctypes.c_void_p
    found = new(plan, plan, None)
    context(found, plan)
    first = ctypes.c_void_p.from_address(id(found) + HEADS["subwords_tuple_head"])
    if first.value != plan:
        raise SubwordsError("expected capsules laid out as in CPython")  # which `read_kept` takes as a file of no use
    return found


def _unless(call: Callable[[object], Any], strings: list[str], pattern: str) -> Callable[[object], Any]:
    """Return the function for texts in which none of some strings occurs."""
    if pattern:
        import re

        search = re.compile(pattern).search
        return lambda text: None if type(text) is not str or search(text) else call(text)

    def checked(text: object) -> Any:
        if type(text) is not str:
            return None
        for string in strings:
            if string in text:
                return None
        return call(text)

    return checked


def file_named(path: str | PathLike[str]) -> str | PathLike[str]:
    """Return the file of the package that "demo" means where nothing has this name; any other path as it is."""
    return DEMO if isinstance(path, str) and path == "demo" and not os.path.exists(path) else path


def kept_at(path: object) -> tuple[str | None, dict[str, tuple[bytes, bytes]]]:
    """Return the name of the kept file of the tokenizer at a path; None if it can have none.

    Also return what was read: the content of each file, with its SHA-256, by its path. These are all files that the
    tokenizer may be read from, but for what a vocab.json needs beside it. {} if nothing was read.
    """
    contents: dict[str, tuple[bytes, bytes]] = {}
    if not available() or os.environ.get(SWITCH) == "off":
        return None, contents
    try:
        place, state = os.fspath(path), hashlib.sha256()  # type: ignore[call-overload]
        names = _files_in(place) if os.path.isdir(place) else [place] if os.path.isfile(place) else []
        above = place if os.path.isdir(place) else os.path.dirname(place)
        # A pipe can be read only once, and the tensors of a model are gigabytes: neither is opened here.
        if not names or sum(map(os.path.getsize, names)) > MOST_BYTES:
            return None, contents
        for name in names:
            with open(name, "rb") as file:
                data = file.read()
            digest = hashlib.sha256(data).digest()
            contents[os.path.normpath(name)] = data, digest
            state.update(os.fsencode(os.path.relpath(name, above)) + b"\0" + digest)
        return table_name("kept", state.digest()), contents
    except (OSError, TypeError, ValueError):
        return None, {}


def _files_in(folder: str) -> list[str]:
    """Return the files of a folder that a tokenizer may be read from: at least those that `formats` reads."""
    within = os.path.join(folder, "additional_chat_templates")
    folders = [folder, within] if os.path.isdir(within) else [folder]
    entries = [entry for each in folders for entry in os.scandir(each)]
    return sorted(entry.path for entry in entries if entry.name.endswith(READ_ENDINGS) and entry.is_file())


def read_kept(name: str) -> Kept | None:
    """Return the content of a kept file; None if it is missing or damaged, or if others may have written it."""
    try:
        data = mapped_table(name)
        return None if data is None else Kept(data)
    except Exception:  # whatever damaged content raises
        return None


# ------------------------------------------------------------------ making one


def write_kept(name: str, engine: Engine, spec: TokenizerSpec, root: str | None) -> None:
    """Write the kept file of a tokenizer, if its short texts take nothing but a plan, and there is no sound one."""
    from subwords.engine.encoder import EncoderState, keep_first_words
    from subwords.kernels import layout
    from subwords.kernels.plan_layout import FIELDS, stage_row
    from subwords.kernels.stored import packed

    found = engine.quick
    keep_first_words(engine.encoder if found is None else found[0], root)
    if found is None or read_kept(name) is not None:
        return
    encoder, strings, pattern = found
    state, other = (EncoderState(encoder.segmenter) for _ in range(2))
    # A text whose words have no room needs the engine, which takes 150 ms. This room takes 0.6 MB of zeros, and for BPE
    # twice as many numbers as there are tokens.
    state.expect(2 * layout.SHORT_TEXT)
    state.grow_arena(layout.SHORT_TEXT)
    state.fit_word(LONG_WORD)
    plan, call = encoder.plan(state), encoder.splitter.fast_path(state.buffers)
    assert call is not None, "an encoder without a fast path is not quick"
    # What two states share are tables. What each has of its own is empty at first, but for these.
    own = (state.seeds, state.counters, state.slots, state.ids, state.arena, *state.scratch)
    state.ids[int(state.counters[layout.COUNTER.ids_used]) :] = 0
    state.arena[int(state.counters[layout.COUNTER.bytes_used]) :] = 0
    image = Image(arrays_in((encoder.plan(other), other.workspace)), own)
    at = {FIELDS.split: call.kernel, FIELDS.keep: call.keep, FIELDS.encode: encoder.segmenter.kernel}
    at[FIELDS.ascii_split] = call.ascii_kernel
    at |= {stage_row(number).start: stage.kernel for number, stage in enumerate(call.stages)}
    inner = {field: (KERNEL, image.kernel(kernel.name)) for field, kernel in at.items() if kernel is not None}
    inner[FIELDS.workspace] = WORDS, image.add(state.workspace)
    inner[FIELDS.out] = WORDS, image.add(state.out)
    image.add(plan.fields, inner)
    write_table(name, image.packed(image.add(plan), strings, pattern, packed((spec, spec.model.digest))), root)


def arrays_in(things: Any) -> set[int]:
    """Return the ids of the arrays in a tuple of tuples and arrays."""
    if isinstance(things, tuple):
        return set[int]().union(*map(arrays_in, things))
    return {id(things)}


class Image:
    """The objects that a plan points to, as words of 64 bits, the data of arrays, and where addresses go.

    shared, own: arrays whose data are in it; others are empty at first. later: those whose data get an address, and a
    size, where the image is used. head: bytes before the items of a tuple.
    """

    def __init__(
        self,
        shared: set[int],
        own: Iterable[NDArray[Any]],
        later: Iterable[NDArray[Any]] = (),
        head: int = HEADS["subwords_tuple_head"],
    ) -> None:
        self._later, self._head = set(map(id, later)), head
        self._words: list[int] = []
        self._data: list[bytes] = []
        self._size = self._empty = 0  # bytes of the data, and of what is empty at first
        self._places: list[int] = []  # threes: the word, what is added to it, and to what
        self._kernels: list[str] = []
        self._found: dict[int, int] = {}
        self._filled = shared | set(map(id, own))

    def kernel(self, name: str) -> int:
        """Return the number of a kernel."""
        self._kernels.append(name)
        return len(self._kernels) - 1

    def add(self, thing: Any, inner: Mapping[int, tuple[int, int]] | None = None) -> int:
        """Add an array, or a tuple of such, and return where it is; inner: what is added to some of its elements."""
        if id(thing) not in self._found:
            self._found[id(thing)] = self._tuple(thing) if isinstance(thing, tuple) else self._array(thing, inner)
        return self._found[id(thing)]

    def packed(self, plan: int, strings: list[str], pattern: str, spec: bytearray) -> bytearray:
        """Return the content of a kept file."""
        from array import array

        size = 8 * len(self._words)
        texts = [text.encode("utf-8", "surrogatepass") for text in (*self._kernels, *strings, pattern)]
        listed = [plan, self._empty, size, len(self._kernels), len(texts), *map(len, texts), *self._places]
        described = array("q", listed).tobytes() + b"".join(texts)
        first = padded(HEAD + len(described))
        parts: list[bytes | bytearray] = [
            described,
            bytes(first - HEAD - len(described)),
            array("q", self._words).tobytes(),
        ]
        parts += [bytes(padded(size) - size), *self._data, spec]
        content = array("q", (len(listed), first + padded(size) + self._size)).tobytes() + b"".join(parts)
        return summed(bytearray(HEAD_SUM) + content)

    def placed(self, base: int) -> tuple[bytes, int, list[int]]:
        """Return the words and the data for memory where they begin at `base`, and where they end, with empty arrays.

        Also the addresses of words that are numbers of kernels, as `add` was given them, in place of addresses.
        """
        from array import array

        size = 8 * len(self._words)
        bases = {WORDS: base, FILLED: base + padded(size), EMPTY: base + padded(size) + self._size, KERNEL: 0}
        words = array("q", self._words)
        for at, kind, what in zip(*[iter(self._places)] * 3, strict=True):
            words[at] = bases[kind] + what
        content = words.tobytes() + bytes(padded(size) - size) + b"".join(self._data)
        places = zip(self._places[::3], self._places[1::3], strict=True)
        kernels = [base + 8 * at for at, kind in places if kind == KERNEL]
        return content, bases[EMPTY] + self._empty, kernels

    @property
    def words_size(self) -> int:
        """How many bytes the words take, before the data."""
        return padded(8 * len(self._words))

    def _object(self, size: int) -> int:
        self._words += [0] * (size // 8)
        return len(self._words) - size // 8

    def _point(self, at: int, kind: int, what: int) -> None:
        self._places += [at, kind, what]

    def _tuple(self, things: tuple[Any, ...]) -> int:
        found = [self.add(thing) if not (thing is None or isinstance(thing, memoryview)) else None for thing in things]
        at = self._object(self._head + 8 * len(things))
        for number, each in enumerate(found, at + self._head // 8):
            if each is not None:
                self._point(number, WORDS, each)
        return 8 * at

    def _array(self, made: NDArray[Any], inner: Mapping[int, tuple[int, int]] | None) -> int:
        at = self._object(HEADER)
        self._point(at + SIZES // 8, WORDS, 8 * at + HEADER - 8)
        if id(made) in self._later:
            return 8 * at
        self._words[at + HEADER // 8 - 1] = len(made)
        room = padded(made.nbytes + LANES)
        if inner is not None:
            begin = len(self._words)
            self._words += made.tolist()
            self._point(at + DATA // 8, WORDS, 8 * begin)
            for number, (kind, what) in inner.items():
                self._point(begin + number, kind, what)
        elif id(made) in self._filled and made.any():
            self._point(at + DATA // 8, FILLED, self._size)
            self._data += [made.tobytes(), bytes(room - made.nbytes)]
            self._size += room
        else:
            self._point(at + DATA // 8, EMPTY, self._empty)
            self._empty += room
        return 8 * at
