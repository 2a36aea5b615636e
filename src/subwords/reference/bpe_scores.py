"""Encoding by scores of pieces, the textbook way (E3, SentencePiece)."""

from __future__ import annotations

from collections.abc import Container, Mapping

from subwords.reference.bpe import Pair, bytes_of, merge_by_rank, symbols_of

__all__ = ["encode_word_scores"]


def encode_word_scores(
    word: bytes,
    scores: Mapping[bytes, float],
    *,
    unk: str = "<unk>",
    byte_fallback: bool = False,
    unused: Container[bytes] = (),
) -> list[bytes]:
    """Segment one word by piece scores (SentencePiece): the neighbours that join to the best piece merge first.

    Pieces in `unused` take part in merging and are then split into the parts they were merged from. A character that is
    not a piece becomes its bytes (`byte_fallback`) or `unk`; adjacent unks are joined.

    >>> encode_word_scores(b"abcb", {b"a": -3, b"b": -4, b"bc": -1, b"ab": -2})
    [b'a', b'bc', b'b']
    """
    made: dict[bytes, Pair] = {}

    def rank(pair: Pair) -> float | None:
        joint = b"".join(pair)
        if joint not in scores:
            return None
        made[joint] = pair
        return -scores[joint]

    def parted(token: bytes) -> list[bytes]:
        if token in scores and token not in unused:
            return [token]
        if token in made:
            return [part for side in made[token] for part in parted(side)]
        return bytes_of(token) if byte_fallback else [unk.encode()]

    tokens = [part for token in merge_by_rank(symbols_of(word, False), rank) for part in parted(token)]
    return [token for i, token in enumerate(tokens) if i == 0 or token != unk.encode() or tokens[i - 1] != token]
