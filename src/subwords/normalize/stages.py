"""The stages of normalizers: each changes many texts at once, by tables or by search and replace."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property, reduce
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.kernels.layout import CharacterRuns, Items, Literal, NormalForm, Normalized, Replacements, TextEnds
from subwords.kernels.named import form_texts, literal_texts, map_texts, run_texts, trim_texts
from subwords.normalize.characters import CharMap, combining_classes, compositions, decompositions, whitespace
from subwords.spec.normalizer import Form, Prepend, Replace, Strip
from subwords.spec.vocab import tokens_to_text
from subwords.split.pattern import (
    Chars,
    Either,
    End,
    Look,
    Members,
    Node,
    Outside,
    Repeat,
    Then,
    parse_pattern,
)
from subwords.split.routes import StageCall
from subwords.support.checks import check_growth
from subwords.support.errors import InputError

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]
# The concatenated texts, their bounds and, if tracked, for every byte the offset of its source byte.
Result = tuple[Bytes, Offsets, Offsets]
Kernel = Callable[[Normalized, Offsets], int]

WIDER = np.array([0x80, 0x800, 0x10000])  # first code points of 2, 3 and 4 bytes in UTF-8
FIRST_ROOM = 1 << 10  # initial size of the scratch buffer, in characters
SECONDS = 10  # time limit of the `regex` package for one text, plus 10 s for every 10 million characters


class Position(NamedTuple):
    """The position of a stretch in its text: whether it begins the text, and whether it ends the text."""

    begins: bool = True
    ends: bool = True


WHOLE, REST, INNER = Position(), Position(begins=False), Position(False, False)


class CutNeeds(NamedTuple):
    """Where texts may be cut: before a character that needs no bits but those that the character before it gives.

    needs, gives: by code point, the last one is INVALID. Nothing gives UNCUT.
    """

    needs: Bytes
    gives: Bytes

    @classmethod
    def of(cls, apart: NDArray[np.bool_], solid: NDArray[np.bool_] | None = None) -> CutNeeds:
        """Return the cuts before characters that are apart, or, if given, those after or before solid ones."""
        if solid is None:
            return cls(np.where(apart, np.uint8(0), np.uint8(layout.UNCUT)), np.zeros(len(apart), np.uint8))
        return cls((~apart).astype(np.uint8), solid.astype(np.uint8))

    def over(self, needing: Edges, giving: Edges) -> CutNeeds:
        """Return the cuts of text that a stage changes so that what it makes of it may be cut here."""
        needs, gives = self.needs.copy(), self.gives.copy()
        codes, heads = needing
        needs[codes] = 0
        np.bitwise_or.at(needs, codes, np.where(heads < 0, np.uint8(layout.UNCUT), self.needs[heads]))
        codes, tails = giving
        gives[codes] = 0xFF
        np.bitwise_and.at(gives, codes, np.where(tails < 0, np.uint8(0), self.gives[tails]))
        return CutNeeds(needs, gives)


# Code points, and beside each a code point with which text beside a cut may then begin or end: -1 if it is not known.
# A code point may have several; those that are not named stay.
Edges: TypeAlias = tuple[NDArray[np.integer], NDArray[np.integer]]


class Origin(NamedTuple):
    """The range of bytes that each byte comes from.

    whole: each byte comes from its own character of the given text; single: all these are one byte long.
    """

    begins: Offsets
    ends: Offsets
    whole: bool = False
    single: bool = False


class Stage(ABC):
    """One stage of a normalizer."""

    growth = 12  # maximum output length as a multiple of the input length; U+FDFA grows 11-fold in NFKC

    loses = False  # whether bytes of the result may have no source: it is then -1

    sees_ends = False  # whether the result depends on where a text begins or ends

    sees_empty = False  # whether it makes something of the empty beginning or end of a text, or of what is beside it

    @abstractmethod
    def apply(self, text: Bytes, bounds: Offsets, *, tracked: bool, part: Position = WHOLE) -> Result | None:
        """Return the changed texts text[bounds[i]:bounds[i + 1]] and their bounds; None if a fused stage fails.

        tracked: also return the source of every byte. part: the position of a stretch in a longer text.
        """

    def fast_path(self, *, begins: bool = True) -> StageCall | None:
        """Return the kernel that does the work of `apply` for one whole text; it may refuse. None if there is more.

        begins: False for a text that continues another; only stages that see ends look at it.
        """
        return None

    def origin(self, result: Result, before: Origin, bounds: Offsets, starts: Offsets) -> Origin:
        """Return the origin of each byte of the result.

        before, bounds: the origin of the stage's input, and its bounds. starts: the bounds of the given texts.
        """
        _, ends, source = result
        if not self.loses or not len(source) or source.min() >= 0:
            if before.single:
                return Origin(source, source + 1)
            return Origin(before.begins[source], before.ends[source])
        lost, nowhere = source < 0, np.repeat(starts[:-1], np.diff(ends))
        if not len(before.begins):  # a text that became empty, before which a text is inserted
            return Origin(nowhere, nowhere)
        known = np.where(lost, 0, source)
        begins, stops = before.begins[known], before.ends[known]
        return Origin(np.where(lost, nowhere, begins), np.where(lost, nowhere, stops))

    def cuts(self) -> CutNeeds:
        """Return where texts may be cut before this stage."""
        return CutNeeds.of(np.zeros(layout.INVALID + 1, np.bool_))

    def before(self, after: CutNeeds) -> CutNeeds:
        """Return what characters need and give so that the result may be cut; after: what those of the result do."""
        return CutNeeds(after.needs.copy(), after.gives.copy())

    def emptied(self) -> NDArray[np.integer]:
        """Return the characters of which a text at an end may become empty."""
        return np.empty(0, np.int64)


def fits_table(replaced: CharMap) -> bool:
    """Whether all replacements are short enough for a table."""
    return int(replaced.sizes.max(initial=0)) <= layout.LONGEST_ENTRY


def _shifts(near: NDArray[np.uint32]) -> Bytes:
    """Return the ranges of ASCII bytes to which the same is added; 0 for those that become no ASCII byte."""
    more = np.where((near >> 24 == 1) & (near & 0xFF < 0x80), (near & 0xFF) - np.arange(128), 0)
    kept = (near & 0xFF == np.arange(128)) & (near >> 24 == 1)
    kinds = np.where(kept, -1, more & 0xFF)  # nothing else adds 0
    begins = np.flatnonzero(np.diff(kinds, prepend=-1, append=-1))
    rows = [(a, b - 1, kinds[a]) for a, b in pairwise(begins.tolist()) if kinds[a] >= 0]
    return np.array(rows, np.uint8).ravel()


class CharStage(Stage):
    """Replaces single characters; `apply` returns None for texts with `unknown` ones."""

    def __init__(self, replaced: CharMap, unknown: NDArray[np.bool_] | None = None) -> None:
        sizes = replaced.sizes.astype(np.int64)
        places = 1 + np.cumsum(sizes) - sizes
        self._entries = np.zeros(layout.INVALID + 1, np.uint32)
        self._entries[replaced.codes] = places << layout.ENTRY_SHIFT | sizes
        filled = np.flatnonzero(sizes)
        self._edges = np.full((3, len(sizes)), -1, np.int32)
        self._edges[0] = replaced.codes
        self._edges[1, filled] = replaced.chars[replaced.bounds[filled]]
        self._edges[2, filled] = replaced.chars[replaced.bounds[filled + 1] - 1]
        widths = np.searchsorted(WIDER, replaced.codes, side="right") + 1
        self.growth = int((-(-sizes // widths)).max(initial=1))
        if unknown is not None:
            self._entries[: layout.INVALID][unknown] = layout.STOP
        self._arena = np.frombuffer(b"\0" + replaced.encode() + bytes(layout.LANES), np.uint8).copy()
        near = self._near()
        self._replacements = Replacements(_shifts(near[:128]), near, self._entries, self._arena)

    def _near(self) -> NDArray[np.uint32]:
        """Return what the characters below NEAR become, as `Replacements` has it."""
        codes, entries = np.arange(layout.NEAR_CODES), self._entries[: layout.NEAR_CODES]
        sizes = np.searchsorted(WIDER, codes, side="right") + 1
        leads = np.select([sizes == 1, sizes == 2], [codes, 0xC0 | codes >> 6], 0xE0 | codes >> 12)
        last = 0x80 | codes & 0x3F
        second = np.where(sizes == 3, 0x80 | codes >> 6 & 0x3F, last)
        kept = leads | np.where(sizes > 1, second << 8, 0) | np.where(sizes > 2, last << 16, 0) | sizes << 24
        lengths, changed = entries & layout.LONGEST_ENTRY, entries != 0
        far = changed & ((lengths > 3) | (entries == layout.STOP))
        places = np.where(changed & ~far, entries >> layout.ENTRY_SHIFT, 0)
        found = lengths << 24
        for k in range(3):
            found |= np.where(k < lengths, self._arena[places + k].astype(np.uint32) << 8 * k, 0)
        return np.where(far, layout.FAR_CHARACTER << 24, np.where(changed, found, kept)).astype(np.uint32)

    def apply(self, text: Bytes, bounds: Offsets, *, tracked: bool, part: Position = WHOLE) -> Result | None:
        """Replace the characters."""
        kernel, replacements = map_texts.by_size(len(text)), self._replacements

        def run(out: Normalized, progress: Offsets) -> int:
            return kernel(text, bounds, replacements, out, progress)

        return run_growing(run, text, bounds, tracked=tracked)

    def fast_path(self, *, begins: bool = True) -> StageCall | None:
        """Return the kernel."""
        return StageCall(map_texts, self._replacements)

    def cuts(self) -> CutNeeds:
        """Allow cuts before characters that do not disappear."""
        apart = (self._entries & layout.LONGEST_ENTRY != 0) | (self._entries == 0)
        return CutNeeds.of(apart & (self._entries != layout.STOP))

    def before(self, after: CutNeeds) -> CutNeeds:
        """Return what the replacements need and give."""
        codes, heads, tails = self._edges
        found = after.over((codes, heads), (codes, tails))
        found.gives[self._entries == layout.STOP] = 0
        return found


class FormStage(Stage):
    """Converts texts to a Unicode normal form."""

    def __init__(self, step: Form) -> None:
        self._composes = "C" in step.form
        pairs = compositions() if self._composes else np.empty((0, 3), np.int64)
        replaced = decompositions(step.form)
        codes, lengths, places = replaced.codes, np.diff(replaced.bounds), replaced.bounds[:-1]
        self._chars = replaced.chars.astype(np.uint32)
        self._entries = np.zeros(layout.INVALID + 1, np.uint32)
        self._entries[codes] = places << layout.ENTRY_SHIFT | lengths
        self._classes = np.append(combining_classes(), np.uint8(0))
        self._heads = np.arange(layout.INVALID + 1)
        self._heads[codes] = self._chars[places]
        seconds = pairs[:, 1]
        follows = self._classes != 0
        follows[seconds] = True
        self._kinds = np.where(follows[self._heads], 0, layout.STARTS).astype(np.uint8)
        changes = np.zeros(layout.INVALID + 1, np.bool_)
        changes[codes] = True
        changes[self._unchanged(pairs[:, 2], replaced)] = False
        changes[seconds] = True
        self._kinds[changes] |= layout.CHANGES
        self._pairs = (pairs[:, 0] << layout.PAIR_SHIFT | seconds).astype(np.uint64)
        self._results = pairs[:, 2].astype(np.uint32)
        self._form = NormalForm(self._kinds, self._classes, self._entries, self._chars, self._pairs, self._results)

    @staticmethod
    def _unchanged(composed: NDArray[Any], replaced: CharMap) -> list[int]:
        """Return the compositions that come back from what they decompose to."""
        canonical = decompositions("NFD")
        if replaced is canonical:
            return composed.tolist()  # type: ignore[no-any-return]
        return [code for code in composed.tolist() if replaced[code] == canonical[code]]

    def apply(self, text: Bytes, bounds: Offsets, *, tracked: bool, part: Position = WHOLE) -> Result | None:
        """Convert texts to the form."""
        form = self._form
        room = Items(*np.empty((2, FIRST_ROOM), np.int64))
        kernel = form_texts.by_size(len(text))

        def run(out: Normalized, progress: Offsets) -> int:
            nonlocal room
            while (status := kernel(text, bounds, form, room, out, progress)) == layout.NEED_SCRATCH:
                room = Items(*np.empty((2, 2 * len(room.items)), np.int64))
            return status

        return run_growing(run, text, bounds, tracked=tracked)

    def fast_path(self, *, begins: bool = True) -> StageCall | None:
        """Return the kernel."""
        return StageCall(form_texts, self._form, Items(*np.empty((2, FIRST_ROOM), np.int64)))

    def cuts(self) -> CutNeeds:
        """Allow cuts before what nothing before it changes; if the form composes, before what never changes."""
        kinds = self._kinds
        return CutNeeds.of(kinds == layout.STARTS if self._composes else kinds & layout.STARTS != 0)

    def before(self, after: CutNeeds) -> CutNeeds:
        """Return what the characters need and give that these become, or that they compose to with marks."""
        codes = np.arange(layout.INVALID + 1)
        if not self._composes:
            entries = self._entries.astype(np.int64)
            lasts = (entries >> layout.ENTRY_SHIFT) + (entries & layout.LONGEST_ENTRY) - 1
            last = np.where(entries == 0, codes, self._chars[lasts])
            tails = np.where(self._kinds & layout.STARTS, last, -1)
            return after.over((codes, self._heads), (codes, tails))
        firsts, results = (self._pairs >> layout.PAIR_SHIFT).astype(np.int64), self._results
        needs = after.needs.copy()
        while True:  # a composition may compose with the next mark
            more = needs.copy()
            np.bitwise_or.at(more, firsts, needs[results])
            if np.array_equal(more, needs):
                break
            needs = more
        return CutNeeds(needs, np.where(self._kinds == layout.STARTS, after.gives, np.uint8(0)))


class ByteStage(Stage):
    """Replaces bytes by their characters in GPT-2's table."""

    growth = 2

    def __init__(self) -> None:
        self._codes = np.array([ord(char) for char in tokens_to_text([bytes([byte]) for byte in range(256)])])

    def apply(self, text: Bytes, bounds: Offsets, *, tracked: bool, part: Position = WHOLE) -> Result | None:
        """Replace the bytes; each character has the origin of its byte."""
        first, text = bounds[0], text[bounds[0] : bounds[-1]]
        places = sums(np.where(self._codes < 0x80, 1, 2)[text])
        source = np.repeat(np.arange(len(text)), np.diff(places))
        codes = self._codes[text]
        wide = codes >= 0x80
        out = np.empty(len(source), np.uint8)
        out[places[:-1]] = np.where(wide, 0xC0 | codes >> 6, codes)
        out[places[1:][wide] - 1] = 0x80 | codes[wide] & 0x3F
        return out, places[bounds - first], source + first if tracked else np.empty(0, np.int64)

    def cuts(self) -> CutNeeds:
        """Allow cuts before all characters that are valid."""
        return CutNeeds.of(np.arange(layout.INVALID + 1) < layout.INVALID)

    def before(self, after: CutNeeds) -> CutNeeds:
        """Return what the first and the last byte of each character need and give."""
        codes = np.arange(layout.INVALID)
        widths = np.searchsorted(WIDER, codes, side="right")
        leads = np.select([widths == 0, widths == 1, widths == 2], [codes, 0xC0 | codes >> 6, 0xE0 | codes >> 12],
                          0xF0 | codes >> 18)  # fmt: skip
        lasts = np.where(widths == 0, codes, 0x80 | codes & 0x3F)
        found = after.over((codes, self._codes[leads]), (codes, self._codes[lasts]))
        found.gives[layout.INVALID] = 0
        return found


class PatternStage(Stage):
    """Replaces the matches of a regex, or of the empty string, found by the `regex` package."""

    loses = True

    def __init__(self, step: Replace) -> None:
        self._step = step
        self._content = step.content.encode()
        self.growth = 1 + len(self._content)

    def apply(self, text: Bytes, bounds: Offsets, *, tracked: bool, part: Position = WHOLE) -> Result | None:
        """Replace the matches; the content has the origin of the last character of the match."""
        parts, sizes, places = [], [], []
        for begin, stop in pairwise(bounds.tolist()):
            data = text[begin:stop].tobytes()
            size = 0
            for first, last, matches in self._segments(data) if data else []:
                parts.append(self._content if matches else data[first:last])
                size += len(parts[-1])
                check_growth("normalizer", len(text), size)
                if tracked and matches:
                    places.append(np.full(len(self._content), begin + last - 1 if last else -1))
                elif tracked:
                    places.append(np.arange(begin + first, begin + last))
            sizes.append(size)
        out = np.frombuffer(b"".join(parts), np.uint8)
        return out, sums(np.array(sizes, np.int64)), np.concatenate([np.empty(0, np.int64), *places])

    @cached_property
    def _places(self) -> MatchPlaces | None:
        return match_places(self._step.pattern)

    def cuts(self) -> CutNeeds:
        """Allow cuts that no match is over; none are known of a regex that reads more than its matches."""
        return super().cuts() if self._places is None else self._places.cuts()

    def before(self, after: CutNeeds) -> CutNeeds:
        """Return what the characters and the content need and give."""
        return super().before(after) if self._places is None else self._places.replaced(self._step.content, after)

    def _segments(self, data: bytes) -> list[tuple[int, int, bool]]:
        from subwords.split.fallback import find_matches

        # surrogateescape makes each invalid byte a character of no class (S2).
        string = data.decode("utf-8", "surrogateescape")
        limit = SECONDS * (1 + len(string) / 1e7)
        try:
            found = find_matches(self._step.pattern, string, limit)
        except TimeoutError:
            raise InputError(
                f"pattern too slow: {self._step.pattern!r:.80} took more than {limit:.0f} s for {len(string)} "
                "characters; expected a pattern without excessive backtracking"
            ) from None
        ends = sums(np.array([len(char.encode("utf-8", "surrogateescape")) for char in string], np.int64)).tolist()
        return [(ends[first], ends[last], matches) for first, last, matches in found]


class LiteralStage(Stage):
    """Replaces a string; the content has the origin of the string's last character."""

    def __init__(self, pattern: str, content: str) -> None:
        self._pattern, self._content, self.growth = pattern, content, 1 + len(content.encode())
        self._literal = Literal(np.frombuffer(pattern.encode(), np.uint8), with_spare(content.encode()))

    def apply(self, text: Bytes, bounds: Offsets, *, tracked: bool, part: Position = WHOLE) -> Result | None:
        """Replace the string."""
        kernel, literal = literal_texts.by_size(len(text)), self._literal

        def run(out: Normalized, progress: Offsets) -> int:
            return kernel(text, bounds, literal, out, progress)

        return run_growing(run, text, bounds, tracked=tracked, spare=2 * layout.BLOCK_GROWTH + len(literal.content))

    def fast_path(self, *, begins: bool = True) -> StageCall | None:
        """Return the kernel."""
        return StageCall(literal_texts, self._literal)

    def cuts(self) -> CutNeeds:
        """Allow cuts that are not inside the string."""
        return self._places.cuts()

    def before(self, after: CutNeeds) -> CutNeeds:
        """Return what the characters and the content need and give."""
        return self._places.replaced(self._content, after)

    @property
    def _places(self) -> MatchPlaces:
        def members(chars: str) -> Members:
            return np.isin(np.arange(layout.INVALID + 1), [ord(char) for char in chars])

        pattern = self._pattern
        return MatchPlaces(
            members(pattern[0]), members(pattern[-1]), members(pattern[1:]), members(pattern[:-1]), False
        )


def with_spare(data: bytes) -> Bytes:
    """Return bytes with LANES more, which kernels may read."""
    return np.frombuffer(data + bytes(layout.LANES), np.uint8)


def sums(sizes: Offsets) -> Offsets:
    """Return the sums of the first sizes, from none to all."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])


def run_growing(
    call: Kernel,
    text: Bytes,
    bounds: Offsets,
    *,
    tracked: bool,
    spare: int = 2 * layout.BLOCK_GROWTH,
    closes: bool = False,
) -> Result | None:
    """Run a kernel, with larger buffers as long as it needs them.

    spare: initial buffer size in bytes, added to 5/4 of the text's. closes: the kernel also writes, after the ends, the
    source of the end of every text; the source of the result then has two rows: of each byte and of the next one.
    """
    size = int(bounds[-1] - bounds[0])
    out = np.empty(size + size // 4 + spare, np.uint8)
    source = np.empty(len(out) if tracked else 0, np.int64)
    ends = np.zeros(len(bounds) << (tracked and closes), np.int64)
    progress = np.zeros(layout.PROGRESS.width, np.int64)
    progress[layout.PROGRESS.byte] = bounds[0]
    while (status := call(Normalized(out, source, ends), progress)) == layout.NEED_OUT:
        out = np.concatenate([out, np.empty_like(out)])
        source = np.concatenate([source, np.empty_like(source)])
    size = progress[layout.PROGRESS.out]
    if status == layout.UNKNOWN:
        return None
    if not tracked or not closes:
        return out[:size], ends, source[: size if tracked else 0]
    ends, last = ends[: len(bounds)], ends[len(bounds) :]
    both = np.empty((2, size), np.int64)
    both[0], both[1] = source[:size], source[1 : size + 1]
    if len(bounds) > 2:
        filled = ends[1:] > ends[:-1]
        both[1, ends[1:][filled] - 1] = last[1:][filled]
    return out[:size], ends, both


# ---------------------------------------------------------------------------------------------------------------------
# The stages that change the ends of texts: whitespace removed, text inserted before others.


class EndStage(Stage):
    """Removes whitespace at the ends of texts, or inserts a text before others."""

    sees_ends = loses = True

    def __init__(self, step: Strip | Prepend) -> None:
        self._strips = (step.left, step.right) if isinstance(step, Strip) else (False, False)
        self._prefix = step.text.encode() if isinstance(step, Prepend) else b""
        self.growth = 1 + len(self._prefix)
        self._nameless = isinstance(step, Prepend) and not step.text  # in HF the first characters then have no origin
        self.sees_empty = any(self._strips)
        self._by_part = {part: self._ends_of(part) for part in (WHOLE, REST, Position(True, False), INNER)}

    def _ends_of(self, part: Position) -> TextEnds:
        """Return what is done to whole texts or to a part of one."""
        left, right = self._strips
        settings = np.array([left and part.begins, right and part.ends, not part.ends], np.int64)
        return TextEnds(whitespace(), settings, with_spare(self._prefix if part.begins else b""))

    def apply(self, text: Bytes, bounds: Offsets, *, tracked: bool, part: Position = WHOLE) -> Result | None:
        """Change the ends; an inserted text has the origin of the first character."""
        kernel, at_ends = trim_texts.by_size(len(text)), self._by_part[part]

        def run(out: Normalized, progress: Offsets) -> int:
            return kernel(text, bounds, at_ends, out, progress)

        spare = 2 * layout.BLOCK_GROWTH + len(bounds) * len(at_ends.prefix)
        found = run_growing(run, text, bounds, tracked=tracked, spare=spare)
        if found is not None and tracked and self._nameless and part.begins:
            for first in _first_characters(text, bounds):
                found[2][first.start - bounds[0] : first.stop - bounds[0]] = -1
        return found

    def fast_path(self, *, begins: bool = True) -> StageCall | None:
        """Return the kernel."""
        return StageCall(trim_texts, self._by_part[WHOLE if begins else REST])

    def cuts(self) -> CutNeeds:
        """Allow cuts beside characters that are not removed."""
        solid = (whitespace() == 0) | (not any(self._strips))
        return CutNeeds.of(solid, None if solid.all() else solid)

    def emptied(self) -> NDArray[np.integer]:
        """Return whitespace if it is removed."""
        return np.flatnonzero(whitespace() * any(self._strips))


def _first_characters(text: Bytes, bounds: Offsets) -> Iterator[slice]:
    """Yield the position of the first character of each text that is not empty."""
    for start, stop in pairwise(bounds.tolist()):
        head = text[start : min(start + 4, stop)].tobytes().decode("utf-8", "surrogateescape")[:1]
        if head:
            yield slice(start, start + len(head.encode("utf-8", "surrogateescape")))


# ---------------------------------------------------------------------------------------------------------------------
# Replaces runs of characters of one set, as CLIP's `\s+`: all at once, without the `regex` package.


def run_stage(step: Replace) -> RunStage | None:
    r"""Return the stage for a pattern that matches runs of characters of one set; None for other patterns.

    >>> from subwords.spec.normalizer import Replace
    >>> run_stage(Replace(r"\s+", " ", regex=True)) is None, run_stage(Replace(r"a+b", " ", regex=True)) is None
    (False, True)
    """
    try:
        tree = parse_pattern(step.pattern)
    except Outside:
        return None
    if not isinstance(tree, Repeat) or not isinstance(tree.item, Chars) or tree.high is not None:
        return None
    if tree.low < 1 or not tree.greedy:
        return None
    return RunStage(tree.item.members, tree.low, step.content.encode())


class RunStage(Stage):
    """Replaces runs of at least `low` characters of a set; the content has the origin of a run's last character."""

    def __init__(self, members: Members, low: int, content: bytes) -> None:
        self._members = members
        self._content = content.decode()
        self._runs = CharacterRuns(members.astype(np.uint8), np.array([low], np.int64), with_spare(content))
        self.growth = 1 + len(content)

    def apply(self, text: Bytes, bounds: Offsets, *, tracked: bool, part: Position = WHOLE) -> Result | None:
        """Replace the runs."""
        kernel, runs = run_texts.by_size(len(text)), self._runs
        spare = 2 * layout.BLOCK_GROWTH + len(runs.content)

        def run(out: Normalized, progress: Offsets) -> int:
            return kernel(text, bounds, runs, out, progress)

        return run_growing(run, text, bounds, tracked=tracked, spare=spare)

    def fast_path(self, *, begins: bool = True) -> StageCall | None:
        """Return the kernel."""
        return StageCall(run_texts, self._runs)

    def cuts(self) -> CutNeeds:
        """Allow cuts that are not inside a run."""
        return CutNeeds.of(~self._members, ~self._members)

    def before(self, after: CutNeeds) -> CutNeeds:
        """Return what the characters and the content need and give."""
        held = self._members
        return MatchPlaces(held, held, held, held, False).replaced(self._content, after)


# ---------------------------------------------------------------------------------------------------------------------
# Where in a match of a pattern characters may be.


class MatchPlaces(NamedTuple):
    """The characters that a match may begin and end with, those that may come after its first and before its last one.

    What a pattern looks at after a match counts as part of it. empty: a match may be empty.
    """

    first: Members
    last: Members
    later: Members
    earlier: Members
    empty: bool

    def then(self, other: MatchPlaces) -> MatchPlaces:
        """Return the places in a match after which one of `other` comes."""
        return MatchPlaces(
            self.first | other.first if self.empty else self.first,
            self.last | other.last if other.empty else other.last,
            self.later | other.later | other.first,
            self.earlier | other.earlier | self.last,
            self.empty and other.empty,
        )

    def cuts(self) -> CutNeeds:
        """Allow cuts between two characters that no match has side by side."""
        return CutNeeds.of(~self.later, ~self.earlier)

    def replaced(self, content: str, after: CutNeeds) -> CutNeeds:
        """Return what characters need and give if each match may become the content."""
        edges = []
        for members, char in ((self.first, content[:1]), (self.last, content[-1:])):
            codes = np.flatnonzero(members)
            edges.append((np.tile(codes, 2), np.append(codes, np.full(len(codes), ord(char) if char else -1))))
        return after.over(*edges)


def match_places(pattern: str) -> MatchPlaces | None:
    """Return it for a pattern; None if it looks at text before a match, or a match may be empty."""
    try:
        found = _match_places(parse_pattern(pattern))
    except Outside:
        return None
    return None if found is None or found.empty else found


def _match_places(node: Node) -> MatchPlaces | None:
    none, everything = np.zeros(layout.INVALID + 1, np.bool_), np.ones(layout.INVALID + 1, np.bool_)
    empty = MatchPlaces(none, none, none, none, True)
    match node:
        case Chars():
            return MatchPlaces(node.members, node.members, none, none, False)
        case Look() | End():
            return empty._replace(first=everything)
        case Then(items):
            found = [*map(_match_places, items)]
            return None if None in found else reduce(MatchPlaces.then, filter(None, found), empty)
        case Either(branches):
            found = [*map(_match_places, branches)]
            if None in found:
                return None
            parts = zip(*filter(None, found), strict=True)
            return MatchPlaces(*map(np.logical_or.reduce, parts))
        case Repeat(item, low, high):
            once = _match_places(item)
            if once is None:
                return None
            more = once if high == 1 else once.then(once)
            return more._replace(empty=once.empty or low == 0)
        case _:
            return None
