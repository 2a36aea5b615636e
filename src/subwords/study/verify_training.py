"""verify_training: prove that each merge of a tokenizer was the best one on given counts, or say which was not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from subwords.bpe.model import BPE
from subwords.corpus.counts import WordCounts
from subwords.families import need
from subwords.learning.limits import TIES
from subwords.render.report import Report, Table
from subwords.study.pair_counts import learned_merges, one_merge_each
from subwords.support.checks import check_choice, check_integer
from subwords.tokenizer import tokenizer_of
from subwords.training.count import counts_of, rules_like

if TYPE_CHECKING:
    from subwords.corpus.reading import Reading
    from subwords.corpus.source import Source
    from subwords.tokenizer import TokenizerLike

__all__ = ["Deviation", "Replay", "verify_training"]


@dataclass(frozen=True)
class Deviation:
    """A merge that was not the best one: its tokens and count, and the best pair at that time with its count."""

    rank: int
    merge: tuple[str, str]
    count: int
    best: tuple[str, str]
    best_count: int

    @property
    def kind(self) -> str:
        """Return "never occurs" (count 0), "not the best" or "wrong tie"."""
        if not self.count:
            return "never occurs"
        return "wrong tie" if self.count == self.best_count else "not the best"


@dataclass(frozen=True)
class Replay(Report):
    """What `verify_training` found. counts: of the merges, at their turn. checked: the merges that were looked at.

    missing: tokens of a rank file or .model file whose merge cannot be told.
    """

    tie_break: str
    merges: int
    checked: int
    deviations: tuple[Deviation, ...]
    counts: tuple[int, ...]
    missing: int = 0

    @property
    def proven(self) -> bool:
        """Whether every merge was the best one."""
        return not self.deviations and self.checked == self.merges and not self.missing

    def to_dict(self) -> dict[str, Any]:
        """Return the report as dicts, lists, strings and numbers, for JSON."""
        found = super().to_dict()
        for one, named in zip(self.deviations, found["deviations"], strict=True):
            named["kind"] = one.kind
        return found | {"proven": self.proven}

    def tables(self) -> list[Table]:
        """Return the deviations."""
        rows = [
            (one.rank, one.kind, *map(repr, one.merge), one.count, *map(repr, one.best), one.best_count)
            for one in self.deviations
        ]
        columns = ("rank", "deviation", "left", "right", "count", "best left", "best right", "best count")
        return [Table(columns, rows, "Merges that were not the best pair", "tab:replay")]

    def lines(self) -> Iterator[str]:
        """Yield how many merges were checked, and each deviation."""
        head = f"{self.checked} of {self.merges} merges checked, tie_break {self.tie_break!r}: "
        if not self.deviations:
            end = "each was the best pair" if self.checked else "nothing to check"
        else:
            end = f"{len(self.deviations)} were not the best pair"
        yield head + end
        if self.missing:
            yield f"{self.missing} tokens have no merge"
        for one in self.deviations:
            best = "" if one.kind == "never occurs" and not one.best_count else f"; best: {one.best!r} {one.best_count}"
            yield f"rank {one.rank}, {one.kind}: {one.merge!r} {one.count}{best}"


def verify_training(
    tokenizer: TokenizerLike,
    source: Source | WordCounts,
    *,
    tie_break: Literal["ids", "first", "bytes"] = "ids",
    limit: int = 20,
    reading: Reading | None = None,
    threads: int | None = None,
) -> Replay:
    """Replay the merges of a BPE tokenizer on its corpus, and check that each was the best pair at its turn.

    Defined in ALGORITHMS.md, B1, B2.

    source: the corpus of training, or its word counts. tie_break: the rule that training declared; ids are those of the
    alphabet, then of the merges in order. limit: stop after so many deviations: each takes a run of training.
    reading: of a corpus; HF's trainer reads lines, Reading(documents="line"). Raises InputError for a tokenizer that is
    not made of merges alone, and for counts of another splitter or normalizer.
    Hazard: a pair that training refused (max_token_length, whole_characters, SentencePiece's rules of scripts and
    digits) is reported once as a better one.

    >>> import subwords
    >>> counts = subwords.count(["low lower lowest"] * 9)
    >>> print(subwords.verify_training(subwords.train(counts, vocab_size=262), counts))
    6 of 6 merges checked, tie_break 'ids': each was the best pair
    """
    tokenizer = tokenizer_of(tokenizer)
    model = need(tokenizer.model, BPE, "verify_training")
    check_choice("tie_break", tie_break, TIES)
    check_integer("limit", limit, 1, 1_000_000)
    rules = rules_like(tokenizer)
    if isinstance(source, WordCounts):  # made by a trainer that may have known other special tokens
        rules = rules._replace(special_tokens=())
    counts = counts_of(source, rules, reading=reading, threads=threads, progress=False)
    single = one_merge_each(model)
    missing = len({*model.merges[:, 2].tolist()}) - len({*single.merges[:, 2].tolist()})
    found, deviations = list[int](), list[Deviation]()
    for learned in learned_merges(single, counts, tie_break, threads):
        found.append(learned.count)
        if learned.best is not None:
            merge, best = ((_shown(model, a), _shown(model, b)) for a, b in (learned.pair, learned.best))
            deviations.append(Deviation(learned.rank, merge, learned.count, best, learned.best_count))
            if len(deviations) == limit:
                break
    return Replay(tie_break, len(single.merges), len(found), tuple(deviations), tuple(found), missing)


def _shown(model: BPE, index: int) -> str:
    return model.vocab[index].decode("utf-8", "backslashreplace")
