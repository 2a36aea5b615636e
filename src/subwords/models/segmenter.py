"""What encoding needs of a model family, and of what splits texts into words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.kernels.layout import Children, SafeCuts, TrieNodes, WordTable
from subwords.kernels.stored import stored, table_name
from subwords.spec.splitter import Rule
from subwords.spec.token_batch import TokenBatch
from subwords.spec.vocab import Vocab
from subwords.split.routes import SplitBuffers, SplitCall, SplitRoute, WordChunk
from subwords.support.errors import InputError
from subwords.support.names import random_bits
from subwords.support.value import digest_of

if TYPE_CHECKING:
    from subwords.kernels.entry import Kernel
    from subwords.kernels.layout import IdSizes
    from subwords.split.word_spans import WordSpans


# ---------------------------------------------------------------------------------------------------------------------
# The trie of a vocabulary, as kernels read it.

LARGE_VOCABULARY = 1 << 12  # tokens; the trie of fewer takes milliseconds


Units: TypeAlias = "tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.uint64], NDArray[np.int32]]"


def units_of(vocab: Vocab, ids: NDArray[np.int64], *, characters: bool = False) -> Units:
    """Return the double array of some tokens, its links and its records; see kernels/trie.py.

    characters: make it of characters, not of bytes, and return their symbols too; see `layout.UnigramModel`.
    """
    if len(ids) < LARGE_VOCABULARY:
        return _units_of(vocab, ids, characters)
    source = digest_of((vocab.data, vocab.offsets, ids, characters)).encode()
    return stored("trie", source, lambda: _units_of(vocab, ids, characters))


def _characters_of(data: NDArray[np.uint8]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the symbols of the characters of tokens, joined, and the table of symbols.

    They are numbered as they occur first, so in most vocabularies those of frequent ones are small.
    """
    codes = np.frombuffer(data.tobytes().decode().encode("utf-32-le"), np.uint32)
    known, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    if len(known) > layout.MOST_SYMBOLS:
        raise InputError(f"expected at most {layout.MOST_SYMBOLS} different characters in pieces, not {len(known)}")
    numbers = np.empty(len(known), np.int32)
    numbers[np.argsort(first)] = np.arange(len(known), dtype=np.int32)
    symbols = np.full(int(known.max(initial=0)) + 3, len(known), np.int32)
    symbols[known.astype(np.int64) + 1] = numbers
    return numbers[inverse], symbols


def _units_of(vocab: Vocab, ids: NDArray[np.int64], characters: bool) -> Units:
    from subwords.kernels.named import build_edges, fill_links

    data, offsets, table = vocab.data[: vocab.offsets[-1]].astype(np.int32), vocab.offsets, np.zeros(0, np.int32)
    if characters:
        begins = np.append(0, np.cumsum(data >> 6 != 2))
        (data, table), offsets = _characters_of(vocab.data[: vocab.offsets[-1]]), begins[offsets]
    starts, stops = offsets[ids], offsets[ids + 1]
    size = int((stops - starts).sum()) + 2
    edges = np.full(2 << max(4, size.bit_length()), layout.NO_EDGE, np.uint64)
    parents, labels = np.zeros(size, np.int32), np.zeros(size, np.int32)
    depths, strings = np.zeros(size, np.int32), np.full(size, layout.MISSING, np.int32)
    roots, nodes = np.zeros(len(ids), np.int64), TrieNodes(parents, labels, depths, strings)
    count = build_edges(data, starts, stops, roots, edges, random_bits(62), nodes)
    # Without the second root.
    order = breadth_first(nodes, count)
    order = order[order != 1]
    pieces = np.where(strings[order] >= 0, np.append(ids, -1)[strings[order]], -1).astype(np.int32)
    children = children_of(nodes, count, order)
    units, places = filled_units(children, labels[order], pieces, int(table[0]) if characters else 255)
    links, records = np.zeros(len(units), np.int32), np.diff(vocab.offsets).astype(np.uint64)
    fill_links(children, labels[order], places, units, links, records)
    return units, links, records, table


def breadth_first(nodes: TrieNodes, count: int) -> NDArray[np.int64]:
    """Return the first nodes breadth first, the children of each side by side."""
    found: NDArray[np.int64] = np.lexsort((nodes.labels[:count], nodes.parents[:count], nodes.depths[:count]))
    return found


def children_of(nodes: TrieNodes, count: int, order: NDArray[np.int64]) -> Children:
    """Return which places in `order` are the children of each node there."""
    places = np.empty(count, np.int64)
    places[order] = np.arange(len(order))
    above = places[nodes.parents[order[1:]]]
    begins = np.flatnonzero(np.diff(above, prepend=-1)) + 1
    first, last = np.zeros(len(order), np.int64), np.zeros(len(order), np.int64)
    first[above[begins - 1]], last[above[begins - 1]] = begins, np.append(begins[1:], len(order))
    return Children(first, last)


def filled_units(
    children: Children, labels: NDArray[np.int32], pieces: NDArray[np.int32], most: int = 255
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the double array of a trie, and the slot of each node; `most`: the largest symbol of any text."""
    from subwords.kernels.named import fill_units

    if len(labels) > layout.MOST_NODES:
        raise InputError(f"expected tokens that make a trie of at most {layout.MOST_NODES} nodes, not {len(labels)}")
    block, used = 1 << most.bit_length(), -1
    blocks = len(labels) // block + 1
    while used < 0:
        blocks *= 2
        units, places = np.zeros(blocks * block, np.uint64), np.empty(len(labels), np.int64)
        used = fill_units(children, labels, pieces, units, np.zeros(len(units), np.uint8), places)
    if used > layout.MOST_UNITS:
        raise InputError(f"expected tokens whose trie takes at most {layout.MOST_UNITS} units, not {used}")
    return units[: -(-used // block) * block].copy(), places


# ---------------------------------------------------------------------------------------------------------------------
# The error for a symbol that has no id: the encoder finds the symbol, the engine its place in the caller's text.

MOST_SHOWN = 40  # characters of a text in a message


class UnknownSymbolError(InputError):
    """A symbol without an id, in a model without an unk token.

    shown: the symbol as a message has it. text: the symbol; empty if it is one byte. begin, stop: where it is in the
    text of the words. The message has no place: the words may be of changed text, or of many texts.
    """

    def __init__(self, shown: str, text: str, begin: int, stop: int) -> None:
        super().__init__(shown, text, begin, stop)
        self.shown, self.text, self.begin, self.stop = shown, text, begin, stop

    def __str__(self) -> str:
        return self.told("")

    def told(self, place: str) -> str:
        """Return the message with a place, such as " at byte 3"."""
        return f"{self.shown}{place} is not in the vocabulary and the model has no unk token"

    def moved(self, by: int) -> UnknownSymbolError:
        """Return the same error for a text with more bytes before it."""
        return UnknownSymbolError(self.shown, self.text, self.begin + by, self.stop + by)


class TextError(InputError):
    """The error of one text among many: `number` is its place among them, `message` the error of the text alone."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(number, message)
        self.number, self.message = number, message

    def __str__(self) -> str:
        return f"text {self.number}: {self.message}"


def character_at(word: bytes, at: int) -> str:
    """Return the character that begins at a byte of a word; empty for an invalid byte."""
    lead = word[at]
    try:
        return word[at : at + 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)].decode()
    except UnicodeDecodeError:
        return ""


def quote_text(text: str) -> str:
    """Return a text as messages quote it."""
    return repr(text) if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]!r}..."


Encode: TypeAlias = "Callable[[list[bytes]], TokenBatch]"  # the ids of words
NO_KINDS = np.zeros(0, np.uint8)  # of a model whose unknown ids are placed by searching again


class TokenWords(NamedTuple):
    """Tokens that are looked up as whole words (E2): joined bytes, the end of each token in them, and ids."""

    data: NDArray[np.uint8]
    ends: NDArray[np.int64]
    ids: NDArray[np.int32]


def tokens_of_ids(vocab: Vocab, ids: NDArray[np.int64]) -> TokenWords | None:
    """Return the tokens with some ids, which ascend; None if there are no ids."""
    if not len(ids):
        return None
    kept = np.zeros(len(vocab), np.bool_)
    kept[ids] = True
    lengths = np.diff(vocab.offsets)
    data = vocab.data[: vocab.offsets[-1]][np.repeat(kept, lengths)]
    return TokenWords(data, np.cumsum(lengths[ids]), ids.astype(np.int32))


class TableStrings(NamedTuple):
    """The strings of a trie: their ids, where they are in the bytes of the vocabulary, and where they begin."""

    ids: NDArray[np.int32]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    roots: NDArray[np.int64]
    characters: bool  # whether the trie is one of characters, not of bytes


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

    @property
    def route(self) -> SplitRoute:
        """How the rule runs."""

    context: int  # bytes before a cut, besides the last character, that decide about it at most

    def cut(self, text: NDArray[np.uint8], at: int, *, begins: bool = True) -> int:
        """Return a position in text[:at] where a cut changes no word, whatever follows, or 0 (S4).

        begins: False if the text continues another.
        """

    def fast_path(self, buffers: SplitBuffers, *, cuts: bool = False, begins: bool = True) -> SplitCall | None:
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
    goes_on = False  # whether tokens, of any bytes, stay apart in a word where each two are the ids of their text
    whole_words: TokenWords | None = None
    unk_id: int | None = None  # the id of unknown symbols
    # What tables are made of, for an export that makes them when it is loaded: see the classes.
    table_pairs: NDArray[np.int64] | None = None
    table_strings: TableStrings | None = None
    shows_unknown = False  # whether an unknown token is shown as its text, as SentencePiece does
    id_sizes: IdSizes | None = None  # for `kernels/text/locate.py`; None if ids are not in the order of their bytes

    @cached_property
    def words_name(self) -> str | None:
        """The name of the table on disk that has most tokens that are words; None for small or running models."""
        if len(self.model.vocab) < LARGE_VOCABULARY or not self.apart:
            return None
        return table_name("words", f"{type(self).__name__} {self.model.digest}".encode())

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

    def with_equal_tables(self) -> Segmenter:
        """Return a segmenter whose tables are equal each time: no seed of them is random."""
        return self

    @property
    def cuts(self) -> SafeCuts:
        """The safe cuts by vocabulary (E9), see `engine/encoder.py`, if it has any."""
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
