"""Options of commands, made from the fields of dataclasses: `Reading`, `Run`, and the settings of training."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from subwords.cli.console import (
    PLACE,
    as_options,
    choice,
    given,
    json_option,
    print_rows,
    print_values,
    quiet_option,
    utf8_argument,
)
from subwords.corpus.reading import Reading
from subwords.support.checks import Option, options_of
from subwords.support.errors import InputError
from subwords.support.render import printable

if TYPE_CHECKING:
    from subwords.scale.runners import Run
    from subwords.support.report import Report


_Function = TypeVar("_Function", bound=Callable[..., Any])
_NAMES = {"byte_level": "--character-level", "folder": "--parts", "keep": "--keep-parts"}

threads_option = click.option(
    "--threads", type=click.IntRange(min=1), metavar="N", help="Threads.  [default: one per processor]"
)


def add_options(function: _Function, options: Sequence[Callable[[Any], Any]]) -> _Function:
    """Return a function with options, in the order in which its help lists them."""
    for one in reversed(options):
        function = one(function)
    return function


class Command(click.Command):
    """A command with options that are made when they are first asked for: what they are made of is slow to import."""

    _params: list[Any]

    @property
    def params(self) -> list[click.Parameter]:
        """The arguments and options."""
        self._params = [one for some in self._params for one in (some() if callable(some) else [some])]
        return self._params

    @params.setter
    def params(self, params: list[Any]) -> None:
        """Set them; a function returns those that are made later."""
        self._params = params


command = partial(click.command, cls=Command)


def _later(make: Callable[[], list[click.Parameter]]) -> Callable[[_Function], _Function]:
    """Return a decorator that adds options which are made later."""

    def decorate(function: _Function) -> _Function:
        function.__dict__.setdefault("__click_params__", []).append(make)
        return function

    return decorate


def _flag(one: Option) -> str:
    return _NAMES.get(one.name, f"--{one.name.replace('_', '-')}")


def _made(one: Option, before: str = "", default: str | None = None) -> click.Parameter:
    """Return the option of a field; without it, the command gets None, or () where it may be repeated."""
    flag = _flag(one)
    shown = default or ("" if one.default in (None, False, True, "", ()) else str(one.default))
    how: dict[str, Any] = {"default": None, "help": before + one.text + (f"  [default: {shown}]" if shown else "")}
    if one.kind is bool:
        return click.Option([flag, one.name], is_flag=True, flag_value=not one.default, type=bool, **how)
    how["metavar"] = one.metavar
    if one.choices:
        how["type"] = choice(one.choices)
    elif one.kind is int:
        how |= {"type": click.IntRange(one.least, one.most), "metavar": one.metavar or "N"}  # type: ignore[arg-type]
    elif one.kind is float:
        how |= {"type": click.FloatRange(one.least, one.most), "metavar": one.metavar or "X"}
    else:
        how["type"] = PLACE if one.name == "folder" else utf8_argument
    if one.kind is list:
        how |= {"multiple": True, "default": ()}
    return click.Option([flag, one.name], **how)


reading_options = _later(lambda: [_made(one) for one in options_of(Reading)])


@_later
def run_options() -> list[click.Parameter]:
    """Return the fields of `subwords.scale.Run`."""
    from subwords.scale.runners import Run

    return [_made(one) for one in options_of(Run)]


def _rows() -> dict[str, list[tuple[str, Option]]]:
    """Return the settings of all algorithms by their names, each with the algorithms that have it."""
    from subwords.models.families import ALGORITHMS

    rows: dict[str, list[tuple[str, Option]]] = {}
    for name, family in ALGORITHMS.items():
        for one in options_of(family.settings):
            rows.setdefault(one.name, []).append((name, one))
    return rows


@_later
def family_options() -> list[click.Parameter]:
    """Return the settings of all algorithms."""
    found = list[click.Parameter]()
    for rows in _rows().values():
        (_, first), names = rows[0], [name for name, _ in rows]
        default = str(first.default) if first.default not in (None, False, True, "", ()) else None
        if other := [(name, one.default) for name, one in rows if one.default != first.default]:
            default = "; ".join([str(first.default or "none"), *(f"{value} for {name}" for name, value in other)])
        found.append(_made(first, "" if len(names) > 3 else f"{', '.join(names)}: ", default))
    return found


def given_settings(options: dict[str, Any]) -> dict[str, Any]:
    """Take the settings that were given out of a command's options."""
    return _given({name: options.pop(name) for name in _rows() if name in options})


def reading_from(options: dict[str, Any]) -> Reading | None:
    """Take the options of reading out of a command's options; None if none is given."""
    fields = _given({one.name: options.pop(one.name, None) for one in options_of(Reading)})
    with wrong_usage(click.get_current_context()):
        return Reading(**fields) if fields else None


def refuse_reading() -> None:
    """Raise UsageError for the first option of reading, where a command has counts, which are not read so."""
    context = click.get_current_context()
    for one in options_of(Reading):
        if given(context, one.name):
            raise click.UsageError(f"{_flag(one)} is for text, but these are counts")


def run_from(options: dict[str, Any], threads: int | None) -> Run | None:
    """Take the options of a run out of a command's options; None if there are none: the corpus is not sharded."""
    from subwords.scale.runners import Run

    fields = _given({one.name: options.pop(one.name, None) for one in options_of(Run)})
    return Run(threads=threads, **fields) if fields else None


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None and value != ()}


@contextmanager
def wrong_usage(context: click.Context) -> Iterator[None]:
    """Report options that do not fit together as wrong usage, in the words of the command line."""
    try:
        yield
    except InputError as error:
        raise click.UsageError(as_options(str(error), context.command)) from None


def print_waiting(run: Run | None, as_json: bool, quiet: bool) -> None:
    """Print that the shards of this rank are done, and that others are not."""
    if run is not None and (as_json or not quiet):
        print_values({"rank": run.rank, "saved": None if as_json else "not yet: waiting for other ranks"}, as_json)


# ---------------------------------------------------------------------------------------------------------------------
# The options of all commands that print tables of measurements.


def table_options(command: Callable[..., Report]) -> Callable[..., None]:
    """Add the options that say how a result is shown, and show the one that a command returns.

    The command gets its `progress` instead of --quiet. The command may set the exit status, as meta["exit"].
    """

    @wraps(command)
    def shown(latex: bool, as_json: bool, quiet: bool, **given: Any) -> None:
        found = command(progress=False if quiet else None, **given)
        _print_table(found, latex, as_json, quiet)
        context = click.get_current_context()
        context.exit(context.meta.get("exit", 0))

    options = [
        click.option(
            "--latex",
            is_flag=True,
            help="Print tables in LaTeX (package booktabs).  [default: aligned at a terminal, otherwise Markdown]",
        ),
        threads_option,
        quiet_option,
        json_option,
    ]
    return add_options(shown, options)


def _print_table(found: Report, latex: bool, as_json: bool, quiet: bool) -> None:
    """Print tables, aligned at a terminal, otherwise in Markdown; or in LaTeX or JSON. Notes go to standard error."""
    if as_json:
        click.echo(json.dumps(found.to_dict()))
    elif latex:
        click.echo(found.to_latex())
    elif sys.stdout.isatty():
        for number, (columns, rows, *_) in enumerate(found.tables()):
            click.echo("\n" if number else "", nl=False)
            print_rows(columns, _padded(columns, rows))
    else:
        click.echo(found.to_markdown())
    if not quiet:
        for note in found.notes():
            click.echo(note, err=True)


def _padded(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[list[str]]:
    """Return rows as text; columns of numbers have spaces before them, so that they end at one place."""
    from subwords.support.report import shown

    cells = [[printable(shown(value)) for value in row] for row in rows]
    for k, name in enumerate(columns):
        if all(not isinstance(row[k], str) for row in rows):
            width = max(len(name), *(len(row[k]) for row in cells))
            for row in cells:
                row[k] = row[k].rjust(width)
    return cells
