"""Parts of a text with at most so many ids each, and the longest beginning or end of a text that has (D9, D10)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import chain, takewhile
from typing import Literal, TypeAlias, overload

import numpy as np
import regex
from numpy.typing import NDArray

from subwords.engine.growing import Grower
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
CONTEXT_CHARACTERS, CONTEXT_IDS = 16, 12  # before a place: the characters around it are counted with these
LONG_WORD = 32  # characters: the end of a shorter word is tried where a part would end inside it
TOKEN_ENDS = 4  # characters inside a word after which a token may end: these places are tried too
SPARE_SHARE = 8  # an eighth more text than a part is expected to have is encoded, to see where its ids end
FIRST_SHARE = 0.97  # of the expected length is counted first: text behind the end of a part is counted for nothing
MOST_GUESSES = 8  # at the place that is sought; then the middle of what is open is tried
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
_RUN, _RUN_BEFORE = (regex.compile(rf"{order}(?:\w+|\s+|[^\w\s]+)") for order in ("", "(?r)"))
_GRAPHEME = regex.compile(r"\X")
_BETWEEN_ASCII = regex.compile(r"(?r)(?<=[ -~])[ -~]")  # a border of graphemes, whatever is around it


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


class Search:
    """Finds how many characters have at most so many ids: from `start` to `stop`, or back to an earlier `stop`.

    Characters are numbered from `start`.
    """

    def __init__(self, grower: Grower, text: str, start: int, stop: int) -> None:
        self._text, self._start, self._all = text, start, abs(stop - start)
        self._alone, self._ends, self._ahead = grower.count, grower.ends, stop >= start

    def _count(self, first: int, last: int) -> int:
        start = self._start
        return self._alone(
            self._text[start + first : start + last] if self._ahead else self._text[start - last : start - first]
        )

    def most(self, size: int, ratio: float) -> int:
        """Return a number of characters that fits: all, or it has `size` ids, or with one more they are too many.

        ratio: the characters of an id that are expected.
        """
        low, high = 0, self._all + 1  # so many fit, and so many do not
        at, expected, guesses = min(self._all, int(size * ratio * FIRST_SHARE) + 1), -1, 0
        if self._ahead and at < self._all:
            at, expected = self._first(at, size)
        while True:
            found = self._count(0, at)
            if found > size:
                high = at
            else:
                low, high = at, high if at < high else self._all + 1
            if low + 1 == high or low == self._all or (low == at and found == expected == size):
                return low
            if found == expected <= size:  # one more has too many, if the characters near it told the truth
                at = low + 1
                continue
            guesses += 1
            if guesses <= MOST_GUESSES:
                at, expected = self._guess(at, found, size, ratio, low, high)
            else:
                at, expected = min((low + high) // 2, 2 * low + 1), -1

    def _first(self, at: int, size: int) -> tuple[int, int]:
        """Return where `size` ids end, going by texts that are encoded one after another, and how many end there.

        at: how many characters they are expected to have; it is returned where the ends of ids are not known.
        """
        done = found = 0
        while done < self._all:
            step = (at - done) + (at - done) // SPARE_SHARE + CONTEXT_CHARACTERS
            ends = self._ends(self._text[self._start + done : self._start + done + step])
            if ends is None or not len(ends):
                return at, -1
            room = size - found
            if len(ends) > room:
                last = room if ends[room - 1] < ends[room] else int(ends.searchsorted(ends[room - 1]))
                return (done + int(ends[last - 1]), found + last) if last else (max(1, done), found or -1)
            done, found = done + int(ends[-1]), found + len(ends)
            at = done + (size - found) * done // found
        return self._all, found

    def _guess(self, at: int, found: int, size: int, ratio: float, low: int, high: int) -> tuple[int, int]:
        """Return about how many characters between `low` and `high`, or soon after, have `size` ids, and how many ids.

        Only characters near it are counted: exact if a word begins among the first of them. found: the ids up to `at`.
        """
        way = int((size - found) * ratio)
        first = max(0, at - max(CONTEXT_CHARACTERS, int(CONTEXT_IDS * ratio)) + min(0, 2 * way))
        before = found - self._count(first, at)
        last, end = (at, min(high, at + 4 * way + CONTEXT_CHARACTERS)) if found <= size else (max(first, low), at)
        place, total, tries = at + way, -1, 0
        while last + 1 < end:
            place = min(max(place, last + 1), end - 1)
            now = before + self._count(first, place)
            if now <= size:
                last, total = place, now
            else:
                end = place
            tries += 1
            step = (size - now) * (place - first) // max(1, now - before)
            place = place + step if tries < MOST_GUESSES else (last + end) // 2
        if last == low:
            return low + 1, -1
        is_longer = True
        while is_longer:
            is_longer = False
            for place in self._longer(last):
                if (now := before + self._count(first, place)) <= size:
                    last, total, is_longer = place, now, True
                    break
        return last, total

    def _longer(self, at: int) -> Iterator[int]:
        """Yield ends of tokens that may begin before a place: more characters may have fewer ids."""
        there = self._start + at if self._ahead else self._start - at
        stop = min(at + LONG_WORD, self._all)
        run = (
            _RUN.match(self._text, there, there + stop - at)
            if self._ahead
            else _RUN_BEFORE.match(self._text, there - stop + at, there)
        )
        size = len(run[0]) if run else 0
        if 1 < size < LONG_WORD:
            yield at + size
        if size > 2:
            near = TOKEN_ENDS if self._text[there - (not self._ahead)].isascii() else 2
            yield from range(at + min(size - 1, near), at + 1, -1)


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
        self._grower, self._count, self._text, self._graphemes = grower, grower.count, text, graphemes
        self._places = EndPlaces(text)
        self._alone: dict[tuple[int, int], bool] = {}  # whether a fence or table fits into a part
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
        text, most = self._text, self._longest(start)
        if most == len(text):
            return most
        for kind in kinds[:-1]:
            end = self._last(kind, start, most)
            while end > start and not self._fits(start, end, most):
                end = self._last(kind, start, end - 1)
            if end > start:
                return end
        end = most
        if (over := self._over(end)) is not None:  # a shorter part has more ids
            places = self._borders(start, over[0]) if self._graphemes else range(over[0], start, -1)
            fitting = (place for place in places if not self._over(place))
            end = next((place for place in fitting if self._fits(start, place, most)), start)
        elif self._graphemes:
            end = next((place for place in self._borders(start, most) if self._fits(start, place, most)), start)
        if end == start:
            match = _GRAPHEME.match(text, start) if self._graphemes else None
            size = match.end() - start if match else 1
            least, given = (
                self._times * count + self._added for count in (self._count(text[start : start + size]), self._size)
            )
            raise InputError(
                f"expected a size of at least {least} ids: {text[start : start + size]!r:.60}, character {start}, has "
                f"as many, not {given}"
            )
        return end

    def _fits(self, start: int, end: int, most: int) -> bool:
        """Whether a part has at most as many ids as a part may have; up to `most` it has."""
        return end == most or self._count(self._text[start:end]) <= self._size

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
            fits = self._alone[found] = self._count(self._text[slice(*found)]) <= self._size
        return found if fits else None

    # ------------------------------------------------------------------ the longest

    def longest(self) -> int:
        """Return the end of the longest beginning that has at most `size` ids."""
        most = self._longest(0)
        if not self._graphemes or most == len(self._text):
            return most
        return next((place for place in self._borders(0, most) if self._fits(0, place, most)), 0)

    def _longest(self, start: int) -> int:
        """Return a place up to which a text fits, and up to the next one not; `start` if one character does not."""
        return start + Search(self._grower, self._text, start, len(self._text)).most(self._size, self._ratio)

    def _borders(self, start: int, stop: int) -> Iterator[int]:
        """Yield the borders of graphemes after one of them up to a place, last first."""
        while stop > start:
            near = _BETWEEN_ASCII.search(self._text, start + 1, stop)
            first = near.start() if near else start
            yield from reversed([*takewhile(stop.__ge__, self._ends(first))])
            stop = first
            if first > start:
                yield first
                stop = first - 1

    # ------------------------------------------------------------------ ends

    def shortest_start(self) -> int:
        """Return the start of the longest end that has at most `size` ids."""
        return self._start(0, len(self._text), self._size, "token")

    def _start(self, first: int, end: int, most: int, kind: str) -> int:
        """Return the first place of a kind from `first` on with at most `most` ids up to `end`; `end` if none has."""
        text = self._text
        start = end - Search(self._grower, text, end, first).most(most, self._ratio)
        while True:
            whole = kind == "token" and self._graphemes
            start = self._border(start, end) if whole else self._places.first(kind, start, end)
            if start < end and (over := self._over(start)) is not None:
                start = min(over[1], end)
                continue
            if start >= end or self._count(text[start:end]) <= most:
                return start
            start += 1

    def _border(self, start: int, end: int) -> int:
        """Return the first border of graphemes from `start` on."""
        near = _BETWEEN_ASCII.search(self._text, 0, start + 1)
        begin = near.start() if near else 0
        return next((place for place in chain([begin], self._ends(begin)) if place >= start), end)

    def _ends(self, start: int) -> Iterator[int]:
        """Yield the ends of graphemes after the beginning of one."""
        return (match.end() for match in _GRAPHEME.finditer(self._text, start))


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
    with _places_of_the_text(text):
        return Chunks(text, chunker.spans(at, overlap, hard_wraps), count)


def truncated(grower: Grower, text: str, size: int, template: Template | None, side: str, graphemes: bool) -> str:
    """Return the beginning or the end of a text; see `Tokenizer.truncate`."""
    check_choice("side", side, ("left", "right"))
    chunker = Chunker(grower, text, size, template, graphemes=graphemes)
    with _places_of_the_text(text):
        return text[: chunker.longest()] if side == "right" else text[chunker.shortest_start() :]


@contextmanager
def _places_of_the_text(text: str) -> Iterator[None]:
    """Name the place of a lone surrogate in the whole text, not in the part that was counted."""
    try:
        yield
    except InputError:
        encode_text(text)
        raise
