"""Which tokenizer files each engine reads, and whether its ids are those of the library that the file is made for."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.definition import Case, Definition
from benchmarks.inputs import Inputs, MissingDataError
from benchmarks.process import Launcher, log
from benchmarks.summary import SHOWN, summary_of
from benchmarks.tables import table

__all__ = ["coverage_case", "coverage_report", "coverage_table"]

Result = dict[str, Any]
Row = dict[str, Any]
KINDS = ("real", "hard")  # texts of corpora, and texts that were made to be hard
RESULTS = ("match", "differ", "refused")
COUNTS = SHOWN["coverage"]
MOST_NAMED = 6  # texts that a row names
TYPED_IS_TEXT = ("sentencepiece", "tiktoken")  # owners to whom a typed special token is text


def coverage_case(
    definition: Definition, case: Case, inputs: Inputs, launcher: Launcher, prepared: dict[str, Result]
) -> Result:
    """Ask the owner of one file, then every engine, for the ids of all texts, and count where they are equal."""
    file, texts = inputs.tokenizer(case.name), _texts(definition, case, inputs)
    folder = inputs.work / definition.name
    folder.mkdir(exist_ok=True)
    job = {**definition.parameters, "tokenizer": str(file), "texts": {name: str(path) for name, path in texts.items()}}
    asked: dict[str, Result] = {}

    def ask(name: str, *, special: bool = True) -> Result:
        if name not in asked:
            log(f"{definition.name}: {case.name}, {name}")
            asked[name] = _asked(launcher, name, {**job, "special": special}, folder / "ids.txt", definition.timeout)
        return asked[name]

    owner = next((name for name in definition.oracle if ask(name)["ids"]), None)
    if owner is None:
        raise ValueError(f"expected one of {', '.join(definition.oracle)} to read {case.name}")
    rows = []
    for use in definition.engines:
        row = {**asdict(use), "bytes": file.stat().st_size, "whole": True, "runs": [], "verified": "no"}
        if prepared[use.name]["status"] != "ok":
            rows.append(row | {"status": prepared[use.name]["status"]})
            continue
        # A typed special token is a token to one owner and text to the others; all are asked for what the owner does.
        found = ask(use.name, special=owner not in TYPED_IS_TEXT)
        judged = _judged(found["ids"], asked[owner]["ids"], owner) if found["ids"] else {}
        rows.append(row | {"status": found["status"], **judged})
    return {"name": case.name, "parameters": case.parameters, "engines": rows}


def _texts(definition: Definition, case: Case, inputs: Inputs) -> dict[str, Path]:
    """The texts by name, as "real/zh": at most so many bytes of each corpus of the case, and of each hard file."""
    found = {f"real/{name}": inputs.file(name, case.bytes) for name in case.corpus.split("+")}
    if hard := definition.parameters.get("hard"):
        paths = sorted((inputs.data / hard).glob("*.txt"))
        if not paths:
            raise MissingDataError(f"no texts in {hard} of the data folder (--data)")
        limit = definition.parameters["hard_bytes"]
        found |= {f"hard/{path.stem}": inputs.file(f"{hard}/{path.name}", limit) for path in paths}
    return found


def _asked(launcher: Launcher, engine: str, job: Result, output: Path, timeout: float) -> Result:
    """The digests of all texts by one engine; a text that ends its process has none, and the others go on."""
    ids: dict[str, str] = {}
    texts = dict(job["texts"])
    while texts:
        output.unlink(missing_ok=True)
        rest = {**job, "task": "coverage", "texts": texts, "output": str(output)}
        answer = launcher.run(engine, rest, timeout=timeout)
        lines = output.read_text("utf-8").splitlines() if output.exists() else []
        found = dict(line.split("\t", 1) for line in lines)
        if not lines:  # not even the file was read
            message = answer.get("message", "no reason given")
            return {"status": f"n/a ({answer['status']}: {message})", "ids": {}}
        ids |= {name: digest for name, digest in found.items() if name != "read"}
        texts = {name: path for name, path in texts.items() if name not in ids}
        if answer["status"] != "ok" and texts:
            first = next(iter(texts))
            ids[first] = f"refused: {answer['status']}"
            del texts[first]
    return {"status": "ok", "ids": ids}


def _judged(ids: dict[str, str], wanted: dict[str, str], owner: str) -> Row:
    """The counts of one engine, and the names of the texts whose ids differ."""
    counts = dict.fromkeys(COUNTS, 0)
    differ = []
    for name, digest in wanted.items():
        if digest.startswith("refused"):
            continue  # the owner has no ids to compare with
        result = "refused" if ids[name].startswith("refused") else "match" if ids[name] == digest else "differ"
        counts[f"{result}_{name.partition('/')[0]}"] += 1
        if result != "match":
            differ.append(f"{name.partition('/')[2]}{' (refused)' if result == 'refused' else ''}")
    more = f" and {len(differ) - MOST_NAMED} more" if len(differ) > MOST_NAMED else ""
    verified = f"not {owner}'s: {', '.join(differ[:MOST_NAMED])}{more}" if differ else f"all as {owner}"
    return {"runs": [{"counts": counts, "seconds": {}}], "verified": verified}


def coverage_table(record: Result) -> str:
    """Return a row for each engine: files read, and the texts whose ids match, differ or are refused."""
    files = len(record["cases"])
    rows = []
    for name in [row["name"] for row in record["cases"][0]["engines"]]:
        found = [row for case in record["cases"] for row in case["engines"] if row["name"] == name]
        read = [_counts(row) for row in found if row["status"] == "ok"]
        sums = {one: sum(counts[one] for counts in read) for one in COUNTS}
        right = sum(not any(counts[f"{result}_real"] for result in RESULTS[1:]) for counts in read)
        shown = [" / ".join(f"{sums[f'{result}_{kind}']:,}" for result in RESULTS) for kind in KINDS]
        rows.append([name, str(len(read)), str(right), *shown])
    columns = ["read", "all real texts right", "real: match / differ / refused", "hard: match / differ / refused"]
    return table([f"of {files} files", *columns], rows)


def coverage_report(record: Result) -> str:
    """Return a table of files and engines: texts with the right ids of all real ones, then of all hard ones."""
    engines = [row["name"] for row in record["cases"][0]["engines"]]
    rows, lines = [], []
    for case in record["cases"]:
        found = {row["name"]: row for row in case["engines"]}
        rows.append([case["name"], *(_cell(found[name]) for name in engines)])
        lines += [
            f"- {case['name']}, {name}: {_reason(row)}"
            for name, row in found.items()
            if row["status"] != "ok" or row["verified"].startswith("not ")
        ]
    return "\n\n".join([table(["file", *engines], rows), *(["\n".join(lines)] if lines else [])])


def _cell(row: Row) -> str:
    if row["status"] != "ok":
        return "–"
    counts = _counts(row)
    sums = {kind: sum(counts[f"{result}_{kind}"] for result in RESULTS) for kind in KINDS}
    return " + ".join(f"{counts[f'match_{kind}']} of {texts}" for kind, texts in sums.items() if texts)


def _reason(row: Row) -> str:
    """What the engine got wrong, or its own message, as code: it may have signs of Markdown."""
    if row["status"] == "ok":
        return str(row["verified"])
    message = str(row["status"]).replace("`", "'")
    return f"`{message}`"


def _counts(row: Row) -> dict[str, int]:
    found = {name: summary_of(row, "coverage", name) for name in COUNTS}
    return {name: int(count.median) for name, count in found.items() if count}
