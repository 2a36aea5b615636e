"""Encoding by ranks that are ids, the textbook way (E2, tiktoken)."""

from __future__ import annotations

from collections.abc import Mapping

from subwords.reference.bpe import merge_by_rank, symbols_of

__all__ = ["encode_word_ranks"]


def encode_word_ranks(word: bytes, ranks: Mapping[bytes, int]) -> list[int]:
    """Segment one word by token ranks, which are ids (tiktoken): the word itself if it is a token, else by merging.

    >>> ranks = {b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"aabb": 4}
    >>> encode_word_ranks(b"aabb", ranks), encode_word_ranks(b"abc", ranks)
    ([4], [0, 3])
    """
    tokens = [word] if word in ranks else merge_by_rank(symbols_of(word, True), lambda pair: ranks.get(b"".join(pair)))
    unknown = [token for token in tokens if token not in ranks]
    if unknown:
        raise ValueError(f"{unknown[0]!r} of word {word!r} has no rank")
    return [ranks[token] for token in tokens]
