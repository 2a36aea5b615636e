"""Count the words of a corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, TypeGuard, Unpack, overload

import numpy as np

from subwords.corpus.blocks import Block
from subwords.corpus.columns import is_table
from subwords.corpus.count import count_blocks, count_blocks_to, provenance_of
from subwords.corpus.counts import MOST_COUNTED, WordCounts, mapped_counts
from subwords.corpus.progress import progress as progress_line
from subwords.corpus.read import read_blocks
from subwords.corpus.reading import Reading, Tally, reading_of
from subwords.corpus.source import decode_text, source_size, times_of
from subwords.normalize.resolve import NormalizerLike, SplitterLike
from subwords.normalize.resolve import normalizer as make_normalizer
from subwords.normalize.resolve import splitter as make_splitter
from subwords.spec.splitter import kept_whole, looks_like_steps
from subwords.split.splitter import Splitter, SplitterEngine
from subwords.support.checks import bytes_of, check_flag, check_strings
from subwords.support.errors import CorpusError, InputError, SubwordsError
from subwords.support.memory import room_of
from subwords.support.threads import thread_count

if TYPE_CHECKING:
    from subwords.corpus.source import Source
    from subwords.normalize.normalizer import Normalizer, Pipeline
    from subwords.scale.runners import Run
    from subwords.tokenizer import Tokenizer


BLOCK = 1 << 20  # bytes per read; each thread holds a few blocks in memory


class WordRules(NamedTuple):
    """What makes words of text. special_tokens: removed from it. user_defined: Unigram's pieces that stay whole."""

    splitter: Splitter
    normalizer: Normalizer | None = None
    special_tokens: tuple[str, ...] = ()
    user_defined: tuple[str, ...] = ()

    @property
    def words(self) -> SplitterEngine | Pipeline:
        """The object that splits text into words, as its encoding does."""
        if not self.user_defined:
            return word_source(self.splitter, self.normalizer)
        steps = self.normalizer.steps if self.normalizer else ()
        split, steps = kept_whole(self.user_defined, self.splitter.rule, steps)
        return word_source(make_splitter(split), normalizer_or_none(steps))


def rules_like(tokenizer: Tokenizer) -> WordRules:
    """Return what makes the words that a tokenizer encodes."""
    cut_out = tuple(token.content for token in tokenizer.spec.added_tokens)
    return WordRules(tokenizer.splitter, tokenizer.normalizer, cut_out)


class CountOptions(TypedDict, total=False):
    """Options of `count`."""

    splitter: SplitterLike
    normalizer: NormalizerLike
    special_tokens: Sequence[str]
    user_defined: Sequence[str]
    reading: Reading | None
    document_frequencies: bool
    memory: int | str | None
    threads: int | None
    progress: bool | None


@overload
def count(source: Source, *, run: None = None, **options: Unpack[CountOptions]) -> WordCounts: ...
@overload
def count(source: Source, *, run: Run, **options: Unpack[CountOptions]) -> WordCounts | None: ...
def count(
    source: Source,
    *,
    splitter: SplitterLike = "o200k",
    normalizer: NormalizerLike = None,
    special_tokens: Sequence[str] = (),
    user_defined: Sequence[str] = (),
    reading: Reading | None = None,
    document_frequencies: bool = False,
    memory: int | str | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    run: Run | None = None,
) -> WordCounts | None:
    """Count the words of a corpus: files, a glob, a folder, a URL of these, an iterable of str, a table or a dataset.

    Files are text, JSON Lines (.jsonl), Parquet or Arrow, the first two also compressed. special_tokens: removed from
    the text before counting (ALGORITHMS.md, W3). user_defined: pieces that Unigram keeps whole, each a word. reading:
    what a document is, which documents are read, and what happens to invalid text; see `Reading`. No word crosses
    documents. document_frequencies: also count the documents that have each word (`WordCounts.documents`); not with
    memory. memory: a rough limit on the memory of the process, "2GB" or a number of bytes; words that do not fit go to
    a temporary file (TMPDIR), and the result is mapped from it. threads: None for one per processor. progress: None
    shows a bar if standard error is a terminal. run: count files in shards, by several processes or machines; it has
    its own `threads` and `memory` (`subwords.scale.Run`). The counts are the same, byte for byte; None if other ranks
    have shards to do.
    A dict or Counter has texts, such as words, and how often each occurs: the counts are those of a corpus with each
    text repeated by its count, split and normalized like any text. `WordCounts.from_words` takes words that are split.
    Hazard: a str is a path; put texts in a list.

    >>> import subwords
    >>> dict(subwords.count(["a cat, a dog"]))
    {b'a': 1, b' cat': 1, b',': 1, b' a': 1, b' dog': 1}
    """
    rules = WordRules(
        make_splitter(splitter),
        normalizer_or_none(normalizer),
        check_strings("special_tokens", special_tokens),
        check_strings("user_defined", user_defined),
    )
    if run is None:
        how: dict[str, Any] = {"memory": memory, "threads": threads, "progress": progress}
        return counted(source, reading_of(reading), rules, document_frequencies=document_frequencies, **how)
    from subwords.scale.job import count_in_shards

    if document_frequencies:
        raise InputError("document_frequencies is not for a run in shards: count in one process")
    for name, value in (("memory", memory), ("threads", threads)):
        if value is not None:
            raise InputError(f"`{name}` is not for a run in shards: pass Run({name}=...)")
    return count_in_shards(source, reading_of(reading), rules, run, progress)


def counts_of(
    source: Source | WordCounts,
    rules: WordRules,
    *,
    reading: Reading | None = None,
    document_frequencies: bool = False,
    memory: int | str | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    on_block: Callable[[bytes], object] | None = None,
) -> WordCounts:
    """Return the counts of a corpus, or word counts as they are, if they were made with these rules.

    Raises InputError for counts made with others, and for a `reading` of counts, which have no text.
    """
    if not isinstance(source, WordCounts):
        how: dict[str, Any] = {"memory": memory, "threads": threads, "progress": progress, "on_block": on_block}
        return counted(source, reading_of(reading), rules, document_frequencies=document_frequencies, **how)
    if reading is not None:
        raise InputError("`reading` applies to text, but these are word counts: pass it to count")
    check_counts(source, rules)
    return source


def check_counts(counts: WordCounts, rules: WordRules) -> None:
    """Raise InputError for counts of another splitter or normalizer, or with special tokens among the words.

    FormatError for arrays that are inconsistent, which kernels would read beyond their ends.
    """
    counts.validated("these counts")
    made = counts.provenance
    made = replace(made, splitter=_renamed(made.splitter))
    if rules.user_defined and made == provenance_of(rules._replace(user_defined=()).words, made.special_tokens):
        raise InputError(
            f"user-defined piece {rules.user_defined[0]!r} was not kept whole in these counts: "
            f"count with user_defined={list(rules.user_defined)!r} (--user-defined on the command line)"
        )
    replace(counts, provenance=made).check(provenance_of(rules.words, made.special_tokens))
    if missing := [token for token in rules.special_tokens if token not in made.special_tokens]:
        raise InputError(
            f"special token {missing[0]!r} was not removed from these counts: "
            f"count with special_tokens={list(rules.special_tokens)!r}"
        )


def _renamed(rule: str) -> str:
    """Return the current name of a rule; counts may name it by a node of a tokenizer.json."""
    if rule.startswith('{"') and not looks_like_steps(rule):
        try:
            return make_splitter(rule).identity
        except SubwordsError:
            pass
    return rule


def counted(
    source: Source,
    reading: Reading,
    rules: WordRules,
    *,
    document_frequencies: bool = False,
    memory: int | str | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    on_block: Callable[[bytes], object] | None = None,
) -> WordCounts:
    """Count the words of a corpus as `count` does; `on_block` gets its text, a block at a time."""
    check_flag("document_frequencies", document_frequencies)
    if document_frequencies and memory is not None:
        raise InputError("document_frequencies, or min_documents, needs all words in memory: leave `memory` out")
    number, see = thread_count(threads), on_block or (lambda data: None)
    words, special_tokens = rules.words, rules.special_tokens
    if is_weighted(source):
        if document_frequencies or memory is not None:
            name, out = ("document_frequencies", "it and min_documents") if document_frequencies else ("memory", "it")
            raise InputError(f"{name} is for documents, but these are texts with their counts: leave {out} out")
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
        named = f"{source}: " if isinstance(source, str | PathLike) else ""
        raise CorpusError(f"{named}no text to count: {why}")
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
    words: SplitterEngine | Pipeline,
    special_tokens: tuple[str, ...],
    threads: int,
    see: Callable[[bytes], object],
) -> WordCounts:
    """Count the words of texts that occur several times each.

    All texts are counted once, then those whose other occurrences have a certain bit in binary, times that bit: so each
    text is split a few times, not once for each occurrence.
    """
    items = [(decode_text(key), times_of(key, value)) for key, value in source.items()]
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
        if max(size, part.total << bit) > MOST_COUNTED:
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


def word_source(rule: Splitter, before: Normalizer | None) -> SplitterEngine | Pipeline:
    """Return the object that splits text into words: the splitter, with the normalizer before it if there is one."""
    if before is None:
        return SplitterEngine.of(rule)
    from subwords.normalize.normalizer import Pipeline

    return Pipeline(before, rule)
