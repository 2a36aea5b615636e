"""Extend a BPE model: resume training where it stopped (B9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.adapt.rules import joint, word_rules
from subwords.adapt.whole_words import whole_words_only
from subwords.adapt.words import apart_ids, symbols_of, threshold_of, word_ids
from subwords.bpe.model import BPE
from subwords.components.model import NO_MERGES
from subwords.corpus.counts import MOST, WordCounts
from subwords.errors import InputError
from subwords.kernels.layout import MergeRules
from subwords.learning.characters import character_rules
from subwords.learning.limits import TIES, Step
from subwords.learning.merging import merge_symbols
from subwords.split.splitter import SplitterEngine
from subwords.support.checks import check_choice, check_flag, check_integer
from subwords.support.threads import thread_count

__all__ = ["Extension", "Learned", "MergeLimits", "extend_bpe"]

SPACES = {True: b" ", False: "\u2581".encode()}  # by byte_level: what a word begins with


@dataclass(frozen=True, kw_only=True)
class Extension:
    """The settings of `extend`; those that are None do not apply. inner: join only whole words of this rule."""

    count: int
    min_frequency: int = 0
    tie_break: Literal["ids", "first", "bytes"] = "ids"
    max_token_length: int | None = None
    whole_characters: bool = False
    max_words: int | None = None
    inner: SplitterEngine | None = None

    def __post_init__(self) -> None:
        check_integer("count", self.count, 1, MOST)
        check_integer("min_frequency", self.min_frequency, 0, MOST)
        check_choice("tie_break", self.tie_break, TIES)
        check_flag("whole_characters", self.whole_characters)
        for name in ("max_token_length", "max_words"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), 1, MOST)


class Learned(NamedTuple):
    """What a model gets: tokens with the next ids; merges (left id, right id, id) of BPE, scores of Unigram."""

    tokens: list[bytes]
    merges: NDArray[np.int64] = NO_MERGES
    scores: Sequence[float] = ()


@dataclass(frozen=True)
class MergeLimits:
    """The limits of the loop of merges."""

    vocab_size: int
    tie_break: str
    min_frequency: int = 0
    max_token_length: int | None = None
    special_tokens: tuple[str, ...] = ()
    limit_alphabet: None = None


def extend_bpe(
    model: BPE, counts: WordCounts, settings: Extension, *, threads: int | None = None, on_step: Step | None = None
) -> Learned:
    """Return the tokens and the merges that a model gets; InputError if it cannot get any."""
    _check(model, settings)
    ids = word_ids(model, counts, threads)
    if settings.inner is not None:
        ids = whole_words_only(ids, model, counts, settings.inner)
    size, in_order = len(model.vocab), settings.tie_break == "first"
    threshold = threshold_of(ids, counts.counts, settings.count)
    words = symbols_of(ids, counts.counts, apart_ids(model), in_order=in_order)
    del ids  # the index takes as much memory
    limits = MergeLimits(size + settings.count, settings.tie_break, settings.min_frequency, settings.max_token_length)
    vocab, merges = merge_symbols(
        words,
        threshold,
        model.vocab,
        limits,
        on_step,
        prefix=len(model.prefix),
        rules=_rules(model, settings),
        threads=thread_count(threads),
    )
    return Learned(list(vocab.after(size)), merges)


def _check(model: BPE, settings: Extension) -> None:
    if model.words_only or model.parts or model.unused_ids:
        raise InputError(
            "expected a BPE model that only merges: this one has only whole words, unused pieces, or merges of "
            "characters outside the vocabulary"
        )
    if settings.whole_characters and not model.byte_level:
        raise InputError("whole_characters needs a byte-level model: in others no token cuts a character")


def _rules(model: BPE, settings: Extension) -> MergeRules:
    base, sizes = model.vocab, np.diff(model.vocab.offsets)
    made = np.zeros(len(base), np.bool_)
    made[model.merges[:, 2]] = True
    if made[list(model.special_ids)].any():
        made[:] = False  # no text yields a special token, nor what is merged from one
    # Words are in a state that has no pair left that makes an old token, but for tokens that no text yields.
    taken = np.flatnonzero(~made & (sizes > 1)).astype(np.int32)
    if model.byte_level:
        lengths = sizes.astype(np.int32)
    else:
        lengths = np.fromiter((len(token.decode("utf-8", "replace")) for token in base), np.int32, len(base))
    rules = MergeRules(lengths, np.zeros(len(base), np.uint8), np.zeros(1, np.uint8), taken)
    if settings.whole_characters:
        rules = joint(rules, character_rules(base))
    if settings.max_words is not None:
        rules = joint(rules, word_rules(base, SPACES[model.byte_level], settings.max_words))
    return rules
