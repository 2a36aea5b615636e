"""Dated records of what was measured: one small file for each definition, in a folder for a day and a processor."""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.summary import USUAL

__all__ = ["caption", "latest", "machine", "save", "slug", "versions_of"]

Record = dict[str, Any]

_ROW = ("name", "bytes", "n", "verified", "values")  # what every row has, in the order of a record


def machine() -> dict[str, Any]:
    """Return what a reader must know of the machine: processor, number of processors, system. No name, no user."""
    return {
        "cpu": _cpu(),
        "processors": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def slug(text: str) -> str:
    """Return a text as part of a file name.

    >>> slug("Intel(R) Xeon(R) @ 2.80GHz")
    'intel-r-xeon-r-2-80ghz'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "unknown"


def save(folder: Path, date: datetime.date, command: str, result: Record) -> Path:
    """Write a summarized result into the day's folder of this machine and return its path."""
    about = machine()
    path = folder / f"{date.isoformat()}-{slug(about['cpu'])}" / f"{result['name']}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(written({"date": date.isoformat(), "machine": about, "command": command, **result}), "utf-8")
    return path


def written(record: Record) -> str:
    """Return the JSON of a record, a line for each row: [engine, bytes, rounds, verified, values, what is unusual]."""
    about = [f"{_json(key)}: {_json(value)}" for key, value in record.items() if key != "cases"]
    cases = [
        f"{_json(case['name'])}: [\n{_lines(_json(_packed(row)) for row in case['engines'])}\n]"
        for case in record["cases"]
    ]
    return f'{{\n{_lines(about)},\n"cases": {{\n{_lines(cases)}\n}}}}\n'


def latest(folder: Path) -> dict[str, Record]:
    """Return the latest result of each definition, as `report` takes it."""
    found = {}
    for path in sorted(folder.glob("*/*.json")):
        record = json.loads(path.read_bytes())
        record["cases"] = [{"name": case, "engines": [*map(_unpacked, rows)]} for case, rows in record["cases"].items()]
        found[record["name"]] = record
    return found


def caption(result: Record) -> str:
    """Return the line below a table: when, where, what versions, and the command that makes it."""
    about, versions = result["machine"], versions_of([result])
    where = f"{about['cpu']}, {about['processors']} processors, {about['system']}"
    return f"{result['date']}, {where}; {versions}; at most {result['rounds']} rounds.\n\n`{result['command']}`"


def versions_of(results: list[Record]) -> str:
    """Return every package that results were measured with, and its versions."""
    seen: dict[str, set[str]] = {}
    for versions in (versions for result in results for versions in result["versions"].values()):
        for package, version in versions.items():
            seen.setdefault(package.replace("_", "-"), set()).add(version)
    return ", ".join(f"{package} {' and '.join(sorted(seen[package]))}" for package in sorted(seen))


def _packed(row: Record) -> list[Any]:
    unusual = {key: row[key] for key in row if key not in _ROW and (key not in USUAL or row[key] != USUAL[key])}
    return [*(row.get(key) for key in _ROW), *([unusual] if unusual else [])]


def _unpacked(packed: list[Any]) -> Record:
    row = {key: value for key, value in zip(_ROW, packed, strict=False) if value is not None}
    return {**USUAL, **row, **(packed[len(_ROW)] if len(packed) > len(_ROW) else {})}


def _lines(parts: Iterable[str]) -> str:
    return ",\n".join(parts)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
