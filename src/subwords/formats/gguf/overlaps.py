"""Added tokens that llama.cpp would find elsewhere in a text."""

from __future__ import annotations

from collections.abc import Sequence

from subwords.components.added_token import AddedToken
from subwords.errors import FormatError
from subwords.formats.json_node import shown

__all__ = ["check_added"]

MOST_WORK = 1 << 28  # characters of all prefixes and suffixes


def check_added(tokens: Sequence[AddedToken], *, normalizes: bool) -> None:
    """Raise FormatError for added tokens that llama.cpp finds differently: it knows no flags, and the longest wins.

    Here the leftmost wins, then the longest; tokens that are `normalized` come after the others. The two differ for
    tokens that may overlap in a text. normalizes: whether there is a normalizer.
    """
    for token in tokens:
        if flag := next((flag for flag in ("single_word", "lstrip", "rstrip") if getattr(token, flag)), None):
            raise FormatError(
                f"GGUF has no flags of added tokens; {shown(token.content)} has {flag}: llama.cpp would give other ids"
            )
        if token.normalized and normalizes:
            raise FormatError(f"llama.cpp does not find tokens in normalized text, as {shown(token.content)} is found")
    _check_overlaps([token.content for token in tokens])
    late = [token.content for token in tokens if token.normalized]
    for first in (token.content for token in tokens if not token.normalized):
        if inside := next((text for text in late if first in text), None):
            raise FormatError(f"llama.cpp finds the longest added token first: {shown(inside)} before {shown(first)}")


def _check_overlaps(contents: Sequence[str]) -> None:
    longest = max(map(len, contents), default=0)
    if sum(map(len, contents)) * longest > MOST_WORK:
        raise FormatError("GGUF: added tokens too long to compare; write a .json file")
    starts: dict[str, str] = {}  # the longest token with each proper prefix
    for text in sorted(contents, key=len):
        for stop in range(1, len(text)):
            starts[text[:stop]] = text
    for text in contents:
        for start in range(max(1, len(text) - longest), len(text)):
            other = starts.get(text[start:])
            # In a run of one character both find the same tokens.
            if other and len(other) >= len(text) and other != text and len({*text, *other}) > 1:
                both = shown(text[:start] + other)
                raise FormatError(
                    f"llama.cpp would find {shown(other)} in the text {both}, where {shown(text)} comes first here"
                )
