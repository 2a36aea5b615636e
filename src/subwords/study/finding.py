"""Findings of an audit, and the rules that they come from."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["RULES", "SEVERITIES", "Finding", "Rule", "Severity"]

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True)
class Rule:
    """A rule: its name, how bad a finding is, and what it says in general."""

    name: str
    severity: Severity
    summary: str


_TABLE: tuple[tuple[str, Severity, str], ...] = (
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
    ("unused-token", "note", "the corpus never uses this token"),
)
RULES = {name: Rule(name, severity, summary) for name, severity, summary in _TABLE}


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
        return RULES[self.rule].severity

    @property
    def fingerprint(self) -> str:
        """What names the finding in a baseline: the rule and the tokens, not the ids or the words of the message."""
        told = "\0".join((self.rule, *self.tokens, *(() if self.tokens else (self.witness or "",))))
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as a dict, for JSON."""
        return asdict(self) | {"severity": self.severity, "fingerprint": self.fingerprint}
