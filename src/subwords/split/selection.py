"""The fastest exact route of a rule that masks do not split; what makes machines is imported here, not before."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from string import punctuation

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.kernels.stored import stored
from subwords.spec.splitter import PATTERNS, ByteChars, Prefix, Replace, Rule, Split, escape
from subwords.spec.vocab import tokens_to_text
from subwords.split.automaton import compose_machines, unsplit
from subwords.split.finders import (
    ChangingRoute,
    KindsRoute,
    SymbolsRoute,
    finder,
    literal_strings,
    removed,
)
from subwords.split.pattern import Chars, Either, Node, Outside, Repeat, Then, parse_pattern
from subwords.split.routes import MachineRoute, MaskRoute, SplitRoute
from subwords.split.transducer import Machine
from subwords.support.value import digest_of

DIGITS = slice(ord("0"), ord("9") + 1)
WHITESPACE = " \t\n\v\f\r"  # of ASCII
LONG_PATTERN = 100  # pattern length in characters above which a trie is better than a machine


def machine_route(rule: Rule) -> SplitRoute | None:
    """Return the route of a rule that does not end with ByteChars by one machine; None if there is none."""
    try:
        if parts := _prefixed(rule):
            first, prefix, last = parts
            drops = _dropped(first, alone=False)
            if drops[ord(prefix)]:
                return None
            return ChangingRoute(_machine_for((Split(first.pattern), last)), rule, drops=drops, prefix=prefix.encode())
        if found := _numbered(rule):
            before, digits = found
            return ChangingRoute(_machine_for(before), rule, digits=digits)
        if rule and isinstance(rule[0], Split) and removed(rule[0]):
            machine = _machine_for((Split(rule[0].pattern), *rule[1:]))
            dropped = _dropped(rule[0], alone=len(rule) == 1)
            if (each := _kinds(rule, dropped)) is not None:
                return KindsRoute(machine, rule, each)
            return ChangingRoute(machine, rule, drops=dropped)
        if rule and isinstance(rule[0], Split) and (len(rule) > 1 or len(rule[0].pattern) > LONG_PATTERN):
            symbols = literal_strings(rule[0])
            if symbols:
                return SymbolsRoute(symbols, MachineRoute(_machine_for(rule[1:])))
        machine = _machine_for(rule)
        if machine.identity == _gpt2_identity():
            return MaskRoute(rule)
        return MachineRoute(machine)
    except Outside:
        return None


def _prefixed(rule: Rule) -> tuple[Split, str, Split] | None:
    """Return the step that drops words, the prefix, and the step that cuts before it; None for another rule."""
    match rule:
        case (Split() as first, Replace(" ", _), Prefix(prefix, "always"), Split(pattern) as last):
            spaces = not first.invert and first.pattern in (r"\s", r"\s+")  # then there is nothing to replace
            cuts = pattern == escape(prefix) and last.behavior == "merged_with_next" and not last.invert
            if removed(first) and spaces and len(prefix) == 1 and cuts:
                return first, prefix, last
    return None


def _numbered(rule: Rule) -> tuple[Rule, NDArray[np.uint8]] | None:
    """Return the steps before the last cuts around numbers, and the kind of each byte; None for another rule."""
    match rule:
        case (*before, ByteChars(), Split(pattern, "contiguous", invert), Split("[0-9][0-9][0-9]", "isolated", False)):
            node = parse_pattern(pattern)
            if invert or not isinstance(node, Chars) or not node.members[DIGITS].all():
                return None
            characters = tokens_to_text([bytes([byte]) for byte in range(256)])
            kinds = node.members[[ord(character) for character in characters]].astype(np.uint8)
            kinds[DIGITS] = 2
            return tuple(before), kinds
    return None


@cache
def _gpt2_identity() -> bytes:
    return machine_of((Split(PATTERNS["gpt2"]),)).identity


def machine_of(rule: Rule) -> Machine:
    """Return one machine for a whole rule; raises Outside if there is none."""
    return stored("machine", digest_of(rule).encode(), lambda: _machine_for(rule))


def _machine_for(rule: Rule) -> Machine:
    if not rule:
        return unsplit()
    made: Machine | None = None
    for step in reversed(rule):
        if not isinstance(step, Split):
            raise Outside(f"a {type(step).__name__} step")
        first = finder(step).machine()
        made = first if made is None else compose_machines(first, made)
    assert made is not None
    return made


def _dropped(step: Split, *, alone: bool) -> NDArray[np.bool_]:
    """Return the characters with which only dropped words begin; raises Outside if there is no such set.

    alone: no other step splits the words that are kept.

    Without `invert`, matches are dropped: each of them must be a run of some characters. With `invert`, the gaps are
    dropped: if every first character of a match is also a match by itself, gaps consist of the remaining characters.
    """
    node = parse_pattern(step.pattern)
    branches = node.branches if isinstance(node, Either) else (node,)
    runs = [members for branch in branches if (members := _run(branch)) is not None]
    found = np.logical_or.reduce(runs) if runs else np.zeros(layout.CODE_POINTS + 1, np.bool_)
    others = [branch for branch in branches if _run(branch) is None]
    if not step.invert:
        if others:
            raise Outside("not only runs of characters are dropped")
        return found
    for branch in others:
        first = branch.items[0] if isinstance(branch, Then) else branch
        if not isinstance(first, Chars) or (first.members & ~found).any():
            raise Outside("a match begins with a character that is dropped elsewhere")
        if not alone and any((members & ~found).any() for members in _sets(branch)):
            raise Outside("a match contains a character that is dropped elsewhere")
    return ~found


def _kinds(rule: Rule, dropped: NDArray[np.bool_]) -> NDArray[np.uint8] | None:
    """Return the kind of each character, if characters are dropped, then others isolated, and ASCII is as in BERT."""
    match rule:
        case (Split(invert=False), Split(pattern, "isolated", False)):
            node = parse_pattern(pattern)
            if not isinstance(node, Chars):
                return None
            kinds = np.where(dropped, layout.DROPPED, np.where(node.members, layout.ALONE, layout.WORD_PART))
            as_in_bert = all(kinds[ord(char)] == layout.DROPPED for char in WHITESPACE)
            as_in_bert &= all(kinds[ord(char)] == layout.ALONE for char in punctuation)
            others = np.count_nonzero(kinds[:128]) == len(WHITESPACE) + len(punctuation)
            return kinds.astype(np.uint8) if as_in_bert and others and not kinds[layout.INVALID] else None
    return None


def _sets(node: Node) -> Iterator[NDArray[np.bool_]]:
    """Yield the characters of all sets of a pattern that a match may contain."""
    match node:
        case Chars():
            yield node.members
        case Repeat():
            yield from _sets(node.item)
        case Then() | Either():
            for part in node.items if isinstance(node, Then) else node.branches:
                yield from _sets(part)


def _run(node: Node) -> NDArray[np.bool_] | None:
    """Return the characters of a set or of a run of one or more of it; None for another node."""
    if isinstance(node, Repeat) and node.low == 1:
        node = node.item
    return node.members if isinstance(node, Chars) else None
