"""Text, the textbook way: whole characters (B8), search, rows of JSON, documents, encodings."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise, product
from typing import TypeVar


def cuts_no_character(left: bytes, right: bytes) -> bool:
    r"""Whether two tokens are whole characters, or the beginning of one character and the byte after it.

    >>> cuts_no_character(b"a", "é".encode()), cuts_no_character(b"\xe6\x96", b"\x87"), cuts_no_character(b"a", b"\xc3")
    (True, True, False)
    """
    if _is_text(left) and _is_text(right):
        return True
    longer = left + right
    return len(right) == 1 and any(chr(code).encode().startswith(longer) for code in _begun(left))


def _is_text(token: bytes) -> bool:
    try:
        return bool(token.decode())
    except UnicodeDecodeError:
        return False


@cache
def _begun(token: bytes) -> list[int]:
    """Return the characters whose first bytes are the token and one more: the first of each kind."""
    found = []
    for byte in range(0x80, 0xC0):
        for rest in (b"", b"\x80", b"\x80\x80"):
            try:
                text = (token + bytes([byte]) + rest).decode()
            except UnicodeDecodeError:
                continue
            found += [ord(text)] if len(text) == 1 else []
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Finding strings in a text, naively.


def find_longest(text: bytes, strings: Sequence[bytes]) -> list[tuple[int, int]]:
    """Return the place and the number of the strings in a text: the first, of these the longest, then after its end.

    >>> find_longest(b"xababc", [b"ab", b"abc", b"b"])
    [(1, 0), (3, 1)]
    """
    found, at = [], 0
    while at < len(text):
        matches = [number for number, string in enumerate(strings) if string and text.startswith(string, at)]
        if matches:
            best = max(matches, key=lambda number: len(strings[number]))
            found.append((at, best))
            at += len(strings[best])
        else:
            at += 1
    return found


# ---------------------------------------------------------------------------------------------------------------------
# The textbook way to read one field of rows of JSON: an object for each row, by Python's json.


def field_texts(data: bytes, name: str) -> list[bytes | None]:
    """Return the text of a field of each row, in UTF-8; None for rows that are not sound or have no such text.

    data: valid UTF-8, rows end with a line feed. Rows of whitespace are left out.

    >>> field_texts(b'{"text": "a"}\\n\\n{"id": 3}', "text")
    [b'a', None]
    """
    return [_text(line, name) for line in data.split(b"\n") if line.strip(b" \t\r")]


def _text(line: bytes, name: str) -> bytes | None:
    try:
        row = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    text = row.get(name) if isinstance(row, dict) else None
    try:
        return text.encode() if isinstance(text, str) else None
    except UnicodeEncodeError:  # a lone surrogate
        return None


# ---------------------------------------------------------------------------------------------------------------------
# Documents, as they are defined: which ones a sample has (W5), and how many have each word (W6).

HEAD = 4096  # bytes
MASK = 2**64 - 1


def is_kept(document: bytes, share: float, seed: int) -> bool:
    """Whether a sample of this share has the document."""
    state = 0xCBF29CE484222325  # FNV-1a
    for byte in document[:HEAD]:
        state = (state ^ byte) * 0x100000001B3 & MASK
    state ^= seed * 0x9E3779B97F4A7C15 & MASK
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):  # the finalizer of MurmurHash3
        state = (state ^ state >> 33) * factor & MASK
    state ^= state >> 33
    return (state >> 11) / 2**53 < share


def document_frequencies(documents: Iterable[Sequence[bytes]]) -> dict[bytes, int]:
    """Return how many documents, given as their words, have each word."""
    return dict(Counter(word for words in documents for word in {*words}))


# ---------------------------------------------------------------------------------------------------------------------
# Other encodings of a word, as they are defined, and their exact probabilities (E10).

Flip = Callable[[], bool]  # whether this match or merge is skipped
Drawn = TypeVar("Drawn", bound=Hashable)


def segmentations(word: bytes, tokens: Collection[bytes]) -> list[list[bytes]]:
    """Return every way to cut a word into tokens.

    >>> segmentations(b"abc", {b"a", b"ab", b"b", b"c"})
    [[b'ab', b'c'], [b'a', b'b', b'c']]
    """
    found = []
    for cuts in product((False, True), repeat=max(0, len(word) - 1)):
        places = [0, *(i + 1 for i, cut in enumerate(cuts) if cut), len(word)]
        parts = [word[a:b] for a, b in pairwise(places) if a < b]
        if all(part in tokens for part in parts):
            found.append(parts)
    return found


def longest_match(word: bytes, tokens: Collection[bytes], skips: Flip = lambda: False) -> list[bytes]:
    """Return the longest match from the left, again and again; each match but the shortest may be skipped."""
    found, at = [], 0
    while at < len(word):
        matches = [word[at:end] for end in range(at + 1, len(word) + 1) if word[at:end] in tokens]
        while len(matches) > 1 and skips():
            matches.pop()
        found.append(matches[-1])
        at += len(matches[-1])
    return found


def bpe_dropout(word: Sequence[bytes], ranks: Mapping[tuple[bytes, bytes], int], skips: Flip) -> list[bytes]:
    """Merge the symbols of a word; a merge that is skipped waits until another one is tried.

    A merge is noted when its two symbols become neighbours, and is tried in the order of rank and place. It is tried,
    without effect, also if one of its symbols has been merged into another one since.
    """
    symbols = dict(enumerate(word))

    def neighbour(place: int, step: int) -> int | None:
        at = place + step
        while 0 <= at < len(word) and at not in symbols:
            at += step
        return at if at in symbols else None

    def noted(left: int | None) -> list[tuple[int, int, bytes]]:
        right = None if left is None else neighbour(left, 1)
        if left is None or right is None or (symbols[left], symbols[right]) not in ranks:
            return []
        return [(ranks[symbols[left], symbols[right]], left, symbols[left] + symbols[right])]

    waiting = [merge for place in symbols for merge in noted(place)]
    skipped = list[tuple[int, int, bytes]]()
    while waiting:
        merge = min(waiting)
        waiting.remove(merge)
        if skips():
            skipped.append(merge)
            continue
        waiting += skipped
        skipped = []
        _, left, merged = merge
        right = neighbour(left, 1) if left in symbols else None
        if right is not None and (symbols[left], symbols[right]) in ranks and symbols[left] + symbols[right] == merged:
            symbols[left] = merged
            del symbols[right]
            waiting += [*noted(neighbour(left, -1)), *noted(left)]
    return [symbols[place] for place in sorted(symbols)]


def distribution_of(draw: Callable[[Flip], Drawn], p: float) -> dict[Drawn, float]:
    """Return the probability of each result of `draw`, whose flips are true with probability p: tries all flips.

    >>> distribution_of(lambda flip: [flip(), flip()].count(True), 0.5)
    {0: 0.25, 1: 0.5, 2: 0.25}
    """
    found = dict[Drawn, float]()
    waiting = [list[bool]()]
    while waiting:
        planned = waiting.pop()
        made = list[bool]()

        def flip(planned: list[bool] = planned, made: list[bool] = made) -> bool:
            made.append(planned[len(made)] if len(made) < len(planned) else False)
            return made[-1]

        drawn = draw(flip)
        waiting += [[*made[:k], True] for k in range(len(planned), len(made))]
        share = p ** made.count(True) * (1 - p) ** made.count(False)
        found[drawn] = found.get(drawn, 0.0) + share
    return found
