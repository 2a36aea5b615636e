"""Arrays into which another thread writes while kernels read them: a result or a SubwordsError, and no crash."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec

import numpy as np
import pytest

import subwords

BEFORE = """
import sys, threading, time
import numpy as np
import subwords

def race(spoil, restore, call):
    # Spoilt for a moment, right for a moment. A failure is the end of the process.
    stop, found = time.monotonic() + 2, [0, 0]
    def write():
        while time.monotonic() < stop:
            for change in (spoil, restore):
                change()
                time.sleep(0.003)
    threading.Thread(target=write, daemon=True).start()
    while time.monotonic() < stop:
        try:
            call()
            found[0] += 1
        except subwords.SubwordsError:
            found[1] += 1
    print(*found)

def set_to(array, start, value):
    return lambda: array.__setitem__(slice(start, None), value)

tok = subwords.load("demo")
tok.decode(np.arange(20_000) % 4096)
"""

DECODE = """
ids = np.full({size}, 300)
race(set_to(ids, {size} // 2, 1 << 40), set_to(ids, 0, 300), lambda: {call})
"""
OFFSETS = """
ids, offsets = np.full(400_000, 300, np.uint32), np.arange(0, 400_001, 4)
kept, batch = offsets.copy(), subwords.TokenBatch(ids, offsets)
race(set_to(offsets, 50_000, 1 << 40), set_to(offsets, 0, kept), lambda: {call})
"""
ARROW = """
import pyarrow as pa
data, offsets = bytearray(b"abcdefghij" * 50_000), np.arange(0, 500_001, 10, dtype=np.int32)
kept = offsets.copy()
texts = pa.Array.from_buffers(pa.string(), 50_000, [None, pa.py_buffer(offsets), pa.py_buffer(data)])
race(set_to(offsets, 25_000, 1 << 30), set_to(offsets, 0, kept), lambda: {call})
"""
COUNTS = """
made = subwords.count([" ".join("w%d" % i for i in range({words}))])
offsets = made.offsets.copy()
kept, counts = offsets.copy(), subwords.WordCounts(made.data, offsets, made.counts, made.provenance)
race(set_to(offsets, {words} // 2, 1 << 40), set_to(offsets, 0, kept), lambda: {call})
"""
needs_arrow = pytest.mark.skipif(find_spec("pyarrow") is None, reason="needs pyarrow")


@pytest.mark.rotating(3)
@pytest.mark.parametrize(
    "race",
    [
        pytest.param(DECODE.format(size=2_000_000, call="tok.decode(ids)"), id="decode"),
        pytest.param(DECODE.format(size=200_000, call="tok.decode_bytes(ids)"), id="decode_bytes"),
        pytest.param(OFFSETS.format(call="tok.decode_batch(batch)"), id="decode_batch"),
        pytest.param(ARROW.format(call="tok.encode_batch(texts)"), id="encode_batch", marks=needs_arrow),
        pytest.param(ARROW.format(call="tok.count_tokens(texts)"), id="count_tokens", marks=needs_arrow),
        pytest.param(COUNTS.format(words=200_000, call="subwords.train(counts, vocab_size=258)"), id="train"),
    ],
)
def test_no_process_ends(race: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BEFORE + race], capture_output=True, text=True, timeout=120, env=dict(os.environ)
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert sum(map(int, done.stdout.split())), "no call"


@needs_arrow
def test_offsets_outside_a_buffer_are_refused() -> None:
    pa = pytest.importorskip("pyarrow")
    tok = subwords.load("demo")
    data, ids = pa.py_buffer(b"abcd" * 10), pa.array(range(40), pa.uint32())
    for bad in ([0, 4, 1 << 30], [0, 8, 4], [-4, 0, 4], [0, 4, 41]):
        offsets = np.array([0, 4, 8], np.int32)  # which PyArrow checks
        texts = pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(offsets), data])
        lists = pa.Array.from_buffers(pa.list_(pa.uint32()), 2, [None, pa.py_buffer(offsets)], children=[ids])
        offsets[:] = bad
        for call in (tok.encode_batch, tok.count_tokens, tok, subwords.TokenBatch.from_arrow):
            with pytest.raises(subwords.InputError, match="damaged Arrow array"):
                call(lists if call == subwords.TokenBatch.from_arrow else texts)
    indices, views = np.zeros(2, np.int32), np.zeros((2, 4), np.int32)
    numbers = pa.DictionaryArray.from_arrays(
        pa.Array.from_buffers(pa.int32(), 2, [None, pa.py_buffer(indices)]), pa.array(["a", "b"])
    )
    made = [numbers]
    with suppress(ValueError):  # PyArrow 17 makes no views from buffers
        made.append(pa.Array.from_buffers(pa.string_view(), 2, [None, pa.py_buffer(views), data]))
    indices[1], views[1] = 9, (20, 0, 0, 30)  # 20 bytes from byte 30 of 40
    for array in made:
        with pytest.raises(subwords.InputError, match="damaged Arrow array"):
            tok.encode_batch(array)


def test_counts_are_copies_that_nobody_writes_to() -> None:
    made = subwords.count(["a b a b c"])
    data, offsets, numbers = made.data.copy(), made.offsets.copy(), made.counts.copy()
    counts = subwords.WordCounts(data, offsets, numbers, made.provenance)
    offsets[1:], data[:], numbers[:] = 1 << 40, 255, 0
    assert dict(counts) == dict(made) == dict(pickle.loads(pickle.dumps(made)))
    for one in (made, counts, made + counts, made.at_least(1), pickle.loads(pickle.dumps(made))):
        for array in (one.data, one.offsets, one.counts):
            with pytest.raises(ValueError, match="WRITEABLE"):
                array.setflags(write=True)
    for bad in ([0, 1 << 40, *made.offsets[2:]], [1, *made.offsets[1:]], [0, *made.offsets[:-1]]):
        with pytest.raises(subwords.InputError, match="ascending word offsets from 0 to"):
            subwords.WordCounts(made.data, np.array(bad), made.counts, made.provenance)
