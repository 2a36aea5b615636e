"""embedding_map.json: which old ids make up each new id, for code that carries embeddings over.

The file is one JSON object: "version" (1), "old" and "new" (each "size", the number of ids, and "fingerprint", the
SHA-256 of the vocabulary), and "entries", one for each new id in order: `[[old ids], [weights]]`. The weights of an
entry are positive and have the sum 1. An id without a token, or of which the old tokenizer knows nothing, has
`[[], []]`.
"""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise
from os import PathLike
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.errors import FormatError
from subwords.formats.json_node import Node, parse
from subwords.support.atomic import atomic_write, place_of

__all__ = ["EmbeddingMap", "read", "write"]

VERSION = 1
LARGEST = 2**31 - 1
SLACK = 1e-6  # of the sum of weights, which other programs may write with fewer digits
_FINGERPRINT = re.compile(r"[0-9a-f]{64}")


class EmbeddingMap(NamedTuple):
    """The content of the file; entry i has ids[offsets[i]:offsets[i + 1]], and as many weights."""

    old_size: int
    old_fingerprint: str
    new_fingerprint: str
    offsets: NDArray[np.int64]
    ids: NDArray[np.int64]
    weights: NDArray[np.float64]


def write(found: EmbeddingMap, path: str | PathLike[str]) -> None:
    """Write the file, atomically; InputError if it cannot be written."""
    bounds, ids, weights = found.offsets.tolist(), found.ids.tolist(), found.weights.tolist()
    same = "[[%d], [1.0]]"
    rows = [
        same % ids[a] if b - a == 1 and weights[a] == 1.0 else json.dumps([ids[a:b], weights[a:b]])
        for a, b in pairwise(bounds)
    ]
    old = {"size": found.old_size, "fingerprint": found.old_fingerprint}
    new = {"size": len(rows), "fingerprint": found.new_fingerprint}
    head = json.dumps({"version": VERSION, "old": old, "new": new})[:-1]
    body = "[\n" + ",\n".join(rows) + "\n]" if rows else "[]"
    with atomic_write(path, "w") as file:
        file.write(f'{head}, "entries": {body}}}\n')


def read(path: str | PathLike[str]) -> EmbeddingMap:
    """Read the file; FormatError with the place for one that cannot be read or that breaks a rule of the format."""
    file = place_of(path, local=True)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise FormatError(f"cannot read {file}: {error.strerror or error}") from None
    top = parse(data, str(file))
    version = top["version"]
    if version.value != VERSION or isinstance(version.value, bool):
        raise version.wrong(f"version {VERSION} of an embedding map")
    old_size, new_size = (top[name]["size"].integer(LARGEST) for name in ("old", "new"))
    old, new = (_fingerprint(top[name]["fingerprint"]) for name in ("old", "new"))
    entries = top["entries"]
    if len(entries.array()) != new_size:
        raise entries.wrong(f"{new_size} entries, one for each new id", f"{len(entries.array())}")
    offsets, ids, weights = [0], list[int](), list[float]()
    for number, row in enumerate(entries.array()):
        own, parts = _entry(entries, number, row, old_size)
        ids += own
        weights += parts
        offsets.append(len(ids))
    arrays = np.array(offsets, np.int64), np.array(ids, np.int64), np.array(weights, np.float64)
    return EmbeddingMap(old_size, old, new, *arrays)


def _fingerprint(node: Node) -> str:
    if not _FINGERPRINT.fullmatch(node.string()):
        raise node.wrong("a SHA-256 in hexadecimal")
    return node.string()


def _entry(entries: Node, number: int, row: object, size: int) -> tuple[list[int], list[float]]:
    """Return the ids and the weights of an entry."""
    node = Node(entries.file, f"{entries.path}[{number}]", row)
    if not (isinstance(row, list) and len(row) == 2 and all(isinstance(part, list) for part in row)):
        raise node.wrong("[ids, weights]")
    ids, weights = row
    if len(ids) != len(weights):
        raise node.wrong("as many weights as ids", f"{len(ids)} ids and {len(weights)} weights")
    for index in ids:
        if type(index) is not int or not 0 <= index < size:
            raise node.wrong(f"old ids below {size}", f"{index!r:.40}")
    if len(set(ids)) < len(ids):
        raise node.wrong("distinct ids", f"{ids!r:.60}")
    for weight in weights:
        if type(weight) not in (int, float) or not 0 < weight <= 1 + SLACK:
            raise node.wrong("weights above 0 and up to 1", f"{weight!r:.40}")
    if weights and abs(math.fsum(weights) - 1) > SLACK:
        raise node.wrong("weights with the sum 1", f"the sum {math.fsum(weights)!r}")
    return ids, weights
