"""Fuzz what reads files, patterns, templates, texts and ids of strangers, with coverage (Atheris); a campaign goes on.

    pip install atheris
    python tools/fuzz.py gguf --seconds 600     # one target; inputs that reach new code are kept in the folder fuzz
    python tools/fuzz.py campaign --hours 8     # all targets in turn, a tenth with checked kernels; can be stopped
    python tools/fuzz.py --list                 # the targets, with the executions and the coverage so far

A target takes bytes and may raise `SubwordsError`, a warning or nothing else. What else happens, a difference between
two ways to one result, a crash, more than 60 seconds or 2 GB, is a finding: its input is left in the folder fuzz.
`campaign` begins with the inputs of tests/data/fuzz, and leaves the smallest ones there that reach all that is reached.
tests/unit/test_fuzz.py runs them without Atheris.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import pkgutil
import random
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tools.fuzz_files import (  # noqa: E402
    ROW,
    change_counts,
    change_note,
    corpus_of,
    corpus_seeds,
    counts_of,
    counts_seeds,
    folder_of,
    folder_seeds,
    gguf_of,
    kept_of,
    list_seeds,
    listed,
    note,
    note_seeds,
    reader,
    row_seeds,
    rows,
    tekken_file,
    tekken_seeds,
    tokens_of,
    tokens_seeds,
)
from tools.fuzz_inputs import SNIPPETS, change_json, change_model, change_text, changes_of, file_of, short, trained  # noqa: E402
from tools.fuzz_programs import program_seeds, programs  # noqa: E402
from tools.fuzz_texts import (  # noqa: E402
    JINJA,
    PATTERN,
    chat,
    chat_seeds,
    decoding,
    growing,
    healing,
    parts,
    pattern_of,
    patterns,
    streams,
    template,
    templates,
    text_seeds,
    texts,
)

KEPT = ROOT / "tests" / "data" / "fuzz"  # one file for each target, one input in each line; and the table
MOST_KEPT = 14_000  # bytes of such a file
MEMORY = Path("/dev/shm")  # files there take a third of the time
CHECKED = {"SUBWORDS_KERNELS": "checked", "NUMBA_OPT": "0"}
COMPILE = ROOT / "tests" / "programs" / "compile_kernels.py"  # a target that compiles takes up to 336 MB a kernel
MOST_MEMORY = 2048  # MB for one input
# MB for a process: Atheris 3 keeps every array that a traced comparison makes, and checked kernels are compiled in it.
MOST_OF_PROCESS = 6144
MOST_SEEDS = 40  # in a process: `programs` has 345, which take a quarter of an hour
COMPILING = 120  # seconds for checked kernels of a target, which no cache holds; on a busy machine


class Target(NamedTuple):
    """What takes bytes, the inputs that it begins with, the modules that are traced, and how an input is changed.

    change: None for bit by bit. longest: of an input, in bytes.
    """

    run: Callable[[bytes], None]
    seeds: Callable[[], Iterable[bytes]]
    modules: tuple[str, ...]
    change: Callable[[bytes, random.Random], bytes] | None = None
    longest: int = 4096


# ------------------------------------------------------------------ targets

_ENGINE = ("engine", "chat.pieces")
TARGETS = {
    "json": Target(
        reader("tokenizer.json"),
        lambda: (file_of(tok, "tokenizer.json") for tok in _small_tokenizers()),
        ("formats.hf", "formats.json_node", "spec", "normalize", "split.splitter", "engine.added_tokens"),
        change_json,
    ),
    "folder": Target(folder_of, folder_seeds, ("formats",), change_json),
    "model": Target(
        reader("spiece.model"),
        lambda: (file_of(tok, "a.model") for tok in _small_tokenizers("unigram")),
        ("formats.sentencepiece", "spec", "normalize", "models.unigram"),
        change_model,
    ),
    "gguf": Target(
        gguf_of, lambda: (file_of(tok, "a.gguf")[4:] for tok in _small_tokenizers("gguf")), ("formats.gguf",)
    ),
    "lists": Target(listed, list_seeds, ("formats", "spec.vocab"), None, 3000),
    "tekken": Target(tekken_file, tekken_seeds, ("formats.tiktoken", "formats.json_node", "spec"), change_json),
    "notes": Target(
        note,
        note_seeds,
        ("interop.lock", "adapt", "tokens", "scale.work", "normalize.resolve", "spec", "formats"),
        change_note,
    ),
    "counts": Target(counts_of, counts_seeds, ("corpus.counts",), change_counts),
    "tokens": Target(tokens_of, tokens_seeds, ("tokens",)),
    "kept": Target(
        kept_of, lambda: [b"\0", b"\0\1\1\1\1", b"\xff\7\0\0\1", b"\1\\9"], ("engine.kept", "kernels.stored")
    ),
    "rows": Target(rows, row_seeds, ("corpus",), changes_of(ROW, 2), 512),
    "corpus": Target(corpus_of, corpus_seeds, ("corpus",), None, 2048),
    "patterns": Target(
        pattern_of, patterns, ("split.pattern", "split.fallback", "split.finders"), changes_of(PATTERN, 0), 120
    ),
    "templates": Target(template, templates, ("chat",), changes_of(JINJA, 0), 1500),
    "programs": Target(programs, program_seeds, ("chat",), None, 16),
    "chat": Target(
        chat, chat_seeds, ("chat",), changes_of((*SNIPPETS, "[INST]", "<|im_start|>", "<|", "|>", "\0"), 2), 256
    ),
    "texts": Target(texts, text_seeds, _ENGINE, change_text, 256),
    "streams": Target(streams, text_seeds, _ENGINE, change_text, 256),
    "decoding": Target(decoding, text_seeds, ("engine.decode",), None, 64),
    "growing": Target(growing, text_seeds, _ENGINE, changes_of((*SNIPPETS, "\0~ab", "\0^a"), 2), 300),
    "parts": Target(parts, text_seeds, _ENGINE, change_text, 100),
    "healing": Target(healing, text_seeds, ("engine.healing",), change_text, 60),
}


def _small_tokenizers(kind: str = "") -> list[Any]:
    """Tokenizers with small files; kind: that a format can hold."""
    special = ["<unk>", "<s>", "</s>"]
    unigram = [short(algorithm="unigram", size=18), short(algorithm="unigram", normalizer="none", size=18)]
    if kind == "unigram":
        return unigram
    word = short(algorithm="wordpiece", size=24)
    if kind == "gguf":
        return [trained(splitter="gpt2", size=257), word, unigram[0]]
    chars = short(byte_level=False, alphabet="corpus", splitter="metaspace", special_tokens=special, unk_token="<unk>")
    return [*unigram, word, chars, short(algorithm="wordlevel", size=8), trained("low", splitter="gpt2", size=257)]


def inputs(name: str) -> list[bytes]:
    """Return the inputs of a target that are kept in tests/data/fuzz."""
    path = KEPT / f"{name}.txt"
    return [unwritten(line) for line in path.read_text("ascii").splitlines()] if path.exists() else []


def written(data: bytes) -> str:
    """Write an input as a line of ASCII: a JSON string, in which bytes that are not UTF-8 are lone surrogates."""
    return json.dumps(data.decode("utf-8", "surrogateescape"))


def unwritten(line: str) -> bytes:
    """Return the input that `written` wrote."""
    return str(json.loads(line)).encode("utf-8", "surrogateescape")


# ------------------------------------------------------------------ running


def fuzz(name: str, folder: Path | None, arguments: Sequence[str]) -> None:
    """Run libFuzzer on a target, in this process, which it ends; folder: where its first inputs are written."""
    import atheris

    target = TARGETS[name]
    traced = [f"subwords.{each}" for each in target.modules]
    # Atheris traces all of a package; and Numba compiles no kernel that is traced.
    files = (ROOT / "src" / "subwords" / "kernels").rglob("*.py")
    kernels = {".".join(path.relative_to(ROOT / "src").with_suffix("").parts) for path in files} - {*traced}
    with atheris.instrument_imports(include=traced, exclude=[*kernels], enable_loader_override=False):
        import subwords

        for each in pkgutil.walk_packages(subwords.__path__, "subwords."):  # these are imported when first used
            if f"{each.name}.".startswith(tuple(f"{module}." for module in traced)):
                importlib.import_module(each.name)
    seeds = [] if folder is None else [*target.seeds()]
    for number, seed in enumerate([*random.sample(seeds, min(len(seeds), MOST_SEEDS)), *inputs(name)]):
        if folder is not None and len(seed) <= target.longest:
            (folder / f"seed-{number}").write_bytes(seed)

    def change(data: bytes, most: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < 0.8:
            return target.change(data, rng)[:most]  # type: ignore[misc]
        return bytes(atheris.Mutate(data, most))

    gc.collect()
    gc.freeze()  # collections then take a third of the time
    slow = 60 if os.environ.get("SUBWORDS_KERNELS") != "checked" else 60 + 2 * COMPILING
    limits = [f"-rss_limit_mb={MOST_OF_PROCESS}", f"-timeout={slow}", f"-max_len={target.longest}"]
    atheris.Setup(
        [f"{sys.executable} {__file__} {name} --", *limits, "-print_final_stats=1", *arguments],
        target.run,
        custom_mutator=change if target.change else None,
    )
    atheris.Fuzz()


def run(name: str, folder: Path, seconds: float, *, checked: bool = False) -> dict[str, int]:
    """Fuzz a target in a process of its own; return its executions, seconds, edges and findings."""
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    if not checked:
        subprocess.run([sys.executable, COMPILE], env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, check=True)
    found = dict.fromkeys(("executions", "seconds", "edges", "findings"), 0)
    began = time.monotonic()
    while (left := seconds - (time.monotonic() - began)) >= 1 and found["findings"] < 3:
        options = [f"-max_total_time={int(left)}", f"-artifact_prefix={folder}/finding-{name}-"]
        started = time.monotonic()
        code, said = _process(name, [str(place), *options], checked=checked)
        edges = max(map(int, re.findall(r" cov: (\d+)", said)), default=0)
        ran = _ran(said)
        found["executions"] += ran
        found["seconds"] += round(time.monotonic() - started)
        found["edges"] = max(found["edges"], edges)
        found["findings"] += code != 0 and not _was_the_process(name, said, checked=checked)
        if code and not ran:
            raise SystemExit(f"{name} does not run:\n{said}")
    return found


def _was_the_process(name: str, said: str, *, checked: bool) -> bool:
    """Whether a process ran out of memory with an input that takes little alone; forget this input."""
    written = re.search(r"Test unit written to (.*)", said)
    if written is None or "out-of-memory" not in said:
        return False
    limit = MOST_OF_PROCESS if checked else MOST_MEMORY
    code, _ = _process(name, [written[1], f"-rss_limit_mb={limit}"], checked=checked)
    if code == 0:
        Path(written[1]).unlink()
    return code == 0


def _ran(said: str) -> int:
    """The executions that libFuzzer reports at its end, or reported last."""
    counts = re.findall(r"(?:^#|number_of_executed_units: )(\d+)", said, re.MULTILINE)
    return max(map(int, counts), default=0)


def _process(name: str, arguments: Sequence[str], *, checked: bool = False) -> tuple[int, str]:
    """Run libFuzzer on a target; return how it ended, and what it wrote, which is shown but for its counters."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as temporary:
        settings = {**os.environ, "SUBWORDS_TABLES": "off", "HF_HUB_OFFLINE": "1", "TMPDIR": temporary}
        settings |= CHECKED if checked else {}
        command, lines = [sys.executable, __file__, name, "--", *arguments], list[str]()
        process = subprocess.Popen(command, env=settings, stderr=subprocess.PIPE, text=True, errors="replace")
        for line in process.stderr or ():
            lines.append(line)
            if not line.startswith(("#", "INFO", "stat::", "MERGE")):
                sys.stderr.write(line)
        return process.wait(), "".join(lines)


def keep(name: str, folder: Path) -> None:
    """Leave those inputs of a target that reach all that is reached, and write the smallest to tests/data/fuzz."""
    place, least = folder / name, folder / f"{name}-merged"
    least.mkdir(exist_ok=True)
    code, said = _process(name, ["-merge=1", str(least), str(place)])
    files = sorted(least.iterdir(), key=lambda path: (path.stat().st_size, path.name))
    if code or not files:
        raise SystemExit(f"{name} cannot be merged:\n{said}")
    for path in place.iterdir():
        path.unlink()
    lines, size = list[str](), 0
    for path in files:
        line = written(path.read_bytes())
        path.rename(place / path.name)
        size += len(line) + 1
        if size <= MOST_KEPT:
            lines.append(line)
    least.rmdir()
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / f"{name}.txt").write_text("\n".join(sorted(lines, key=lambda line: (len(line), line))) + "\n", "ascii")


def campaign(names: Sequence[str], folder: Path, seconds: float) -> None:
    """Fuzz targets one after the other, a tenth of the time with checked kernels; add up what ran."""
    for name in names:
        usual = run(name, folder, 0.9 * seconds / len(names))
        checked = run(name, folder, 0.1 * seconds / len(names) + COMPILING, checked=True)
        keep(name, folder)
        table = read_table()
        row = table.setdefault(name, dict.fromkeys(COLUMNS, 0))
        row["executions"] += usual["executions"] + checked["executions"]
        row["checked"] += checked["executions"]
        row["seconds"] += usual["seconds"] + checked["seconds"]
        row["edges"] = max(row["edges"], usual["edges"])
        row["findings"] += usual["findings"] + checked["findings"]
        (KEPT / "campaign.json").write_text(json.dumps(dict(sorted(table.items())), indent=1) + "\n", "ascii")
        print(*(f"{key} {value}" for key, value in {"target": name, **usual}.items()), flush=True)


COLUMNS = ("executions", "checked", "seconds", "edges", "findings")


def read_table() -> dict[str, dict[str, int]]:
    """Return what ran so far, in all campaigns, by target."""
    path = KEPT / "campaign.json"
    found: dict[str, dict[str, int]] = json.loads(path.read_text("ascii")) if path.exists() else {}
    return found


def main() -> None:
    """Run what the command line says."""
    arguments, own = sys.argv[1:], list[str]()
    if "--" in arguments:  # a process of this program: a target and the options of libFuzzer
        own = arguments[arguments.index("--") + 1 :]
        warnings.simplefilter("ignore")
        merges = any(each.startswith("-merge") for each in own)
        fuzz(arguments[0], None if merges or not Path(own[0]).is_dir() else Path(own[0]), own)
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", nargs="?", choices=[*TARGETS, "campaign"])
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=[*TARGETS], help="those of a campaign")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--hours", type=float, help="instead of seconds")
    parser.add_argument("--corpus", type=Path, default=Path("fuzz"), help="the folder of inputs and findings")
    parser.add_argument("--checked", action="store_true", help="one target, with checked kernels")
    parser.add_argument("--list", action="store_true", help="the targets, and what ran so far")
    options = parser.parse_args()
    folder, seconds = options.corpus.resolve(), options.hours * 3600 if options.hours else options.seconds
    if options.list or options.target is None:
        table = read_table()
        print(f"| target | {' | '.join(COLUMNS)} |\n|:--|{'--:|' * len(COLUMNS)}")
        for name in dict.fromkeys([*TARGETS, *table]):
            print(f"| {name} | {' | '.join(f'{table.get(name, {}).get(column, 0):,}' for column in COLUMNS)} |")
    elif options.target == "campaign":
        campaign(options.targets, folder, seconds)
    else:
        print(run(options.target, folder, seconds, checked=options.checked))


if __name__ == "__main__":
    main()
