"""The picture and the table of the README: few rows of all that was recorded, also where we lose."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from benchmarks.report import peers_of, per_byte, seconds, versus
from benchmarks.tables import number, table

__all__ = ["ROWS", "figures", "front_page"]

Record = dict[str, Any]
BEGIN, END = "<!-- figures: made from the records by `python -m benchmarks page` -->\n", "<!-- end of figures -->\n"


class Figure(NamedTuple):
    """A row: what is done, and which time of which case of which record says how fast."""

    task: str
    record: str
    case: str  # how the name of the case begins
    time: str
    unit: str
    drawn: str = ""  # its name in the picture, if it is there


ROWS = (
    Figure(
        "next turn: 200 characters after 100,000",
        "growing",
        "GPT-2, english",
        "append",
        "µs",
        "the next turn of a chat, beside encoding all again",
    ),
    Figure(
        "60 MB of new English to ids, GPT-2",
        "encode_gpt2",
        "english",
        "fresh",
        "MB/s",
        "60 MB of English to ids",
    ),
    Figure("a new request of 10 KB, to a list", "requests_lists", "GPT-2, english", "10000", "10 KB, µs"),
    Figure("a new line of 100 characters, to a list", "calls", "`encode(line)` to a list", "fresh", "µs"),
    Figure("100,000 new lines, to lists", "calls_batch", "`encode_batch(100,000 lines)` to lists", "fresh", "ms"),
    Figure(
        "new process until the first ids",
        "startup_encode",
        "any",
        "total",
        "s",
        "start a process and get the first ids",
    ),
    Figure(
        "train BPE, 32,000 tokens, 60 MB of lines",
        "train",
        "english, 60 MB, each line",
        "call",
        "s",
        "train 32,000 tokens on 60 MB of lines",
    ),
    Figure(
        "the same, 2,000 on 565 KB, new process",
        "startup_train",
        "each line",
        "total",
        "s",
        "start a process and train 2,000 tokens on 565 KB",
    ),
)
# A record of requests has seconds a GB, so a request of 10 KB takes 1e-5 times as much.
SCALE = {"s": 1.0, "ms": 1e3, "µs": 1e6, "10 KB, µs": 1e6 * 1e-5}
# Of a text that grows, the fastest other way is to encode all of it again with this library.
NAMES = {"encode-again": "all again by subwords"}
# Columns beside the fastest: 0.23, or where it was not measured the faster pre-release of 1.0.
KNOWN = {"tokenizers": ("tokenizers", "tokenizers-rc"), "tiktoken": ("tiktoken",)}


def figures(records: dict[str, Record]) -> list[list[str]]:
    """Return the task and the ratio of each row of the picture; rows that were not measured are left out."""
    rows = ((figure, _cells(figure, records)) for figure in ROWS if figure.drawn)
    return [[figure.drawn, cells[-1]] for figure, cells in rows if cells]


def front_page(text: str, records: dict[str, Record]) -> str:
    """Return the README with the table of today's records."""
    rows = [cells for figure in ROWS if (cells := _cells(figure, records))]
    body = table(["", "subwords", *KNOWN, "fastest other", "times as fast"], rows)
    found = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if len(found.findall(text)) != 1:
        raise ValueError(f"expected {BEGIN.strip()} and {END.strip()} once in the README")
    return found.sub(lambda _: f"{BEGIN}{body}\n{END}", text)


def _cells(figure: Figure, records: dict[str, Record]) -> list[str]:
    """The cells of a row; none if it was not measured."""
    record = records.get(figure.record, {"cases": []})
    case = next((one for one in record["cases"] if one["name"].startswith(figure.case)), None)
    if case is None:
        return []
    own, peers = case["engines"][0], peers_of(record, case)
    if figure.unit == "MB/s":
        cost = per_byte(record["task"], figure.time)
    else:
        cost = seconds(record["task"], figure.time, SCALE[figure.unit])

    def shown(row: Record) -> str:
        median = cost(row).median  # type: ignore[union-attr]
        unit = figure.unit.rpartition(", ")[2]
        return f"{number(1e-6 / median if unit == 'MB/s' else median)} {unit}"

    measured = {row["name"]: row for row in case["engines"] if cost(row) is not None}
    others = [row for row in peers if row["name"] in measured]
    best = min(others, key=lambda row: cost(row).median)  # type: ignore[union-attr]
    known = [next((measured[name] for name in names if name in measured), None) for names in KNOWN.values()]
    cells = ["–" if row is None else shown(row) + (" (rc)" if row["name"].endswith("-rc") else "") for row in known]
    other = f"{shown(best)}, {NAMES.get(best['name'], best['name'])}"
    ratio = versus(cost)(own, peers)
    loses = float(ratio.removeprefix("≈ ").removesuffix("×").replace(",", "")) < 1
    return [figure.task, shown(own), *cells, other, f"**{ratio}**" if loses else ratio]
