"""BENCHMARKS.md and results/*.md, made from the records: the page shows what one reads, results everything recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.adversarial import adversarial_summary
from benchmarks.chat import chat_brief
from benchmarks.coverage import coverage_table
from benchmarks.definition import read_folder
from benchmarks.front import figures, front_page
from benchmarks.growing import growing_table, limits_table
from benchmarks.inputs import ROOT
from benchmarks.picture import picture
from benchmarks.record import caption, latest, versions_of
from benchmarks.report import engine_label, notes, peers_of, per_byte, rate, report, seconds, versus
from benchmarks.requests import lengths_table, options_table, requests_table
from benchmarks.summary import SHOWN
from benchmarks.tables import number, spread, table
from benchmarks.wide import (
    brief_table,
    calls_table,
    encode_table,
    memory_table,
    starts_table,
    startup_table,
    web_table,
)

__all__ = ["PAGE", "PICTURES", "README", "RECORDS", "RESULTS", "TABLES", "TEMPLATE", "measured", "pages", "write_pages"]

Record = dict[str, Any]
Row = dict[str, Any]

PAGE = ROOT / "BENCHMARKS.md"
README = ROOT / "README.md"
PICTURES = tuple(ROOT / "docs" / "pictures" / f"{name}.svg" for name in ("speed", "fresh", "calls", "train"))
RECORDS = ROOT / "benchmarks" / "records"
RESULTS = ROOT / "benchmarks" / "results"
TEMPLATE = ROOT / "benchmarks" / "page.md"
DEFINITIONS = ROOT / "benchmarks" / "definitions"
SPECIAL = ("calls_special",)
CALLS = ("calls", "calls_batch", "calls_load", "calls_cold")
REQUESTS = ("requests", "requests_lists")
PASSES = (("fresh", "fresh"), ("remembered", "warm"))
TRAINED = {
    "train": "BPE, 32,000 tokens, {}",
    "train_languages": "BPE, 32,000 tokens, {}",
    "train_wordpiece": "WordPiece by {}, 30,522 tokens, 60 MB",
    "train_unigram": "Unigram, 32,000 pieces, 60 MB",
}
FAMILIES = {"encode_gpt2": "GPT-2", "encode_cl100k": "cl100k", "encode_o200k": "o200k"}


def pages(records: dict[str, Record]) -> dict[Path, str]:
    """Return the text of every page that the records make; a table whose record is missing says so."""
    text = TEMPLATE.read_text("utf-8")
    for name, (make, needed) in TABLES.items():
        marker = f"<!-- table: {name} -->"
        if text.count(marker) != 1:
            raise ValueError(f"expected {marker} once in {TEMPLATE.name}, found {text.count(marker)} times")
        parts = [make(records)] if not needed or any(one in records for one in needed) else []
        if missing := [one for one in needed if one not in records]:
            parts.append(f"Not measured since this table was defined: {', '.join(missing)}.")
        text = text.replace(marker, "\n\n".join(parts))
    made = {README: front_page(README.read_text("utf-8"), records)}
    for path, rows in zip(PICTURES, (figures(records), *_charts(records)), strict=True):
        if rows:
            made[path] = picture(rows)
        shown = f"![Times as fast as the fastest other library](docs/pictures/{path.name})" if rows else ""
        text = text.replace(f"<!-- chart: {path.stem} -->", shown)
    made[PAGE] = text
    for name, record in records.items():
        head = "<!-- Made from the records by `python -m benchmarks page`. -->"
        made[RESULTS / f"{name}.md"] = f"{head}\n\n{report(record)}\n\n{caption(record)}\n"
    return made


def measured() -> dict[str, Record]:
    """Return the latest record of each definition that has the columns of today's tables."""
    names = {definition.name for definition in read_folder(DEFINITIONS)}
    found = latest(RECORDS)
    return {name: one for name, one in found.items() if name in names and one["shown"] == [*SHOWN.get(one["task"], ())]}


def write_pages() -> None:
    """Write every page again."""
    for path, text in pages(measured()).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def _charts(records: Record) -> list[list[list[str]]]:
    """The rows of the pictures of the page: encoding a text never seen, calls again, training."""
    fresh, again, train = per_byte("encode", "fresh"), seconds("calls", "again"), seconds("train", "call")
    titles = {name: f"{title}, {{}}" for name, title in FAMILIES.items()}
    return [
        [row for name in _known(titles, records) for row in _bars(records[name], titles[name], fresh)],
        [row for name in _known((*CALLS, *SPECIAL), records) for row in _bars(records[name], "{}", again)],
        [row for name in _known(TRAINED, records) for row in _bars(records[name], TRAINED[name], train)],
    ]


def _bars(record: Record, title: str, cost: Callable[[Row], Any]) -> list[list[str]]:
    """A row of a picture for each case that has a ratio: the task, and the ratio."""
    rows = []
    for case, peers, row, first in _rows(record):
        if first and row["status"] == "ok" and cost(row) and any(cost(peer) for peer in peers):
            task = (
                title.format(case) if title != "{}" else case.rpartition(", ")[0]
            )  # the name of a call ends in its unit
            rows.append([task, versus(cost)(row, peers)])
    return rows


def _train(records: Record) -> str:
    call, process = seconds("train", "call"), seconds("train", "process")
    rows = []
    for name in _known(TRAINED, records):
        title = TRAINED[name]
        for case, peers, row, first in _rows(records[name]):
            cells = [spread(function(row)) for function in (call, process, seconds("train", "peak_mb"))]
            times = [versus(call)(row, peers), versus(process)(row, peers)]
            shown = [*cells[:2], *times, cells[2], row["verified"]] if row["status"] == "ok" else _failed(row, 6)
            rows.append([title.format(case) if first else "", engine_label(row), *shown])
    columns = ["call, s", "whole process, s", "call, times the peer", "process, times the peer", "peak, MB", "result"]
    return _with_notes(table(["task", "engine", *columns], rows), [records[name] for name in _known(TRAINED, records)])


def _fresh(records: Record) -> str:
    return encode_table(records["encode_gpt2"])


def _fresh_others(records: Record) -> str:
    names = _known([*FAMILIES][1:], records)
    return brief_table([records[name] for name in names], [FAMILIES[name] for name in names])


def _memory(records: Record) -> str:
    names = _known(FAMILIES, records)
    return memory_table([records[name] for name in names], [FAMILIES[name] for name in names], "english, 60 MB")


def _models(records: Record) -> str:
    rows = []
    for name in _known(("encode_sentencepiece", "encode_bert"), records):
        record = records[name]
        for case, peers, row, first in _rows(record):
            if first:
                costs = [per_byte("encode", key) for _, key in PASSES]
                best = min(peers, key=lambda row: costs[0](row).median, default=None)  # type: ignore[union-attr]
                peer = "–" if best is None else engine_label(best)
                theirs = [_rate(best, cost) if best else "n/a" for cost in costs]
                cells = [_against(peers, row, key) for _, key in PASSES]
                shown = f"BERT, {case}" if name == "encode_bert" else case
                rows.append([shown, peer, *cells, *theirs, row["verified"]])
    columns = [f"{title}, MB/s" for title, _ in PASSES] + [f"peer, {title}" for title, _ in PASSES]
    return table(["model and text", "peer", *columns, "ids"], rows)


def _rate(row: Row, cost: Callable[[Row], Any]) -> str:
    return spread(rate(cost(row)))


def _calls(records: Record) -> str:
    return calls_table([records[name] for name in _known(CALLS, records)])


def _special(records: Record) -> str:
    return calls_table([records[name] for name in _known(SPECIAL, records)])


def _split(records: Record) -> str:
    record = records["split"]
    found: dict[str, dict[str, tuple[list[Row], Row]]] = {}
    for case, peers, row, first in _rows(record):
        if first:
            rule, text = case.split(", ", 1)
            found.setdefault(text, {})[rule] = peers, row
    rules = [*dict.fromkeys(rule for cases in found.values() for rule in cases)]
    tables = []
    for kind in (False, True):
        some = [rule for rule in rules if ("(invented)" in rule) == kind]
        rows = [
            [text, *(_against(*cases[rule], "warm", "split") if rule in cases else "" for rule in some)]
            for text, cases in found.items()
            if cases.keys() & {*some}
        ]
        tables.append(table(["MB/s", *(rule.replace(" (invented)", "\u00b9") for rule in some)], rows))
    return _with_notes("\n\n".join(tables), [record])


def _startup(records: Record) -> str:
    titles = {"startup_encode": "encode one text", "startup_train": "train 2,000 tokens on 565 KB"}
    names = _known(titles, records)
    found = startup_table([records[name] for name in names], [titles[name] for name in names])
    return f"{found}\n\n{starts_table(records['startup_files'])}" if "startup_files" in records else found


def _adversarial(records: Record) -> str:
    return adversarial_summary(records["adversarial"])


def _chat(records: Record) -> str:
    found = [records[name] for name in _known(("chat_templates", "chat"), records)]
    return _with_notes(chat_brief(found), found)


def _provenance(records: Record) -> str:
    """When and where every table was measured, and with what."""
    found = [*records.values()]
    dates = ", ".join(sorted({record["date"] for record in found}))
    machines = {
        f"{one['cpu']}, {one['processors']} processors, {one['system']}" for one in (r["machine"] for r in found)
    }
    return f"{dates}; {' and '.join(sorted(machines))}; {versions_of(found)}."


# What makes a table, and the records it is made of.
TABLES: dict[str, tuple[Callable[[dict[str, Record]], str], tuple[str, ...]]] = {
    "fresh": (_fresh, ("encode_gpt2",)),
    "fresh_others": (_fresh_others, ("encode_cl100k", "encode_o200k")),
    "memory": (_memory, tuple(FAMILIES)),
    "models": (_models, ("encode_sentencepiece", "encode_bert")),
    "calls": (_calls, CALLS),
    "special": (_special, SPECIAL),
    "train": (_train, ("train", "train_languages", "train_wordpiece", "train_unigram")),
    "split": (_split, ("split",)),
    "startup": (_startup, ("startup_encode", "startup_files", "startup_train")),
    "chat": (_chat, ("chat_templates", "chat")),
    "adversarial": (_adversarial, ("adversarial",)),
    "growing": (lambda records: growing_table(records["growing"]), ("growing",)),
    "limits": (lambda records: limits_table(records["limits"]), ("limits",)),
    "requests": (lambda records: requests_table([records.get(name, {"cases": []}) for name in REQUESTS]), REQUESTS),
    "requests_lengths": (lambda records: lengths_table(records["requests_lengths"]), ("requests_lengths",)),
    "requests_options": (lambda records: options_table(records["requests_options"]), ("requests_options",)),
    "coverage": (lambda records: coverage_table(records["coverage"]), ("coverage",)),
    "web": (lambda records: web_table(records["web"]), ("web",)),
    "provenance": (_provenance, ()),
}


def _known(names: Iterable[str], records: Record) -> list[str]:
    return [name for name in names if name in records]


def _rows(record: Record) -> list[tuple[str, list[Row], Row, bool]]:
    """The rows of a record: the case's name, the peers' rows, the row, and whether it is the case's first."""
    found = []
    for case in record["cases"]:
        peers = peers_of(record, case)
        found += [(case["name"], peers, row, place == 0) for place, row in enumerate(case["engines"])]
    return found


def _against(peers: Sequence[Row], row: Row, name: str, task: str = "encode") -> str:
    """A rate in MB/s and how many times that of the peer it is."""
    if row["status"] != "ok":
        return str(row["status"])
    cost = per_byte(task, name)
    found = rate(cost(row))
    return "–" if found is None else f"{number(found.median)} ({versus(cost)(row, peers)})"


def _failed(row: Row, cells: int) -> list[str]:
    return [*["n/a"] * (cells - 1), str(row["status"])]


def _with_notes(body: str, results: Sequence[Record]) -> str:
    """A table and one paragraph of the notes below it."""
    lines = dict.fromkeys(line.removeprefix("- ") for result in results for line in notes(result).splitlines())
    return "\n\n".join([body, f"Notes: {'; '.join(lines)}."] if lines else [body])
