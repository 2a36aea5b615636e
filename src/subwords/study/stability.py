"""stability: how much a vocabulary still changes with more text (V13)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from subwords.adapt.counted import counts_for
from subwords.adapt.words import word_ids
from subwords.corpus.counts import WordCounts
from subwords.corpus.reading import Reading
from subwords.errors import InputError
from subwords.study import tables
from subwords.support.checks import check_integer
from subwords.tokenizer import Tokenizer
from subwords.training.count import count
from subwords.training.options import settings_of
from subwords.training.train import rules_of, train

if TYPE_CHECKING:
    from subwords.corpus.source import Source

__all__ = ["Stability", "Stable", "stability"]

READING = ("documents", "separator", "text_column", "max_document_bytes", "errors", "memory")
# Options of `train` that are no settings of a model.
NO_SETTINGS = ("splitter", "normalizer", "template", "roles", "min_documents", "threads", "progress")
SHARES = (1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)


@dataclass(frozen=True)
class Stable:
    """A sample. common: the share of the tokens of the largest sample that it has, too.

    overlap: the same, weighted: of how often the two tokenizers use each token, the sum of the smaller numbers divided
    by the sum of the larger ones; this and bytes_per_token are measured on the whole source, or on `on`.
    """

    share: float
    bytes: int
    words: int
    common: float
    overlap: float
    bytes_per_token: float


@dataclass(frozen=True)
class Stability(tables.Table):
    """What `stability` measured, by ascending share."""

    samples: tuple[Stable, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return ("share", "bytes", "distinct words", "common tokens", "overlap", "bytes per token")

    def rows(self) -> list[tuple[object, ...]]:
        """Return the values of each sample, in the order of `columns`."""
        return [tuple(vars(one).values()) for one in self.samples]

    def enough(self, loss: float = 0.01) -> Stable:
        """Return the smallest sample whose bytes per token are at most this share below those of the largest."""
        if isinstance(loss, bool) or not isinstance(loss, int | float) or not 0 <= loss < 1:
            raise InputError(f"expected loss as a share from 0 to below 1, not {loss!r:.60}")
        least = self.samples[-1].bytes_per_token * (1 - loss)
        return next(one for one in self.samples if one.bytes_per_token >= least)


def stability(
    source: Source,
    *,
    vocab_size: int,
    on: Source | WordCounts | None = None,
    shares: Sequence[float] = SHARES,
    seed: int = 0,
    algorithm: str = "bpe",
    threads: int | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Stability:
    """Train on nested samples of a corpus, and compare each vocabulary with that of the largest sample.

    shares: of the documents, as `sample` of `count`; a document of a smaller sample is in all larger ones. on: what to
    measure on, such as held-out text; None for the whole source. options: as in `train`. The source is read once for
    each share. Raises InputError for an iterator, which can be read only once, and for word counts, which have no
    documents. Hazard: without `on`, the largest sample is measured on its own text, which favours it.

    >>> import subwords
    >>> texts = [f"low lower lowest {k % 7} wide wider" for k in range(200)]
    >>> found = subwords.stability(texts, vocab_size=270, shares=[0.25, 0.5, 1])
    >>> [(one.share, one.common) for one in found.samples][-1]
    (1, 1.0)
    >>> found.enough(0.01).bytes < found.samples[-1].bytes
    True

    Source: Reddy et al., arXiv 2502.20273.
    """
    if isinstance(source, WordCounts):
        raise InputError("expected text: word counts have no documents to sample")
    if isinstance(source, Iterator):
        raise InputError(
            "expected a source that can be read once for each share, not an iterator: pass a list or files"
        )
    check_integer("seed", seed, 0, 2**63 - 1)
    if not len(shares):
        raise InputError("expected one or more shares, such as shares=[0.1, 0.5, 1]")
    for share in shares:
        Reading(sample=share)
    reading = {name: options.pop(name) for name in READING if name in options}
    options |= {"algorithm": algorithm, "vocab_size": vocab_size, "threads": threads, "progress": progress}
    trained = [_trained(source, {**reading, "sample": share, "sample_seed": seed}, options) for share in sorted(shares)]
    full = trained[-1][0]
    held, how = (source, reading) if on is None else (on, {})
    measured = counts_for(full, held, threads=threads, progress=progress, **how)
    uses = _Uses(full, measured, threads)
    found = []
    for share, (tok, sample) in zip(sorted(shares), trained, strict=True):
        mine = _Uses(tok, measured, threads)
        found.append(
            Stable(
                share=share,
                bytes=_bytes_of(sample),
                words=len(sample),
                common=len(mine.numbers.keys() & uses.numbers.keys()) / max(1, len(uses.numbers)),
                overlap=mine.overlap(uses),
                bytes_per_token=_bytes_of(measured) / max(1, mine.total),
            )
        )
    return Stability(tuple(found))


def _trained(source: Source, reading: dict[str, Any], options: dict[str, Any]) -> tuple[Tokenizer, WordCounts]:
    """Return a tokenizer trained on a sample, and the counts of the sample."""
    rules = {name: options.get(name, "auto") for name in ("splitter", "normalizer")}
    model = {name: value for name, value in options.items() if name not in NO_SETTINGS}
    algorithm = model.pop("algorithm")
    splitter, normalizer = rules_of(algorithm, **rules)
    settings = settings_of(algorithm, model)
    counts = count(
        source,
        splitter=splitter,
        normalizer=normalizer,
        special_tokens=settings.cut_out,
        user_defined=getattr(settings, "user_defined", ()),
        document_frequencies=options.get("min_documents") is not None,
        threads=options["threads"],
        progress=options["progress"],
        **reading,
    )
    return train(counts, **options), counts


class _Uses:
    """How often a tokenizer uses each of its tokens on words. total: of all ids."""

    def __init__(self, tokenizer: Tokenizer, counts: WordCounts, threads: int | None) -> None:
        ids = word_ids(tokenizer.model, counts, threads)
        each = np.repeat(counts.counts.astype(np.int64), np.diff(ids.offsets))
        used = np.bincount(ids.ids, each, len(tokenizer.model.vocab))
        self.numbers = {token: float(used[k]) for k, token in enumerate(tokenizer.model.vocab)}
        self.total = int(each.sum())

    def overlap(self, other: _Uses) -> float:
        """Return the weighted Jaccard index."""
        every = self.numbers.keys() | other.numbers.keys()
        pairs = [(self.numbers.get(token, 0.0), other.numbers.get(token, 0.0)) for token in every]
        return sum(map(min, pairs)) / max(1.0, sum(map(max, pairs)))


def _bytes_of(counts: WordCounts) -> int:
    return int((np.diff(counts.offsets) * counts.counts.astype(np.int64)).sum())
