"""What encoding needs of a model family, and of what splits texts into words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords.components.splitter import Rule
from subwords.encode.unknown import UnknownSymbolError, character_at
from subwords.kernels.layout import SafeCuts, WordTable
from subwords.results.token_batch import TokenBatch
from subwords.split.routes import SplitBuffers, SplitCall, WordChunk
from subwords.split.word_spans import WordSpans

if TYPE_CHECKING:
    from subwords.kernels.jit import Kernel
    from subwords.kernels.layout import IdSizes

__all__ = ["NO_KINDS", "Encode", "Segmenter", "TokenWords", "WordSource"]

Encode: TypeAlias = "Callable[[list[bytes]], TokenBatch]"  # the ids of words
NO_KINDS = np.zeros(0, np.uint8)  # of a model whose unknown ids are placed by searching again


class TokenWords(NamedTuple):
    """Tokens that are looked up as whole words (E2): joined bytes, the end of each token in them, and ids."""

    data: NDArray[np.uint8]
    ends: NDArray[np.int64]
    ids: NDArray[np.int32]


class WordSource(Protocol):
    """Splits text into words: a splitter, with or without a normalizer before it."""

    def texts(
        self,
        text: NDArray[np.uint8],
        bounds: NDArray[np.int64],
        buffers: SplitBuffers,
        *,
        begins: bool = True,
        ends: bool = True,
    ) -> Iterator[WordChunk]:
        """Split many texts, text[bounds[i]:bounds[i + 1]], in order.

        begins, ends: False if the first text is the continuation of another, or the last one continues.
        """

    context: int  # bytes before a cut, besides the last character, that decide about it at most

    def cut(self, text: NDArray[np.uint8], at: int, *, begins: bool = True) -> int:
        """Return a position in text[:at] where a cut changes no word, whatever follows, or 0 (S4).

        begins: False if the text continues another.
        """

    def split_short(self, text: NDArray[np.uint8], buffers: SplitBuffers) -> int | None:
        """Split a text shorter than a chunk in one step, if possible; see `Route.split_short`."""

    def fast_path(self, buffers: SplitBuffers, *, cuts: bool = False) -> SplitCall | None:
        """Return the call that splits texts, if one does; see `Route.fast_path`."""

    def word_spans(self, text: NDArray[np.uint8]) -> WordSpans:
        """Return the words of one text, with their positions in it."""


class Segmenter(ABC):
    """The part of encoding that depends on the model family: kernel, model arrays and buffers."""

    model: Any  # a `Model` of the family; subclasses say which
    has_cuts = False  # whether `cuts` are known
    isolates = False  # whether a character between two safe cuts has the same ids everywhere
    apart = True  # whether a word's ids never depend on the words before it
    joins = False  # whether `joined` changes anything
    whole_words: TokenWords | None = None
    unk_id: int | None = None  # the id of unknown symbols
    shows_unknown = False  # whether an unknown token is shown as its text, as SentencePiece does
    id_sizes: IdSizes | None = None  # for `kernels/text/locate.py`; None if ids are not in the order of their bytes

    @property
    @abstractmethod
    def kernel(self) -> Kernel:
        """The kernel; see `kernels/table/encode.py`."""

    @property
    @abstractmethod
    def arrays(self) -> Any:
        """The model in the layout of the kernel: a class of `kernels/layout.py`."""

    def joined(self, batch: TokenBatch) -> TokenBatch:
        """Return the ids of texts, given the concatenated ids of their words."""
        return batch

    def joined_words(self, batch: TokenBatch) -> TokenBatch:
        """Return the ids of the words of one text."""
        return batch

    @property
    def cuts(self) -> SafeCuts:
        """The safe cuts by vocabulary (E9), see `encode/safe_cuts.py`, if it has any."""
        raise NotImplementedError

    def finer(self, rule: Rule) -> Rule:
        """Return an equivalent rule with more cache hits, or `rule` itself."""
        return rule

    @abstractmethod
    def scratch(self, length: int, before: Any) -> Any:
        """Return buffers for a word of `length` bytes, a class of `kernels/layout.py`; `before`: the last ones."""

    @abstractmethod
    def workspace(self, table: WordTable, scratch: Any, counters: NDArray[np.int64]) -> Any:
        """Return everything that the kernel works on: a class of `kernels/layout.py`."""

    @abstractmethod
    def token_ends(
        self, ids: NDArray[np.uint32], offsets: NDArray[np.int64], word_spans: WordSpans
    ) -> NDArray[np.int64]:
        """Return the end of each id's bytes in word_spans.text; word i has the ids offsets[i]:offsets[i + 1]."""

    def token_ranges(
        self, ids: NDArray[np.uint32], offsets: NDArray[np.int64], word_spans: WordSpans
    ) -> NDArray[np.int64]:
        """Return the byte range of each id in word_spans.text, int64, shape (2, n)."""
        ends = self.token_ends(ids, offsets, word_spans)
        begins = np.concatenate([np.zeros(1, np.int64), ends])[: len(ends)]
        filled = np.diff(offsets) > 0
        begins[offsets[:-1][filled]] = word_spans.words[:-1][filled]
        return np.stack([begins, ends])

    def reachable(self, tokens: Sequence[bytes], ids: NDArray[np.int64], encode: Encode) -> NDArray[np.bool_]:
        """Return which ids the model makes of words; True for ids that are not among `ids`. tokens: its vocabulary.

        A token is made in some word if and only if it is made of its own text: if no merge or piece crosses its ends,
        its neighbours do not change the segmentation between them. Families of which that is not true override this.
        """
        batch, found = encode([tokens[index] for index in ids.tolist()]), np.ones(len(tokens), np.bool_)
        alone = np.diff(batch.offsets) == 1
        first = np.zeros(len(ids), np.int64)
        first[alone] = batch.ids[batch.offsets[:-1][alone]]
        found[ids] = alone & (first == ids)
        return found

    def spell(self, tokens: Sequence[bytes], encode: Encode) -> list[list[int]]:
        """Return the ids of the text of each token of another vocabulary, as one word.

        A token of unknown text has the id of the unknown token, or none.
        """
        rows = encode([self.model.without_marks(token) for token in tokens]).to_lists()
        size = len(self.model.vocab)
        return [[index for index in row if index < size] for row in rows]

    def unknown(self, word: bytes, at: int) -> UnknownSymbolError:
        """Return the error for a word that cannot be encoded because of the symbol at byte `at`."""
        character = character_at(word, at)
        shown = repr(character) if character else f"byte 0x{word[at]:02X}"
        return UnknownSymbolError(shown, character, at, at + max(1, len(character.encode())))
