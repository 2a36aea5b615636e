"""Rules that split text with U+2581 for spaces without changing ids, derived from a vocabulary."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from subwords.components.normalizer import SentencePiece, Steps
from subwords.components.splitter import Rule, Split, escape

__all__ = ["SPACE", "kept_whole", "not_kept_whole", "parting", "space_rule"]

SPACE = "▁"
# In tokens between bytes 0xFF: U+2581 after, or before, another character; a line feed beside another character.
_AFTER_OTHER = re.compile(rb"(?<!\xff)(?<!\xe2\x96\x81)\xe2\x96\x81")
_BEFORE_OTHER = re.compile(rb"\xe2\x96\x81(?!\xff|\xe2\x96\x81)")
_MIXED_LINE = re.compile(rb"\n(?![\xff\n])|(?<![\xff\n])\n")


def parting(symbols: Iterable[str]) -> Rule:
    """Return the rule that isolates some strings as words: leftmost first, then the longest."""
    alone = sorted(symbols, key=len, reverse=True)
    return (Split("|".join(map(escape, alone))),) if alone else ()


def kept_whole(symbols: Iterable[str], rule: Rule, steps: Steps) -> tuple[Rule, Steps]:
    """Return a splitter and a normalizer that keep each user-defined piece whole, as one word."""
    users = tuple(symbols)
    return (*parting(users), *rule), _with_symbols(steps, users) if users else steps


def not_kept_whole(symbols: Iterable[str], rule: Rule, steps: Steps) -> tuple[Rule, Steps]:
    """Return the splitter and the normalizer that `kept_whole` was given; others unchanged."""
    users = tuple(symbols)
    alone = parting(users)
    rule = rule[len(alone) :] if rule[: len(alone)] == alone else rule
    return rule, _with_symbols(steps, ()) if users and steps == _with_symbols(steps, users) else steps


def _with_symbols(steps: Steps, symbols: tuple[str, ...]) -> Steps:
    return tuple(replace(step, user_symbols=symbols) if isinstance(step, SentencePiece) else step for step in steps)


def space_rule(
    tokens: Iterable[bytes], symbols: Iterable[bytes] = (), *, unk_space: bool = False, lines: bool = False
) -> Rule:
    """Return the finest known rule that splits inside no token; () if no rule is known.

    A word begins at every U+2581, or at every run of U+2581 if a token contains two in a row. If tokens have U+2581 at
    their ends, words end there instead. For a model that merges two tokens only if the result is a token, the ids are
    the same with and without the rule. tokens: all tokens that take part in merges. symbols: user-defined pieces; they
    are isolated first, leftmost and longest, each as a word. unk_space: U+2581 alone is unknown, and adjacent unknown
    characters become one unk, so no split at U+2581 is exact. lines: a line feed is known or falls back to bytes; runs
    of it then become words, unless a token contains a line feed and another character.

    Source: SentencePiece's convention for whitespace.

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
    # One search over all tokens: no byte of UTF-8 is 0xFF.
    joined = b"".join(b"\xff" + token + b"\xff" for token in [*tokens, *(symbol.encode() for symbol in alone)])
    run = "+" if SPACE.encode() * 2 in joined else ""
    line = lines and not _MIXED_LINE.search(joined)
    feeds, other = ("\n+|", f"[^{SPACE}\n]") if line else ("", f"[^{SPACE}]")
    if not _AFTER_OTHER.search(joined):
        return (*first, Split(f"{feeds}{SPACE}{run}{other}*|{other}+"))
    if not _BEFORE_OTHER.search(joined):
        return (*first, Split(f"{feeds}{other}*{SPACE}{run}|{other}+"))
    return first
