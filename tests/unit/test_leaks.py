"""Every fast path and its errors, called thousands of times: they keep no memory and no references.

`pytest -s tests/unit/test_leaks.py::test_calls_keep_nothing` also makes a million calls of each, and prints figures.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import time
from array import array
from collections.abc import Callable, Iterator
from mmap import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import subwords
from chatting import USUAL
from inside import MODE, engine_kept
from inside import kernels_stored as stored
from subwords import SubwordsError
from subwords.machine import engine_of

pytestmark = pytest.mark.skipif(MODE != "compiled" or not Path("/proc/self/statm").exists(), reason="no fast path")

TEXT, WIDE, SPECIAL = "low lower lowest, 2024", "héé 文字 naïve", "low <s> lower"
TALK = [{"role": "user", "content": "low <s> lower"}, {"role": "assistant", "content": "文字"}]
KINDS: dict[str, dict[str, Any]] = {
    "bpe": {"vocab_size": 400, "special_tokens": ["<s>", "<|user|>", "<|assistant|>", "<|end|>"]},
    "wordpiece": {"algorithm": "wordpiece", "vocab_size": 90, "normalizer": "bert-uncased", "splitter": "bert"},
}
FEW, MANY = 5_000, 1_000_000
MOST_BYTES = 1 << 20  # that the process may grow by


def made(kind: str) -> subwords.Tokenizer:
    return subwords.train([TEXT, WIDE, SPECIAL] * 9, **KINDS[kind])


def paths(tok: subwords.Tokenizer, folder: Path) -> dict[str, tuple[Callable[[Any], Any], Any]]:
    """Each path with its argument."""
    fast, ids = engine_of(tok).fast_paths["text"], tok.encode(TEXT)
    stream, streams, grown = tok.stream(), tok.streams(2), tok.growing(TEXT)
    engine_kept.write_kept(str(folder / "kept"), engine_of(tok), tok.spec, stored.cache_root())
    kept = engine_kept.read_kept(str(folder / "kept"))
    assert kept is not None
    found: dict[str, tuple[Callable[[Any], Any], Any]] = {}
    calls: dict[str, tuple[Callable[[Any], Any], dict[str, Any]]] = {
        "encode": (tok.encode, {"ascii": TEXT, "wide": WIDE, "none": "", "bytes": b"low"}),
        "encode, special": (lambda text: tok.encode(text, special="allow"), {"text": SPECIAL}),
        "encode, template": (lambda text: tok.encode(text, template=True), {"text": TEXT}),
        "array": (tok.encode_to_numpy, {"ascii": TEXT, "wide": WIDE}),
        "count": (tok.count_tokens, {"ascii": TEXT, "wide": WIDE, "list": [TEXT, WIDE]}),
        "tokenize": (tok.tokenize, {"text": TEXT}),
        "call": (tok, {"text": TEXT}),
        "rows": (fast.rows, {"list": [TEXT, WIDE], "a surrogate": [TEXT, "\ud800"], "an int": [TEXT, 5], "tuple": ()}),
        "batch": (tok.encode_batch, {"list": [TEXT, WIDE, b"low"]}),
        "lists": (lambda batch: batch.to_lists(), {"batch": tok.encode_batch([TEXT] * 40)}),
        "decode": (tok.decode, {"list": ids, "many": ids * 200, "bytes alone": [200], "array": np.array(ids)}),
        "decode batch": (tok.decode_batch, {"lists": [ids, [], ids[:1], [200, 201]]}),
        "decode bytes": (tok.decode_bytes, {"list": ids}),
        "stream": (stream.step, {"id": ids[0], "ids": ids}),
        "streams": (streams.step, {"ids": [ids[0], None]}),
        "growing": (grown.append, {"ascii": " " + TEXT, "wide": " " + WIDE}),
        "growing ids": (lambda text: grown.append(text).ids, {"text": " " + TEXT}),
        "feed": (lambda text: tok.encode_stream().feed(text), {"text": TEXT}),
        "kept encode": (kept.encode, {"ascii": TEXT, "wide": WIDE, "an int": 5, "a surrogate": "\ud800"}),
        "kept count": (kept.count_ids, {"ascii": TEXT, "None": None}),
        "chat": (tok.chat, {"messages": TALK}),
    }
    errors: dict[str, tuple[Callable[[Any], Any], dict[str, Any]]] = {
        "encode": (tok.encode, {"an int": 5, "None": None, "a surrogate": "low \ud800", "a list": [TEXT, 5]}),
        "built-in": (fast.encode, {"an int": 5, "a surrogate": "\ud800", "too long": "a" * 40_000, "wide": "é" * 9000}),
        "built-in array": (fast.array, {"an int": 5, "a surrogate": "\ud800"}),
        "built-in count": (fast.count_ids, {"None": None, "a surrogate": "\ud800", "too long": "a" * 40_000}),
        "array": (tok.encode_to_numpy, {"an int": 5}),
        "count": (tok.count_tokens, {"an int": 5, "a surrogate": "low \ud800"}),
        "batch": (tok.encode_batch, {"an int": [TEXT, 5], "a surrogate": [TEXT, "\ud800"], "a text": TEXT}),
        "decode": (
            tok.decode,
            {"negative": [0, -1], "no id": [0, 10**6], "huge": [2**70], "a str": ["a"], "None": None, "a bool": [True]},
        ),
        "decode strictly": (lambda ids: tok.decode(ids, errors="strict"), {"bytes": [200, 200]}),
        "decode batch": (tok.decode_batch, {"no id": [ids, [10**6]], "a str": [ids, "a"], "ints": ids}),
        "stream": (stream.step, {"no id": -1, "a str": "a", "None": None}),
        "growing": (grown.append, {"an int": 5, "a surrogate": "\ud800"}),
        "feed": (lambda text: tok.encode_stream().feed(text), {"an int": 5}),
        "chat": (tok.chat, {"none": [], "an int": 5}),
    }
    for what, table in (("", calls), ("wrong: ", errors)):
        for name, (call, arguments) in table.items():
            if name == "chat" and tok.chat_template is None:
                continue
            for kind, argument in arguments.items():
                found[f"{what}{name}, {kind}"] = call, argument
    return found


@pytest.fixture(autouse=True)
def quick_collections() -> Iterator[None]:
    """What is there already is left out of collections, which are many: after thousands of tests each takes seconds."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def watched(tok: subwords.Tokenizer, argument: Any) -> list[Any]:
    engine = engine_of(tok)
    shared = [None, True, False, "", b"", (), *range(257), str, bytes, int, list, tuple, np.ndarray, np.empty]
    parts = [*argument, *(argument[0] if argument and isinstance(argument[0], list) else ())]
    return [*shared, *gc.get_referents(engine), tok, engine, argument, *parts]


def memory() -> int:
    """Bytes of the process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def drift(tok: subwords.Tokenizer, call: Callable[[Any], Any], argument: Any, count: int) -> tuple[int, int, int]:
    """References, blocks of Python's memory, and bytes of the process: what many calls add."""
    parts = argument if isinstance(argument, list | tuple) else [argument]
    objects = watched(tok, parts)

    def run(calls: int) -> None:
        for _ in range(calls):
            with contextlib.suppress(SubwordsError):
                call(argument)

    def state() -> tuple[array[int], int, int]:
        gc.collect()
        counts = array("q", map(sys.getrefcount, objects))
        return counts, sys.getallocatedblocks(), memory()

    run(max(count // 20, 300))
    state()
    counts, blocks, size = state()
    run(count)
    after = state()
    return max(abs(a - b) for a, b in zip(after[0], counts, strict=True)), after[1] - blocks, after[2] - size


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.sweep)])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore:fewer tokens")
def test_calls_keep_nothing(kind: str, count: int, tmp_path: Path) -> None:
    tok = made(kind)
    if kind == "bpe":
        tok = tok.with_(chat_template=USUAL)
    for name, (call, argument) in paths(tok, tmp_path).items():
        slow = "many" in name or "chat" in name
        calls = count // 10 if slow else count
        begin = time.perf_counter()
        references, blocks, size = drift(tok, call, argument, calls)
        taken = (time.perf_counter() - begin) / calls * 1e6
        print(f"{kind} {name:40} {calls:8} calls {taken:7.2f} us {references:3} refs {blocks:5} blocks {size:8} bytes")
        assert references < 9, name
        assert blocks < 500, name  # of NumPy: it takes tens, and no more for a million calls
        if size >= MOST_BYTES:  # what the system took from the process comes back when it is used, but only once
            size = min(drift(tok, call, argument, calls)[2] for _ in range(2))
        assert size < MOST_BYTES, name


def test_a_planted_leak_is_found() -> None:
    import ctypes

    tok, kept = made("bpe"), list[Any]()
    increase = ctypes.pythonapi.Py_IncRef
    increase.argtypes = [ctypes.py_object]
    assert drift(tok, increase, TEXT, 1000)[0] >= 1000
    assert drift(tok, lambda text: kept.append(tok.encode(text)), TEXT, 1000)[1] >= 1000

    def keep(_: str) -> None:
        kept.append(mmap(-1, 1 << 14))  # never memory that the process had before
        kept[-1].write(bytes(1 << 14))

    assert drift(tok, keep, TEXT, 1000)[2] >= 1 << 20
