"""Run one definition: the engines in turn, round after round, each in a new process; no time without a right result."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.coverage import coverage_case
from benchmarks.definition import Case, Definition, EngineUse
from benchmarks.engines.chats import END
from benchmarks.inputs import Inputs, MissingDataError
from benchmarks.process import Launcher, log
from benchmarks.verify import difference, model_digest, round_trips, same_pairs, vocabulary_problem
from benchmarks.web import web_case

__all__ = ["run"]

Result = dict[str, Any]


def run(definition: Definition, inputs: Inputs, launcher: Launcher, *, rounds: int | None = None) -> Result:
    """Return all that was measured, as plain data; a definition whose data is absent is {"name", "skipped"}."""
    result: Result = {"name": definition.name, "title": definition.title}
    try:
        cases = inputs.cases(definition)
        node = definition.task == "web"
        prepared = {use.name: launcher.prepare(use.name, node=node) for use in definition.engines}
        if definition.task == "coverage":
            measured = [coverage_case(definition, case, inputs, launcher, prepared) for case in cases]
        elif node:
            prepared |= {f"{name} in Python": launcher.prepare(name) for name in ("subwords", *definition.oracle)}
            count = rounds or definition.rounds
            measured = [web_case(definition, case, inputs, launcher, prepared, rounds=count) for case in cases]
        else:
            runs = (_CaseRun(definition, case, prepared, inputs, launcher) for case in cases)
            measured = [one.result(rounds or definition.rounds) for one in runs]
    except MissingDataError as error:
        return {**result, "skipped": str(error)}
    return {
        **result,
        "task": definition.task,
        "peer": definition.peer,
        "rounds": rounds or definition.rounds,
        "parameters": definition.parameters,
        "versions": {name: answer["versions"] for name, answer in prepared.items() if "versions" in answer},
        "cases": measured,
    }


class _CaseRun:
    """The rounds of one case."""

    def __init__(
        self, definition: Definition, case: Case, prepared: dict[str, Result], inputs: Inputs, launcher: Launcher
    ) -> None:
        self.definition = definition
        self.case = case
        self.inputs = inputs
        self.launcher = launcher
        self.parameters = {**definition.parameters, **case.parameters}
        self.trains = definition.task == "train" or self.parameters.get("what") == "train"
        self.what = "words" if definition.task == "split" else "ids"
        self.uses = [use for use in definition.engines if not case.engines or use.name in case.engines]
        self.files = {use.name: self._file(use) for use in self.uses}
        self.folder = inputs.work / definition.name
        # What an oracle said of a file is kept there, and another case may ask it something else about the same file.
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        self.rows: dict[str, Result] = {}
        for use in self.uses:
            size = self.files[use.name].stat().st_size
            whole = self.files[use.name] == inputs.file(case.corpus, case.bytes)
            row = {**asdict(use), "bytes": size, "whole": whole, "runs": []}
            self.rows[use.name] = row | {"status": _status(prepared[use.name])}
        self.oracles: dict[Path, tuple[str, Path] | None] = {}

    def result(self, rounds: int) -> Result:
        """Run all rounds and return the case as plain data."""
        if self.definition.task == "startup" and not self.parameters.get("empty_cache"):
            for use in self.uses:  # what the first process on a machine leaves is there
                self.launcher.run(use.name, self._job(self.files[use.name], self._output(use.name)), timeout=600)
        for number in range(rounds):
            for use in self.uses:
                row = self.rows[use.name]
                if row["status"] == "ok" and number < (use.rounds or rounds):
                    log(f"{self.definition.name}: {self.case.name}, round {number + 1} of {rounds}, {use.name}")
                    self._once(use, row)
            if number == 0:
                for use in self.uses:
                    self._verify(use, self.rows[use.name])
        for row in self.rows.values():
            if row["status"] != "ok":
                row["runs"] = []  # no time counts without the right result
        return {"name": self.case.name, "parameters": self.case.parameters, "engines": list(self.rows.values())}

    def _once(self, use: EngineUse, row: Result) -> None:
        output = self._output(use.name)
        output.unlink(missing_ok=True)
        answer = self.launcher.run(use.name, self._job(self.files[use.name], output), timeout=self.definition.timeout)
        if answer["status"] == "ok" and self.trains and use.compare:
            answer["digest"] = model_digest(output)
        if answer["status"] != "ok":
            row["status"] = _status(answer)
        elif row["runs"] and answer.get("digest") != row["runs"][0].get("digest"):
            row["status"] = "n/a (another result in a later round)"
        row["runs"].append(answer)

    def _verify(self, use: EngineUse, row: Result) -> None:
        if "sample" in self.parameters and row["status"] == "ok" and self._output(use.name).read_bytes()[:1] == b"{":
            self._verify_by_use(use, row)
            return
        if row["status"] == "ok" and not use.compare and self.definition.task == "chat":
            oracle = self._oracle(self.files[use.name])
            row["verified"] = "not compared" if oracle is None else same_pairs(self._output(use.name), oracle[1], END)
            return
        if row["status"] != "ok" or not use.compare:
            row["verified"] = "not compared" if row["status"] == "ok" else "no"
            return
        file = self.files[use.name]
        oracle = self._oracle(file)
        if oracle is None:
            self._verify_without_oracle(use, row, file)
            return
        name, ref = oracle
        row["verified"] = "is the oracle" if name == use.name else f"same as {name}"
        if name != use.name and (found := difference(self._output(use.name), ref, self.what)):
            row["status"] = f"n/a ({found}; oracle {name})"
            row["verified"] = "no"

    def _verify_without_oracle(self, use: EngineUse, row: Result, file: Path) -> None:
        # Only bytes that are no text may go without an oracle: the oracles take str.
        if self.trains or "tokenizer" not in self.parameters or _is_text(file):
            row["status"], row["verified"] = "n/a (no oracle to compare with)", "no"
        elif round_trips(self._output(use.name), self.inputs.tokenizer(self.parameters["tokenizer"]), file):
            row["verified"] = "spells the input; no oracle takes it"
        else:
            row["status"], row["verified"] = "n/a (different ids: they do not spell the input)", "no"

    def _verify_by_use(self, use: EngineUse, row: Result) -> None:
        """Of vocabularies that need not be equal: each is as asked for, and all engines that load it give its ids."""
        output, parameters = self._output(use.name), self.parameters
        problem = vocabulary_problem(output, parameters["vocab_size"], parameters["special_tokens"])
        sample = self.inputs.file(self.case.corpus, parameters["sample"])
        job = {"task": "encode", "file": str(sample), "tokenizer": str(output), "threads": 1, "warm": 0}
        found: dict[str, str] = {}
        for name in dict.fromkeys([*self.definition.oracle, *(other.name for other in self.definition.engines)]):
            log(f"{self.definition.name}: {self.case.name}, asking {name} to use what {use.name} saved")
            answer = self.launcher.run(name, job, timeout=self.definition.timeout)
            if answer["status"] == "ok":
                found[name] = answer["digest"]
        if not found:
            problem = problem or "no engine loads it"
        elif len({*found.values()}) > 1:
            problem = problem or f"different ids: {' and '.join(found)}"
        row["status"] = f"n/a ({problem})" if problem else "ok"
        row["verified"] = "no" if problem else f"as requested; same ids in {', '.join(found)}"

    def _oracle(self, file: Path) -> tuple[str, Path] | None:
        """Return the first oracle that gives a result for this file, and where its result is."""
        if file not in self.oracles:
            self.oracles[file] = next(filter(None, (self._ask(name, file) for name in self.definition.oracle)), None)
        return self.oracles[file]

    def _ask(self, name: str, file: Path) -> tuple[str, Path] | None:
        row = self.rows.get(name)
        same_as = self.parameters.get("same_as")
        if row and row["runs"] and self.files[name] == file and not (same_as and row["status"] == "no such call"):
            return (name, self._output(name)) if row["status"] == "ok" else None
        output = self._output(f"oracle-{name}-{file.name}")
        if output.exists():
            return name, output
        log(f"{self.definition.name}: {self.case.name}, asking {name}")
        job = self._job(file, output) | {"warm": 0}
        if self.definition.task in ("adversarial", "growing", "limits"):
            job["task"] = "encode"
        if same_as:
            job["call"] = same_as
        answer = self.launcher.run(name, job, timeout=max(600, self.definition.timeout))
        return (name, output) if answer["status"] == "ok" else None

    def _file(self, use: EngineUse) -> Path:
        limits = [limit for limit in (self.case.bytes, use.bytes) if limit is not None]
        return self.inputs.file(self.case.corpus, min(limits, default=None))

    def _output(self, engine: str) -> Path:
        return self.folder / f"{engine}{'.json' if self.trains else '.npy'}"

    def _job(self, file: Path, output: Path) -> Result:
        job = {**self.parameters, "task": self.definition.task, "file": str(file), "output": str(output)}
        if "chats" in job:
            job |= self.inputs.chats(self.parameters)
        elif "tokenizer" in job:
            job["tokenizer"] = str(self.inputs.tokenizer(job["tokenizer"]))
        if "documents" in job:
            job["alphabet"] = self.inputs.alphabet(file)
        if "baseline" in job:
            job["baseline"] = str(self.inputs.file(job["baseline"], file.stat().st_size))
        return job


def _status(answer: Result) -> str:
    if answer["status"] in ("ok", "not installed", "no such call"):
        return str(answer["status"])
    return f"n/a ({answer['status']}: {answer.get('message', 'no reason given')})"


def _is_text(file: Path) -> bool:
    try:
        file.read_bytes().decode()
    except UnicodeDecodeError:
        return False
    return True
