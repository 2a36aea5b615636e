"""Count the words of a corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeGuard

import numpy as np

from subwords.components.space_rule import kept_whole
from subwords.corpus.blocks import Block
from subwords.corpus.columns import is_table
from subwords.corpus.count import count_blocks, count_blocks_to
from subwords.corpus.counts import MOST, WordCounts, mapped_counts
from subwords.corpus.progress import progress as progress_line
from subwords.corpus.read import read_blocks
from subwords.corpus.reading import Reading, Tally
from subwords.corpus.source import source_size
from subwords.corpus.weighted import text_of, times_of
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

__all__ = ["count", "counted", "normalizer_or_none", "with_user_defined", "words_of"]

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
    from the text before counting (ALGORITHMS.md, W3). user_defined: pieces that Unigram keeps whole, each a word.
    errors: text that cannot be read raises CorpusError with its place ("strict"); becomes U+FFFD, or no text for a row
    without any ("replace"); or its document is left out ("skip"). document_frequencies: also count the documents that
    have each word (`WordCounts.documents`); not with memory. memory: about what the process may use in all, "2GB" or a
    number of bytes; words that do not fit go to a temporary file (TMPDIR), and the result is mapped from one. threads:
    None for one per processor. progress: None shows a bar if standard error is a terminal.
    A dict or Counter has texts, such as words, and how often each occurs: the counts are those of a corpus with each
    text so many times, split and normalized like any text. `WordCounts.from_words` takes words that are split.
    Hazard: a str is a path; put texts in a list.

    >>> import subwords
    >>> dict(subwords.count(["a cat, a dog"]))
    {b'a': 1, b' cat': 1, b',': 1, b' a': 1, b' dog': 1}
    """
    reading = Reading(
        documents=documents,
        separator=separator,
        text_column=text_column,
        max_document_bytes=max_document_bytes,
        sample=sample,
        sample_seed=sample_seed,
        errors=errors,
    )
    users = check_strings("user_defined", user_defined)
    rule, before = with_user_defined(make_splitter(splitter), normalizer_or_none(normalizer), users)
    return counted(
        source,
        reading,
        words_of(rule, before),
        special_tokens=check_strings("special_tokens", special_tokens),
        document_frequencies=document_frequencies,
        memory=memory,
        threads=threads,
        progress=progress,
    )


def counted(
    source: Source,
    reading: Reading,
    words: Splitter | Pipeline,
    *,
    special_tokens: tuple[str, ...] = (),
    document_frequencies: bool = False,
    memory: int | str | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    on_block: Callable[[bytes], object] | None = None,
) -> WordCounts:
    """Count the words of a corpus as `count` does; `on_block` gets its text, a block at a time."""
    check_flag("document_frequencies", document_frequencies)
    if document_frequencies and memory is not None:
        raise InputError("document_frequencies needs all words in memory: leave `memory` out")
    number, see = thread_count(threads), on_block or (lambda data: None)
    if is_weighted(source):
        if document_frequencies or memory is not None:
            name = "document_frequencies" if document_frequencies else "memory"
            raise InputError(f"{name} is for documents, but these are texts with their counts: leave it out")
        counts = weighted_counts(source, reading, words, special_tokens, number, see)
        if not len(counts):
            raise CorpusError("no text to count: no text of the dict has a count above 0")
        return counts
    tally = Tally()
    with progress_line(source_size(source), "counting", enabled=progress) as bar:
        read = read_blocks(source, reading, block_size=BLOCK, on_bytes=bar.advance, tally=tally, threads=number)
        seen = [0]
        blocks = _seen(read, seen, see)
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
        if reading.sample is not None:
            why = "the sample has no document with text"
        elif seen[0]:
            why = f"of {seen[0]} bytes, whitespace and special tokens included, nothing is left"
        elif isinstance(source, Iterator):
            why = "every document is empty, or the iterable is empty or exhausted: a generator can be read only once"
        else:
            why = "every document is empty"
        raise CorpusError(f"no text to count: {why}")
    return counts


def _seen(blocks: Iterable[Block], seen: list[int], see: Callable[[bytes], object]) -> Iterator[Block]:
    def looked_at(block: Block) -> Block:
        seen[0] += len(block.data)
        see(block.data)
        return block

    return map(looked_at, blocks)  # a generator would keep a block alive while the next one is read


def weighted_counts(
    source: Mapping[str | bytes, int],
    reading: Reading,
    words: Splitter | Pipeline,
    special_tokens: tuple[str, ...],
    threads: int,
    see: Callable[[bytes], object],
) -> WordCounts:
    """Count the words of texts that occur several times each.

    All texts are counted once, then those whose other occurrences have a certain bit in binary, times that bit: so each
    text is split a few times, not once for each occurrence.
    """
    items = [(text_of(key), times_of(key, value)) for key, value in source.items()]
    texts = [(text, times - 1) for text, times in items if text and times]

    def of(chosen: list[str]) -> WordCounts:
        return count_blocks(
            _seen(read_blocks(chosen and iter(chosen), reading, block_size=BLOCK), [0], see),
            words,
            special_tokens=special_tokens,
            threads=threads,
        )

    parts, most = [of([text for text, _ in texts])], max((times for _, times in texts), default=0)
    for bit in range(most.bit_length()):
        part = of([text for text, times in texts if times >> bit & 1])
        size = (part.text_bytes or 0) << bit
        if max(size, part.total << bit) > MOST:
            raise InputError(f"too many words: expected fewer than 2**63 words and bytes, not {size} bytes or more")
        parts.append(replace(part, counts=part.counts << np.uint64(bit), text_bytes=size))
    return WordCounts.joined(parts)


def is_weighted(source: object) -> TypeGuard[Mapping[str | bytes, int]]:
    """Whether a source is a dict or Counter of texts with their counts."""
    return isinstance(source, Mapping) and not is_table(source) and all(isinstance(key, str | bytes) for key in source)


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
