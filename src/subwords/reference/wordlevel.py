"""WordLevel in plain Python: the most frequent words, and words looked up whole. The oracle of tests.

>>> vocab = train({b"a": 2, b"c": 1, b"b": 2}, 4, special_tokens=["<unk>"])
>>> vocab
[b'<unk>', b'a', b'b', b'c']
>>> encode([b"b", b"x"], vocab, unk="<unk>")
[2, 0]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


def train(
    word_counts: Mapping[bytes, int], vocab_size: int, *, special_tokens: Iterable[str] = (), min_frequency: int = 0
) -> list[bytes]:
    """Return special tokens, then words by falling count, then by their bytes (L2).

    >>> train({b"a": 1, b"b": 2}, 2, min_frequency=2)
    [b'b']
    """
    specials = [token.encode() for token in special_tokens]
    kept = [word for word, count in word_counts.items() if count >= min_frequency and word not in specials]
    return [*specials, *sorted(kept, key=lambda word: (-word_counts[word], word))][:vocab_size]


def encode(words: Iterable[bytes], vocab: Sequence[bytes], *, unk: str | None) -> list[int]:
    """Return the id of each word, or that of `unk` (L1); ValueError for an unknown word without it.

    >>> encode([b"b"], [b"a", b"b"], unk=None)
    [1]
    """
    ids = {token: index for index, token in enumerate(vocab)}
    found = []
    for word in words:
        index = ids.get(word, None if unk is None else ids.get(unk.encode()))
        if index is None:
            raise ValueError(f"{word!r} is not a token; there is no unk token ({unk=})")
        found.append(index)
    return found
