"""bench: how fast this package and other libraries run one tokenizer on one corpus, on this machine; ids come first."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from os import PathLike
from statistics import median
from typing import TYPE_CHECKING, Any

from subwords import Reading, Tokenizer, __version__
from subwords.interop.verify import (
    ComparedText,
    Original,
    compare_ids,
    comparison_texts,
    libraries_of,
    needed,
    open_original,
    sides_of,
)
from subwords.machine import processor_kind, reading_of, tokenizer_of
from subwords.machine import progress as show_progress
from subwords.support.checks import bytes_of, check_choice, check_integer
from subwords.support.errors import CorpusError, InputError, SubwordsError
from subwords.support.files import place_of
from subwords.support.report import Report, Table
from subwords.support.threads import thread_count

if TYPE_CHECKING:
    from pathlib import Path

    from subwords.machine import Source, SplitterLike

OURS = "subwords"
LIBRARIES = ("tokenizers", "tiktoken", "sentencepiece", "transformers")
LINES = 1_000  # calls with one line each
LONG_BYTES = 1 << 18  # bytes of the long text
ENOUGH_SECONDS, MOST_PASSES = 0.1, 7  # seconds, and passes, of one measurement of what was done before

# The tasks, in the order of the table, and their units.
TASKS = {
    "import, load and encode a line": "ms",
    "import and load": "ms",
    "encode a line, first time": "µs",
    "encode a line, again": "µs",
    "encode a batch of lines, first time": "MB/s",
    "encode a batch of lines, again": "MB/s",
    "encode a long text, first time": "MB/s",
    "encode a long text, again": "MB/s",
    "decode a line": "µs",
    "decode a batch of lines": "MB/s",
}


@dataclass(frozen=True)
class BenchRow:
    """One task of one library. median, least, most: of the rounds, in `unit`: ms or µs of a call, or MB/s of text.

    times: how many times as fast as this library subwords is, by the medians; None for subwords itself. apart: whether
    the ranges of the two do not overlap.
    """

    task: str
    library: str
    unit: str
    median: float
    least: float
    most: float
    times: float | None = None
    apart: bool = False


@dataclass(frozen=True)
class Bench(Report):
    """The result of `bench`: true if all libraries gave the same ids. It has no path and no text of the user.

    tokenizer: the name of its file. corpus: the SHA-256 of the texts, the first 16 digits. texts: its lines. ids: of
    all lines, without templates.
    machine, python, date: where and when it ran. without: the libraries that were not measured, or not in all tasks,
    and why. different: the libraries that gave other ids; they have no times.
    """

    tokenizer: str
    corpus: str
    bytes: int
    texts: int
    ids: int
    threads: int
    rounds: int
    machine: str
    python: str
    date: str
    rows: tuple[BenchRow, ...]
    without: Mapping[str, str] = field(default_factory=dict)
    different: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return not self.different

    def tables(self) -> list[Table]:
        """Return the tasks, each with a row for every library."""
        columns = ("task", "library", "unit", "median", "least to most", "subwords is")
        rows = [
            (row.task, row.library, row.unit, row.median, (row.least, row.most), _told(row.times, row.apart))
            for row in self.rows
        ]
        return [Table(columns, rows, "Speed", "tab:bench")]

    def notes(self) -> list[str]:
        """Return what was measured, and which libraries were not."""
        what = f"{self.tokenizer}, {self.bytes / 1e6:.2f} MB in {self.texts} lines, {self.ids} ids, compared first"
        where = f"{self.threads} threads, {self.rounds} rounds of new processes, {self.machine}, {self.python}"
        return [f"{what}; {where}.", *(f"{library}: {why}" for library, why in self.without.items())]


def _told(times: float | None, apart: bool) -> str:
    """Return how many times as fast; "≈" if the ranges overlap."""
    return "" if times is None else f"{'' if apart else '≈ '}{times:.3g}× as fast"


def bench(
    tokenizer: str | PathLike[str],
    source: Source,
    *,
    against: Sequence[str] | None = None,
    splitter: SplitterLike = None,
    special_ids: Mapping[str, int] | None = None,
    reading: Reading | None = None,
    limit: int | str = "2MB",
    rounds: int = 5,
    threads: int | None = None,
    progress: bool | None = None,
) -> Bench:
    """Measure how fast this package and other libraries load, encode and decode with one tokenizer file.

    tokenizer: as in `subwords.files.verify`, with `splitter` and `special_ids` for a rank file. source: as there; its
    lines are encoded one by one and as a batch, and up to 256 KB as one text. limit: use this much text, an amount such
    as "2MB". against: names of packages (tokenizers, tiktoken, sentencepiece, transformers); None takes those that are
    installed and read the file. rounds: each runs every library in a new process. threads: threads of each library;
    None for one per processor.

    The ids of all texts are compared first; a library with other ids gets no times. In each round, each library runs in
    a new process, one after the other; all return lists of int. "First time" is a new object of the tokenizer with
    texts that it has not seen. Raises InputError for a library that is not installed or does not read the file, and
    the errors of `load` and `verify`.

    >>> import subwords, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     subwords.train(["low lower lowest"] * 9, vocab_size=263).save(f"{folder}/tok.json")
    ...     bool(subwords.study.bench(f"{folder}/tok.json", ["so low"], against=["tokenizers"], rounds=1))
    True
    """
    path, how = place_of(tokenizer, local=True), reading_of(reading)
    check_integer("rounds", rounds, 1, 1000)
    size, threads = bytes_of(limit), thread_count(threads)
    options = {name: value for name, value in (("splitter", splitter), ("special_ids", special_ids)) if value}
    ours = tokenizer_of(path, splitter=splitter, special_ids=special_ids).with_(padding=None, truncation=None)
    text = _text(source, how, size)
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        raise CorpusError("expected text in the source to measure with; all lines are empty")
    long = text.encode()[:LONG_BYTES].decode(errors="ignore")
    packages, without, different = _packages(path, ours, against), dict[str, str](), list[str]()
    compared = [ComparedText(line, f"text {number}") for number, line in enumerate(lines)]
    compared.append(ComparedText(long, "long text"))
    measured = dict[str, Original]()
    for package in packages:
        try:
            original = open_original(path, ours, package, threads=threads)
        except SubwordsError as error:
            if against is not None:
                raise
            without[package] = str(error)
            continue
        found = compare_ids(compared, *sides_of(ours, original))
        if found.difference is not None:
            without[original.library] = f"other ids, so it has no times: {found.difference}"
            different.append(original.library)
        elif measured and ours.template and original.template != next(iter(measured.values())).template:
            without[original.library] = f"it has no template, unlike {next(iter(measured))}: measure it alone"
        else:
            measured[package] = original
    job = {"path": str(path), "options": options, "threads": threads, "lines": lines, "long": long}
    seconds = _rounds(job, measured, rounds, without, progress)
    names = {OURS: f"{OURS} {__version__}"} | {package: one.library for package, one in measured.items()}
    amounts = {"lines": len(lines[:: _step(lines)]), "batch": sum(map(_size, lines)), "long": _size(long)}
    ids = sum(len(row) for row in ours.encode_batch(lines))
    return Bench(
        tokenizer=path.name,
        corpus=sha256(text.encode()).hexdigest()[:16],
        bytes=_size(text),
        texts=len(lines),
        ids=ids,
        threads=threads,
        rounds=rounds,
        machine=f"{platform.system()}, {platform.processor() or processor_kind()}, {os.cpu_count()} processors",
        python=f"{platform.python_implementation()} {platform.python_version()}",
        date=time.strftime("%Y-%m-%d", time.gmtime()),
        rows=tuple(_rows(seconds, names, amounts)),
        without=without,
        different=tuple(different),
    )


def _size(text: str) -> int:
    return len(text.encode())


def _step(lines: Sequence[str]) -> int:
    """Return the distance of the lines that are encoded one by one."""
    return -(-len(lines) // LINES)


def _text(source: Source, reading: Reading, size: int) -> str:
    """Return the first texts of a source, each ending with a line feed."""
    parts, left = list[str](), size
    for compared in comparison_texts(source, reading):
        data = compared.text.encode()[:left]
        parts.append(data.decode(errors="ignore"))
        left -= len(data)
        if left <= 0:
            break
    return "\n".join(parts) + "\n"


def _packages(path: Path, ours: Tokenizer, against: Sequence[str] | None) -> list[str]:
    known = libraries_of(path, ours)
    if against is None:
        return [package for package in known if _installed(package)]
    for package in against:
        check_choice("against", package, LIBRARIES)
        if package not in known:
            raise InputError(f"{package} does not read {path.name}; expected {' or '.join(known)}")
        needed(package, "the comparison")
    return [*dict.fromkeys(against)]


def _installed(package: str) -> bool:
    try:
        needed(package, "the comparison")
    except InputError:
        return False
    return True


# ---------------------------------------------------------------------------------------------------------------------
# Rounds: each library in turn in a new process, which says how long each task took.

# The clock starts before anything of the library is imported: what is needed of ours to open another one is before it.
_PROCESS = """
import json, sys, time
job = json.loads(sys.stdin.buffer.read())
if job["package"] == "subwords":
    begin = time.perf_counter()
    import subwords
    tok = subwords.load(job["path"], **job["options"])
    loaded = time.perf_counter()
    tok.encode(job["lines"][0], special=job["special"], template=job["template"])
    done = time.perf_counter()
    from subwords.study.benchmark import own_calls
    again = lambda: own_calls(subwords.load(job["path"], **job["options"]), job)
else:
    from pathlib import Path
    import subwords
    from subwords.interop.verify import open_original
    ours, path = subwords.load(job["path"], **job["options"]), Path(job["path"])
    again = lambda: open_original(path, ours, job["package"], threads=job["threads"])
    begin = time.perf_counter()
    first = again()
    loaded = time.perf_counter()
    first.encode_one(job["lines"][0])
    done = time.perf_counter()
from subwords.study.benchmark import timed_answer
sys.stdout.write(timed_answer(job, again, loaded - begin, done - begin))
"""

Answer = dict[str, Any]


def _rounds(
    job: Answer, measured: Mapping[str, Original], rounds: int, without: dict[str, str], progress: bool | None
) -> dict[str, dict[str, list[float]]]:
    """Return the seconds of each task in each round; `without` gets why a library has none."""
    seconds: dict[str, dict[str, list[float]]] = {name: {} for name in (OURS, *measured)}
    # Each library is measured beside ours with special tokens and template as it has them: mostly they agree.
    first = next(iter(measured.values()), None)
    how = {"special": first.special if first else "text", "template": first.template if first else False}
    digests: dict[str, str] = {}
    with show_progress(rounds * len(seconds), "measuring", unit="steps", enabled=progress) as bar:
        for _ in range(rounds):
            for package in [name for name in seconds if name not in without]:
                found = _run({**job, **how, "package": package})
                bar.advance(1)
                if "error" in found:
                    if package == OURS:
                        raise SubwordsError(f"measuring {job['path']} failed: {found['error']}")
                    without[package] = found["error"]
                    seconds[package] = {}
                    continue
                digests.setdefault(package, found["texts"])
                for task, value in found["seconds"].items():
                    if task.startswith("decode") and digests[package] != digests[OURS]:
                        without.setdefault(f"{package}, decoding", "other text, so it has no times")
                        continue
                    seconds[package].setdefault(task, []).append(value)
    return seconds


def _run(job: Answer) -> Answer:
    """Return what a new process says, or the last line of its error."""
    threads = str(job["threads"])
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "RAYON_NUM_THREADS": threads,
        "TOKENIZERS_PARALLELISM": "true" if job["threads"] > 1 else "false",
    }
    data = json.dumps(job).encode()
    done = subprocess.run([sys.executable, "-P", "-c", _PROCESS], input=data, capture_output=True, env=environment)
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    if done.returncode or not lines:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        return {"error": f"its process ended with status {done.returncode}: {''.join(last)[:300]}"}
    found: Answer = json.loads(lines[-1])
    return found


def own_calls(tok: Tokenizer, job: Answer) -> Original:
    """Return a tokenizer of this package as one of another library."""
    special, template, threads = job["special"], job["template"], job["threads"]
    return Original(
        OURS,
        special,
        template,
        encode=lambda texts: tok.encode_batch(texts, special=special, template=template, threads=threads).to_lists(),
        token=lambda index: tok.id_to_token(index) or "",
        encode_one=lambda text: tok.encode(text, special=special, template=template),
        decode=tok.decode_batch,
        decode_one=tok.decode,
    )


def timed_answer(job: Answer, new: Callable[[], Original], loaded: float, started: float) -> str:
    """Return the seconds of each task in this process, and a digest of the decoded texts, as JSON.

    new: opens the tokenizer again. loaded, started: seconds until the tokenizer was loaded, and until the first ids.
    """
    lines, long = job["lines"], job["long"]
    few = lines[:: _step(lines)]
    names = iter(TASKS)
    seconds = {next(names): started, next(names): loaded}

    for run in (
        lambda calls: [*map(calls.encode_one, few)],
        lambda calls: calls.encode(lines),
        lambda calls: calls.encode_one(long),
    ):
        first = partial(run, new())
        seconds[next(names)] = _timed(first)
        seconds[next(names)] = _repeated(first)
    calls = new()
    rows = [[*row] for row in calls.encode(lines)]
    some = rows[:: _step(lines)]
    texts = calls.decode(rows)
    seconds[next(names)] = _repeated(lambda: [*map(calls.decode_one, some)])
    seconds[next(names)] = _repeated(lambda: calls.decode(rows))
    return json.dumps({"seconds": seconds, "texts": sha256("\n".join(texts).encode()).hexdigest()})


def _timed(run: Callable[[], object]) -> float:
    begin = time.perf_counter()
    found = run()
    end = time.perf_counter()
    del found
    return end - begin


def _repeated(run: Callable[[], object]) -> float:
    """Return the median seconds of some passes."""
    passes = [_timed(run)]
    while sum(passes) < ENOUGH_SECONDS and len(passes) < MOST_PASSES:
        passes.append(_timed(run))
    return median(passes)


def _rows(
    seconds: Mapping[str, Mapping[str, Sequence[float]]], names: Mapping[str, str], amounts: Mapping[str, int]
) -> Iterator[BenchRow]:
    """Yield the rows of the table."""
    for task, unit in TASKS.items():
        count = amounts["long" if "long" in task else "batch" if "batch" in task else "lines"]
        own = seconds[OURS][task]
        for package, tasks in seconds.items():
            if task not in tasks:
                continue
            taken = tasks[task]
            if unit == "MB/s":
                values = [count / 1e6 / one for one in taken]
            else:
                values = [one * 1e6 / count if unit == "µs" else one * 1e3 for one in taken]
            times = None if package == OURS else median(taken) / median(own)
            apart = len(own) > 1 and (max(own) < min(taken) or max(taken) < min(own))
            yield BenchRow(task, names[package], unit, median(values), min(values), max(values), times, apart)
