"""Going on with BPE training, the textbook way (B9)."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Literal

from subwords.reference.bpe import Pair, encode_word, known_runs, learned, symbols_of
from subwords.reference.characters import cuts_no_character

__all__ = ["extend"]


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

    Words are segmented by the merges; symbols that are no token split a word. `specials` are not learned again.

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
