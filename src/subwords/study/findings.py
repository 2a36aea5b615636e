"""Findings: what `audit` and `diff` report, each with a rule and a severity, for people, programs and code scanners."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Literal

from subwords.support.checks import check_choice
from subwords.support.report import Report, Table

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True)
class Rule:
    """A rule: its name, how bad a finding is, and what it says in general."""

    name: str
    severity: Severity
    summary: str


# ---------------------------------------------------------------------------------------------------------------------
# The rules of `audit`, and those of `diff`: an error is a fact about ids; a warning may be one; a note is none.

_AUDIT: tuple[tuple[str, Severity, str], ...] = (
    ("unreachable-token", "error", "no text yields this token: the model never makes it"),
    (
        "split-token",
        "warning",
        "no text was found that yields this token: the splitter or an added token is in the way",
    ),
    ("normalized-token", "warning", "no text was found that yields this token: the normalizer changes it"),
    ("crossed-characters", "warning", "a token ends one character and begins the next"),
    ("partial-character", "note", "a token is a part of a character"),
    ("same-when-normalized", "warning", "several tokens have the same text after the normalizer"),
    ("duplicate-token", "error", "several ids have the same token"),
    ("hole", "note", "an id has no token"),
    ("merge-order", "warning", "a merge uses a token that only a later merge makes"),
    ("dead-merge", "warning", "a merge can never be used, because one of its tokens is unreachable"),
    ("merged-special", "error", "merges make the text of a special token from ordinary text"),
    ("plain-special", "warning", "a special token is an ordinary word: text may contain it"),
    ("added-overlap", "warning", "an added token is part of another one, or spelled like an ordinary token"),
    ("template-token", "error", "the template or the padding inserts an id that is not that of its token"),
    ("missing-bytes", "error", "some bytes have no token: text with them is lost or an error"),
    ("no-unknown", "warning", "unknown characters raise an error: there is neither an unknown token nor bytes"),
    ("round-trip", "error", "decoding does not give the text back, although the tokenizer is lossless"),
    ("lossy", "note", "decoding does not give the text back; the tokenizer is lossy by its parts"),
    ("cut-grapheme", "warning", "the splitter cuts between a letter and its mark"),
    ("cut-emoji", "note", "the splitter cuts within an emoji sequence"),
    ("newer-character", "note", "a token has a character that is newer than the pinned Unicode version"),
    ("control-character", "note", "a token has a control or bidirectional character"),
    ("long-repeat", "note", "a token repeats one character many times"),
    ("chat-literal", "error", "the chat template writes a control token that the vocabulary lacks: it becomes text"),
    ("chat-role", "warning", "the chat template refuses a role, or leaves out what it says"),
    ("chat-prompt", "warning", "the chat template ignores add_generation_prompt: a prompt is missing, or always there"),
    ("chat-end", "warning", "the chat template ends a reply with no control token: a model cannot learn where to stop"),
    (
        "chat-mask",
        "warning",
        "the replies cannot be found in what the chat template writes, or its marks are elsewhere",
    ),
    ("chat-replace", "warning", "the chat template makes a control token out of what a message says"),
    ("undertrained-token", "warning", "the row of a model for this token looks like those that were never trained"),
    ("trained-token", "warning", "no text yields this token, but its row of a model was trained: another tokenizer?"),
    ("unused-token", "note", "the corpus never uses this token"),
)
_DIFF: tuple[tuple[str, Severity, str], ...] = (
    ("other-ids", "error", "texts give other ids"),
    ("other-text", "error", "ids give another text"),
    ("changed-token", "error", "an id has another token"),
    ("swapped-tokens", "error", "two tokens have exchanged their ids"),
    ("moved-tokens", "error", "tokens have other ids"),
    ("gone-token", "error", "a token has no id any more"),
    ("changed-template", "error", "other special tokens are added to a text or a pair"),
    ("other-special-ids", "warning", "texts that spell an added token give other ids where special tokens are found"),
    ("new-token", "warning", "a new token: texts with it may give other ids"),
    ("changed-added-token", "warning", "an added token is new, is gone or has other flags: it may be found elsewhere"),
    ("moved-merge", "warning", "a merge has another rank among the others: texts may give other ids"),
    ("gone-merge", "warning", "a merge is gone: texts may give other ids"),
    ("new-merge", "warning", "a merge is new: texts may give other ids"),
    ("changed-score", "warning", "a piece has another score: texts may give other ids"),
    ("changed-model", "warning", "a setting of the model differs: texts may give other ids"),
    ("changed-normalizer", "warning", "the normalizer differs: texts may give other ids"),
    ("changed-splitter", "warning", "the splitter differs: texts may give other ids"),
    ("changed-roles", "warning", "another token begins, ends or fills a text"),
    ("changed-limits", "warning", "padding, truncation, or what the model takes differs"),
    ("changed-chat-template", "warning", "the chat template differs: conversations may give other ids"),
    ("changed-decoder", "note", "the decoder differs; no ids were found that give another text"),
    ("changed-spans", "note", "the template gives tokens other spans; ids are the same"),
    ("changed-dropout", "note", "the default of `sample` differs; `encode` does not use it"),
)
RULES, DIFF_RULES = ({row[0]: Rule(*row) for row in table} for table in (_AUDIT, _DIFF))
_EVERY_RULE = RULES | DIFF_RULES


@dataclass(frozen=True)
class Finding:
    """One finding: the rule, the ids and tokens that it is about, a text that shows it, and what explains it."""

    rule: str
    message: str
    ids: tuple[int, ...] = ()
    tokens: tuple[str, ...] = ()
    witness: str | None = None

    @property
    def severity(self) -> Severity:
        """The severity of its rule."""
        return _EVERY_RULE[self.rule].severity

    @property
    def fingerprint(self) -> str:
        """What names the finding in a baseline: the rule and the tokens, not the ids or the words of the message."""
        told = "\0".join((self.rule, *self.tokens, *(() if self.tokens else (self.witness or "",))))
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as a dict, for JSON."""
        return asdict(self) | {"severity": self.severity, "fingerprint": self.fingerprint}


def by_severity(findings: list[Finding]) -> tuple[Finding, ...]:
    """Return findings in the order of their rules, the worst first."""
    order = {rule: place for place, rule in enumerate(_EVERY_RULE)}
    return tuple(sorted(findings, key=lambda one: (SEVERITIES.index(one.severity), order[one.rule])))


def _few(ids: tuple[int, ...], most: int = 8) -> str:
    return " ".join(map(str, ids[:most])) + (f" and {len(ids) - most} more" if len(ids) > most else "")


@dataclass(frozen=True)
class Findings(Report):
    """A result that is a list of findings. findings: the worst first."""

    findings: tuple[Finding, ...]

    def count(self, severity: Severity) -> int:
        """Return the number of findings of a severity."""
        return sum(one.severity == severity for one in self.findings)

    def fails(self, severity: Severity) -> bool:
        """Return whether there is a finding of this severity or a worse one."""
        check_choice("severity", severity, SEVERITIES)
        worst = SEVERITIES.index(severity)
        return any(SEVERITIES.index(one.severity) <= worst for one in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return all findings as dicts, for JSON."""
        counts: dict[str, Any] = {severity: self.count(severity) for severity in SEVERITIES}
        return {**counts, **self._more(), "findings": [one.to_dict() for one in self.findings]}

    def _more(self) -> dict[str, Any]:
        """Return what a result has besides findings."""
        return {}

    def tables(self) -> list[Table]:
        """Return the findings."""
        rows = [(one.severity, one.rule, one.message, _few(one.ids)) for one in self.findings]
        return [Table(("severity", "rule", "message", "ids"), rows, "Findings", "tab:findings")]

    def to_sarif(self) -> dict[str, Any]:
        """Return the findings in the format SARIF 2.1.0, which code scanners read."""
        used = {name: place for place, name in enumerate(sorted({one.rule for one in self.findings}))}
        rules = [
            {
                "id": name,
                "shortDescription": {"text": _EVERY_RULE[name].summary},
                "defaultConfiguration": {"level": _EVERY_RULE[name].severity},
            }
            for name in used
        ]
        results = [
            {
                "ruleId": one.rule,
                "ruleIndex": used[one.rule],
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
        yield self._head()
        for rule, number in Counter(one.rule for one in self.findings).items():
            yield f"{_EVERY_RULE[rule].severity}: {rule} ({number}): {_EVERY_RULE[rule].summary}"
            for one in islice((one for one in self.findings if one.rule == rule), limit):
                yield f"    {one.message}"
            if number > limit:
                yield f"    and {number - limit} more"

    def _head(self) -> str:
        return ", ".join(f"{self.count(severity)} {severity}s" for severity in SEVERITIES)
