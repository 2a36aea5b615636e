"""From what was measured to the text of a table; nothing is left out because it looks bad."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from benchmarks.adversarial import adversarial_report
from benchmarks.stats import Summary, ratio, summarize
from benchmarks.tables import spread, table, times

__all__ = ["report"]

Result = dict[str, Any]
Row = dict[str, Any]
Times = Callable[[Row], Summary | None]


def report(result: Result) -> str:
    """Return the Markdown of one definition's result."""
    if "skipped" in result:
        return f"**{result['title']}**\n\nskipped: {result['skipped']}"
    if result["task"] == "adversarial":
        body = adversarial_report(result)
    else:
        body = _TASKS[result["task"]](result)
    if "≈" in body:
        body += "\n\n≈: the ranges overlap, or there was one round only; no difference is shown."
    parts = [f"**{result['title']}**", body, _notes(result)]
    return "\n\n".join(part for part in parts if part)


def _train(result: Result) -> str:
    call, process = _seconds("call"), _seconds("process")
    return _table(
        result,
        {
            "import, s": lambda row, peer: spread(_seconds("import")(row)),
            "call, s": lambda row, peer: spread(call(row)),
            "whole process, s": lambda row, peer: spread(process(row)),
            f"call, times {result['peer']}": _versus(call),
            f"process, times {result['peer']}": _versus(process),
            "peak, MB": lambda row, peer: spread(_peak(row)),
        },
        verified="vocabulary" if "sample" in result["parameters"] else "ids or merges",
    )


def _encode(result: Result) -> str:
    cold, fresh, warm = (_per_byte(name) for name in ("cold", "fresh", "warm"))
    return _table(
        result,
        {
            "load, s": lambda row, peer: spread(_seconds("load")(row)),
            "first pass, MB/s": lambda row, peer: spread(_rate(cold(row))),
            "new object, MB/s": lambda row, peer: spread(_rate(fresh(row))),
            "later passes, MB/s": lambda row, peer: spread(_rate(warm(row))),
            f"first, times {result['peer']}": _versus(cold),
            f"new, times {result['peer']}": _versus(fresh),
            f"later, times {result['peer']}": _versus(warm),
            "peak, MB": lambda row, peer: spread(_peak(row)),
        },
    )


def _short(result: Result) -> str:
    cold, warm = _seconds("cold", 1e6), _seconds("warm", 1e6)
    return _table(
        result,
        {
            "first time a text is seen, µs": lambda row, peer: spread(cold(row)),
            "later, µs": lambda row, peer: spread(warm(row)),
            f"first, times {result['peer']}": _versus(cold),
            f"later, times {result['peer']}": _versus(warm),
        },
    )


def _startup(result: Result) -> str:
    total = _seconds("total")
    middle = {} if result["parameters"]["what"] == "train" else {"load": "load, s"}
    parts = {"interpreter": "interpreter, s", "import": "import, s", **middle, "call": "call, s"}

    def column(name: str) -> Callable[[Row, Row | None], str]:
        return lambda row, peer: spread(_seconds(name)(row))

    columns = {title: column(name) for name, title in parts.items()}
    return _table(result, {**columns, "in all, s": column("total"), f"in all, times {result['peer']}": _versus(total)})


def _split(result: Result) -> str:
    cold, warm = _per_byte("cold"), _per_byte("warm")
    columns: dict[str, Callable[[Row, Row | None], str]] = {
        "build, s": lambda row, peer: spread(_seconds("build")(row)),
        "build again, s": lambda row, peer: spread(_seconds("rebuild")(row)),
        "first pass, MB/s": lambda row, peer: spread(_rate(cold(row))),
        "later passes, MB/s": lambda row, peer: spread(_rate(warm(row))),
        f"first, times {result['peer']}": _versus(cold),
        f"later, times {result['peer']}": _versus(warm),
    }
    return _table(result, columns, verified="words")


_TASKS = {"train": _train, "encode": _encode, "short": _short, "startup": _startup, "split": _split}


def _table(
    result: Result, columns: dict[str, Callable[[Row, Row | None], str]], verified: str = "ids or merges"
) -> str:
    """Return a table of cases and engines; the last column says how a result was verified or why there is none."""
    rows: list[Sequence[str]] = []
    for case in result["cases"]:
        peer = next((row for row in case["engines"] if row["name"] == result["peer"] and row["runs"]), None)
        for place, row in enumerate(case["engines"]):
            label = [] if len(result["cases"]) == 1 else [case["name"] if not place else ""]
            if row["status"] == "ok":
                cells = [function(row, peer) for function in columns.values()]
                rows.append([*label, _engine(row), *cells, row["verified"]])
            else:
                rows.append([*label, _engine(row), *["n/a"] * len(columns), row["status"]])
    return table([*(["input"] if len(result["cases"]) > 1 else []), "engine", *columns, verified], rows)


def _engine(row: Row) -> str:
    return row["name"] if row["whole"] else f"{row['name']}, first {row['bytes'] / 1e6:.3g} MB"


def _seconds(name: str, scale: float = 1.0) -> Times:
    """Return the function that summarizes one of a row's times; of several passes in a round, their median counts."""

    def summary(row: Row) -> Summary | None:
        values = [run["seconds"][name] for run in row["runs"] if run["seconds"].get(name)]
        return summarize([scale * (median(value) if isinstance(value, list) else value) for value in values])

    return summary


def _per_byte(name: str) -> Times:
    def summary(row: Row) -> Summary | None:
        return _seconds(name, 1 / row["bytes"])(row)

    return summary


def _rate(per_byte: Summary | None) -> Summary | None:
    """Seconds a byte as megabytes a second."""
    if per_byte is None:
        return None
    return Summary(1e-6 / per_byte.median, 1e-6 / per_byte.most, 1e-6 / per_byte.least, per_byte.count)


def _peak(row: Row) -> Summary | None:
    return summarize([run["peak_bytes"] / 1e6 for run in row["runs"]])


def _versus(function: Times) -> Callable[[Row, Row | None], str]:
    def cell(row: Row, peer: Row | None) -> str:
        # What is not compared did other work: a ratio would say that it is the same.
        if peer is None or row is peer or not row["compare"]:
            return "1" if row is peer else "–"
        return times(ratio(function(peer), function(row)))

    return cell


def _notes(result: Result) -> str:
    engines = {row["name"]: row for case in reversed(result["cases"]) for row in case["engines"]}
    notes = [f"- {name}: {row['note']}" for name, row in engines.items() if row["note"]]
    threads = result["parameters"].get("threads", 1)
    for name in engines:
        used = _processors(result, name)
        if used > 1.25 * threads:
            notes.append(f"- {name}: was asked for {threads} thread(s) and kept {used:.1f} processors busy")
    return "\n".join(notes)


def _processors(result: Result, name: str) -> float:
    """Processor seconds over seconds, of the passes whose processor time is known; the most of any case."""
    most = 0.0
    for case in result["cases"]:
        for row in case["engines"]:
            for run in row["runs"] if row["name"] == name else []:
                seconds = run["seconds"]
                timed = seconds["call"] if "warm" not in seconds else seconds.get("cold", 0) + sum(seconds["warm"])
                if "processor_seconds" in run and timed > 0.01:
                    most = max(most, run["processor_seconds"] / timed)
    return most
