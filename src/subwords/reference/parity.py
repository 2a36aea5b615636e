"""Parity-aware BPE training, the textbook way (B11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from subwords.reference.bpe import Pair, apply_merge, count_pairs, symbols_of
from subwords.reference.characters import cuts_no_character

__all__ = ["train"]

Counts = Mapping[bytes, int]
Words = list[tuple[list[bytes], int]]


def train(
    languages: Sequence[Counts],
    base: Sequence[bytes],
    vocab_size: int,
    scales: Sequence[float],
    *,
    measured: Sequence[Counts] | None = None,
    window: int = 0,
    most_picks: int = 0,
    pooled: int = 0,
    tie_break: Literal["ids", "bytes"] = "ids",
    min_frequency: int = 0,
    byte_level: bool = True,
    max_token_length: int | None = None,
    whole_characters: bool = False,
) -> tuple[list[bytes], list[Pair], list[int], list[int]]:
    """Return the vocabulary, the merges, the language of each merge (-1: all), and the sizes in the end.

    The cost of a language is the number of symbols of its measured words (by default, those of training) times its
    scale. Each merge is the most frequent pair of the language of the greatest cost, of those that were not chosen
    `most_picks` times in the last `window` merges and have a pair left. The first `pooled` merges are the most frequent
    pairs of all languages together.

    >>> train([{b"aab": 9}, {b"cd": 2}], [b"a", b"b", b"c", b"d"], 6, [1.0, 1.0])
    ([b'a', b'b', b'c', b'd', b'aa', b'aab'], [(b'a', b'a'), (b'aa', b'b')], [0, 0], [9, 4])
    """
    texts = [[*languages], [*(measured or languages)]]
    states = [[[(symbols_of(w, byte_level), n) for w, n in counts.items()] for counts in part] for part in texts]

    def may_merge(left: bytes, right: bytes) -> bool:
        short = max_token_length is None or len(symbols_of(left + right, byte_level)) <= max_token_length
        return short and (not whole_characters or cuts_no_character(left, right))

    vocab, merges, picks = [*base], list[Pair](), list[int]()
    ids, empty = {token: number for number, token in enumerate(vocab)}, set[int]()
    while len(vocab) < vocab_size:
        costs = [size * scale for size, scale in zip(map(_size, states[1]), scales, strict=True)]
        recent = picks[max(0, len(picks) - window) :] if window else []
        left = [k for k in range(len(languages)) if k not in empty]
        if len(picks) < pooled:
            chosen, words = -1, [word for part in states[0] for word in part]
        elif not left:
            break
        else:
            free = [k for k in left if not window or recent.count(k) < most_picks] or left
            chosen = max(free, key=lambda k: (costs[k], -k))
            words = states[0][chosen]
        counts = {pair: n for pair, n in count_pairs(words).items() if may_merge(*pair)}
        if max(counts.values(), default=0) < max(min_frequency, 1):
            if chosen < 0:
                pooled = 0
            empty.add(chosen)
            continue
        most = max(counts.values())
        tied = [pair for pair, n in counts.items() if n == most]
        pair = min(tied) if tie_break == "bytes" else min(tied, key=lambda pair: (ids[pair[0]], ids[pair[1]]))
        merges.append(pair)
        picks.append(chosen)
        states = [[[(apply_merge(t, pair), n) for t, n in part] for part in state] for state in states]
        if b"".join(pair) not in ids:
            ids[b"".join(pair)] = len(vocab)
            vocab.append(b"".join(pair))
    return vocab, merges, picks, [*map(_size, states[1])]


def _size(words: Words) -> int:
    return sum(len(tokens) * count for tokens, count in words)
