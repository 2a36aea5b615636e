"""BPE encoding: the model in the layout of its kernel."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.kernels.layout import BPEModel, BPEScratch, BPEWorkspace, IdSizes, SafeCuts, WordTable
from subwords.kernels.stored import stored
from subwords.models.bpe.merges import (
    MergeTables,
    first_ranks,
    has_ties,
    links_of,
    open_tables,
    pairs_of_bytes,
    perfect_ranks,
    perfect_tables,
    without_repeats,
)
from subwords.models.bpe.model import BPE
from subwords.models.segmenter import NO_KINDS, Encode, Segmenter, TokenWords, UnknownSymbolError, tokens_of_ids
from subwords.spec.splitter import Rule
from subwords.spec.token_batch import TokenBatch, batch_of
from subwords.split.splitter import SplitterEngine
from subwords.support.memory import zeros
from subwords.support.names import distinct, random_bits

if TYPE_CHECKING:
    from subwords.engine.encoder import Encoder
    from subwords.kernels.entry import Kernel
    from subwords.models.bpe.plain import Pairs
    from subwords.split.word_spans import WordSpans


NONE: NDArray[np.int64] = np.zeros(0, np.int64)
# Of a table of merges that is not in the second cache. GPT-2's is: side by side, its requests had 0.86 to 0.97 of the
# rate.
SIDE_PLACES = 1 << 16


class BPESegmenter(Segmenter):
    """Segments words by merges."""

    model: BPE
    isolates = True

    def __init__(self, model: BPE, seed: int | None = None) -> None:
        self.model = model
        self._seed = seed
        self._tied = has_ties(model)
        self._settings = np.zeros(layout.BPE.width, np.int64)
        self._settings[layout.MODEL.unk] = layout.MISSING if model.unk_id is None else model.unk_id
        self._settings[layout.BPE.fuse_unk] = model.fuse_unk
        self._settings[layout.BPE.drop_unknown] = model.unknown == "drop"
        self._settings[layout.BPE.marks] = (layout.WITH_PREFIX if model.prefix else 0) | (
            layout.WITH_SUFFIX if model.suffix else 0
        )
        whole = model.byte_level and not self._tied and not model.marked
        self._settings[layout.BPE.complete] = whole and model.alphabet.min() >= 0
        self._settings[layout.BPE.tied] = self._tied
        self._settings[layout.BPE.links] = self._by_links
        self._settings[layout.BPE.parted] = bool(model.parts or model.unused_ids)

    @property
    def joins(self) -> bool:  # type: ignore[override]
        """Whether adjacent unknown words become one unk."""
        return self.model.words_only and not self.model.byte_fallback and self.model.unk_id is not None

    @property
    def goes_on(self) -> bool:  # type: ignore[override]
        """The fact about neighbours (ALGORITHMS.md) needs tokens that merges of bytes make: no words are looked up."""
        model = self.model
        if (
            not (model.byte_level and model.lossless)
            or model.marked
            or model.words_only
            or self.whole_words is not None
        ):
            return False
        return not (model.user_ids or model.unused_ids or model.parts)

    def with_equal_tables(self) -> BPESegmenter:
        """Return a segmenter that counts seeds from 0."""
        return BPESegmenter(self.model, seed=0)

    def joined(self, batch: TokenBatch) -> TokenBatch:
        """Return the ids of texts, with adjacent unknown words fused."""

        return fused(batch, self.model.unk_id) if self.joins and self.model.unk_id is not None else batch

    def joined_words(self, batch: TokenBatch) -> TokenBatch:
        """Return the ids of the words of one text; an unknown word after another one has no id."""

        return fused_words(batch, self.model.unk_id) if self.joins and self.model.unk_id is not None else batch

    def finer(self, rule: Rule) -> Rule:
        """Also cut before U+2581 if texts are unsplit and no token crosses such a cut."""
        return rule or self.model.space_rule

    def reachable(self, tokens: Sequence[bytes], ids: NDArray[np.int64], encode: Encode) -> NDArray[np.bool_]:
        """Return which ids the model makes of words, see `Segmenter.reachable`; a token that is a word is looked up."""
        found = np.ones(len(tokens), np.bool_)
        if self.model.whole_words:
            return found
        if not self.model.marked:
            return super().reachable(tokens, ids, encode)
        from subwords.models.bpe.plain import merge_token

        for index in ids.tolist():
            found[index] = merge_token(self.model, self.pairs, tokens[index]) == [index]
        return found

    @property
    def has_cuts(self) -> bool:  # type: ignore[override]
        """Whether every symbol has an id, and none changes with its place."""
        model = self.model
        return model.knows_all and not (model.marked or model.words_only) and (model.byte_level or self._by_links)

    @cached_property
    def cuts(self) -> SafeCuts:
        """The safe cuts."""
        from subwords.engine.encoder import safe_cuts

        return safe_cuts(self.model.symbols, self._between_cuts())

    def _between_cuts(self) -> list[bytes]:
        """Return the tokens that only whole words become and that may lie between two cuts."""
        from subwords.engine.encoder import may_lie_between_cuts

        words = self.whole_words
        if words is None:
            return []
        kept = may_lie_between_cuts(words.data, np.concatenate([np.zeros(1, np.int64), words.ends]))
        return [self.model.vocab[index] for index in words.ids[kept].tolist()]

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        from subwords.kernels.named import encode_bpe

        return encode_bpe

    @cached_property
    def arrays(self) -> BPEModel:
        """The model in the layout of the kernel."""
        model = self.model
        if not self._settings[layout.BPE.complete]:
            return self._arrays(self._open_tables())
        if model.is_large and self._seed is None:
            return self._arrays(*stored("merges", model.digest.encode(), self._perfect_tables))
        return self._arrays(*self._perfect_tables())

    def _arrays(self, tables: MergeTables, of_bytes: NDArray[np.int64] = NONE) -> BPEModel:
        model, settings = self.model, self._settings.copy()  # two threads may be here at first, with a seed each
        settings[[layout.MODEL.seed, layout.BPE.first_result]] = tables.seed, tables.first_result
        settings[layout.BPE.side] = len(tables.pilots) > 1 and len(tables.pairs) > SIDE_PLACES
        alphabet, forms = self._alphabet()
        return BPEModel(
            alphabet=alphabet,
            pairs=tables.pairs,
            sieve=tables.sieve,
            results=tables.results,
            classes=self._classes.astype(np.int32) if self._tied else np.zeros(1, np.int32),
            settings=settings,
            first_ranks=first_ranks(tables, of_bytes, model.alphabet),
            spans=model.symbols.sizes,
            fallback=model.byte_ids,
            parted=self._parted(),
            pilots=tables.pilots,
            forms=forms,
        )

    @property
    def _merges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Merges and their ranks, without those that yield a special token: no text yields one (A3)."""
        kept = ~np.isin(self.model.merges[:, 2], list(self.model.special_ids))
        return self.model.merges[kept], self._ranks[kept]

    def _new_seed(self) -> int:
        if self._seed is None:
            return random_bits(62)
        self._seed += 1
        return self._seed

    def _open_tables(self) -> MergeTables:
        return open_tables(*self._merges, self._links(), self._new_seed())

    def _links(self) -> NDArray[np.int64]:
        results = self._merges[0][:, 2]
        if self._by_links and self.model.is_large:
            return stored("links", self.model.digest.encode(), lambda: links_of(self.model, results))
        return links_of(self.model, results) if self._by_links else np.zeros((2, 0), np.int64)

    @property
    def table_pairs(self) -> NDArray[np.int64]:  # type: ignore[override]
        """The pairs of the table, (n, 4): left, right, rank and result; MISSING as result of a mere link."""
        if self._settings[layout.BPE.complete]:
            known = self._known_merges()
            return np.column_stack([known[:, :2], perfect_ranks(known), known[:, 2]])
        (merges, ranks), links = self._merges, self._links()
        linked = np.column_stack([links.T, np.full((links.shape[1], 2), [layout.MOST_RANK, layout.MISSING])])
        return np.concatenate([linked, np.column_stack([merges[:, :2], ranks, merges[:, 2]])])

    def _known_merges(self) -> NDArray[np.int64]:
        """Return the merges of a perfect table, in order of rank."""
        merges, _ = self._merges
        merges = merges[without_repeats(merges)]
        if len(distinct(merges[:, 2])) < len(merges):
            merges = merges[(self.last_parts()[merges[:, 2]] == merges[:, :2]).all(1)]
        return merges

    def _perfect_tables(self) -> tuple[MergeTables, NDArray[np.int64]]:
        """Return the tables, and the ranks of all pairs of bytes."""
        tables = perfect_tables(self._known_merges(), self._new_seed)
        return tables, pairs_of_bytes(tables, self.model.alphabet)

    def last_parts(self) -> NDArray[np.int64]:
        """Return the two symbols of each token before its last merge, (n, 2); for models that know every byte."""
        from subwords.models.bpe.model import last_parts

        arrays = self._arrays(open_tables(*self._merges, np.zeros((2, 0), np.int64), self._new_seed()))
        return last_parts(self.model.vocab, arrays)

    def _alphabet(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the id of each byte or code point; with marks, its row in `forms`; and `forms`."""
        model = self.model
        if not model.marked:
            return model.alphabet, np.zeros(1, np.int32)
        rows = np.full(len(model.alphabet), layout.MISSING, np.int32)
        rows[list(model.forms)] = np.arange(len(model.forms))
        return rows, np.array([*model.forms.values()], np.int32).ravel()

    @cached_property
    def _classes(self) -> NDArray[np.int64]:
        """The priority of each merge, as an integer below the number of merges."""
        numbers, ranks = np.arange(len(self.model.merges)), self.model.ranks
        if ranks is None or not len(ranks):
            return numbers
        return np.maximum.accumulate(np.where(np.diff(ranks, prepend=ranks[0] - 1) != 0, numbers, 0))

    @property
    def _ranks(self) -> NDArray[np.int64]:
        """A number per merge: its priority, or its position if merges of equal priority have different results."""
        return np.arange(len(self._classes)) if self._tied else self._classes

    @cached_property
    def _by_links(self) -> bool:
        """Whether long words can be split into runs: symbols are characters, and unk and bytes never merge."""
        model = self.model
        others = [*model.byte_ids[model.byte_ids >= 0].tolist(), *([] if model.unk_id is None else [model.unk_id])]
        return not (model.byte_level or model.marked) and not np.isin(model.merges[:, :2], others).any()

    @cached_property
    def _replaced(self) -> dict[int, list[int]]:
        """The ids that replace each symbol that is split after merging."""
        if not self._settings[layout.BPE.parted]:
            return {}
        from subwords.models.bpe.merges import taken_apart

        return taken_apart(self.model)

    def _parted(self) -> NDArray[np.int32]:
        """0 for each ordinary symbol, else the offset of its replacement: the number of ids, then the ids."""
        if not self._settings[layout.BPE.parted]:
            return np.zeros(1, np.int32)
        table = [0] * len(self.model.symbols)
        for symbol, ids in self._replaced.items():
            table[symbol] = len(table)
            table += [len(ids), *ids]
        return np.array(table, np.int32)

    def parted(self, symbols: list[int]) -> list[int]:
        """Return the ids of a word after merging, as the kernel's `write_parted` writes them."""
        if not self._settings[layout.BPE.parted]:
            return symbols
        ids = [index for symbol in symbols for index in self._replaced.get(symbol, [symbol])]
        lone = self.model.unk_id if self.model.fuse_unk else None
        return [index for i, index in enumerate(ids) if i == 0 or index != lone or ids[i - 1] != lone]

    @cached_property
    def whole_words(self) -> TokenWords | None:  # type: ignore[override]
        """The tokens that are looked up as whole words, without those that merges make anyway."""
        model = self.model
        if not model.whole_words:
            return tokens_of_ids(
                model.vocab, np.array(sorted(model.user_ids - model.special_ids - model.unused_ids), int)
            )
        kept = model.vocab.sizes > 0
        kept[list(model.special_ids | model.unused_ids)] = False
        ids = np.flatnonzero(kept)
        if model.knows_all and model.is_large:
            ids = stored("whole-words", model.digest.encode(), lambda: self._lost(ids))
        elif model.knows_all:
            ids = self._lost(ids)
        return tokens_of_ids(model.vocab, ids)

    def _lost(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        from subwords.engine.encoder import NO_SLOTS, lost_words

        merging = copy(self)
        vars(merging).update(arrays=self.arrays, whole_words=None, first_words=NO_SLOTS)  # neither from a table on disk
        return lost_words(merging, self.model.vocab, ids)

    def scratch(self, length: int, before: BPEScratch | None) -> BPEScratch:
        """Return buffers for a word."""
        chains = np.zeros(0, np.int32) if before is None else before.chains
        if length > layout.SHORT_WORD and not len(chains):
            chains = np.full(layout.RANK_SCRATCH * (len(self.arrays.results) + 1), -1, np.int32)
        room = layout.KEYS + length + layout.MERGE_PADDING + (layout.TIED_SCRATCH * length if self._tied else 0)
        symbols, codes = np.zeros(layout.SYMBOL_SCRATCH * length, np.int32), np.zeros(layout.PAIR_LANES, np.uint32)
        return BPEScratch(np.zeros(room, np.uint64), symbols, codes, zeros(layout.SIDE, np.uint32), chains)

    def workspace(self, table: WordTable, scratch: BPEScratch, counters: NDArray[np.int64]) -> BPEWorkspace:
        """Return everything that the kernel works on."""
        return BPEWorkspace(table, self.arrays, scratch, counters)

    def token_ends(
        self, ids: NDArray[np.uint32], offsets: NDArray[np.int64], word_spans: WordSpans
    ) -> NDArray[np.int64]:
        """Return the end of each id's bytes: an id covers the bytes of its symbols, in order.

        Hazard: as in HF, dropped symbols have no position, so the rest of their word moves towards its start.
        """
        ends: NDArray[np.int64] = self.token_ranges(ids, offsets, word_spans)[1]
        return ends

    def token_ranges(
        self, ids: NDArray[np.uint32], offsets: NDArray[np.int64], word_spans: WordSpans
    ) -> NDArray[np.int64]:
        """Return the byte range of each id; see `token_ends`."""

        if self.joins:  # an id for a word, or for several
            words = np.flatnonzero(np.diff(offsets))
            begins = word_spans.words[words]
            return np.stack([begins, np.append(begins[1:], word_spans.words[-1:])])
        lengths = self._lengths[ids]
        filled = np.diff(offsets) > 0
        lengths[offsets[:-1][filled]] += len(self.model.prefix)
        lengths[offsets[1:][filled] - 1] -= len(self.model.suffix)
        ends = np.repeat(word_spans.words[:-1], np.diff(offsets)) + _running(lengths, offsets)
        ranges = np.stack([ends - lengths, ends])
        sizes = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        odd = sizes[offsets[1:]] - sizes[offsets[:-1]] != np.diff(word_spans.words)
        odd[np.searchsorted(offsets, np.flatnonzero(ids == self.unk_id), side="right") - 1] = True
        odd |= self._doubtful
        odd &= filled
        from subwords.models.bpe.plain import symbol_ranges

        taken_apart = bool(self.model.parts or self.model.unused_ids)
        pairs = self.pairs if self.model.marked else None
        for word in np.flatnonzero(odd).tolist():
            a, b = offsets[word : word + 2]
            begin, stop = word_spans.words[word : word + 2].tolist()
            text = word_spans.text[begin:stop]
            if taken_apart:
                found = self._unfused.ranges(text)
            else:
                found = symbol_ranges(self.model, ids[a:b].tolist(), text, pairs)
            ranges[:, a:b] = begin + np.array(found, np.int64).T
        return ranges

    @cached_property
    def id_sizes(self) -> IdSizes | None:  # type: ignore[override]
        """The bytes that each id covers; None if they may add up by chance, or if an id stands for several words."""
        if self.joins or self._doubtful:
            return None
        sizes = (self._lengths + len(self.model.prefix)).astype(np.int32)
        if self.unk_id is not None:
            sizes[self.unk_id] = layout.UNSURE
        return IdSizes(sizes, np.array([len(self.model.prefix), len(self.model.suffix)], np.int64), NO_KINDS)

    @cached_property
    def _lengths(self) -> NDArray[np.int64]:
        """The number of bytes of a word that each id covers, if it is neither the first nor the last of the word."""
        lengths = np.diff(self.model.vocab.offsets) - len(self.model.prefix)
        byte_ids = self.model.byte_ids
        lengths[byte_ids[byte_ids >= 0]] = 1
        return lengths

    @property
    def _doubtful(self) -> bool:
        """Whether the lengths of a word's ids may have the right sum by chance: characters may be missing in it."""
        model = self.model
        return (
            model.marked and not model.knows_all and bool(model.prefix or model.byte_fallback or model.unk_id is None)
        )

    @cached_property
    def pairs(self) -> Pairs:
        """Priority and result of every merge, for merging in Python."""
        from subwords.models.bpe.plain import pairs_of

        return pairs_of(self.model)

    @cached_property
    def _unfused(self) -> Unfused:

        unfused = BPESegmenter(replace(self.model, fuse_unk=False))
        from subwords.engine.encoder import Encoder

        return Unfused(self.model, Encoder(unfused, SplitterEngine(())), self._lengths)

    @property
    def unk_id(self) -> int | None:  # type: ignore[override]
        """The id of unknown symbols."""
        return self.model.unk_id

    @property
    def shows_unknown(self) -> bool:  # type: ignore[override]
        """Whether the model comes from a .model file."""
        return not self.model.byte_level and self.model.ranks is not None

    def unknown(self, word: bytes, at: int) -> UnknownSymbolError:
        """Return the error for a symbol outside the alphabet, with its prefix and suffix (E7)."""
        if self.model.byte_level:
            return UnknownSymbolError(f"byte 0x{word[at]:02X}", "", at, at + 1)
        found = super().unknown(word, at)
        before, after = self.model.prefix if at else b"", self.model.suffix if found.stop == len(word) else b""
        if not found.text or not (before or after):
            return found
        spelled = before.decode() + found.text + after.decode()
        return UnknownSymbolError(repr(spelled), spelled, found.begin, found.stop)


def _running(lengths: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Cumulative sums that restart at every word."""
    total = np.cumsum(lengths)
    before = np.concatenate([np.zeros(1, np.int64), total])[offsets[:-1]]
    running: NDArray[np.int64] = total - np.repeat(before, np.diff(offsets))
    return running


# ---------------------------------------------------------------------------------------------------------------------
# Fuse adjacent unknown ids into one, across words.


def fused(batch: TokenBatch, unk_id: int) -> TokenBatch:
    """Return the ids of each text with runs of unk_id reduced to one.

    Source: SentencePiece, which joins adjacent unknown pieces.

    >>> import numpy as np
    >>> from subwords.models.bpe.segmenter import fused
    >>> from subwords.spec.token_batch import TokenBatch
    >>> fused(TokenBatch(np.array([0, 0, 5, 0, 0], np.uint32), np.array([0, 4, 5])), 0).to_lists()
    [[0, 5, 0], [0]]
    """
    kept = _not_fused(batch, unk_id)
    starts = batch.offsets[:-1]
    kept[starts[starts < len(kept)]] = True
    return _without(batch, kept)


def fused_words(batch: TokenBatch, unk_id: int) -> TokenBatch:
    """Return the ids of the words of one text with runs of unk_id reduced to one: the later words have no id.

    >>> import numpy as np
    >>> from subwords.models.bpe.segmenter import fused_words
    >>> from subwords.spec.token_batch import TokenBatch
    >>> fused_words(TokenBatch(np.array([0, 0, 5], np.uint32), np.array([0, 1, 2, 3])), 0).to_lists()
    [[0], [], [5]]
    """
    return _without(batch, _not_fused(batch, unk_id))


def _not_fused(batch: TokenBatch, unk_id: int) -> NDArray[np.bool_]:
    kept = np.ones(len(batch.ids), np.bool_)
    unknown = batch.ids == unk_id
    kept[1:] = ~(unknown[1:] & unknown[:-1])
    return kept


def _without(batch: TokenBatch, kept: NDArray[np.bool_]) -> TokenBatch:
    places = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
    return batch_of(batch.ids[kept], places[batch.offsets])


# ---------------------------------------------------------------------------------------------------------------------
# The byte ranges of the tokens of a word that contains unknown characters.


class Unfused:
    """Byte ranges for a model with parts or unused tokens, which are split after merging.

    The word is segmented again with one unk per unknown character, so that each id covers a known number of bytes.
    encoder: for the model with fuse_unk=False. lengths: that number of bytes by id.
    """

    def __init__(self, model: BPE, encoder: Encoder, lengths: NDArray[np.int64]) -> None:
        self._encoder = encoder
        self._fuses = model.fuse_unk
        self._unk_id = model.unk_id
        self._lengths = lengths

    def ranges(self, word: NDArray[np.uint8]) -> list[tuple[int, int]]:
        """Return the byte range of each id of a word."""
        ids = self._encoder.encode_words(word, np.array([0, len(word)], np.int64)).ids.tolist()
        data, at, ends = word.tobytes(), 0, [0]
        for index, following in zip(ids, [*ids[1:], None], strict=True):
            unknown = index == self._unk_id
            at += _character_size(data, at) if unknown else int(self._lengths[index])
            if not (unknown and self._fuses and following == index):
                ends.append(at)
        return list(pairwise(ends))


def _character_size(word: bytes, at: int) -> int:
    """Return the length of the character at a position; 1 for an invalid byte."""
    return len(word[at : at + 4].decode("utf-8", "surrogateescape")[:1].encode("utf-8", "surrogateescape")) or 1
