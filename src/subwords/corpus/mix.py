"""Word counts of several sources, each with a weight, a share or a limit (W7); words cut into parts (B10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf, isfinite, lcm
from os import PathLike

import numpy as np

from subwords.corpus.counts import MOST_COUNTED, WordCounts
from subwords.corpus.groups import read_gold
from subwords.support.checks import bytes_of, check_number
from subwords.support.errors import InputError, TrainingError
from subwords.support.files import place_of

EXACT_RATIO = 1000  # the largest denominator of a ratio that is kept exactly, and otherwise the smallest factor


def add_multiplied(sources: Mapping[str, WordCounts], factors: Mapping[str, int]) -> WordCounts:
    """Return the sum of counts, each multiplied by its factor."""
    parts = list[WordCounts]()
    for name, counts in sources.items():
        if counts.total * factors[name] > MOST_COUNTED:
            raise InputError(f"too many words: {name!r} counts {factors[name]} times, for a total of 2**63 or more")
        factor, size = factors[name], counts.text_bytes
        size = None if size is None else size * factor
        parts.append(replace(counts, counts=counts.counts * np.uint64(factor), text_bytes=size))
        try:
            parts[0].check(counts.provenance)
        except InputError as error:
            raise InputError(f"source {name!r}: {error}") from None
    return WordCounts.joined(parts)


def mix_factors(
    sources: Mapping[str, WordCounts],
    *,
    weights: Mapping[str, float] | None = None,
    shares: Mapping[str, float] | None = None,
    exponent: float | None = None,
    max_bytes: Mapping[str, int | str] | int | str | None = None,
) -> dict[str, int]:
    """Return the number that `mix` multiplies the counts of each source by: small ones if the ratios are simple."""
    sizes = _source_sizes(sources)
    if sum(rule is not None for rule in (weights, shares, exponent)) > 1:
        raise InputError("expected one of weights, shares and exponent, not several")
    most = dict.fromkeys(sizes, inf) if max_bytes is None else _most_of(sizes, max_bytes)
    held = {name: Fraction(size) if size <= most[name] else Fraction(most[name]) for name, size in sizes.items()}
    if shares is not None:
        wanted = _numbers("shares", sizes, shares, all_of_them=True)
        target = {name: Fraction(wanted[name]) for name in sizes}
        if max_bytes is not None:
            raise InputError("max_bytes and shares contradict each other: leave one of them out")
    elif exponent is not None:
        check_number("exponent", exponent, 0, 1)
        target = {name: Fraction(float(size) ** exponent) for name, size in held.items()}
    else:
        given = _numbers("weights", sizes, weights or {})
        target = {name: size * Fraction(given.get(name, 1)).limit_denominator(10**9) for name, size in held.items()}
    return _whole({name: target[name] / sizes[name] for name in sizes})


def _source_sizes(sources: Mapping[str, WordCounts]) -> dict[str, int]:
    """Return the bytes of the words of each source, with repetitions."""
    if not isinstance(sources, Mapping) or not sources:
        raise InputError('expected sources as a dict of word counts by name, such as {"en": counts}')
    found = {}
    for name, counts in sources.items():
        if not isinstance(counts, WordCounts):
            raise InputError(f"source {name!r}: expected word counts, not {type(counts).__name__}: see subwords.count")
        if not len(counts):
            raise InputError(f"source {name!r} has no words: leave it out")
        found[name] = int(np.dot(np.diff(counts.offsets).astype(np.float64), counts.counts.astype(np.float64)))
    return found


def _numbers(
    what: str, sizes: Mapping[str, int], given: Mapping[str, float], *, all_of_them: bool = False
) -> Mapping[str, float]:
    if not isinstance(given, Mapping):
        raise InputError(f"expected {what} as a dict of numbers by source, not {type(given).__name__}")
    for name, number in given.items():
        _check_name(what, sizes, name)
        good = isinstance(number, int | float | Fraction) and not isinstance(number, bool)
        if not good or not number > 0 or not isfinite(number):
            raise InputError(f"{what}: expected a number above 0 for {name!r}, not {number!r:.60}")
    if all_of_them and (missing := [name for name in sizes if name not in given]):
        raise InputError(f"{what}: expected a number for each source; {missing[0]!r} has none")
    return given


def _most_of(sizes: Mapping[str, int], given: Mapping[str, int | str] | int | str) -> dict[str, float]:
    each = given if isinstance(given, Mapping) else dict.fromkeys(sizes, given)
    for name in each:
        _check_name("max_bytes", sizes, name)
    return {name: bytes_of(each[name]) if name in each else inf for name in sizes}


def _check_name(what: str, sizes: Mapping[str, int], name: str) -> None:
    if name not in sizes:
        raise InputError(f"{what}: {name!r} is not a source; the sources are {', '.join(map(repr, sizes))}")


def _whole(factors: Mapping[str, Fraction]) -> dict[str, int]:
    """Return whole numbers in these ratios: exactly if their common denominator is small, otherwise within 0.05 %."""
    least = min(factors.values())
    ratios = {name: factor / least for name, factor in factors.items()}
    simple = {name: ratio.limit_denominator(EXACT_RATIO) for name, ratio in ratios.items()}
    common = lcm(*(ratio.denominator for ratio in simple.values()))
    if common <= EXACT_RATIO and all(abs(simple[name] / ratios[name] - 1) < 1e-9 for name in ratios):
        return {name: int(ratio * common) for name, ratio in simple.items()}
    return {name: round(ratio * EXACT_RATIO) for name, ratio in ratios.items()}


# ---------------------------------------------------------------------------------------------------------------------
# Segmented: word counts cut at given places, so that no merge crosses them (B10).

Segmentation = Mapping[str, Sequence[str]] | str | PathLike[str]  # parts by word, or a file of them

SPACES = (b" ", "\u2581".encode())  # what a word may begin with, besides its letters


def segment_words(counts: WordCounts, segmentation: Segmentation) -> WordCounts:
    """Return counts in which words are replaced by their parts; see `WordCounts.segmented`."""
    parts, found, cut = _pieces_by_word(segmentation), dict[bytes, int](), 0
    for word, number in counts:
        lead = next((space for space in SPACES if word.startswith(space)), b"")
        pieces = parts.get(word[len(lead) :])
        if pieces is None:
            found[word] = found.get(word, 0) + number
            continue
        cut += 1
        for piece in (lead + pieces[0], *pieces[1:]):
            found[piece] = found.get(piece, 0) + number
    if not cut:
        shown = ", ".join(repr(word.decode()) for word in list(parts)[:3])
        raise TrainingError(
            f"no word of the corpus is in the segmentation, which has {shown}: is it normalized in the same way?"
        )
    if sum(found.values()) > MOST_COUNTED:
        raise InputError(f"too many words: expected a total below 2**63, not {sum(found.values())}")
    offsets = np.cumsum([0, *map(len, found)], dtype=np.int64)
    data = np.frombuffer(b"".join(found), np.uint8)
    numbers = np.fromiter(found.values(), np.uint64, len(found))
    return WordCounts(data, offsets, numbers, counts.provenance, text_bytes=counts.text_bytes)


def _pieces_by_word(segmentation: Segmentation) -> dict[bytes, tuple[bytes, ...]]:
    if isinstance(segmentation, Mapping):
        pairs = [(word, tuple(parts)) for word, parts in segmentation.items()]
    else:
        pairs = read_gold(place_of(segmentation, "segmentation"))
    found = dict[bytes, tuple[bytes, ...]]()
    for word, parts in pairs:
        if not isinstance(word, str) or not all(isinstance(part, str) and part for part in parts) or not parts:
            raise InputError(f"expected a word and its parts as texts, not {word!r:.60}: {parts!r:.60}")
        if "".join(parts) != word:
            raise InputError(f"expected parts that join to {word!r:.60}, not {parts!r:.60}")
        try:
            key, pieces = word.encode(), tuple(part.encode() for part in parts)
        except UnicodeEncodeError:
            raise InputError(f"expected a word of characters, not {word!r:.60}") from None
        if found.setdefault(key, pieces) != pieces:
            raise InputError(f"expected one segmentation of each word, but {word!r:.60} has two")
    if not found:
        raise InputError("expected a segmentation with at least one word, not an empty one")
    return found
