"""Pruning the leaves of the merge graph, the textbook way (C2)."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from subwords.reference.bpe import Pair, encode_word, known_runs, symbols_of

__all__ = ["prune", "prune_merges"]


def prune(
    word_counts: Mapping[bytes, int],
    vocab: Sequence[bytes],
    merges: Sequence[Pair],
    number: int,
    *,
    byte_level: bool = True,
    specials: Container[bytes] = (),
) -> list[bytes]:
    """Return the `number` tokens to remove, in order: always the leaf of the lowest count, of equal ones the last.

    A leaf is a token that no token left is made of. Symbols and `specials` stay. The count of a removed token is added
    to the counts of the two that it is made of. Fewer are returned if nothing else may go.

    >>> prune({b"hug": 10, b"hugs": 5}, [b"g", b"h", b"s", b"u", b"ug", b"hug", b"hugs"],
    ...       [(b"u", b"g"), (b"h", b"ug"), (b"hug", b"s")], 2)
    [b'hugs', b'hug']
    """
    made = [pair for pair in merges if b"".join(pair) not in specials]
    known = [token for token in vocab if token not in specials]
    counts = dict.fromkeys(vocab, 0)
    for word, count in word_counts.items():
        for run in known_runs(symbols_of(word, byte_level), known):
            for token in encode_word(b"".join(run), made, byte_level=byte_level):
                counts[token] += count
    parts = {token: _parts(token, made, byte_level) for token in known if len(symbols_of(token, byte_level)) > 1}
    removed: list[bytes] = []
    while len(removed) < number:
        used = {part for token, pair in parts.items() if token not in removed for part in pair}
        leaves = [token for token in parts if token not in removed and token not in used]
        if not leaves:
            break
        worst = min(leaves, key=lambda token: (counts[token], -vocab.index(token)))
        removed.append(worst)
        for part in parts[worst]:
            counts[part] += counts[worst]
    return removed


def _parts(token: bytes, merges: Sequence[Pair], byte_level: bool) -> Sequence[bytes]:
    """Return the two symbols of a token before its last merge; none if merging does not make it."""
    row = encode_word(token, [pair for pair in merges if b"".join(pair) != token], byte_level=byte_level)
    return row if len(row) == 2 and (row[0], row[1]) in merges else []


def prune_merges(merges: Sequence[Pair], removed: Container[bytes]) -> list[Pair]:
    """Return the merges without those that make or use a removed token.

    >>> prune_merges([(b"a", b"b"), (b"ab", b"c"), (b"b", b"c")], [b"ab"])
    [(b'b', b'c')]
    """
    return [
        (left, right)
        for left, right in merges
        if left not in removed and right not in removed and left + right not in removed
    ]
