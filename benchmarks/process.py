"""One job, one new process: start an engine, give it the job, and read its line of JSON."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["Launcher", "log", "without_folders"]

ROOT = Path(__file__).resolve().parents[1]
TOUCHED = 384 << 20  # bytes; the largest peak of an engine that is fast enough to notice


def log(message: str) -> None:
    """Say on standard error what is being done."""
    print(message, file=sys.stderr, flush=True)


class Launcher:
    """Starts engines, each under its own Python where one is given, the present one otherwise.

    A job with "node" is for a library of JavaScript in the folder `node`.
    """

    def __init__(self, pythons: Mapping[str, str] | None = None, *, node: Path | None = None) -> None:
        self.pythons = dict(pythons or {})
        self.node = node or ROOT
        self._prepared: dict[tuple[str, bool], dict[str, Any]] = {}

    def prepare(self, engine: str, *, node: bool = False) -> dict[str, Any]:
        """Return the engine's versions, or that it is not installed; what it keeps on disk is there afterwards."""
        if (engine, node) not in self._prepared:
            self._prepared[engine, node] = self.run(engine, {"task": "prepare", "node": node}, timeout=600)
        return self._prepared[engine, node]

    def run(self, engine: str, job: Mapping[str, Any], *, timeout: float) -> dict[str, Any]:
        """Return the engine's answer; an engine that crashes, stays silent or takes too long answers by a status.

        seconds["process"] is the time from the start of the process to its end. With job["empty_cache"] the kernels
        that subwords compiled earlier are out of its sight.
        """
        with tempfile.TemporaryDirectory(prefix="subwords-cache-") as empty:
            environment = _environment(job, empty)
            command = [self.pythons.get(engine, sys.executable), "-m", f"benchmarks.engines.{engine.replace('-', '_')}"]
            if job.get("node"):
                command = ["node", "benchmarks/engines/web_peers.mjs", engine, str(self.node)]
            if job["task"] in ("encode", "calls"):
                code = f"from benchmarks.engines.protocol import touch; touch({TOUCHED})"
                subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
            begin = time.perf_counter()
            text = json.dumps({**job, "started": begin})
            try:
                done = subprocess.run(
                    command, input=text, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=timeout
                )
            except subprocess.TimeoutExpired:
                return {"status": "no answer", "message": f"no answer in {timeout:g} s"}
            except OSError as error:
                return {"status": "not installed", "message": f"{command[0]}: {error.strerror}"}
            seconds = time.perf_counter() - begin
        answer = _last_answer(done.stdout)
        if answer is None:
            answer = {"status": "crashed", "message": f"exit status {done.returncode}, {_last_line(done.stderr)}"}
        if "seconds" in answer:
            answer["seconds"]["process"] = seconds
        if "message" in answer:
            answer["message"] = without_folders(answer["message"])
        return answer


def without_folders(message: str) -> str:
    """Return a message with paths cut to their last part: records are published, folders are private."""
    return re.sub(r"(?:[A-Za-z]:)?(?:[/\\][\w.+~-]+)+[/\\](?=[\w.+~-])", "", message)


def _environment(job: Mapping[str, Any], empty: str) -> dict[str, str]:
    threads = int(job.get("threads", 1))
    environment = {
        **os.environ,
        "PYTHONUTF8": "1",
        "RAYON_NUM_THREADS": str(threads),
        "TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false",
    }
    if job.get("empty_cache"):
        environment["SUBWORDS_CACHE_DIR"] = empty
    if "kernels" in job:
        environment["SUBWORDS_KERNELS"] = str(job["kernels"])
    return environment


def _last_answer(output: str) -> dict[str, Any] | None:
    for line in reversed(output.splitlines()):
        try:
            answer = json.loads(line)
        except ValueError:
            continue
        if isinstance(answer, dict) and "status" in answer:
            return answer
    return None


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][:200] if lines else "nothing on standard error"
