"""audit: what is wrong with a tokenizer, as findings that a program can gate on."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subwords import Reading
from subwords.machine import progress as progress_line
from subwords.machine import read_blocks, reading_of, tokenizer_of
from subwords.study.checks import Subject, check_behavior, check_chat, check_merges, check_reach, check_vocabulary
from subwords.study.evaluation import measured
from subwords.study.findings import RULES, Finding, Findings, by_severity
from subwords.study.model_rows import undertrained_of
from subwords.support.checks import check_strings
from subwords.support.errors import InputError, SubwordsWarning

if TYPE_CHECKING:
    from subwords.machine import Source, TokenizerLike
    from subwords.study.model_rows import Matrix


SAMPLE = 1 << 22  # bytes of the corpus that are encoded and decoded
OF_A_MODEL = ("undertrained-token", "trained-token")
MOST_BACK = 20  # texts of the corpus that do not come back


@dataclass(frozen=True)
class Audit(Findings):
    """What `audit` found. accepted: how many findings the baseline accepts. model: whether it saw rows of a model."""

    accepted: int = 0
    model: bool = False

    def _more(self) -> dict[str, Any]:
        return {"accepted": self.accepted, "model": self.model}

    def _head(self) -> str:
        return super()._head() + (f", {self.accepted} accepted" if self.accepted else "")


def audit(
    tokenizer: TokenizerLike,
    source: Source | None = None,
    *,
    rules: Iterable[str] | None = None,
    baseline: Iterable[str] = (),
    embeddings: Matrix | None = None,
    output: Matrix | None = None,
    reading: Reading | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Audit:
    """Return what is wrong with a tokenizer: tokens that no text yields, broken merges, lost text, and more.

    Each finding has a rule (docs/studying.md lists them), a severity, a message, and the tokens concerned. source: also
    finds unused tokens, and texts of it that do not come back. rules: look for these only. baseline: fingerprints of
    findings that are accepted. embeddings, output: matrices of a model, as in `undertrained`; without them, no token is
    called undertrained. The others are as in `count`.

    Reach is exact for BPE and Unigram at the level of the model: the segmentation of a token does not depend on its
    neighbours. For the splitter and the normalizer, a token is reported if none of some 20 texts around it yields it.
    Hazard: it runs the chat templates of the tokenizer, within the limits of `Tokenizer.chat`.

    >>> import subwords
    >>> print(subwords.study.audit(subwords.train(["low lower"] * 9, vocab_size=259), rules=["unreachable-token"]))
    0 errors, 0 warnings, 0 notes
    """
    tokenizer = tokenizer_of(tokenizer)
    chosen = {*RULES} if rules is None else {*check_strings("rules", rules)}
    if unknown := chosen - {*RULES}:
        raise InputError(f"expected rules among {', '.join(RULES)}, not {min(unknown)!r}")
    accepted = {*check_strings("baseline", baseline)}
    model = embeddings is not None or output is not None
    if rules is not None and not model and (needing := sorted(chosen & {*OF_A_MODEL})):
        raise InputError(f"no model was given: the rule {needing[0]} needs a matrix: `embeddings` or `output`")
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
    if model:
        found += undertrained_of(subject, embeddings, output).findings
    back = [*check_behavior(subject, texts)]
    ours = [one for one in back if one.witness in {*texts}][:MOST_BACK]
    found += [one for one in back if one.witness not in {*texts}] + ours
    kept = [one for one in found if one.rule in chosen]
    left = [one for one in kept if one.fingerprint not in accepted]
    return Audit(by_severity(left), len(kept) - len(left), model)


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
