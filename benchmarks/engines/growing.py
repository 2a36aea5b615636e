"""Texts that grow as a server's do: a piece appended, a chat of many turns, a known prompt with a new end, a stream.

Every result is compared with the ids of the whole text before anything is timed. Times are those of the processor, so
that what else the machine does matters little, and all that is compared is done in turn, pass after pass, in one
process.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.engines.protocol import Engine, digest_and_save, other_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BACK", "RESYNC", "Again", "BackOff", "run"]

Answer = dict[str, Any]
Ids = Any  # a list or an array of ids
BASE = 100_000  # characters of the known text
PART = 200  # characters that are appended to it
THOUSAND = 1_000  # characters, whose cost is the measure of an append
TURNS, TURN = 128, 800
PIECE = 4_096  # characters, of a stream
VERSIONS = 200  # whose memory is measured together
BACK, RESYNC = 8, 4  # ids that are encoded again, and how many of these must come out as before
LEAST, MOST = 5, 200  # passes


class Version(NamedTuple):
    """A text and its ids, as an engine keeps them for the next text."""

    text: str
    ids: Ids
    starts: Any = None  # where each id starts, in characters


class Again:
    """Encodes the whole text each time: what every engine can do."""

    is_whole = True  # so there is nothing else to compare with

    def __init__(self, encode: Callable[[str], Ids]) -> None:
        self.encode = encode

    def begin(self, text: str) -> Any:
        """Return a version with a text."""
        return Version(text, self.encode(text))

    def append(self, version: Any, part: str) -> Any:
        """Return a version with more text; its ids are there."""
        return self.begin(version.text + part)

    def ids(self, version: Any) -> Ids:
        """Return all ids of a version."""
        return version.ids

    def cache(self) -> Callable[[str], Ids]:
        """Return a function that encodes texts, and may know the beginnings of earlier ones."""
        return self.encode

    def stream(self) -> tuple[Callable[[str], Ids], Callable[[], Ids]] | None:
        """Return functions that take the pieces of a text, and that end it; None if there are none."""
        return None


class BackOff(Again):
    """Drops the last `BACK` ids, encodes from there, and all again unless the first `RESYNC` ids are those dropped.

    So do the caches of prefixes that serving engines discussed and merged in 2026: vllm-project/vllm issue 47582,
    NVIDIA/TensorRT-LLM pull request 18389. Nothing proves that the ids are right.
    """

    is_whole = False

    def __init__(self, encode: Callable[[str], Ids], spans: Callable[[str], tuple[Ids, Any]]) -> None:
        super().__init__(encode)
        self.spans = spans

    def begin(self, text: str) -> Version:
        """Return a version with a text."""
        return Version(text, *self.spans(text))

    def append(self, version: Version, part: str) -> Version:
        """Return a version with more text."""
        found = self.tail(version, part)
        return self.begin(version.text + part) if found is None else found

    def tail(self, version: Version, part: str, check: bool = True) -> Version | None:
        """Return the longer version, whose end alone is encoded; None if the check fails."""
        import numpy as np

        kept = max(0, len(version.ids) - BACK)
        at = int(version.starts[kept]) if len(version.ids) else 0
        text = version.text + part
        ids, starts = self.spans(text[at:])
        if check and not np.array_equal(ids[:RESYNC], version.ids[kept : kept + RESYNC]):
            return None
        return Version(
            text, np.concatenate([version.ids[:kept], ids]), np.concatenate([version.starts[:kept], starts + at])
        )

    def cache(self) -> Callable[[str], Ids]:
        """Return a function that encodes texts, and knows the first one."""
        known: list[Version] = []

        def encode(text: str) -> Ids:
            for version in known:
                if text.startswith(version.text):
                    return self.append(version, text[len(version.text) :]).ids
            known.append(self.begin(text))
            return known[-1].ids

        return encode


def run(engine: Engine, job: Answer) -> Answer:
    """Return the seconds of each step, lists of a value for every pass, and the ids of the whole text."""
    text = Path(job["file"]).read_bytes().decode()  # with its line ends
    _warm(engine, job)
    grower = engine.grower(engine.load(job["tokenizer"]))
    ids = _array(grower.encode(text))
    seconds: Answer = {}
    for measure in (_append, _chat, _hit, _stream):
        seconds |= measure(grower, text, job["enough"])
    seconds |= _fresh(engine, job, text)
    answer = {"seconds": seconds, "bytes": len(text.encode()), **_memory(engine, job, text)}
    return {**answer, **digest_and_save(ids, job.get("output"))}


def _warm(engine: Engine, job: Answer) -> None:
    """Bring code into memory, by a text whose words are in no other."""
    grower, other = engine.grower(engine.load(job["tokenizer"])), other_text()
    version, cached = grower.begin(""), grower.cache()
    parts = [other[at : at + THOUSAND] for at in range(0, 10 * THOUSAND, THOUSAND)]
    for number, part in enumerate(parts):
        version = grower.append(version, part)
        cached(other[: number * THOUSAND])
    _streamed(grower, parts)
    grower.encode(other[:BASE])


def _append(grower: Again, text: str, enough: float) -> Answer:
    """A piece appended to a long text, each time to the same version; beside it, encoding a thousand characters."""
    base, parts = _base_and_parts(grower, text)
    begun = grower.begin(base)
    for part in [] if grower.is_whole else parts:
        _compare(grower.ids(grower.append(begun, part)), grower.encode(base + part), "an append")
    thousands = _thousands(text, len(parts) * PART // THOUSAND)
    found = _timed(
        {
            "append": lambda: [grower.append(begun, part) for part in parts],
            "thousand": lambda: [grower.encode(part) for part in thousands],
        },
        enough,
    )
    return {"append": _each(found["append"], len(parts)), "thousand": _each(found["thousand"], len(thousands))}


def _thousands(text: str, count: int, at: int = BASE) -> list[str]:
    return [text[start : start + THOUSAND] for start in range(at, at + count * THOUSAND, THOUSAND)]


def _chat(grower: Again, text: str, enough: float) -> Answer:
    """A chat whose ids are asked for after each turn; beside it, the final text encoded once."""
    turns = [text[at * TURN : (at + 1) * TURN] for at in range(TURNS)]
    whole, version = "", grower.begin("")
    for turn in [] if grower.is_whole else turns:
        whole, version = whole + turn, grower.append(version, turn)
        _compare(grower.ids(version), grower.encode(whole), "a turn")
    whole = "".join(turns)
    return _timed({"chat": lambda: _talk(grower, turns), "chat_once": lambda: grower.encode(whole)}, enough, most=20)


def _fresh(engine: Engine, job: Answer, text: str) -> Answer:
    """The same by new objects, which have met no word of the text; an append and a thousand characters after 100,000.

    Each is the first thing that an object does, so that its tables and its proofs are part of the time.
    """
    turns = [text[at * TURN : (at + 1) * TURN] for at in range(TURNS)]
    pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
    whole, found, spent = "".join(turns), dict[str, list[float]](), 0.0

    def new() -> Again:
        return engine.grower(engine.load(job["tokenizer"]))

    base, parts = _base_and_parts(new(), text)
    thousands = _thousands(text, len(parts) * PART // THOUSAND, BASE + len(parts) * PART)
    steps: dict[str, Callable[[Again], Any]] = {
        "fresh_chat": lambda grower: _talk(grower, turns),
        "fresh_once": lambda grower: grower.encode(whole),
    }
    if new().stream() is not None:
        steps["fresh_stream"] = lambda grower: _streamed(grower, pieces)
        steps["fresh_whole"] = lambda grower: grower.encode(text)
    while not found or _goes_on(len(found["fresh_chat"]), spent, job["enough"], LEAST):
        one = new()
        begun = one.begin(base)
        seconds = {
            "fresh_append": _seconds(lambda one=one, begun=begun: [one.append(begun, part) for part in parts]),
            "fresh_thousand": _seconds(lambda one=one: [one.encode(part) for part in thousands]),
        }
        for name, step in steps.items():
            grower = new()
            seconds[name] = _seconds(lambda step=step, grower=grower: step(grower))
        spent += sum(seconds.values())
        for name, value in seconds.items():
            count = {"fresh_append": len(parts), "fresh_thousand": len(thousands)}.get(name, 1)
            found.setdefault(name, []).append(value / count)
    return found


def _talk(grower: Again, turns: Sequence[str]) -> Any:
    version = grower.begin("")
    for turn in turns:
        version = grower.append(version, turn)
    return version


def _hit(grower: Again, text: str, enough: float) -> Answer:
    """A known text with a new end, each end once; beside it, the new end encoded alone."""
    base, parts = _base_and_parts(grower, text)
    whole = [base + part for part in parts]
    cached = grower.cache()
    for one in () if grower.is_whole else (base, *whole):
        _compare(cached(one), grower.encode(one), "a cached text")

    def prepared() -> Callable[[str], Ids]:
        found = grower.cache()
        found(base)
        return found

    spent, passes = 0.0, dict[str, list[float]](hit=[], new=[])
    while not passes["hit"] or _goes_on(len(passes["hit"]), spent, enough, MOST):
        found = prepared()
        hit = _seconds(lambda found=found: [found(one) for one in whole]) / len(parts)
        new = _seconds(lambda: [grower.encode(part) for part in parts]) / len(parts)
        passes["hit"].append(hit)
        passes["new"].append(new)
        spent += (hit + new) * len(parts)
    return passes


def _stream(grower: Again, text: str, enough: float) -> Answer:
    """The text in pieces; beside it, the whole text."""
    pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
    if (found := _streamed(grower, pieces)) is None:
        return {}
    _compare(found, grower.encode(text), "a stream")
    return _timed({"stream": lambda: _streamed(grower, pieces), "whole": lambda: grower.encode(text)}, enough, most=20)


def _streamed(grower: Again, pieces: Sequence[str]) -> Any:
    import numpy as np

    if (stream := grower.stream()) is None:
        return None
    feed, finish = stream
    return np.concatenate([*map(feed, pieces), finish()])


def _memory(engine: Engine, job: Answer, text: str) -> Answer:
    """The bytes that each of many versions holds beyond the one before, for each of its new ids."""
    if not engine.shares_versions:
        return {}
    grower = engine.grower(engine.load(job["tokenizer"]))
    base, sizes = text[:BASE], {}
    for name, size in ("version", PART), ("large_version", PIECE):
        parts = [text[at : at + size] for at in range(BASE, min(len(text), BASE + VERSIONS * size), size)]
        versions = [grower.begin(base)]
        count = len(grower.ids(versions[0]))
        for part in parts:  # what is made once is there
            versions.append(grower.append(versions[-1], part))
        versions = versions[:1]
        gc.collect()
        import tracemalloc  # not before: a process that is started counts it

        tracemalloc.start()
        for part in parts:
            versions.append(grower.append(versions[-1], part))
        sizes[name] = tracemalloc.get_traced_memory()[0] / (len(grower.ids(versions[-1])) - count)
        tracemalloc.stop()
    return {"bytes_per_id": sizes}


def _base_and_parts(grower: Again, text: str) -> tuple[str, list[str]]:
    """A known text and its next parts, fewer of them for what takes long."""
    count = 10 if grower.is_whole else 50
    return text[:BASE], [text[at : at + PART] for at in range(BASE, BASE + count * PART, PART)]


def _timed(steps: dict[str, Callable[[], Any]], enough: float, most: int = MOST) -> dict[str, list[float]]:
    """Return the seconds of each step in every pass; all steps are done in turn."""
    found: dict[str, list[float]] = {name: [] for name in steps}
    spent, passes = 0.0, 0
    while not passes or _goes_on(passes, spent, enough, most):
        for name, step in steps.items():
            found[name].append(_seconds(step))
            spent += found[name][-1]
        passes += 1
    return found


def _goes_on(passes: int, spent: float, enough: float, most: int) -> bool:
    """Whether there is another pass: what takes long has fewer than `LEAST`."""
    return passes < most and spent < (4 * enough if passes < LEAST else enough)


def _seconds(step: Callable[[], Any]) -> float:
    """The seconds of the processor that a step takes; what it returns is given back afterwards."""
    begin = time.process_time()
    result = step()
    end = time.process_time()
    del result
    return end - begin


def _each(values: Sequence[float], count: int) -> list[float]:
    return [value / count for value in values]


def _array(ids: Ids) -> NDArray[Any]:
    import numpy as np

    return np.asarray(ids, np.uint32)


def _compare(got: Ids, expected: Ids, what: str) -> None:
    import numpy as np

    if not np.array_equal(_array(got), _array(expected)):
        raise RuntimeError(f"{what} gave other ids than the whole text")
