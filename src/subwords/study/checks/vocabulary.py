"""Checks of the vocabulary: characters, duplicates, holes, bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from subwords.normalize.normalizer import NormalizerEngine
from subwords.study.checks.subject import Subject
from subwords.study.finding import Finding
from subwords.unicode.tables import property_members

__all__ = ["check_vocabulary"]

REPEATS = 8
NOT_UTF8 = (0xC0, 0xC1, *range(0xF5, 0x100))  # bytes that UTF-8 never has
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_CONTROL = re.compile(f"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f{_BIDI}]")
_REPEAT = re.compile(rf"(\S)\1{{{REPEATS - 1},}}")


def check_vocabulary(subject: Subject) -> Iterator[Finding]:
    """Yield what is odd about single tokens and about the vocabulary as a whole."""
    yield from _bytes(subject)
    yield from _duplicates(subject)
    yield from _normalized(subject)
    holes = [index for index, token in enumerate(subject.tokens) if not token]
    for index in holes:
        yield Finding("hole", f"id {index} has no token", (index,), (f"<{index}>",))
    unassigned = property_members("Cn")
    for index in subject.ordinary.tolist():
        yield from _token(subject, index, unassigned)


def _token(subject: Subject, index: int, unassigned: NDArray[np.bool_]) -> Iterator[Finding]:
    token, shown = subject.tokens[index], subject.shown(index)
    named = (index,), (shown,)
    try:
        text = token.decode()
    except UnicodeDecodeError:
        kind = "partial-character" if _is_part(token) else "crossed-characters"
        what = "is a part of a character" if kind == "partial-character" else "cuts characters in two"
        if len(token) > 1:
            yield Finding(kind, f"{subject.quoted(index)} {what}", *named)
        return
    if not text.isascii() and (newer := [char for char in text if unassigned[ord(char)]]):
        yield Finding("newer-character", f"{shown!r} has U+{ord(newer[0]):04X}, unassigned in Unicode 16.0", *named)
    if len(token) > 1 and (found := _CONTROL.search(text)):
        yield Finding("control-character", f"{shown!r} has U+{ord(found[0]):04X}", *named)
    if found := _REPEAT.search(text):
        yield Finding("long-repeat", f"{shown!r:.60} repeats {found[1]!r} {len(found[0])} times", *named)


def _is_part(token: bytes) -> bool:
    """Whether bytes are a part of a single character."""
    leads = [place for place, byte in enumerate(token) if byte & 0xC0 != 0x80]
    return len(token) < 4 and (leads in ([0], []))


def _bytes(subject: Subject) -> Iterator[Finding]:
    model = subject.model
    missing = [byte for byte in model.missing_bytes if not (model.byte_level and byte in NOT_UTF8)]
    shown = " ".join(f"0x{byte:02X}" for byte in missing[:8])
    if model.byte_level and not model.words_only:
        if missing and model.unk_id is None:
            yield Finding("missing-bytes", f"{len(missing)} bytes have no token: {shown}", (), ("bytes",))
        return
    known = bool((model.byte_ids >= 0).all())
    if model.byte_fallback and not known:
        yield Finding("missing-bytes", f"{len(missing)} bytes have no token <0xNN>: {shown}", (), ("bytes",))
    if model.unk_id is None and not known:
        yield Finding("no-unknown", "no unknown token, and no tokens for bytes", (), ("unknown",))


def _duplicates(subject: Subject) -> Iterator[Finding]:
    seen: dict[bytes, list[int]] = {}
    for index, token in enumerate(subject.tokens):
        if token:
            seen.setdefault(token, []).append(index)
    for ids in seen.values():
        if len(ids) > 1:
            shown = subject.shown(ids[0])
            listed = ", ".join(map(str, ids))
            yield Finding(
                "duplicate-token",
                f"{subject.quoted(ids[0])} has the ids {listed}; text yields one",
                tuple(ids),
                (shown,),
            )


def _normalized(subject: Subject) -> Iterator[Finding]:
    if subject.tokenizer.normalizer is None:
        return
    normalizer = NormalizerEngine.of(subject.tokenizer.normalizer)
    groups: dict[str, list[int]] = {}
    for index in subject.ordinary.tolist():
        try:
            text = subject.tokens[index].decode()
        except UnicodeDecodeError:
            continue
        groups.setdefault(normalizer.escaped(f"x{text}x"), []).append(index)
    for ids in groups.values():
        if len(ids) > 1:
            shown = tuple(map(subject.shown, ids))
            alike = ", ".join(map(repr, shown[:5]))
            yield Finding("same-when-normalized", f"the normalizer makes one text of {alike}", tuple(ids), shown)
