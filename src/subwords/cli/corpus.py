"""train and count: read a corpus, write a tokenizer or word counts."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from subwords.cli.console import (
    PLACE,
    SIZE,
    SOURCE,
    check_output,
    check_target,
    choice,
    common_options,
    is_quiet,
    named_numbers,
    named_values,
    opt,
    output_option,
    print_rows,
    print_summary,
    print_values,
    source_argument,
    utf8_argument,
    wants_json,
)
from subwords.cli.options import (
    AT_LEAST_1,
    add_options,
    command,
    family_options,
    given_settings,
    is_counts,
    print_waiting,
    reading_from,
    reading_options,
    refuse_reading,
    run_from,
    run_options,
    threads_option,
    wrong_usage,
)
from subwords.support.errors import InputError, SubwordsWarning, TrainingError
from subwords.support.files import place_of

if TYPE_CHECKING:
    from subwords import WordCounts
    from subwords.scale.runners import Run


# ---------------------------------------------------------------------------------------------------------------------
# count --mix: word counts of several sources, with weights.

_Command = TypeVar("_Command", bound=Callable[..., Any])


MIXING = ("weights", "shares", "exponent", "max_bytes")

_MIX = (
    opt("--weight NAME=X...", "How often a source counts.", utf8_argument, "weights"),
    opt("--share NAME=X...", "The part of the text it is to be.", utf8_argument, "shares"),
    opt("--exponent X", "Shares in proportion to bytes ** X; 0: all equal.", click.FloatRange(0, 1)),
    opt(
        "--max-bytes AMOUNT|NAME=AMOUNT...",
        "The most bytes that all sources or one counts for: 100MB.",
        utf8_argument,
    ),
)


def mixed(
    sources: Sequence[str],
    weights: tuple[str, ...],
    shares: tuple[str, ...],
    exponent: float | None,
    max_bytes: tuple[str, ...],
) -> tuple[WordCounts, dict[str, int]]:
    """Return the mixture of files of counts, and how often each source counts."""
    from subwords import WordCounts
    from subwords.machine import mix_factors

    if bool(weights) + bool(shares) + (exponent is not None) > 1:
        raise click.UsageError("expected one of --weight, --share and --exponent, not several")
    found = dict[str, WordCounts]()
    for name, place in named_values("sources", sources).items():
        try:
            found[name] = WordCounts.load(place)
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
    one = len(max_bytes) == 1 and "=" not in max_bytes[0]
    most = max_bytes[0] if one else {**named_values("--max-bytes", max_bytes)} or None
    options: dict[str, Any] = {
        "weights": named_numbers("--weight", weights),
        "shares": named_numbers("--share", shares),
        "exponent": exponent,
        "max_bytes": most,
    }
    return WordCounts.mixed(found, **options), mix_factors(found, **options)


def _print_mixture(counts: WordCounts, factors: dict[str, int], output: Path) -> None:
    """Print how often each source counts."""
    if wants_json():
        print_values({"factors": factors, "words": counts.total, "distinct": len(counts), "saved": str(output)})
    elif not is_quiet():
        print_rows(["source", "times"], [[name, str(factor)] for name, factor in factors.items()])


# The options of `subwords.count` that are fixed once a file of counts exists.
_COUNTING = ("splitter", "normalizer", "special_tokens")
_NO_SETTINGS = ("algorithm", "template", "roles")


def _corpus_options(splitter: str, normalizer: str) -> Callable[[_Command], _Command]:
    """Return what adds the options that `train` and `count` share; their help names the defaults."""
    splitters = "How to split text into words: a name (o200k, cl100k, gpt2, bert, ...) or a regex."
    normalizers = "How to normalize text first: bert-uncased, bert-cased, nfc, nfkc, lowercase, ..., or none."
    options: list[Callable[[Any], Any]] = [
        opt("--splitter NAME|REGEX", f"{splitters}  [default: {splitter}]", utf8_argument),
        opt(
            "--digits",
            "Cut numbers first: into single digits, groups of two or three, or of three from the right.",
            choice(["1", "1-2", "1-3", "1-3-right"]),
        ),
        opt("--normalizer NAME", f"{normalizers}  [default: {normalizer}]", utf8_argument),
        opt(
            "--special-token TOKEN...",
            "A special token, removed from the text before counting. May be repeated.",
            utf8_argument,
            "special_tokens",
        ),
        reading_options,
        run_options,
        threads_option,
        common_options,
    ]
    return lambda function: add_options(function, options)


_training_options = _corpus_options(
    "o200k; bert for wordpiece; sentencepiece for unigram, mingram; whitespace for wordlevel",
    "none; bert-uncased for wordpiece; sentencepiece for unigram, mingram",
)


def _roles(context: click.Context, option: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str] | None:
    for pair in pairs:
        if "=" not in pair:
            raise click.BadParameter(f"expected ROLE=TOKEN, such as pad=<fill>, not {pair!r}")
    return dict(pair.split("=", 1) for pair in pairs) or None


@command()
@click.argument("sources", type=SOURCE, metavar="SOURCE...", nargs=-1, required=True)
@output_option(
    "The file to write: .json; .model for Unigram and --character-level; .tiktoken for BPE; .txt (vocab.txt) for "
    "WordPiece; .gguf; or a folder (that exists, or a name without a suffix)."
)
@opt("--vocab-size N", "Number of tokens, special tokens included: 32000, or 32k.", SIZE, required=True)
@opt(
    "--algorithm",
    "How to train: mingram makes a Unigram model of the fewest pieces.",
    choice(["bpe", "wordpiece", "unigram", "wordlevel", "mingram"]),
    default="bpe",
)
@family_options
@opt(
    "--min-documents N",
    "Train only on words that at least N documents have, so that each token is in at least N, too.",
    AT_LEAST_1,
)
@opt(
    "--template TEXT...",
    'Special tokens around a text: "<s> $A </s>". A second one is for pairs.  [default: BERT\'s for wordpiece]',
    utf8_argument,
    callback=lambda context, option, texts: [*texts] or "auto",
)
@opt(
    "--role ROLE=TOKEN...",
    "The role of a special token: pad=<fill>, kept in folders, .model and .gguf. Usual names need none. "
    "May be repeated.",
    utf8_argument,
    "roles",
    callback=_roles,
)
@_training_options
@click.pass_context
def train(
    context: click.Context,
    /,
    sources: tuple[str, ...],
    output: str,
    threads: int | None,
    **options: Any,
) -> None:
    """Train a tokenizer on a corpus and save it.

    SOURCE is a file, text, JSON Lines (both also .gz, .zst or .bz2), Parquet or Arrow, a folder of such files, a
    quoted glob, or one file written by "subwords count"; also by a URL, such as s3://bucket/corpus.

    \b
    Example:
      subwords train "corpus/*.txt" --vocab-size 32000 --special-token "<|endoftext|>" -o tok.json
      subwords train "corpus/*.txt" --algorithm wordpiece --vocab-size 30522 -o bert.json
      subwords train "corpus/*.txt" --algorithm unigram --vocab-size 32000 -o t5.model
    """
    from subwords import normalizer, splitter
    from subwords import train as train_tokenizer
    from subwords.machine import check_there, dry_run, family_settings, not_kept_whole, special_tokens_of, target_of

    started = time.perf_counter()
    run, reading, algorithm = run_from(options, threads), reading_from(options), options["algorithm"]
    _with_digits(options, sources, algorithm)
    target = target_of(output)
    _check_format(target.kind, target.path, algorithm, character_level=options["byte_level"] is False)
    settings = given_settings(options)
    settings |= {name: options[name] for name in ("algorithm", "vocab_size", "template", "roles")}
    with wrong_usage(context):
        settings["special_tokens"] = special_tokens_of(
            algorithm, options["special_tokens"] or None, settings.get("unk_token")
        )
        try:
            family_settings(algorithm, {name: value for name, value in settings.items() if name not in _NO_SETTINGS})
        except TrainingError:
            check_there(source_argument(sources))
            raise
    users, min_documents = settings.get("user_defined", ()), options["min_documents"]
    counting = {name: options[name] for name in ("splitter", "normalizer")}
    counts, names = _counts_or_rules(sources, counting, algorithm)
    rules: dict[str, Any] = {"splitter": splitter(names["splitter"]), "normalizer": normalizer(names["normalizer"])}
    if counts is not None and users:
        split, steps = not_kept_whole(users, rules["splitter"].rule, rules["normalizer"].steps)
        rules = {"splitter": splitter(split), "normalizer": normalizer(steps)}
    # Fail before hours of work if these options cannot be trained or saved.
    check_target(output, dry_run(**rules, **settings))
    progress, in_shards = False if is_quiet() else None, counts is None and run is not None
    if counts is None:
        every = {**rules, "special_tokens": settings["special_tokens"], "user_defined": users}
        every |= {"reading": reading, "document_frequencies": min_documents is not None or None}
        counts = _count(sources, every, threads, progress, run, target.path)
        if counts is None:  # other ranks have shards to do
            print_waiting(run)
            return
    elif run is not None and run != type(run)(threads=threads, memory=run.memory):
        raise click.UsageError("--workers and --runner apply to text; these files hold word counts: leave them out")
    with warnings.catch_warnings():
        if is_quiet():
            warnings.simplefilter("ignore", SubwordsWarning)
        memory = None if run is None else run.memory
        most: dict[str, Any] = {"memory": memory, "min_documents": min_documents}
        tok = train_tokenizer(counts, threads=threads, progress=progress, **most, **rules, **settings)
    tok.save(output)
    if in_shards:
        if run is not None and run.keep:
            counts.save(target.path.with_name(f"{target.path.name}.counts"))
        _remove_parts(run, target.path)
    learned = {"tokens": tok.vocab_size} | ({"merges": len(tok.merges)} if algorithm == "bpe" else {})
    _summarize(counts, learned, started, output)


@command()
@click.argument("sources", type=SOURCE, metavar="SOURCE...", nargs=-1, required=True)
@opt("-o, --output FILE", "The file to write.", PLACE, required=True)
@opt("--add", "The sources are files of counts: add them.", name="adding")
@opt("--mix", "The sources are NAME=COUNTS: mix them, each with a weight.", name="mixing")
@lambda function: add_options(function, _MIX)
@opt("--segmentation FILE", "Lines of `word TAB mor pheme s`: words are cut there, so that no merge crosses.", PLACE)
@opt(
    "--document-frequencies",
    "Also count the documents that have each word, for train --min-documents.",
    default=None,
)
@opt("--user-defined PIECE...", "A piece that train --user-defined keeps whole. May be repeated.", utf8_argument)
@_corpus_options("o200k", "none")
def count(
    sources: tuple[str, ...],
    output: Path,
    adding: bool,
    mixing: bool,
    segmentation: Path | None,
    threads: int | None,
    **counting: Any,
) -> None:
    """Count the words of a corpus once, for any number of training runs.

    SOURCE is a file, text, JSON Lines (both also .gz, .zst or .bz2), Parquet or Arrow, a folder of such files, or a
    quoted glob; with --add, a file written by this command, and with --mix, such files with names: each counts as
    often as --weight says, for the part of the text that --share says, or for at most --max-bytes. SOURCE and FILE may
    be URLs, such as s3://bucket/corpus.

    \b
    Example:
      subwords count monday/ -o monday.bin
      subwords count --add monday.bin tuesday.bin -o both.bin
      subwords count --mix en=english.bin de=german.bin --share en=0.7 --share de=0.3 -o mixed.bin
    """
    started = time.perf_counter()
    _with_digits(counting, [] if mixing else sources, "bpe")
    run, reading = run_from(counting, threads), reading_from(counting)
    mixture = {name: counting.pop(name) for name in MIXING}
    if not mixing and any(value not in (None, ()) for value in mixture.values()):
        raise click.UsageError("--weight, --share, --exponent and --max-bytes are for --mix")
    from subwords.machine import place_of_counts

    check_output(place_of_counts(output))
    if adding or mixing:
        if adding and mixing:
            raise click.UsageError("expected one of --add and --mix, not both")
        refuse_reading()
        _refuse_options(counting, (*_COUNTING, "user_defined", "document_frequencies"))
        if mixing:
            counts, factors = mixed(sources, **mixture)
            counts.save(output)
            _print_mixture(counts, factors, output)
            return
        counts = _added(sources)
    elif found := next(filter(is_counts, sources), None):
        raise click.UsageError(f"{found} holds counts, not text; use --add to add counts")
    else:
        found_counts = _count(
            sources, {**counting, "reading": reading}, threads, False if is_quiet() else None, run, output
        )
        if found_counts is None:  # other ranks have shards to do
            print_waiting(run)
            return
        counts = found_counts
    if segmentation is not None:
        counts = counts.segmented(segmentation)
    counts.save(output)
    if not adding:
        _remove_parts(run, output)
    _summarize(counts, {}, started, output)


def _check_format(kind: str, path: Path, algorithm: str, *, character_level: bool) -> None:
    others = {
        "bpe": [".model"] if character_level else [".tiktoken", ".gguf", "pair"],
        "wordpiece": [".txt", ".gguf"],
        "unigram": [".model", ".gguf"],
        "mingram": [".model", ".gguf"],
    }
    known = [".json", *others.get(algorithm, [])]
    if kind not in (*known, "folder"):
        suffixes = " or ".join(name for name in known if name != "pair")
        raise click.UsageError(f"-o: expected a name ending in {suffixes}, or a folder, not {path}")


def _with_digits(options: dict[str, Any], sources: Sequence[str], algorithm: str) -> None:
    """Let the splitter of the options cut numbers as --digits says."""
    from subwords import splitter
    from subwords.machine import ALGORITHMS

    digits = options.pop("digits")
    if digits is not None:
        if any(map(is_counts, sources)):
            raise click.UsageError("--digits is for text, but these are counts")
        options["splitter"] = splitter(options["splitter"] or ALGORITHMS[algorithm].splitter, digits=digits).identity


def _counts_or_rules(
    sources: Sequence[str], counting: dict[str, Any], algorithm: str
) -> tuple[WordCounts | None, dict[str, str]]:
    """Return the counts if the sources hold counts, otherwise None, and the names of the rules for words."""
    from subwords.machine import ALGORITHMS

    family = ALGORITHMS[algorithm]
    if not any(map(is_counts, sources)):
        normalizer = counting["normalizer"] or family.normalizer or "none"
        return None, {"splitter": counting["splitter"] or family.splitter, "normalizer": normalizer}
    if len(sources) > 1:
        raise click.UsageError('expected text, or one file of counts; "subwords count --add" joins several files')
    refuse_reading()
    counts = _load(sources[0])
    made = counts.provenance
    normalizer = made.normalizer or "none" if counting["normalizer"] is None else counting["normalizer"]
    return counts, {"splitter": counting["splitter"] or made.splitter, "normalizer": normalizer}


def _count(
    sources: Sequence[str],
    counting: dict[str, Any],
    threads: int | None,
    progress: bool | None,
    run: Run | None,
    path: Path,
) -> WordCounts | None:
    """Return the counts; None if other ranks have shards to do. The shards are kept beside `path`."""
    from subwords import count as count_words

    options = {name: value for name, value in counting.items() if value is not None}
    files = source_argument(sources)
    if run is None:
        found: WordCounts = count_words(files, threads=threads, progress=progress, **options)
        return found
    if "-" in sources:
        raise click.UsageError("shards are made of files: leave out --workers and --memory for standard input")
    if options.get("document_frequencies"):
        raise click.UsageError("--document-frequencies works in one process: leave out --memory, --workers, --runner")
    folder = path.with_name(f"{path.name}.parts") if run.folder is None else run.folder
    # Kept until the result is saved: a failure before does not lose the work.
    run = replace(run, folder=folder, keep=True)
    counts: WordCounts | None = count_words(files, run=run, progress=progress, **options)
    return counts


def _remove_parts(run: Run | None, path: Path) -> None:
    """Delete the shards of a result that is saved."""
    if run is not None and not run.keep and run.rank is None:
        from subwords.scale.job import remove_parts

        remove_parts(path.with_name(f"{path.name}.parts") if run.folder is None else place_of(run.folder))


def _added(sources: Sequence[str]) -> WordCounts:
    from subwords import WordCounts

    parts = [_load(source) for source in sources]
    for source, part in zip(sources, parts, strict=True):
        try:
            parts[0].check(part.provenance)
        except InputError as error:
            raise InputError(f"{source}: {error}") from None
    return WordCounts.joined(parts)


def _load(source: str) -> WordCounts:
    from subwords import WordCounts

    return WordCounts.load(source)


def _refuse_options(counting: dict[str, Any], names: Sequence[str]) -> None:
    for name in names:
        if counting[name] is not None and counting[name] != ():
            option = name.removesuffix("s").replace("_", "-")
            raise click.UsageError(f"--{option} is for text, but these are counts")


def _summarize(counts: WordCounts, learned: dict[str, int], started: float, output: str | Path) -> None:
    seconds = round(time.perf_counter() - started, 3)
    print_summary({"words": counts.total, "distinct": len(counts), **learned, "seconds": seconds, "saved": str(output)})
