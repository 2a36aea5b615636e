"""A tokenizer.json from a rank file of tiktoken, for the engines that load no other."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.engines.bytelevel import bytes_to_text

__all__ = ["document_of_ranks", "merges_of", "read_ranks"]


def read_ranks(path: Path) -> dict[bytes, int]:
    """Return the tokens of a rank file, lowest rank first."""
    lines = (line.split() for line in path.read_bytes().splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    return dict(sorted(ranks.items(), key=lambda entry: entry[1]))


def merges_of(ranks: dict[bytes, int]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the merge that makes each token: the two parts that lower ranks leave of it. One left in more has none."""
    for token, rank in ranks.items():
        parts = [token[i : i + 1] for i in range(len(token))]
        while len(parts) > 2:
            joints = [ranks.get(a + b, rank) for a, b in pairwise(parts)]
            best = min(joints)
            if best >= rank:
                break
            at = joints.index(best)
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        if len(parts) == 2:
            yield parts[0], parts[1]


def document_of_ranks(ranks: dict[bytes, int], pattern: str) -> dict[str, Any]:
    """Return the tokenizer.json of ranks and a pattern, with tiktoken's ids: a word that is a token is taken whole."""
    pieces = [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
    ]
    return {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": pieces},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "ignore_merges": True,
            "vocab": {bytes_to_text(token): rank for token, rank in ranks.items()},
            "merges": [[bytes_to_text(left), bytes_to_text(right)] for left, right in merges_of(ranks)],
        },
    }
