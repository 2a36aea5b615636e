"""verify: whether a saved tokenizer gives the same ids in its own library."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from os import PathLike
from typing import TYPE_CHECKING

from subwords.compat.comparison import Difference, Side, Text, compare, texts_of
from subwords.compat.originals import Original, open_original
from subwords.compat.probes import probes
from subwords.corpus.progress import progress as show_progress
from subwords.corpus.reading import Reading, reading_of
from subwords.corpus.source import Source, source_size
from subwords.render.report import Report, Table
from subwords.support.atomic import place_of
from subwords.tokenizer import Tokenizer, TokenizerLike, tokenizer_of

if TYPE_CHECKING:
    from subwords.resolve import SplitterLike

__all__ = ["Verification", "verify"]


@dataclass(frozen=True)
class Verification(Report):
    """The result of `verify`: true if all ids are equal.

    library: the one that loaded the file, with its version. special: how special tokens spelled in a text were read,
    "allow" (found) or "text" (ordinary text), as the library does. texts: the number compared, probes included.
    tokens: those of the texts that are equal.
    """

    library: str
    special: str
    texts: int
    tokens: int
    difference: Difference | None = None

    def tables(self) -> list[Table]:
        """Return what was compared."""
        row = (self.library, "yes" if self else "no", self.texts, self.tokens)
        return [Table(("library", "equal", "texts", "ids"), [row], "Comparison with the original", "tab:verification")]

    def notes(self) -> list[str]:
        """Return the first difference."""
        return [] if self.difference is None else [f"First difference: {self.difference}"]

    def __bool__(self) -> bool:
        return self.difference is None


def verify(
    tokenizer: str | PathLike[str],
    source: Source | None = None,
    *,
    other: TokenizerLike | None = None,
    splitter: SplitterLike = None,
    special_ids: Mapping[str, int] | None = None,
    reading: Reading | None = None,
    progress: bool | None = None,
) -> Verification:
    r"""Load a saved tokenizer with its own library and compare ids, text by text, up to the first difference.

    tokenizer: a folder (transformers' AutoTokenizer), tokenizer.json (HF tokenizers), .model (SentencePiece), .tiktoken
    (tiktoken) or vocab.txt (HF's BertWordPieceTokenizer). source: files, folders, globs or an iterable of texts;
    each 256 KB of a file are a text, or with Reading(documents="line") each line with its "\n". Memory does not grow
    with the corpus. A fixed list of tricky texts and the spelled special tokens are always compared.
    other: what it must equal; by default what `load` reads from the same file. A rank file takes its splitter and
    special tokens from it, or from the options of these names.

    Templates are applied where the library applies them (tokenizer.json, folders, vocab.txt). Padding and truncation
    are off. Special tokens spelled in a text are found, except by SentencePiece, which reads them as ordinary text.
    Raises FormatError if either cannot load the file, InputError if the library is not installed, CorpusError for
    unreadable texts.

    >>> import tempfile
    >>> import subwords
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     subwords.train(["low lower lowest"] * 9, vocab_size=263).save(f"{folder}/tok.json")
    ...     bool(subwords.verify(f"{folder}/tok.json", ["so low"]))
    True
    """
    how = reading_of(reading)
    path = place_of(tokenizer, local=True)
    given = tokenizer if other is None else other
    ours = tokenizer_of(given, splitter=splitter, special_ids=special_ids).with_(padding=None, truncation=None)
    original = open_original(path, ours)
    total = None if source is None else source_size(source)
    # The texts of an iterable have no size in advance.
    with show_progress(total, "comparing", enabled=progress if source is not None else False) as bar:
        corpus: Iterable[Text] = ()
        if source is not None:
            corpus = texts_of(source, how, on_bytes=bar.advance)
        found = compare(chain(_probes(ours), corpus), *_sides(ours, original))
    return Verification(original.library, original.special, found.texts, found.tokens, found.difference)


def _probes(tok: Tokenizer) -> Iterator[Text]:
    for name, text in probes(tok.special_tokens):
        yield Text(text, f"probe ({name})")


def _sides(tok: Tokenizer, original: Original) -> tuple[Side, Side]:
    special, template = original.special, original.template

    def encode(texts: list[str]) -> Sequence[Sequence[int]]:
        return tok.encode_batch(texts, special=special, template=template).to_lists()

    def starts(text: str) -> Sequence[int]:
        return [start for start, _ in tok(text, special=special, template=template).spans.tolist()]

    def token(index: int) -> str:
        return tok.id_to_token(index) or ""

    return Side("subwords", encode, token, starts), Side(original.library, original.encode, original.token)
