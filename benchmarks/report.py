"""From what was measured to the text of a table; nothing is left out because it looks bad."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.adversarial import adversarial_report
from benchmarks.chat import chat_report
from benchmarks.coverage import coverage_report
from benchmarks.definition import FASTEST
from benchmarks.stats import Summary, ratio
from benchmarks.summary import SHOWN, TOTALS, summary_of
from benchmarks.tables import spread, table, times

__all__ = ["OVERLAP", "engine_label", "notes", "peers_of", "per_byte", "rate", "report", "seconds", "versus"]

Result = dict[str, Any]
Row = dict[str, Any]
Times = Callable[[Row], Summary | None]
Column = Callable[[Row, Sequence[Row]], str]

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
            "import, s": _shown(seconds("train", "import")),
            "call, s": _shown(call),
            "whole process, s": _shown(process),
            f"call, times {_peer(result)}": versus(call),
            f"process, times {_peer(result)}": versus(process),
            "peak, MB": _shown(seconds("train", "peak_mb")),
        },
        verified="vocabulary" if "sample" in result["parameters"] else "ids or merges",
    )


def _encode(result: Result) -> str:
    fresh, again = (per_byte("encode", name) for name in ("fresh", "warm"))
    memory = {"with a new object, MB": "new_mb", "after the text, MB": "after_mb", "peak, MB": "peak_mb"}
    return _table(
        result,
        {
            "fresh, MB/s": _rate(fresh),
            "remembered, MB/s": _rate(again),
            f"fresh, times {_peer(result)}": versus(fresh),
            f"remembered, times {_peer(result)}": versus(again),
            "load, s": _shown(seconds("encode", "load")),
            **{title: _shown(seconds("encode", name)) for title, name in memory.items()},
        },
    )


def _calls(result: Result) -> str:
    columns: dict[str, Column] = {}
    for name, title in (("fresh", "fresh"), ("again", "remembered"), ("total", "load and encode")):
        cost = seconds("calls", name, 1e6)
        columns |= {f"{title}, µs": _shown(cost), f"{title}, times {_peer(result)}": versus(cost)}
    cases = [{**case, "name": case["name"].rsplit(", ", 1)[0]} for case in result["cases"]]  # columns have the unit
    return _table({**result, "cases": cases}, columns, verified="result")


def _startup(result: Result) -> str:
    total = seconds("startup", "total")
    middle = {} if result["parameters"]["what"] == "train" else {"load": "load, s"}
    parts = {"interpreter": "interpreter, s", "import": "import, s", **middle, "call": "call, s"}
    columns = {title: _shown(seconds("startup", name)) for name, title in parts.items()}
    return _table(result, {**columns, "in all, s": _shown(total), f"in all, times {_peer(result)}": versus(total)})


def _split(result: Result) -> str:
    cold, warm = per_byte("split", "cold"), per_byte("split", "warm")
    columns: dict[str, Column] = {
        "build, s": _shown(seconds("split", "build")),
        "build again, s": _shown(seconds("split", "rebuild")),
        "first pass, MB/s": _rate(cold),
        "later passes, MB/s": _rate(warm),
        f"first, times {_peer(result)}": versus(cold),
        f"later, times {_peer(result)}": versus(warm),
    }
    return _table(result, columns, verified="words")


def _growing(result: Result) -> str:
    append, hit = (seconds("growing", name, 1e6) for name in ("append", "hit"))
    fresh, chat = (seconds("growing", name, 1e3) for name in ("fresh_chat", "chat"))
    stream = per_byte("growing", "stream")
    columns: dict[str, Column] = {
        "append, µs": _shown(append),
        "fresh append, times 1,000 characters": _shown(seconds("growing", "fresh_append_times")),
        "remembered append, times 1,000 characters": _shown(seconds("growing", "append_times")),
        f"append, times {_peer(result)}": versus(append),
        "fresh chat, ms": _shown(fresh),
        "fresh chat, times one encode": _shown(seconds("growing", "fresh_chat_times")),
        f"fresh chat, times {_peer(result)}": versus(fresh),
        "remembered chat, ms": _shown(chat),
        "remembered chat, times one encode": _shown(seconds("growing", "chat_times")),
        "hit beyond the new part, µs": _shown(hit),
        f"hit, times {_peer(result)}": versus(hit),
        "stream, MB/s": _rate(stream),
        "fresh stream, of whole rate": _shown(seconds("growing", "fresh_stream_share")),
        "remembered stream, of whole rate": _shown(seconds("growing", "stream_share")),
        f"stream, times {_peer(result)}": versus(stream),
        "bytes an id, appends of 200 characters": _shown(seconds("growing", "version_bytes")),
        "of 4,096": _shown(seconds("growing", "large_version_bytes")),
    }
    return _table(result, columns, verified="ids")


def _limits(result: Result) -> str:
    """Two tables: ids that are open at places of texts, and the characters encoded for hard texts."""

    def named(name: str) -> Column:
        return _shown(seconds("limits", name))

    places: dict[str, Column] = {
        "open by proof: median": named("open_median"),
        "99 %": named("open_99"),
        "most": named("open_most"),
        "changed by some text: median": named("needed_median"),
        "of 99 %": named("needed_99"),
        "at most": named("needed_most"),
        "places where both are equal": named("tight"),
        "proof too small": named("over"),
        "backing off 8, unchecked: wrong": named("wrong"),
        "checked: wrong": named("checked_wrong"),
        "check fails, all encoded again": named("encoded_again"),
    }
    totals = {name.replace("_", " "): named(name) for name in TOTALS}
    parts = []
    for columns, has in (places, False), (totals, True):
        cases = [case for case in result["cases"] if case["name"].endswith("hard texts") == has]
        if cases:
            parts.append(_table({**result, "cases": cases}, columns, verified="ids"))
    return "\n\n".join(parts)


def _requests(result: Result) -> str:
    """The cost of each size that was measured; a second for a GB is a nanosecond for a byte."""
    rows = [row for case in result["cases"] for row in case["engines"]]
    names = [name for name in SHOWN["requests"] if any(summary_of(row, "requests", name) for row in rows)]
    return _table(result, {name: _shown(seconds("requests", name)) for name in names}, verified="ids or counts")


def _web(result: Result) -> str:
    """Rates and times of first and of later passes; only libraries with all ids are peers."""
    cold = seconds("web", "cold")
    columns: dict[str, Column] = {"english, cold, MB/s": _rate(cold), "cold, times": versus(cold)}
    for name in ("english", "code", "zh"):
        for passes, title in (("", ""), ("_again", " again")):
            cost = seconds("web", name + passes)
            columns |= {f"{name}{title}, MB/s": _rate(cost), f"{name}{title}, times": versus(cost)}
    for name, title in (("lines", "10,000 lines"), ("lines_again", "lines again"), ("ready", "ready")):
        columns[f"{title}, ms"] = _shown(seconds("web", name, 1e3))
    return _table(result, {**columns, "page loads, KB": _shown(seconds("web", "kb"))}, verified="ids")


def _shown(function: Times) -> Column:
    return lambda row, peers: spread(function(row))


def _rate(cost: Times) -> Column:
    return lambda row, peers: spread(rate(cost(row)))


def _peer(result: Result) -> str:
    return "the fastest other" if result["peer"] == FASTEST else str(result["peer"])


_TASKS = {
    "train": _train,
    "encode": _encode,
    "calls": _calls,
    "startup": _startup,
    "split": _split,
    "growing": _growing,
    "limits": _limits,
    "chat": chat_report,
    "requests": _requests,
    "coverage": coverage_report,
    "web": _web,
}


def _table(result: Result, columns: dict[str, Column], verified: str = "ids or merges") -> str:
    """Return a table of cases and engines; the last column says how a result was verified or why there is none."""
    rows: list[Sequence[str]] = []
    for case in result["cases"]:
        peers = peers_of(result, case)
        for place, row in enumerate(case["engines"]):
            label = [] if len(result["cases"]) == 1 else [case["name"] if not place else ""]
            if row["status"] == "ok":
                cells = [function(row, peers) for function in columns.values()]
                rows.append([*label, engine_label(row), *cells, row["verified"]])
            else:
                rows.append([*label, engine_label(row), *["n/a"] * len(columns), row["status"]])
    return table([*(["input"] if len(result["cases"]) > 1 else []), "engine", *columns, verified], rows)


def peers_of(result: Result, case: Result) -> list[Row]:
    """Return the rows of a case that the others are compared with: the peer's, or those of all but the first engine."""
    rows = [row for row in case["engines"] if "values" in row and row["compare"]]
    if result["peer"] == FASTEST:
        return [row for row in rows if row is not case["engines"][0]]
    return [row for row in case["engines"] if row["name"] == result["peer"] and "values" in row]


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


def versus(function: Times) -> Column:
    """Return the function that says how many times as fast as the fastest of its peers a row is."""

    def cell(row: Row, peers: Sequence[Row]) -> str:
        costs = [(cost.median, place, cost) for place, peer in enumerate(peers) if (cost := function(peer))]
        own = function(row)
        # What is not compared did other work: a ratio would say that it is the same.
        if not costs or own is None or (not row["compare"] and row not in peers):
            return "–"
        _, place, best = min(costs)
        return "1" if peers[place] is row else times(ratio(best, own))

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
