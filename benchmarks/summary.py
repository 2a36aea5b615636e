"""What a record keeps of a measurement: median, range and number of rounds of everything that a table shows."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from benchmarks.stats import Summary

__all__ = ["CHAT_COUNTS", "HARD", "SHOWN", "SIZES", "TOTALS", "USUAL", "summarized", "summary_of"]

Row = dict[str, Any]

CHAT_COUNTS = (
    *("pairs", "rendered", "hostile", "injected", "replies", "masks"),
    *("marked", "marked_masks", "answers", "kept"),
)
HARD = ("letter", "no_cuts", "marks", "half_special")  # texts of the totals of `engines.limits`
TOTALS = tuple(f"{text}_{reading}_{size}" for reading in ("end", "each") for text in HARD for size in (8_192, 16_384))
SIZES = (300, 1_000, 4_000, 10_000, 32_000, 100_000, 200_000, 1_000_000, 3_000_000)  # bytes of requests
# What the tables of a task show: times in seconds, memory in MB, of adversarial files the costs of `_costs`, of texts
# that grow those of `_growth`, of requests seconds a GB, of JavaScript seconds a byte of texts, and counts.
SHOWN = {
    "train": ("import", "call", "process", "peak_mb"),
    "encode": ("load", "fresh", "warm", "new_mb", "after_mb", "peak_mb"),
    "calls": ("fresh", "again", "total"),
    "startup": ("interpreter", "import", "load", "call", "total"),
    "split": ("build", "rebuild", "cold", "warm"),
    "chat": ("text", "ids", "append_short", "append_long", *CHAT_COUNTS),
    "adversarial": ("cold_ns", "cold_times", "warm_ns", "warm_times"),
    "growing": (
        *("append", "fresh_append_times", "append_times", "fresh_chat", "fresh_chat_times", "chat", "chat_times"),
        *("hit", "stream", "fresh_stream_share", "stream_share", "version_bytes", "large_version_bytes"),
    ),
    "limits": (
        *("open_median", "open_99", "open_most", "needed_median", "needed_99", "needed_most", "tight", "over"),
        *("wrong", "checked_wrong", "encoded_again", *TOTALS),
    ),
    "coverage": tuple(f"{result}_{kind}" for kind in ("real", "hard") for result in ("match", "differ", "refused")),
    "web": (
        *(f"{text}{passes}" for text in ("english", "code", "zh", "lines") for passes in ("", "_again")),
        *("cold", "ready", "kb", "exact"),
    ),
    "requests": (*map(str, SIZES), *(f"{size} {kind}" for kind in ("wall", "encode") for size in SIZES)),
}
DIGITS = 8  # significant ones; a table shows three
USUAL = {"note": "", "whole": True, "compare": True, "status": "ok"}  # left out of a record


def summarized(result: dict[str, Any]) -> dict[str, Any]:
    """Return the result of `run` in the form that is recorded and reported.

    The rounds of a row become `n`, their number, and `values`: for each of SHOWN the value of every round in order, or
    the least, the median and the most of more than three rounds; None if it was not measured. Several passes in a round
    count as one value, their median. `processors` is given if more of them were busy than the run asked for.
    """
    if "skipped" in result:
        return result
    threads = result["parameters"].get("threads", 1)
    cases = [
        {"name": case["name"], "engines": [_row(row, result["task"], threads) for row in case["engines"]]}
        for case in result["cases"]
    ]
    return {**result, "shown": [*SHOWN[result["task"]]], "cases": cases}


def summary_of(row: Row, task: str, name: str, scale: float = 1.0) -> Summary | None:
    """Return a summarized value of a row times `scale`, None where the row does not have it."""
    found = row["values"][SHOWN[task].index(name)] if "values" in row and name in SHOWN[task] else None
    if found is None:
        return None
    values = [scale * value for value in (found if isinstance(found, list) else [found])]
    return Summary(median(values), min(values), max(values), row["n"])


def _row(row: Row, task: str, threads: int) -> Row:
    kept = {key: row[key] for key in ("name", "bytes", "verified", *USUAL) if key in row}
    if row["runs"]:
        kept["n"] = len(row["runs"])
        kinds = {"adversarial": _costs, "growing": _growth, "limits": _counts, "coverage": _counts, "web": _counts}
        values = kinds.get(task, _times)(row)
        kept["values"] = [_shown(values.get(name, [])) for name in SHOWN[task]]
        busy = max((run["processor_seconds"] / _timed(run) for run in row["runs"] if _timed(run) > 0.01), default=0.0)
        if busy > 1.25 * threads:
            kept["processors"] = round(busy, 1)
    return kept


def _times(row: Row) -> dict[str, list[float]]:
    values: dict[str, list[float]] = {"peak_mb": [run["peak_bytes"] / 1e6 for run in row["runs"]]}
    for run in row["runs"]:
        for name, size in run.get("resident_bytes", {}).items():
            values.setdefault(f"{name}_mb", []).append(size / 1e6)
        for name, count in run.get("counts", {}).items():
            values.setdefault(name, []).append(count)
        for name, seconds in run["seconds"].items():
            if seconds:
                values.setdefault(name, []).append(_one(seconds))
    return values


def _costs(row: Row) -> dict[str, list[float]]:
    """Nanoseconds a byte of the first and of later passes, and over those of English in the same process."""
    costs: dict[str, list[float]] = {name: [] for name in SHOWN["adversarial"]}
    for run in row["runs"] if row["bytes"] else ():
        for name in ("cold", "warm"):
            cost = _one(run["seconds"][name]) / run["bytes"]
            costs[f"{name}_ns"].append(1e9 * cost)
            costs[f"{name}_times"].append(cost * run["baseline"]["bytes"] / _one(run["baseline"][name]))
    return costs


def _growth(row: Row) -> dict[str, list[float]]:
    """Seconds of each step, and times or shares of what is beside it in the same process; bytes of versions."""
    values: dict[str, list[float]] = {}
    for run in row["runs"]:
        one = {name: _one(seconds) for name, seconds in run["seconds"].items()}
        found = {name: one[name] for name in ("append", "fresh_chat", "chat")}
        found["append_times"] = one["append"] / one["thousand"]
        found["fresh_append_times"] = one["fresh_append"] / one["fresh_thousand"]
        found["fresh_chat_times"] = one["fresh_chat"] / one["fresh_once"]
        found["chat_times"] = one["chat"] / one["chat_once"]
        found["hit"] = max(0.0, one["hit"] - one["new"])
        if "stream" in one:
            found |= {"stream": one["stream"], "stream_share": one["whole"] / one["stream"]}
            found["fresh_stream_share"] = one["fresh_whole"] / one["fresh_stream"]
        found |= {f"{name}_bytes": size for name, size in run.get("bytes_per_id", {}).items()}
        for name, value in found.items():
            values.setdefault(name, []).append(value)
    return values


def _counts(row: Row) -> dict[str, list[float]]:
    return {name: [run["counts"][name] for run in row["runs"]] for name in row["runs"][0]["counts"]}


def _one(seconds: Any) -> float:
    return float(median(seconds) if isinstance(seconds, list) else seconds)


def _timed(run: Row) -> float:
    """The seconds that `processor_seconds` is of; 0 where it is not known."""
    seconds = run["seconds"]
    if "processor_seconds" not in run:
        return 0.0
    first = seconds.get("cold", seconds.get("fresh", 0))
    return float(seconds["call"] if "warm" not in seconds else first + sum(seconds["warm"]))


def _shown(values: Sequence[float]) -> Any:
    """The values in order, of more than three the least, the median and the most, of one itself, of none None."""
    if not values:
        return None
    kept = sorted(values) if len(values) <= 3 else [min(values), median(values), max(values)]
    rounded = [float(f"{value:.{DIGITS}g}") for value in kept]
    rounded = [int(value) if value.is_integer() else value for value in rounded]
    return rounded[0] if len(values) == 1 else rounded
