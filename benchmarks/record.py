"""Dated records of what was measured, and the tables they put into BENCHMARKS.md."""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
from pathlib import Path
from typing import Any

__all__ = ["caption", "machine", "save", "slug", "splice"]


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


def save(folder: Path, date: datetime.date, command: str, results: list[dict[str, Any]]) -> Path:
    """Write results into the day's record of this machine, beside those of other definitions, and return its path."""
    about = machine()
    path = folder / f"{date.isoformat()}-{slug(about['cpu'])}.json"
    record: dict[str, Any] = json.loads(path.read_bytes()) if path.exists() else {"definitions": {}}
    record |= {"date": date.isoformat(), "machine": about}
    for result in results:
        record["definitions"][result["name"]] = {"command": command, **result}
    folder.mkdir(exist_ok=True)
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return path


def caption(result: dict[str, Any], date: datetime.date, command: str) -> str:
    """Return the line below a table: when, where, what versions, and the command that makes it."""
    about = machine()
    seen: dict[str, set[str]] = {}
    for versions in result["versions"].values():
        for package, version in versions.items():
            seen.setdefault(package, set()).add(version)
    versions = ", ".join(f"{package} {' and '.join(sorted(seen[package]))}" for package in sorted(seen))
    where = f"{about['cpu']}, {about['processors']} processors, {about['system']}"
    return f"{date.isoformat()}, {where}; {versions}; at most {result['rounds']} rounds.\n\n`{command}`"


def splice(text: str, name: str, body: str) -> str:
    """Return a text in which what stands between the markers of `name` is replaced by `body`.

    ValueError unless each marker is there once, in order. No space or line is added by repeating it.

    >>> splice("<!-- begin: a -->old<!-- end: a -->", "a", "new")
    '<!-- begin: a -->\\n\\nnew\\n\\n<!-- end: a -->'
    """
    begin, end = f"<!-- begin: {name} -->", f"<!-- end: {name} -->"
    for marker in (begin, end):
        if text.count(marker) != 1:
            raise ValueError(f"expected {marker} once, found {text.count(marker)} times")
    before, rest = text.split(begin)
    if end not in rest:
        raise ValueError(f"expected {begin} before {end}")
    return f"{before}{begin}\n\n{body.strip()}\n\n{end}{rest.split(end)[1]}"


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
