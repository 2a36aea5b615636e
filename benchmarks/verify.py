"""Whether two engines gave the same result, and where they part if not."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from benchmarks.engines.bytelevel import text_to_bytes

__all__ = ["difference", "model_digest", "read_merges", "round_trips", "same_pairs", "vocabulary_problem"]


def difference(got: Path, ref: Path, what: str = "ids") -> str | None:
    """Return None where two results are the same, or the first place where they are not.

    .npy files hold ids, or `what` else is compared; others are tokenizer.json files, whose merges count.
    """
    if got.suffix == ".npy":
        import numpy as np

        ids, expected = np.load(got, mmap_mode="r"), np.load(ref, mmap_mode="r")
        common = min(len(ids), len(expected))
        unequal = np.flatnonzero(ids[:common] != expected[:common])
        place = int(unequal[0]) if len(unequal) else common
        return _describe(what, place, ids, expected)
    merges, wanted = read_merges(got), read_merges(ref)
    common = min(len(merges), len(wanted))
    return _describe("merges", next((i for i in range(common) if merges[i] != wanted[i]), common), merges, wanted)


def same_pairs(got: Path, ref: Path, end: int) -> str:
    """Return how many of the rows of two arrays, each of which `end` ends, are the same."""
    import numpy as np

    rows, expected = (
        [part.tolist() for part in np.split(ids, np.flatnonzero(ids == end) + 1)[:-1]]
        for ids in map(np.load, (got, ref))
    )
    same = sum(row == other for row, other in zip(rows, expected, strict=True))
    return f"{same:,} of {len(expected):,} the same"


def read_merges(path: Path) -> list[tuple[str, str]]:
    """Return the merges of a tokenizer.json, whichever of the two ways of writing them it uses."""
    merges = json.loads(path.read_bytes())["model"]["merges"]
    pairs = [merge.split(" ") if isinstance(merge, str) else merge for merge in merges]
    return [(left, right) for left, right in pairs]


def model_digest(path: Path) -> str:
    """Return a digest of what a tokenizer.json learned: the merges, or the vocabulary of a model without."""
    model = json.loads(path.read_bytes())["model"]
    vocab = model["vocab"]
    learned = read_merges(path) if "merges" in model else sorted(vocab.items() if isinstance(vocab, dict) else vocab)
    return hashlib.sha256(json.dumps(learned).encode()).hexdigest()[:16]


def vocabulary_problem(path: Path, vocab_size: int, special_tokens: list[str]) -> str | None:
    """Return what is wrong with the vocabulary of a tokenizer.json, apart from what training is free to choose.

    It has the size asked for, ids from 0 on without gaps, and the special tokens first.
    """
    vocab = json.loads(path.read_bytes())["model"]["vocab"]
    if isinstance(vocab, list):  # Unigram: pieces with scores
        vocab = {piece: i for i, (piece, _) in enumerate(vocab)}
    tokens = sorted(vocab, key=vocab.__getitem__)
    if len(vocab) != vocab_size:
        return f"{len(vocab):,} tokens, not {vocab_size:,}"
    if [vocab[token] for token in tokens] != list(range(vocab_size)):
        return "ids that are not 0, 1, 2, ..."
    if tokens[: len(special_tokens)] != special_tokens:
        return f"special tokens {' '.join(tokens[: len(special_tokens)])}"
    return None


def round_trips(ids: Path, tokenizer: Path, text: Path) -> bool:
    """Whether the ids of a byte-level tokenizer.json spell the text: all that can be said where no oracle takes it."""
    import numpy as np

    vocab = json.loads(tokenizer.read_bytes())["model"]["vocab"]
    tokens = {index: text_to_bytes(token) for token, index in vocab.items()}
    return b"".join([tokens.get(index, b"") for index in np.load(ids).tolist()]) == text.read_bytes()


def _describe(what: str, place: int, got: Any, ref: Any) -> str | None:
    if place == len(got) == len(ref):
        return None
    if place == min(len(got), len(ref)):
        return f"different {what}: {len(got):,}, not {len(ref):,}"
    found, expected = (" ".join(row[place]) if what == "merges" else str(row[place]) for row in (got, ref))
    return f"different {what} at {place:,}: {found}, not {expected}"
