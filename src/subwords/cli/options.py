"""Options of commands, made from the fields of dataclasses and the signatures of functions."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from importlib import import_module
from importlib.util import find_spec
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from subwords import Reading
from subwords.cli.console import (
    INPUT,
    PLACE,
    SIZE,
    SOURCE,
    TOKENIZER,
    as_options,
    check_output,
    choice,
    common_options,
    given,
    is_quiet,
    load_tokenizer,
    named_values,
    opt,
    print_rows,
    print_summary,
    source_argument,
    utf8_argument,
    wants_json,
)
from subwords.support.checks import Option, options_of
from subwords.support.errors import InputError
from subwords.support.files import place_of
from subwords.support.render import printable

if TYPE_CHECKING:
    from subwords import Tokenizer
    from subwords.scale.runners import Run


_Function = TypeVar("_Function", bound=Callable[..., Any])
_NAMES = {
    "byte_level": "--character-level",
    "folder": "--parts",
    "keep": "--keep-parts",
    "output": "--output-embeddings",
}
AT_LEAST_1 = click.IntRange(min=1)
threads_option = opt("--threads N", "Threads.  [default: one per processor]", AT_LEAST_1)


def add_options(function: _Function, options: Sequence[Callable[[Any], Any]]) -> _Function:
    """Return a function with options, in the order in which its help lists them."""
    for one in reversed(options):
        function = one(function)
    return function


class Command(click.Command):
    """A command with options that are made when they are first asked for: what they are made of is slow to import."""

    _params: list[Any]
    place = ""  # of the function that it is made from

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
    name = one.name.removesuffix("s") if one.kind is list else one.name
    return _NAMES.get(one.name, f"--{name.replace('_', '-')}")


def _made(one: Option, before: str = "", default: str | None = None) -> click.Parameter:
    """Return the option of a field or parameter; without it, the command gets None, or () if it may be repeated."""
    shown = default or ("" if one.default in (None, False, True, "", (), ...) else str(one.default))
    # A required option has no default: since Click 8.3, a default of None counts as given.
    how: dict[str, Any] = {"required": True} if one.default is ... else {"default": None}
    how["help"] = before + one.text + (f"  [default: {shown}]" if shown else "")
    if one.kind is bool:
        return click.Option([_flag(one), one.name], is_flag=True, flag_value=not one.default, type=bool, **how)
    how["metavar"] = one.metavar
    if one.choices:
        how["type"] = choice(one.choices)
    elif one.name in ("vocab_size", "count"):
        how |= {"type": SIZE, "metavar": "N"}
    elif one.kind is int:
        how |= {"type": click.IntRange(one.least, one.most), "metavar": one.metavar or "N"}  # type: ignore[arg-type]
    elif one.kind is float:
        how |= {
            "type": click.FLOAT if one.least is one.most is None else click.FloatRange(one.least, one.most),
            "metavar": one.metavar or "X",
        }
    else:
        how["type"] = PLACE if one.name == "folder" else INPUT if one.kind is Path else utf8_argument
    if one.kind is list:
        how |= {"multiple": True, "default": ()}
    return click.Option([_flag(one), one.name], **how)


reading_options = _later(lambda: [_made(one) for one in options_of(Reading)])


@_later
def run_options() -> list[click.Parameter]:
    """Return the fields of `subwords.scale.Run`."""
    from subwords.scale.runners import Run

    return [_made(one) for one in options_of(Run)]


def _rows() -> dict[str, list[tuple[str, Option]]]:
    """Return the settings of all algorithms by their names, each with the algorithms that have it."""
    from subwords.machine import ALGORITHMS

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
        if one.name in context.params and given(context, one.name):
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
        raise click.UsageError(as_options(str(error), context.command.params)) from None


def print_waiting(run: Run | None) -> None:
    """Print that the shards of this rank are done, and that others are not."""
    if run is not None:
        print_summary({"rank": run.rank, "saved": None if wants_json() else "not yet: waiting for other ranks"})


# ---------------------------------------------------------------------------------------------------------------------
# Commands made from functions: an option for each parameter, by its type, with the meaning that the docstring says.

# Meanings of parameters that docstrings leave to other functions and that are no settings of training.
_TEXTS = {
    "algorithm": "The algorithm of training.",
    "count": "The number of tokens.",
    "memory": "Approximate memory of the process, such as 2GB.",
    "normalizer": "How to normalize text first.",
    "seed": "The seed of random samples.",
    "special_tokens": "A special token.",
    "splitter": "How to split text into words.",
    "threads": "Threads.  [default: one per processor]",
    "vocab_size": "Number of tokens, special tokens included: 32000, or 32k.",
}
_METAVARS = {
    "against": "LIBRARY",
    "by": "COLUMN",
    "embeddings": "FILE[:TENSOR]",
    "limit": "AMOUNT",
    "memory": "AMOUNT",
    "normalizer": "NAME",
    "output": "FILE[:TENSOR]",
    "reference": "GROUP",
    "rules": "NAME",
    "scripts": "NAME",
    "special_tokens": "TOKEN",
    "splitter": "NAME|REGEX",
}


def _meanings(function: ast.FunctionDef) -> dict[str, str]:
    """Return what a docstring says of each parameter: the first clause after "name: ", or "name, name: "."""
    one = f"(?:{'|'.join(found.arg for found in [*function.args.args, *function.args.kwonlyargs])})"
    text = " ".join((ast.get_docstring(function) or "").split(">>>")[0].split())
    found = re.finditer(rf"(?<=[.:;)] )({one}(?:, {one})*): (?!as (?:in|there)\b)(.+?)(?=[.;](?: |$))", text)
    return {name: f"{match[2][0].upper()}{match[2][1:]}." for match in found for name in match[1].split(", ")}


def _function(place: str) -> tuple[ast.FunctionDef, dict[str, str]]:
    """Return the source of a function, and its module's aliases of types.

    Most of these modules import NumPy, which no help needs: they are not imported.
    """
    module, _, name = place.rpartition(".")
    spec = find_spec(f"subwords.{module}")
    nodes = ast.parse(spec.loader.get_source(spec.name)).body  # type: ignore[union-attr]
    aliases = [node for node in nodes if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript)]
    function = [node for node in nodes if isinstance(node, ast.FunctionDef) and node.name == name][-1]
    return function, {ast.unparse(node.targets[0]): ast.unparse(node.value) for node in aliases}


def parameters_of(place: str, like: str = "") -> list[Option]:
    """Return the parameters of a function below this package, such as "study.growth.sweep".

    like: another function, whose docstring explains the parameters that this one leaves out.
    """
    function, aliases = _function(place)
    parts, meanings = function.args, {**_TEXTS}
    for one in (_function(like)[0], function) if like else (function,):
        meanings |= _meanings(one)
    defaults = [*[None] * (len(parts.args) - len(parts.defaults)), *parts.defaults, *parts.kw_defaults]
    found = list[Option]()
    for argument, value in zip([*parts.args, *parts.kwonlyargs], defaults, strict=True):
        hint = ast.unparse(argument.annotation or ast.Name("Any"))
        default = ... if value is None else value.value if isinstance(value, ast.Constant) else None
        found.append(_of_parameter(argument.arg, aliases.get(hint, hint), default, meanings.get(argument.arg, "")))
    return found


def _of_parameter(name: str, hint: str, default: Any, text: str) -> Option:
    types = [kind for kind in hint.split(" | ") if kind != "None"]
    choices = ast.literal_eval(types[0].removeprefix("Literal")) if types[0].startswith("Literal[") else ()
    if name == "algorithm" and not choices:
        from subwords.machine import ALGORITHMS

        choices = [*ALGORITHMS]
    kind: type = {"bool": bool, "int": int, "float": float}.get(types[0], str) if len(types) == 1 else object
    if types[0].startswith(("Sequence[", "Iterable[")):
        kind, text = list, f"{text} May be repeated."
    elif "PathLike" in hint:
        kind = Path
    least = (0 if default not in (None, ...) else 1) if kind is int else None
    metavar = _METAVARS.get(name) if kind is not int else None
    if metavar is None and kind in (str, Path) and not choices:
        metavar = "FILE" if kind is Path else "TEXT"
    return Option(name, kind, default, text, tuple(choices), default is None, least, None, metavar)


class Adapter(NamedTuple):
    """How an argument of a function comes from the command line: its options, and its value from their values."""

    options: Sequence[Callable[[Any], Any]]
    value: Callable[[Call], Any]


class Call:
    """The call of a function by a command. options: the values of the command's options by their names."""

    def __init__(self, place: str, adapters: Mapping[str, Adapter], options: dict[str, Any]) -> None:
        self._place, self._adapters, self.options = place, adapters, options

    def take(self, name: str) -> Any:
        """Return an option that is not an argument of the function."""
        return self.options.pop(name)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that the first argument names."""
        return load_tokenizer(self.take("tokenizer"))

    @cached_property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the function that were given."""
        found = {name: adapter.value(self) for name, adapter in self._adapters.items()}
        return _given({**self.options, **found})

    def result(self) -> Any:
        """Call the function."""
        module, _, name = self._place.rpartition(".")
        return getattr(import_module(f"subwords.{module}"), name)(**self.arguments)


def command_of(
    place: str,
    *options: Callable[[Any], Any],
    texts: Mapping[str, str] | None = None,
    like: str = "",
    **adapters: Adapter,
) -> Callable[[Callable[[Call], object]], Command]:
    """Return a decorator that makes a command of a function; what is decorated runs the call and prints the result.

    place, like: as in `parameters_of`. options: those that are not parameters. texts: meanings that differ from the
    docstring's. adapters: of arguments that are made from other options; the usual arguments have one.
    """

    def decorate(run: Callable[[Call], object]) -> Command:
        used: dict[str, Adapter] = {}

        def make() -> list[click.Parameter]:
            found = list[click.Parameter]()
            for one in parameters_of(place, like):
                adapter = adapters.get(one.name) or _USUAL.get(one.name)
                if adapter is None:
                    text = (texts or {}).get(one.name) or one.text or _rows()[one.name][0][1].text
                    found.append(_made(one._replace(text=text)))
                else:
                    used[one.name] = adapter
                    found += [
                        made for some in _decorated(adapter.options) for made in (some() if callable(some) else [some])
                    ]
            for option in found:
                if isinstance(option, click.Option):
                    option.help = as_options(option.help or "", found).replace("`", "")
            return found

        def invoke(**values: Any) -> None:
            run(Call(place, used, values))

        params: list[Any] = [make, *_decorated([*options, common_options])]
        made = Command(run.__name__.replace("_", "-"), callback=invoke, params=params, help=cleandoc(run.__doc__ or ""))
        made.place = place
        return made

    return decorate


def _decorated(options: Sequence[Callable[[Any], Any]]) -> list[Any]:
    """Return the parameters that decorators add; functions return those that are made later."""

    def function() -> None: ...

    return [*reversed(getattr(add_options(function, options), "__click_params__", ()))]


def is_counts(source: str) -> bool:
    """Whether a source is a file of counts."""
    from subwords.machine import COUNTS_MAGIC

    path = place_of(source)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(COUNTS_MAGIC)) == COUNTS_MAGIC


def corpus_of(sources: Sequence[str], *, named: bool = False, counts: bool = True) -> Any:
    """Return sources for a function: a corpus, corpora by name, or counts, if they are one file of them.

    named: NAME=SOURCE is a corpus with a name. None without sources.
    """
    from subwords import WordCounts

    pairs = [name_and_place(source) if named else (None, source) for source in sources]
    if found := [place for _, place in pairs if is_counts(place)]:
        if not counts or len(sources) > 1:
            raise click.UsageError(f"{found[0]} holds counts: pass {'one file of counts, or ' * counts}text")
        refuse_reading()
        return WordCounts.load(found[0])
    names = [name for name, _ in pairs if name is not None]
    if 0 < len(names) < len(pairs):
        raise click.UsageError(f"expected NAME=SOURCE for all sources or for none, but only {names[0]!r} is named")
    if twice := [name for name in names if names.count(name) > 1]:
        raise click.UsageError(f"the name {twice[0]!r} is given twice")
    if names:
        return {name: source_argument([place]) for name, place in pairs}
    return source_argument(sources) if sources else None


def corpora(call: Call, name: str, flag: str = "") -> dict[str, Any] | None:
    """Return the corpora, or counts, of NAME=SOURCE; None without any."""
    named = named_values(flag or name, call.take(name))
    return {key: corpus_of([place]) for key, place in named.items()} or None


def name_and_place(value: str) -> tuple[str | None, str]:
    """Return the name and the place of NAME=PLACE; a place that exists is one, whatever it contains."""
    name, equals, place = value.partition("=")
    return (name, place) if name and equals and place and not Path(value).exists() else (None, value)


def sources(
    spec: str = "",
    text: str = "",
    *,
    name: str = "sources",
    named: bool = False,
    counts: bool = False,
    needed: bool = True,
) -> Adapter:
    """Return the adapter of a corpus: arguments, or a repeated option. named, counts: as in `corpus_of`."""
    if spec:
        option = opt(spec, text, utf8_argument, name, required=needed)
    else:
        shown = "[NAME=]SOURCE..." if named else "SOURCE..."
        option = click.argument(name, type=SOURCE, nargs=-1, required=True, metavar=shown)
    return Adapter([option], lambda call: corpus_of(call.take(name), named=named, counts=counts))


def taken(name: str, option: Callable[[Any], Any]) -> Adapter:
    """Return the adapter of an argument whose option is not made from the signature."""
    return Adapter([option], lambda call: call.take(name))


def tokenizer_at(name: str, *, loaded: bool = True) -> Adapter:
    """Return the adapter of an argument that names a tokenizer, which is loaded, or opened by the function itself."""
    option = click.argument(name, type=TOKENIZER)
    if name == "tokenizer" and loaded:
        return Adapter([option], lambda call: call.tokenizer)
    return Adapter([option], lambda call: load_tokenizer(call.take(name)) if loaded else call.take(name))


# The adapters of arguments that mean the same in all functions.
_USUAL = {
    "tokenizer": tokenizer_at("tokenizer"),
    "other": tokenizer_at("other"),
    "source": sources(),
    "reading": Adapter([reading_options], lambda call: reading_from(call.options)),
    "progress": Adapter([], lambda call: False if is_quiet() else None),
}


# ---------------------------------------------------------------------------------------------------------------------
# Tables of measurements.

latex_option = opt(
    "--latex", "Print tables in LaTeX (package booktabs).  [default: aligned at a terminal, otherwise Markdown]"
)


def print_report(call: Call, title: str = "") -> Any:
    """Print the tables of a result, and return it. title: that of its --plot."""
    latex, plot = call.take("latex"), call.options.pop("plot", None)
    if plot is not None:
        from subwords.study.plots import check_plot

        check_plot(plot)
        check_output(plot)
    found = call.result()
    if plot is not None:
        found.plot(title=title).savefig(plot)
    if wants_json():
        click.echo(json.dumps(found.to_dict()))
    elif latex:
        click.echo(found.to_latex())
    elif sys.stdout.isatty():
        for number, (columns, rows, *_) in enumerate(found.tables()):
            click.echo("\n" if number else "", nl=False)
            print_rows(columns, _padded(columns, rows))
    else:
        click.echo(found.to_markdown())
    for note in found.notes() if not is_quiet() else ():
        click.echo(note, err=True)
    return found


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
