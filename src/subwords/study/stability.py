"""stability: how much a vocabulary still changes with more text (V13)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from subwords.corpus.counts import WordCounts
from subwords.corpus.reading import Reading, reading_of
from subwords.errors import InputError
from subwords.render.report import Report, Table
from subwords.study.use import Use, counts_to_train, uses_of
from subwords.support.checks import as_list, check_integer
from subwords.tokenizer import Tokenizer
from subwords.training.train import train

if TYPE_CHECKING:
    from subwords.corpus.source import Source

__all__ = ["Stability", "StabilityRow", "stability"]

SHARES = (1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)


@dataclass(frozen=True)
class StabilityRow:
    """A sample. common: the share of the tokens of the largest sample that it has, too.

    overlap: the same, weighted: of how often the two tokenizers use each token, the sum of the smaller numbers divided
    by the sum of the larger ones; this and bytes_per_token are measured on the whole source, or on `on`. bytes: of the
    sample's documents as given. bytes_per_token: None on word counts that do not know the bytes of their text.
    """

    share: float
    bytes: int
    distinct_words: int
    common: float
    overlap: float
    bytes_per_token: float | None


@dataclass(frozen=True)
class Stability(Report):
    """What `stability` measured, by ascending share."""

    samples: tuple[StabilityRow, ...]

    def tables(self) -> list[Table]:
        """Return the samples."""
        columns = ("share", "bytes", "distinct words", "common tokens", "overlap", "bytes per token")
        rows = [tuple(vars(one).values()) for one in self.samples]
        return [Table(columns, rows, "Vocabularies of nested samples", "tab:stability")]

    def enough(self, loss: float = 0.01) -> StabilityRow:
        """Return the smallest sample whose bytes per token are at most this share below those of the largest.

        InputError if they are unknown, as on word counts of an earlier version.
        """
        if isinstance(loss, bool) or not isinstance(loss, int | float) or not 0 <= loss < 1:
            raise InputError(f"expected loss as a share from 0 to below 1, not {loss!r:.60}")
        known = [(one.bytes_per_token, one) for one in self.samples if one.bytes_per_token is not None]
        if len(known) < len(self.samples):
            raise InputError("bytes per token are unknown: these word counts do not know their text; count again")
        least = known[-1][0] * (1 - loss)
        return next(one for ratio, one in known if ratio >= least)


def stability(
    source: Source,
    *,
    vocab_size: int,
    held_out: Source | WordCounts | None = None,
    shares: Sequence[float] = SHARES,
    seed: int = 0,
    algorithm: str = "bpe",
    reading: Reading | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Stability:
    """Train on nested samples of a corpus, and compare each vocabulary with that of the largest sample.

    shares: of the documents, as `sample` of `Reading`; a document of a smaller sample is in all larger ones. held_out:
    text to measure on, read as the source is; None for the whole source. options: as in `train`. The source is read
    once for each share. Raises InputError for an iterator, which can be read only once, and for word counts, which have
    no documents. Hazard: without held_out, the largest sample is measured on its own text, which favours it.

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
    shares = as_list(shares, "shares")
    if not shares:
        raise InputError("expected one or more shares, such as shares=[0.1, 0.5, 1]")
    for share in shares:
        Reading(sample=share)
    whole = reading_of(reading)
    if whole.sample is not None:
        raise InputError("a sample in `reading` is not for stability: pass shares and seed")
    options |= {"threads": threads, "progress": progress, "vocab_size": vocab_size}
    trained = list[tuple[Tokenizer, WordCounts]]()
    for share in sorted(shares):
        counts = counts_to_train(source, algorithm, replace(whole, sample=share, sample_seed=seed), options)
        trained.append((train(counts, algorithm=algorithm, **options), counts))  # type: ignore[call-overload]
    held, how = (
        (held_out, None) if isinstance(held_out, WordCounts) else (source if held_out is None else held_out, whole)
    )
    uses = uses_of([tok for tok, _ in trained], held, reading=how, threads=threads, progress=progress)
    numbers = [_numbers(tok, use) for (tok, _), use in zip(trained, uses, strict=True)]
    return Stability(
        tuple(
            StabilityRow(
                share=share,
                bytes=sample.text_bytes or 0,
                distinct_words=len(sample),
                common=len(mine.keys() & numbers[-1].keys()) / max(1, len(numbers[-1])),
                overlap=_overlap(mine, numbers[-1]),
                bytes_per_token=use.bytes_per_token,
            )
            for share, (_, sample), use, mine in zip(sorted(shares), trained, uses, numbers, strict=True)
        )
    )


def _numbers(tokenizer: Tokenizer, use: Use) -> dict[bytes, int]:
    """Return how often a tokenizer uses each of its tokens."""
    return dict(zip(tokenizer.model.vocab, use.ids.tolist(), strict=True))


def _overlap(one: dict[bytes, int], other: dict[bytes, int]) -> float:
    """Return the weighted Jaccard index."""
    pairs = [(one.get(token, 0), other.get(token, 0)) for token in one.keys() | other.keys()]
    return sum(map(min, pairs)) / max(1, sum(map(max, pairs)))
