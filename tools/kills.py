"""Kill jobs (`kill -9`) at random times in each of their phases, resume them, and compare every byte of the results.

    python tools/kills.py --kills 1000 --seed 0 --state kills   # stopped, it goes on from kills/state.json
    python tools/kills.py --list

A round runs one command in an empty folder: one to four times it is killed, and at last it ends. Killed are all its
processes, or the parent alone (the next run begins while its workers still work), or one worker (the job has to end
without help). The time of a kill is a random part of a phase that was measured before, of each phase equally often.

It fails if a result differs from that of the undisturbed command, if at a kill a file with a final name is not
complete, or if at the end any other file is left: beside the result, of the shards, or among temporary files.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TEXT = ROOT / "examples/opticks.txt"
ENV = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
SHARDS = ("--shard-bytes", "60000")
TEMPLATE = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"


class Job(NamedTuple):
    """Arguments of a command, without those of where it writes; the first of its files."""

    arguments: tuple[str, ...]
    output: str
    workers: int = 1


def jobs(inputs: Path) -> dict[str, Job]:
    """Return the commands. The undisturbed result of each is made by the same command."""
    text, rows = str(inputs / "lines.txt"), str(inputs / "rows.jsonl")
    table, chats, tok = str(inputs / "rows.parquet"), str(inputs / "chats.jsonl"), str(inputs / "tok.json")
    lines, two = (text, "--documents", "line", *SHARDS), ("--workers", "2")
    chat = ("--chat", "--template", str(inputs / "chat.jinja"), *SHARDS)
    return {
        "count": Job(("count", *lines), "out.counts"),
        "count, 2 workers": Job(("count", *lines, rows, *two), "out.counts", 2),
        "count, 2 workers, little memory": Job(("count", *lines, *two, "--memory", "500MB"), "out.counts", 2),
        "train BPE": Job(("train", *lines, "--vocab-size", "3000"), "out.json"),
        "train WordPiece, 2 workers": Job(
            ("train", *lines, "--algorithm", "wordpiece", "--vocab-size", "3000", *two), "out.txt", 2
        ),
        "train Unigram, 2 workers": Job(
            ("train", *lines, "--algorithm", "unigram", "--vocab-size", "2000", *two), "out.model", 2
        ),
        "tokens to NumPy": Job(("tokens", tok, *lines), "out.npy"),
        "tokens to Megatron, 2 workers, shuffled": Job(
            ("tokens", tok, *lines, rows, *two, "--shard-size", "90000", "--shuffle", "7", "--format", "megatron"),
            "out.bin", 2,
        ),
        "tokens to Parquet, 2 workers": Job(("tokens", tok, table, *two, *SHARDS), "out.parquet", 2),
        "tokens to datatrove, no shards": Job(("tokens", tok, text, "--documents", "line"), "out.ds"),
        "chats to NumPy": Job(("tokens", tok, chats, *chat), "out.npy"),
        "chats to rows, 2 workers": Job(("tokens", tok, chats, *chat, *two, "--pack", "512"), "out.npy", 2),
        "chats to Megatron, 2 workers": Job(
            ("tokens", tok, chats, *chat, *two, "--format", "megatron", "--shard-size", "90000"), "out.bin", 2
        ),
    }  # fmt: skip


def make_inputs(folder: Path) -> None:
    """Write the corpus in all forms, and a tokenizer."""
    import pyarrow as pa
    from pyarrow import parquet

    folder.mkdir(parents=True)
    text = TEXT.read_text("utf-8")
    lines = [line for line in text.splitlines() if line.strip()]
    (folder / "lines.txt").write_text(text, "utf-8")
    (folder / "rows.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in lines[::2]))
    parquet.write_table(pa.table({"text": lines}), folder / "rows.parquet", row_group_size=800)
    roles = ("user", "assistant")
    with (folder / "chats.jsonl").open("w") as stream:
        for at in range(0, len(lines) - 4, 4):
            turns = [{"role": roles[turn % 2], "content": lines[at + turn]} for turn in range(4)]
            stream.write(json.dumps({"messages": turns}) + "\n")
    (folder / "chat.jinja").write_text(TEMPLATE)
    special = [
        part for token in ("<|user|>", "<|assistant|>", "<|end|>", "<pad>") for part in ("--special-token", token)
    ]
    arguments = ("train", str(TEXT), "--vocab-size", "2000", *special, "-q", "-o", str(folder / "tok.json"))
    subprocess.run([sys.executable, "-m", "subwords", *arguments], env=ENV, check=True)


# ---------------------------------------------------------------------------------------------------------------------
# A run of a command, and its phase as its files show it.


class Place:
    """The folder of a round: results in `out`, temporary files in `tmp`."""

    def __init__(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        self.out, self.tmp, self.folder = folder / "out", folder / "tmp", folder
        self.out.mkdir(parents=True)
        self.tmp.mkdir()

    def start(self, job: Job, *more: str) -> subprocess.Popen[bytes]:
        program = [sys.executable, "-m", "subwords", *job.arguments, *more, "-q", "-o", str(self.out / job.output)]
        log = (self.folder / "errors").open("ab")
        env = {**ENV, "TMPDIR": str(self.tmp)}
        return subprocess.Popen(program, env=env, stdout=log, stderr=log, start_new_session=True)

    def phase(self, job: Job, shards: int) -> str:
        """Return what the command is doing."""
        names = _names(self.out)
        parts = f"{job.output}.parts"
        final = names - {parts}
        half = {name for name in final if name.startswith(".subwords-")}
        ended = _is_end(job, final)
        if parts in names and not ended:
            inside = _names(self.out / parts)
            marks = sum(name.endswith(".json") and name[0] != "." for name in inside)
            if marks < shards:
                return "shard, writing" if any(name[0] == "." for name in inside) else "shard"
        if half:
            return "write"
        if ended:
            return "clean" if parts in names else "end"
        if final:
            return "between files"
        if parts not in names and not _names(self.tmp):
            return "start"
        return "join or learn" if shards else "work"


def _is_end(job: Job, final: set[str]) -> bool:
    """Whether the file is there that is written last."""
    if job.arguments[0] != "tokens":
        return job.output in final
    return f"{Path(job.output).stem}.manifest.json" in final


def _names(folder: Path) -> set[str]:
    with suppress(OSError):
        return {file.name for file in folder.iterdir()}
    return set()


def files_of(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder that are there; other processes may delete some meanwhile."""
    found = dict[str, bytes]()
    for file in sorted(folder.rglob("*")):
        with suppress(OSError):
            if file.is_file():
                found[str(file.relative_to(folder))] = file.read_bytes()
    return found


class Known(NamedTuple):
    """The undisturbed run: its files, those of its shards, and how long each phase took."""

    files: dict[str, bytes]
    parts: dict[str, bytes]
    phases: dict[str, float]

    @property
    def shards(self) -> int:
        return sum(name.endswith(".json") for name in self.parts)


def undisturbed(job: Job, folder: Path) -> Known:
    """Run a command to its end twice: with its shards kept, and to measure its phases."""
    place, parts = Place(folder), dict[str, bytes]()
    if "--shard-bytes" in job.arguments:
        if place.start(job, "--keep-parts").wait():
            raise SystemExit((place.folder / "errors").read_text())
        parts = files_of(place.out / f"{job.output}.parts")
        if job.arguments[0] == "train":
            (place.out / f"{job.output}.counts").unlink()
    files = {name: data for name, data in files_of(place.out).items() if ".parts/" not in name}
    known, place = Known(files, parts, {}), Place(folder)
    process, last = place.start(job), time.monotonic()
    while process.poll() is None:
        phase, now = place.phase(job, known.shards), time.monotonic()
        known.phases[phase] = known.phases.get(phase, 0.0) + now - last
        last = now
        time.sleep(0.0003)
    again = files_of(place.out)
    if process.returncode or (files and again != files):
        raise SystemExit(f"two undisturbed runs differ: {job.arguments}")
    return known._replace(files=again)


# ---------------------------------------------------------------------------------------------------------------------
# Rounds.


class Round:
    """A command in an empty folder, killed some times, and then at its end."""

    def __init__(
        self, name: str, job: Job, known: Known, rng: random.Random, folder: Path, counts: Counter[str]
    ) -> None:
        self.name, self.job, self.known, self.rng, self.counts = name, job, known, rng, counts
        self.place, self.faults = Place(folder), list[str]()

    def run(self, times: int) -> None:
        for _ in range(times):
            if self._attempt():
                break
        else:
            process = self.place.start(self.job)
            self._wait(process)
        self._at_the_end()

    def _attempt(self) -> bool:
        """Start the command and kill it or a part of it; return whether it came to its end."""
        process = self.place.start(self.job)
        phases = self.known.phases
        (phase,) = self.rng.choices([*phases], [0.3 if one == "end" else 1 for one in phases])
        while process.poll() is None and self.place.phase(self.job, self.known.shards) != phase:
            time.sleep(0.0003)
        left = self.known.phases[phase] * self.rng.random()
        if left > 0.001:
            with suppress(subprocess.TimeoutExpired):
                process.wait(left)
        workers = _children(process.pid)
        ways = ("all", "parent") if self.job.workers > 1 else ("all",)
        how = self.rng.choice((*ways, "worker", "worker") if workers else ways)
        if process.poll() is not None:
            self.counts["ended before the kill"] += 1
            self._wait(process)
            return True
        with suppress(ProcessLookupError):
            if how == "all":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                os.kill(process.pid if how == "parent" else self.rng.choice(workers), signal.SIGKILL)
        self.counts[f"job: {self.name}"] += 1
        self.counts[f"phase: {self.place.phase(self.job, self.known.shards)}"] += 1
        self.counts[f"killed: {how}"] += 1
        self.counts["kills"] += 1
        if how == "worker":
            self._no_half_files()
            self._wait(process)
            return True
        process.wait()
        self._no_half_files()
        return False

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        try:
            status = process.wait(120)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            status = process.wait()
            self._fault("does not end")
        if status:
            self._fault(f"ended with {status}: {(self.place.folder / 'errors').read_text()[-2000:]}")

    def _no_half_files(self) -> None:
        for name, data in files_of(self.place.out).items():
            folder, _, last = name.rpartition("/")
            if last.startswith(".subwords-") or last == "lock":
                continue
            expected = (self.known.parts if folder else self.known.files).get(last)
            if data != expected:
                self._fault(f"{name} has {len(data)} bytes at a kill, not the expected {len(expected or b'')}")

    def _at_the_end(self) -> None:
        found = files_of(self.place.out)
        for name in sorted(found.keys() | self.known.files.keys()):
            if found.get(name) != self.known.files.get(name):
                self.counts["files that differ"] += 1
                self._fault(f"{name} differs or should not be there")
        if parts := [one for one in self.place.out.iterdir() if one.is_dir()]:
            self._fault(f"folders are left: {parts}")
        # Python makes a file of a random name, writes four bytes and deletes it, to see whether TMPDIR can be used.
        if left := {name for name, data in files_of(self.place.tmp).items() if data not in (b"", b"blat")}:
            self._fault(f"temporary files are left: {left}")
        self.counts["results compared"] += 1

    def _fault(self, text: str) -> None:
        self.counts["faults"] += 1
        self.faults.append(text)


def _children(pid: int) -> list[int]:
    found = list[int]()
    with suppress(OSError):  # it ended
        for task in Path(f"/proc/{pid}/task").iterdir():  # each thread has the children that it started
            found += map(int, (task / "children").read_text().split())
    return found


def report(counts: Counter[str]) -> None:
    for name, count in sorted(counts.items()):
        print(f"{count:6,} {name}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--state", type=Path, default=Path("kills"), help="the folder of inputs, rounds and counts")
    parser.add_argument("--job", action="append", help="only these jobs")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    folder, state = options.state.resolve(), options.state.resolve() / "state.json"
    every = jobs(folder / "inputs")
    if options.list:
        print(*every, sep="\n")
        return 0
    if not (folder / "inputs/tok.json").exists():
        shutil.rmtree(folder / "inputs", ignore_errors=True)
        make_inputs(folder / "inputs")
    chosen = {name: job for name, job in every.items() if not options.job or name in options.job}
    known = {name: undisturbed(job, folder / "undisturbed") for name, job in chosen.items()}
    for name, one in known.items():
        times = ", ".join(f"{phase} {seconds:.3f} s" for phase, seconds in one.phases.items())
        print(f"{name}: {len(one.files)} files, {one.shards} shards; {times}", flush=True)
    saved = json.loads(state.read_text()) if state.exists() else {"round": 0, "counts": {}}
    counts = Counter[str](saved["counts"])
    for number in range(saved["round"], sys.maxsize):
        if counts["kills"] >= options.kills:
            break
        rng = random.Random(f"{options.seed} {number}")
        name = [*chosen][number % len(chosen)]
        one = Round(name, chosen[name], known[name], rng, folder / "round", counts)
        one.run(rng.randrange(1, 5))
        for fault in one.faults:
            print(f"FAULT in round {number}, {name}: {fault}", flush=True)
        state.write_text(json.dumps({"round": number + 1, "counts": counts}))
        if number % 20 == 19:
            print(f"{counts['kills']} kills, {counts['faults']} faults", flush=True)
    report(counts)
    return int(counts["faults"] > 0)


if __name__ == "__main__":
    sys.exit(main())
