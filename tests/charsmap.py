"""Precompiled charsmaps for tests, from rules."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate

import numpy as np

from subwords import InputError

LEAF = 1 << 8  # in a unit: a value follows for NUL


def write_charsmap(rules: Mapping[str, str]) -> bytes:
    """Return the charsmap that replaces each string by another; InputError for NUL or an empty string.

    Made for a few thousand rules: nodes do not share suffixes.

    >>> from subwords.spec.normalizer import read_charsmap
    >>> data = write_charsmap({"\\t": " ", "ﬁ": "fi"})
    >>> read_charsmap(data).single[0].tolist(), len(data)
    ([9, 64257], 1033)
    """
    if any(not key or "\0" in key + text for key, text in rules.items()):
        raise InputError("expected charsmap rules without NUL and without an empty string")
    texts = sorted({text.encode() for text in rules.values()})
    places = dict(zip(texts, [0, *accumulate(len(text) + 1 for text in texts)], strict=False))
    trie: dict[bytes, set[int]] = {b"": set()}
    values = {key.encode(): places[text.encode()] for key, text in rules.items()}
    for key in values:
        for k in range(len(key)):
            trie.setdefault(key[:k], set()).add(key[k])
            trie.setdefault(key[: k + 1], set())
    units, bases = {0: 0}, {0}
    nodes = {b"": 0}
    for prefix in sorted(trie, key=lambda prefix: (len(prefix), prefix)):
        labels = trie[prefix] | ({0} if prefix in values else set())
        at = nodes[prefix]
        # Start at the highest block: it is mostly free, and offsets below 2 ** 21 can be encoded.
        base = max(1, max(units) & ~0xFF)
        while base in bases or any(base ^ label in units for label in labels):
            base += 1
        bases.add(base)
        units[at] |= (at ^ base) << 10 | (LEAF if prefix in values else 0)
        for label in labels:
            units[base ^ label] = label or 1 << 31 | values[prefix]
            nodes[prefix + bytes([label])] = base ^ label
    if max(units) >> 21:
        raise InputError(f"too many charsmap rules: expected less than {1 << 21} units, not {max(units)}")
    size = max(max(units), *bases) // 256 * 256 + 256
    # Unused units are written as values: zero would be a child for NUL, which SentencePiece would follow.
    array = np.full(size, 1 << 31, "<u4")
    array[[*units]] = [*units.values()]
    return (4 * size).to_bytes(4, "little") + array.tobytes() + b"".join(text + b"\0" for text in texts)
