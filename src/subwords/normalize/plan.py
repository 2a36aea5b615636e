"""Compiles steps to stages; consecutive tables are merged into one."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from subwords.components.normalizer import (
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
from subwords.errors import InputError
from subwords.kernels import layout
from subwords.kernels.named import char_spans
from subwords.kernels.stored import stored
from subwords.normalize.char_table import CharMap
from subwords.normalize.characters import (
    chinese,
    clean,
    combining_classes,
    decompositions,
    lowercase,
    marks,
    nmt,
    nonspacing_marks,
)
from subwords.normalize.end_stages import PrependStage, StripStage
from subwords.normalize.stages import (
    WHOLE,
    ByteStage,
    CharStage,
    FormStage,
    Origin,
    PatternStage,
    Position,
    Stage,
    fits,
)
from subwords.support.value import digest_of

__all__ = ["aligned", "applied", "safe", "stages_of"]

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]

MOST_UNKNOWN = 4096  # characters whose marks remain: with more of them, a fused table would often be useless


def applied(
    stages: tuple[Stage, ...], text: Bytes, bounds: Offsets, part: Position = WHOLE
) -> tuple[Bytes, Offsets] | None:
    """Return the normalized texts text[bounds[i]:bounds[i + 1]] and their bounds; None if a fused stage fails."""
    text, bounds = text[bounds[0] : bounds[-1]], bounds - bounds[0]
    for stage in stages:
        result = stage.apply(text, bounds, tracked=False, part=part)
        if result is None:
            return None
        text, bounds, _ = result
    return text, bounds


def aligned(
    stages: tuple[Stage, ...], text: Bytes, bounds: Offsets, part: Position = WHOLE
) -> tuple[Bytes, Offsets, Origin] | None:
    """Return the normalized texts, their bounds and their origin, see `Normalizer.traced`; None if a stage fails."""
    origin, starts = _characters(text), bounds
    for stage in stages:
        result = stage.apply(text, bounds, tracked=True, part=part)
        if result is None:
            return None
        origin = stage.origin(result, origin, bounds, starts)
        text, bounds, _ = result
    return text, bounds, origin


def _characters(text: Bytes) -> Origin:
    """Return for every byte the range of its character."""
    if text.tobytes().isascii():
        places = np.arange(len(text) + 1)
        return Origin(places[:-1], places[1:], whole=True, single=True)
    spans = np.empty(2 * len(text), np.int64)
    char_spans.by_size(len(text))(text, spans)
    return Origin(spans[: len(text)], spans[len(text) :], whole=True)


def safe(stages: tuple[Stage, ...]) -> Bytes:
    """Return for every code point the flags that `last_safe` takes: where a text may be cut."""
    if len(stages) == 1:
        return stages[0].safe()
    heads = np.arange(layout.INVALID + 1)
    for stage in stages:
        known = heads >= 0
        heads[known] = stage.heads(heads[known])
    return (heads >= 0).astype(np.uint8)


@lru_cache(maxsize=16)
def stages_of(steps: Steps, *, fused: bool) -> tuple[Stage, ...]:
    """Return the stages of a normalizer.

    fused: a decomposing form between replacements, as in BERT, is merged with them into one table, which does not sort
    marks by combining class. This is exact for texts where all marks are dropped; for other texts `apply` returns None.
    """
    if fused and steps in (SPACED, STRIPPED):
        from subwords.normalize.sentencepiece import SpacedStage

        return (SpacedStage(keeps_end=steps == STRIPPED),)
    return stored("stages", digest_of((steps, fused)).encode(), lambda: _stages_of(steps, fused))


def _stages_of(steps: Steps, fused: bool) -> tuple[Stage, ...]:
    parts = _parts(steps)
    stages: list[Stage] = []
    while parts:
        if fused and (merged := _fused(parts[:3])):
            stage, taken = merged
            stages.append(stage)
        else:
            stages.append(_ready(parts[0]))
            taken = 1
        parts = parts[taken:]
    return tuple(stages)


@lru_cache(maxsize=16)
def _parts(steps: Steps) -> tuple[CharMap | Stage | Form, ...]:
    parts: list[CharMap | Stage | Form] = []
    for step in steps:
        for part in _step_stages(step):
            last = parts[-1] if parts else None
            if isinstance(last, CharMap) and isinstance(part, CharMap) and fits(both := last.then(part)):
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
        case Replace(pattern, content, False) if len(pattern) == 1 and fits(one := CharMap.of({ord(pattern): content})):
            return [one]
        case Replace():
            return [_pattern_stage(step)]
        case Strip(left, right):
            return [StripStage(step)] if left or right else []
        case Prepend():
            return [PrependStage(step)]
        case SentencePiece():
            from subwords.normalize.sentencepiece import RulesStage

            return [RulesStage(step)]
        case Precompiled():
            from subwords.normalize.precompiled import GraphemeStage

            return [GraphemeStage(step)]
    raise InputError(f"expected a step of subwords.components.normalizer, not {type(step).__name__}")


def _pattern_stage(step: Replace) -> Stage:
    if step.regex:
        from subwords.normalize.runs import run_stage

        return run_stage(step) or PatternStage(step)
    return PatternStage(step)


def _bert_parts(step: Bert) -> list[CharMap | Stage | Form]:
    first = clean() if step.clean_text else CharMap.of({})
    if step.handle_chinese_chars:
        first |= chinese()  # clean() removes no Chinese characters
    lower = lowercase() if step.lowercase else CharMap.of({})
    if step.lowercase if step.strip_accents is None else step.strip_accents:
        return [first, Form("NFD"), nonspacing_marks().then(lower)]
    return [first.then(lower)]


def _fused(parts: tuple[CharMap | Stage | Form, ...]) -> tuple[Stage, int] | None:
    """Return one stage for the first two or three parts, and their number; None if they cannot be merged."""
    before = parts[0] if isinstance(parts[0], CharMap) else CharMap.of({})
    form, after = (parts[1:] if before else parts)[:2] if len(parts) > 1 + bool(before) else (None, None)
    if not isinstance(form, Form) or "C" in form.form or not isinstance(after, CharMap):
        return None
    stays = combining_classes() != 0
    stays[after.codes[after.sizes == 0]] = False
    decomposed = before.then(CharMap.of(decompositions(form.form)))
    unknown = stays.copy()
    unknown[decomposed.codes] = decomposed.holding(stays)
    replaced = decomposed.then(after)
    if np.count_nonzero(unknown) > MOST_UNKNOWN or not fits(replaced):
        return None
    return CharStage(replaced, unknown), 3 if before else 2
