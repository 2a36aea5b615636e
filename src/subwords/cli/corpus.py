"""train and count: a corpus in, a tokenizer or counts out."""

from __future__ import annotations

_Command = TypeVar("_Command", bound=Callable[..., Any])

_PATH = click.Path(path_type=Path)
_COUNTING = ("splitter", "special_tokens", "documents", "errors")
_POSITIVE = click.IntRange(min=1)


def _together(*options: Callable[[_Command], _Command]) -> Callable[[_Command], _Command]:
    def apply(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return apply


_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
_counting_options = _together(
    click.option(
        "--splitter",
        type=Utf8(),
        metavar="NAME|REGEX",
        help="What words are: gpt2, or a regular expression.  [default: gpt2]",
    ),
    click.option(
        "--special",
        "special_tokens",
        type=Utf8(),
        multiple=True,
        metavar="TOKEN",
        help="A special token; text that spells it is not counted. May be repeated.",
    ),
    click.option(
        "--documents",
        type=click.Choice(["file", "line"]),
        help="No word goes beyond the end of a document.  [default: file]",
    ),
    click.option(
        "--errors",
        type=click.Choice(["strict", "replace"]),
        help="Invalid UTF-8 is an error, or is read as U+FFFD.  [default: strict]",
    ),
    click.option("--threads", type=_POSITIVE, metavar="N", help="Threads that count.  [default: one per processor]"),
    click.option("-q", "--quiet", is_flag=True, help="Print no summary and no progress."),
)


@main.command()
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option("-o", "--output", type=_PATH, required=True, metavar="FILE", help="The tokenizer.json to write.")
@click.option("--vocab-size", type=_POSITIVE, required=True, metavar="N", help="How many tokens, special ones and all.")
@_counting_options
@click.option("--character-level", is_flag=True, help="Start from the corpus's characters instead of bytes.")
@click.option(
    "--alphabet",
    type=click.Choice(["full", "corpus"]),
    default="full",
    show_default=True,
    help="Start from all 256 bytes, or from those of the corpus.",
)
@click.option(
    "--tie-break",
    type=click.Choice(["ids", "first", "bytes"]),
    default="ids",
    show_default=True,
    help="Of pairs equally frequent, merge the one with the smaller ids, that occurs first, or with the smaller bytes.",
)
@click.option("--min-frequency", type=click.IntRange(min=0), default=0, metavar="N", help="Merge no pair rarer than this.")
@click.option("--max-token-length", type=_POSITIVE, metavar="N", help="In bytes; with --character-level in characters.")
@click.option("--limit-alphabet", type=_POSITIVE, metavar="N", help="Keep only the N most frequent bytes or characters.")
@click.option("--unk-token", type=Utf8(), metavar="TOKEN", help="The special token that stands for all others.")
@_json_option
def train(
    sources: tuple[str, ...],
    output: Path,
    threads: int | None,
    quiet: bool,
    character_level: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Train a tokenizer on a corpus and save it as a tokenizer.json.

    SOURCE is a text file (also .gz or .zst), a folder of such files, a glob in quotes, or one file made by
    "subwords count".

    \b
    Example:
      subwords train "corpus/*.txt" --vocab-size 32000 --special "<|endoftext|>" -o tok.json
    """
    from subwords.bpe.train import BPESettings
    from subwords.training import train as train_tokenizer

    started = time.perf_counter()
    if output.suffix != ".json" and not output.is_dir():
        raise click.UsageError(f"-o: expected a file named .json, or a folder, not {output}")
    output = output / "tokenizer.json" if output.is_dir() else output
    check_output(output)
    counting = {name: options.pop(name) for name in _COUNTING}
    special_tokens = counting["special_tokens"]
    settings = {"byte_level": not character_level, "special_tokens": special_tokens, **options}
    BPESettings(**settings)
    progress = False if quiet else None
    if any(map(_is_counts, sources)):
        counts = _given_counts(sources, counting)
        splitter = counting["splitter"] or counts.provenance.splitter
    else:
        counts = _count(sources, counting, threads, progress)
        splitter = counting["splitter"] or "gpt2"
    tok = train_tokenizer(counts, splitter=splitter, progress=progress, **settings)
    tok.save(output)
    if tok.vocab_size < options["vocab_size"] and not quiet:
        click.echo(f"subwords: note: no pair is left to merge; {tok.vocab_size} tokens instead", err=True)
    learned = {"tokens": tok.vocab_size, "merges": len(tok.merges)}
    _summarize({**_counted(counts), **learned, **_ended(started, output)}, as_json, quiet)


@main.command()
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option("-o", "--output", type=_PATH, required=True, metavar="FILE", help="Where to; a .parquet file is Parquet.")
@click.option("--add", "adding", is_flag=True, help="The sources are files of counts: add them.")
@_counting_options
@_json_option
def count(
    sources: tuple[str, ...],
    output: Path,
    adding: bool,
    threads: int | None,
    quiet: bool,
    as_json: bool,
    **counting: Any,
) -> None:
    """Count the words of a corpus once, to train on the counts as often as you like.

    SOURCE is a text file (also .gz or .zst), a folder of such files, or a glob in quotes; with --add a file made by
    this command.

    \b
    Example:
      subwords count monday/ -o monday.bin
      subwords count --add monday.bin tuesday.bin -o both.bin
    """
    started = time.perf_counter()
    check_output(output)
    if adding:
        _refuse_counting_options(counting)
        counts = _add_counts(sources)
    elif found := next(filter(_is_counts, sources), None):
        raise click.UsageError(f"{found} holds counts, not text; --add adds counts")
    else:
        counts = _count(sources, counting, threads, False if quiet else None)
    counts.save(output)
    _summarize({**_counted(counts), **_ended(started, output)}, as_json, quiet)


def _count(sources: Sequence[str], counting: dict[str, Any], threads: int | None, progress: bool | None) -> WordCounts:
    from subwords.training import count as count_words

    options = {name: value for name, value in counting.items() if value is not None}
    return count_words([Path(source) for source in sources], threads=threads, progress=progress, **options)


def _is_counts(source: str) -> bool:
    from subwords.corpus.counts import MAGIC

    path = Path(source)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return path.suffix == ".parquet" or file.read(len(MAGIC)) == MAGIC


def _load_counts(source: str) -> WordCounts:
    from subwords.corpus.counts import WordCounts

    return WordCounts.load(source)


def _add_counts(sources: Sequence[str]) -> WordCounts:
    total = _load_counts(sources[0])
    for source in sources[1:]:
        try:
            total += _load_counts(source)
        except InputError as error:
            raise InputError(f"{source}: {error}") from None
    return total


def _given_counts(sources: Sequence[str], counting: dict[str, Any]) -> WordCounts:
    if len(sources) > 1:
        raise click.UsageError('expected text, or one file of counts; "subwords count --add" makes one of several')
    _refuse_counting_options({name: counting[name] for name in ("documents", "errors")})
    return _load_counts(sources[0])


def _refuse_counting_options(given: dict[str, Any]) -> None:
    for name in _COUNTING:
        if given.get(name):
            raise click.UsageError(f"--{name.removesuffix('_tokens')} is for text; these are counts")


def _counted(counts: WordCounts) -> dict[str, object]:
    return {"words": counts.total, "distinct": len(counts)}


def _ended(started: float, output: Path) -> dict[str, object]:
    return {"seconds": round(time.perf_counter() - started, 3), "saved": str(output)}


def _summarize(values: dict[str, object], as_json: bool, quiet: bool = False) -> None:
    if as_json:
        print_json(values)
    elif not quiet:
        print_values(values)
