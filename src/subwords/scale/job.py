"""Jobs: a corpus counted or encoded in shards, resumed where it stopped, with the same result for any division."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from subwords.corpus.counts import WordCounts
from subwords.corpus.progress import progress as progress_line
from subwords.corpus.reading import Reading
from subwords.corpus.source import Source, files_and_texts
from subwords.corpus.sums import add_files
from subwords.errors import InputError
from subwords.resolve import NormalizerLike, SplitterLike
from subwords.resolve import splitter as make_splitter
from subwords.scale.runners import RUNNERS, local_runner
from subwords.scale.shards import Shard, shards_of
from subwords.scale.work import CountWork, Done, EncodeWork, Work, done_of
from subwords.sinks.manifest import Contents, Input, Manifest
from subwords.support.atomic import place_of
from subwords.support.checks import check_choice, check_instance, check_integer, check_strings
from subwords.support.limits import bytes_of, room_of
from subwords.support.locks import only_one
from subwords.support.remote import is_remote
from subwords.support.threads import in_threads, thread_count
from subwords.support.value import digest_of
from subwords.tokenizer import TokenizerLike, tokenizer_of
from subwords.training.count import normalizer_or_none, with_user_defined

__all__ = ["Run", "count_files", "encode_files"]

SHARD = 1 << 28  # bytes
ASKED = 16  # markers that an object store is asked for at once

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Run:
    """Where a job runs and how the corpus is divided. Every setting gives the same result.

    runner: "local" processes, "ray" tasks or "dask" tasks. workers: processes of this machine. threads: of each worker.
    memory: about what all processes of this machine, or each task of a cluster, may use: "2GB" or a number of bytes;
    counts that do not fit go to temporary files. address: of an existing cluster. shard_bytes: about the size of a
    shard on disk. rank, world_size: this process does every world_size-th shard, from number `rank` on; the last of
    these processes joins what all of them made. folder: where shards are kept until the job is done; None is `path`
    with the suffix .parts. It must be the same folder on all machines, or the URL of one. keep: leave it there.
    """

    runner: Literal["local", "ray", "dask"] = "local"
    workers: int | None = None
    threads: int | None = None
    memory: int | str | None = None
    address: str | None = None
    shard_bytes: int = SHARD
    rank: int | None = None
    world_size: int | None = None
    folder: str | PathLike[str] | None = None
    keep: bool = False

    def __post_init__(self) -> None:
        check_choice("runner", self.runner, RUNNERS)
        for name in ("workers", "threads"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), 1, 1024)
        check_integer("shard_bytes", self.shard_bytes, 1, 1 << 62)
        if self.memory is not None:
            bytes_of(self.memory)
        if (self.rank is None) != (self.world_size is None):
            raise InputError("expected `rank` and world_size together")
        if self.rank is not None and self.world_size is not None:
            check_integer("world_size", self.world_size, 1, 1 << 31)
            check_integer("rank", self.rank, 0, self.world_size - 1)
        if self.runner != "local" and (self.workers is not None or self.rank is not None):
            raise InputError(f"`workers`, `rank` and world_size are for runner local, not for {self.runner}")
        if self.runner == "local" and self.address is not None:
            raise InputError("`address` is for runners ray and dask")

    @property
    def room(self) -> int | None:
        """What is left of the memory for this process; None if it is not limited."""
        return None if self.memory is None else room_of(bytes_of(self.memory))

    def done(self, work: Work, shards: list[Shard], folder: Path) -> Iterator[Done]:
        """Do the work on all shards, or on those of this rank."""
        memory = None if self.memory is None else bytes_of(self.memory)
        if self.runner != "local":
            return RUNNERS[self.runner](self.address, self.threads or 1, memory)(work, shards, folder)
        run = local_runner(self.workers, self.threads, memory)
        if self.rank is not None:
            shards = shards[self.rank :: self.world_size]
        return run(work, shards, folder)


def _given(run: Run | None, reading: Reading | None) -> tuple[Run, Reading]:
    run, reading = Run() if run is None else run, Reading() if reading is None else reading
    check_instance("run", run, Run)
    check_instance("reading", reading, Reading)
    return run, reading


def count_files(
    source: Source,
    path: str | PathLike[str],
    *,
    splitter: SplitterLike = "gpt2",
    normalizer: NormalizerLike = None,
    special_tokens: tuple[str, ...] = (),
    user_defined: tuple[str, ...] = (),
    reading: Reading | None = None,
    run: Run | None = None,
    progress: bool | None = None,
) -> WordCounts | None:
    """Count the words of files in shards, and save the counts; None if other ranks have shards to do.

    The counts are those of `subwords.count`, byte for byte. See `Run` for who does it.
    """
    target, run, reading = place_of(path), *_given(run, reading)
    users = check_strings("user_defined", user_defined)
    rule, before = with_user_defined(make_splitter(splitter), normalizer_or_none(normalizer), users)
    identity = None if before is None else before.identity
    removed = check_strings("special_tokens", special_tokens)
    work = CountWork(reading, rule.identity, identity, removed)
    with _Job(work, source, target, work.reading, run) as job:
        done = job.finish(progress)
        if done is None:
            return None
        parts = [job.folder / f"{one.name}.part" for one in done]
        add_files(parts, target, threads=thread_count(run.threads), room=run.room)
        job.clean()
    return WordCounts.load(target)


def encode_files(
    tokenizer: TokenizerLike,
    source: Source,
    path: str | PathLike[str],
    *,
    format: str | None = None,
    dtype: str | None = None,
    bos: int | str | None = None,
    eos: int | str | None = None,
    shard_size: int | None = None,
    shuffle: int | None = None,
    special: Literal["text", "allow"] = "text",
    reading: Reading | None = None,
    run: Run | None = None,
    progress: bool | None = None,
) -> Manifest | None:
    """Encode files in shards to token files; None if other ranks have shards to do.

    The files are those of `Tokenizer.encode_files`, byte for byte. See `Run` for who makes them.
    """
    from subwords.sinks.flat import npy_blocks
    from subwords.sinks.formats import format_named
    from subwords.sinks.write import finish, with_ends, write_shards

    target, run, reading = place_of(path), *_given(run, reading)
    form = format_named(format, target)
    tokenizer = tokenizer_of(tokenizer)
    kind = form.dtype_for(tokenizer.vocab_size, dtype)
    first, last = tokenizer._id_of("bos", bos), tokenizer._id_of("eos", eos)
    check_choice("special", special, ("text", "allow"))
    work = EncodeWork(reading, tokenizer.spec, special)
    with _Job(work, source, target, work.reading, run) as job:
        done = job.finish(progress)
        if done is None:
            return None
        parts = (npy_blocks(job.folder / f"{one.name}.part") for one in done)
        ids = with_ends(chain.from_iterable(parts), first, last)
        made = write_shards(target, ids, form, kind, shard_size=shard_size, shuffle=shuffle)
        contents = Contents(
            format=form.name,
            dtype=kind.name,
            vocab_size=tokenizer.vocab_size,
            tokenizer=tokenizer.spec.digest,
            bos=first,
            eos=last,
            shuffle=shuffle,
            skipped=sum(one.skipped for one in done),
            replaced=sum(one.replaced for one in done),
            cut=sum(one.cut for one in done),
            inputs=tuple(Input(str(file), file.stat().st_size) for file in job.files),
        )
        manifest = Manifest(contents, tuple(made))
        finish(target, manifest)
        job.clean()
    return manifest


class _Job:
    """The shards of a corpus, and the folder where their files are; in `with`, no other job works in that folder."""

    def __init__(self, work: Work, source: Source, target: Path, reading: Reading, run: Run) -> None:
        files, texts = files_and_texts(source)
        if not files:
            raise InputError(f"source: expected files, which workers can read, not {type(texts).__name__}")
        _ = run.room  # too little memory is an error before anything is written
        self.files = files
        self.folder = target.with_name(f"{target.name}.parts") if run.folder is None else place_of(run.folder)
        self._work, self._run, self._held = work, run, ExitStack()
        if run.runner != "local" or (run.workers or 1) > 1:
            for place in (*files, self.folder):
                if getattr(place, "protocol", None) == "memory":
                    raise InputError(f"{place}: only this process sees it: leave out the workers")
        self.shards = shards_of(files, reading, size=run.shard_bytes)

    def __enter__(self) -> _Job:
        if self._run.rank is None:
            self._held.enter_context(only_one(self.folder))
        return self

    def __exit__(self, *error: object) -> None:
        self._held.close()

    def finish(self, progress: bool | None) -> list[Done] | None:
        """Process the missing shards; return all, or None while other ranks are working."""
        self.folder.mkdir(parents=True, exist_ok=True)
        sizes = {shard.number: shard.size for shard in self.shards}
        missing = [shard for shard, known in zip(self.shards, self._all_found(), strict=True) if known is None]
        total = sum(sizes.values())
        done = total - sum(shard.size for shard in missing) if self._run.rank is None else 0
        with progress_line(total, "shards", done=done, enabled=progress) as bar:
            for one in self._run.done(self._work, missing if self._run.rank is None else self.shards, self.folder):
                bar.advance(sizes[one.number])
        found = self._all_found()
        return None if None in found else [one for one in found if one is not None]

    def _all_found(self) -> list[Done | None]:
        return self._for_all(lambda shard: done_of(self._mark_of(shard), shard.number))

    def _for_all(self, what: Callable[[Shard], T]) -> list[T]:
        return in_threads(what, self.shards, ASKED if is_remote(self.folder) else 1)

    def _mark_of(self, shard: Shard) -> Path:
        return self.folder / f"{digest_of((self._work.digest, shard.pieces))[:24]}.json"

    def clean(self) -> None:
        """Delete the files of the shards, unless other ranks may still read them."""
        if not self._run.keep and self._run.rank is None:
            # Killed in between, the next job must find no mark without its file.
            self._for_all(lambda shard: self._mark_of(shard).unlink(missing_ok=True))
            if is_remote(self.folder):
                cast(Any, self.folder).remove_folder()
            else:
                shutil.rmtree(self.folder, ignore_errors=True)
