"""convert: a tokenizer file to another format, written only if the ids stay the same."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from subwords import Reading, Tokenizer, load
from subwords.interop.verify import (
    ComparedText,
    Difference,
    Differences,
    compare_ids,
    opened_texts,
    probes,
    side_of,
)
from subwords.machine import Source, TokenizerLike, reading_of, target_of, tokenizer_of, write_file
from subwords.support.checks import check_flag
from subwords.support.errors import FormatError, InputError
from subwords.support.files import place_of
from subwords.support.report import Report, Table

if TYPE_CHECKING:
    from subwords.machine import SplitterLike


_IDS = ("model", "normalizer", "splitter", "added_tokens")  # the parts that decide the ids of a text
_PARTS = ("template", "padding", "truncation", "chat_template", "inputs")
_GIVEN = ("splitter", "special_tokens")  # what a rank file leaves out


@dataclass(frozen=True)
class Conversion(Report):
    """The result of `convert`.

    path: what was written. same_parts: whether model, normalizer, splitter and added tokens are equal in both files; if
    not, the formats describe them differently, and the texts compared show that ids are equal. texts, tokens: what was
    compared. lost: other parts of the tokenizer that the new file does not hold or holds differently, such as
    "template".
    """

    path: Path
    same_parts: bool
    texts: int
    tokens: int
    lost: tuple[str, ...]
    different: int = 0
    difference: Difference | None = None

    def tables(self) -> list[Table]:
        """Return what was written and compared."""
        row = (str(self.path), "yes" if self.same_parts else "no", self.texts, self.tokens, self.different)
        columns = ("file", "same parts", "texts", "ids", "different texts")
        return [Table(columns, [row], "Conversion", "tab:conversion")]

    def notes(self) -> list[str]:
        """Return what the new file lacks, and the first difference."""
        notes = [f"Not in the new file: {', '.join(self.lost)}"] if self.lost else []
        return notes + ([] if self.difference is None else [f"First difference: {self.difference}"])


def convert(
    tokenizer: TokenizerLike,
    target: str | PathLike[str],
    *,
    source: Source | None = None,
    splitter: SplitterLike = None,
    special_ids: Mapping[str, int] | None = None,
    reading: Reading | None = None,
    allow_different: bool = False,
    progress: bool | None = None,
) -> Conversion:
    """Write a tokenizer, or its file, in the format of another name, if its ids stay the same.

    target: ends in .json, .model, .tiktoken, .gguf or .txt (vocab.txt), is vocab.json or merges.txt (both are written),
    or is a folder. The new file is loaded again and encodes a fixed list of tricky texts, and the texts of `source`
    (see `verify`), with special tokens found, and the fixed list also with special tokens read as text. Only if all ids
    are equal is the target written, atomically.
    splitter, special_ids: of a file without them, see `load`. A rank file and vocab.json hold neither: they must
    be given again when the target is loaded. allow_different: write also if ids of some texts differ, and count these;
    a SentencePiece model with a character map differs in tokenizer.json on rare texts, because HF applies the map to
    whole graphemes.
    Raises FormatError for a tokenizer that the new format cannot hold with the same ids, and for a source that cannot
    be read; InputError for another suffix.

    >>> import tempfile
    >>> import subwords
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     subwords.train(["low lower lowest"] * 9, vocab_size=263).save(f"{folder}/tok.json")
    ...     subwords.files.convert(f"{folder}/tok.json", f"{folder}/tok.tiktoken").lost
    ('splitter', 'special_tokens')
    """
    check_flag("allow_different", allow_different)
    how = reading_of(reading)
    written = target_of(target)
    path, is_folder = written.path, written.kind == "folder"
    if not isinstance(tokenizer, Tokenizer):
        _check_names(place_of(tokenizer, local=True), path)
    tok = tokenizer_of(tokenizer, "tokenizer", splitter=splitter, special_ids=special_ids)
    bare = written.kind in (".tiktoken", "pair")
    if bare:
        tok = _without_flag(tok)
    with tempfile.TemporaryDirectory() as folder:
        copy = f"{folder}/copy/" if is_folder else str(Path(folder, path.name))
        write_file(tok.spec, copy)
        again = _loaded(tok, Path(copy), bare)
        found = _compared(tok, again, opened_texts(source, how, progress), allow_different)
    if found.difference is not None and not allow_different:
        raise FormatError(
            f"{path}: nothing was written, because ids would change: {found.difference}; "
            "allow_different=True writes anyway"
        )
    write_file(tok.spec, target)
    same = all(getattr(tok.spec, name) == getattr(again.spec, name) for name in _IDS)
    lost = [*(_GIVEN if bare else ()), *_lost(tok, again)]
    return Conversion(path, same, found.texts, found.tokens, tuple(lost), found.different, found.difference)


def _check_names(source: Path, target: Path) -> None:
    try:
        same = source.exists() and target.exists() and source.samefile(target)
    except OSError as error:
        raise InputError(f"expected a file that can be written; {target}: {error.strerror}") from None
    if same:
        raise InputError(f"source and target are the same: {target}; choose another name")


def _without_flag(tok: Tokenizer) -> Tokenizer:
    """Return an equal tokenizer whose added tokens are not `normalized`, if it has no normalizer."""
    if tok.normalizer or not all(token.normalized for token in tok.spec.added_tokens):
        return tok
    return tok.with_(added_tokens=[replace(token, normalized=False) for token in tok.spec.added_tokens])


def _loaded(tok: Tokenizer, copy: Path, bare: bool) -> Tokenizer:
    """Load what was written, with what its format leaves out."""
    if not bare:
        return load(copy)
    return load(copy, splitter=tok.splitter, special_ids={token.content: token.id for token in tok.added_tokens})


def _compared(
    tok: Tokenizer, again: Tokenizer, corpus: AbstractContextManager[Iterator[ComparedText]], whole: bool
) -> Differences:
    """Compare the probes both ways to read special tokens, and the corpus with special tokens found."""
    probed = probes(tok.special_tokens)
    plain = compare_ids(probed, side_of(tok, "the source", "text"), side_of(again, "the new file", "text"), whole=whole)
    if plain.difference is not None and not whole:
        return plain
    with corpus as texts:
        sides = side_of(tok, "the source", "allow"), side_of(again, "the new file", "allow")
        return plain + compare_ids(chain(probed, texts), *sides, whole=whole)


def _lost(tok: Tokenizer, again: Tokenizer) -> list[str]:
    """Return the names of the parts that differ; files may spell equal decoders differently, so these are run."""
    lost = [name for name in _PARTS if getattr(tok.spec, name) != getattr(again.spec, name)]
    if tok.spec.foreign.chat_templates != again.spec.foreign.chat_templates:
        lost.append("additional_chat_templates")
    rows = [tok.encode(one.text) for one in probes(())]
    if tok.decode_batch(rows) != again.decode_batch(rows):
        lost.append("decoder")
    return [*lost, "roles"] if tok.roles != again.roles else lost
