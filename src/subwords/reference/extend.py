"""Going on with BPE training, the textbook way (B9)."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Literal

from subwords.reference.bpe import Pair, encode_word, known_runs, learned, symbols_of
from subwords.reference.characters import cuts_no_character

__all__ = ["extend", "parts_of", "runs_of_ids"]


def extend(
    word_counts: Mapping[bytes, int],
    vocab: Sequence[bytes],
    merges: Sequence[Pair],
    add: int,
    *,
    byte_level: bool = True,
    specials: Container[bytes] = (),
    tie_break: Literal["ids", "first", "bytes"] = "ids",
    min_frequency: int = 0,
    whole_characters: bool = False,
) -> tuple[list[bytes], list[Pair]]:
    """Go on with training: return the vocabulary with at most `add` more tokens, and all merges (B9).

    Words are segmented by the merges; symbols outside the vocabulary split a word. `specials` are not learned again.

    >>> extend({b"hug": 10, b"hugs": 5}, [b"g", b"h", b"s", b"u", b"ug"], [(b"u", b"g")], 1)
    ([b'g', b'h', b's', b'u', b'ug', b'hug'], [(b'u', b'g'), (b'h', b'ug')])
    """
    made = [pair for pair in merges if b"".join(pair) not in specials]
    known = [token for token in vocab if token not in specials]
    words = [
        (encode_word(b"".join(run), made, byte_level=byte_level), n)
        for word, n in word_counts.items()
        for run in known_runs(symbols_of(word, byte_level), known)
    ]

    def may_merge(left: bytes, right: bytes) -> bool:
        return left + right not in vocab and (not whole_characters or cuts_no_character(left, right))

    found, more = learned(words, [*vocab], len(vocab) + add, tie_break, min_frequency, may_merge)
    return found, [*merges, *more]


def parts_of(word: bytes, tokens: Iterable[bytes]) -> list[bytes]:
    """Cut a word between two bytes that are side by side in no token: no merge crosses these places (E9).

    >>> parts_of(b"to be", [b"t", b"o", b" ", b"b", b"e", b"to", b" be"])
    [b'to', b' be']
    """
    inside = {token[i : i + 2] for token in tokens for i in range(len(token) - 1)}
    places = [0, *(i for i in range(1, len(word)) if word[i - 1 : i + 1] not in inside), len(word)]
    return [word[a:b] for a, b in pairwise(places)]


def runs_of_ids(words: Sequence[Sequence[int]], apart: Container[int]) -> list[list[int]]:
    """Return the runs of two ids or more between the ids that split words.

    >>> runs_of_ids([[1, 2, 0, 3], [4, 0, 5, 6]], {0})
    [[1, 2], [5, 6]]
    """
    runs = [[*run] for word in words for is_apart, run in groupby(word, lambda index: index in apart) if not is_apart]
    return [run for run in runs if len(run) > 1]
