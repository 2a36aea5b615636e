"""Sets and patterns as other engines have them: `regex`, whose Unicode may be newer than ours, and that of tiktoken."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import regex
import tiktoken
from numpy.typing import NDArray

from subwords.machine import property_members

EVERY = "".join(map(chr, range(0x110000)))

# What Unicode 17 made of characters that are older: U+0295 is no lower-case letter any more.
RECLASSIFIED = (0x0295,)


def members_in_regex(pattern: str) -> NDArray[np.bool_]:
    """Which code points a pattern one character wide matches, shape (0x110000,)."""
    members = np.zeros(0x110000, np.bool_)
    for match in regex.finditer(f"(?:{pattern})+", EVERY):
        members[match.start() : match.end()] = True
    return members


def members_in_tiktoken(pattern: str, text: str) -> set[str]:
    """The characters of a text that a pattern one character wide matches."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    probe = tiktoken.Encoding("probe", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    # A character outside the set is outside every piece, so it yields no ids.
    return set(probe.decode(probe.encode_ordinary(text), errors="strict"))


@cache
def settled() -> NDArray[np.bool_]:
    """The characters that both Unicode versions have assigned, or neither, and `regex` may judge; no surrogates."""
    same = property_members("Cn") == members_in_regex(r"\p{Cn}")
    same[list(RECLASSIFIED)] = False
    same[0xD800:0xE000] = False
    same.flags.writeable = False
    return same


def spelled(pattern: str) -> str:
    r"""The pattern as `regex` spells it: nested sets, simple folding, and an end (\Z) that is no line's."""
    parts = re.compile(r"(\(\?[is]+\))?(.*)", re.DOTALL).fullmatch(pattern)
    assert parts
    body = re.sub(
        r"(?P<other>\\[^z]|\[\^?\]?(?:\\.|[^\]\\])*\])|\\z|\$", lambda m: m["other"] or r"\Z", parts[2], flags=re.DOTALL
    )
    return f"{parts[1] or ''}(?V1)(?-f){body}"
