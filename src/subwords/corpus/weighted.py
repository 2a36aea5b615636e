"""Texts and words that are given with their counts, as a dict or Counter."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import SupportsIndex, cast

import numpy as np
from numpy.typing import NDArray

from subwords.errors import InputError
from subwords.support.checks import encode_text

__all__ = ["text_of", "times_of", "words_and_counts"]


def text_of(key: str | bytes) -> str:
    """Return a text that may be given in UTF-8."""
    try:
        return key if isinstance(key, str) else key.decode()
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise InputError(f"expected texts in UTF-8, not {key!r:.60}: byte {error.start} is 0x{byte:02x}") from None


def times_of(key: object, value: object) -> int:
    """Return how often a text or word occurs; InputError unless it is an integer of at least 0."""
    try:
        times = operator.index(cast(SupportsIndex, value))
    except TypeError:
        times = -1
    if times < 0 or isinstance(value, bool):
        raise InputError(
            f"source: expected a dict of texts and their counts, {{'a text': 5}}, not {key!r:.60}: {value!r:.60}"
        )
    return times


def words_and_counts(
    words: Mapping[str, int] | Mapping[bytes, int], removed: AbstractSet[bytes]
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint64]]:
    """Return words as the arrays of `WordCounts`, without those of count 0 and those in `removed`."""
    if not isinstance(words, Mapping):
        raise InputError(f"expected a dict of words and their counts, not {type(words).__name__} {words!r:.60}")
    found = dict[bytes, int]()
    for key, value in words.items():
        if not isinstance(key, str | bytes):
            raise InputError(f"expected words as str or bytes, not {type(key).__name__} {key!r:.60}")
        if not key:
            raise InputError("expected words of at least one character: an empty word has no tokens")
        word, times = encode_text(key) if isinstance(key, str) else key, times_of(key, value)
        if times and word not in removed:
            found[word] = found.get(word, 0) + times  # the same word may be given as str and as bytes
    if (total := sum(found.values())) >= 1 << 63:
        raise InputError(f"too many words: expected a total below 2**63, not {total}")
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum([*map(len, found)], dtype=np.int64)])
    return np.frombuffer(b"".join(found), np.uint8), offsets, np.array([*found.values()], np.uint64)
