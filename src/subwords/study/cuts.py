"""Cuts: which step of a splitter cut a text where, and which alternative of a pattern matched."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from subwords.components.oniguruma import pattern_tokens
from subwords.components.splitter import ByteChars, Prefix, Replace, Rule, Split, Step
from subwords.split.splitter import SplitterEngine

__all__ = ["alternative_at", "alternatives_of", "cut_steps", "described"]

AFTER = 64  # bytes after a word that a pattern may look at


def described(step: Step) -> str:
    """Return a step in words."""
    if isinstance(step, Split):
        matches = "the gaps between matches of" if step.invert else "pattern"
        return f"{matches} {step.pattern} {step.behavior.replace('_', ' ')}"
    if isinstance(step, Prefix):
        return f"prefix {step.text!r} {step.scheme}"
    return f"{step.old!r} to {step.new!r}" if isinstance(step, Replace) else "bytes to characters"


def alternatives_of(rule: Rule) -> tuple[str, ...]:
    """Return the alternatives of the pattern of a rule with one pattern; () for other rules.

    >>> alternatives_of((Split(r"a|[b|c]+|(?:d|e)"),))
    ('a', '[b|c]+', '(?:d|e)')
    """
    steps = [step for step in rule if not isinstance(step, ByteChars)]
    if len(steps) != 1 or not isinstance(steps[0], Split):
        return ()
    return _alternatives(steps[0].pattern)


@lru_cache(16)
def _alternatives(pattern: str) -> tuple[str, ...]:
    found, depth = [""], 0
    for token, inside in pattern_tokens(pattern):
        if not inside:
            depth += (token[0] == "(" and token[-1] != ")") - (token == ")")
        if token == "|" and not depth and not inside:
            found.append("")
        else:
            found[-1] += token
    return tuple(found)


@lru_cache(256)
def _matcher(pattern: str) -> SplitterEngine:
    return SplitterEngine((Split(pattern, "removed", invert=True),))


def alternative_at(rule: Rule, text: bytes, start: int, stop: int, guess: int | None = None) -> int | None:
    """Return the number of the alternative that matches text[start:stop]; None for text between matches.

    guess: tried first, such as that of the word before.
    """
    alternatives = alternatives_of(rule)
    near = np.frombuffer(text[start : stop + AFTER], np.uint8)

    def reach(number: int) -> int:
        """How far the first `number` alternatives match; 0 if none of them does."""
        if not number:
            return 0
        found = _matcher("|".join(alternatives[:number])).word_spans(near)
        matched = len(found.words) > 1 and found.origin[0, 0] == 0
        return int(found.origin[1, found.words[1] - 1]) if matched else 0

    low, high = 0, len(alternatives)  # the first `low` do not match, the first `high` do
    if guess is not None and reach(guess + 1) and not reach(guess):
        low, high = guess, guess + 1
    elif not high or not reach(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reach(middle) else (middle, high)
    return low if reach(high) == stop - start else None


def cut_steps(rule: Rule, text: NDArray[np.uint8]) -> dict[int, int]:
    """Return the first step that cut at each byte where a word begins; the start of the text is not a cut."""
    found: dict[int, int] = {}
    for number in range(len(rule)):
        if isinstance(rule[number], ByteChars | Replace):
            continue
        spans = SplitterEngine(rule[: number + 1]).word_spans(text)
        for place in spans.words[:-1].tolist():
            begin = int(spans.origin[0, place])
            if begin:
                found.setdefault(begin, number)
    return found
