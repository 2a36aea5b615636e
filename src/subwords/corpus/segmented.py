"""Segmented: word counts cut at given places, so that no merge crosses them (B10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike

import numpy as np

from subwords.corpus.counts import MOST, WordCounts
from subwords.corpus.gold import read_gold
from subwords.errors import InputError, TrainingError
from subwords.support.atomic import place_of

__all__ = ["Segmentation", "segmented"]

Segmentation = Mapping[str, Sequence[str]] | str | PathLike[str]  # parts by word, or a file of them

SPACES = (b" ", "\u2581".encode())  # what a word may begin with, besides its letters


def segmented(counts: WordCounts, segmentation: Segmentation) -> WordCounts:
    r"""Return counts in which words of a segmentation are replaced by their parts; other words stay.

    segmentation: the parts by word, {"undone": ["un", "done"]}, or the path of a file with lines of
    `word TAB mor pheme s`. A space before a word goes to its first part. Raises InputError for parts that do not join
    to the word, TrainingError if no word of the counts is in the segmentation. Hazard: encoding knows nothing of the
    segmentation; a merge that was learned inside of parts also applies across their places.

    >>> import subwords
    >>> counts = subwords.count(["undone undone done"])
    >>> dict(subwords.segmented(counts, {"undone": ["un", "done"]}))
    {b'un': 1, b'done': 2, b' un': 1, b' done': 1}

    Source: merges within morphemes, MorphBPE, Asgari et al., arXiv 2502.00894.
    """
    parts, found, cut = _pieces_by_word(segmentation), dict[bytes, int](), 0
    for word, number in counts:
        lead = next((space for space in SPACES if word.startswith(space)), b"")
        pieces = parts.get(word[len(lead) :])
        if pieces is None:
            found[word] = found.get(word, 0) + number
            continue
        cut += 1
        for piece in (lead + pieces[0], *pieces[1:]):
            found[piece] = found.get(piece, 0) + number
    if not cut:
        shown = ", ".join(repr(word.decode()) for word in list(parts)[:3])
        raise TrainingError(f"no word of the corpus is in the segmentation, which has {shown}: is it normalized alike?")
    if sum(found.values()) > MOST:
        raise InputError(f"too many words: expected a total below 2**63, not {sum(found.values())}")
    offsets = np.cumsum([0, *map(len, found)], dtype=np.int64)
    data = np.frombuffer(b"".join(found), np.uint8)
    numbers = np.fromiter(found.values(), np.uint64, len(found))
    return WordCounts(data, offsets, numbers, counts.provenance, text_bytes=counts.text_bytes)


def _pieces_by_word(segmentation: Segmentation) -> dict[bytes, tuple[bytes, ...]]:
    if isinstance(segmentation, Mapping):
        pairs = [(word, tuple(parts)) for word, parts in segmentation.items()]
    else:
        pairs = read_gold(place_of(segmentation, "segmentation"))
    found = dict[bytes, tuple[bytes, ...]]()
    for word, parts in pairs:
        if not isinstance(word, str) or not all(isinstance(part, str) and part for part in parts) or not parts:
            raise InputError(f"expected a word and its parts as texts, not {word!r:.60}: {parts!r:.60}")
        if "".join(parts) != word:
            raise InputError(f"expected parts that join to {word!r:.60}, not {parts!r:.60}")
        try:
            key, pieces = word.encode(), tuple(part.encode() for part in parts)
        except UnicodeEncodeError:
            raise InputError(f"expected a word of characters, not {word!r:.60}") from None
        if found.setdefault(key, pieces) != pieces:
            raise InputError(f"expected one segmentation of each word, but {word!r:.60} has two")
    if not found:
        raise InputError("expected a segmentation with at least one word, not an empty one")
    return found
