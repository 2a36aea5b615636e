"""From what was measured to the text of a table; nothing is left out because it looks bad."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.adversarial import adversarial_report
from benchmarks.stats import Summary, ratio
from benchmarks.summary import summary_of
from benchmarks.tables import spread, table, times

__all__ = ["OVERLAP", "engine_label", "notes", "per_byte", "rate", "report", "seconds", "versus"]

Result = dict[str, Any]
Row = dict[str, Any]
Times = Callable[[Row], Summary | None]

OVERLAP = "≈: the ranges overlap, or there was one round only; no difference is shown."


def report(result: Result) -> str:
    """Return the Markdown of one definition's result, as `summarized` gives it."""
    if "skipped" in result:
        return f"**{result['title']}**\n\nskipped: {result['skipped']}"
    if result["task"] == "adversarial":
        body = adversarial_report(result)
    else:
        body = _TASKS[result["task"]](result)
    if "≈" in body:
        body += f"\n\n{OVERLAP}"
    parts = [f"**{result['title']}**", body, notes(result)]
    return "\n\n".join(part for part in parts if part)


def _train(result: Result) -> str:
    call, process = seconds("train", "call"), seconds("train", "process")
    return _table(
        result,
        {
            "import, s": lambda row, peer: spread(seconds("train", "import")(row)),
            "call, s": lambda row, peer: spread(call(row)),
            "whole process, s": lambda row, peer: spread(process(row)),
            f"call, times {result['peer']}": versus(call),
            f"process, times {result['peer']}": versus(process),
            "peak, MB": lambda row, peer: spread(seconds("train", "peak_mb")(row)),
        },
        verified="vocabulary" if "sample" in result["parameters"] else "ids or merges",
    )


def _encode(result: Result) -> str:
    cold, fresh, warm = (per_byte("encode", name) for name in ("cold", "fresh", "warm"))
    return _table(
        result,
        {
            "load, s": lambda row, peer: spread(seconds("encode", "load")(row)),
            "first pass, MB/s": lambda row, peer: spread(rate(cold(row))),
            "new object, MB/s": lambda row, peer: spread(rate(fresh(row))),
            "later passes, MB/s": lambda row, peer: spread(rate(warm(row))),
            f"first, times {result['peer']}": versus(cold),
            f"new, times {result['peer']}": versus(fresh),
            f"later, times {result['peer']}": versus(warm),
            "peak, MB": lambda row, peer: spread(seconds("encode", "peak_mb")(row)),
        },
    )


def _short(result: Result) -> str:
    cold, warm = seconds("short", "cold", 1e6), seconds("short", "warm", 1e6)
    return _table(
        result,
        {
            "first time a text is seen, µs": lambda row, peer: spread(cold(row)),
            "later, µs": lambda row, peer: spread(warm(row)),
            f"first, times {result['peer']}": versus(cold),
            f"later, times {result['peer']}": versus(warm),
        },
    )


def _startup(result: Result) -> str:
    total = seconds("startup", "total")
    middle = {} if result["parameters"]["what"] == "train" else {"load": "load, s"}
    parts = {"interpreter": "interpreter, s", "import": "import, s", **middle, "call": "call, s"}

    def column(name: str) -> Callable[[Row, Row | None], str]:
        return lambda row, peer: spread(seconds("startup", name)(row))

    columns = {title: column(name) for name, title in parts.items()}
    return _table(result, {**columns, "in all, s": column("total"), f"in all, times {result['peer']}": versus(total)})


def _split(result: Result) -> str:
    cold, warm = per_byte("split", "cold"), per_byte("split", "warm")
    columns: dict[str, Callable[[Row, Row | None], str]] = {
        "build, s": lambda row, peer: spread(seconds("split", "build")(row)),
        "build again, s": lambda row, peer: spread(seconds("split", "rebuild")(row)),
        "first pass, MB/s": lambda row, peer: spread(rate(cold(row))),
        "later passes, MB/s": lambda row, peer: spread(rate(warm(row))),
        f"first, times {result['peer']}": versus(cold),
        f"later, times {result['peer']}": versus(warm),
    }
    return _table(result, columns, verified="words")


_TASKS = {"train": _train, "encode": _encode, "short": _short, "startup": _startup, "split": _split}


def _table(
    result: Result, columns: dict[str, Callable[[Row, Row | None], str]], verified: str = "ids or merges"
) -> str:
    """Return a table of cases and engines; the last column says how a result was verified or why there is none."""
    rows: list[Sequence[str]] = []
    for case in result["cases"]:
        peer = next((row for row in case["engines"] if row["name"] == result["peer"] and "values" in row), None)
        for place, row in enumerate(case["engines"]):
            label = [] if len(result["cases"]) == 1 else [case["name"] if not place else ""]
            if row["status"] == "ok":
                cells = [function(row, peer) for function in columns.values()]
                rows.append([*label, engine_label(row), *cells, row["verified"]])
            else:
                rows.append([*label, engine_label(row), *["n/a"] * len(columns), row["status"]])
    return table([*(["input"] if len(result["cases"]) > 1 else []), "engine", *columns, verified], rows)


def engine_label(row: Row) -> str:
    """Return the name of an engine, and how much of the input it got where that is not all."""
    return row["name"] if row["whole"] else f"{row['name']}, first {row['bytes'] / 1e6:.3g} MB"


def seconds(task: str, name: str, scale: float = 1.0) -> Times:
    """Return the function that gives one of a row's times."""
    return lambda row: summary_of(row, task, name, scale)


def per_byte(task: str, name: str) -> Times:
    """Return the function that gives one of a row's times, over the bytes of its input."""
    return lambda row: summary_of(row, task, name, 1 / row["bytes"])


def rate(cost: Summary | None) -> Summary | None:
    """Return seconds a byte as megabytes a second."""
    if cost is None:
        return None
    return Summary(1e-6 / cost.median, 1e-6 / cost.most, 1e-6 / cost.least, cost.count)


def versus(function: Times) -> Callable[[Row, Row | None], str]:
    """Return the function that says how many times as fast as the peer a row is."""

    def cell(row: Row, peer: Row | None) -> str:
        # What is not compared did other work: a ratio would say that it is the same.
        if peer is None or row is peer or not row["compare"]:
            return "1" if row is peer else "–"
        return times(ratio(function(peer), function(row)))

    return cell


def notes(result: Result) -> str:
    """Return the notes on the engines of a definition; among them are those that used more threads than asked for."""
    engines = {row["name"]: row for case in reversed(result["cases"]) for row in case["engines"]}
    lines = [f"- {name}: {row['note']}" for name, row in engines.items() if row["note"]]
    threads = result["parameters"].get("threads", 1)
    for name in engines:
        rows = [row for case in result["cases"] for row in case["engines"] if row["name"] == name]
        if used := max((row.get("processors", 0.0) for row in rows), default=0.0):
            lines.append(f"- {name}: was asked for {threads} thread(s) and kept {used:.1f} processors busy")
    return "\n".join(lines)
