"""Tables with a column for each engine: what the page shows of encoding and of calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmarks.report import Times, notes, peers_of, per_byte, rate, seconds, versus
from benchmarks.stats import Summary
from benchmarks.summary import SHOWN
from benchmarks.tables import number, spread, table

__all__ = ["brief_table", "calls_table", "encode_table", "memory_table", "startup_table"]

Record = dict[str, Any]
Row = dict[str, Any]
UNITS = {"µs": 1e6, "ms": 1e3, "s": 1.0}


def encode_table(record: Record) -> str:
    """Return MB/s of a fresh text by every engine; of the same text again by the first engine and the best other."""
    fresh, again = per_byte("encode", "fresh"), per_byte("encode", "warm")
    names = _names([record])
    rows = []
    for case in record["cases"]:
        peers, found = peers_of(record, case), {row["name"]: row for row in case["engines"]}
        own = case["engines"][0]
        cells = [_cell(found.get(name), lambda row: spread(rate(fresh(row)))) for name in names]
        cells.insert(1, _ratio(own, peers, fresh))
        remembered = _cell(own, lambda row: spread(rate(again(row))))
        rows.append([case["name"], *cells, remembered, _ratio(own, peers, again)])
    labels = [_label([record], name) for name in names]
    headers = [
        "MB/s",
        labels[0],
        "times the fastest other",
        *labels[1:],
        f"{names[0]}, remembered",
        "times the fastest",
    ]
    return _with_problems(table(headers, rows), [record])


def brief_table(records: Sequence[Record], titles: Sequence[str]) -> str:
    """Return MB/s of the first engine, fresh and remembered, and beside it the fastest other by name."""
    fresh, again = per_byte("encode", "fresh"), per_byte("encode", "warm")
    rows: dict[str, list[str]] = {}
    for record in records:
        for case in record["cases"]:
            own, peers = case["engines"][0], peers_of(record, case)
            best = min(peers, key=lambda row: fresh(row).median, default=None)  # type: ignore[union-attr]
            other = "–" if best is None else f"{_cell(best, lambda row: spread(rate(fresh(row))))}, {best['name']}"
            cells = [_cell(own, lambda row: spread(rate(fresh(row)))), _ratio(own, peers, fresh), other]
            cells += [_cell(own, lambda row: spread(rate(again(row)))), _ratio(own, peers, again)]
            rows.setdefault(case["name"], []).extend(cells)
    columns = ("fresh", "times the fastest other", "fastest other", "remembered", "times the fastest")
    headers = ["MB/s", *(f"{title}, {column}" for title in titles for column in columns)]
    return _with_problems(table(headers, [[name, *cells] for name, cells in rows.items()]), records)


def calls_table(records: Sequence[Record]) -> str:
    """Return what every call costs every engine; a case's name ends in its unit. "a / b" is fresh and remembered."""
    names = _names(records)
    rows = []
    for record in records:
        for case in record["cases"]:
            unit = case["name"].rpartition(", ")[2]
            found = {row["name"]: row for row in case["engines"]}
            own, peers = case["engines"][0], peers_of(record, case)
            kinds = [kind for kind in SHOWN["calls"] if any(seconds("calls", kind)(row) for row in found.values())]
            cells = [_cell(found.get(name), _shown(kinds, unit)) for name in names]
            cells.insert(1, " / ".join(_ratio(own, peers, seconds("calls", kind)) for kind in kinds) or "n/a")
            rows.append([case["name"], *cells])
    headers = ["call", names[0], "times the fastest other", *names[1:]]
    return _with_problems(table(headers, rows), records)


def memory_table(records: Sequence[Record], titles: Sequence[str], case: str) -> str:
    """Return the memory of a process with a new object, after a text, and at most."""
    rows: dict[str, list[str]] = {}
    for record in records:
        found = {row["name"]: row for row in next(one for one in record["cases"] if one["name"] == case)["engines"]}
        for name in _names(records):
            row = found.get(name)
            sizes = ("new_mb", "after_mb", "peak_mb")
            cells = [_cell(row, lambda row, size=size: _median(seconds("encode", size)(row))) for size in sizes]
            rows.setdefault(_label([record], name), []).extend(cells)
    columns = [f"{title}, {when}" for title in titles for when in ("new object", "after the text", "most")]
    return table(["MB", *columns], [[name, *cells] for name, cells in rows.items()])


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
