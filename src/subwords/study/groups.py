"""allocation: how many tokens of a vocabulary each language, or any group of texts, gets (V11)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.counts import WordCounts
from subwords.study.evaluation import uses_of
from subwords.support.errors import CorpusError, InputError
from subwords.support.report import Report, Table
from subwords.tokenizer import TokenizerLike, tokenizer_of

if TYPE_CHECKING:
    from subwords.corpus.source import Source


@dataclass(frozen=True)
class AllocationRow:
    """One group. bytes: of the documents as given; None if word counts do not know it.

    used, most, only: tokens that it uses, uses more than any other group, and uses alone.

    share: `most` as a share of the vocabulary. average_rank: of its ids, by their frequency in the group. divergence:
    the mean Jensen-Shannon divergence, in bits, of its ids from those of each other group; None for a single group.
    """

    name: str
    bytes: int | None
    tokens: int
    bytes_per_token: float | None
    used: int
    most: int
    only: int
    share: float
    average_rank: float
    divergence: float | None


@dataclass(frozen=True)
class Allocation(Report):
    """What `allocation` found. unused: tokens that no group uses."""

    vocabulary: int
    unused: int
    groups: tuple[AllocationRow, ...]

    def notes(self) -> list[str]:
        """Return how many tokens are unused, and what is unknown."""
        notes = [f"{self.unused} of {self.vocabulary} tokens are used by no group"]
        unsized = [one.name for one in self.groups if one.bytes is None]
        if unsized:
            notes.append(f"No bytes of {', '.join(unsized)}: these word counts do not know those of their text.")
        return notes

    def tables(self) -> list[Table]:
        """Return the groups."""
        columns = ["group", "bytes", "tokens", "bytes per token", "used", "most", "only", "share"]
        columns += ["average rank", "divergence"]
        rows = [tuple(vars(one).values()) for one in self.groups]
        return [Table(columns, rows, "Allocation of a vocabulary", "tab:allocation")]


def allocation(
    tokenizer: TokenizerLike,
    groups: Mapping[str, Source | WordCounts],
    *,
    threads: int | None = None,
    progress: bool | None = None,
) -> Allocation:
    """Measure how many tokens each group of texts, such as a language, gets of a vocabulary.

    groups: a corpus, or word counts made with the rules of the tokenizer, by name. "Uses more" compares shares of the
    group's ids, so groups may differ in size. Raises InputError for counts made with other rules. Hazard: a small
    corpus uses few tokens of a large vocabulary: compare groups of about equal size.

    >>> import subwords
    >>> tok = subwords.train(["low lower lowest niedrig niedriger " * 9], vocab_size=275)
    >>> found = subwords.study.allocation(tok, {"en": ["low lower"], "de": ["niedrig niedriger"]})
    >>> [(one.name, one.used, one.only) for one in found.groups]
    [('en', 2, 2), ('de', 3, 3)]

    Source: average rank and divergence, Limisiewicz et al., arXiv 2305.17179.
    """
    tokenizer = tokenizer_of(tokenizer)
    if not isinstance(groups, Mapping) or not groups:
        raise InputError('expected groups as a dict of sources by name, such as {"de": "german.txt"}')
    found = []
    for name, source in groups.items():
        try:
            use = uses_of([tokenizer], source, reading=None, threads=threads, progress=progress)[0]
        except (InputError, CorpusError) as error:
            raise type(error)(f"group {name!r}: {error}") from None
        found.append((name, use))
    uses = np.stack([use.ids / max(1, use.tokens) for _, use in found])
    most = uses.argmax(axis=0)
    is_used = uses.max(axis=0) > 0
    alone = (uses > 0).sum(axis=0) == 1
    rows = []
    for k, (name, use) in enumerate(found):
        mine = int(((most == k) & is_used).sum())
        others = [_divergence(uses[k], other) for j, other in enumerate(uses) if j != k]
        ranked = -np.sort(-uses[k])
        rows.append(
            AllocationRow(
                name=name,
                bytes=use.bytes,
                tokens=use.tokens,
                bytes_per_token=use.bytes_per_token,
                used=int((use.ids > 0).sum()),
                most=mine,
                only=int(((use.ids > 0) & alone).sum()),
                share=mine / use.vocabulary,
                average_rank=float((np.arange(1, len(ranked) + 1) * ranked).sum()),
                divergence=sum(others) / len(others) if others else None,
            )
        )
    vocabulary = found[0][1].vocabulary
    return Allocation(vocabulary, vocabulary - int(is_used.sum()), tuple(rows))


def _divergence(p: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    """Return the Jensen-Shannon divergence in bits."""
    middle = (p + q) / 2

    def from_middle(r: NDArray[np.float64]) -> float:
        some = r > 0
        return float((r[some] * np.log2(r[some] / middle[some])).sum())

    return (from_middle(p) + from_middle(q)) / 2
