"""Writes: the base of `Tokenizer` that turns a corpus into token files."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Literal, overload

from subwords.decodes import Decodes
from subwords.errors import InputError
from subwords.support.atomic import place_of
from subwords.support.checks import check_choice, check_integer

if TYPE_CHECKING:
    from subwords.corpus.reading import Reading
    from subwords.corpus.source import Source
    from subwords.engine.engine import Engine
    from subwords.scale.job import Run
    from subwords.sinks.manifest import Manifest

__all__ = ["Writes"]

Format = Literal["npy", "bin", "megatron", "parquet", "datatrove", "llmc"]

BLOCK = 1 << 21  # bytes of text that are encoded at once: 4 MB are 10 % slower, 512 KB 20 %
MOST = 1 << 62


class Writes(Decodes):
    """Encodes a corpus of any size to files, in bounded memory. Immutable."""

    if TYPE_CHECKING:

        @cached_property
        def _engine(self) -> Engine: ...

    @overload
    def encode_files(
        self,
        source: Source,
        path: str | PathLike[str],
        *,
        format: Format | None = ...,
        dtype: Literal["uint16", "uint32", "int32"] | None = ...,
        bos: int | str | None = ...,
        eos: int | str | None = ...,
        shard_size: int | None = ...,
        shuffle: int | None = ...,
        special: Literal["text", "error", "allow"] = ...,
        reading: Reading | None = ...,
        threads: int | None = ...,
        progress: bool | None = ...,
        run: None = None,
    ) -> Manifest: ...
    @overload
    def encode_files(
        self,
        source: Source,
        path: str | PathLike[str],
        *,
        format: Format | None = ...,
        dtype: Literal["uint16", "uint32", "int32"] | None = ...,
        bos: int | str | None = ...,
        eos: int | str | None = ...,
        shard_size: int | None = ...,
        shuffle: int | None = ...,
        special: Literal["text", "error", "allow"] = ...,
        reading: Reading | None = ...,
        threads: int | None = ...,
        progress: bool | None = ...,
        run: Run,
    ) -> Manifest | None: ...
    def encode_files(
        self,
        source: Source,
        path: str | PathLike[str],
        *,
        format: Format | None = None,
        dtype: Literal["uint16", "uint32", "int32"] | None = None,
        bos: int | str | None = None,
        eos: int | str | None = None,
        shard_size: int | None = None,
        shuffle: int | None = None,
        special: Literal["text", "error", "allow"] = "text",
        reading: Reading | None = None,
        threads: int | None = None,
        progress: bool | None = None,
        run: Run | None = None,
    ) -> Manifest | None:
        """Encode a corpus to token files, which `subwords.tokens.open` reads, and write their manifest beside them.

        source: as in `subwords.count`: text, JSON Lines, Parquet or Arrow files, folders, globs, texts, tables.
        format: npy, bin (raw ids), megatron, parquet, datatrove or llmc; None takes it from the suffix of `path`.
        dtype: None takes the smallest type of the format that holds the vocabulary. bos, eos: an id or a token before
        and after each document; none by default. shard_size: a file is full when a document ends that brings it to as
        many ids or more; then path-00000, path-00001, ... are written. shuffle: a seed; the documents of each file are
        shuffled by it. special: as in `encode`. reading: see `subwords.Reading`. threads: None for one per processor.
        run: encode files in shards, by several processes or machines (`subwords.scale.Run`), which have threads of
        their own; None is returned if other ranks have shards to do.

        The files are the same for any number of threads. Each appears complete or not at all. Files that an earlier
        manifest of this name lists, and that are not written again, are deleted, such as more shards. Raises
        InputError for invalid options and for a type that does not hold the vocabulary, CorpusError for a corpus that
        cannot be read.

        >>> import subwords, tempfile
        >>> tok = subwords.train(["ab ab"], vocab_size=258, special_tokens=["<end>"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     made = tok.encode_files(["ab", "ab ab"], f"{folder}/ids.npy", eos="<end>")
        ...     [ids.tolist() for ids in subwords.tokens.open(f"{folder}/ids.npy")]
        [[257, 0], [257, 221, 257, 0]]
        """
        from subwords.corpus.progress import progress as progress_line
        from subwords.corpus.read import read_blocks
        from subwords.corpus.reading import Tally, reading_of
        from subwords.corpus.source import source_size
        from subwords.engine.documents import encode_documents
        from subwords.sinks.formats import format_named
        from subwords.sinks.manifest import Contents
        from subwords.sinks.write import write_token_files
        from subwords.support.threads import thread_count

        target, how = place_of(path), reading_of(reading)
        check_choice("special", special, ("text", "error", "allow"))
        for name, value in (("shard_size", shard_size), ("shuffle", shuffle)):
            if value is not None:
                check_integer(name, value, int(name == "shard_size"), MOST)
        form = format_named(format, target)
        contents = Contents(
            format=form.name,
            dtype=form.dtype_for(self.vocab_size, dtype).name,
            vocab_size=self.vocab_size,
            tokenizer=self.spec.digest,
            bos=self._id_of("bos", bos),
            eos=self._id_of("eos", eos),
            shuffle=shuffle,
        )
        if run is not None:
            from subwords.scale.job import encoded_in_shards

            if threads is not None:
                raise InputError("`threads` is not for a run in shards: pass Run(threads=...)")
            with encoded_in_shards(self.spec, source, target, special, how, run, progress) as found:
                if found is None:
                    return None
                made = replace(contents, inputs=found.inputs)
                return write_token_files(target, found.blocks, form, made, tally=found.tally, shard_size=shard_size)
        tally, number = Tally(), thread_count(threads)
        with progress_line(source_size(source), "encoding", enabled=progress) as bar:
            blocks = read_blocks(source, how, block_size=BLOCK, on_bytes=bar.advance, tally=tally, threads=number)
            with closing(encode_documents(self._engine, blocks, special=special, threads=number)) as ids:
                return write_token_files(target, ids, form, contents, tally=tally, shard_size=shard_size)

    def _id_of(self, name: str, token: int | str | None) -> int | None:
        """Return the id of a token, given as such or by its text; InputError if there is none."""
        if token is None:
            return None
        found = self.token_to_id(token) if isinstance(token, str) else token
        if found is None or isinstance(found, bool) or not isinstance(found, int) or self.id_to_token(found) is None:
            raise InputError(f"expected {name} to be an id or a token of the vocabulary, not {token!r:.60}")
        return found
