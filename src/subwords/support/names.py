"""Names in users' spelling: case, `-`, `_` and spaces are ignored."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

__all__ = ["looks_like_name", "named", "nearest"]

# A word, or several joined by `-`, `.` or spaces. The pattern `a.b` matches too: as a regex it would be rare.
_NAME = re.compile(r"\w+(?:[-. ]+\w+)*")
SHORTEST = 3  # characters
MOST = 3  # names in a suggestion


def _squashed(text: str) -> str:
    return re.sub(r"[-_ ]|(?<=[0-9])\.(?=[0-9])", "", text).lower()


def named(text: str, names: Iterable[str], aliases: Mapping[str, str] | None = None) -> str | None:
    """Return the name that a text spells, directly or by an alias, or None.

    >>> named("GPT_2", ["gpt2", "bert"])
    'gpt2'
    """
    table = {_squashed(alias): name for alias, name in (aliases or {}).items()} | {_squashed(n): n for n in names}
    names = set(table.values())
    return text if text in names else table.get(_squashed(text))


def looks_like_name(text: str) -> bool:
    """Whether a text of at least 3 characters has only letters and digits, with `-`, `_`, `.` or spaces between."""
    return len(text) >= SHORTEST and _NAME.fullmatch(text) is not None


def nearest(text: str, names: Iterable[str]) -> str:
    """Return a "did you mean" suffix with the names most similar to a text, or "" if no name is similar.

    >>> nearest("lama3", ["llama3", "gpt2"])
    "; did you mean 'llama3'?"
    """
    from difflib import get_close_matches

    spellings: dict[str, str] = {}
    for name in names:
        spellings.setdefault(_squashed(name), name)
    found = get_close_matches(_squashed(text), spellings, n=MOST, cutoff=0.6)
    return f"; did you mean {' or '.join(repr(spellings[name]) for name in found)}?" if found else ""
