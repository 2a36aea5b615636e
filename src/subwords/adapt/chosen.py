"""Which tokens to remove: named ones, all but named ones, those of a script, those of low count."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from subwords.adapt.removal import Removal, shown
from subwords.adapt.words import word_ids
from subwords.components.model import Model
from subwords.corpus.counts import WordCounts
from subwords.errors import InputError
from subwords.support.checks import check_strings
from subwords.tokenizer import Tokenizer
from subwords.unicode.tables import property_members

__all__ = ["all_but", "ids_of_tokens", "left_of_scripts", "lowest", "of_scripts", "token_counts", "unneeded"]


def ids_of_tokens(name: str, tokenizer: Tokenizer, tokens: object) -> list[int]:
    """Return the ids of tokens given as ids, as bytes, or as str; InputError for others and for no tokens.

    A str is a token as in `get_vocab`, or else its text.
    """
    if isinstance(tokens, str | bytes | bytearray) or not isinstance(tokens, Iterable):
        raise InputError(f"expected {name} to be a list of tokens or ids, not {tokens!r:.60}")
    found = list(dict.fromkeys(_id_of(name, tokenizer, token) for token in tokens))
    if not found:
        raise InputError(f"expected {name} to name a token; it is empty")
    return found


def _id_of(name: str, tokenizer: Tokenizer, token: object) -> int:
    index: int | None
    if isinstance(token, str | bytes):
        index = tokenizer.token_to_id(token)
        if index is None and isinstance(token, str):
            index = tokenizer.token_to_id(token.encode("utf-8", "surrogatepass"))
        if index is None:
            raise InputError(f"{name}: {token!r:.60} is not in the vocabulary")
        return index
    if isinstance(token, bool) or not isinstance(token, int | np.integer):
        raise InputError(f"expected {name} to hold tokens (str, bytes) or ids (int), not {token!r:.60}")
    if not 0 <= token < tokenizer.vocab_size or not tokenizer.model.vocab[int(token)]:
        raise InputError(f"{name}: no token has the id {token}")
    return int(token)


def unneeded(removal: Removal, wanted: Sequence[int]) -> list[int]:
    """Return the ids, ascending; InputError, by name, for those that must stay and those that others are made of."""
    going = {*wanted}
    for index in wanted:
        if index in removal.fixed:
            raise InputError(f"cannot prune {shown(removal.tokens[index])} (id {index}): it is {removal.fixed[index]}")
    for index in removal.removable:
        if index not in going:
            for part in removal.needs(index):
                if part in going:
                    raise InputError(
                        f"cannot prune {shown(removal.tokens[part])} (id {part}): {shown(removal.tokens[index])} (id "
                        f"{index}) is made of it; prune that too"
                    )
    return sorted(going)


def all_but(removal: Removal, kept: Iterable[int]) -> list[int]:
    """Return the removable tokens except the kept ones and their parts."""
    needed, waiting = set[int](), [*kept]
    while waiting:
        index = waiting.pop()
        if index not in needed and index < len(removal.tokens):
            needed.add(index)
            waiting += removal.needs(index)
    return [index for index in removal.removable if index not in needed]


def of_scripts(removal: Removal, scripts: object) -> list[int]:
    """Return the tokens with letters of some scripts only, but those that others are made of.

    Letters are letters and marks that have a script. Characters that a token has a part of only do not count.
    """
    names = check_strings("scripts", scripts)
    letters, members = _letters_of(names)
    found = [index for index in removal.removable if _is_of(removal.tokens[index], letters, members)]
    if not found:
        raise InputError(f"nothing to prune: no token has letters of {', '.join(names)} only")
    going = {*found}
    return all_but(removal, (index for index, token in enumerate(removal.tokens) if token and index not in going))


def left_of_scripts(tokens: Iterable[bytes], scripts: Iterable[str]) -> int:
    """Return how many tokens have a letter of some scripts."""
    letters, members = _letters_of(tuple(scripts))
    members &= letters
    return sum(any(members[ord(char)] for char in token.decode("utf-8", "ignore")) for token in tokens)


def _letters_of(names: tuple[str, ...]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which code points are letters of any script, and which are of these scripts."""
    members = np.zeros(0x110000, np.bool_)
    if not names:
        raise InputError("expected scripts to name a script; it is empty")
    for script in names:
        try:
            members |= property_members(f"sc={script}")
        except KeyError:
            raise InputError(f"expected scripts of Unicode, such as 'Cyrillic' or 'Hani', not {script!r:.40}") from None
    letters = property_members("L") | property_members("M")
    letters &= ~(property_members("sc=Common") | property_members("sc=Inherited"))
    return letters, members


def _is_of(token: bytes, letters: NDArray[np.bool_], members: NDArray[np.bool_]) -> bool:
    codes = np.fromiter(map(ord, token.decode("utf-8", "ignore")), np.int64)
    codes = codes[letters[codes]]
    return bool(len(codes)) and bool(members[codes].all())


def token_counts(model: Model, counts: WordCounts, threads: int | None) -> NDArray[np.int64]:
    """Return how often each token occurs in words with counts."""
    batch, found = word_ids(model, counts, threads), np.zeros(len(model.vocab) + 1, np.int64)
    np.add.at(found, batch.ids, np.repeat(counts.counts.astype(np.int64), np.diff(batch.offsets)))
    return found[:-1]


def lowest(
    removal: Removal, counts: NDArray[np.int64], kept: Iterable[int], more: Callable[[int, int], bool]
) -> list[int]:
    """Return the tokens that go, in order: always the one of lowest count, of equal ones that of the largest id.

    Defined in ALGORITHMS.md, C2.

    A token is removed only if it is not a part of another one. Its count is added to the counts of its parts.
    more: whether to remove another one, by the count of the next token and the number of removed ones.
    """
    own, gone, order = counts.tolist(), set[int](), list[int]()
    users = [0] * len(removal.tokens)
    stays = {*kept}
    removable = [index for index in removal.removable if index not in stays]
    may_go = {*removable}
    for index in removal.removable:
        for part in removal.needs(index):
            if part < len(users):
                users[part] += 1
    heap = [(own[index], -index) for index in removable if not users[index]]
    heapify(heap)
    while heap:
        count, index = heap[0][0], -heap[0][1]
        if index in gone or count != own[index]:
            heappop(heap)  # it is there again, with its count of now
            continue
        if not more(count, len(order)):
            break
        heappop(heap)
        gone.add(index)
        order.append(index)
        for part in removal.parts(index, gone):
            own[part] += count
            if count and part in may_go and not users[part]:
                heappush(heap, (own[part], -part))
        for part in removal.needs(index):
            if part < len(users):
                users[part] -= 1
                if not users[part] and part in may_go:
                    heappush(heap, (own[part], -part))
    return order
