"""BENCHMARKS.md and results/*.md, made from the records: the page shows what one reads, results everything recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.adversarial import adversarial_summary
from benchmarks.inputs import ROOT
from benchmarks.record import caption, latest, versions_of
from benchmarks.report import engine_label, notes, per_byte, rate, report, seconds, versus
from benchmarks.tables import number, spread, table

__all__ = ["PAGE", "RECORDS", "RESULTS", "TEMPLATE", "pages", "write_pages"]

Record = dict[str, Any]
Row = dict[str, Any]

PAGE = ROOT / "BENCHMARKS.md"
RECORDS = ROOT / "benchmarks" / "records"
RESULTS = ROOT / "benchmarks" / "results"
TEMPLATE = ROOT / "benchmarks" / "page.md"
PASSES = (("first pass", "cold"), ("new object", "fresh"), ("later passes", "warm"))


def pages(records: dict[str, Record]) -> dict[Path, str]:
    """Return the text of every page that the records make."""
    text = TEMPLATE.read_text("utf-8")
    for name, make in _TABLES.items():
        marker = f"<!-- table: {name} -->"
        if text.count(marker) != 1:
            raise ValueError(f"expected {marker} once in {TEMPLATE.name}, found {text.count(marker)} times")
        text = text.replace(marker, make(records))
    made = {PAGE: text}
    for name, record in records.items():
        head = "<!-- Made from the records by `python -m benchmarks page`. -->"
        made[RESULTS / f"{name}.md"] = f"{head}\n\n{report(record)}\n\n{caption(record)}\n"
    return made


def write_pages() -> None:
    """Write every page again."""
    RESULTS.mkdir(exist_ok=True)
    for path, text in pages(latest(RECORDS)).items():
        path.write_text(text, "utf-8")


def _train(records: Record) -> str:
    titles = {
        "train": "BPE, 32,000 tokens, 60 MB",
        "train_3x": "BPE, 32,000 tokens, 180 MB",
        "train_wordpiece": "WordPiece by {}, 30,522 tokens, 60 MB",
        "train_unigram": "Unigram, 32,000 pieces, 60 MB",
    }
    call, process = seconds("train", "call"), seconds("train", "process")
    rows = []
    for name, title in titles.items():
        for case, peer, row, first in _rows(records[name]):
            cells = [spread(function(row)) for function in (call, process, seconds("train", "peak_mb"))]
            times = [versus(call)(row, peer), versus(process)(row, peer)]
            shown = [*cells[:2], *times, cells[2], row["verified"]] if row["status"] == "ok" else _failed(row, 6)
            rows.append([title.format(case) if first else "", engine_label(row), *shown])
    columns = ["call, s", "whole process, s", "call, times the peer", "process, times the peer", "peak, MB", "result"]
    return _with_notes(table(["task", "engine", *columns], rows), [records[name] for name in titles])


def _encode(records: Record) -> str:
    rows = []
    for case, peer, row, first in _rows(records["encode"]):
        cells = [spread(seconds("encode", "load")(row))]
        for _, name in PASSES:
            cost = per_byte("encode", name)
            cells.append(
                f"{spread(rate(cost(row)))}, {versus(cost)(row, peer)}" if row is not peer else _rate(row, cost)
            )
        cells += [spread(seconds("encode", "peak_mb")(row)), row["verified"]]
        rows.append([case if first else "", engine_label(row), *(cells if row["status"] == "ok" else _failed(row, 6))])
    columns = ["load, s", *(f"{title}, MB/s" for title, _ in PASSES), "peak, MB", "ids"]
    return _with_notes(table(["input", "engine", *columns], rows), [records["encode"]])


def _rate(row: Row, cost: Callable[[Row], Any]) -> str:
    return spread(rate(cost(row)))


def _scripts(records: Record) -> str:
    record = records["encode_scripts"]
    found = {case: (peer, row) for case, peer, row, first in _rows(record) if first}
    models = [*dict.fromkeys(case.partition(", ")[0] for case in found)]
    rows = [
        [script, *(_against(*found[f"{model}, {script}"], name) for model in models for _, name in PASSES)]
        for script in dict.fromkeys(case.partition(", ")[2] for case in found)
    ]
    columns = [f"{model}, {title.split()[0]}" for model in models for title, _ in PASSES]
    return _with_notes(table(["script", *columns], rows), [record])


def _files(records: Record) -> str:
    rows = []
    for name in ("encode_sentencepiece", "encode_bert"):
        record = records[name]
        for case, peer, row, first in _rows(record):
            if first:
                theirs = [_rate(peer, per_byte("encode", key)) for key in ("cold", "warm")] if peer else ["n/a"] * 2
                cells = [spread(seconds("encode", "load")(row)), *(_against(peer, row, key) for _, key in PASSES)]
                shown = f"BERT, {case}" if name == "encode_bert" else case
                rows.append([shown, record["peer"], *cells, *theirs, row["verified"]])
    columns = ["load, s", *(f"{title}, MB/s" for title, _ in PASSES), "peer, first", "peer, later", "ids"]
    return table(["model and text", "peer", *columns], rows)


def _split(records: Record) -> str:
    record = records["split"]
    found: dict[str, dict[str, tuple[Row | None, Row]]] = {}
    for case, peer, row, first in _rows(record):
        if first:
            rule, text = case.split(", ", 1)
            found.setdefault(text, {})[rule] = peer, row
    rules = [*dict.fromkeys(rule for cases in found.values() for rule in cases)]
    rows = [
        [f"{text}, {title}", *(_against(*cases[rule], name, "split") if rule in cases else "" for rule in rules)]
        for title, name in (("first pass", "cold"), ("later passes", "warm"))
        for text, cases in found.items()
    ]
    return _with_notes(table(["MB/s", *(rule.replace(" (invented)", "\u00b9") for rule in rules)], rows), [record])


def _short(records: Record) -> str:
    return report(records["short"]).split("\n\n")[1] + "\n\n" + notes(records["short"]).removeprefix("- ")


def _startup(records: Record) -> str:
    titles = {"startup_encode": "encode one text", "startup_train": "train 2,000 tokens on 565 KB"}
    parts = ("interpreter", "import", "load", "call", "total")
    rows = []
    for name, title in titles.items():
        for case, peer, row, first in _rows(records[name]):
            cells = [spread(seconds("startup", part)(row)) for part in parts]
            shown = [*cells, versus(seconds("startup", "total"))(row, peer), row["verified"]]
            label = f"{title}, {case}" if first else ""
            rows.append([label, engine_label(row), *(shown if row["status"] == "ok" else _failed(row, 7))])
    columns = ["interpreter, s", "import, s", "load, s", "call, s", "in all, s", "in all, times the peer", "result"]
    return _with_notes(table(["until", "engine", *columns], rows), [records[name] for name in titles])


def _adversarial(records: Record) -> str:
    return adversarial_summary(records["adversarial"])


def _provenance(records: Record) -> str:
    """When and where every table was measured, and with what."""
    found = [*records.values()]
    dates = " and ".join(sorted({record["date"] for record in found}))
    machines = {
        f"{one['cpu']}, {one['processors']} processors, {one['system']}" for one in (r["machine"] for r in found)
    }
    return f"{dates}; {' and '.join(sorted(machines))}; {versions_of(found)}."


_TABLES: dict[str, Callable[[dict[str, Record]], str]] = {
    "train": _train,
    "encode": _encode,
    "encode_scripts": _scripts,
    "files": _files,
    "split": _split,
    "short": _short,
    "startup": _startup,
    "adversarial": _adversarial,
    "provenance": _provenance,
}


def _rows(record: Record) -> list[tuple[str, Row | None, Row, bool]]:
    """The rows of a record: the case's name, the peer's row, the row, and whether it is the case's first."""
    found = []
    for case in record["cases"]:
        peer = next((row for row in case["engines"] if row["name"] == record["peer"] and "values" in row), None)
        found += [(case["name"], peer, row, place == 0) for place, row in enumerate(case["engines"])]
    return found


def _against(peer: Row | None, row: Row, name: str, task: str = "encode") -> str:
    """A rate in MB/s and how many times that of the peer it is."""
    if row["status"] != "ok":
        return str(row["status"])
    cost = per_byte(task, name)
    found = rate(cost(row))
    return "–" if found is None else f"{number(found.median)} ({versus(cost)(row, peer)})"


def _failed(row: Row, cells: int) -> list[str]:
    return [*["n/a"] * (cells - 1), str(row["status"])]


def _with_notes(body: str, results: Sequence[Record]) -> str:
    """A table and one paragraph of the notes below it."""
    lines = dict.fromkeys(line.removeprefix("- ") for result in results for line in notes(result).splitlines())
    return "\n\n".join([body, f"Notes: {'; '.join(lines)}."] if lines else [body])
