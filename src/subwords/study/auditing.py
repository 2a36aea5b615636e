"""audit: what is wrong with a tokenizer, as findings that a program can gate on."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.progress import progress as progress_line
from subwords.corpus.read import read_blocks
from subwords.corpus.reading import Reading, reading_of
from subwords.study.checks import (
    RULES,
    SEVERITIES,
    Finding,
    Severity,
    Subject,
    check_behavior,
    check_chat,
    check_merges,
    check_reach,
    check_vocabulary,
)
from subwords.study.evaluation import measured
from subwords.support.checks import check_strings
from subwords.support.errors import InputError, SubwordsWarning
from subwords.support.report import Report, Table
from subwords.tokenizer import tokenizer_of

if TYPE_CHECKING:
    from subwords.corpus.source import Source
    from subwords.tokenizer import TokenizerLike


SAMPLE = 1 << 22  # bytes of the corpus that are encoded and decoded
MOST_BACK = 20  # texts of the corpus that do not come back


@dataclass(frozen=True)
class Audit(Report):
    """What `audit` found. findings: the worst first. accepted: how many findings the baseline accepts."""

    findings: tuple[Finding, ...]
    accepted: int = 0

    def count(self, severity: Severity) -> int:
        """Return the number of findings of a severity."""
        return sum(one.severity == severity for one in self.findings)

    def fails(self, severity: Severity) -> bool:
        """Return whether there is a finding of this severity or a worse one."""
        worst = SEVERITIES.index(severity)
        return any(SEVERITIES.index(one.severity) <= worst for one in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return all findings as dicts, for JSON."""
        counts: dict[str, Any] = {severity: self.count(severity) for severity in SEVERITIES}
        return {**counts, "accepted": self.accepted, "findings": [one.to_dict() for one in self.findings]}

    def tables(self) -> list[Table]:
        """Return the findings."""
        rows = [(one.severity, one.rule, one.message, " ".join(map(str, one.ids))) for one in self.findings]
        return [Table(("severity", "rule", "message", "ids"), rows, "Findings", "tab:audit")]

    def to_sarif(self) -> dict[str, Any]:
        """Return the findings in the format SARIF 2.1.0, which code scanners read."""
        used = sorted({one.rule for one in self.findings})
        rules = [
            {
                "id": name,
                "shortDescription": {"text": RULES[name].summary},
                "defaultConfiguration": {"level": RULES[name].severity},
            }
            for name in used
        ]
        results = [
            {
                "ruleId": one.rule,
                "ruleIndex": used.index(one.rule),
                "level": one.severity,
                "message": {"text": one.message},
                "partialFingerprints": {"subwords/v1": one.fingerprint},
                "properties": {"ids": list(one.ids), "tokens": list(one.tokens)},
            }
            for one in self.findings
        ]
        from subwords import __version__

        driver = {"name": "subwords", "version": __version__, "rules": rules}
        schema = "https://json.schemastore.org/sarif-2.1.0.json"
        return {"$schema": schema, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}

    def lines(self, limit: int = 5) -> Iterator[str]:
        """Yield the findings by rule, at most `limit` of each."""
        counts = ", ".join(f"{self.count(severity)} {severity}s" for severity in SEVERITIES)
        yield counts + (f", {self.accepted} accepted" if self.accepted else "")
        for rule, number in Counter(one.rule for one in self.findings).items():
            yield f"{RULES[rule].severity}: {rule} ({number}): {RULES[rule].summary}"
            for one in islice((one for one in self.findings if one.rule == rule), limit):
                yield f"    {one.message}"
            if number > limit:
                yield f"    and {number - limit} more"


def audit(
    tokenizer: TokenizerLike,
    source: Source | None = None,
    *,
    rules: Iterable[str] | None = None,
    baseline: Iterable[str] = (),
    reading: Reading | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Audit:
    """Return what is wrong with a tokenizer: tokens that no text yields, broken merges, lost text, and more.

    Each finding has a rule (docs/auditing.md lists them), a severity, a message, and the tokens concerned. source: also
    finds unused tokens, and texts of it that do not come back. rules: look for these only. baseline: fingerprints of
    findings that are accepted. The others are as in `count`.

    Reach is exact for BPE and Unigram at the level of the model: the segmentation of a token does not depend on its
    neighbours. For the splitter and the normalizer, a token is reported if none of some 20 texts around it yields it.

    >>> import subwords
    >>> print(subwords.study.audit(subwords.train(["low lower"] * 9, vocab_size=259), rules=["unreachable-token"]))
    0 errors, 0 warnings, 0 notes
    """
    tokenizer = tokenizer_of(tokenizer)
    chosen = {*RULES} if rules is None else {*check_strings("rules", rules)}
    if unknown := chosen - {*RULES}:
        raise InputError(f"expected rules among {', '.join(RULES)}, not {min(unknown)!r}")
    accepted = {*check_strings("baseline", baseline)}
    subject, found = Subject(tokenizer, threads), list[Finding]()
    texts = list[str]()
    if source is not None:
        how = reading_of(reading)
        with progress_line(None, "encoding", enabled=progress) as bar:
            sums = measured([tokenizer], source, by=None, reading=how, threads=threads, on_bytes=bar.advance)
        found += _unused(subject, sums.counts[0])
        texts = _sample(source, how)
    for check in (check_vocabulary, check_merges, check_reach):
        found += check(subject)
    if rules is None or any(rule.startswith("chat-") for rule in chosen):
        found += _of_chat(subject, asked=rules is not None)
    back = [*check_behavior(subject, texts)]
    ours = [one for one in back if one.witness in {*texts}][:MOST_BACK]
    found += [one for one in back if one.witness not in {*texts}] + ours
    kept = [one for one in found if one.rule in chosen]
    left = [one for one in kept if one.fingerprint not in accepted]
    order = {rule: place for place, rule in enumerate(RULES)}
    left.sort(key=lambda one: (SEVERITIES.index(one.severity), order[one.rule]))
    return Audit(tuple(left), len(kept) - len(left))


def _of_chat(subject: Subject, *, asked: bool) -> Iterator[Finding]:
    """Yield what is wrong with chat templates. Without jinja2 it warns; asked: it raises InputError instead."""
    try:
        yield from check_chat(subject)
    except InputError as error:
        if asked:
            raise
        warnings.warn(f"the chat template is not checked: {error}", SubwordsWarning, stacklevel=3)


def _unused(subject: Subject, counts: NDArray[np.int64]) -> Iterator[Finding]:
    for index in subject.ordinary[counts[subject.ordinary] == 0].tolist():
        message = f"{subject.quoted(index)} does not occur in the corpus"
        yield Finding("unused-token", message, (index,), (subject.shown(index),))


def _sample(corpus: Source, reading: Reading) -> list[str]:
    """Return the first documents of a corpus, or their parts."""
    found, size = list[str](), 0
    for block in read_blocks(corpus, reading, block_size=SAMPLE):
        text = block.data.decode("utf-8", "replace")
        for line in text.splitlines(keepends=True):
            found.append(line)
            size += len(line)
            if size >= SAMPLE // 4:
                return list(dict.fromkeys(found))
    return list(dict.fromkeys(found))
