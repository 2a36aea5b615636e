"""Textbook Unigram encoding: the path of the greatest sum of scores, and all other paths (U5).

Pieces are `str`; scores are natural logarithms of probabilities. An unknown character is UNKNOWN in paths.

>>> scores = {"h": -2.6, "u": -1.8, "g": -2.3, "hu": -2.6, "ug": -2.4, "hug": -2.6}
>>> best_path("hug", scores)
['hug']
>>> [path for path, _ in ranked_paths("hug", scores)]
[['hug'], ['hu', 'g'], ['h', 'ug'], ['h', 'u', 'g']]
>>> encode("hugs hug", scores | {"▁": -9.0}, ["hugs", "▁hug"])
['hug', None, '▁', 'hug']
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from math import exp
from struct import pack, unpack

__all__ = ["best_path", "edges", "encode", "path_shares", "ranked_paths", "single", "unknown_score"]

Scores = Mapping[str, float]
RESET = 100_000.0  # SentencePiece restarts the running sum beyond


def single(x: float) -> float:
    """Return the 32-bit float nearest to a number.

    >>> single(0.1)
    0.10000000149011612
    """
    return float(unpack("f", pack("f", x))[0])


def parsed(x: float) -> float:
    """Return a number as HF parses it from a file: all digits as one integer, divided by a power of ten.

    >>> parsed(-2.5), parsed(-2.0122928619384766)
    (-2.5, -2.012292861938477)
    """
    sign, digits, exponent = Decimal(repr(x)).as_tuple()
    assert isinstance(exponent, int)
    assert abs(exponent) < 300
    value = float(int("".join(map(str, digits))))
    value = value * float(f"1e{exponent}") if exponent > 0 else value / float(f"1e{-exponent}")
    return -value if sign else value


def unknown_score(scores: Scores) -> float:
    """Return the score of an unknown character: 10 below the lowest score."""
    return min(scores.values(), default=0.0) - 10.0


def edges(text: str, start: int, scores: Scores) -> Iterator[tuple[str, float]]:
    """Yield the pieces that begin at a position, shortest first; the unknown character comes last."""
    found = [text[start:stop] for stop in range(start + 1, len(text) + 1) if text[start:stop] in scores]
    yield from ((piece, scores[piece]) for piece in found)
    if text[start] not in found:
        yield text[start], unknown_score(scores)


def best_path(text: str, scores: Scores, *, running: bool = False) -> list[str]:
    """Return the pieces of the greatest sum; at a tie the path with the longer last piece. running: see `encode`."""
    kept = {piece: (single if running else parsed)(score) for piece, score in scores.items()}
    return _best_path(text, kept, 0.0, single if running else float)[0]


def _best_path(text: str, scores: Scores, base: float, rounded: Callable[[float], float]) -> tuple[list[str], float]:
    best: dict[int, tuple[float, int]] = {0: (base, 0)}
    for start in range(len(text)):
        if rounded is single and abs(best[start][0]) > RESET:
            offset = best[start][0]
            best |= {stop: (single(total - offset), begin) for stop, (total, begin) in best.items() if stop >= start}
        for piece, score in edges(text, start, scores):
            total = rounded(best[start][0] + rounded(score))  # the score of an unknown character is a sum too
            if start + len(piece) not in best or total > best[start + len(piece)][0]:
                best[start + len(piece)] = total, start
    path, stop = [], len(text)
    while stop:
        path.append(text[best[stop][1] : stop])
        stop = best[stop][1]
    return path[::-1], best[len(text)][0]


def encode(
    text: str, scores: Scores, words: Iterable[str] | None = None, *, running: bool = False, unk: str | None = None
) -> list[str | None]:
    """Return the pieces of a text, or of its words; adjacent unknown characters become one None.

    running: sum as SentencePiece does, in 32 bits, each word starting from the sum of the previous words. Otherwise sum
    as HF does: see `parsed`. unk: a piece that counts as unknown too.

    >>> encode("aab", {"a": -1.0, "aa": -2.0})
    ['aa', None]
    """
    kept = {piece: single(score) for piece, score in scores.items()} if running else scores
    total, found = 0.0, []
    for word in [text] if words is None else words:
        path, total = _best_path(word, kept, total, single) if running else (best_path(word, kept), 0.0)
        known = [piece if piece in scores and piece != unk else None for piece in path]
        found += [piece for i, piece in enumerate(known) if piece is not None or i == 0 or known[i - 1] is not None]
    return found


def _paths(text: str, scores: Scores) -> Iterator[tuple[list[str], float]]:
    if not text:
        yield [], 0.0
        return
    for piece, score in edges(text, 0, scores):
        for rest, total in _paths(text[len(piece) :], scores):
            yield [piece, *rest], score + total


def ranked_paths(text: str, scores: Scores) -> list[tuple[list[str], float]]:
    """Return all segmentations of a text with their scores, greatest first."""
    return sorted(_paths(text, scores), key=lambda found: -found[1])


def path_shares(text: str, scores: Scores, alpha: float) -> dict[tuple[str, ...], float]:
    """Return the probability of each path in sampling, proportional to exp(alpha * sum).

    >>> path_shares("aa", {"a": -1.0, "aa": -2.0}, 0.5)
    {('a', 'a'): 0.5, ('aa',): 0.5}
    """
    weights = {tuple(path): exp(alpha * total) for path, total in ranked_paths(text, scores)}
    whole = sum(weights.values())
    return {path: weight / whole for path, weight in weights.items()}
