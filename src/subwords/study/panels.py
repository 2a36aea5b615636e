"""What the page shows besides tokens: findings, metrics, what happened before the model; each may be absent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from subwords.tokenizer import Tokenizer

__all__ = ["NO_PANELS", "Finding", "Panels", "Table", "panels"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of an audit: how bad it is, its kind, one sentence, and the ids of the tokens it is about."""

    severity: str
    kind: str
    message: str
    ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """Metrics of the tokenizers on the text: one row for each metric, one value for each tokenizer; None is unknown."""

    rows: tuple[tuple[str, tuple[float | str | None, ...]], ...]


Audit: TypeAlias = Callable[[Tokenizer], Sequence[Finding]]
Evaluate: TypeAlias = Callable[[Sequence[Tokenizer], str], Table]
Before: TypeAlias = Callable[[Tokenizer, str, int, int], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Panels:
    """The functions behind the panels of the page; a panel whose function is None is not shown.

    before: sentences about what normalizer and splitter did with characters `start` to `stop` of a text.
    """

    audit: Audit | None = None
    evaluate: Evaluate | None = None
    before: Before | None = None


NO_PANELS = Panels()


def panels() -> Panels:
    """Return the panels of this version."""
    return NO_PANELS
