"""What every engine process does: read one job from standard input, do it, print one line of JSON.

All engines are timed by this one piece of code. It imports nothing but the standard library until a job needs more, so
that what an engine imports is the engine's own cost.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import json
import random
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchmarks.engines.growing import Again

__all__ = [
    "Engine",
    "NoSuchCallError",
    "RefusedError",
    "digest_and_save",
    "model_arrays",
    "other_text",
    "serve",
    "strings_of",
    "timed",
    "timed_training",
    "touch",
]

Answer = dict[str, Any]


class RefusedError(Exception):
    """The engine does not do what was asked."""


class NoSuchCallError(RefusedError):
    """The engine has no call for what was asked."""


class Engine:
    """What an engine may be asked; one that cannot do it says so."""

    packages: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()  # the endings of the tokenizer files that it loads itself

    documents: tuple[str, ...] = ("file",)  # what training may take as a document: the file, each "line"
    own_alphabet = False  # whether its alphabet is the bytes that occur, not all 256
    shares_versions = False  # whether versions of a text that grows share their storage

    def __init__(self, library: Any) -> None:
        self.library = library

    def prepare(self) -> None:
        """Fill whatever the engine keeps on disk between processes."""

    def load(self, path: str) -> Any:
        """Return a new tokenizer object made from a tokenizer.json."""
        raise RefusedError("does not load a tokenizer.json")

    def encode(self, tokenizer: Any, data: bytes) -> NDArray[Any]:
        """Return the ids of one text as a NumPy array."""
        raise RefusedError("does not encode bytes to an array")

    def encode_list(self, tokenizer: Any, text: str) -> list[int]:
        """Return the ids of one text as a list of int."""
        raise RefusedError("does not encode a str to a list")

    def load_ranks(self, path: str) -> Any:
        """Return a new tokenizer object made from a rank file of tiktoken that OpenAI published."""
        raise RefusedError("does not load a rank file")

    def calls(self, tokenizer: Any, threads: int) -> dict[str, Callable[..., Any]]:
        """Return the calls of `benchmarks.engines.calls` that the engine has, each in its own best way."""
        return {}

    def plain(self, call: str, found: Any) -> Any:
        """Return the result of a call as lists, arrays, tuples, integers and str, to compare it."""
        return found

    def grower(self, tokenizer: Any) -> Again:
        """Return what encodes texts that grow: by default all of the text each time."""
        from benchmarks.engines.growing import Again

        return Again(lambda text: self.encode_list(tokenizer, text))

    def chat(self, job: Answer, template: str) -> dict[str, Callable[..., Any]]:
        """Return the functions of `benchmarks.engines.chats` that the engine has for a chat template."""
        raise RefusedError("has no conversations")

    def splitter(self, rule: Answer) -> Any:
        """Return what splits by a rule: {"patterns": what its steps match, as `regex` spells it} and perhaps "name"."""
        raise RefusedError("does not split")

    def count_words(self, splitter: Any, data: bytes) -> int:
        """Go over all words of one text, without keeping them, and return how many were counted."""
        raise RefusedError("does not split")

    def word_ends(self, splitter: Any, data: bytes) -> NDArray[Any]:
        """Return where each word ends, in bytes."""
        raise RefusedError("does not split")

    def train(self, file: str, output: str, *, vocab_size: int, special_tokens: list[str], threads: int) -> None:
        """Train on a file and save the result; an engine with two kinds of `documents` takes one as another option."""
        raise RefusedError("does not train")

    def train_wordpiece(
        self, file: str, output: str, *, vocab_size: int, special_tokens: list[str], threads: int, score: str
    ) -> None:
        """Train WordPiece by a score ("count", "likelihood", "course") on a file, as for BERT, and save the result."""
        raise RefusedError("does not train WordPiece")

    def train_unigram(
        self, file: str, output: str, *, vocab_size: int, special_tokens: list[str], threads: int
    ) -> None:
        """Train Unigram on a file, by the engine's own defaults, and save the result."""
        raise RefusedError("does not train Unigram")


def serve(package: str, kind: type[Engine]) -> None:
    """Do the job given on standard input with the engine whose package has this name."""
    entered = time.perf_counter()
    job = json.load(sys.stdin)
    try:
        seconds, _, library = timed(import_module, package)
        answer = _TASKS[job["task"]](kind(library), job)
        answer["seconds"]["import"] = seconds
        if "started" in job:
            # Both clocks are the system's: a perf_counter of one process may be compared with that of another.
            answer["seconds"]["interpreter"] = entered - job["started"]
        answer = {"status": "ok", "peak_bytes": _peak_bytes(), **answer}
    except BaseException as error:  # a Rust panic derives from it; whatever it is, it is this engine's answer
        absent = isinstance(error, ModuleNotFoundError) and error.name in (package, package.partition(".")[0])
        message = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        status = "no such call" if isinstance(error, NoSuchCallError) else "refused"
        answer = {"status": "not installed" if absent else status, "message": message}
    sys.stdout.write("\n" + json.dumps(answer) + "\n")


def strings_of(text: str, count: int, length: int) -> list[str]:
    """Return `count` strings of `length` characters, from places spread evenly over the text."""
    step = (len(text) - length) // count
    if step < 1:
        raise ValueError(f"expected a text of more than {count + length} characters, not {len(text)}")
    return [text[start : start + length] for start in range(0, step * count, step)]


def model_arrays(found: dict[str, Any]) -> list[list[list[int]]]:
    """Return the arrays that a model takes as lists."""
    return [found[name].tolist() for name in ("input_ids", "token_type_ids", "attention_mask")]


def other_text() -> str:
    """Return 170 KB of words that are in no text: random letters, first of ASCII, then of scripts no benchmark has.

    What encodes the whole and the ASCII alone has its code in memory afterwards, and knows no word of any input.
    """
    draw = random.Random(12)
    scripts = ["".join(map(chr, range(*span))) for span in _SCRIPTS]
    words = ["".join(draw.choices("jkqvwxz", k=12)) for _ in range(ASCII_WORDS)]
    words += ("".join(draw.choices(letters, k=12)) for _ in range(500) for letters in scripts)
    return "\n".join(" ".join(words[at : at + 10]) for at in range(0, len(words), 10))


ASCII_WORDS = 6000
# Armenian, Georgian, Lao, Yi, rare Han.
_SCRIPTS = ((0x561, 0x587), (0x10D0, 0x10F1), (0xE94, 0xEA0), (0xA000, 0xA400), (0x3400, 0x4D00))


def touch(size: int) -> None:
    """Use memory and give it back: at once before a measurement, the same for every engine.

    The host of a virtual machine takes back what is free: using it again costs up to 20 times as much as on a machine
    of its own, or nothing, by chance.
    """
    import mmap

    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    pages = mmap.mmap(-1, size, **private)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        pages.madvise(mmap.MADV_HUGEPAGE)  # the memory that engines get in large pieces
    for page in range(0, size, 4096):
        pages[page] = 1
    pages.close()


def timed(function: Callable[..., Any], *arguments: Any, **options: Any) -> tuple[float, float, Any]:
    """Return the seconds on the wall, the seconds on all processors, and the result."""
    processors = time.process_time()
    begin = time.perf_counter()
    result = function(*arguments, **options)
    end = time.perf_counter()
    return end - begin, time.process_time() - processors, result


def _peak_bytes() -> int:
    # On Linux ru_maxrss starts at the parent's peak when the parent started us by vfork; VmHWM is this program's own.
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _resident_bytes() -> int:
    """The memory of the process that is in use; 0 where the system does not say."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    return 0


def digest_and_save(ids: NDArray[Any], output: str | None) -> Answer:
    import numpy as np

    flat = np.ascontiguousarray(ids, np.uint32)
    if output:
        np.save(output, flat)
    return {"ids": len(flat), "digest": hashlib.sha256(flat.tobytes()).hexdigest()[:16]}


def _prepare(engine: Engine, job: Answer) -> Answer:
    from importlib.metadata import PackageNotFoundError, version

    engine.prepare()
    versions = {"python": sys.version.split()[0]}
    for package in engine.packages:
        with contextlib.suppress(PackageNotFoundError):
            versions[package] = version(package)
    # A library that is run from its source tree has no metadata.
    if found := getattr(engine.library, "__version__", None):
        versions.setdefault(engine.library.__name__, found)
    return {"versions": versions, "seconds": {}}


def timed_training(engine: Engine, job: Answer) -> Answer:
    """Train, save and time both; `job["documents"]` is what a document is: the file (if not said), or each "line"."""
    options = {key: job[key] for key in ("vocab_size", "special_tokens", "threads")}
    documents = job.get("documents", "file")
    if "score" not in job and job.get("algorithm") != "unigram":
        if documents not in engine.documents:
            raise RefusedError(f"takes no {documents} as a document")
        options |= {"documents": documents} if len(engine.documents) > 1 else {}
        options["vocab_size"] -= 256 - job["alphabet"] if engine.own_alphabet else 0
    train = engine.train_unigram if job.get("algorithm") == "unigram" else engine.train
    if "score" in job:
        train, options["score"] = engine.train_wordpiece, job["score"]
    seconds, processors, _ = timed(train, job["file"], job["output"], **options)
    saved = Path(job["output"]).stat().st_size
    return {"seconds": {"call": seconds}, "processor_seconds": processors, "saved_bytes": saved}


def _passes(engine: Engine, path: str, data: bytes, warm: int) -> tuple[Answer, NDArray[Any]]:
    """Time a first pass by a new tokenizer object and `warm` later ones; every pass must give the same ids."""
    import numpy as np

    load, _, tokenizer = timed(engine.load, path)
    cold, processors, first = timed(engine.encode, tokenizer, data)
    seconds: Answer = {"load": load, "cold": cold, "warm": []}
    peak = _peak_bytes()  # later passes hold a second array of ids, which only the comparison needs
    for _ in range(warm):
        again, used, ids = timed(engine.encode, tokenizer, data)
        if not np.array_equal(first, ids):
            raise RuntimeError("a later pass gave other ids than the first")
        del ids
        seconds["warm"].append(again)
        processors += used
    return {"seconds": seconds, "processor_seconds": processors, "peak_bytes": peak}, first


def _encode(engine: Engine, job: Answer) -> Answer:
    """A new object encodes a text that it has not seen, then the same again; code is in memory before."""
    import numpy as np

    other = engine.load(job["tokenizer"])
    for text in (other_text().encode(), other_text()[: 13 * ASCII_WORDS].encode()):
        engine.encode(other, text)
    new = _resident_bytes()
    del other
    data = Path(job["file"]).read_bytes()
    load, _, tokenizer = timed(engine.load, job["tokenizer"])
    fresh, processors, first = timed(engine.encode, tokenizer, data)
    answer: Answer = {"bytes": len(data), "peak_bytes": _peak_bytes(), **digest_and_save(first, job.get("output"))}
    warm: list[float] = []
    while len(warm) < job["warm"] and sum(warm) < job.get("enough", 60.0):
        again, used, ids = timed(engine.encode, tokenizer, data)
        if not np.array_equal(first, ids):
            raise RuntimeError("a later pass gave other ids than the first")
        del ids
        warm.append(again)
        processors += used
    del first, data
    gc.collect()
    answer["resident_bytes"] = {"new": new, "after": _resident_bytes()}
    return {**answer, "seconds": {"load": load, "fresh": fresh, "warm": warm}, "processor_seconds": processors}


def _calls(engine: Engine, job: Answer) -> Answer:
    from benchmarks.engines.calls import run

    return run(engine, job)


def _growing(engine: Engine, job: Answer) -> Answer:
    from benchmarks.engines.growing import run

    return run(engine, job)


def _limits(engine: Engine, job: Answer) -> Answer:
    from benchmarks.engines.limits import run

    return run(engine, job)


def _chat(engine: Engine, job: Answer) -> Answer:
    from benchmarks.engines.chats import run

    return run(engine, job)


def _requests(engine: Engine, job: Answer) -> Answer:
    from benchmarks.engines.requests import run

    return run(engine, job)


def _startup(engine: Engine, job: Answer) -> Answer:
    if job["what"] == "train":
        answer = timed_training(engine, job)
        answer["seconds"]["total"] = time.perf_counter() - job["started"]
        return answer
    load, _, tokenizer = timed(engine.load, job["tokenizer"])
    call, _, ids = timed(engine.encode_list, tokenizer, job["text"])
    total = time.perf_counter() - job["started"]
    import numpy as np

    seconds = {"load": load, "call": call, "total": total}
    return {"seconds": seconds, **digest_and_save(np.array(ids, np.uint32), job.get("output"))}


def _coverage(engine: Engine, job: Answer) -> Answer:
    """Write a line for each text: its name and a digest of its ids, or why the engine refuses it."""
    path = job["tokenizer"]
    if path.endswith(".json") and ".json" not in engine.reads:
        raise NoSuchCallError(f"reads {' and '.join(engine.reads)}")  # tiktoken's adapter converts some
    tokenizer = engine.load_ranks(path) if path.endswith(".tiktoken") else engine.load(path)
    encode = engine.calls(tokenizer, 1).get("allow_text") if job["special"] else None
    with Path(job["output"]).open("w", encoding="utf-8") as lines:
        for name, file in {"read": None, **job["texts"]}.items():
            try:
                data = b"" if file is None else Path(file).read_bytes()
                ids = encode(data) if encode else engine.encode(tokenizer, data)
                found = digest_and_save(ids, None)["digest"]
            except BaseException as error:  # a Rust panic derives from it; the next text may be encoded
                found = f"refused: {type(error).__name__}"
            print(name, found, sep="\t", file=lines, flush=True)
    return {"seconds": {}}


def _ids(engine: Engine, job: Answer) -> Answer:
    """Write a digest of the ids of each string of a file."""
    tokenizer = engine.load(job["tokenizer"])
    strings = json.loads(Path(job["strings"]).read_bytes())
    found = [digest_and_save(engine.encode(tokenizer, text.encode()), None)["digest"] for text in strings]
    Path(job["output"]).write_text(json.dumps(found), "utf-8")
    return {"seconds": {}}


def _split(engine: Engine, job: Answer) -> Answer:
    data = Path(job["file"]).read_bytes()
    rule = job["rules"][job["rule"]]
    build, _, splitter = timed(engine.splitter, rule)
    rebuild, _, _ = timed(engine.splitter, rule)
    cold, processors, first = timed(engine.count_words, splitter, data)
    warm: list[float] = []
    while len(warm) < job["warm"] and sum(warm) < job["enough"]:
        again, used, count = timed(engine.count_words, splitter, data)
        if count != first:
            raise RuntimeError("a later pass counted other words than the first")
        warm.append(again)
        processors += used
    answer = {"processor_seconds": processors, "peak_bytes": _peak_bytes(), "bytes": len(data)}
    seconds = {"build": build, "rebuild": rebuild, "cold": cold, "warm": warm}
    return {**answer, "seconds": seconds, **digest_and_save(engine.word_ends(splitter, data), job.get("output"))}


def _adversarial(engine: Engine, job: Answer) -> Answer:
    english = Path(job["baseline"]).read_bytes()
    data = Path(job["file"]).read_bytes()
    path = job["tokenizer"]
    # Untimed: code is loaded and memory taken from the system here, not in the pass of whichever text comes first.
    _passes(engine, path, english, 1)
    base, _ = _passes(engine, path, english, job["warm"])
    answer, ids = _passes(engine, path, data, job["warm"])
    answer["baseline"] = {**base["seconds"], "bytes": len(english)}
    return {**answer, "bytes": len(data), **digest_and_save(ids, job.get("output"))}


_TASKS: dict[str, Callable[[Engine, Answer], Answer]] = {
    "prepare": _prepare,
    "train": timed_training,
    "encode": _encode,
    "calls": _calls,
    "chat": _chat,
    "startup": _startup,
    "adversarial": _adversarial,
    "split": _split,
    "growing": _growing,
    "limits": _limits,
    "requests": _requests,
    "coverage": _coverage,
    "ids": _ids,
}
