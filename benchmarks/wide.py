"""Tables with a column for each engine: what the page shows of encoding and of calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmarks.report import Times, notes, peers_of, per_byte, rate, seconds, versus
from benchmarks.tables import spread, table

__all__ = ["calls_table", "encode_table", "memory_table"]

Record = dict[str, Any]
Row = dict[str, Any]
UNITS = {"µs": 1e6, "ms": 1e3, "s": 1.0}
KINDS = (("fresh", ", fresh"), ("again", ", remembered"), ("total", ", load included"))


def encode_table(records: Sequence[Record], titles: Sequence[str]) -> str:
    """Return MB/s of a fresh text by every engine; of the same text again by the first engine and the best other."""
    fresh, again = per_byte("encode", "fresh"), per_byte("encode", "warm")
    names = _names(records)
    rows = []
    for record, title in zip(records, titles, strict=True):
        for case in record["cases"]:
            peers, found = peers_of(record, case), {row["name"]: row for row in case["engines"]}
            own = case["engines"][0]
            cells = [_cell(found.get(name), lambda row: spread(rate(fresh(row)))) for name in names]
            cells.insert(1, _ratio(own, peers, fresh))
            remembered = _cell(own, lambda row: spread(rate(again(row))))
            rows.append([f"{title}, {case['name']}", *cells, remembered, _ratio(own, peers, again)])
    labels = [_label(records, name) for name in names]
    headers = [
        "MB/s",
        labels[0],
        "times the fastest other",
        *labels[1:],
        f"{names[0]}, remembered",
        "times the fastest",
    ]
    return _with_problems(table(headers, rows), records)


def calls_table(records: Sequence[Record]) -> str:
    """Return what every call costs every engine; a case's name ends in its unit."""
    names = _names(records)
    rows = []
    for record in records:
        for case in record["cases"]:
            name, _, unit = case["name"].rpartition(", ")
            found = {row["name"]: row for row in case["engines"]}
            own, peers = case["engines"][0], peers_of(record, case)
            kinds = [kind for kind in KINDS if any(seconds("calls", kind[0])(row) for row in found.values())]
            for kind, suffix in kinds or KINDS[:1]:
                cells = [_cell(found.get(one), _shown(kind, unit)) for one in names]
                cells.insert(1, _ratio(own, peers, seconds("calls", kind)))
                rows.append([f"{name}{_suffix(suffix, kinds)}, {unit}", *cells])
    headers = ["call", names[0], "times the fastest other", *names[1:]]
    return _with_problems(table(headers, rows), records)


def memory_table(records: Sequence[Record], titles: Sequence[str], case: str) -> str:
    """Return the memory of a process with a new object, after a text, and at most."""
    rows = []
    for record, title in zip(records, titles, strict=True):
        for row in next(one for one in record["cases"] if one["name"] == case)["engines"]:
            if row["status"] == "ok":
                cells = [spread(seconds("encode", name)(row)) for name in ("new_mb", "after_mb", "peak_mb")]
                rows.append([title, _name(row), *cells])
    return table(["file", "engine", "with a new object, MB", "after the text, MB", "most, MB"], rows)


def _names(records: Sequence[Record]) -> list[str]:
    cases = [case for record in records for case in record["cases"]]
    return [*dict.fromkeys(row["name"] for case in cases for row in case["engines"])]


def _label(records: Sequence[Record], name: str) -> str:
    """The name of an engine, and the most it got of an input where that is not all."""
    sizes = [row["bytes"] for _, row in _rows(records) if row["name"] == name and not row["whole"]]
    return f"{name}, first {max(sizes) / 1e6:.3g} MB" if sizes else name


def _name(row: Row) -> str:
    return _label([{"cases": [{"name": "", "engines": [row]}]}], row["name"])


def _suffix(suffix: str, kinds: Sequence[tuple[str, str]]) -> str:
    return suffix if len(kinds) > 1 else ""


def _shown(kind: str, unit: str) -> Callable[[Row], str]:
    if unit == "MB/s":
        return lambda row: spread(rate(per_byte("calls", kind)(row)))
    return lambda row: spread(seconds("calls", kind, UNITS[unit])(row))


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
