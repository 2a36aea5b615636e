"""More pieces for WordPiece and Unigram, the textbook way (P5, U6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import ceil

from subwords.reference import unigram, unigram_encode, wordpiece

__all__ = ["extend_unigram", "extend_wordpiece"]

Segment = Callable[[str], list[str]]  # the pieces of a word; other text splits it
GRAINS, ROUNDS, MORE = 128, 20, 64


def extend_wordpiece(
    word_counts: Mapping[str, int], vocab: Sequence[str], add: int, *, prefix: str = "##", unk: str = "[UNK]"
) -> list[str]:
    """Return at most `add` more pieces, all of which occur in the words.

    >>> extend_wordpiece({"hugs": 5, "hug": 9}, ["[UNK]", "h", "##u", "##g", "##s"], 2)
    ['hug', 'hugs']
    """

    def segment(more: Sequence[str]) -> Segment:
        known = {*vocab, *more} - {unk}
        return lambda word: wordpiece.encode_word(word, known, prefix=prefix, unk=unk)

    found = _candidates(word_counts, segment([]), vocab, 2 * add + MORE, prefix, {unk})
    chosen, left = found[:add], add
    for turn in range(ROUNDS):
        used = _uses(word_counts, segment([piece for piece, _ in chosen]))
        kept = [(piece, times) for piece, times in chosen if used[piece]]
        if len(kept) == len(chosen):
            break
        missing = len(chosen) - len(kept) if turn < ROUNDS // 2 else 0
        chosen, left = [*kept, *found[left : left + missing]], left + missing
    while True:
        used = _uses(word_counts, segment([piece for piece, _ in chosen]))
        if all(used[piece] for piece, _ in chosen):
            return [piece for piece, _ in chosen]
        chosen = [(piece, times) for piece, times in chosen if used[piece]]


def extend_unigram(word_counts: Mapping[str, int], scores: Mapping[str, float], add: int) -> dict[str, float]:
    """Return at most `add` more pieces with their scores, all of which occur in the words.

    >>> extend_unigram({"hugs": 5, "hug": 9}, {"h": -2.0, "u": -2.0, "g": -2.0, "s": -2.0}, 1)
    {'hu': -1.2109375}
    """

    def segment(more: Mapping[str, float]) -> Segment:
        return lambda word: unigram_encode.best_path(word, {**scores, **more})

    total = sum(_uses(word_counts, segment({})).values())
    found = _candidates(word_counts, segment({}), [*scores], 2 * add + MORE, "", set())
    weights, chosen, left = dict(found), [piece for piece, _ in found[:add]], add
    for turn in range(ROUNDS):
        more = _spared(scores, {piece: _score(weights[piece], total, scores) for piece in chosen})
        used = _uses(word_counts, segment(more))
        if turn and all(used[piece] for piece in chosen):
            return more
        weights |= {piece: used[piece] for piece in chosen if used[piece]}
        missing = sum(not used[piece] for piece in chosen) if turn < ROUNDS // 2 else 0
        chosen = [piece for piece in chosen if used[piece]] + [piece for piece, _ in found[left : left + missing]]
        left += missing
    while True:
        more = _spared(scores, {piece: _score(weights[piece], total, scores) for piece in chosen})
        used = _uses(word_counts, segment(more))
        if all(used[piece] for piece in chosen):
            return more
        chosen = [piece for piece in chosen if used[piece]]


def _score(times: int, total: int, scores: Mapping[str, float]) -> float:
    """Return the logarithm of a share, a multiple of 1/128 that is not below all old scores."""
    return max(ceil(min(scores.values()) * GRAINS), round(unigram.ln(times / total) * GRAINS)) / GRAINS


def _spared(scores: Mapping[str, float], more: dict[str, float]) -> dict[str, float]:
    """Lower new scores until each old piece that was the best path of its own text is so again."""
    own = [piece for piece in scores if unigram_encode.best_path(piece, scores) == [piece]]
    for _ in range(ROUNDS):
        lower, every = dict(more), {**scores, **more}
        for piece in own:
            path = unigram_encode.best_path(piece, every)
            if path != [piece]:
                new = [part for part in path if part in more]
                ahead = max(0.0, sum(every[part] for part in path) - scores[piece])
                for part in new:
                    lower[part] = min(lower[part], more[part] - ceil(ahead / len(new) * GRAINS + 1) / GRAINS)
        if lower == more:
            break
        more = lower
    return more


def _candidates(
    word_counts: Mapping[str, int],
    segment: Segment,
    vocab: Sequence[str],
    number: int,
    prefix: str,
    unknown: set[str],
) -> list[tuple[str, int]]:
    """Return the most frequent neighbours, merged one after the other, and how often each was merged."""
    ids = {piece: number for number, piece in enumerate(vocab)}
    words = [(segment(word), times) for word, times in word_counts.items()]
    found = list[tuple[str, int]]()
    while len(found) < number:
        counts = Counter[tuple[str, str]]()
        for pieces, times in words:
            for left, right in pairwise(pieces):
                known = left in ids and right in ids and not unknown & {left, right}
                if known and left + right[len(prefix) :] not in vocab:
                    counts[left, right] += times
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], ids[pair[0]], ids[pair[1]]))
        piece = best[0] + best[1][len(prefix) :]
        ids.setdefault(piece, len(ids))
        found.append((piece, counts[best]))
        words = [(_merged(pieces, best, piece), times) for pieces, times in words]
    return found


def _merged(pieces: list[str], pair: tuple[str, str], piece: str) -> list[str]:
    found, at = list[str](), 0
    while at < len(pieces):
        here = tuple(pieces[at : at + 2]) == pair
        found.append(piece if here else pieces[at])
        at += 1 + here
    return found


def _uses(word_counts: Mapping[str, int], segment: Segment) -> Counter[str]:
    """Return how often each piece occurs."""
    found = Counter[str]()
    for word, times in word_counts.items():
        for piece in segment(word):
            found[piece] += times
    return found
