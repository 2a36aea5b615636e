"""The tables of chat: what each engine gets right, and what a conversation costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.stats import Summary, ratio
from benchmarks.summary import summary_of
from benchmarks.tables import spread, table, times

__all__ = ["chat_brief", "chat_report"]

Record = dict[str, Any]
Row = dict[str, Any]
SHARES = {
    "pairs rendered": ("rendered", "pairs"),
    "pairs with an injection": ("injected", "hostile"),
    "masks right": ("masks", "replies"),
    "with marks": ("marked_masks", "marked"),
    "answers that keep their ids": ("kept", "answers"),
}
COSTS = {
    "text, ms": "text",
    "ids, ms": "ids",
    "answer after 10, ms": "append_short",
    "after 200, ms": "append_long",
}


def chat_report(record: Record) -> str:
    """Return both tables of one record."""
    return "\n\n".join(part for part in (_counts([record]), _times(record)) if part)


def chat_brief(records: Sequence[Record]) -> str:
    """Return the counts of cases that not all engines have alike, and the times of the first engine."""
    usual = {row["name"] for row in min((case["engines"] for one in records for case in one["cases"]), key=len)}
    found = []
    for record in records:
        cases = record["cases"]
        if len(cases) > 1:  # the first engine, and those that only some cases have
            cases = [{**case, "engines": _unusual(case["engines"], usual)} for case in cases]
        found.append({**record, "cases": [case for case in cases if len(case["engines"]) > 1]})
    costs = [_times(record, first=True) for record in records]
    return "\n\n".join([_counts(found), *filter(None, costs)])


def _unusual(rows: Sequence[Row], usual: set[str]) -> list[Row]:
    return [row for at, row in enumerate(rows) if not at or row["name"] not in usual]


def _counts(records: Sequence[Record]) -> str:
    """Return what each engine gets right, as "of": 3/5 are three of five."""
    rows = []
    for name, row, first, _ in _rows(records):
        cells = [_share(row, *names) for names in SHARES.values()] if row["status"] == "ok" else ["n/a"] * len(SHARES)
        ids = row["verified"] if row["status"] == "ok" else row["status"]
        rows.append([name if first else "", row["name"], *cells, ids])
    return table(["templates", "engine", *SHARES, "ids"], rows)


def _times(record: Record, *, first: bool = False) -> str:
    """Return milliseconds, and in parentheses how many times as fast as transformers; empty without times.

    first: of the first engine of each case only.
    """
    rows = []
    for name, row, is_first, peer in _rows([record]):
        if first and not is_first:
            continue
        if row["status"] == "ok" and any(_cost(row, cost) for cost in COSTS.values()):
            label = [name] if first else [name if is_first else "", row["name"]]
            rows.append([*label, *(_against(row, peer, cost) for cost in COSTS.values())])
    if first:
        return table([f"template; {record['cases'][0]['engines'][0]['name']}", *COSTS], rows) if rows else ""
    return table(["template", "engine", *COSTS], rows) if rows else ""


def _rows(records: Sequence[Record]) -> Iterator[tuple[str, Row, bool, Row | None]]:
    """Yield the name of a case, a row, whether it is the first of the case, and the row of the peer."""
    for record in records:
        for case in record["cases"]:
            peer = next((row for row in case["engines"] if row["name"] == record["peer"] and "values" in row), None)
            for place, row in enumerate(case["engines"]):
                yield case["name"], row, not place, peer


def _share(row: Row, part: str, whole: str) -> str:
    some, all_of = (summary_of(row, "chat", name) for name in (part, whole))
    if some is None or all_of is None or not all_of.median:
        return "\u2013"
    return f"{some.median:,.0f}/{all_of.median:,.0f}"


def _cost(row: Row, name: str) -> Summary | None:
    return summary_of(row, "chat", name, 1000)


def _against(row: Row, peer: Row | None, name: str) -> str:
    own, other = _cost(row, name), None if peer is None else _cost(peer, name)
    if own is None:
        return "\u2013"
    return spread(own) if other is None or row is peer else f"{spread(own)} ({times(ratio(other, own))})"
