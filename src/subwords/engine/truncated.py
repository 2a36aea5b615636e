"""Truncation: the pieces of texts that are too long."""

from __future__ import annotations

from collections.abc import Sequence

from subwords.components.padding import Truncation
from subwords.errors import InputError

__all__ = ["pieces_of"]


def pieces_of(lengths: Sequence[int], truncation: Truncation, added: int) -> list[list[tuple[int, int]]]:
    """Return, for each text of a single text or pair, the ranges of tokens of its pieces; the kept piece comes first.

    lengths: in tokens. added: the number of tokens that the template adds. InputError if the texts cannot be cut so.

    Source: HF tokenizers 0.23, truncate_encodings and Encoding::truncate.

    >>> pieces_of([5], Truncation(max_length=4, stride=1), added=1)
    [[(0, 3), (2, 5)]]
    """
    room = truncation.max_length - added
    if room < 0:
        raise InputError(
            f"expected max_length to be at least {added}, the tokens of the template, not {truncation.max_length}"
        )
    kept = _kept(lengths, truncation, room)
    return [_pieces(length, most, truncation) for length, most in zip(lengths, kept, strict=True)]


def _kept(lengths: Sequence[int], truncation: Truncation, room: int) -> list[int]:
    """Return the length of the kept piece of each text."""
    total = sum(lengths)
    if total <= room:
        return [*lengths]
    if room == 0:
        return [0] * len(lengths)
    if truncation.strategy == "longest_first":
        return [room] if len(lengths) == 1 else _longest_first(lengths[0], lengths[1], room)
    cut = truncation.strategy == "only_second"
    if cut and len(lengths) == 1:
        raise InputError('truncation "only_second" needs a pair of texts; this is a single text')
    left = lengths[cut] - (total - room)
    if left <= 0:
        raise InputError(
            f'truncation "{truncation.strategy}" cannot reach max_length {truncation.max_length}: the text has '
            f"{lengths[cut]} tokens, and {total - room} must be removed"
        )
    return [left if number == cut else length for number, length in enumerate(lengths)]


def _longest_first(first: int, second: int, room: int) -> list[int]:
    short, long = sorted((first, second))
    long = short if short > room else max(short, room - short)
    if short + long > room:
        short, long = room // 2, room // 2 + room % 2
    return [long, short] if first > second else [short, long]


def _pieces(length: int, most: int, truncation: Truncation) -> list[tuple[int, int]]:
    if most >= length:
        return [(0, length)]
    if most == 0:
        return [(0, 0), (0, length)]
    if truncation.stride >= most:
        raise InputError(
            f"expected a stride below {most}, the tokens of a text that remain in each piece, not {truncation.stride}"
        )
    step = most - truncation.stride
    starts = range(0, length - most + step, step)
    if truncation.direction == "right":
        return [(start, min(start + most, length)) for start in starts]
    return [(max(0, length - start - most), length - start) for start in starts]
