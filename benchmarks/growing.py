"""The tables of texts that grow on the page: costs beside their limits and others, and ids that are open."""

from __future__ import annotations

from typing import Any

from benchmarks.report import notes, seconds, versus
from benchmarks.stats import Summary
from benchmarks.summary import summary_of
from benchmarks.tables import number, table

__all__ = ["growing_table", "limits_table"]

Record = dict[str, Any]
Row = dict[str, Any]
# What it should cost at most, or at least; the table marks what misses this.
BARS = {"append_times": 1.5, "chat_times": 1.3, "hit": 30e-6, "bytes": 6.0}
LEAST_SHARE = 0.8
PAIRS = {name: (f"fresh_{name}", name) for name in ("append_times", "chat_times", "stream_share")}
OURS = ("subwords", "encode-again", "back-off")


def growing_table(record: Record) -> str:
    """Return the costs of the first engine, bold where they miss a limit, and a table of what others take."""
    own_rows, others = [], []
    for case in record["cases"]:
        found = {row["name"]: row for row in case["engines"]}
        own = case["engines"][0]
        append, chat, stream = (" / ".join(_cell(own, name) for name in PAIRS[pair]) for pair in PAIRS)
        memory = " / ".join(_cell(own, name) for name in ("version_bytes", "large_version_bytes"))
        cells = [append, chat, _cell(own, "hit", 1e6), stream, memory]
        own_rows.append([case["name"], *cells])
        shown = [_append(found.get(name)) for name in OURS]
        libraries = [row for row in case["engines"] if row["name"] not in OURS and _value(row, "append")]
        best = min(libraries, key=lambda row: _median(row, "append"), default=None)
        named = "–" if best is None else f"{_append(best)}, {best['name']}"
        others.append([case["name"], *shown, named, _stream(own, found.get("iree"))])
    first = ["", "append, times 1 KB", "chat, times one encode", "hit, µs", "stream, of whole", "bytes an id"]
    second = ["append, µs", *OURS, "fastest other library", "stream, times iree"]
    parts = [table(first, own_rows), table(second, others)]
    problems = [
        f"{row['name']}, {case['name']}: {row['status']}"
        for case in record["cases"]
        for row in case["engines"]
        if row["status"] not in ("ok", "not installed", "no such call")
    ]
    lines = [line.removeprefix("- ") for line in notes(record).splitlines()]
    return "\n\n".join([*parts, *([f"Notes: {'; '.join([*lines, *problems])}."] if lines or problems else [])])


def limits_table(record: Record) -> str:
    """Return for each tokenizer and text how many ids are open, by proof and in truth, and the failures of guessing."""
    found: dict[str, dict[str, Row]] = {}
    for case in record["cases"]:
        name, _, text = case["name"].partition(", ")
        found.setdefault(name, {})[text] = case["engines"][0]
    texts = [text for text in dict.fromkeys(text for rows in found.values() for text in rows) if text != "hard texts"]
    open_rows, growth = [], []
    for name, rows in found.items():
        shown = [rows[text] for text in texts if "values" in rows.get(text, {})]
        failures = " / ".join(
            number(sum(_count(row, kind) for row in shown)).removesuffix(".00")
            for kind in ("wrong", "checked_wrong", "encoded_again")
        )
        open_rows.append([name, *(_open(rows.get(text)) for text in texts), failures])
        growth.append([name, *_growth(rows.get("hard texts"))])
    first = table(["ids open: proof, truth", *texts, "backing off 8"], open_rows)
    second = table(["characters encoded", "one letter", "no cuts", "marks", "half a special token"], growth)
    return f"{first}\n\n{second}"


def _value(row: Row | None, name: str, task: str = "growing") -> Summary | None:
    return None if row is None or row["status"] != "ok" else summary_of(row, task, name)


def _median(row: Row, name: str) -> float:
    found = _value(row, name)
    return float("inf") if found is None else found.median


def _cell(row: Row, name: str, scale: float = 1.0) -> str:
    """A median, bold if it misses its limit."""
    found = _value(row, name)
    if found is None:
        return "–" if row["status"] == "ok" else "n/a"
    limit = BARS.get(name.removeprefix("fresh_"), BARS["bytes"])
    missed = found.median < LEAST_SHARE if name.endswith("share") else found.median > limit
    shown = number(found.median * scale)
    return f"**{shown}**" if missed else shown


def _append(row: Row | None) -> str:
    found = _value(row, "append")
    if found is None:
        return "" if row is None else "–" if row["status"] in ("ok", "not installed", "no such call") else "n/a"
    return number(found.median * 1e6)


def _stream(own: Row, other: Row | None) -> str:
    if _value(own, "stream") is None or _value(other, "stream") is None:
        return "–"
    assert other is not None, "it has a value"
    return versus(seconds("growing", "stream"))(own, [other])


def _count(row: Row | None, name: str) -> float:
    found = _value(row, name, "limits")
    return 0.0 if found is None else found.median


def _open(row: Row | None) -> str:
    """Median, 99 % and most of the ids that are open by proof; and of those that some continuation changes."""
    if row is None or row["status"] != "ok":
        return "–" if row is None else "n/a"
    parts = ("median", "99", "most")
    kinds = (", ".join(f"{_count(row, f'{kind}_{part}'):g}" for part in parts) for kind in ("open", "needed"))
    return " · ".join(kinds)


def _growth(row: Row | None) -> list[str]:
    """For each hard text, the characters encoded for each one appended: ids read at the end, and after each append."""
    if row is None or row["status"] != "ok":
        return ["–"] * 4
    cells = []
    for text in ("letter", "no_cuts", "marks", "half_special"):
        pairs = []
        for reading in ("end", "each"):
            small, large = (_value(row, f"{text}_{reading}_{size}", "limits") for size in (8_192, 16_384))
            if small is not None and large is not None:
                pairs.append(f"{number(small.median)}–{number(large.median)}")
        cells.append(" / ".join(pairs) or "–")
    return cells
