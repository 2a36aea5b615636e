"""Calls as users make them: one line, many lines, ids back to text, a file to a tokenizer; each engine in its best way.

An engine's `calls` gives those that it has, by these names:

- encode: a str to a list of ids. count: a str to the number of its tokens. text: bytes to an array of ids.
- spans, spans_batch: a str, or a list of str, to (ids, where each token starts, in characters), as the engine has them.
- array: a str to an array of ids. array_one: with `threads=1` written out. tok: the array of ids of an object that has
  spans too. template: a str to a list of ids with the tokens of the template.
- allow, allow_array, allow_text: as encode, array and text, but special tokens in a text are taken as such.
- hf: a str to a list of ids, by the methods of HF tokenizers with their defaults.
- padded: a list of str to the arrays that a model takes, each of int64: at most 256 ids a text, padded to the longest.
- arrays, lists: a list of str to the ids of each, as arrays or as lists of int.
- decode, decode_array: a list of ids, or an array, to str. decode_batch: a list of lists of ids to a list of str.

The job's "of" says what a call gets: each of the "lines" one after the other, the "batch" of them, or the whole "text".
"load" and "first_pass" are calls in a new process that has not encoded anything: their total is the load and the ids of
a line, or of a whole text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.engines.protocol import Engine, NoSuchCallError, digest_and_save, other_text, strings_of, timed

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["check_same", "flat", "run"]

Answer = dict[str, Any]
LINE = "Every call of a new process pays for what it is the first to need."


def run(engine: Engine, job: Answer) -> Answer:
    """Return the seconds of a first call by a new object (fresh), and of later ones with the same text (again)."""
    if job["call"] in _COLD:
        return _COLD[job["call"]](engine, job)
    old = engine.load(job["tokenizer"])
    other = _arguments(engine, old, job, other_text())
    call = _call(engine, old, job)
    for argument in other:
        call(argument)
    del old, call
    tokenizer = engine.load(job["tokenizer"])
    arguments = _arguments(engine, tokenizer, job, Path(job["file"]).read_text("utf-8"))
    if job["call"].startswith("decode"):
        tokenizer = engine.load(job["tokenizer"])  # what made the ids is not new any more
    call = _call(engine, tokenizer, job)

    def once() -> list[Any]:
        return [call(argument) for argument in arguments]

    fresh, _, found = timed(once)
    ids = flat([engine.plain(job["call"], one) for one in found])
    seconds: Answer = {"fresh": fresh / len(arguments)} if job.get("fresh", True) else {}
    seconds["again"], again = [], found
    del found
    while len(seconds["again"]) < job["warm"] and sum(seconds["again"]) * len(arguments) < job["enough"]:
        del again  # a result is not given back while the next is timed
        one, _, again = timed(once)
        seconds["again"].append(one / len(arguments))
    check_same(ids, flat([engine.plain(job["call"], one) for one in again]))
    return {"seconds": seconds, **digest_and_save(ids, job.get("output"))}


def _call(engine: Engine, tokenizer: Any, job: Answer) -> Callable[[Any], Any]:
    found = engine.calls(tokenizer, job["threads"])
    if job["call"] not in found:
        raise NoSuchCallError(f"has no {job['call']}")
    return found[job["call"]]


def _arguments(engine: Engine, tokenizer: Any, job: Answer, text: str) -> list[Any]:
    """What the call gets, one entry for each call: texts, or the ids of texts."""
    if job["of"] == "text":
        texts = [text]
    else:
        most = (len(text) - job["length"]) // 2
        texts = strings_of(text, min(job["count"], most), job["length"])
    if job["call"] in ("text", "allow_text"):
        return [one.encode() for one in texts]
    if not job["call"].startswith("decode"):
        return [texts] if job["of"] == "batch" else list(texts)
    rows = [engine.encode(tokenizer, one.encode())[: job.get("ids")] for one in texts]
    if job["call"] == "decode_array":
        return rows
    lists = [row.tolist() for row in rows]
    return [lists] if job["of"] == "batch" else lists


def _load(engine: Engine, job: Answer) -> Answer:
    ending = Path(job["tokenizer"]).suffix
    if ending not in engine.reads:
        raise NoSuchCallError(f"does not load {ending}")
    load, _, tokenizer = timed(engine.load_ranks if ending == ".tiktoken" else engine.load, job["tokenizer"])
    call, _, ids = timed(engine.encode_list, tokenizer, LINE)
    return _answer({"fresh": load, "total": load + call}, ids, job)


def _first_pass(engine: Engine, job: Answer) -> Answer:
    import numpy as np  # noqa: F401  # the result is an array: who asks for it has NumPy

    data = Path(job["file"]).read_bytes()
    load, _, tokenizer = timed(engine.load, job["tokenizer"])
    fresh, _, ids = timed(engine.encode, tokenizer, data)
    return _answer({"fresh": fresh, "total": load + fresh}, ids, job)


_COLD: dict[str, Callable[[Engine, Answer], Answer]] = {
    "load": _load,
    "first_pass": _first_pass,
}


def _answer(seconds: Answer, ids: Any, job: Answer) -> Answer:
    import numpy as np

    return {"seconds": seconds, **digest_and_save(np.asarray(ids, np.uint32), job.get("output"))}


def check_same(first: NDArray[Any], again: NDArray[Any]) -> None:
    import numpy as np

    if not np.array_equal(first, again):
        raise RuntimeError("a later call gave another result than the first")


def flat(found: Any) -> NDArray[Any]:
    """Return a result of nested sequences as one array of integers: lengths first, so that none equals another.

    >>> flat([(5, 6), "a"]).tolist()
    [2, 2, 5, 6, 1, 97]
    """
    import numpy as np

    if isinstance(found, str):
        found = np.frombuffer(found.encode("utf-8", "surrogatepass"), np.uint8)
    if isinstance(found, int):
        return np.array([found], np.uint32)
    if isinstance(found, np.ndarray):
        return np.concatenate([[len(found)], found]).astype(np.uint32)
    if not isinstance(found, Sequence):
        raise TypeError(f"expected a sequence, not {type(found).__name__}")
    if not found or isinstance(found[0], int):
        return np.array([len(found), *found], np.uint32)
    return np.concatenate([np.array([len(found)], np.uint32), *map(flat, found)])
