"""Gold: words with their morphemes, and how well the borders of tokens are those of morphemes."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from subwords.tokenizer import Tokenizer


class Boundaries(NamedTuple):
    """Borders inside words: precision, recall and F1 of the tokens' borders. None without borders.

    Defined in ALGORITHMS.md, V9.
    """

    precision: float | None
    recall: float | None
    f1: float | None
    words: int


def boundaries(tokenizer: Tokenizer, gold: Iterable[tuple[str, tuple[str, ...]]]) -> Boundaries:
    """Return how well the borders of tokens inside words are those of morphemes; each word counts once.

    A word is encoded with a space before it, as within a sentence.
    """
    rows = [(word, {*accumulate(map(len, parts[:-1]))}) for word, parts in gold]
    hits = made = wanted = 0
    encodings = tokenizer([f" {word}" for word, _ in rows], template=False, truncation=False, padding=False)
    for (word, borders), encoding in zip(rows, encodings, strict=True):
        own = {int(start) - 1 for start in encoding.spans[:, 0].tolist()} & {*range(1, len(word))}
        hits, made, wanted = hits + len(own & borders), made + len(own), wanted + len(borders)
    precision, recall = (hits / made if made else None), (hits / wanted if wanted else None)
    f1 = None if precision is None or recall is None else 2 * hits / (made + wanted)
    return Boundaries(precision, recall, f1, len(rows))
