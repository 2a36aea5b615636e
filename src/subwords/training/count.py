"""Count the words of a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from subwords.components.space_rule import kept_whole
from subwords.corpus.count import count_blocks, count_blocks_to
from subwords.corpus.counts import WordCounts, mapped_counts
from subwords.corpus.progress import progress as progress_line
from subwords.corpus.read import read_blocks
from subwords.corpus.reading import Reading
from subwords.corpus.source import source_size
from subwords.errors import CorpusError, InputError
from subwords.resolve import NormalizerLike, SplitterLike
from subwords.resolve import normalizer as make_normalizer
from subwords.resolve import splitter as make_splitter
from subwords.split.splitter import Splitter
from subwords.support.checks import check_flag, check_strings
from subwords.support.limits import bytes_of, room_of
from subwords.support.threads import thread_count

if TYPE_CHECKING:
    from subwords.corpus.source import Source
    from subwords.normalize.normalizer import Normalizer
    from subwords.normalize.pipeline import Pipeline

__all__ = ["count", "normalizer_or_none", "with_user_defined", "words_of"]

BLOCK = 1 << 20  # bytes per read; each thread holds a few blocks in memory


def count(
    source: Source,
    *,
    splitter: SplitterLike = "gpt2",
    normalizer: NormalizerLike = None,
    special_tokens: Sequence[str] = (),
    user_defined: Sequence[str] = (),
    documents: Literal["file", "line"] = "file",
    separator: str | None = None,
    text_column: str = "text",
    max_document_bytes: int | None = None,
    sample: float | None = None,
    sample_seed: int | None = None,
    errors: Literal["strict", "replace", "skip"] = "strict",
    document_frequencies: bool = False,
    memory: int | str | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> WordCounts:
    """Count the words of a corpus: files, a glob, a folder, a URL of these, an iterable of str, a table or a dataset.

    Files are text, JSON Lines (.jsonl), Parquet or Arrow, the first two also compressed. documents: "file" makes each
    text file, row or text a document, "line" each line; no word crosses documents. separator: a text between documents
    in text files, which is removed. text_column: the field or column of rows that holds the text. max_document_bytes:
    what follows them in a document is dropped. sample: the share of documents to count, chosen by a hash of their text
    and of sample_seed (0): the same documents on any machine, and all those of a smaller share. special_tokens: removed
    from the text before counting (W3). user_defined: pieces that Unigram keeps whole, each a word. errors: text that
    cannot be read raises CorpusError with its place ("strict"); becomes U+FFFD, or no text for a row without any
    ("replace"); or its document is left out ("skip").
    document_frequencies: also count the documents that have each word (`WordCounts.documents`); not with memory.
    memory: about what the process may use in all, "2GB" or a number of bytes; words that do not fit go to a temporary
    file (TMPDIR), and the result is mapped from one. threads: None for one per processor. progress: None shows a bar if
    standard error is a terminal.
    Hazard: a str is a path; put texts in a list.

    >>> import subwords
    >>> dict(subwords.count(["a cat, a dog"]))
    {b'a': 1, b' cat': 1, b',': 1, b' a': 1, b' dog': 1}
    """
    users = check_strings("user_defined", user_defined)
    rule, before = with_user_defined(make_splitter(splitter), normalizer_or_none(normalizer), users)
    special_tokens = check_strings("special_tokens", special_tokens)
    check_flag("document_frequencies", document_frequencies)
    if document_frequencies and memory is not None:
        raise InputError("document_frequencies needs all words in memory: leave memory out")
    reading = Reading(
        documents=documents,
        separator=separator,
        text_column=text_column,
        max_document_bytes=max_document_bytes,
        sample=sample,
        sample_seed=sample_seed,
        errors=errors,
    )
    with progress_line(source_size(source), "counting", enabled=progress) as bar:
        words, number = words_of(rule, before), thread_count(threads)
        blocks = read_blocks(source, reading, block_size=BLOCK, on_bytes=bar.advance, threads=number)
        if memory is None:
            counts = count_blocks(
                blocks,
                words,
                special_tokens=special_tokens,
                document_frequencies=document_frequencies,
                threads=number,
            )
        else:
            room = room_of(bytes_of(memory))
            counts = mapped_counts(
                lambda path: count_blocks_to(
                    path, blocks, words, special_tokens=special_tokens, threads=number, room=room
                )
            )
    if not len(counts):
        why = "every document is empty"
        raise CorpusError(f"no text to count: {why if sample is None else 'the sample has no document with text'}")
    return counts


def normalizer_or_none(rule: NormalizerLike) -> Normalizer | None:
    """Return the normalizer of a rule; None if it has no steps."""
    if rule is None:
        return None
    made = make_normalizer(rule)
    return made if made.steps else None


def with_user_defined(
    rule: Splitter, before: Normalizer | None, user_defined: Sequence[str]
) -> tuple[Splitter, Normalizer | None]:
    """Return what splits and normalizes text for a Unigram model with user-defined pieces, as its encoding does."""
    if not user_defined:
        return rule, before
    split, steps = kept_whole(user_defined, rule.rule, before.steps if before else ())
    return make_splitter(split), normalizer_or_none(steps)


def words_of(rule: Splitter, before: Normalizer | None) -> Splitter | Pipeline:
    """Return the object that splits text into words: the splitter, with the normalizer before it if there is one."""
    if before is None:
        return rule
    from subwords.normalize.pipeline import Pipeline

    return Pipeline(before, rule)
