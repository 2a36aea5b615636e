"""The picture of the README and the rows of it that are in its table: of all that was recorded, also where we lose."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from benchmarks.report import engine_label, peers_of, per_byte, seconds, versus
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
    short: bool = False  # whether it is in the table too


ROWS = (
    Figure("encode 60 MB of English never seen, GPT-2", "encode_gpt2", "english", "fresh", "MB/s", short=True),
    Figure("encode 12 MB of code never seen, GPT-2", "encode_gpt2", "code", "fresh", "MB/s"),
    Figure("encode 12 MB of Chinese never seen, GPT-2", "encode_gpt2", "zh", "fresh", "MB/s"),
    Figure("encode 3 MB of Vietnamese never seen, GPT-2", "encode_gpt2", "vi", "fresh", "MB/s"),
    Figure("encode the same 60 MB again, GPT-2", "encode_gpt2", "english", "warm", "MB/s"),
    Figure("encode 12 MB of Chinese never seen, T5", "encode_sentencepiece", "T5, zh", "fresh", "MB/s"),
    Figure("encode 16 MB of English never seen, BERT", "encode_bert", "english", "fresh", "MB/s"),
    Figure(
        "encode a line of 100 characters never seen", "calls", "`encode(line)` to a list", "fresh", "µs", short=True
    ),
    Figure("encode the line again", "calls", "`encode(line)` to a list", "again", "µs"),
    Figure("ids and spans of a line never seen", "calls", "ids and spans of a line", "fresh", "µs"),
    Figure(
        "encode a batch of 100,000 lines never seen, to lists",
        "calls_batch",
        "`encode_batch(100,000 lines)` to lists",
        "fresh",
        "ms",
        short=True,
    ),
    Figure("decode a list of the ids of 5.2 MB", "calls", "decode a list of", "again", "ms"),
    Figure("load GPT-2's tokenizer.json, encode a line, new process", "calls_load", "load GPT-2's", "total", "ms"),
    Figure("new process until the first ids", "startup_encode", "any", "total", "s", short=True),
    Figure("train BPE, 32,000 tokens on 60 MB of lines", "train", "english, 60 MB, each line", "call", "s", short=True),
    Figure(
        "train BPE, 2,000 tokens on lines of 565 KB, new process",
        "startup_train",
        "each line",
        "total",
        "s",
        short=True,
    ),
    Figure('train WordPiece with `score="count"`, 30,522 tokens on 60 MB', "train_wordpiece", "count", "call", "s"),
    Figure("train Unigram, 32,000 pieces on 60 MB", "train_unigram", "", "call", "s"),
)
SCALE = {"s": 1.0, "ms": 1e3, "µs": 1e6}


def figures(records: dict[str, Record], *, short: bool = False) -> list[list[str]]:
    """Return the cells of all rows, or of those in the table; rows that were not measured are left out."""
    chosen = [figure for figure in ROWS if figure.record in records and (figure.short or not short)]
    return [cells for figure in chosen for cells in _cells(figure, records[figure.record])]


def front_page(text: str, records: dict[str, Record]) -> str:
    """Return the README with the table of today's records."""
    rows = figures(records, short=True)
    body = table(["task", "subwords", "fastest other library", "times as fast"], rows)
    found = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if len(found.findall(text)) != 1:
        raise ValueError(f"expected {BEGIN.strip()} and {END.strip()} once in the README")
    return found.sub(lambda _: f"{BEGIN}{body}\n{END}", text)


def _cells(figure: Figure, record: Record) -> list[list[str]]:
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
        return f"{number(1e-6 / median if figure.unit == 'MB/s' else median)} {figure.unit}"

    measured = [row for row in peers if cost(row) is not None]
    best = min(measured, key=lambda row: cost(row).median)  # type: ignore[union-attr]
    ratio = versus(cost)(own, peers)
    loses = float(ratio.removeprefix("≈ ").removesuffix("×").replace(",", "")) < 1
    return [[figure.task, shown(own), f"{shown(best)}, {engine_label(best)}", f"**{ratio}**" if loses else ratio]]
