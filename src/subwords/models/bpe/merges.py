"""The merges of a BPE model as the tables of its kernel."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.kernels.layout import GroupedPairs
from subwords.spec.vocab import Vocab
from subwords.support.names import distinct

if TYPE_CHECKING:
    from subwords.models.bpe.model import BPE


Numbers = NDArray[np.int64]
GROUP = 4  # pairs of a pilot, at most, on average


class MergeTables(NamedTuple):
    """The merges that the kernel makes, and where it finds them; see `kernels/bpe/pairs.py`."""

    results: NDArray[np.int32]  # by rank
    first_result: int  # if rank r yields the id r more, else MISSING
    seed: int
    pairs: NDArray[np.uint64]
    sieve: NDArray[np.uint64]
    pilots: NDArray[np.uint32] = np.zeros(1, np.uint32)


def open_tables(merges: Numbers, ranks: Numbers, links: Numbers, seed: int) -> MergeTables:
    """Return the open table of merges, shape (n, 3), and of the pairs in `links`, shape (2, m)."""
    from subwords.kernels.named import fill_pairs

    left, right = _columns(merges)
    # At most 4 of 5 slots are used: the sieve answers for most pairs that are in no slot.
    known = len(merges) + links.shape[1]
    pairs = np.full(1 << max(4, (known + known // 4).bit_length()), layout.NO_PAIR, np.uint64)
    sieve = np.zeros(1 << max(0, known.bit_length() - 3), np.uint64)
    fill_pairs(links[0], links[1], np.full(links.shape[1], layout.MOST_RANK, np.int64), seed, pairs, sieve)
    fill_pairs(left, right, ranks, seed, pairs, sieve)
    return MergeTables(*_results(merges, ranks), seed, pairs, sieve)


def perfect_tables(merges: Numbers, new_seed: Callable[[], int]) -> MergeTables:
    """Return the perfect table of merges of distinct pairs, shape (n, 3), in order of rank."""
    from subwords.kernels.named import make_perfect

    ranks, count = perfect_ranks(merges), len(merges)
    pairs = np.empty(1 << max(4, (count + count // 4).bit_length()), np.uint64)
    pilots = np.zeros(len(pairs) // GROUP, np.uint32)
    scratch = GroupedPairs(*np.empty((2, count), np.uint64), *np.empty((2, len(pilots) + 1), np.int64))
    seed = new_seed()
    while not make_perfect(*_columns(merges), ranks, seed, pilots, pairs, scratch):
        seed = new_seed()
    return MergeTables(*_results(merges, ranks), seed, pairs, np.zeros(1, np.uint64), pilots)


def perfect_ranks(merges: Numbers) -> Numbers:
    """Return the ranks of merges in order, for a perfect table: with gaps, if no table of results is read then."""
    results = merges[:, 2] - merges[:1, 2]
    even = (np.diff(results) > 0).all() and results[-1:].sum() <= 2 * len(merges)
    return results if even else np.arange(len(merges))


def has_ties(model: BPE) -> bool:
    """Whether merges of equal priority have different results."""
    ranks, results = model.ranks, model.merges[:, 2]
    return ranks is not None and bool(((ranks[1:] == ranks[:-1]) & (results[1:] != results[:-1])).any())


def pairs_of_bytes(tables: MergeTables, alphabet: NDArray[np.int32]) -> Numbers:
    """Return the left ids, right ids and ranks of all pairs of two bytes; alphabet: the id of each byte."""
    entries = tables.pairs[tables.pairs != layout.NO_PAIR]
    rows = np.stack([entries >> (layout.RANK_BITS + layout.ID_BITS), entries >> layout.RANK_BITS, entries]).astype(
        np.int64
    )
    rows &= np.array([[(1 << layout.ID_BITS) - 1], [(1 << layout.ID_BITS) - 1], [layout.MOST_RANK]])
    return rows[:, np.isin(rows[:2], alphabet).all(0)]


def first_ranks(tables: MergeTables, of_bytes: Numbers, alphabet: NDArray[np.int32]) -> NDArray[np.uint32]:
    """Return the rank of each two bytes, at first << 8 | second, given all pairs of bytes."""
    if len(tables.pilots) == 1:
        return np.full(1, layout.NO_RANK, np.uint32)
    found = np.full(1 << 16, layout.NO_RANK, np.uint32)
    byte_of = np.full(int(alphabet.max()) + 1, layout.MISSING, np.int32)
    byte_of[alphabet] = np.arange(256)
    found[byte_of[of_bytes[0]] << 8 | byte_of[of_bytes[1]]] = of_bytes[2]
    return found


def without_repeats(merges: Numbers) -> NDArray[np.bool_]:
    """Return which merges are left if of those of one pair only the last counts."""
    keys = merges[:, 0] << layout.ID_BITS | merges[:, 1]
    order = np.argsort(keys, kind="stable")
    kept = np.ones(len(merges), np.bool_)
    kept[order[:-1]] = keys[order[:-1]] != keys[order[1:]]
    return kept


def links_of(model: BPE, results: Numbers) -> Numbers:
    """Return the pairs of character ids that are adjacent in some token that merges yield, shape (2, n)."""
    made = np.zeros(len(model.vocab), np.bool_)
    made[results] = True
    # Between tokens is a byte of no character: it has no id.
    text = model.vocab.joined(made).decode("utf-8", "surrogateescape")
    ids = model.alphabet[np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)].astype(np.int64)
    places = np.flatnonzero((ids[:-1] >= 0) & (ids[1:] >= 0))
    keys = distinct(ids[places] << 32 | ids[places + 1])
    return np.stack([keys >> 32, keys & 0xFFFFFFFF])


def _columns(merges: Numbers) -> tuple[Numbers, Numbers]:
    return np.ascontiguousarray(merges[:, 0]), np.ascontiguousarray(merges[:, 1])


def _results(merges: Numbers, ranks: Numbers) -> tuple[NDArray[np.int32], int]:
    results = np.zeros(int(ranks.max(initial=0)) + 1, np.int32)
    results[ranks] = merges[:, 2]
    steps = merges[:, 2] - ranks
    even = len(steps) and (steps == steps[0]).all() and steps[0] >= 0
    return results, int(steps[0]) if even else layout.MISSING


# ---------------------------------------------------------------------------------------------------------------------
# Rank files: all pairs of tokens that join to a token.


def joining_pairs(vocab: Vocab, left_out: frozenset[int] = frozenset()) -> Numbers:
    """Return (left, right, joined) for all pairs that join to a token, shape (n, 3), in order of `joined` and the cut.

    Tokens in `left_out` and empty ones are ignored; of equal tokens the last one counts.

    >>> joining_pairs(Vocab([b"a", b"b", b"ab", b"aba"])).tolist()
    [[0, 1, 2], [2, 0, 3]]
    """
    from subwords.kernels.named import find_joins

    kept = np.diff(vocab.offsets) > 0
    kept[[i for i in left_out if i < len(kept)]] = False
    joins = np.empty(3 * int(vocab.offsets[-1]), np.int64)  # untouched pages take no memory
    count = find_joins(vocab.text_index(kept)[0], joins)
    return joins[: 3 * count].reshape(count, 3).copy()


# ---------------------------------------------------------------------------------------------------------------------
# Score-based BPE: the merges implied by pieces, and the ids of symbols that are not tokens.

DEEPEST = 100  # SentencePiece's recursion limit for splitting unused pieces


def scored_merges(
    tokens: Sequence[bytes], scores: Sequence[float], left_out: Collection[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[bytes, ...]]:
    """Return the merges of pieces, their ranks, and the characters in pieces that are not pieces themselves.

    A merge is any pair of pieces, or characters, that concatenates to a piece. Pairs of equal score get equal rank,
    longest first. Pieces in `left_out` are ignored.
    """
    vocab = Vocab.of(tokens)
    lengths = np.diff(vocab.offsets)
    kept = lengths > 0
    kept[[i for i in left_out if i < len(kept)]] = False
    found = _all_at_once(vocab, kept)
    if found is None:
        found = _scored_one_by_one(tokens, {tokens[i]: i for i in np.flatnonzero(kept).tolist()})
    table, parts = found
    _, ranks = np.unique(-_by_score(scores)[table[:, 2]], return_inverse=True)
    order = np.lexsort((table[:, 2], -lengths[table[:, 2]], ranks))
    return table[order], ranks[order].astype(np.int64), parts


def _all_at_once(vocab: Vocab, kept: NDArray[np.bool_]) -> tuple[NDArray[np.int64], tuple[bytes, ...]] | None:
    """Return what `_scored_one_by_one` returns, all merges found at once; None if a token is not UTF-8, or twice there.

    kept: which tokens count.
    """
    try:
        texts = vocab.joined(kept).replace(b"\xff", b"\0").decode().split("\0")[:-1]
    except UnicodeDecodeError:
        return None
    distinct_texts = {*texts}
    if len(texts) != np.count_nonzero(kept) or len(distinct_texts) < len(texts):  # 0xFF or NUL in a token makes more
        return None
    symbols = dict.fromkeys("".join(text for text in texts if len(text) > 1))
    parts = tuple(symbol.encode() for symbol in symbols if symbol not in distinct_texts)
    # All are whole characters: so is what two of them join to, and where.
    left_out = frozenset(np.flatnonzero(~kept).tolist())
    return joining_pairs(vocab.with_more(parts) if parts else vocab, left_out), parts


def _scored_one_by_one(tokens: Sequence[bytes], ids: dict[bytes, int]) -> tuple[NDArray[np.int64], tuple[bytes, ...]]:
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


def _by_score(scores: Sequence[float]) -> NDArray[np.int64]:
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


LONGEST_RUN = 64  # characters of a tied run before later runs, of which `_stay_apart` tries all


def is_ordered(model: BPE, tied: Sequence[int]) -> bool:
    """Whether merging tied tokens in their listed order gives the same result as treating them as tied.

    True for runs of one character, longest first, if no other token contains two of it, but for tokens that come after
    the tied ones. By the tie, a run grows to the longest token before the next run begins after it, and a growing run
    absorbs that one when it can. Each such step makes a longer run than starting a new one does, so the listed order
    makes the same steps first. Merges that come later begin when no tied merge is left, and must leave none. Those with
    other characters shorten a run at an end. Longer runs join neighbours of what the tied merges left: see
    `_stay_apart`.
    """
    texts = [model.vocab[token].decode("utf-8", "surrogateescape") for token in tied]
    char, lengths = texts[0][0], sorted(map(len, texts), reverse=True)
    if texts != [char * n for n in lengths] or lengths[-1] < 2 or model.ranks is None:
        return False
    results, run = model.merges[:, 2], char.encode("utf-8", "surrogateescape")
    after = int(model.ranks[np.isin(results, tied)].max())
    early, late = (
        [token for token in set(results[part].tolist()) - set(tied) if run * 2 in model.vocab[token]]
        for part in (model.ranks <= after, model.ranks > after)
    )
    only_runs = [token for token in late if not model.vocab[token].replace(run, b"")]
    return not early and (not only_runs or _stay_apart(lengths))


def _stay_apart(lengths: Sequence[int]) -> bool:
    """Whether neighbours that tied merges leave of a run never join to a tied length, however later merges join them.

    lengths: of the tied runs, the longest first. A run of the longest length or more begins with one of that length,
    which nothing tied contains; so it is enough to try all shorter runs.
    """
    longest, tied = lengths[0], {*lengths}
    if longest > LONGEST_RUN:
        return False
    for size in range(2, longest):
        parts = [1] * size
        while (at := next((i for i, pair in enumerate(pairwise(parts)) if sum(pair) in tied), -1)) >= 0:
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        ends = [0, *accumulate(parts)]
        if any(ends[j] - ends[i] in tied for j in range(2, len(ends)) for i in range(j - 1)):
            return False
    return True


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
