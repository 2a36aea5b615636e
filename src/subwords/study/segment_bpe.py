"""The merges of a word, one by one, and what they were worth when they were learned."""

from __future__ import annotations

from functools import cached_property

from subwords.bpe.model import BPE
from subwords.bpe.plain import Symbol, first_symbols, merge
from subwords.corpus.counts import WordCounts
from subwords.families import segmenter_of
from subwords.study.pair_counts import learned_merges, one_merge_each
from subwords.study.steps import Known, Merge, Merging, Segmentation, Unknown

__all__ = ["BPEWords"]


class BPEWords:
    """Segments words by a BPE model."""

    def __init__(self, model: BPE, counts: WordCounts | None = None) -> None:
        self._model, self._counts = model, counts
        self._segmenter = segmenter_of(model)
        self._pairs = self._segmenter.pairs

    @cached_property
    def _learned(self) -> dict[tuple[int, int], int]:
        if self._counts is None:
            return {}
        return {found.pair: found.count for found in learned_merges(one_merge_each(self._model), self._counts)}

    def segmented(self, word: bytes, carried: list[float]) -> Segmentation:
        """Return how a word gets its ids."""
        model, index = self._model, self._model.vocab.ids.get(word)
        if index is not None and index in model.user_ids - model.special_ids - model.unused_ids:
            return Known(index, "a user-defined token is not segmented")
        if index is not None and model.whole_words and index not in model.special_ids | model.unused_ids:
            why = "the whole word is a token: it is looked up before merging"
            return Known(index, why, self._merging([*first_symbols(model, word)]))
        if model.words_only:
            return Unknown(model.unk_id, "the model has whole words only; this word is not one of them")
        symbols = [*first_symbols(model, word)]
        if not symbols:
            return Unknown(None, "no symbol of the word is in the vocabulary, and unknown ones are left out")
        return self._merging(symbols)

    def _merging(self, symbols: list[Symbol]) -> Merging:
        made: list[tuple[int, int]] = []
        row = merge(self._pairs, symbols, on_merge=lambda left, right: made.append((left, right)))
        # Places of first symbols become places among the tokens of the moment.
        tokens, alive, merges = [symbol.id for symbol in symbols], [*range(len(symbols))], list[Merge]()
        for left, right in made:
            place = alive.index(left)
            pair = tokens[left], tokens[right]
            rank, result = self._pairs[pair]
            merges.append(Merge(rank, *pair, result, place, self._learned.get(pair)))
            tokens[left] = result
            alive.remove(right)
        after = [symbol.id for symbol in row]
        ids = self._segmenter.parted(after)
        return Merging(tuple(symbol.id for symbol in symbols), tuple(merges), tuple(ids), ids != after)
