"""Initial pieces of Unigram training: substrings of the words, found by a suffix array (U1)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.counts import WordCounts
from subwords.errors import TrainingError
from subwords.kernels import layout
from subwords.kernels.layout import SortStacks, Substrings, Suffixes, Words
from subwords.support.memory import zeros
from subwords.support.threads import in_threads

__all__ = ["Lattice", "Text", "find_seeds", "on_ranges", "text_of"]

Result = TypeVar("Result")

MOST_SYMBOLS = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Text:
    """Words as numbered characters: 1 and up, in order of code point; 0 ends a word.

    Word i begins at starts[i] and occurs weights[i] times; `alphabet` maps each number to its code point.
    """

    symbols: NDArray[np.int32]
    starts: NDArray[np.int64]
    weights: NDArray[np.int64]
    alphabet: NDArray[np.int64]

    @property
    def characters(self) -> int:
        """The number of characters in the corpus, repetitions of words included."""
        return int(((np.diff(self.starts) - 1) * self.weights).sum())

    @property
    def longest(self) -> int:
        """The length of the longest word in characters."""
        return int(np.diff(self.starts).max()) - 1


@dataclass(eq=False)
class Lattice:
    """Pieces in string order, and their positions in the text.

    links: for each piece, the next shorter piece at the same position, + 1, and its length. at: one position of each
    piece. longest: the longest piece that begins at each position.
    """

    text: Text
    links: NDArray[np.int64]
    at: NDArray[np.int32]
    longest: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.links)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The length of each piece in characters."""
        return self.links & ((1 << layout.LENGTH_BITS) - 1)

    def symbols(self, piece: int) -> list[int]:
        """The character numbers of a piece."""
        start, length = int(self.at[piece]), int(self.links[piece]) & ((1 << layout.LENGTH_BITS) - 1)
        found: list[int] = self.text.symbols[start : start + length].tolist()
        return found

    def string(self, piece: int) -> str:
        """The piece as a string."""
        return "".join(map(chr, self.text.alphabet[self.symbols(piece)].tolist()))

    def find(self, string: str) -> int | None:
        """Return the number of a piece, or None."""
        piece = bisect_left(range(len(self)), string, key=self.string)
        return piece if piece < len(self) and self.string(piece) == string else None

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Drop all pieces that are not in `kept`."""
        from subwords.kernels.named import renumber

        numbers = np.empty(len(self), np.int32)
        used = renumber(kept.view(np.uint8), self.links, numbers)
        self.links = self.links[:used].copy()
        self.at = self.at[kept]
        np.take(numbers, self.longest, out=self.longest, mode="clip")


def text_of(counts: WordCounts, alphabet: NDArray[np.int64]) -> Text:
    """Return the words as text; characters outside the alphabet and bytes that are not UTF-8 split them."""
    from subwords.kernels.named import fill_characters

    ids = np.zeros(layout.CODE_POINTS, np.int32)
    ids[alphabet] = np.arange(1, len(alphabet) + 1)
    room = len(counts.data) + len(counts) + 1
    if room > MOST_SYMBOLS:
        raise TrainingError(
            f"expected fewer than 2**31 bytes of distinct words, not {room}: train on less text, or set a splitter"
        )
    symbols, starts, weights = zeros(room, np.int32), zeros(room, np.int64), zeros(room, np.int64)
    sizes = np.zeros(layout.FILLED.width, np.int64)
    fill_characters(Words(counts.data, counts.offsets, counts.counts), ids, symbols, starts, weights, sizes)
    used, words = int(sizes[layout.FILLED.symbols]), int(sizes[layout.FILLED.words])
    codes = np.concatenate([np.zeros(1, np.int64), alphabet])
    return Text(symbols[:used].copy(), starts[: words + 1].copy(), weights[:words].copy(), codes)


def find_seeds(
    text: Text, seed_size: int, longest: int, least: int, reserved: Iterable[str], threads: int
) -> tuple[Lattice, NDArray[np.int64]]:
    """Choose the initial pieces with count x length: all characters, and the `seed_size` best substrings.

    Of substrings with the same positions the longest is taken, cut to `longest` characters. Strings in `reserved` are
    excluded.
    """
    from subwords.kernels.named import attach

    order = _sorted_suffixes(text, longest, threads)
    substrings, shares = _substrings(text, order, longest, least)
    chosen = _best(substrings, shares, seed_size)
    lefts, rights, lengths = (array[chosen] for array in substrings)
    links, places = np.empty(len(lefts), np.int64), zeros(len(text.symbols), np.int32)
    attach(order, lefts, rights, lengths, np.empty(longest + 2, np.int64), links, places)
    lattice = Lattice(text, links, order[lefts], places)
    shares, kept = shares[chosen], np.ones(len(lattice), np.bool_)
    for string in reserved:
        if len(string) > 1 and (piece := lattice.find(string)) is not None:
            kept[piece] = False
    if not kept.all():
        lattice.keep(kept)
    return lattice, shares[kept]


def on_ranges(run: Callable[[int, int], Result], bounds: Sequence[int]) -> list[Result]:
    """Run a function on each range between consecutive bounds, one thread per range."""
    return in_threads(lambda ends: run(*ends), pairwise(bounds), len(bounds) - 1)


def _sorted_suffixes(text: Text, longest: int, threads: int) -> NDArray[np.int32]:
    """Sort the positions of the text by their suffixes, up to `longest` characters within the word."""
    from subwords.kernels.named import pack_suffixes, sort_suffixes

    bits, shift = len(text.alphabet).bit_length(), len(text.symbols).bit_length()
    known, length = (63 - shift) // bits, 63 // bits
    keys = np.empty(len(text.symbols) - len(text.weights), np.int64)
    pack_suffixes(text.symbols, bits, known, shift, keys)
    keys.sort()
    order = (keys & ((1 << shift) - 1)).astype(np.int32)
    keys >>= shift
    limits = np.zeros(layout.LIMIT.width, np.int64)
    limits[[layout.LIMIT.char_bits, layout.LIMIT.key_chars, layout.LIMIT.sort_chars, layout.LIMIT.known_chars]] = (
        bits,
        length,
        longest,
        known,
    )

    def run(first: int, last: int) -> None:
        stacks = SortStacks(
            np.empty(layout.RANGE_STACK, np.int64), np.empty(layout.FRAME.width * (longest // length + 2), np.int64)
        )
        sort_suffixes(text.symbols, first, last, limits, order, keys, stacks)

    # Bounds lie between suffixes with different first characters.
    bounds = [len(keys) * part // threads for part in range(1, threads)]
    every = [0, *(int(np.searchsorted(keys, keys[bound])) for bound in bounds), len(keys)]
    on_ranges(run, every)
    return order


def _substrings(text: Text, order: NDArray[np.int32], longest: int, least: int) -> tuple[Substrings, NDArray[np.int64]]:
    """Return the longest substrings per set of positions, and their count x length."""
    from subwords.kernels.named import find_substrings, sum_weights

    word_of = np.repeat(np.arange(len(text.weights), dtype=np.int32), np.diff(text.starts))
    sums = np.empty(len(order) + 1, np.int64)
    sum_weights(order, word_of, text.weights, sums)
    room = Substrings(*(zeros(3 * len(order) + 1, np.int32) for _ in range(3)))
    stack = np.zeros(2 * longest + 4, np.int64)
    suffixes = Suffixes(text.symbols, word_of, text.starts, order)
    number = find_substrings(suffixes, sums, longest, least, stack, room)
    found = Substrings(*(array[:number] for array in room))
    return found, (sums[found.rights] - sums[found.lefts]) * found.lengths


def _best(found: Substrings, shares: NDArray[np.int64], seed_size: int) -> NDArray[np.int64]:
    """Return the characters and the `seed_size` other substrings of largest share, in string order."""
    lefts, _, lengths = found
    many = np.flatnonzero(lengths > 1)
    if len(many) > seed_size:
        least = np.partition(shares[many], len(many) - seed_size)[len(many) - seed_size] if seed_size else 0
        above, tied = many[shares[many] > least], many[shares[many] == least]
        tied = tied[np.lexsort((lengths[tied], lefts[tied]))]
        many = np.concatenate([above, tied])[:seed_size]
    chosen = np.concatenate([np.flatnonzero(lengths == 1), many])
    return chosen[np.lexsort((lengths[chosen], lefts[chosen]))]
