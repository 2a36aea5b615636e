"""WordPiece encoding: the model in the layout of its kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.kernels.layout import IdSizes, TrieNodes, WordPieceModel, WordPieceScratch, WordPieceWorkspace, WordTable
from subwords.kernels.stored import stored
from subwords.models.segmenter import (
    LARGE_VOCABULARY,
    NO_KINDS,
    Encode,
    Segmenter,
    TableStrings,
    UnknownSymbolError,
    breadth_first,
    children_of,
    filled_units,
    quote_text,
)
from subwords.models.wordpiece.model import WordPiece
from subwords.support.names import random_bits
from subwords.support.value import digest_of

if TYPE_CHECKING:
    from subwords.kernels.entry import Kernel
    from subwords.split.word_spans import WordSpans


# ---------------------------------------------------------------------------------------------------------------------
# WordPiece in plain Python, for single tokens.


def longest_match(pieces: Mapping[bytes, int], prefix: bytes, token: bytes, left_out: int = -1) -> list[int]:
    """Return the longest matches of WordPiece from the left, without the piece `left_out`; [] if there are none.

    A token that begins with the prefix is matched as the end of a word.

    >>> longest_match({b"a": 0, b"##b": 1, b"##bc": 2}, b"##", b"abc"), longest_match({b"##b": 1}, b"##", b"##bb")
    ([0, 2], [1, 1])
    """
    inside = bool(prefix) and token.startswith(prefix) and len(token) > len(prefix)
    text = token.removeprefix(prefix) if inside else token
    found = [*matches(pieces, prefix, text, left_out, inside=inside)]
    return [index for index, _ in found] if found and found[-1][1] == len(text) else []


def matches(
    pieces: Mapping[bytes, int], prefix: bytes, text: bytes, left_out: int = -1, *, inside: bool = False
) -> Iterator[tuple[int, int]]:
    """Yield the id and the end of each longest match from the left, up to a place where no piece matches.

    inside: whether the text is the end of a word.
    """
    at = 0
    while at < len(text):
        before = prefix if inside or at else b""
        for end in range(len(text), at, -1):
            index = pieces.get(before + text[at:end], left_out)
            if index != left_out:
                break
        else:
            return
        yield index, end
        at = end


STARTS = 64  # pieces that are put before a continuation to see whether a word yields it


class WordPieceSegmenter(Segmenter):
    """Segments words by the longest match (P3), in linear time (P4)."""

    model: WordPiece

    def __init__(self, model: WordPiece) -> None:
        self.model = model
        self._settings = np.zeros(layout.WORDPIECE.width, np.int64)
        self._settings[[layout.MODEL.unk, layout.WORDPIECE.most_chars]] = self._unk, model.max_chars

    @property
    def _unk(self) -> int:
        return layout.MISSING if self.model.unk_id is None else self.model.unk_id

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        from subwords.kernels.named import encode_wordpiece

        return encode_wordpiece

    @cached_property
    def arrays(self) -> WordPieceModel:
        """The tries in the layout of the kernel."""
        model, vocab = self.model, self.model.vocab
        source = digest_of((vocab.data, vocab.offsets, model.prefix, tuple(sorted(model.special_ids)))).encode()
        found = self._tries() if len(vocab) < LARGE_VOCABULARY else stored("wordpiece", source, self._tries)
        settings = self._settings.copy()  # two threads may be here at first
        settings[layout.WORDPIECE.after] = found.settings[layout.WORDPIECE.after]
        return found._replace(settings=settings)

    def _tries(self) -> WordPieceModel:
        """Return the tries; of the settings only the slot of AFTER counts."""
        from subwords.kernels.named import build_edges, build_links

        ids, starts, stops, roots, _ = self.table_strings
        data, size = self.model.vocab.data.astype(np.int32), int((stops - starts).sum()) + 2
        edges = np.full(2 << max(4, size.bit_length()), layout.NO_EDGE, np.uint64)
        nodes = TrieNodes(
            parents=np.zeros(size, np.int32),
            labels=np.zeros(size, np.int32),
            depths=np.zeros(size, np.int32),
            strings=np.full(size, layout.MISSING, np.int32),
        )
        count = build_edges(data, starts, stops, roots, edges, random_bits(62), nodes)
        # AFTER is placed as a child of ROOT by a byte that begins no token, and then cut off. Of bytes, some are in no
        # UTF-8.
        nodes.labels[1] = np.setdiff1d(np.arange(256), data[starts[roots == 0]])[-1]
        nodes.depths[1] = 1
        order = breadth_first(nodes, count)
        units, slots = filled_units(children_of(nodes, count, order), nodes.labels[order], np.full(count, -1, np.int32))
        by_node = np.empty(count, np.int64)
        by_node[order] = slots
        nodes.parents[:count] = by_node[nodes.parents[:count]]
        settings = self._settings.copy()
        settings[layout.WORDPIECE.after] = after = by_node[1]
        units[after] &= ~np.uint64(layout.UNIT_LABEL)
        fails, pops, pop_counts = (np.zeros(len(units), np.int32) for _ in range(3))
        room = 4 * count
        while True:
            model = WordPieceModel(units, fails, pops, pop_counts, np.zeros(room, np.int32), settings)
            room = -build_links(order, slots, ids, nodes, model)
            if room <= 0:
                return model

    @property
    def table_strings(self) -> TableStrings:  # type: ignore[override]
        """The entries of the tries."""
        vocab, prefix = self.model.vocab, np.frombuffer(self.model.prefix.encode(), np.uint8)
        starts, stops = vocab.offsets[:-1], vocab.offsets[1:]
        usable = stops > starts
        usable[list(self.model.special_ids)] = False
        follows = usable & (stops - starts > len(prefix))
        first, later = np.flatnonzero(usable), np.flatnonzero(follows)
        for k, byte in enumerate(prefix):
            later = later[vocab.data[starts[later] + k] == byte]
        ids = np.concatenate([first, later]).astype(np.int32)
        roots = np.repeat(np.array([0, 1], np.int64), [len(first), len(later)])
        begins = np.concatenate([starts[first], starts[later] + len(prefix)])
        return TableStrings(ids, begins, stops[ids], roots, characters=False)

    def reachable(self, tokens: Sequence[bytes], ids: NDArray[np.int64], encode: Encode) -> NDArray[np.bool_]:
        """Return which ids the model makes of words: a continuation after one of the pieces that begin a word."""
        model, found = self.model, np.ones(len(tokens), np.bool_)
        for index in ids.tolist():
            token = tokens[index]
            found[index] = not model.continues(token) and len(token.decode("utf-8", "replace")) <= model.max_chars
        starts = [tokens[index] for index in ids.tolist() if not model.continues(tokens[index])]
        prefix = model.prefix.encode()
        for start in sorted((token for token in starts if len(token) <= 4), key=len)[:STARTS]:
            left = ids[~found[ids]]
            if not len(left):
                break
            batch = encode([start + tokens[index].removeprefix(prefix) for index in left.tolist()])
            owner = left[np.repeat(np.arange(len(left)), np.diff(batch.offsets))]
            found[owner[batch.ids == owner]] = True
        return found

    def spell(self, tokens: Sequence[bytes], encode: Encode) -> list[list[int]]:
        """Return the ids of each token of another vocabulary, from the place in a word where it stands."""
        model = self.model
        pieces = {token: i for i, token in enumerate(model.vocab) if token and i not in model.special_ids}
        prefix, unk = model.prefix.encode(), [] if model.unk_id is None else [model.unk_id]
        return [longest_match(pieces, prefix, token) or unk for token in tokens]

    def scratch(self, length: int, before: WordPieceScratch | None) -> WordPieceScratch:
        """Return buffers for the keys; matching needs none."""
        return before or WordPieceScratch(np.zeros(layout.KEYS, np.uint64))

    def workspace(self, table: WordTable, scratch: WordPieceScratch, counters: NDArray[np.int64]) -> WordPieceWorkspace:
        """Return everything that the kernel works on."""
        return WordPieceWorkspace(table, self.arrays, scratch, counters)

    def token_ends(
        self, ids: NDArray[np.uint32], offsets: NDArray[np.int64], word_spans: WordSpans
    ) -> NDArray[np.int64]:
        """Return the end of each id's bytes; an unknown word is one id for all its bytes."""
        lengths = np.diff(self.model.vocab.offsets)[ids]
        first = np.zeros(len(ids), np.bool_)
        first[offsets[:-1][np.diff(offsets) > 0]] = True
        lengths = np.where(first, lengths, lengths - len(self.model.prefix.encode()))
        # An unknown word has exactly one id. Next to other ids, unk_id is an ordinary piece that the text spells.
        words = np.flatnonzero(np.diff(offsets) == 1)
        unknown = words[ids[offsets[words]].astype(np.int64) == self._unk]
        lengths[offsets[unknown]] = np.diff(word_spans.words)[unknown]
        return np.cumsum(lengths)

    @cached_property
    def id_sizes(self) -> IdSizes:  # type: ignore[override]
        """The bytes that each id covers; an unknown word is one id."""
        sizes = np.diff(self.model.vocab.offsets).astype(np.int32)
        if self.model.unk_id is not None:
            alone = self.model.unk_id in self.model.special_ids
            sizes[self.model.unk_id] = layout.WHOLE_WORD if alone else layout.UNSURE
        return IdSizes(sizes, np.array([len(self.model.prefix.encode()), 0], np.int64), NO_KINDS)

    def unknown(self, word: bytes, at: int) -> UnknownSymbolError:
        """Return the error for a word that is no sequence of pieces, or too long."""
        text = word.decode("utf-8", "replace")
        return UnknownSymbolError(f"the word {quote_text(text)}", text, 0, len(word))
