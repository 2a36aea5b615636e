"""Training a Unigram model of the fewest pieces, the textbook way (U7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil

from subwords.reference import bpe, unigram_encode
from subwords.reference.unigram import ln

__all__ = ["train"]


def train(word_counts: Mapping[str, int], size: int, seed_factor: float = 1.1) -> dict[str, float]:
    """Return `size` pieces and their scores, best first; ValueError if there are too few.

    >>> {piece: round(score, 7) for piece, score in train({"hug": 9, "hugs": 5}, 5).items()}
    {'hug': -1.0000045, 's': -1.0000148, 'g': -1.0000309, 'h': -1.0000309, 'u': -1.0000309}
    """
    counts, number = {word.encode(): n for word, n in word_counts.items()}, ceil(size * seed_factor)
    while True:
        vocab, _ = bpe.train(counts, max(number, _alphabet(word_counts)), byte_level=False)
        pieces = [piece.decode() for piece in vocab]
        uses = Counter(dict.fromkeys(pieces, 1))
        for _ in range(2):
            uses = _uses(word_counts, _scores(pieces, uses))
            pieces = [piece for piece in pieces if uses[piece] or len(piece) == 1]
        if len(pieces) >= size or len(vocab) < number:
            break
        number += number // 2 + size - len(pieces)
    uses = _uses(word_counts, _scores(pieces, uses))
    if len(pieces) < size:
        raise ValueError(f"there are only {len(pieces)} pieces")
    pieces = sorted(pieces, key=lambda piece: (len(piece) > 1, -uses[piece], piece.encode()))[:size]
    scores = _scores(pieces, _uses(word_counts, _scores(pieces, uses)))
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0].encode())))


def _alphabet(words: Mapping[str, int]) -> int:
    return len({*"".join(words)})


def _scores(pieces: Sequence[str], uses: Mapping[str, int]) -> dict[str, float]:
    """Return -1 for each piece, plus a little of the logarithm of its share."""
    used = {piece: max(uses[piece], 1) for piece in pieces}
    return {piece: 1e-5 * ln(n / sum(used.values())) - 1.0 for piece, n in used.items()}


def _uses(words: Mapping[str, int], scores: Mapping[str, float]) -> Counter[str]:
    found = Counter[str]()
    for word, count in words.items():
        for piece in unigram_encode.best_path(word, scores):
            found[piece] += count
    return found
