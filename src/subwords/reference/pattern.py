"""Textbook pre-tokenization: each step processes the pieces that the previous step produced.

A step is any object whose class is named Split, Prefix, Replace, ByteChars or SpelledBytes, with its settings as
attributes; see the functions of these names. Each character of a piece records the range of the text it maps to. Bytes
that are not UTF-8 become lone surrogates in `str`, one per byte: only negated classes match them.

>>> from types import SimpleNamespace
>>> Split = type("Split", (SimpleNamespace,), {})
>>> pre_tokenize("to be,", [Split(pattern=" ?[a-z]+", behavior="isolated", invert=False)])
[('to', (0, 2)), (' be', (2, 5)), (',', (5, 6))]
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

import regex

Char = tuple[str, int, int]  # a character, and the range of the text it maps to
Piece = list[Char]
Segment = tuple[int, int, bool]  # a range of a piece, and whether the pattern matches it

# GPT-2's table: printable bytes map to themselves, the 68 others to the characters from 256 on, in order.
_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
BYTE_CHARS = {byte: chr(byte) for byte in _PRINTABLE} | {byte: chr(256 + n) for n, byte in enumerate(_OTHERS)}


def pre_tokenize(text: str | bytes, steps: Iterable[Any]) -> list[tuple[str, tuple[int, int]]]:
    """Return the pieces of a text, each with its character range; ranges may overlap.

    Characters of a byte-level piece have the range of the character they encode, a prefix that of the next one.
    """
    chars = text.decode("utf-8", "surrogateescape") if isinstance(text, bytes) else text
    pieces = [[(char, at, at + 1) for at, char in enumerate(chars)]] if chars else []
    for step in steps:
        pieces = [part for piece in pieces for part in _applied(piece, step) if part]
    return [(_text(piece), (piece[0][1], piece[-1][2])) for piece in pieces]


def _applied(piece: Piece, step: Any) -> list[Piece]:
    match type(step).__name__:
        case "Split":
            return split(piece, step.pattern, step.behavior, step.invert)
        case "Prefix":
            return [prefix(piece, step.text, step.scheme)]
        case "Replace":
            return [replace(piece, step.old, step.new)]
        case "ByteChars" | "SpelledBytes":
            return [byte_chars(piece)]
        case name:
            raise ValueError(f"expected a Split, Prefix, Replace or ByteChars, not a {name}")


def _text(piece: Piece) -> str:
    return "".join(char for char, _, _ in piece)


def prefix(piece: Piece, text: str, scheme: str) -> Piece:
    """Prepend a text unless it is already there; with the scheme "first" only at the start of the input."""
    _, start, end = piece[0]
    if _text(piece).startswith(text) or (scheme == "first" and start > 0):
        return piece
    return [(char, start, end) for char in text] + piece


def replace(piece: Piece, old: str, new: str) -> Piece:
    """Replace each occurrence of one character by another."""
    return [(new if char == old else char, start, end) for char, start, end in piece]


def byte_chars(piece: Piece) -> Piece:
    """Replace each character by the characters that represent its bytes: Ã and © for é."""
    return [
        (BYTE_CHARS[byte], start, end) for char, start, end in piece for byte in char.encode("utf-8", "surrogateescape")
    ]


def split(piece: Piece, pattern: str, behavior: str, invert: bool) -> list[Piece]:
    """Split a piece at the matches of a pattern."""
    return [piece[start:end] for start, end, _ in segments(_text(piece), pattern, behavior, invert)]


def segments(text: str, pattern: str, behavior: str, invert: bool, timeout: float | None = None) -> list[Segment]:
    """Return the pieces of a text; `invert` swaps matches and the text between them."""
    segments = [(start, end, matches != invert) for start, end, matches in find(pattern, text, timeout)]
    if behavior == "removed":
        segments = [segment for segment in segments if not segment[2]]
    elif behavior == "contiguous":
        runs = [list(run) for _, run in groupby(segments, key=lambda segment: segment[2])]
        segments = [(run[0][0], run[-1][1], run[0][2]) for run in runs]
    elif behavior == "merged_with_previous":
        segments = _merged(segments)
    elif behavior == "merged_with_next":
        mirrored = [(-end, -start, matches) for start, end, matches in reversed(segments)]
        segments = [(-end, -start, matches) for start, end, matches in reversed(_merged(mirrored))]
    elif behavior != "isolated":
        raise ValueError(f"unknown behavior {behavior!r}")
    return segments


def _merged(segments: list[Segment]) -> list[Segment]:
    """Join the first match of each run of matches to the segment before it."""
    merged: list[Segment] = []
    after_match = False
    for start, end, matches in segments:
        if matches and not after_match and merged:
            merged[-1] = (merged[-1][0], end, False)
        else:
            merged.append((start, end, matches))
        after_match = matches
    return merged


def find(pattern: str, text: str, timeout: float | None = None) -> list[Segment]:
    r"""Cover a text with matches and the text between; an empty match directly after a match is ignored.

    Raises TimeoutError if one search takes longer than `timeout` seconds.

    >>> find(r"x*", "axxb")
    [(0, 0, True), (0, 1, False), (1, 3, True), (3, 4, False), (4, 4, True)]
    """
    compiled = regex.compile(_for_regex(pattern), regex.V1)  # version 1 supports nested sets, as tiktoken does
    segments: list[Segment] = []
    at, last = 0, -1
    while at <= len(text) and (match := compiled.search(text, at, timeout=timeout)):
        if match.start() == match.end() == last:
            at += 1
            continue
        if max(last, 0) < match.start():
            segments.append((max(last, 0), match.start(), False))
        segments.append((match.start(), match.end(), True))
        at = last = match.end()
    return [*segments, (max(last, 0), len(text), False)] if max(last, 0) < len(text) else segments


_CODE = regex.compile(r"\\x\{(\w+)\}|\\.", regex.DOTALL)
_END = regex.compile(r"\\z|\\.|(?P<set>\[\^?\]?(?:\\.|(?&set)|[^]\\])*+\])|\$", regex.DOTALL)


def _for_regex(pattern: str) -> str:
    r"""Translate a pattern for `regex`: no `\x{..}`, `\Z` for `$`, and (?-f), so that ß never matches ss."""
    pattern = _CODE.sub(lambda match: rf"\U{int(match[1], 16):08x}" if match[1] else str(match[0]), pattern)
    pattern = _END.sub(lambda match: r"\Z" if match[0] in ("$", r"\z") else str(match[0]), pattern)
    return f"(?-f){pattern}"
