"""Score-based BPE: the merges implied by pieces, and the ids of symbols that are not tokens."""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subwords.bpe.rank_merges import joining_pairs
from subwords.components.vocab import Vocab

if TYPE_CHECKING:
    from subwords.bpe.model import BPE

__all__ = ["is_ordered", "scored_merges", "taken_apart", "ties"]

DEEPEST = 100  # SentencePiece's recursion limit for splitting unused pieces


def scored_merges(
    tokens: Sequence[bytes], scores: Sequence[float], left_out: Container[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[bytes, ...]]:
    """Return the merges of pieces, their ranks, and the characters in pieces that are not pieces themselves.

    A merge is any pair of pieces, or characters, that concatenates to a piece. Pairs of equal score get equal rank,
    longest first. Pieces in `left_out` are ignored.
    """
    ids = {token: i for i, token in enumerate(tokens) if i not in left_out and token}
    found = _joined(tokens, ids)
    table, parts = found if found is not None else _one_by_one(tokens, ids)
    _, ranks = np.unique(-_order(scores)[table[:, 2]], return_inverse=True)
    lengths = np.array([len(token) for token in tokens], np.int64)
    order = np.lexsort((table[:, 2], -lengths[table[:, 2]], ranks))
    return table[order], ranks[order].astype(np.int64), parts


def _joined(tokens: Sequence[bytes], ids: dict[bytes, int]) -> tuple[NDArray[np.int64], tuple[bytes, ...]] | None:
    """Return what `_one_by_one` returns, all merges found at once; None if a token is not UTF-8, or there twice."""
    kept = [*ids.values()]
    try:
        texts = [token.decode() for token in ids]
    except UnicodeDecodeError:
        return None
    if kept != sorted(kept):
        return None
    symbols = map(str.encode, dict.fromkeys("".join(text for text in texts if len(text) > 1)))
    parts = [symbol for symbol in symbols if symbol not in ids]
    left_out = frozenset(range(len(tokens))).difference(kept)
    # All are whole characters: so is what two of them join to, and where.
    return joining_pairs(Vocab([*tokens, *parts]), left_out), tuple(parts)


def _one_by_one(tokens: Sequence[bytes], ids: dict[bytes, int]) -> tuple[NDArray[np.int64], tuple[bytes, ...]]:
    """Return the merges, in order of their result, and the characters outside the vocabulary."""
    characters = {token: token.decode("utf-8", "surrogateescape") for token in ids}
    parts: dict[bytes, int] = {}
    merges: list[tuple[int, int, int]] = []
    for token, text in characters.items():
        if len(text) > 1:
            for char in text:
                symbol = char.encode("utf-8", "surrogateescape")
                if symbol not in ids:
                    parts.setdefault(symbol, len(tokens) + len(parts))
            cut = 0
            for char in text[:-1]:
                cut += len(char.encode("utf-8", "surrogateescape"))
                left, right = token[:cut], token[cut:]
                a, b = ids.get(left, parts.get(left)), ids.get(right, parts.get(right))
                if a is not None and b is not None:
                    merges.append((a, b, ids[token]))
    return np.array(merges, np.int64).reshape(-1, 3), tuple(parts)


def _order(scores: Sequence[float]) -> NDArray[np.int64]:
    """Return scores as integers in the same order; -0.0 sorts before 0.0, as in SentencePiece."""
    bits = np.array(scores, np.float32).view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFFFFFF) - 1, bits)


def ties(model: BPE) -> list[list[int]]:
    """Return groups of two or more tokens with equal priority, in order of their merges."""
    if model.ranks is None:
        return []
    results = np.split(model.merges[:, 2], np.flatnonzero(np.diff(model.ranks)) + 1)
    found = [list(dict.fromkeys(part.tolist())) for part in results]
    return [tokens for tokens in found if len(tokens) > 1]


def is_ordered(model: BPE, tied: Sequence[int]) -> bool:
    """Whether merging tied tokens in their listed order gives the same result as treating them as tied.

    True for runs of one character, longest first, if no other token contains two of it. By the tie, a run grows to the
    longest token before the next run begins after it, and a growing run absorbs that one when it can. Each such step
    makes a longer run than starting a new one does, so the listed order makes the same steps first.
    """
    texts = [model.vocab[token].decode("utf-8", "surrogateescape") for token in tied]
    char, lengths = texts[0][0], sorted(map(len, texts), reverse=True)
    if texts != [char * n for n in lengths] or lengths[-1] < 2:
        return False
    others = set(model.merges[:, 2].tolist()) - set(tied)
    return not any((char * 2).encode("utf-8", "surrogateescape") in model.vocab[token] for token in others)


def taken_apart(model: BPE) -> dict[int, list[int]]:
    """Return the ids that replace every part and unused token after merging.

    A token is always built from the same two symbols in any context: the merges inside it have a fixed order.
    """
    singles = [i for i in model.unused_ids if _is_character(model.vocab[i])]
    made = _last_merges(model) if len(singles) < len(model.unused_ids) else {}
    odd = [*model.unused_ids, *range(len(model.vocab), len(model.symbols))]
    return {symbol: _taken_apart(model, made, symbol, 0) for symbol in odd}


def _taken_apart(model: BPE, made: dict[int, tuple[int, int]], symbol: int, depth: int) -> list[int]:
    if symbol < len(model.vocab) and (symbol not in model.unused_ids or depth > DEEPEST):
        return [symbol]
    if symbol in made:
        left, right = made[symbol]
        return _taken_apart(model, made, left, depth + 1) + _taken_apart(model, made, right, depth + 1)
    own: list[int] = model.byte_ids[list(model.symbols[symbol])].tolist()
    if min(own) >= 0:
        return own
    return [] if model.unk_id is None else [model.unk_id]


def _last_merges(model: BPE) -> dict[int, tuple[int, int]]:
    """Return the two symbols that build each unused token; missing if merging its characters does not yield it."""
    ranks = range(len(model.merges)) if model.ranks is None else model.ranks.tolist()
    pairs = {(a, b): (rank, c) for (a, b, c), rank in zip(model.merges.tolist(), ranks, strict=True)}
    found = {}
    for token in model.unused_ids:
        text = model.vocab[token].decode("utf-8", "surrogateescape")
        symbols = [int(model.alphabet[ord(char)]) for char in text if ord(char) < len(model.alphabet)]
        last = None
        while ranked := [(pairs[pair], i) for i, pair in enumerate(pairwise(symbols)) if pair in pairs]:
            (_, joint), i = min(ranked, key=lambda entry: (entry[0][0], entry[1]))
            last = symbols[i], symbols[i + 1]
            symbols[i : i + 2] = [joint]
        if last is not None and symbols == [token]:
            found[token] = last
    return found


def _is_character(token: bytes) -> bool:
    return len(token.decode("utf-8", "surrogateescape")) == 1
