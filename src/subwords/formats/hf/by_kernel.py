"""Parse a large tokenizer.json: kernels read its vocabulary and its merges to arrays, not Python loops.

Row: startup_encode, "the first on a machine": without it GPT-2's file takes 55 ms more, cl100k's 125.
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

from subwords.formats.hf.vocabulary import FileVocab, model_kind
from subwords.formats.json_node import Node, parse_json
from subwords.kernels import layout
from subwords.kernels.entry import entry_kernel
from subwords.support.errors import FormatError

SMALL_FILE = 1 << 16  # bytes; Python reads these in a millisecond
# How vocabularies begin, by the type of the model.
OPENINGS = {"BPE": ord("{"), "WordPiece": ord("{"), "WordLevel": ord("{"), "Unigram": ord("[")}


def parse_large(data: bytes, name: str) -> Node:
    """Parse a tokenizer.json as `parse_json` does; a large vocabulary becomes `FileVocab`, and its merges an array.

    Not in version 2.0, nor in a damaged file, nor in one that no trainer writes: with a key twice, or with merges of
    tokens that have a prefix.
    """
    return (read_entries_of(data, name) if is_for_kernels(data) else None) or parse_json(data, name)


def is_for_kernels(data: bytes) -> bool:
    """Whether kernels read this file: a large one, if they need not be compiled for it, which takes two seconds."""
    return len(data) >= SMALL_FILE and entry_kernel("read_entries").is_at_hand


def read_entries_of(data: bytes, name: str) -> Node | None:
    """Return the file with `FileVocab`; None if it is to be read as any other JSON."""
    from subwords.kernels.named import find_containers, first_invalid

    padded, found = np.frombuffer(data + bytes(layout.LANES), np.uint8), np.zeros(4, np.int64)
    if first_invalid(padded[: len(data)]) >= 0 or find_containers(padded, len(data), found) < 0:
        return None
    vocab, merges = places = (int(found[0]), int(found[1])), (int(found[2]), int(found[3]))
    end, parts = 0, []  # of a file in which the two are empty
    for begin, stop in sorted(place for place in places if place[1]):
        parts += [data[end : begin + 1], data[stop - 1 : stop]]
        end = stop
    try:
        top = parse_json(b"".join([*parts, data[end:]]), name)
        kind = model_kind(top["model"])
    except FormatError:
        return None
    model, is_bpe = top.value["model"], kind == "BPE"
    # Where a key is there twice, the type is another, and what was found may be the first of two.
    if type(top.value) is not dict or type(model) is not dict or top.value.get("version") not in (None, "1.0"):
        return None
    if not vocab[1] or data[vocab[0]] != OPENINGS.get(kind):
        return None
    if is_bpe and (not merges[1] or model.get("continuing_subword_prefix")):
        return None
    entries = model["vocab"] = _entries(padded, *vocab)
    if entries is None or not entries.are_distinct():
        return None
    model["type"] = kind  # it cannot be told from `FileVocab`
    if is_bpe:
        model["merges"] = entries.merges(padded, *merges)
    return None if is_bpe and model["merges"] is None else top


def _entries(data: NDArray[np.uint8], begin: int, end: int) -> FileVocab | None:
    from subwords.kernels.named import read_entries

    size, room = end - begin + layout.LANES, (end - begin) // len('"":0,') + 1
    found = layout.FileEntries(
        text=np.empty(size, np.uint8),
        ends=np.empty(room, np.int64),
        numbers=np.empty(room, np.int64),
        digits=np.empty(size, np.uint8),
    )
    count = read_entries(data, begin, end, found)
    if count <= 0:
        return None
    if data[begin] == ord("{"):
        return FileVocab(found, count, np.zeros(0))
    try:
        scores = np.array(json.loads(b"[%s]" % found.digits[: found.numbers[count - 1] - 1].tobytes()), np.float64)
    except (ValueError, OverflowError):
        return None
    found.numbers[:count] = np.arange(count)
    return FileVocab(found, count, scores) if np.isfinite(scores).all() else None
