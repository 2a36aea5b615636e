"""Count the words of a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from subwords.corpus.count import count_blocks
from subwords.corpus.counts import WordCounts
from subwords.corpus.progress import progress as progress_line
from subwords.corpus.read import read_blocks
from subwords.corpus.source import source_size
from subwords.errors import CorpusError
from subwords.resolve import NormalizerLike, SplitterLike
from subwords.resolve import normalizer as make_normalizer
from subwords.resolve import splitter as make_splitter
from subwords.split.splitter import Splitter
from subwords.support.checks import check_strings
from subwords.support.threads import thread_count

if TYPE_CHECKING:
    from subwords.corpus.source import Source
    from subwords.normalize.normalizer import Normalizer
    from subwords.normalize.pipeline import Pipeline

__all__ = ["count", "normalizer_or_none", "words_of"]

BLOCK = 1 << 20  # bytes per read; each thread holds a few blocks in memory


def count(
    source: Source,
    *,
    splitter: SplitterLike = "gpt2",
    normalizer: NormalizerLike = None,
    special_tokens: Sequence[str] = (),
    documents: Literal["file", "line"] = "file",
    errors: Literal["strict", "replace"] = "strict",
    threads: int | None = None,
    progress: bool | None = None,
) -> WordCounts:
    """Count the words of a corpus: files, a glob, a folder, or an iterable of str.

    documents: "file" makes each file (or text) a document, "line" each line; no word crosses documents.
    special_tokens: removed from the text before counting (W3). errors: invalid UTF-8 raises CorpusError with file and
    offset ("strict") or becomes U+FFFD ("replace"). threads: None for one per processor. progress: None shows a bar if
    standard error is a terminal.
    Hazard: a str is a path; put texts in a list.

    >>> import subwords
    >>> dict(subwords.count(["a cat, a dog"]))
    {b'a': 1, b' cat': 1, b',': 1, b' a': 1, b' dog': 1}
    """
    rule, before = make_splitter(splitter), normalizer_or_none(normalizer)
    special_tokens = check_strings("special_tokens", special_tokens)
    with progress_line(source_size(source), "counting", enabled=progress) as bar:
        blocks = read_blocks(source, documents=documents, errors=errors, block_size=BLOCK, on_bytes=bar.advance)
        counts = count_blocks(
            blocks, words_of(rule, before), special_tokens=special_tokens, threads=thread_count(threads)
        )
    if not len(counts):
        raise CorpusError("no text to count: every document is empty")
    return counts


def normalizer_or_none(rule: NormalizerLike) -> Normalizer | None:
    """Return the normalizer of a rule; None if it has no steps."""
    if rule is None:
        return None
    made = make_normalizer(rule)
    return made if made.steps else None


def words_of(rule: Splitter, before: Normalizer | None) -> Splitter | Pipeline:
    """Return the object that splits text into words: the splitter, with the normalizer before it if there is one."""
    if before is None:
        return rule
    from subwords.normalize.pipeline import Pipeline

    return Pipeline(before, rule)
