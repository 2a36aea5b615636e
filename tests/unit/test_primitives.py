"""Primitives of kernels, as the mode compiles them, equal what their names say in plain Python."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inside import kernels_entry as entry

FILE = Path(__file__).parents[1] / "programs" / "primitive_kernels.py"
ALL = (1 << 64) - 1
U64 = st.integers(0, ALL) | st.sampled_from([0, 1, 1 << 63, ALL]) | st.integers(0, 63).map(lambda k: 1 << k)
BYTE = st.integers(0, 255)
blocks = st.binary(min_size=72, max_size=72)
chars = st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"])


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The kernels of the file, in a module whose primitives compiling replaces, and compiled for nobody else."""
    spec = importlib.util.spec_from_file_location("subwords.kernels.tested_primitives", FILE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, spec.name, module)
        patch.setenv("SUBWORDS_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        spec.loader.exec_module(module)

        class Found:
            def __getattr__(self, name: str) -> entry.Kernel:
                found = entry.Kernel(name, getattr(module, name))
                found.without_gil()
                setattr(self, name, found)
                return found

        yield Found()


def bits_of(flags: Any) -> int:
    return sum(1 << k for k, flag in enumerate(flags) if flag)


def places_of(mask: int) -> list[int]:
    return [k for k in range(64) if mask >> k & 1]


def array(*values: int) -> Any:
    return np.array(values, np.uint64)


@given(data=blocks, i=st.integers(0, 8), ends=st.tuples(BYTE, BYTE).map(sorted), bit=st.integers(0, 7))
def test_masks(kernels: Any, data: bytes, i: int, ends: list[int], bit: int) -> None:
    low, high = ends
    out, block = np.zeros(4, np.uint64), data[i : i + 64]
    kernels.masks(np.frombuffer(data, np.uint8), i, low, high, 1 << bit, out)
    assert out.tolist() == [
        bits_of(low <= byte <= high for byte in block),
        bits_of(low <= byte | 32 <= high for byte in block),
        bits_of(byte >> bit & 1 for byte in block),
        int.from_bytes(block[:8], "little"),
    ]


@given(x=U64, y=U64)
def test_numbers(kernels: Any, x: int, y: int) -> None:
    out = np.zeros(5, np.uint64)
    kernels.numbers(array(x, y), out)
    assert out.tolist() == [
        sum(1 << place for n, place in enumerate(places_of(y)) if x >> n & 1),
        x * y >> 64 ^ x * y & ALL,
        (x & -x).bit_length() - 1 if x else 64,
        64 - x.bit_length(),
        x.bit_count(),
    ]


@given(data=blocks, i=st.integers(0, 8), j=st.integers(0, 8), n=st.integers(0, 20), x=U64)
def test_copies(kernels: Any, data: bytes, i: int, j: int, n: int, x: int) -> None:
    out, wide = np.full(140, 7, np.uint8), np.full(40, 7, np.uint32)
    words = np.arange(100, 140, dtype=np.uint32)
    kernels.copies(np.frombuffer(data, np.uint8), i, j, n, words, array(x), out, wide)
    assert out.tobytes() == b"\7" * j + data[i : i + 64] + b"\0" * 64 + b"\7" * (12 - j)
    copied = words[i : i + min(n, 16)].tolist()
    assert wide[j : j + len(copied)].tolist() == copied
    assert wide[j + 16 : j + 18].tolist() == [x & 0xFFFFFFFF, x >> 32]
    assert set(wide[:j].tolist()) <= {7} and set(wide[j + 18 :].tolist()) <= {7}


@given(char=st.characters(exclude_categories=["Cs"]), before=st.integers(0, 5))
def test_code_points(kernels: Any, char: str, before: int) -> None:
    data = b"x" * before + char.encode() + b"\xff" * 4
    assert kernels.code_point(np.frombuffer(data, np.uint8), before) == ord(char)


@given(i=st.integers(0, 8), base=st.integers(0, (1 << 31) - 65), mask=U64, flags=U64)
def test_bits(kernels: Any, i: int, base: int, mask: int, flags: int) -> None:
    out, flagged = (np.full(80, 7, np.uint32) for _ in range(2))
    places, count = places_of(mask), mask.bit_count()
    assert kernels.bits(out, flagged, i, base, array(mask, flags)) == 1001 * (i + count)
    assert out[i : i + count].tolist() == [base + k for k in places]
    assert flagged[i : i + count].tolist() == [base + k | (flags >> k & 1) << 31 for k in places]
    for each in (out, flagged):
        assert each[:i].tolist() == [7] * i and each[i + 64 :].tolist() == [7] * (16 - i)


@given(text=st.lists(chars, min_size=64, max_size=64).map("".join), i=st.integers(0, 8), n=st.integers(0, 8), keep=U64)
def test_classes(kernels: Any, text: str, i: int, n: int, keep: int) -> None:
    data = text.encode()
    place, starts, found = 0, 0, list[str]()
    for char in text:
        if i <= place < i + 64 and keep >> (place - i) & 1:
            starts |= 1 << (place - i)
            found.append(char)
        place += len(char.encode())
    rng = np.random.default_rng(len(data))
    small = rng.integers(0, 256, 1 << 16, np.uint8)
    wide = rng.integers(0, 1 << 16, (1 << 16) + 1, np.uint16)
    q, r, codes = np.full(300, 7, np.uint8), np.full(300, 7, np.uint8), np.full(300, 7, np.uint16)
    padded = np.frombuffer(data + b"x" * 80, np.uint8)
    kernels.classes(padded, i, array(starts), small, wide, n, q, r, codes)
    points, count = [ord(char) for char in found], len(found)
    assert q[n : n + count].tolist() == small[points].tolist()
    for each, ref in ((q, wide[points] & 0xFF), (r, wide[points] >> 8), (codes, np.array(points))):
        assert each[n + 128 : n + 128 + count].tolist() == ref.tolist()
        assert set(each[n + 64 : n + 128].tolist()) == {7} and set(each[n + 192 :].tolist()) == {7}


@given(data=st.data(), count=st.sampled_from([16, 32, 64]))
def test_lanes(kernels: Any, data: st.DataObject, count: int) -> None:
    value = st.integers(0, (1 << 32) - 1)
    lanes = data.draw(st.lists(value, min_size=count, max_size=count))
    i, changed = data.draw(st.integers(0, count - 1)), data.draw(value)
    out = np.zeros(3, np.uint64)
    kernels.lowest(np.array(lanes, np.uint32), count, i, changed, out)
    assert out.tolist() == [min(lanes), min([*lanes[:i], changed, *lanes[i + 1 :]]), min(lanes)]
