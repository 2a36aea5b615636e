"""Parts of a text with at most so many ids each, and the longest beginning or end of a text that has (D9, D10)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias, overload

import numpy as np
import regex
from numpy.typing import NDArray

from subwords.engine.growing import FRESH, LOOK, Before, Grower
from subwords.engine.structure import Structure, markdown_structure, paragraph_structure, unwrapped
from subwords.spec.template import Slot, Template
from subwords.support.checks import check_choice, check_flag, check_integer, encode_text
from subwords.support.errors import InputError

Kind: TypeAlias = Literal["token", "word", "sentence", "line", "paragraph", "markdown"]
Side: TypeAlias = Literal["left", "right"]

KINDS: dict[str, tuple[str, ...]] = {  # what is tried where no place of a kind fits
    "token": ("token",),
    "word": ("word", "token"),
    "sentence": ("sentence", "word", "token"),
    "line": ("line", "sentence", "word", "token"),
    "paragraph": ("paragraph", "line", "sentence", "word", "token"),
    "markdown": ("heading", "block", "item", "line", "sentence", "word", "token"),
}
OVERLAPS = {"paragraph": "sentence", "markdown": "sentence"}  # where an overlap begins, if not at the first kind
FEW = 32  # places that are all tried
MANY = 256  # characters after the last cut that fits: with more, the longest part is sought before places of a kind
FIRST = 0.9  # of the expected characters of a part are counted first: a part that is too long is counted in vain
NEARLY = 6  # ids that a part may still have when one cut after another is tried
MOST_SIZE = 1 << 40

# ---------------------------------------------------------------------------------------------------------------------
# Where words and sentences end: Unicode Standard Annex #29.

_WORD_END = regex.compile(r"(?w)(?<!\s)\b")

_X = r"[\p{SB=EX}\p{SB=FO}]*+"
_SEP = r"(?:\r\n|[\p{SB=SE}\p{SB=CR}\p{SB=LF}])"
_AFTER = rf"(?:\p{{SB=CL}}{_X})*+(?:\p{{SB=SP}}{_X})*+"  # closing signs and spaces belong to the sentence
_GOES_ON = r"[\p{SB=SC}\p{SB=AT}\p{SB=ST}]"
_LOWER_NEXT = r"[^\p{SB=LE}\p{SB=UP}\p{SB=LO}\p{SB=SE}\p{SB=CR}\p{SB=LF}\p{SB=AT}\p{SB=ST}]*+\p{SB=LO}"
_SENTENCE_END = regex.compile(
    rf"{_SEP}"  # SB4
    rf"|\p{{SB=ST}}{_X}{_AFTER}(?:{_SEP}|(?!{_GOES_ON}))"  # SB8a to SB11
    rf"|\p{{SB=AT}}{_X}(?!\p{{SB=NU}}|(?<=[\p{{SB=UP}}\p{{SB=LO}}]{_X[:-1]}\p{{SB=AT}}{_X[:-1]})\p{{SB=UP}})"  # SB6, 7
    rf"{_AFTER}(?:{_SEP}|(?!{_GOES_ON}|{_LOWER_NEXT}))"  # SB8 to SB11
)
_SENTENCE_SIGN = regex.compile(r"(?r)[\p{SB=SE}\p{SB=CR}\p{SB=LF}\p{SB=ST}\p{SB=AT}]")  # each end has one
_AT_END = regex.compile(r"(?r)[\p{SB=CL}\p{SB=SP}\p{SB=EX}\p{SB=FO}\r\n]*")
_GRAPHEME = regex.compile(r"\X")


class EndPlaces:
    """Where parts of a text may end: after the first character, and before the last one.

    structure: of the text, if parts end by it.
    """

    def __init__(self, text: str, at: str = "token", *, hard_wraps: bool = False) -> None:
        self._text = text
        self._run = (0, 0)  # characters that a sentence may have at its end
        self.structure: Structure | None = None
        if at in ("paragraph", "markdown"):
            self.structure = markdown_structure(text) if at == "markdown" else paragraph_structure(text)
        self._lines = unwrapped(text, self.structure) if hard_wraps else text  # what lines and sentences are read in

    def last(self, kind: str, start: int, stop: int) -> int:
        """Return the last place of a kind after `start`, at most `stop`; `start` if there is none."""
        if kind == "line":
            return max(start, self._lines.rfind("\n", start, stop) + 1)
        if self.structure is not None and kind in self.structure.places:
            return self.structure.last(kind, start, stop)
        if kind == "word":
            text = self._text
            for at in range(stop, start, -1):
                in_word = "a" <= text[at - 1] <= "z" and "a" <= text[at : at + 1] <= "z"  # quicker than the pattern
                if not in_word and _WORD_END.match(text, at):
                    return at
            return start
        return self._last_sentence(start, stop)

    def _last_sentence(self, start: int, stop: int) -> int:
        text, at, first = self._lines, stop, start
        while True:
            sign = _SENTENCE_SIGN.search(text, first, at)
            if sign is None:
                if first < start or (first := self._run_before(start)) == start:
                    return start
                at = start
                continue
            at = sign.start()
            match = _SENTENCE_END.match(text, at)  # reads beyond `stop`
            if match and match.end() <= stop:  # sentences with an earlier sign end here or before it
                return max(start, int(match.end()))

    def _run_before(self, place: int) -> int:
        """Return where a sentence that ends after `place` may have its last sign."""
        first, stop = self._run
        if not first < place <= stop:
            match = _AT_END.match(self._lines, 0, place)
            assert match is not None, "it matches the empty string"
            first = max(0, match.start() - 1)
            self._run = (first, place)
        return first

    def first(self, kind: str, start: int, stop: int) -> int:
        """Return the first place of a kind from `start` (at least 1) on, below `stop`; `stop` if there is none."""
        text, at = self._text, start
        if kind == "token":
            return start
        if kind == "line":
            found = text.find("\n", start - 1, stop) + 1
            return found if start <= found < stop else stop
        if kind == "word":
            return next((at for at in range(start, stop) if _WORD_END.match(text, at)), stop)
        for match in _SENTENCE_END.finditer(self._lines, max(0, self._run_before(start) - 1)):
            at = match.end()
            if at >= start:
                break
        else:
            at = stop
        return min(at, stop)


# ---------------------------------------------------------------------------------------------------------------------


class KnownFit(NamedTuple):
    """A text from a start on: up to `place`, a proved cut, it has `total` ids, and no place from `over` on fits.

    ids: how many of the whole text there are up to `place`; -1 if they are not known. likely: a place up to which the
    text has as many ids as may be, going by those of the whole text; 0 if it is not known.
    """

    place: int
    before: Before
    total: int
    over: int
    ids: int = -1
    likely: int = 0


class Chunks(Sequence[str]):
    """The parts of a text in order; made by `Tokenizer.chunks`. `text` is the whole text.

    spans: the characters of each part, int64 of shape (n, 2). counts: the ids of each part, encoded alone, int64.
    """

    def __init__(self, text: str, spans: NDArray[np.int64], count: Callable[[list[str]], NDArray[np.int64]]) -> None:
        self.text: str = text
        self.spans: NDArray[np.int64] = spans
        self._count = count

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many ids each part has, encoded alone: it is encoded again."""
        return self._count([*self])

    def __len__(self) -> int:
        """Return the number of parts."""
        return len(self.spans)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        """Return a part, or a list of parts."""
        if isinstance(index, slice):
            return [self.text[start:stop] for start, stop in self.spans[index].tolist()]
        start, stop = self.spans[index].tolist()
        return self.text[start:stop]

    def records(self) -> list[dict[str, str | int]]:
        """Return a row for each part: `text`, `start` and `stop` in the whole text, and `tokens`, of `counts`."""
        rows = zip(self, self.spans.tolist(), self.counts.tolist(), strict=True)
        return [{"text": text, "start": start, "stop": stop, "tokens": count} for text, (start, stop), count in rows]

    def __repr__(self) -> str:
        return f"Chunks({len(self)} parts of {len(self.text)} characters)"


class Chunker:
    """Cuts one text."""

    def __init__(
        self, grower: Grower, text: object, size: object, template: Template | None, *, graphemes: object
    ) -> None:
        check_integer("size", size, 1, MOST_SIZE)
        check_flag("graphemes", graphemes)
        assert isinstance(size, int)
        # The template adds so many ids to each part, and has its ids so many times.
        self._added, self._times = 0, 1
        if template is not None:
            self._added, self._times = template.added(), sum(isinstance(piece, Slot) for piece in template.single)
            least = self._added + self._times
            if size < least or not self._times:
                raise InputError(
                    f"expected a size of at least {least} ids, not {size}: the template adds {self._added} to each part"
                    if self._times
                    else "expected a template with a place for the text; template=False counts the ids of the text"
                )
            size = (size - self._added) // self._times
        if not isinstance(text, str):
            raise InputError(f"expected text as str, not {type(text).__name__}")
        if not text.isascii():
            encode_text(text)  # raises InputError for a lone surrogate
        self._grower, self._text, self._graphemes = grower, text, graphemes
        self._places = EndPlaces(text)
        self._alone: dict[tuple[int, int], bool] = {}  # whether a fence or table fits into a part
        self._ends: memoryview | None = None  # of the ids of the whole text, where they tell those of its parts
        self._known = 0  # how many of these are before the next part
        self._cut = 0  # a proved cut after the last part, or 0
        self._size = size
        self._ratio = 4.0  # characters of an id

    # ------------------------------------------------------------------ parts

    def spans(self, kind: str, overlap: object, hard_wraps: object) -> NDArray[np.int64]:
        """Return the characters of each part; see `Tokenizer.chunks`."""
        check_choice("at", kind, KINDS)
        check_integer("overlap", overlap, 0, self._size - 1)
        check_flag("hard_wraps", hard_wraps)
        if hard_wraps and kind in ("token", "word", "line"):
            raise InputError(f'hard_wraps is for at="sentence", "paragraph" and "markdown", not {kind!r}')
        assert isinstance(overlap, int)
        self._places = EndPlaces(self._text, kind, hard_wraps=bool(hard_wraps))
        found: list[tuple[int, int]] = []
        start = stop = 0
        if len(self._text) > self._size and (ends := self._grower.ends(self._text)) is not None:
            self._ends = ends.data
        while stop < len(self._text):
            end = self._end(start, KINDS[kind])
            if end <= stop:  # the overlap left no room
                start = stop
                end = self._end(start, KINDS[kind])
            found.append((start, end))
            self._ratio = max(0.1, (end - start) / self._size)
            begins = OVERLAPS.get(kind, kind)
            start, stop = (end if not overlap else self._start(start + 1, end, overlap, begins)), end
        return np.array(found, np.int64).reshape(-1, 2)

    def _end(self, start: int, kinds: tuple[str, ...]) -> int:
        """Return where the part that begins at `start` ends."""
        text, filled = self._text, self._filled(start) or self._fill(start)
        if filled.place == len(text):
            return len(text)
        most = min(filled.over - 1, len(text))
        if most > filled.place + MANY and len(kinds) > 1:
            most = self._longest(start, filled)  # many places are beyond it
        for kind in kinds[:-1]:
            end = self._last(kind, start, most)
            while end > start and not self._fits(start, end, filled):
                end = self._last(kind, start, end - 1)
            if end > start:
                return end
        end = self._longest(start, filled)
        if (over := self._over(end)) is not None:  # a shorter part has more ids
            places = self._borders(start, over[0]) if self._graphemes else range(start + 1, over[0] + 1)
            fitting = (place for place in reversed(places) if not self._over(place))
            end = next((place for place in fitting if self._fits(start, place, filled)), start)
        if end == start:
            match = _GRAPHEME.match(text, start) if self._graphemes else None
            size = match.end() - start if match else 1
            least, given = (
                self._times * count + self._added
                for count in (self._grower.count(text[start : start + size]), self._size)
            )
            raise InputError(
                f"expected a size of at least {least} ids: {text[start : start + size]!r:.60}, character {start}, has "
                f"as many, not {given}"
            )
        return end

    def _last(self, kind: str, start: int, stop: int) -> int:
        """Return the last place of a kind that is not inside a fence or table that fits; `start` if there is none."""
        place = self._places.last(kind, start, stop)
        while place > start and (over := self._over(place)) is not None:
            place = self._places.last(kind, start, over[0]) if over[0] > start else start
        return place

    def _over(self, place: int) -> tuple[int, int] | None:
        """Return the fence or table that a place is inside and that fits into a part, if there is one."""
        structure = self._places.structure
        if structure is None or (found := structure.over(place)) is None:
            return None
        fits = self._alone.get(found)
        if fits is None:
            fits = self._alone[found] = self._grower.count(self._text[slice(*found)]) <= self._size
        return found if fits else None

    # ------------------------------------------------------------------ beginnings

    def longest(self) -> int:
        """Return the end of the longest beginning that has at most `size` ids."""
        return self._longest(0, self._fill(0))

    def _filled(self, start: int) -> KnownFit | None:
        """Return the same as `_fill`, from the ids of the whole text; None if they do not tell."""
        ends, text, proves = self._ends, self._text, self._grower.cuts.proves
        if ends is None:
            return None
        at, count, before = start, 0, self._before(start)
        if start and not (self._grower.cuts.fresh and proves(text, 0, start)):
            at = self._cut if self._cut >= start + LOOK else self._grower.cuts.next(text, start, start + 1)
            if at == len(text):
                return None
            count, before = self._grower.count(text[start:at]), self._before(at)  # ids before the cut
        if count > self._size:
            return None
        target = before + self._size - count  # a place with as many ids before it fits
        if target >= len(ends):
            return KnownFit(len(text), FRESH, count + len(ends) - before, len(text) + 1)
        limit = ends[target - 1] if target > before else at
        if limit > at and ends[target] > limit and proves(text, at, limit):
            self._known = target
            return KnownFit(limit, self._grower.before(text, start, limit), self._size, limit + 1, target)
        place = self._grower.cuts.last(text, at, limit, soon=True)
        first = self._grower.cuts.next(text, at, limit)
        self._cut = first if first < len(text) else 0
        self._known = known = before if place == at else bisect_right(ends, place, before, target)
        return KnownFit(place, self._grower.before(text, start, place), count + known - before, first, known, limit)

    def _before(self, place: int) -> int:
        """Return how many ids of the whole text end at a place or before it; the last part began near it."""
        assert self._ends is not None
        ends, low, step = self._ends, self._known, 64
        if place == 0 or (low and ends[low - 1] <= place and (low == len(ends) or ends[low] > place)):
            return low if place else 0
        while low and ends[low - 1] > place:
            low, step = max(0, low - step), 2 * step
        high = min(len(ends), low + step)
        while high < len(ends) and ends[high - 1] <= place:
            low, step = high, 2 * step
            high = min(len(ends), low + step)
        return bisect_right(ends, place, low, high)

    def _fill(self, start: int) -> KnownFit:
        """Return how far proved cuts are known to fit."""
        text, cuts, grower, size = self._text, self._grower.cuts, self._grower, self._size
        place, before, count, whole = start, FRESH, 0, len(text)
        over, step = whole + 1, max(8, int(size * self._ratio * FIRST))
        empty = start  # no cut is between the place and this
        while place < whole:
            stop = min(max(place + step, empty + 1), over, whole)
            if stop == whole < over:
                rest = grower.count_after(before, text[place:])
                if count + rest <= size:
                    return KnownFit(whole, before, count + rest, over)
                over = whole
            found = cuts.last(text, place, stop, soon=True) if over <= whole or size - count > NEARLY else place
            is_next = found == place and over > whole
            if is_next and (found := cuts.next(text, place, place + 1)) == whole:
                found = cuts.last(text, place, stop, soon=True)
            if found == place:
                if stop == over:
                    break
                empty, step = stop, 4 * step if over > whole else (stop + over) // 2 - place
                continue
            more, after = grower.count_upto(before, text, place, found)
            if count + more <= size:
                place, before, count = found, after, count + more
                step = max(8, int((size - count) * self._ratio * FIRST))
            else:
                over = found
                if is_next:
                    break
                step = max(8, (found - place) * (size - count) // more)
        return KnownFit(place, before, count, over)

    def _fits(self, start: int, end: int, filled: KnownFit) -> bool:
        if end <= filled.place:
            if end == filled.place or self._grower.cuts.proves(self._text, start, end):
                return True  # E(x[:c]) begins with the ids up to an earlier proved cut
            cut = self._grower.cuts.last(self._text, start, end, soon=True)
            after = None if cut == start else self._grower.count_from(self._text, cut, end)
            if after is None:
                return self._grower.count(self._text[start:end]) <= self._size
            if filled.ids >= 0 and cut > start:
                between: int | None = filled.ids - self._before(cut)
            else:
                between = self._grower.count_from(self._text, cut, filled.place)
            assert between is not None, "the ids after this cut are known"
            return filled.total - between + after <= self._size
        rest = self._grower.count_after(filled.before, self._text[filled.place : end])
        return filled.total + rest <= self._size

    def _longest(self, start: int, filled: KnownFit) -> int:
        if filled.place == len(self._text) or (self._ends and filled.total == self._size and not self._graphemes):
            return filled.place  # each character has at least a part of an id
        first, last = filled.place, min(filled.over - 1, len(self._text))
        if self._graphemes:
            places = self._borders(start, last)
            if first in places or first == start:  # otherwise a proved cut is inside a grapheme
                places = [place for place in places if place >= first]
            return next((place for place in reversed(places) if self._fits(start, place, filled)), start)
        text, before, most = self._text, filled.before, self._size - filled.total
        return first + self._greatest(
            first,
            last - first,
            lambda sizes: self._grower.last_within(before, [text[first : first + size] for size in sizes], most),
            filled.likely - first,
        )

    def _borders(self, start: int, stop: int) -> list[int]:
        """Return the borders of graphemes after one of them."""
        found = list[int]()
        for match in _GRAPHEME.finditer(self._text, start):
            if match.end() > stop:
                break
            found.append(match.end())
        return found

    def _greatest(self, first: int, most: int, last_fit: Callable[[Sequence[int]], int], likely: int) -> int:
        """Return the greatest number of characters after `first` that fits, up to `most`; 0 does, `likely` may.

        last_fit: of some numbers in order, the index of the last one that fits, or -1.
        """
        low = likely if 0 < likely < most and last_fit((likely,)) == 0 else 0
        high, step = (low + 1 if low or most <= FEW else most + 1), FEW // 2
        while low + 1 < high:  # low fits, high does not
            at = min(low + step, most) if high > most else (low + high) // 2
            if last_fit((at,)) == 0:
                low, step = at, 2 * step
            else:
                high = at
        at = low
        while at < most:
            stop = min(most, low + self._grower.reach(self._text[first + low])) if low or most > FEW else most
            if at >= stop:
                break
            found = last_fit(range(at + 1, stop + 1))
            low, at = at + 1 + found if found >= 0 else low, stop
        return low

    # ------------------------------------------------------------------ ends

    def shortest_start(self) -> int:
        """Return the start of the longest end that has at most `size` ids."""
        return self._start(0, len(self._text), self._size, "token")

    def _start(self, first: int, end: int, most: int, kind: str) -> int:
        """Return the first place of a kind from `first` on with at most `most` ids up to `end`; `end` if none has."""
        start = self._least_start(first, end, most)
        while True:
            whole = kind == "token" and self._graphemes
            start = self._border(start, end) if whole else self._places.first(kind, start, end)
            if start < end and (over := self._over(start)) is not None:
                start = min(over[1], end)
                continue
            if start >= end or self._grower.count(self._text[start:end]) <= most:
                return start
            start += 1

    def _border(self, start: int, end: int) -> int:
        """Return the first border of graphemes from `start` on."""
        begin = self._text.rfind("\n", 0, start) + 1
        return next((place for place in [begin, *self._borders(begin, end)] if place >= start), end)

    def _least_start(self, first: int, end: int, most: int) -> int:
        """Return the first character from `first` on with at most `most` ids up to `end`; `end` if none has."""
        text, grower = self._text, self._grower

        def fits(size: int) -> bool:
            return grower.count(text[end - size : end]) <= most

        low, high, step = 0, end - first + 1, max(8, int(most * self._ratio))
        if end - first <= FEW:
            return next((at for at in range(first, end) if fits(end - at)), end)
        if self._ends is not None:  # first where the ids of the whole text have as many
            known = self._before(end) - most
            low, step = end - min(max(first, self._ends[known - 1] if known > 0 else 0), end - 1), 4
            while low and not fits(low):
                high, low, step = low, max(0, low - step), 2 * step
        while low + 1 < high:
            at = min(low + step, end - first) if high == end - first + 1 else (low + high) // 2
            if fits(at):
                low, step = at, max(8, step // 4) if high == end - first + 1 else step
            else:
                high = at
        start = end - low
        cut = grower.cuts.last(text, first, start, soon=True) if start > first else first
        if cut > first and (after := grower.count_from(text, cut, end)) is not None and after > most:
            # The text from `LOOK` characters before the cut on has as many ids after it.
            start = next((at for at in range(max(first, cut - LOOK + 1), start) if fits(end - at)), start)
        else:
            at = start
            while at > first and at > start - grower.reach(text[start - 1]):
                at -= 1
                if fits(end - at):
                    start = at
        return start


def chunks(
    grower: Grower,
    text: str,
    size: int,
    template: Template | None,
    *,
    overlap: int,
    at: str,
    graphemes: bool,
    hard_wraps: bool,
    count: Callable[[list[str]], NDArray[np.int64]],
) -> Chunks:
    """Return the parts of a text; see `Tokenizer.chunks`."""
    chunker = Chunker(grower, text, size, template, graphemes=graphemes)
    return Chunks(text, chunker.spans(at, overlap, hard_wraps), count)


def truncated(grower: Grower, text: str, size: int, template: Template | None, side: str, graphemes: bool) -> str:
    """Return the beginning or the end of a text; see `Tokenizer.truncate`."""
    check_choice("side", side, ("left", "right"))
    chunker = Chunker(grower, text, size, template, graphemes=graphemes)
    return text[: chunker.longest()] if side == "right" else text[chunker.shortest_start() :]
