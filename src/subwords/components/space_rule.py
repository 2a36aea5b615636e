"""Where text whose blanks are written U+2581 may be cut into words: what a vocabulary proves."""

from __future__ import annotations

from collections.abc import Iterable

from subwords.components.splitter import Rule, Split, escape

__all__ = ["SPACE", "parting", "space_rule"]

SPACE = "▁"


def parting(symbols: Iterable[str]) -> Rule:
    """Return the rule that cuts texts out, each as a word of its own: leftmost, and the longest of several."""
    alone = sorted(symbols, key=len, reverse=True)
    return (Split("|".join(map(escape, alone))),) if alone else ()


def space_rule(
    tokens: Iterable[bytes], symbols: Iterable[bytes] = (), *, unk_space: bool = False, lines: bool = False
) -> Rule:
    """Return the finest rule known to cut no token in two; () where there is none.

    A word begins at every U+2581, or at every run of them where a token holds two; or, where tokens have them at their
    ends, it ends there. A model that joins neighbours only where their joint is a token yields the same ids with these
    cuts and without: `tokens` are all that take part in joining. `symbols` (user-defined pieces) are tokens that are
    cut out beforehand, leftmost and longest first, each a word of its own. unk_space: U+2581 alone is an unknown
    character, and neighbours that are unknown become one unk: then no cut there is exact. lines: a line feed is known,
    or becomes bytes: then runs of it are words, if no token holds it beside another character.

    Source: SentencePiece's convention for blanks.

    >>> from subwords.components.space_rule import space_rule
    >>> [step.pattern for step in space_rule([b"a", "▁a".encode(), "▁▁".encode()])]
    ['▁+[^▁]*|[^▁]+']
    >>> space_rule(["a▁b".encode()])
    ()
    """
    alone = [symbol.decode() for symbol in symbols]
    first = parting(alone)
    if unk_space:
        return first
    texts = [token.decode("utf-8", "replace") for token in tokens]
    spaced = [text for text in [*texts, *alone] if SPACE in text]
    run = "+" if any(SPACE * 2 in text for text in spaced) else ""
    line = lines and all(set(text) == {"\n"} for text in [*texts, *alone] if "\n" in text)
    feeds, other = ("\n+|", f"[^{SPACE}\n]") if line else ("", f"[^{SPACE}]")
    if all(SPACE not in text.lstrip(SPACE) for text in spaced):
        return (*first, Split(f"{feeds}{SPACE}{run}{other}*|{other}+"))
    if all(SPACE not in text.rstrip(SPACE) for text in spaced):
        return (*first, Split(f"{feeds}{other}*{SPACE}{run}|{other}+"))
    return first
