"""python -m benchmarks run: measure, print, keep with --record. python -m benchmarks page: make the pages again."""

from __future__ import annotations

import argparse
import datetime
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.definition import ENGINES, Definition, read_folder
from benchmarks.inputs import ROOT, Inputs
from benchmarks.page import RECORDS, write_pages
from benchmarks.process import Launcher, log
from benchmarks.record import save
from benchmarks.report import report
from benchmarks.run import Result, run
from benchmarks.summary import summarized

FOLDER = Path(__file__).resolve().parent


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0, or with --smoke 1 where an installed engine did not run or did not give the right result."""
    options = _parser().parse_args(arguments)
    if options.command == "page":
        write_pages()
        return 0
    definitions = _chosen(read_folder(FOLDER / "definitions" / ("smoke" if options.smoke else "")), options.only)
    launcher = Launcher(dict(options.python), node=options.node.absolute())
    results = []
    with tempfile.TemporaryDirectory(prefix="subwords-benchmarks-") as work:
        inputs = Inputs(options.data, Path(work), launcher)
        for definition in definitions:
            begin = time.monotonic()
            result = summarized(run(definition, inputs, launcher, rounds=options.rounds))
            log(f"{definition.name}: {(time.monotonic() - begin) / 60:.1f} minutes")
            print(report(result), end="\n\n", flush=True)
            results.append(result)
    if options.record:
        _record([result for result in results if "skipped" not in result], options)
    return int(options.smoke and _failures(results))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(required=True, dest="command")
    commands.add_parser("page", help="write BENCHMARKS.md and benchmarks/results from the records")
    command = commands.add_parser("run", help="measure and print tables")
    command.add_argument(
        "--only", action="append", metavar="NAME", help="this definition; may be repeated (default: all)"
    )
    command.add_argument("--rounds", type=_positive, metavar="N", help="rounds, instead of what the definitions say")
    command.add_argument(
        "--python", action="append", type=_python, default=[], metavar="ENGINE=PATH", help="an engine's Python"
    )
    command.add_argument(
        "--node", type=Path, default=ROOT, metavar="FOLDER", help="where node_modules has the libraries of JavaScript"
    )
    command.add_argument(
        "--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the development data"
    )
    kinds = command.add_mutually_exclusive_group()
    kinds.add_argument("--record", action="store_true", help="write benchmarks/records and all pages")
    kinds.add_argument("--smoke", action="store_true", help="a small text, one round: does everything installed run?")
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"expected a positive number, not {text!r}")
    return int(text)


def _python(text: str) -> tuple[str, str]:
    engine, equals, path = text.partition("=")
    if engine not in ENGINES or not equals:
        raise argparse.ArgumentTypeError(f"expected ENGINE=PATH with an engine of {', '.join(ENGINES)}; not {text!r}")
    if not (found := shutil.which(path)):
        raise argparse.ArgumentTypeError(f"expected a Python that can be run, not {path!r}")
    # Not resolved: a virtual environment is known by the link, not by what it points to.
    return engine, str(Path(found).absolute())


def _chosen(definitions: list[Definition], names: Sequence[str] | None) -> list[Definition]:
    known = [definition.name for definition in definitions]
    for name in names or ():
        if name not in known:
            sys.exit(f"expected --only to be one of {', '.join(known)}; not {name!r}")
    return [definition for definition in definitions if not names or definition.name in names]


def _record(results: list[Result], options: argparse.Namespace) -> None:
    date = datetime.datetime.now(datetime.UTC).date()
    for result in results:
        path = save(RECORDS, date, _command(result["name"], options), result)
        log(f"recorded in {path.parent.name}/{path.name}")
    write_pages()


def _command(name: str, options: argparse.Namespace) -> str:
    """The command that repeats one table; where its Pythons are is left to the reader."""
    rounds = ["--rounds", str(options.rounds)] if options.rounds else []
    pythons = [part for engine, _ in options.python for part in ("--python", f"{engine}=PYTHON")]
    node = ["--node", "NODE"] if options.node != ROOT else []
    return shlex.join(["python", "-m", "benchmarks", "run", "--only", name, *rounds, *pythons, *node, "--record"])


def _failures(results: list[Result]) -> bool:
    rows = [row for result in results for case in result.get("cases", ()) for row in case["engines"]]
    failed = [row for row in rows if row["status"] not in ("ok", "not installed", "no such call")]
    for row in failed:
        log(f"failed: {row['name']}: {row['status']}")
    return bool(failed) or any("skipped" in result for result in results)


if __name__ == "__main__":
    sys.exit(main())
