"""What the page shows besides tokens: findings, metrics, what happened before the model; each may be absent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from subwords.errors import InputError
from subwords.study.steps import Stretch
from subwords.study.trace import Trace
from subwords.tokenizer import Tokenizer

__all__ = ["NO_PANELS", "Finding", "Panels", "Table", "panels"]

MOST_SENTENCES = 8
MOST_FINDINGS = 500


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
Before: TypeAlias = Callable[[Trace, int, int], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Panels:
    """The functions behind the panels of the page; a panel whose function is None is not shown.

    before: sentences about what normalizer and splitter did with a word, characters `start` to `stop` of its text.
    """

    audit: Audit | None = None
    evaluate: Evaluate | None = None
    before: Before | None = None


NO_PANELS = Panels()


def panels() -> Panels:
    """Return the panels of this version."""
    return Panels(audit=_audited, evaluate=_evaluated, before=_before)


def _audited(tok: Tokenizer) -> list[Finding]:
    """Return the findings of `audit`, the worst first."""
    from subwords.study.audit import audit

    found = audit(tok, threads=1, progress=False).findings
    return [Finding(one.severity, one.rule, one.message, one.ids) for one in found[:MOST_FINDINGS]]


def _evaluated(toks: Sequence[Tokenizer], text: str) -> Table:
    """Return the metrics of `evaluate`; the text is one document, so that its figures are those of the page."""
    from subwords.study.evaluate import evaluate

    if not text.strip():
        raise InputError("expected a text with at least one word to evaluate")
    columns = [dict(_values(evaluate(tok, [text], progress=False).tables()[0].rows)) for tok in toks]
    names = list(dict.fromkeys(name for column in columns for name in column))
    return Table(tuple((name, tuple(column.get(name) for column in columns)) for name in names))


def _values(rows: Sequence[Sequence[object]]) -> Iterator[tuple[str, float | str | None]]:
    for name, value, _ in rows:
        if name != "documents":
            yield str(name), value if isinstance(value, float | int) else None


def _before(trace: Trace, start: int, stop: int) -> list[str]:
    """Return what a trace says of a word before the model: what the normalizer changed, what cut it out."""
    changes = [change for part in trace.parts if isinstance(part, Stretch) for change in part.changes]
    found = [
        f"The normalizer makes {change.after!r} of {change.before!r}."
        for change in changes
        if change.span[0] < stop and start < change.span[1]
    ]
    for word in trace.words:
        if word.alternative is not None and trace.alternatives:
            alternative = trace.alternatives[word.alternative]
            found.append(f'Alternative {word.alternative} of the split pattern matches: "{alternative}"')
        elif word.step is not None:
            found.append(f'Cut by step {word.step} of the splitter: "{trace.steps[word.step]}"')
    return found[:MOST_SENTENCES]
