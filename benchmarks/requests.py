"""The tables of requests on the page: times as fast as the fastest other by text and size, and costs by length."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from benchmarks.report import peers_of, seconds, versus
from benchmarks.summary import SIZES, summary_of
from benchmarks.tables import number, table

__all__ = ["lengths_table", "options_table", "requests_table"]

Record = dict[str, Any]
MOST = 1.1  # times the time a byte of a shorter text
LENGTHS = (300, 1_000, 10_000, 100_000, 3_000_000)  # those shown


def requests_table(records: Sequence[Record]) -> str:
    """Return what all cells of each tokenizer come to, and every cell: arrays / lists."""
    found = [{case["name"]: _ratios(record, case) for case in record["cases"]} for record in records]
    names = [*dict.fromkeys(name for one in found for name in one)]
    sizes = next(record["parameters"]["sizes"] for record in records if record["cases"])
    every = [
        [name, *(" / ".join(_shown(one.get(name, {}).get(size)) for one in found) for size in sizes)] for name in names
    ]
    rows = []
    for group in [*dict.fromkeys(_tokenizer(name) for name in names), "all"]:
        chosen = [name for name in names if group in ("all", _tokenizer(name))]
        cells = [_least(one, chosen) for one in found]
        rows.append([group, *(cell for part in cells for cell in part)])
    kinds = [f"{kind}: {what}" for kind in ("arrays", "lists") for what in ("least", "median", "under 1")]
    return f"{table(['', *kinds], rows)}\n\n{table(['', *map(_size, sizes)], every)}"


def options_table(record: Record) -> str:
    """Return least / median over all sizes, a column for each way of calling."""
    found: dict[str, dict[str, str]] = {}
    for case in record["cases"]:
        tokenizer, _, rest = case["name"].partition(", ")
        option, _, text = rest.rpartition(", ")
        values = [value for value, _ in _ratios(record, case).values()]
        both = (min(values), median(values)) if values else ()
        shown = " / ".join(_bold(number(value), value < 1) for value in both)
        found.setdefault(f"{tokenizer}, {text}", {})[option] = shown or "n/a"
    options = [*dict.fromkeys(option for cells in found.values() for option in cells)]
    return table(["", *options], [[name, *(cells.get(one, "") for one in options)] for name, cells in found.items()])


def lengths_table(record: Record) -> str:
    """Return ns a byte to an array by length, the most over a shorter text, arrays / lists, and lists over arrays."""
    rows, every = [], list[float]()
    for case in record["cases"]:
        arrays, lists = _costs(case), _costs(case, " encode")
        cells = [number(arrays[size]) if size in arrays else "n/a" for size in LENGTHS]
        over = [lists[size] / cost for size, cost in arrays.items() if size in lists]
        every += over
        rows.append([case["name"], *cells, f"{_worst(arrays)} / {_worst(lists)}", _middle(over)])
    rows.append(["all", *[""] * (len(LENGTHS) + 1), _middle(every)])
    return table(["ns a byte", *map(_size, LENGTHS), "most over a shorter one", "list, times array"], rows)


def _ratios(record: Record, case: Record) -> dict[int, tuple[float, str]]:
    """How many times as fast as the fastest other the first engine is at each size, as a number and as text."""
    own, peers = case["engines"][0], peers_of(record, case)
    if own["status"] != "ok":
        return {}
    texts = {size: versus(seconds("requests", str(size)))(own, peers) for size in SIZES}
    shown = {size: text.removesuffix("×").replace("≈ ", "≈") for size, text in texts.items() if text[-1] == "×"}
    return {size: (float(text.lstrip("≈").replace(",", "")), text) for size, text in shown.items()}


def _costs(case: Record, kind: str = "") -> dict[int, float]:
    """The nanoseconds a byte of the first engine by size."""
    found = {size: summary_of(case["engines"][0], "requests", f"{size}{kind}") for size in SIZES}
    return {size: cost.median for size, cost in found.items() if cost is not None}


def _least(ratios: dict[str, dict[int, tuple[float, str]]], names: Sequence[str]) -> list[str]:
    values = [(value, name, size) for name in names for size, (value, _) in ratios.get(name, {}).items()]
    if not values:
        return ["n/a"] * 3
    least, name, size = min(values)
    where = f"{_bold(number(least), least < 1)}, {name.rpartition(', ')[2]} {_size(size)}"
    middle = median(value for value, _, _ in values)
    return [where, _bold(number(middle), middle < 1), f"{sum(value < 1 for value, _, _ in values)} of {len(values)}"]


def _middle(values: Sequence[float]) -> str:
    return f"{number(median(values))}, at most {number(max(values))}" if values else "n/a"


def _worst(costs: dict[int, float]) -> str:
    """The most that a length costs over a shorter one, and which two; bold where it is too much."""
    pairs = [(costs[long] / costs[short], long, short) for long in costs for short in costs if short < long]
    if not pairs:
        return "n/a"
    most, long, short = max(pairs)
    return f"{_bold(number(most), most > MOST)} ({_size(long)} over {_size(short)})"


def _tokenizer(name: str) -> str:
    return name.rpartition(", ")[0]


def _size(size: int) -> str:
    return f"{size / 1e6:g} MB" if size >= 1_000_000 else f"{size / 1e3:g} KB"


def _shown(cell: tuple[float, str] | None) -> str:
    return "n/a" if cell is None else _bold(cell[1], cell[0] < 1)


def _bold(text: str, marked: bool) -> str:
    return f"**{text}**" if marked else text
