"""Jobs: a corpus counted or encoded in shards, resumed where it stopped, with the same result for any division."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypedDict, TypeVar, cast

from subwords.corpus.columns import source_rows
from subwords.corpus.count import add_files
from subwords.corpus.counts import WordCounts, mapped_counts
from subwords.corpus.progress import progress as progress_line
from subwords.corpus.read import read_blocks
from subwords.corpus.reading import Reading, Tally, reading_of
from subwords.corpus.source import Source, files_and_texts, source_size
from subwords.engine.documents import encode_documents
from subwords.normalize.normalizer import Pipeline
from subwords.scale.runners import Run, memory_left, run_shards
from subwords.scale.work import (
    ChatWork,
    CorpusShard,
    CountWork,
    EncodeWork,
    ShardResult,
    ShardTask,
    done_of,
    shards_of,
)
from subwords.support.checks import check_choice, check_instance, check_integer
from subwords.support.errors import InputError, SubwordsWarning
from subwords.support.files import is_remote, only_one, place_of, scratch_folder
from subwords.support.threads import in_threads, thread_count
from subwords.support.value import digest_of
from subwords.tokens.formats import format_named, with_marks
from subwords.tokens.manifest import Contents, Input, Manifest
from subwords.tokens.write import write_token_files

if TYPE_CHECKING:
    from subwords.chat.chat import ChatOptions
    from subwords.engine.engine import Engine
    from subwords.spec.token_batch import TokenBlock
    from subwords.spec.tokenizer import TokenizerSpec
    from subwords.training.count import WordRules


ASKED = 16  # markers that an object store is asked for at once

T = TypeVar("T")


class Encoded(NamedTuple):
    """The ids of files that were encoded in shards, what was read, and from where."""

    blocks: Iterator[TokenBlock]
    tally: Tally
    inputs: tuple[Input, ...]


def count_in_shards(
    source: Source, reading: Reading, rules: WordRules, run: Run, progress: bool | None
) -> WordCounts | None:
    """Count the words of files in shards; None if other ranks have shards to do. The counts are mapped from a file."""
    words = rules.words
    before, rule = (words.normalizer, words.splitter) if isinstance(words, Pipeline) else (None, words)
    work = CountWork(reading, rule.identity, None if before is None else before.identity, rules.special_tokens)
    with _ShardJob(work, source, None, reading, run) as job:
        done = job.finish(progress)
        if done is None:
            return None
        parts = [job.folder / f"{one.name}.part" for one in done]
        counts = mapped_counts(
            lambda path: add_files(parts, path, threads=thread_count(run.threads), room=memory_left(run))
        )
        job.clean()
    return counts


@contextmanager
def encoded_in_shards(
    work: EncodeWork | ChatWork, source: Source, target: Path, run: Run, progress: bool | None
) -> Iterator[Encoded | None]:
    """Encode files in shards and yield their ids in order; None if other ranks have shards to do."""
    from subwords.tokens.formats import npy_blocks

    with _ShardJob(work, source, target, work.reading, run) as job:
        done = job.finish(progress)
        if done is None:
            yield None
            return
        blocks = chain.from_iterable(npy_blocks(job.folder / f"{one.name}.part") for one in done)
        tally = Tally(*(sum(getattr(one, name) for one in done) for name in ("skipped", "replaced", "cut")))
        yield Encoded(blocks, tally, tuple(Input(str(file), file.stat().st_size) for file in job.files))
        job.clean()


def remove_parts(folder: Path) -> None:
    """Delete the files of shards, the marks first: killed in between, the next job finds no mark without its file."""
    if is_remote(folder):
        place = cast(Any, folder)
        marks = [file for file in place.files_below() if file.suffix == ".json"]
        in_threads(lambda mark: mark.unlink(missing_ok=True), marks, ASKED)
        place.remove_folder()
        return
    for mark in folder.glob("*.json"):
        mark.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


class _ShardJob:
    """The shards of a corpus, and the folder where their files are; in `with`, no other job works in that folder."""

    def __init__(self, work: ShardTask, source: Source, target: Path | None, reading: Reading, run: Run) -> None:
        files, _ = files_and_texts(source)
        if not files:
            raise InputError(f"source: expected files, which workers can read, not {type(source).__name__}")
        check_instance("run", run, Run)
        self.files, _ = files, memory_left(run)  # too little memory is an error before anything is written
        self._work, self._run, self._held = work, run, ExitStack()
        self.folder = self._folder(target)
        if run.runner != "local" or (run.workers or 1) > 1:
            for place in (*files, self.folder):
                if getattr(place, "protocol", None) == "memory":
                    raise InputError(f"{place}: only this process sees it: leave out the workers")
        self.shards = shards_of(files, reading, size=run.shard_bytes)

    def _folder(self, target: Path | None) -> Path:
        if self._run.folder is not None:
            return place_of(self._run.folder)
        if target is not None:
            return target.with_name(f"{target.name}.parts")
        if self._run.rank is not None or self._run.runner != "local":
            raise InputError("expected a folder for the shards, which all processes see: pass Run(folder=...)")
        return self._held.enter_context(scratch_folder())

    def __enter__(self) -> _ShardJob:
        if self._run.rank is None:
            self._held.enter_context(only_one(self.folder))
        return self

    def __exit__(self, *error: object) -> None:
        self._held.close()

    def finish(self, progress: bool | None) -> list[ShardResult] | None:
        """Process the missing shards; return all, or None while other ranks are working."""
        self.folder.mkdir(parents=True, exist_ok=True)
        sizes = {shard.number: shard.size for shard in self.shards}
        missing = [shard for shard, known in zip(self.shards, self._all_found(), strict=True) if known is None]
        total = sum(sizes.values())
        done = total - sum(shard.size for shard in missing) if self._run.rank is None else 0
        shards = missing if self._run.rank is None else self.shards
        if (self._run.workers or 0) > len(self.shards):
            warnings.warn(
                f"{self._run.workers} workers, but the corpus is {len(self.shards)} shard(s) of {total:,} bytes, and a "
                f"worker takes one at a time: for more, set shard_bytes below {total // (self._run.workers or 1):,}",
                SubwordsWarning,
                stacklevel=2,
            )
        with progress_line(total, "shards", done=done, enabled=progress) as bar:
            for one in run_shards(self._run, self._work, shards, self.folder):
                bar.advance(sizes[one.number])
        found = self._all_found()
        return None if None in found else [one for one in found if one is not None]

    def _all_found(self) -> list[ShardResult | None]:
        return self._for_all(lambda shard: done_of(self._mark_of(shard), shard.number))

    def _for_all(self, what: Callable[[CorpusShard], T]) -> list[T]:
        return in_threads(what, self.shards, ASKED if is_remote(self.folder) else 1)

    def _mark_of(self, shard: CorpusShard) -> Path:
        return self.folder / f"{digest_of((self._work.digest, shard.pieces))[:24]}.json"

    def clean(self) -> None:
        """Delete the files of the shards, unless other ranks may still read them."""
        if not self._run.keep and self._run.rank is None:
            remove_parts(self.folder)


# ---------------------------------------------------------------------------------------------------------------------
# encode_corpus: a corpus of any size to token files, in bounded memory.

Format: TypeAlias = Literal["npy", "bin", "megatron", "parquet", "datatrove", "llmc"]

BLOCK = 1 << 21  # bytes of text that are encoded at once: 4 MB are 10 % slower, 512 KB 20 %
MOST_VALUE = 1 << 62


class EncodeOptions(TypedDict, total=False):
    """Options of `Tokenizer.encode_files`."""

    format: Format | None
    dtype: Literal["uint16", "uint32", "int32"] | None
    bos: int | str | None
    eos: int | str | None
    shard_size: int | None
    shuffle: int | None
    special: Literal["text", "error", "allow"]
    chat: bool | ChatOptions
    pack: int | None
    reading: Reading | None
    threads: int | None
    progress: bool | None


def encode_corpus(
    engine: Engine,
    spec: TokenizerSpec,
    source: Source,
    path: str | PathLike[str],
    *,
    format: str | None,
    dtype: str | None,
    bos: int | str | None,
    eos: int | str | None,
    shard_size: int | None,
    shuffle: int | None,
    special: str,
    chat: bool | ChatOptions,
    pack: int | None,
    reading: Reading | None,
    threads: int | None,
    progress: bool | None,
    run: Run | None,
) -> Manifest | None:
    """Encode a corpus with the engine of a spec; see `Tokenizer.encode_files`."""
    target, how = place_of(path), reading_of(reading)
    check_choice("special", special, ("text", "error", "allow"))
    for name, value, least in (("shard_size", shard_size, 1), ("shuffle", shuffle, 0), ("pack", pack, 1)):
        if value is not None:
            check_integer(name, value, least, MOST_VALUE)
    form = format_named(format, target)
    conversations = chat is not False
    if pack is not None and not conversations:
        raise InputError("pack needs chat=True: it is the number of ids in a row of conversations")
    contents = Contents(
        format=form.name,
        dtype=form.dtype_for(len(spec.model.vocab), dtype).name,
        vocab_size=len(spec.model.vocab),
        tokenizer=spec.digest,
        bos=spec.checked_id("bos", bos),
        eos=spec.checked_id("eos", eos),
        shuffle=shuffle,
        masked=conversations,
        pack=pack,
        pad=None if pack is None else _pad_of(spec),
    )
    work: EncodeWork | ChatWork = EncodeWork(how, spec, special)
    if conversations:
        work = _chat_work(how, spec, chat, {"bos": bos, "eos": eos, "special": None if special == "text" else special})
        form = with_marks(form, contents)
    if run is not None:
        if threads is not None:
            raise InputError("`threads` is not for a run in shards: pass Run(threads=...)")
        with encoded_in_shards(work, source, target, run, progress) as found:
            if found is None:
                return None
            made = replace(contents, inputs=found.inputs)
            return write_token_files(target, found.blocks, form, made, tally=found.tally, shard_size=shard_size)
    tally, number = Tally(), thread_count(threads)
    with progress_line(source_size(source), "encoding", enabled=progress) as bar:
        if isinstance(work, ChatWork):
            rows = source_rows(source, work.dataset.columns, how, tally, bar.advance)
            encoded = work.dataset.blocks(rows, how, tally, number)
        else:
            blocks = read_blocks(source, how, block_size=BLOCK, on_bytes=bar.advance, tally=tally, threads=number)
            encoded = encode_documents(engine, blocks, special=special, threads=number)
        with closing(encoded) as ids:
            return write_token_files(target, ids, form, contents, tally=tally, shard_size=shard_size)


def _pad_of(spec: TokenizerSpec) -> int:
    """Return the id at the end of rows."""
    roles = spec.role_ids
    for role in ("pad", "eos"):
        if role in roles:
            return roles[role]
    raise InputError('rows are filled with a token of the role pad or eos: use tok.with_(roles={"pad": ...})')


def _chat_work(
    reading: Reading, spec: TokenizerSpec, chat: bool | ChatOptions, others: Mapping[str, object]
) -> ChatWork:
    """Return what encodes conversations; InputError for options that do not apply."""
    if chat is not True and not isinstance(chat, Mapping):
        raise InputError(f"expected chat as True or as a dict of options, not {chat!r:.60}")
    for name, value in others.items():
        if value is not None:
            raise InputError(f"{name} does not apply to conversations: the chat template writes all special tokens")
    usual = Reading(text_column=reading.text_column, errors=reading.errors)
    for name in Reading.__dataclass_fields__:
        if getattr(reading, name) != getattr(usual, name):
            raise InputError(f"Reading({name}=...) does not apply to conversations: only text_column and errors do")
    try:
        options = json.dumps({} if chat is True else dict(chat), sort_keys=True)
    except (TypeError, ValueError) as error:
        raise InputError(f"expected options of chat as JSON data: {error}") from None
    work = ChatWork(reading, spec, options)
    _ = work.dataset  # raises InputError
    return work
