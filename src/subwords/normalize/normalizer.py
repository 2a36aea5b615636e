"""Normalizers: steps and their exact tables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Any
from unicodedata import is_normalized

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.kernels.named import char_spans, last_safe
from subwords.kernels.stored import stored
from subwords.normalize.characters import (
    UNICODE_VERSION,
    CharMap,
    PackedMap,
    chinese,
    clean,
    combining_classes,
    decompositions,
    lowercase,
    marks,
    nmt,
    nonspacing_marks,
    packed_map,
    unpacked_map,
)
from subwords.normalize.stages import (
    WHOLE,
    ByteStage,
    CharStage,
    CutNeeds,
    EndStage,
    FormStage,
    LiteralStage,
    Origin,
    PatternStage,
    Position,
    Stage,
    fits_table,
)
from subwords.spec.normalizer import (
    NAMED,
    SPACED,
    STRIPPED,
    Bert,
    ByteLevel,
    Form,
    Lowercase,
    Nmt,
    Precompiled,
    Prepend,
    Replace,
    SentencePiece,
    Step,
    Steps,
    Strip,
    StripAccents,
)
from subwords.spec.splitter import to_text
from subwords.split.routes import SplitBuffers, SplitCall, SplitRoute, StageCall, WordChunk
from subwords.split.splitter import Splitter, SplitterEngine
from subwords.split.word_spans import WordSpans
from subwords.support.checks import check_growth, encode_text, exact
from subwords.support.errors import InputError
from subwords.support.value import digest_of

# ---------------------------------------------------------------------------------------------------------------------
# Compiles steps to stages; consecutive tables are merged into one.

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]

MOST_UNKNOWN = 4096  # characters whose marks remain: with more of them, a fused table would often be useless


def applied(
    stages: tuple[Stage, ...], text: Bytes, bounds: Offsets, part: Position = WHOLE
) -> tuple[Bytes, Offsets] | None:
    """Return the normalized texts text[bounds[i]:bounds[i + 1]] and their bounds; None if a fused stage fails."""
    text, bounds = text[bounds[0] : bounds[-1]], bounds - bounds[0]
    size = len(text)
    for stage in stages:
        result = stage.apply(text, bounds, tracked=False, part=part)
        if result is None:
            return None
        text, bounds, _ = result
        check_growth("normalizer", size, len(text))
    return text, bounds


def aligned(
    stages: tuple[Stage, ...], text: Bytes, bounds: Offsets, part: Position = WHOLE
) -> tuple[Bytes, Offsets, Origin] | None:
    """Return the normalized texts, their bounds and their origin, see `Normalizer.traced`; None if a stage fails."""
    origin, starts, size = _character_ranges(text), bounds, len(text)
    for stage in stages:
        result = stage.apply(text, bounds, tracked=True, part=part)
        if result is None:
            return None
        check_growth("normalizer", size, len(result[0]))
        origin = stage.origin(result, origin, bounds, starts)
        text, bounds, _ = result
    return text, bounds, origin


def _character_ranges(text: Bytes) -> Origin:
    """Return for every byte the range of its character."""
    if text.tobytes().isascii():
        places = np.arange(len(text) + 1)
        return Origin(places[:-1], places[1:], whole=True, single=True)
    spans = np.empty(2 * len(text), np.int64)
    char_spans.by_size(len(text))(text, spans)
    return Origin(spans[: len(text)], spans[len(text) :], whole=True)


def cuts_of(stages: tuple[Stage, ...]) -> CutNeeds:
    """Return where a text may be cut: where no stage sees the difference, of what those before it make of the text."""
    needs, gives = np.zeros((2, layout.INVALID + 1), np.uint8)
    shift, sees_empty = 0, False
    for stage in reversed(stages):
        if stage is not stages[-1]:
            needs, gives = stage.before(CutNeeds(needs, gives))
        if sees_empty:
            needs[stage.emptied()], gives[stage.emptied()] = layout.UNCUT, 0
        own = stage.cuts()
        asked = own.needs.astype(np.int64) << shift
        needs = needs | np.where(asked < layout.UNCUT, asked, layout.UNCUT).astype(np.uint8)
        bits = int(own.needs[own.needs < layout.UNCUT].max(initial=0)).bit_length()
        given = (own.gives.astype(np.int64) & (1 << bits) - 1) << shift
        gives = gives | (given & layout.UNCUT - 1).astype(np.uint8)
        shift += bits
        sees_empty |= stage.sees_empty
    return CutNeeds(needs, gives)


@lru_cache(maxsize=16)
def stages_of(steps: Steps, *, fused: bool) -> tuple[Stage, ...]:
    """Return the stages of a normalizer.

    fused: a decomposing form between replacements, as in BERT, is merged with them into one table, which does not sort
    marks by combining class. This is exact for texts where all marks are dropped; for other texts `apply` returns None.
    """
    if fused and (steps == STRIPPED or steps[-len(SPACED) :] == SPACED):
        from subwords.normalize.sentencepiece import SpacedStage

        # Not after other steps for STRIPPED: their U+2581 would not be seen in the text.
        before = steps[: -len(SPACED)] if steps != STRIPPED else ()
        return (*(stages_of(before, fused=True) if before else ()), SpacedStage(keeps_end=steps == STRIPPED))
    return stored("stages", digest_of((steps, fused)).encode(), lambda: _stages_of(steps, fused))


def _stages_of(steps: Steps, fused: bool) -> tuple[Stage, ...]:
    if fused and steps in (NAMED["bert-uncased"], NAMED["bert-cased"]):  # a wheel has the maps of these
        found = stored("characters", digest_of(steps).encode(), lambda: _bert_map(steps))
        return (CharStage(*unpacked_map(found)),)
    parts = _plan_parts(steps)
    stages: list[Stage] = []
    while parts:
        if fused and (merged := _fused(parts[:3])):
            replaced, unknown, taken = merged
            stages.append(CharStage(replaced, unknown))
        else:
            stages.append(_ready(parts[0]))
            taken = 1
        parts = parts[taken:]
    return tuple(stages)


@lru_cache(maxsize=16)
def _plan_parts(steps: Steps) -> tuple[CharMap | Stage | Form, ...]:
    parts: list[CharMap | Stage | Form] = []
    for step in steps:
        for part in _step_stages(step):
            last = parts[-1] if parts else None
            if isinstance(last, CharMap) and isinstance(part, CharMap) and fits_table(both := last.then(part)):
                parts[-1] = both
            else:
                parts.append(part)
    return tuple(parts)


def _ready(part: CharMap | Stage | Form) -> Stage:
    if isinstance(part, Stage):
        return part
    return FormStage(part) if isinstance(part, Form) else CharStage(part)


def _step_stages(step: Step) -> list[CharMap | Stage | Form]:
    match step:
        case Bert():
            return _bert_parts(step)
        case ByteLevel():
            return [ByteStage()]
        case Form():
            return [step]
        case Lowercase():
            return [lowercase()]
        case Nmt():
            return [nmt()]
        case StripAccents():
            return [marks()]
        case Replace(pattern, content, False) if len(pattern) == 1 and fits_table(
            one := CharMap.of({ord(pattern): content})
        ):
            return [one]
        case Replace():
            return [_pattern_stage(step)]
        case Strip(left, right):
            return [EndStage(step)] if left or right else []
        case Prepend():
            return [EndStage(step)]
        case SentencePiece():
            from subwords.normalize.sentencepiece import RulesStage

            return [RulesStage(step)]
        case Precompiled():
            from subwords.normalize.sentencepiece import GraphemeStage

            return [GraphemeStage(step)]
    raise InputError(f"expected a step of subwords.spec.normalizer, not {type(step).__name__}")


def _pattern_stage(step: Replace) -> Stage:
    if step.regex:
        from subwords.normalize.stages import run_stage

        return run_stage(step) or PatternStage(step)
    return LiteralStage(step.pattern, step.content) if step.pattern else PatternStage(step)


def _bert_parts(step: Bert) -> list[CharMap | Stage | Form]:
    first = clean() if step.clean_text else CharMap.of({})
    if step.handle_chinese_chars:
        first |= chinese()  # clean() removes no Chinese characters
    lower = lowercase() if step.lowercase else CharMap.of({})
    if step.lowercase if step.strip_accents is None else step.strip_accents:
        return [first, Form("NFD"), nonspacing_marks().then(lower)]
    return [first.then(lower)]


def _bert_map(steps: Steps) -> PackedMap:
    """Return what a Bert with a name does, all at once, and the characters that need more."""
    parts = _plan_parts(steps)
    replaced, unknown, taken = _fused(parts) or (parts[0], np.zeros(layout.CODE_POINTS, np.bool_), 1)
    assert isinstance(replaced, CharMap) and taken == len(parts), "it is one map, or two around a form"
    return packed_map(replaced, unknown)


def _fused(parts: tuple[CharMap | Stage | Form, ...]) -> tuple[CharMap, NDArray[np.bool_], int] | None:
    """Return one map for the first two or three parts, what it does not know, and their number; None if none does it.

    Row: encode_bert, "ru, 4 MB": three stages take 6.1 ns a byte, this one 1.2.
    """
    before = parts[0] if isinstance(parts[0], CharMap) else CharMap.of({})
    form, after = (parts[1:] if before else parts)[:2] if len(parts) > 1 + bool(before) else (None, None)
    if not isinstance(form, Form) or "C" in form.form or not isinstance(after, CharMap):
        return None
    stays = combining_classes() != 0
    stays[after.codes[after.sizes == 0]] = False
    decomposed = decompositions(form.form)
    for each in (decomposed, before):  # whether what a character becomes has one that stays
        stays[each.codes] = each.holding(stays)
    # In this order: `before` is the largest of the three.
    replaced, unknown = before.then(decomposed.then(after)), stays
    if np.count_nonzero(unknown) > MOST_UNKNOWN or not fits_table(replaced):
        return None
    return replaced, unknown, 3 if before else 2


LONGEST_SHOWN = 400  # characters
FORMS = ("NFC", "NFD", "NFKC", "NFKD")


class Normalizer:
    """The normalization of a text before it is split; immutable; made by `subwords.normalizer`.

    Attributes: `steps`, a tuple; `name`, the name of the normalizer or None.
    """

    steps: Steps
    name: str | None

    def __init__(self, steps: Steps) -> None:
        for step in steps:
            _check_normalizer_step(step)
        known = NAMED["sentencepiece"] if steps == SPACED else steps
        name = next((name for name, found in NAMED.items() if found == known), None)
        self.__dict__.update(steps=steps, name=name)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.steps,)

    def __eq__(self, other: object) -> bool:
        return self.steps == other.steps if isinstance(other, Normalizer) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.steps)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"Normalizer is immutable: {name!r} cannot be set; make another one with subwords.normalizer"
        )

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Normalizer is immutable: {name!r} cannot be deleted")

    @cached_property
    def identity(self) -> str:
        """The steps as text that `subwords.normalizer` accepts; identifies them in word counts."""
        return self.name or to_text(self.steps)

    @property
    def unicode_version(self) -> str:
        """The Unicode version of its normal forms."""
        return UNICODE_VERSION

    def normalize(self, text: str) -> str:
        """Return the normalized text.

        >>> import subwords
        >>> subwords.normalizer("bert-uncased").normalize("Ça va?")
        'ca va?'
        """
        data, text = np.frombuffer(encode_text(text), np.uint8), exact(text)
        return text if self._keeps(text) else self._applied(data, np.array([0, len(data)]))[0].tobytes().decode()

    def _keeps(self, text: str) -> bool:
        """Whether a quick check shows that a text stays as it is; only normal forms have one.

        Python's Unicode is newer than that of the forms, which may be all that differs: a text in the newer form is in
        the older one. No assigned character changes, and for the older form an unassigned mark blocks compositions.
        """
        return self._forms and (text.isascii() or all(is_normalized(step.form, text) for step in self.steps))  # type: ignore[union-attr]

    @cached_property
    def _forms(self) -> bool:
        return all(isinstance(step, Form) for step in self.steps)

    def _applied(self, text: Bytes, bounds: Offsets, part: Position = WHOLE) -> tuple[Bytes, Offsets]:
        """Return the normalized texts text[bounds[i]:bounds[i + 1]], concatenated, and their bounds, int64.

        A byte that is not UTF-8 is a character of no class and stays unchanged (ALGORITHMS.md, S2). `part`: for one
        stretch of a longer text, whether it begins and ends that text.
        """
        text = np.ascontiguousarray(text)
        found = applied(self._fused, text, bounds, part) or applied(self._stages, text, bounds, part)
        assert found is not None, "only fused stages return None"
        return found

    @cached_property
    def _fused(self) -> tuple[Stage, ...]:
        return stages_of(self.steps, fused=True)

    @cached_property
    def _stages(self) -> tuple[Stage, ...]:
        return stages_of(self.steps, fused=False)

    @property
    def shown(self) -> str:
        """The rule for messages: its name, else the names of its steps."""
        return repr(self.name) if self.name else ", ".join(type(step).__name__ for step in self.steps)

    def __repr__(self) -> str:
        if self.name:
            return f"Normalizer({self.name!r})"
        # A charsmap may be long.
        shown = self.identity if len(self.identity) <= LONGEST_SHOWN else repr(self.steps)
        return f"Normalizer({shown if len(shown) <= LONGEST_SHOWN else shown[:LONGEST_SHOWN] + '...'})"


class NormalizerEngine(Normalizer):
    """A normalizer with the methods that encoding and counting use."""

    @classmethod
    def of(cls, normalizer: Normalizer) -> NormalizerEngine:
        """Return the engine of a normalizer, which it may be already."""
        return normalizer if isinstance(normalizer, cls) else cls(normalizer.steps)

    apply = Normalizer._applied
    keeps = Normalizer._keeps

    @cached_property
    def growth(self) -> int:
        """The maximum output length as a multiple of the input length."""
        return math.prod(stage.growth for stage in self._stages)

    @cached_property
    def sees_ends(self) -> bool:
        """Whether a step depends on where a text begins or ends; `apply` then needs the right `part`."""
        return any(stage.sees_ends for stage in self._stages)

    def escaped(self, text: str) -> str:
        """Return the normalized text; both have surrogates for bytes that are not UTF-8, as of surrogateescape."""
        if self.keeps(text):
            return text
        data = np.frombuffer(text.encode("utf-8", "surrogateescape"), np.uint8)
        return self.apply(data, np.array([0, len(data)]))[0].tobytes().decode("utf-8", "surrogateescape")

    def aligned(self, text: Bytes, part: Position = WHOLE) -> tuple[Bytes, Offsets]:
        """Return the normalized text and its origin, int64 of shape (2, n).

        The origin of a byte is the byte range in `text` of the character that it comes from. Inserted bytes have the
        origin of a neighbor, or (0, 0) at the start if there is none.

        >>> import subwords
        >>> engine = NormalizerEngine.of(subwords.normalizer("bert-uncased"))
        >>> text, origin = engine.aligned(np.frombuffer("É!".encode(), np.uint8))
        >>> text.tobytes(), origin.tolist()
        (b'e!', [[0, 2], [2, 3]])
        """
        data, _, origin = self.traced(text, np.array([0, len(text)]), part)
        return data, np.stack([origin.begins, origin.ends])

    def traced(self, text: Bytes, bounds: Offsets, part: Position = WHOLE) -> tuple[Bytes, Offsets, Origin]:
        """Return the normalized texts text[bounds[i]:bounds[i + 1]], their bounds, and their origin in `text`.

        bounds: from 0 to len(text). The origin is where the range of each byte begins, and where it ends, both int64;
        see `aligned`. Bytes without an origin have the empty range where their text starts.
        """
        text = np.ascontiguousarray(text)
        found = aligned(self._fused, text, bounds, part) or aligned(self._stages, text, bounds, part)
        assert found is not None, "only fused stages return None"
        return found

    def cut(self, text: Bytes, at: int) -> int:
        """Return the last known position in text[:at] where a cut changes nothing, whatever follows, or 0.

        The text before and after the cut can then be normalized separately, as parts of a text. Always 0 if a step
        is a Replace with a regex that reads more than its matches, or may match nothing.
        """
        return last_safe(text, at, self.cut_flags)

    def fast_path(self, *, begins: bool = True, fused: bool = True) -> tuple[StageCall, ...] | None:
        """Return the stages as calls of kernels; None if one of them does more. begins: as in `Stage.fast_path`.

        fused: False for those that do all texts.
        """
        found = self._fused if fused else self._stages
        stages = tuple(filter(None, (stage.fast_path(begins=begins) for stage in found)))
        return stages if len(stages) == len(found) else None

    @cached_property
    def cut_flags(self) -> Bytes:
        """Where a text may be cut: what each code point needs of the one before it, then what each gives."""
        return _cuts_in(self.steps)


@lru_cache(maxsize=16)
def _cuts_in(steps: Steps) -> Bytes:
    # A mark that a fused table drops may first be sorted to either side of a cut: it is dropped in both cases.
    flags = np.stack(cuts_of(stages_of(steps, fused=True)))
    flags[:, 0xD800:0xE000] = flags[:, layout.INVALID, None]  # surrogates stand for invalid bytes
    return flags.ravel()


def _check_normalizer_step(step: Step) -> None:
    match step:
        case Form(form) if form not in FORMS:
            raise InputError(f"expected form to be one of {', '.join(FORMS)}, not {form!r:.80}")
        case Replace(pattern, content, regex):
            encode_text(content)
            encode_text(pattern)
            if regex:
                from subwords.split.fallback import compiled

                compiled(pattern)
        case Prepend(text):
            encode_text(text)


# ---------------------------------------------------------------------------------------------------------------------
# A normalizer followed by a splitter.

STRETCH = 1 << 18  # bytes of text normalized at once: the result stays in the L2 cache
NEAR_BYTES = 1 << 12  # bytes before a position in which `cut` searches
CONTEXT = 2 * NEAR_BYTES  # bytes before a cut that decide about it, at most


class Pipeline:
    """Normalizes and splits text; has the methods of a SplitterEngine that encoding and counting use."""

    def __init__(self, normalizer: Normalizer, splitter: Splitter) -> None:
        self.normalizer = NormalizerEngine.of(normalizer)
        self.splitter = SplitterEngine.of(splitter)

    context = CONTEXT

    @property
    def route(self) -> SplitRoute:
        """How the rule of the splitter runs."""
        return self.splitter.route

    @cached_property
    def growth(self) -> int:
        """The maximum output length as a multiple of the input length."""
        return self.normalizer.growth * self.splitter.growth

    def __reduce__(self) -> tuple[type[Pipeline], tuple[NormalizerEngine, SplitterEngine]]:
        return Pipeline, (self.normalizer, self.splitter)

    def texts(
        self, text: Bytes, bounds: Offsets, buffers: SplitBuffers, *, begins: bool = True, ends: bool = True
    ) -> Iterator[WordChunk]:
        """Normalize and split many texts, a stretch at a time.

        begins, ends: False if the first text is the continuation of another, or the last one continues.
        """
        first, every = 0, len(bounds) - 1
        count = every
        if not (begins and ends) and self.normalizer.sees_ends and every:
            first, count = int(not begins or every == 1), every - (not ends and every > 1)
            if first:
                yield from self._long_text(text[bounds[0] : bounds[1]], buffers, begins, ends or every > 1)
        while first < count:
            last = min(count, int(np.searchsorted(bounds, bounds[first] + STRETCH, side="right")) - 1)
            begin = int(bounds[first])
            if last > first:
                part, stops = self.normalizer.apply(text[begin : int(bounds[last])], bounds[first : last + 1] - begin)
                yield from self.splitter.texts(part, stops, buffers)
            else:
                last = first + 1
                yield from self._long_text(text[begin : int(bounds[last])], buffers)
            first = last
        if count < every:
            yield from self._long_text(text[bounds[-2] : bounds[-1]], buffers, True, False)

    def _long_text(
        self, text: Bytes, buffers: SplitBuffers, begins: bool = True, ends: bool = True
    ) -> Iterator[WordChunk]:
        at, rest = 0, np.empty(0, np.uint8)
        while at < len(text):
            stop = at + self._stretch(text[at:])
            bounds = np.array([0, stop - at], np.int64)
            of = Position(begins and at == 0, ends and stop == len(text))
            part, _ = self.normalizer.apply(text[at:stop], bounds, of)
            part = np.concatenate([rest, part]) if len(rest) else part
            cut = len(part) if stop == len(text) else self.splitter.cut(part, len(part))
            rest, at = part[cut:], stop
            if cut or stop == len(text):
                for chunk in self.splitter.texts(part[:cut], np.array([0, cut], np.int64), buffers):
                    last = stop == len(text)
                    yield chunk if last or not chunk.complete else chunk._replace(complete=False)

    def _stretch(self, text: Bytes) -> int:
        """Return how many bytes of a text to normalize next: up to a safe cut."""
        size = STRETCH
        while size < len(text):
            cut = self.normalizer.cut(text[:size], size)
            if cut:
                return cut
            size *= 4
        return len(text)

    def fast_path(self, buffers: SplitBuffers, *, cuts: bool = False, begins: bool = True) -> SplitCall | None:
        """Return the calls of the normalizer and the splitter, if each stage of them is one."""
        found, stages = self.splitter.fast_path(buffers, cuts=cuts), self.normalizer.fast_path(begins=begins)
        if found is None or stages is None:
            return None
        return found._replace(stages=stages, marked=any(stage.marked for stage in stages))

    def cut(self, text: Bytes, at: int, *, begins: bool = True) -> int:
        """Return a position in text[:at] where a cut changes no word, whatever follows, or 0 (S4).

        begins: False if the text continues another. At most CONTEXT bytes before the position decide about it.
        """
        stop = self.normalizer.cut(text[:at], at)
        begin = self.normalizer.cut(text[: max(0, stop - NEAR_BYTES)], max(0, stop - NEAR_BYTES))
        if begin == stop or stop - begin > CONTEXT or (begin == 0 and not begins):
            return 0
        of = Position(begin == 0 and begins, False)
        part, origin = self.normalizer.aligned(text[begin:stop], of)
        cut = self.splitter.cut(part, len(part))
        while cut > 0:
            place = begin + int(origin[0, cut]) if cut < len(part) else stop
            if (place == stop or self._safe(text, place)) and self._becomes(text[begin:place], cut, of):
                return place
            cut = self.splitter.cut(part, cut - 1)
        return 0

    def _becomes(self, text: Bytes, size: int, of: Position) -> bool:
        """Whether the normalized text has this length.

        It differs if the cut is inside the replacement of one character. Origins do not prove it: as in HF, they may
        belong to another character.
        """
        return len(self.normalizer.apply(text, np.array([0, len(text)], np.int64), of)[0]) == size

    def _safe(self, text: Bytes, place: int) -> bool:
        """Whether the normalizer allows a cut before the character at a position."""
        return any(self.normalizer.cut(text, upto) == place for upto in range(place + 1, min(place + 4, len(text)) + 1))

    def word_spans(self, text: Bytes) -> WordSpans:
        """Return the words of one text, with their origin in it."""
        part, origin = self.normalizer.aligned(text)
        return self.splitter.word_spans(part).within(origin)
