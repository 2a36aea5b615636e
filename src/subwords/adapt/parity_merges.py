"""The merges of parity-aware training (B11): the first ones of all languages together, then each of one language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from subwords.adapt.words import apart_ids, symbols_of, word_ids
from subwords.bpe.train import BPESettings, first_tokens, model_of
from subwords.components.vocab import Vocab
from subwords.corpus.counts import WordCounts
from subwords.kernels import layout
from subwords.kernels.layout import MergeRules, SymbolWords
from subwords.learning.characters import character_rules
from subwords.learning.limits import Step
from subwords.learning.merging import check_size, merge_words, read_words
from subwords.learning.parity import Choice, ParityLoop
from subwords.results.token_batch import TokenBatch
from subwords.support.threads import thread_count

__all__ = ["ParityMerges", "length_of", "parity_merges"]


@dataclass(frozen=True)
class ParityMerges:
    """What was learned. merges: left, right, merged. picks: the language of each, or NO_LANGUAGE.

    before, after: the number of symbols of the measured words of each language, with repetitions.
    """

    vocab: Vocab
    merges: NDArray[np.int64]
    picks: NDArray[np.int32]
    before: list[int]
    after: list[int]


def parity_merges(
    counts: Sequence[WordCounts],
    measured: Sequence[WordCounts] | None,
    settings: BPESettings,
    choice: Choice,
    *,
    pooled: int = 0,
    threads: int | None = None,
    on_step: Step = lambda *_: None,
) -> ParityMerges:
    """Learn from the words of each language. measured: whose symbols are its cost; None for the words themselves.

    pooled: how many of the first merges are the best ones of all languages together, as in plain training.
    """
    parts = [*counts, *(measured or [])]
    for part in parts:
        check_size(part, len(part.data) + len(part) + 1)
    pool = counts[0]
    if pooled or not (settings.byte_level and settings.alphabet == "full"):
        pool = WordCounts.joined(counts)
    base, code_ids = first_tokens(pool, settings)
    before = sizes = [_symbols(part, settings.byte_level) for part in parts]
    rules = character_rules(base) if settings.whole_characters else None
    first = np.zeros((0, 3), np.int64)
    if pooled:
        check_size(pool, len(pool.data) + len(pool) + 1)
        few = replace(settings, vocab_size=min(settings.vocab_size, len(base) + pooled))
        vocab, first = merge_words(pool, code_ids, base, few, on_step, rules=rules)
        base = [*vocab]
        words, sizes = _segmented(parts, vocab, first, settings, threads)
        rules = _rules_of(base, settings)
    else:
        words = [read_words(part, code_ids, in_order=False) for part in parts]
    loop = ParityLoop(words, sizes, base, settings, choice, rules)
    loop.run(on_step, thread_count(threads))
    merges, _, picks = loop.learned
    start = len(counts) if measured else 0
    return ParityMerges(
        loop.vocab,
        np.concatenate([first, merges]),
        np.concatenate([np.full(len(first), layout.NO_LANGUAGE, np.int32), picks]),
        before[start:],
        loop.sizes[start:].tolist(),
    )


def _segmented(
    parts: Sequence[WordCounts], vocab: Vocab, merges: NDArray[np.int64], settings: BPESettings, threads: int | None
) -> tuple[list[SymbolWords], list[int]]:
    """Return the words of each part after these merges, and the numbers of their symbols with repetitions."""
    model, words, sizes = model_of(vocab, merges, settings), [], []
    apart, at = apart_ids(model), 0
    every = word_ids(model, _one_after_the_other(parts), threads)
    for part in parts:
        offsets = every.offsets[at : at + len(part) + 1]
        ids = TokenBatch(every.ids[offsets[0] : offsets[-1]], offsets - offsets[0])
        words.append(symbols_of(ids, part.counts, apart, in_order=False))
        sizes.append(int(np.dot(np.diff(offsets), part.counts.astype(np.int64))))
        at += len(part)
    return words, sizes


def _one_after_the_other(parts: Sequence[WordCounts]) -> WordCounts:
    """Return the words of all parts in one list: one encoder for all."""
    lengths = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.offsets) for part in parts)])
    data, counts = (np.concatenate(arrays) for arrays in zip(*((one.data, one.counts) for one in parts), strict=True))
    return WordCounts(data, np.cumsum(lengths), counts, parts[0].provenance)


def _rules_of(tokens: list[bytes], settings: BPESettings) -> MergeRules | None:
    """Return the rules of merging for tokens of several symbols; None if all may merge."""
    if settings.whole_characters:
        return character_rules(tokens)
    if settings.max_token_length is None:
        return None
    size = len if settings.byte_level else lambda token: len(token.decode("utf-8", "replace"))
    lengths = np.fromiter(map(size, tokens), np.int32, len(tokens))
    return MergeRules(lengths, np.zeros(len(tokens), np.uint8), np.zeros(1, np.uint8), np.zeros(0, np.int32))


def length_of(counts: WordCounts) -> int:
    """Return the number of bytes of all words, with repetitions."""
    return int(np.dot(np.diff(counts.offsets), counts.counts.astype(np.int64)))


def _symbols(counts: WordCounts, byte_level: bool) -> int:
    """Return the number of bytes or characters of all words, with repetitions."""
    if byte_level:
        return length_of(counts)
    begins = np.concatenate([np.zeros(1, np.int64), np.cumsum((counts.data & 0xC0) != 0x80)])
    lengths: NDArray[np.int64] = np.diff(begins[counts.offsets])
    return int(np.dot(lengths, counts.counts.astype(np.int64)))
