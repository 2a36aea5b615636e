"""WordLevel encoding, by BPE's kernel: a word that is a token is found in the table, any other has no known symbol."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.kernels.layout import BPEModel, BPEScratch, BPEWorkspace, IdSizes, WordTable
from subwords.models.segmenter import NO_KINDS, Segmenter, TokenWords, UnknownSymbolError, quote_text
from subwords.models.wordlevel.model import WordLevel

if TYPE_CHECKING:
    from subwords.kernels.entry import Kernel
    from subwords.split.word_spans import WordSpans


class WordLevelSegmenter(Segmenter):
    """Gives each word one id (L1)."""

    model: WordLevel

    def __init__(self, model: WordLevel) -> None:
        self.model = model
        self._settings = np.zeros(layout.BPE.width, np.int64)
        unk_id = layout.MISSING if model.unk_id is None else model.unk_id
        self._settings[[layout.MODEL.unk, layout.BPE.fuse_unk]] = unk_id, 1

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        from subwords.kernels.named import encode_bpe

        return encode_bpe

    @cached_property
    def arrays(self) -> BPEModel:
        """A model without symbols and merges: the unknown bytes of a word become one unk."""
        none = np.zeros(1, np.int32)
        return BPEModel(
            alphabet=np.full(256, layout.MISSING, np.int32),
            pairs=np.full(2, layout.NO_PAIR, np.uint64),
            sieve=np.zeros(1, np.uint64),
            results=none,
            classes=none,
            settings=self._settings,
            first_ranks=np.full(1, layout.NO_RANK, np.uint32),
            spans=none,
            fallback=np.full(256, layout.MISSING, np.int32),
            parted=none,
            forms=none,
            pilots=np.zeros(1, np.uint32),
        )

    @cached_property
    def whole_words(self) -> TokenWords:  # type: ignore[override]
        """All tokens but the special ones."""
        offsets = self.model.vocab.offsets
        lengths = np.diff(offsets)
        kept = lengths > 0
        kept[list(self.model.special_ids)] = False
        ids = np.flatnonzero(kept)
        data = self.model.vocab.data[: offsets[-1]][np.repeat(kept, lengths)]
        return TokenWords(data, np.cumsum(lengths[ids]), ids.astype(np.int32))

    def scratch(self, length: int, before: BPEScratch | None) -> BPEScratch:
        """Return buffers for a word."""
        keys = np.zeros(layout.KEYS + length + layout.MERGE_PADDING, np.uint64)
        symbols = np.zeros(layout.SYMBOL_SCRATCH * length, np.int32)
        codes, side = np.zeros(layout.PAIR_LANES, np.uint32), np.zeros(0, np.uint32)
        return BPEScratch(keys, symbols, codes, side, np.zeros(0, np.int32))

    def workspace(self, table: WordTable, scratch: BPEScratch, counters: NDArray[np.int64]) -> BPEWorkspace:
        """Return everything that the kernel works on."""
        return BPEWorkspace(table, self.arrays, scratch, counters)

    def token_ends(
        self, ids: NDArray[np.uint32], offsets: NDArray[np.int64], word_spans: WordSpans
    ) -> NDArray[np.int64]:
        """Return the end of each id's bytes: those of its word."""
        return word_spans.words[1:][np.diff(offsets) > 0]

    @cached_property
    def id_sizes(self) -> IdSizes:  # type: ignore[override]
        """Each id covers a word."""
        sizes = np.full(len(self.model.vocab), layout.WHOLE_WORD, np.int32)
        return IdSizes(sizes, np.zeros(layout.SIZE_MARK.width, np.int64), NO_KINDS)

    @property
    def unk_id(self) -> int | None:  # type: ignore[override]
        """The id of unknown words."""
        return self.model.unk_id

    def unknown(self, word: bytes, at: int) -> UnknownSymbolError:
        """Return the error for a word that is not a token."""
        text = word.decode("utf-8", "replace")
        return UnknownSymbolError(f"the word {quote_text(text)}", text, 0, len(word))
