"""SentencePiece's normalization as a stage: strings and character classes in the form of the kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.kernels.layout import Children, Rules
from subwords.kernels.named import char_spans, rule_texts
from subwords.normalize.characters import grapheme_classes
from subwords.normalize.stages import (
    INNER,
    REST,
    WHOLE,
    Bytes,
    CutNeeds,
    Edges,
    Offsets,
    Origin,
    Position,
    Result,
    Stage,
    run_growing,
)
from subwords.spec.normalizer import NAMED, Charsmap, Precompiled, SentencePiece, read_charsmap
from subwords.spec.unicode import WHITE_SPACE
from subwords.split.routes import StageCall
from subwords.support.checks import encode_text
from subwords.support.errors import FormatError

SPACE = "▁".encode()
LONGEST_REPLACEMENT = (1 << 16) - 1  # bytes
MOST_RANGES = 4
_WHITESPACE = "".join(map(chr, sorted(WHITE_SPACE)))


class RulesStage(Stage):
    """Normalizes text as SentencePiece does."""

    _kinds = np.empty(0, np.uint8)  # classes of characters by which HF applies the map to graphemes

    def __init__(self, step: SentencePiece) -> None:
        self._step = step
        self.sees_ends = self.sees_empty = step.add_dummy_prefix or step.remove_extra_whitespaces
        self._space = SPACE if step.escape_whitespaces else b" "
        self._map = read_charsmap(step.charsmap) if step.charsmap or len(self._kinds) else None
        self._users = [encode_text(symbol) for symbol in sorted({*step.user_symbols})]
        self._classes = self._classified()
        values, pieces, arena = charsmap_rows(self._map, self._users, self._space)
        units = np.zeros(256, np.uint32) if self._map is None else self._map.units
        self._longest = max(
            int(table[layout.VALUE.size :: layout.VALUE.width].max(initial=4)) for table in (values, pieces)
        )
        self.growth = self._grown()
        looked, joins = self._ascii()
        self._rules = Rules(
            classes=self._classes,
            units=units,
            values=values,
            arena=arena,
            users=_units(self._users),
            pieces=pieces,
            settings=np.zeros(layout.RULE.width, np.int64),
            ranges=byte_ranges(looked),
            kinds=self._kinds,
        )
        high = np.isin(
            self._classes[:128],
            [layout.CHARACTER.first, layout.CHARACTER.both, layout.CHARACTER.mapped, layout.CHARACTER.mapped_second],
        )
        settings = self._rules.settings
        settings[layout.RULE.removes], settings[layout.RULE.wide] = (
            step.remove_extra_whitespaces,
            step.escape_whitespaces,
        )
        settings[layout.RULE.prefix] = step.add_dummy_prefix and not step.whitespace_suffix
        settings[layout.RULE.suffix] = step.add_dummy_prefix and step.whitespace_suffix
        settings[layout.RULE.joins_high], settings[layout.RULE.joins_ascii] = high.any(), joins
        settings[layout.RULE.ranges], settings[layout.RULE.longest] = len(self._rules.ranges) // 2, self._longest
        settings[layout.RULE.graphemes] = len(self._kinds) > 0
        parts = (Position(begins, ends) for begins in (False, True) for ends in (False, True))
        self._by_part = {part: self._rules_of(part) for part in parts}

    def _rules_of(self, part: Position) -> Rules:
        """Return the rules for whole texts or for a part of one."""
        settings = self._rules.settings.copy()
        settings[layout.RULE.begins], settings[layout.RULE.ends] = INNER if len(self._kinds) else part
        return self._rules._replace(settings=settings)

    def apply(self, text: Bytes, bounds: Offsets, *, tracked: bool, part: Position = WHOLE) -> Result | None:
        """Normalize; the source is where each byte's string or character begins, and one entry for the text's end."""
        rules, stream, closes = self._by_part[part], np.empty(3 * layout.LANES, np.uint8), not len(self._kinds)
        spare = 8 * layout.LANES + 2 * self._longest + len(bounds) * len(self._space)
        result = run_growing(
            lambda out, progress: rule_texts.by_size(len(text))(text, bounds, rules, stream, out, progress),
            text,
            bounds,
            tracked=tracked,
            spare=spare + (len(text) // 4 if self._step.escape_whitespaces else 0),
            closes=closes,
        )
        if result is not None and tracked and closes and not part.ends and len(result[0]):
            result[2][1, -1] = bounds[-1]
        return result

    def fast_path(self, *, begins: bool = True) -> StageCall | None:
        """Return the kernel."""
        return StageCall(rule_texts, self._by_part[WHOLE if begins else REST], np.empty(3 * layout.LANES, np.uint8))

    def origin(self, result: Result, before: Origin, bounds: Offsets, starts: Offsets) -> Origin:
        """Return origins in which every byte's range ends where the next byte's begins, as in SentencePiece."""
        _, ends, (source, after) = result
        if before.whole:  # the sources are where characters begin, or the end of a text
            return Origin(source, after)
        begins = np.append(before.begins, 0)
        found = Origin(begins[source], begins[after])
        stops = np.repeat(bounds[1:], np.diff(ends))  # the end of a text is not where the next one begins
        for places, sources in ((found.begins, source), (found.ends, after)):
            at = np.flatnonzero(sources == stops)
            places[at] = np.append(before.ends, 0)[stops[at] - 1]
        return found

    # ------------------------------------------------------------------ characters

    def _longer(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the characters that are first, second, and anywhere after the first in longer strings."""
        found = np.zeros((3, layout.INVALID + 1), np.bool_)
        if self._map is not None:
            found[:, : layout.INVALID] = self._map.firsts, self._map.seconds, self._map.later
        for symbol in self._step.user_symbols:
            if len(symbol) > 1:
                found[0, ord(symbol[0])] = found[1, ord(symbol[1])] = True
                found[2, [*map(ord, symbol[1:])]] = True
        return found[0], found[1], found[2]

    def _single(self) -> dict[int, bytes]:
        """Return the replacements of single characters; user-defined pieces of one character stay."""
        found = {} if len(self._kinds) else {ord(" "): b" ", layout.INVALID: "\ufffd".encode()}
        if self._map is not None:
            codes, values = self._map.single
            text = self._map.text
            found |= {code: replacement(text, at) for code, at in zip(codes.tolist(), values.tolist(), strict=True)}
        return found | {ord(symbol): symbol.encode() for symbol in self._step.user_symbols if len(symbol) == 1}

    def _classified(self) -> Bytes:
        firsts, seconds, self._later = self._longer()
        classes = np.select(
            [firsts & seconds, firsts, seconds],
            [layout.CHARACTER.both, layout.CHARACTER.first, layout.CHARACTER.second],
            0,
        )
        self._becomes = self._single()
        # A user-defined character with which no longer string begins needs no entry; in HF marks may follow any.
        changed = (
            code for code, text in self._becomes.items() if code != layout.INVALID and text != chr(code).encode()
        )
        looked = (*changed, ord(" "), layout.INVALID, *(code for code in self._becomes if firsts[code]))
        codes = np.array([*self._becomes] if len(self._kinds) else looked, np.int64)
        classes[codes] = np.where(seconds[codes], layout.CHARACTER.mapped_second, layout.CHARACTER.mapped)
        spaces = [code for code, text in self._becomes.items() if text == b" "]
        if len(self._kinds):  # after CR, LF is of its grapheme; no mark joins other control characters
            alone = layout.GRAPHEME.lf, layout.GRAPHEME.control
            spaces = [code for code in spaces if self._kinds[code] in alone]
        classes[[code for code in spaces if not firsts[code] and not seconds[code]]] = layout.CHARACTER.mapped_space
        found: NDArray[np.uint8] = classes.astype(np.uint8)
        return found

    def _ascii(self) -> tuple[list[int], bool]:
        """Return the ASCII bytes that the kernel must examine, and whether ASCII is second in any longer string."""
        pairs = set() if self._map is None else {*self._map.pairs}
        pairs |= {(ord(symbol[0]), ord(symbol[1])) for symbol in self._step.user_symbols if len(symbol) > 1}
        firsts = {first for first, second in pairs if second < 0x80}
        looked = [
            code for code in range(128) if code in firsts or self._classes[code] >= layout.CHARACTER.mapped_second
        ]
        return looked, bool(firsts)

    def _grown(self) -> int:
        """Return the maximum output length as a multiple of the input length."""
        sizes = [
            (
                len(text.replace(b" ", self._space)),
                len(chr(code).encode("utf-8", "replace")) if code < layout.INVALID else 1,
            )
            for code, text in self._becomes.items()
        ]
        # A longer string has at least two bytes, and a text at least one.
        return 3 + max([(self._longest + 1) // 2, *(-(-size // before) for size, before in sizes)])

    # ------------------------------------------------------------------ cuts

    def cuts(self) -> CutNeeds:
        """Allow cuts between characters that no string has after its first, unless spaces at the cut can interact."""
        needs, gives = np.where(self._later, np.uint8(layout.UNCUT), np.uint8(0)), (~self._later).astype(np.uint8)
        spaces = (b" ", SPACE)
        spaced = [code for code, text in self._becomes.items() if not text or text.startswith(spaces)]
        needs[[*spaced, ord("▁")]] |= 1
        hollow = [code for code, text in self._becomes.items() if not text or text.endswith(spaces)]
        gives[[*hollow, ord("▁"), layout.INVALID]] = 0
        if self._map is not None:
            text = self._map.text
            wrong = [at for at in self._map.values.tolist() if not text[at] or text[at:].startswith(spaces)]
            needs[: layout.INVALID][self._map.begins(np.array(wrong, np.int64))] |= 1
        return CutNeeds(needs, gives)

    def before(self, after: CutNeeds) -> CutNeeds:
        """Return what the characters and the strings that begin with them need, and what characters alone give."""
        found = after.over(*_edges(self._becomes, self._space))
        if self._map is not None:
            found.needs[: layout.INVALID] |= _needs_of_strings(self._map, self._space, after)
        found.gives[self._later] = 0
        return found

    def emptied(self) -> NDArray[np.integer]:
        """Return the characters that become spaces, if these may be removed."""
        spaced = [code for code, text in self._becomes.items() if not text.strip(b" ")]
        return np.array([*spaced, ord("▁")] if self._step.remove_extra_whitespaces else [], np.int64)


class SpacedStage(RulesStage):
    """The normalizer "sentencepiece" as a fast replacement for the equivalent HF steps.

    `apply` returns None for tracked whole texts, because HF's origins differ; with `keeps_end` also for texts that end
    with U+2581 and spaces, where HF's `Strip` keeps the U+2581.
    """

    def __init__(self, *, keeps_end: bool) -> None:
        (step,) = NAMED["sentencepiece"]
        assert isinstance(step, SentencePiece)
        super().__init__(step)
        self._keeps_end = keeps_end

    def apply(self, text: Bytes, bounds: Offsets, *, tracked: bool, part: Position = WHOLE) -> Result | None:
        """Normalize, or return None if HF's result differs."""
        if (tracked and part == WHOLE) or (self._keeps_end and _ends_with_space(text, bounds, part)):
            return None
        return super().apply(text, bounds, tracked=tracked, part=part)

    def fast_path(self, *, begins: bool = True) -> StageCall | None:
        """Return the kernel; texts with U+2581 may need `apply`."""
        found = super().fast_path(begins=begins)
        return found and found._replace(marked=self._keeps_end)


def _ends_with_space(text: Bytes, bounds: Offsets, part: Position) -> bool:
    """Whether any of the texts ends with U+2581 and optional whitespace."""
    data = text.tobytes()
    if SPACE not in data:
        return False
    texts = [data[begin:stop] for begin, stop in pairwise(bounds.tolist())]
    last = texts if part.ends else texts[:-1]
    return any(each.decode("utf-8", "replace").rstrip(_WHITESPACE).endswith("▁") for each in last)


def _edges(texts: Mapping[int, bytes], space: bytes) -> tuple[Edges, Edges]:
    """Return what characters begin and end with after their replacement."""
    codes = np.fromiter(texts, np.int64, len(texts))
    found = [text.replace(b" ", space).decode() for text in texts.values()]
    heads, tails = ([ord(text[at]) if text else -1 for text in found] for at in (0, -1))
    return (codes, np.array(heads, np.int64)), (codes, np.array(tails, np.int64))


def _needs_of_strings(charsmap: Charsmap, space: bytes, after: CutNeeds) -> Bytes:
    """Return what the replacements need of the strings that begin with each character."""
    values, needs = charsmap.values, np.zeros(layout.CODE_POINTS, np.uint8)
    texts = [replacement(charsmap.text, at).replace(b" ", space).decode()[:1] for at in values.tolist()]
    heads = np.array([after.needs[ord(text)] if text else layout.UNCUT for text in texts], np.uint8)
    for found in np.unique(heads[heads > 0]):
        needs[charsmap.begins(values[heads == found])] |= found
    return needs


def replacement(text: bytes, at: int) -> bytes:
    """Return the replacement that starts at an offset of a charsmap's text."""
    return text[at : text.index(0, at)]


def byte_ranges(looked: Sequence[int]) -> Bytes:
    """Return at most 4 ranges (first and last byte) that cover some ASCII bytes, and others if necessary."""
    ranges = [(byte, byte) for byte in looked]
    while len(ranges) > 1:
        gap, k = min((ranges[k + 1][0] - ranges[k][1], k) for k in range(len(ranges) - 1))
        if gap > 1 and len(ranges) <= MOST_RANGES:
            break
        ranges[k : k + 2] = [(ranges[k][0], ranges[k + 1][1])]
    return np.array(ranges, np.uint8).ravel()


def charsmap_rows(
    charsmap: Charsmap | None, users: Sequence[bytes], space: bytes
) -> tuple[NDArray[np.int32], NDArray[np.int32], Bytes]:
    """Return the rows of a charsmap's values and of user-defined pieces, and the arena that they index."""
    text, places = (b"", np.zeros(0, np.int64)) if charsmap is None else (charsmap.text, charsmap.values)
    source = text + b"".join(users)
    chars = np.frombuffer(source, np.uint8)
    nuls = np.flatnonzero(chars[: len(text)] == 0)
    bounds = len(text) + np.cumsum([0, *map(len, users)])
    starts, ends = np.append(places, bounds[:-1]), np.append(nuls[np.searchsorted(nuls, places)], bounds[1:])
    spaces = chars == ord(" ")
    moved = np.arange(len(chars) + 1) + np.append(0, np.cumsum(spaces)) * (len(space) - 1)  # by longer spaces
    sizes = moved[ends] - moved[starts]
    if len(sizes) and sizes.max() > LONGEST_REPLACEMENT:
        raise FormatError(
            f"replacement too long in a precompiled charsmap: expected at most {LONGEST_REPLACEMENT} bytes, "
            f"not {sizes.max()}"
        )
    solid = np.append(np.flatnonzero(~spaces), len(chars))
    lead = np.minimum(solid[np.searchsorted(solid, starts)], ends) - starts
    spaced = (ends > starts) & np.append(spaces, False)[ends - 1]
    table = np.stack([moved[starts], sizes, lead * len(space), spaced], 1).astype(np.int32)
    values = np.zeros((max(1, len(text)), layout.VALUE.width), np.int32)
    values[places] = table[: len(places)]
    arena = np.frombuffer(source.replace(b" ", space) + bytes(layout.LANES), np.uint8)
    return values.ravel(), table[len(places) :].ravel(), arena


def _units(keys: Sequence[bytes]) -> NDArray[np.uint64]:
    """Return the double array of sorted strings, each with its index; see kernels/trie.py."""
    from subwords.kernels.named import fill_units

    nodes, labels, ids = [(0, len(keys), 0)], [0], [-1]  # per node: range of its strings, and its depth
    firsts: list[int] = []
    for node, (at, stop, depth) in enumerate(nodes):  # grows
        if at < stop and len(keys[at]) == depth:
            ids[node] = at
            at += 1
        firsts.append(len(nodes))
        while at < stop:
            first, label = at, keys[at][depth]
            while at < stop and keys[at][depth] == label:
                at += 1
            nodes.append((first, at, depth + 1))
            labels.append(label)
            ids.append(-1)
    children = Children(np.array(firsts, np.int64), np.array([*firsts[1:], len(nodes)], np.int64))
    room = (len(nodes) // 256 + 1) * 256  # for every byte at every base
    while True:
        room *= 2
        units, taken = np.zeros(room, np.uint64), np.zeros(room, np.uint8)
        tables = np.array(labels, np.int32), np.array(ids, np.int32)
        if fill_units(children, *tables, units, taken, np.empty(len(nodes), np.int64)) >= 0:
            return units


# ---------------------------------------------------------------------------------------------------------------------
# HF's Precompiled normalizer as a stage: SentencePiece's charsmap applied grapheme by grapheme.


class GraphemeStage(RulesStage):
    """Replaces graphemes and characters by a charsmap."""

    _map: Charsmap
    origin = Stage.origin

    def __init__(self, step: Precompiled) -> None:
        self._kinds = grapheme_classes()
        super().__init__(SentencePiece(step.charsmap, False, False, False))

    def apply(self, text: Bytes, bounds: Offsets, *, tracked: bool, part: Position = WHOLE) -> Result | None:
        """Replace graphemes and characters; the source is where a character begins."""
        result = super().apply(text, bounds, tracked=tracked, part=part)
        if result is not None and tracked and part.begins:
            self._miscount(text, bounds, *result[1:])
        return result

    def _miscount(self, text: Bytes, bounds: Offsets, ends: Offsets, source: Offsets) -> None:
        """Move the sources as HF does, which miscounts characters that become empty at the start of a text."""
        filled = np.flatnonzero(ends[1:] > ends[:-1])
        for k in filled[source[ends[filled]] > bounds[filled]].tolist():
            chars = np.empty(2 * (bounds[k + 1] - bounds[k]), np.int64)
            char_spans.by_size(len(chars))(text[bounds[k] : bounds[k + 1]], chars)
            begins, moved = bounds[k] + np.unique(chars[: len(chars) // 2]), source[ends[k] : ends[k + 1]]
            places = np.searchsorted(begins, moved)
            moved[:] = begins[places - places[0]]

    def cuts(self) -> CutNeeds:
        """Allow cuts where a grapheme begins whatever is before the last character: not after `prepend`.

        Consonants and pictographs may join what ends with a mark, Hangul joins Hangul, LF joins CR.
        """
        kinds, text, grapheme = self._kinds, self._map.text, layout.GRAPHEME
        marks = [grapheme.extend, grapheme.linker, grapheme.zwnj, grapheme.zwj, grapheme.spacing]
        hangul = [grapheme.hangul_l, grapheme.hangul_v, grapheme.hangul_t, grapheme.hangul_lv, grapheme.hangul_lvt]
        needs = np.full(len(kinds), layout.UNCUT, np.uint8)
        needs[np.isin(kinds, [grapheme.other, grapheme.cr, grapheme.control])] = 1
        needs[np.isin(kinds, [grapheme.consonant, grapheme.pictographic])] = 1 | 2
        needs[np.isin(kinds, [grapheme.hangul_l, grapheme.hangul_lv, grapheme.hangul_lvt])] = 1 | 4
        needs[kinds == grapheme.lf] = 1 | 8
        hollow = self._map.begins(np.array([at for at in self._map.values.tolist() if not replacement(text, at)]))
        needs[: layout.INVALID][hollow] = needs[layout.INVALID] = layout.UNCUT
        gives = (kinds != grapheme.prepend) | 2 * ~np.isin(kinds, marks) | 4 * ~np.isin(kinds, hangul)
        gives |= 8 * (kinds != grapheme.cr)
        return CutNeeds(needs, gives.astype(np.uint8))

    def before(self, after: CutNeeds) -> CutNeeds:
        """Return what the characters need and give, and the strings that begin with them.

        Nothing is given by characters that join others, unless they have three bytes or more: then the grapheme has
        more than five if its first has as many, and is not replaced as a whole.
        """
        found, kinds = super().before(after), self._kinds
        prepended = np.flatnonzero(kinds == layout.GRAPHEME.prepend)
        if self._map.firsts[prepended].any() or not self._becomes.keys().isdisjoint(prepended.tolist()):
            found.gives[:] = 0
        joins = [layout.GRAPHEME.extend, layout.GRAPHEME.zwj, layout.GRAPHEME.zwnj, layout.GRAPHEME.linker]
        joins += [layout.GRAPHEME.spacing, layout.GRAPHEME.lf]
        found.gives[np.isin(kinds, joins)] = 0
        return found
