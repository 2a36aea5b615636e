"""Writes: the base of `Tokenizer` that turns a corpus into token files."""

from __future__ import annotations

from contextlib import closing
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Literal

from subwords.decodes import Decodes
from subwords.errors import InputError
from subwords.support.atomic import place_of
from subwords.support.checks import check_choice, check_integer

if TYPE_CHECKING:
    from subwords.corpus.source import Source
    from subwords.engine.engine import Engine
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
        documents: Literal["file", "line"] = "file",
        separator: str | None = None,
        text_column: str = "text",
        max_document_bytes: int | None = None,
        errors: Literal["strict", "replace", "skip"] = "strict",
        special: Literal["text", "error", "allow"] = "text",
        threads: int | None = None,
        progress: bool | None = None,
    ) -> Manifest:
        """Encode a corpus to token files, which `subwords.tokens.open` reads, and write their manifest beside them.

        source: as in `subwords.count`: text, JSON Lines, Parquet or Arrow files, folders, globs, texts, tables.
        format: npy, bin (raw ids), megatron, parquet, datatrove or llmc; None takes it from the suffix of `path`.
        dtype: None takes the smallest type of the format that holds the vocabulary. bos, eos: an id or a token before
        and after each document; none by default. shard_size: a file is full when a document ends that brings it to as
        many ids or more; then path-00000, path-00001, ... are written. shuffle: a seed; the documents of each file are
        shuffled by it. documents, separator, text_column, max_document_bytes, errors: see `subwords.count`. special: as
        in `encode`. threads: None for one per processor.

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
        from subwords.corpus.reading import Reading, Tally
        from subwords.corpus.source import source_size
        from subwords.engine.documents import encode_documents
        from subwords.sinks.formats import format_named
        from subwords.sinks.manifest import Contents, Manifest
        from subwords.sinks.write import finish, with_ends, write_shards
        from subwords.support.threads import thread_count

        target = place_of(path)
        check_choice("special", special, ("text", "error", "allow"))
        for name, value in (("shard_size", shard_size), ("shuffle", shuffle)):
            if value is not None:
                check_integer(name, value, int(name == "shard_size"), MOST)
        reading = Reading(
            documents=documents,
            separator=separator,
            text_column=text_column,
            max_document_bytes=max_document_bytes,
            errors=errors,
        )
        form = format_named(format, target)
        kind = form.dtype_for(self.vocab_size, dtype)
        first, last = self._id_of("bos", bos), self._id_of("eos", eos)
        tally, number = Tally(), thread_count(threads)
        with progress_line(source_size(source), "encoding", enabled=progress) as bar:
            blocks = read_blocks(source, reading, block_size=BLOCK, on_bytes=bar.advance, tally=tally, threads=number)
            with closing(encode_documents(self._engine, blocks, special=special, threads=number)) as ids:
                shards = write_shards(
                    target, with_ends(ids, first, last), form, kind, shard_size=shard_size, shuffle=shuffle
                )
        contents = Contents(
            format=form.name,
            dtype=kind.name,
            vocab_size=self.vocab_size,
            tokenizer=self.spec.digest,
            bos=first,
            eos=last,
            shuffle=shuffle,
            skipped=tally.skipped,
            replaced=tally.replaced,
            cut=tally.cut,
        )
        manifest = Manifest(contents, tuple(shards))
        finish(target, manifest)
        return manifest

    def _id_of(self, name: str, token: int | str | None) -> int | None:
        """Return the id of a token, given as such or by its text; InputError if there is none."""
        if token is None:
            return None
        found = self.token_to_id(token) if isinstance(token, str) else token
        if found is None or isinstance(found, bool) or not isinstance(found, int) or self.id_to_token(found) is None:
            raise InputError(f"expected {name} to be an id or a token of the vocabulary, not {token!r:.60}")
        return found
