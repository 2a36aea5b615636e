"""Requests as servers get them: texts of many sizes, each met once, by an object that has met others or by a new one.

A job has "sizes" in bytes, and the "call" of `engines.calls` that is timed, or one of INSTEAD if an engine lacks it.
Each size gets `least` bytes in all, and at least `texts` texts. Sizes take turns, so all of them find as many words
known. With "new" each size has a new object, otherwise one object has them all and the first sixth is not timed. "also"
is a second call, whose results must be the same: its object meets the same texts right afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.engines.calls import check_same, flat
from benchmarks.engines.protocol import ASCII_WORDS, Engine, NoSuchCallError, digest_and_save, other_text, timed, touch

__all__ = ["blocks_of", "run"]

Answer = dict[str, Any]
Block = tuple[int, float, list[bytes]]  # size, when it is, texts
MET = 1 / 6  # of the texts, before any is timed
TOUCHED = 128 << 20  # bytes; more than what an engine learns of these texts
BLOCK = 20_000  # bytes of small texts that are timed together: a look at the clock costs as much as ten characters
INSTEAD = {"array_one": "array", "tok": "array"}


def run(engine: Engine, job: Answer) -> Answer:
    """Return for each size the seconds a GB, of all processors and on the wall; and those of the call "also"."""
    blocks = [*blocks_of(Path(job["file"]).read_bytes(), job["sizes"], job["least"], job["texts"])]
    seconds, ids = _costs(engine, job, blocks)
    if "also" in job:
        others, found = _costs(engine, job | {"call": job["also"]}, blocks)
        seconds |= {f"{size} {job['also']}": others[f"{size}"] for size in job["sizes"]}
        check_same(ids, found)
    return {"seconds": seconds, **digest_and_save(ids, job.get("output"))}


def _costs(engine: Engine, job: Answer, blocks: list[Block]) -> tuple[Answer, Any]:
    call = _new_call(engine, job)
    for invented in (other_text()[: 13 * ASCII_WORDS], other_text()[::-1]):
        for size in job["sizes"]:  # code comes into memory
            call((invented * (size // len(invented) + 1))[:size])
    results: dict[int, Any] = {}
    costs = {size: [0.0, 0.0, 0] for size in job["sizes"]}
    for sizes in [[size] for size in job["sizes"]] if job.get("new") else [job["sizes"]]:
        if job.get("new"):
            call = _new_call(engine, job)
        touch(TOUCHED)
        for place, (size, when, parts) in enumerate(blocks):
            if size in sizes:
                texts = [part.decode() for part in parts]  # a str may keep its UTF-8, so each call gets new ones
                wall, processors, found = timed(lambda call=call, texts=texts: [call(text) for text in texts])
                results[place] = flat([engine.plain(job["call"], one) for one in found])
                if job.get("new") or when > MET:
                    spent = (processors, wall, sum(map(len, parts)))
                    costs[size] = [*map(sum, zip(costs[size], spent, strict=True))]
    import numpy as np

    seconds = {f"{size}": _per_gb(used, length) for size, (used, _, length) in costs.items()}
    seconds |= {f"{size} wall": _per_gb(wall, length) for size, (_, wall, length) in costs.items()}
    return seconds, np.concatenate([results[place] for place in range(len(blocks))])


def blocks_of(data: bytes, sizes: list[int], least: int, texts: int) -> Iterator[Block]:
    """Cut a text into blocks of texts of one size, whole characters; yield size, when it is (0 to 1), and the texts."""
    turns = []
    for size in sizes:
        each = max(1, BLOCK // size)
        count = -(-max(least, texts * size) // (each * size))
        turns += [((place + 0.5) / count, size, each) for place in range(count)]
    if (needed := sum(size * each for _, size, each in turns)) > len(data):
        raise ValueError(f"expected a text of at least {needed:,} bytes, not {len(data):,}")
    end = 0
    for when, size, each in sorted(turns):
        parts = []
        for _ in range(each):
            begin, end = end, end + size
            while end < len(data) and data[end] & 0xC0 == 0x80:
                end -= 1
            parts.append(data[begin:end])
        yield size, when, parts


def _new_call(engine: Engine, job: Answer) -> Callable[[str], Any]:
    found = engine.calls(engine.load(job["tokenizer"]), job.get("threads", 1))
    call = found.get(job["call"]) or found.get(INSTEAD.get(job["call"], ""))
    if call is None:
        raise NoSuchCallError(f"has no {job['call']}")
    return call


def _per_gb(seconds: float, length: int) -> float:
    return float(f"{seconds / length * 1e9:.4g}")
