"""Exported tokenizers in node beside libraries of JavaScript: whose ids are exact, how fast, how soon, how large."""

from __future__ import annotations

import json
import random
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.definition import Case, Definition
from benchmarks.engines.protocol import strings_of
from benchmarks.inputs import Inputs
from benchmarks.process import Launcher, log

__all__ = ["export", "web_case"]

Result = dict[str, Any]
Row = dict[str, Any]
LENGTHS = (15, 200)  # characters of the shortest and the longest chunk
LINES, LINE = 10_000, 100  # lines, and characters of each
MOST_TOLD = 3  # texts that a row names


def web_case(
    definition: Definition, case: Case, inputs: Inputs, launcher: Launcher, prepared: dict[str, Result], *, rounds: int
) -> Result:
    """Compare all ids with those of the oracle, once; then time the libraries in turn, each in a new process."""
    folder = inputs.work / f"{definition.name}-{case.name}"
    folder.mkdir(exist_ok=True)
    job = _job({**definition.parameters, **case.parameters}, case, inputs, folder)
    oracle, wanted = _oracle(definition, job, launcher)
    rows: list[Row] = []
    for use in definition.engines:
        own = folder / use.name.replace("/", "-")
        own.mkdir(exist_ok=True)
        jobs = {**job, "node": True, "folder": str(own), "output": str(own / "ids.json")}
        row = {**asdict(use), "bytes": 0, "whole": True, "runs": [], "verified": "no", "job": jobs}
        rows.append(row | {"status": prepared[use.name]["status"]})
        if rows[-1]["status"] == "ok" and use.name == "subwords":
            rows[-1]["status"] = export(Path(job["tokenizer"]), own)
        if rows[-1]["status"] == "ok":
            log(f"{definition.name}: {case.name}, ids of {use.name}")
            answer = launcher.run(use.name, {**jobs, "task": "ids"}, timeout=definition.timeout)
            rows[-1] |= _judged(answer, Path(jobs["output"]), wanted, oracle, [*job["texts"]][:-1])
    for number in range(rounds):
        for row in rows:
            if row["status"] == "ok" and number < (row["rounds"] or rounds):
                log(f"{definition.name}: {case.name}, round {number + 1} of {rounds}, {row['name']}")
                answer = launcher.run(row["name"], {**row["job"], "task": "times"}, timeout=definition.timeout)
                row["status"] = _status(answer)
                if row["status"] == "ok":
                    row["runs"].append({"seconds": {}, "counts": {**_costs(answer, job["texts"]), **row["counts"]}})
    for row in rows:
        row["runs"] = row["runs"] if row["status"] == "ok" else []
    return {"name": case.name, "parameters": case.parameters, "engines": rows}


def export(tokenizer: Path, folder: Path) -> str:
    """Export a tokenizer for JavaScript, and return the status of what was made: it needs a wheel, or compilers."""
    import subwords

    try:
        subwords.files.export(tokenizer, folder)
    except subwords.SubwordsError as error:
        return "not installed" if "no WebAssembly module" in str(error) else f"n/a (refused: {error})"
    return "ok"


def _job(parameters: Result, case: Case, inputs: Inputs, folder: Path) -> Result:
    """What every job says: the tokenizer, the texts and lines to time, and the strings whose ids are compared."""
    whole = {name: _text(inputs.file(corpus, case.bytes)) for name, corpus in parameters["texts"].items()}
    texts = {name: folder / f"{name}.txt" for name in whole}
    for name, path in texts.items():
        path.write_bytes(whole[name].encode())
    chunks = _chunks([inputs.file(name, case.bytes) for name in case.corpus.split("+")], parameters["chunks"])
    after = _text(inputs.file(parameters["texts"]["english"]))[-2 * LINES * LINE :]
    made = {
        "lines": strings_of(after, min(LINES, len(after) // (2 * LINE)), LINE),
        "strings": [*whole.values(), *chunks],
    }
    paths = {name: folder / f"{name}.json" for name in made}
    for name, strings in made.items():
        paths[name].write_text(json.dumps(strings), "utf-8")
    return {
        "threads": 1,
        "enough": parameters["enough"],
        "vocabulary": parameters["tokenizer"],
        "tokenizer": str(inputs.tokenizer(parameters["tokenizer"])),
        "texts": {name: str(path) for name, path in {**texts, "lines": paths["lines"]}.items()},
        "strings": str(paths["strings"]),
        "output": str(folder / "wanted.json"),
    }


def _text(file: Path) -> str:
    """A text that spells no special token: the fastest calls differ in what they make of one."""
    return file.read_bytes().decode().replace("<|", "< |")


def _chunks(files: list[Path], count: int) -> list[str]:
    """So many pieces of texts, as many of each, from places spread evenly, of lengths by chance."""
    draw, found = random.Random(55), []
    for file in files:
        pieces = strings_of(_text(file), count // len(files), LENGTHS[1])
        found += [piece[: draw.randint(*LENGTHS)] for piece in pieces]
    return found


def _oracle(definition: Definition, job: Result, launcher: Launcher) -> tuple[str, list[str]]:
    """The first oracle that reads the tokenizer, in Python, and the digests of its ids."""
    for name in definition.oracle:
        log(f"{definition.name}: asking {name}")
        if launcher.run(name, {**job, "task": "ids"}, timeout=definition.timeout)["status"] == "ok":
            return name, json.loads(Path(job["output"]).read_bytes())
    raise ValueError(f"expected one of {', '.join(definition.oracle)} to read {job['vocabulary']}")


def _judged(answer: Result, output: Path, wanted: list[str], oracle: str, texts: list[str]) -> Row:
    """The status of a library, and in how many chunks and in which whole texts it has the ids of the oracle."""
    if answer["status"] != "ok":
        return {"status": _status(answer)}
    same = [found == ref for found, ref in zip(json.loads(output.read_bytes()), wanted, strict=True)]
    exact, chunks = sum(same[len(texts) :]), len(same) - len(texts)
    differ = [name for name, equal in zip(texts, same, strict=False) if not equal]
    verified = f"all as {oracle}"
    if not all(same):
        others = ", ".join([f"{chunks - exact:,} of {chunks:,} chunks", *differ[:MOST_TOLD]])
        verified = f"other ids than {oracle}: {others}"
    counts = {"exact": exact} | ({"kb": answer["bytes"] / 1e3} if answer["bytes"] else {})
    return {"status": "ok", "verified": verified, "compare": all(same), "counts": counts}


def _costs(answer: Result, texts: dict[str, str]) -> dict[str, float]:
    """Seconds a byte of each text and seconds of all lines: first pass of a new object, and median of its later ones.

    "cold" is the very first pass of the process: engines of JavaScript compile meanwhile.
    """
    found = {"ready": answer["ready"]}
    for name, (cold, first, *again) in answer["passes"].items():
        size = 1 if name == "lines" else Path(texts[name]).stat().st_size
        found |= {name: first / size, f"{name}_again": median(again) / size}
        found |= {"cold": cold / size} if name == "english" else {}
    return found


def _status(answer: Result) -> str:
    if answer["status"] in ("ok", "not installed", "no such call"):
        return str(answer["status"])
    return f"n/a ({answer['status']}: {answer.get('message', 'no reason given')})"
