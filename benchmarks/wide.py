"""Tables with a column for each engine: what the page shows of encoding and of calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmarks.report import Times, notes, peers_of, per_byte, rate, seconds, versus
from benchmarks.stats import Summary
from benchmarks.summary import SHOWN
from benchmarks.tables import number, spread, table

__all__ = ["brief_table", "calls_table", "encode_table", "memory_table", "starts_table", "startup_table", "web_table"]

Record = dict[str, Any]
Row = dict[str, Any]
MOST_COLUMNS = 8
UNITS = {"µs": 1e6, "ms": 1e3, "s": 1.0}


def encode_table(record: Record) -> str:
    """Return a table of MB/s of a fresh text by every engine, and one of the same text again by the first of them."""
    fresh, again = per_byte("encode", "fresh"), per_byte("encode", "warm")
    names = _names([record])
    rows, remembered = [], []
    for case in record["cases"]:
        peers, found = peers_of(record, case), {row["name"]: row for row in case["engines"]}
        own = case["engines"][0]
        cells = [_cell(found.get(name), lambda row: spread(rate(fresh(row)))) for name in names]
        cells.insert(1, _ratio(own, peers, fresh))
        rows.append([case["name"], *cells])
        remembered.append([case["name"], *_own_and_best(own, peers, again)])
    labels = [_label([record], name) for name in names]
    first = table(["MB/s", labels[0], "times the fastest other", *labels[1:]], rows)
    second = table(["MB/s, remembered", labels[0], "times the fastest other", "fastest other"], remembered)
    return _with_problems(f"{first}\n\n{second}", [record])


def _own_and_best(own: Row, peers: Sequence[Row], cost: Times) -> list[str]:
    """The rate of the first engine, the ratio, and the rate and name of the fastest other."""
    measured = [row for row in peers if cost(row) is not None]
    best = min(measured, key=lambda row: cost(row).median, default=None)  # type: ignore[union-attr]
    other = "–" if best is None else f"{spread(rate(cost(best)))}, {best['name']}"
    return [_cell(own, lambda row: spread(rate(cost(row)))), _ratio(own, peers, cost), other]


def brief_table(records: Sequence[Record], titles: Sequence[str]) -> str:
    """Return a table for each record: MB/s of the first engine, and beside it the fastest other by name."""
    fresh, again = per_byte("encode", "fresh"), per_byte("encode", "warm")
    tables = []
    for record, title in zip(records, titles, strict=True):
        rows = []
        for case in record["cases"]:
            own, peers = case["engines"][0], peers_of(record, case)
            rows.append([case["name"], *_own_and_best(own, peers, fresh), *_own_and_best(own, peers, again)[:2]])
        columns = ("fresh", "times the fastest other", "fastest other", "remembered", "times the fastest")
        tables.append(table([f"{title}, MB/s", *columns], rows))
    return _with_problems("\n\n".join(tables), records)


def calls_table(records: Sequence[Record]) -> str:
    """Return what every call costs every engine; a case's name ends in its unit. "a / b" is fresh and remembered.

    Calls of engines that are too many for one table are in a second one.
    """
    cases = [(record, case) for record in records for case in record["cases"]]
    names = _names(records)
    most = MOST_COLUMNS - 2  # one column is the call, one the ratio
    first = [(record, case) for record, case in cases if _has(case, names[1:most])] if len(names) > most else cases
    second = [one for one in cases if one not in first]
    tables = [_calls_of(first, names[:most])]
    if second:
        tables.append(_calls_of(second, [name for name in names if any(_has(case, [name]) for _, case in second)]))
    return _with_problems("\n\n".join(tables), records)


def _has(case: Row, names: Sequence[str]) -> bool:
    """Whether one of these engines has the call of a case."""
    return any(row["name"] in names and row["status"] == "ok" for row in case["engines"])


def _calls_of(cases: Sequence[tuple[Record, Row]], names: Sequence[str]) -> str:
    rows = []
    for record, case in cases:
        unit = case["name"].rpartition(", ")[2]
        found = {row["name"]: row for row in case["engines"]}
        own, peers = case["engines"][0], peers_of(record, case)
        kinds = [kind for kind in SHOWN["calls"] if any(seconds("calls", kind)(row) for row in found.values())]
        cells = [_cell(found.get(name), _shown(kinds, unit)) for name in names]
        cells.insert(1, " / ".join(_ratio(own, peers, seconds("calls", kind)) for kind in kinds) or "n/a")
        rows.append([case["name"], *cells])
    return table(["call", names[0], "times the fastest other", *names[1:]], rows)


def memory_table(records: Sequence[Record], titles: Sequence[str], case: str) -> str:
    """Return the memory of a process with a new object, after a text, and at most."""
    rows = []
    names = _names(records)
    for record, title in zip(records, titles, strict=True):
        found = {row["name"]: row for row in next(one for one in record["cases"] if one["name"] == case)["engines"]}
        for when, size in (("new object", "new_mb"), ("after the text", "after_mb"), ("most", "peak_mb")):
            cost = seconds("encode", size)
            cells = [_cell(found.get(name), lambda row, cost=cost: _median(cost(row))) for name in names]
            rows.append([f"{title}, {when}", *cells])
    return table(["MB", *(_label(records, name) for name in names)], rows)


def startup_table(records: Sequence[Record], titles: Sequence[str]) -> str:
    """Return the seconds of a new process until its first result."""
    total = seconds("startup", "total")
    names = _names(records)
    rows = []
    for record, title in zip(records, titles, strict=True):
        for case in record["cases"]:
            found = {row["name"]: row for row in case["engines"]}
            cells = [_cell(found.get(name), lambda row: spread(total(row))) for name in names]
            cells.insert(1, _ratio(case["engines"][0], peers_of(record, case), total))
            rows.append([f"{title}, {case['name']}", *cells])
    return _with_problems(table(["until, s", names[0], "times the peer", *names[1:]], rows), records)


def starts_table(record: Record) -> str:
    """Return the seconds of a process by file, of the first one on a machine and of later ones."""
    total = seconds("startup", "total")
    rows: dict[str, list[str]] = {}
    for case in record["cases"]:
        own, *peers = case["engines"]
        shown = [_cell(row, lambda row: spread(total(row))) for row in (own, *peers[:1])]
        cells = rows.setdefault(case["name"].partition(", ")[0], [])
        cells += [shown[0], _ratio(own, peers_of(record, case), total)]
        if not cells[2:]:
            cells.append(f"{shown[1]}, {peers[0]['name']}" if peers else "")
    titles = ["until the first ids, s", "first", "times the peer", "the peer", "later", "times the peer"]
    return _with_problems(table(titles, [[name, *cells] for name, cells in rows.items()]), [record])


def web_table(record: Record) -> str:
    """Return a row for each library of JavaScript: "fresh / remembered"; of later cases only the first engine."""
    rows = []
    for place, case in enumerate(record["cases"]):
        peers = peers_of(record, case)
        for row in case["engines"][: 1 if place else None]:
            cells = [_passes_cell(row, peers, name) for name in ("english", "code", "zh")]
            lines, ready, size, exact = (
                _cell(row, lambda row, name=name, scale=scale: _median(seconds("web", name, scale)(row)))  # type: ignore[misc]
                for name, scale in (("lines", 1e3), ("ready", 1e3), ("kb", 1.0), ("exact", 1.0))
            )
            name = f"{row['name']}, {case['name']}" if place else row["name"]
            rows.append([name, *cells, lines, ready, size, exact])
    columns = ["English, MB/s", "code", "Chinese", "10,000 lines, ms", "ready, ms", "page loads, KB"]
    exact_of = f"exact of {record['parameters']['chunks']:,}"
    return table([record["cases"][0]["name"], *columns, exact_of], rows)


def _passes_cell(row: Row, peers: Sequence[Row], name: str) -> str:
    """MB/s of fresh and of remembered text, and of the first engine how many times that of the fastest other."""
    costs = [seconds("web", name + passes) for passes in ("", "_again")]
    shown = _cell(row, lambda row: " / ".join(_median(rate(cost(row))) for cost in costs))
    ratios = [versus(cost)(row, peers) for cost in costs] if row["status"] == "ok" and row not in peers else []
    return f"{shown} ({' / '.join(ratios)})" if "–" not in ratios and ratios else shown


def _names(records: Sequence[Record]) -> list[str]:
    cases = [case for record in records for case in record["cases"]]
    return [*dict.fromkeys(row["name"] for case in cases for row in case["engines"])]


def _label(records: Sequence[Record], name: str) -> str:
    """The name of an engine, and the most it got of an input where that is not all."""
    sizes = [row["bytes"] for _, row in _rows(records) if row["name"] == name and not row["whole"]]
    return f"{name}, first {max(sizes) / 1e6:.3g} MB" if sizes else name


def _shown(kinds: Sequence[str], unit: str) -> Callable[[Row], str]:
    def cost(row: Row, kind: str) -> Summary | None:
        return rate(per_byte("calls", kind)(row)) if unit == "MB/s" else seconds("calls", kind, UNITS[unit])(row)

    return lambda row: " / ".join(_median(cost(row, kind)) for kind in kinds)


def _median(summary: Summary | None) -> str:
    return "–" if summary is None else number(summary.median)


def _cell(row: Row | None, shown: Callable[[Row], str]) -> str:
    if row is None:
        return ""
    if row["status"] == "no such call":
        return "–"
    return shown(row) if row["status"] == "ok" else str(row["status"]).partition(" (")[0]


def _ratio(own: Row, peers: Sequence[Row], cost: Times) -> str:
    return versus(cost)(own, peers) if own["status"] == "ok" else "n/a"


def _rows(records: Sequence[Record]) -> Iterator[tuple[str, Row]]:
    for record in records:
        for case in record["cases"]:
            for row in case["engines"]:
                yield case["name"], row


def _with_problems(body: str, records: Sequence[Record]) -> str:
    """A table, and below it the notes and what has no time because its result is not right."""
    lines = dict.fromkeys(line.removeprefix("- ") for record in records for line in notes(record).splitlines())
    for name, row in _rows(records):
        if row["status"] not in ("ok", "not installed", "no such call"):
            lines[f"{row['name']}, {name}: {row['status']}"] = None
    return "\n\n".join([body, f"Notes: {'; '.join(lines)}."] if lines else [body])
