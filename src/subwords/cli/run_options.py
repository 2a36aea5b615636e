"""The options that say who counts or encodes the shards of a corpus."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from subwords.cli.arguments import PLACE, choice
from subwords.cli.console import print_values

if TYPE_CHECKING:
    from subwords.scale.job import Run

__all__ = ["RUN", "print_waiting", "run_of", "run_options"]

_Command = TypeVar("_Command", bound=Callable[..., Any])

RUN = ("runner", "workers", "memory", "address", "shard_bytes", "rank", "world_size", "folder", "keep")


def run_options(command: _Command) -> _Command:
    """Add the fields of `subwords.scale.Run`."""
    options: list[Callable[[_Command], _Command]] = [
        click.option(
            "--runner",
            type=choice(["local", "ray", "dask"]),
            help="Who works on shards of the corpus: processes, Ray or Dask.  [default: this process, without shards]",
        ),
        click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Processes of this machine."),
        click.option(
            "--memory",
            metavar="AMOUNT",
            help="About what all processes may use together, such as 2GB; on a cluster, each task. What does not fit "
            "goes to temporary files.",
        ),
        click.option("--address", metavar="ADDRESS", help="With --runner ray or dask: of an existing cluster."),
        click.option(
            "--shard-bytes",
            type=click.IntRange(min=1),
            metavar="N",
            help="About how large a shard is.  [default: 2^28]",
        ),
        click.option(
            "--rank", type=click.IntRange(min=0), metavar="R", help="Array job: rank of this process (from 0)"
        ),
        click.option("--world-size", type=click.IntRange(min=1), metavar="N", help="Array job: number of processes."),
        click.option(
            "--parts",
            "folder",
            type=PLACE,
            metavar="FOLDER",
            help="Where shards are kept until all are done; a second run resumes from it.  [default: OUT.parts]",
        ),
        click.option(
            "--keep-parts",
            "keep",
            is_flag=True,
            default=None,
            help="Keep that folder, and the counts of train.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def run_of(options: dict[str, Any], threads: int | None) -> Run | None:
    """Take the options of a run out of a command's options; None if there are none: the corpus is not sharded."""
    given = {name: value for name in RUN if (value := options.pop(name)) is not None}
    if not given:
        return None
    from subwords.scale.job import Run

    return Run(threads=threads, **given)


def print_waiting(run: Run | None, as_json: bool, quiet: bool) -> None:
    """Print that the shards of this rank are done, and that others are not."""
    if run is not None and (as_json or not quiet):
        print_values({"rank": run.rank, "saved": None if as_json else "not yet: waiting for other ranks"}, as_json)
