"""Extend: more tokens for a tokenizer, learned from a corpus; all ids keep their tokens."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from subwords.adapt.extend_bpe import Extension, Learned
from subwords.corpus.counts import WordCounts
from subwords.corpus.progress import progress as progress_line
from subwords.errors import InputError, SubwordsWarning, TrainingError
from subwords.families import family_of
from subwords.resolve import splitter as make_splitter
from subwords.split.splitter import SplitterEngine
from subwords.support.checks import check_flag
from subwords.support.limits import bytes_of
from subwords.support.threads import thread_count
from subwords.tokenizer import Tokenizer, TokenizerLike, tokenizer_of
from subwords.training.count import counts_of, rules_like
from subwords.training.memory import check_memory

if TYPE_CHECKING:
    from subwords.corpus.reading import Reading
    from subwords.corpus.source import Source
    from subwords.resolve import SplitterLike

__all__ = ["extend"]


def extend(
    tokenizer: TokenizerLike,
    source: Source | WordCounts,
    *,
    count: int,
    splitter: SplitterLike | None = None,
    min_frequency: int = 0,
    max_token_length: int | None = None,
    max_words: int | None = None,
    whole_words: bool = False,
    whole_characters: bool = False,
    tie_break: Literal["ids", "first", "bytes"] = "ids",
    reading: Reading | None = None,
    memory: int | str | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Tokenizer:
    """Return a tokenizer with `count` more tokens, learned from a corpus (see `count`) or from word counts.

    Defined in ALGORITHMS.md, B9, P5, U6.

    The words, as the tokenizer encodes them, are merged further. All old ids keep their tokens, the new tokens get the
    next ids, and each of them is reached. In BPE, a text keeps its ids unless the two sides of a new merge are
    neighbours in them; in WordPiece and Unigram, unless a word of it holds the string of a new token. Warns
    (SubwordsWarning) if there are fewer than `count` new tokens. Raises InputError for a tokenizer of whole words and
    for counts of another splitter, TrainingError if the corpus has nothing to merge.

    splitter: None is the tokenizer's. A coarser rule, which the result has too, lets tokens of BPE span words
    ("superwords"). max_words: a new token has at most so many spaces. whole_words: new tokens join only words that
    are one token each, and consist of letters (BoundlessBPE). max_token_length: in bytes, or in characters if
    words do not start as bytes. whole_characters, min_frequency, tie_break: as in `train`. The others: as in `count`
    and `train`.
    Hazard: a model knows nothing of the new ids until its embeddings have rows for them.

    >>> import subwords
    >>> tok = subwords.train(["low lower lowest"] * 9, vocab_size=260)
    >>> more = subwords.extend(tok, ["slowest slower"] * 9, count=3)
    >>> more.tokenize("slowest"), more.encode("low") == tok.encode("low")
    (['slowe', 'st'], True)

    Source: continued BPE training, Purason et al., arXiv 2512.03989.
    """
    tokenizer = tokenizer_of(tokenizer)
    check_flag("whole_words", whole_words)
    settings = Extension(
        count=count,
        min_frequency=min_frequency,
        tie_break=tie_break,
        max_token_length=max_token_length,
        whole_characters=whole_characters,
        max_words=max_words,
        inner=SplitterEngine.of(tokenizer.splitter) if whole_words else None,
    )
    model, family = tokenizer.model, family_of(tokenizer.model)
    learn = family.tool("extend")
    if splitter is not None and not family.keeps_merges:
        raise InputError(f"splitter is for BPE: in {family.name}, no piece spans words")
    if whole_words and splitter is None:
        raise InputError(
            "whole_words needs BPE and a coarser splitter, whose words contain several words of the tokenizer"
        )
    rule = tokenizer.splitter if splitter is None else make_splitter(splitter)
    most, rules = None if memory is None else bytes_of(memory), rules_like(tokenizer)._replace(splitter=rule)
    counts = counts_of(source, rules, reading=reading, memory=most, threads=threads, progress=progress)
    if most is not None:
        check_memory(counts, most)
    with progress_line(None, "indexing", unit="tokens", enabled=progress) as bar:
        found: Learned = learn(model, counts, settings, threads=thread_count(threads), on_step=bar.phase)
    tokens = found.tokens
    if not tokens:
        raise TrainingError("nothing to add: in this corpus no two tokens of a word can merge")
    if len(tokens) < count:
        warnings.warn(
            f"fewer tokens than asked for: {len(tokens)} instead of {count}; no pair is left to merge. Use more text, "
            "or lower `count`",
            SubwordsWarning,
            stacklevel=2,
        )
    if tokenizer.spec.foreign.sentencepiece is not None:
        from subwords.formats.sentencepiece.extend import with_pieces

        return Tokenizer(with_pieces(tokenizer.spec, tokens, found.scores or None))
    spec = replace(tokenizer.spec, model=model.grown(*found), splitter=rule.rule)
    # In a tokenizer.json, the new tokens stand in the model, after the added ones.
    return Tokenizer(replace(spec, foreign=replace(spec.foreign, model_size=None)))
