"""sweep, stability and allocation: what the size of a vocabulary, more text and more languages change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.counts import WordCounts
from subwords.corpus.reading import Reading, reading_of
from subwords.models.bpe.model import BPE
from subwords.models.families import family_of, need
from subwords.study.evaluation import Group, Use, counts_to_train, unknown_text, uses_of, without_sample
from subwords.study.statistics import Interval
from subwords.support.checks import as_list, check_flag, check_integer
from subwords.support.errors import CorpusError, InputError
from subwords.support.report import Report, Table
from subwords.tokenizer import Tokenizer, TokenizerLike, tokenizer_of
from subwords.training.train import train

if TYPE_CHECKING:
    from subwords.corpus.source import Source


_COLUMNS = (
    ("vocabulary", "vocab_size"),
    ("tokens", "tokens"),
    ("bytes per token", "bytes_per_token"),
    ("interval", "interval"),
    ("tokens per word", "tokens_per_word"),
    ("unknown", "unknown"),
    ("used", "used"),
)
_COSTS = (("embedding parameters", "embedding_parameters"), ("FLOPs per byte", "flops_per_byte"))


@dataclass(frozen=True)
class SweepRow:
    """One size of the vocabulary. bytes: of the documents as given. interval: of bytes_per_token, as in `evaluate`.

    Word counts have no documents: interval and tokens_per_word are None, and bytes, too, if the counts do not know it.
    groups: of a dict of corpora. embedding_parameters, flops_per_byte: what it costs a model of the given width and
    layer_parameters (ALGORITHMS.md, V12), or None.
    """

    vocab_size: int
    tokens: int
    bytes: int | None
    bytes_per_token: float | None
    interval: Interval | None
    tokens_per_word: float | None
    unknown: float | None
    used: float
    groups: tuple[Group, ...] = ()
    embedding_parameters: int | None = None
    flops_per_byte: float | None = None


@dataclass(frozen=True)
class Sweep(Report):
    """What `sweep` measured, by ascending size."""

    sizes: tuple[SweepRow, ...]

    def tables(self) -> list[Table]:
        """Return the sizes; columns without any value are left out."""
        columns, values = zip(*self._filled(), strict=True)
        return [Table(columns, [*zip(*values, strict=True)], "Vocabularies of several sizes", "tab:sweep")]

    def _filled(self) -> list[tuple[str, list[object]]]:
        found: list[tuple[str, list[object]]] = [
            (shown, [getattr(one, name) for one in self.sizes]) for shown, name in _COLUMNS
        ]
        for k, group in enumerate(self.sizes[0].groups):
            found.append((f"bytes per token, {group.name}", [one.groups[k].bytes_per_token for one in self.sizes]))
        for shown, name in _COSTS:
            found.append((shown, [getattr(one, name) for one in self.sizes]))
        return [(name, values) for name, values in found if any(value is not None for value in values)]

    def notes(self) -> list[str]:
        """Return what the table does not have, and why; and a warning of unknown text."""
        notes = list[str]()
        if any(one.bytes_per_token is None for one in self.sizes):
            notes.append("No bytes per token: these word counts do not know the bytes of their text; count it again.")
        elif any(one.tokens_per_word is None and one.interval is None and not one.groups for one in self.sizes):
            notes.append("No intervals: word counts and a single document have none.")
        return notes + unknown_text([(f"{one.vocab_size} tokens", one.unknown) for one in self.sizes])

    @property
    def cheapest(self) -> SweepRow | None:
        """The size of the fewest FLOPs per byte; None if no model was given."""
        costs = [(one.flops_per_byte, one) for one in self.sizes if one.flops_per_byte is not None]
        return min(costs, key=lambda cost: cost[0])[1] if costs else None

    def plot(self, *, title: str | None = None, ax: Any = None) -> Any:
        """Return a matplotlib figure: bytes per token over the size of the vocabulary.

        title: what was measured. ax: the axes to draw in; None for a new figure.
        """
        from subwords.study.plots import plot_sweep

        return plot_sweep(self, title, ax)


def sweep(
    source: Source | WordCounts | Mapping[str, Source],
    *,
    vocab_sizes: Sequence[int] | int,
    held_out: Source | WordCounts | Mapping[str, Source] | None = None,
    width: int | None = None,
    layer_parameters: int | None = None,
    tied: bool = False,
    algorithm: str = "bpe",
    reading: Reading | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Sweep:
    """Train tokenizers of several sizes on one corpus, or on word counts, and measure each on another, as `evaluate`.

    A dict of corpora is trained on together, and measured in groups. held_out: what to measure on, read as the source
    is; None for the source itself. width: numbers in a token's vector, for what each size costs a model.
    layer_parameters: parameters of this model outside the embeddings. tied: its input and output share one matrix.
    options: as in `train`. BPE is trained once, at the largest size: its first merges are those of a smaller one.
    Raises InputError for sizes that are not positive integers, for an iterator, which can be read only once, and for
    counts made with other rules.
    Hazard: on the text of training, a larger vocabulary always looks better.

    >>> import subwords
    >>> found = subwords.study.sweep(["low lower lowest"] * 9, vocab_sizes=[256, 258, 262])
    >>> [one.tokens for one in found.sizes]
    [144, 90, 36]
    """
    sizes = _checked_sizes(vocab_sizes)
    model = _cost_model(width, layer_parameters, tied)
    if isinstance(source, Iterator) and held_out is None:
        raise InputError("expected a source that can be read twice, not an iterator: pass a list, files, or `held_out`")
    options |= {"threads": threads, "progress": progress}
    largest = {**options, "vocab_size": sizes[-1]}
    if _is_counted(source):
        source, reading = counts_to_train(source, algorithm, reading, largest), None
    held = source if held_out is None else held_out
    if isinstance(source, WordCounts):
        if reading is not None and (isinstance(held, WordCounts) or reading.sample is not None):
            raise InputError("`reading` applies to text, but these are word counts: pass it to count")
        counts = source
    else:
        parts: Iterable[Any] = source.values() if isinstance(source, Mapping) else [source]
        made = [counts_to_train(part, algorithm, reading, largest) for part in parts]
        if not made:
            raise InputError("expected one or more corpora, not an empty dict")
        counts = made[0] if len(made) == 1 else WordCounts.joined(made)

    def trained(size: int) -> Tokenizer:
        return train(counts, algorithm=algorithm, vocab_size=size, **options)  # type: ignore[call-overload, no-any-return]

    whole = trained(sizes[-1])
    nested = family_of(whole.model).keeps_merges
    toks = [shrink_vocabulary(whole, size) if nested else trained(size) for size in sizes[:-1]] + [whole]
    how = None if isinstance(held, WordCounts) else reading if held_out is None else without_sample(reading)
    uses = uses_of(toks, held, reading=how, threads=threads, progress=progress, trained_on=counts)
    found = []
    for tok, use in zip(toks, uses, strict=True):
        one = SweepRow(
            vocab_size=len(tok.model.vocab),
            tokens=use.tokens,
            bytes=use.bytes,
            bytes_per_token=use.bytes_per_token,
            interval=use.interval,
            tokens_per_word=use.tokens_per_word,
            unknown=use.unknown,
            used=use.used,
            groups=use.groups,
        )
        found.append(model(one))
    return Sweep(tuple(found))


def _is_counted(source: object) -> TypeGuard[Mapping[str, int]]:
    """Whether a source is a dict or Counter of texts with their counts, and not of corpora."""
    return isinstance(source, Mapping) and bool(source) and all(isinstance(value, int) for value in source.values())


def _checked_sizes(vocab_sizes: Sequence[int] | int) -> list[int]:
    given = [vocab_sizes] if isinstance(vocab_sizes, int) else vocab_sizes
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        came = f"{type(vocab_sizes).__name__} {vocab_sizes!r:.60}"
        raise InputError(f"expected vocab_sizes as integers, such as [8000, 16000, 32000], not {came}")
    sizes = list(given)
    if not sizes:
        raise InputError("expected one or more sizes, such as vocab_sizes=[8000, 16000, 32000]")
    for size in sizes:
        check_integer("a size of vocab_sizes", size, 1, 2**31)
    return sorted({*sizes})


def _cost_model(width: int | None, layer_parameters: int | None, tied: bool) -> Callable[[SweepRow], SweepRow]:
    """Return a function that adds the costs of a model to a size; without a model it changes nothing."""
    check_flag("tied", tied)
    if width is None and layer_parameters is None:
        if tied:
            raise InputError("tied is for the cost of a model: pass width and layer_parameters, too, or leave it out")
        return lambda one: one
    if width is None or layer_parameters is None:
        raise InputError("expected width and layer_parameters together: both are needed for the cost of a model")
    check_integer("width", width, 1, 2**31)
    check_integer("layer_parameters", layer_parameters, 1, 2**60)

    def with_costs(one: SweepRow) -> SweepRow:
        matrix = one.vocab_size * width
        flops = 2 * (layer_parameters + matrix) / one.bytes_per_token if one.bytes_per_token else None
        return replace(one, embedding_parameters=matrix * (1 if tied else 2), flops_per_byte=flops)

    return with_costs


def shrink_vocabulary(tokenizer: Tokenizer, size: int) -> Tokenizer:
    """Return a trained BPE tokenizer with its first `size` tokens: what training to that size gives.

    Defined in ALGORITHMS.md, B3, B4.

    InputError if the alphabet alone is larger.
    """
    model = need(tokenizer.model, BPE, "first_tokens")
    if size >= len(model.vocab):
        return tokenizer
    kept = model.merges[: int(np.argmax(model.merges[:, 2] >= size))]
    least = int(model.merges[model.merges[:, 2] >= size][:, 2].min()) if len(kept) < len(model.merges) else size
    if least != size:
        raise InputError(f"expected a size of at least {least}, the alphabet and special tokens, not {size}")
    return tokenizer.with_(model=replace(model, vocab=type(model.vocab)([*model.vocab][:size]), merges=kept))


# ---------------------------------------------------------------------------------------------------------------------
# stability: how much a vocabulary still changes with more text (V13).

SHARES = (1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)


@dataclass(frozen=True)
class StabilityRow:
    """A sample. common: the share of the tokens of the largest sample that it has, too.

    overlap: the same, weighted: of how often the two tokenizers use each token, the sum of the smaller numbers divided
    by the sum of the larger ones; this and bytes_per_token are measured on the whole source, or on `held_out`. bytes:
    of the sample's documents as given. bytes_per_token: None on word counts that do not know the bytes of their text.
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

    shares: of the documents, as `sample` of `Reading`; a document of a smaller sample is in all larger ones. seed: the
    seed of the samples. held_out:
    text to measure on, read as the source is; None for the whole source. options: as in `train`. The source is read
    once for each share. Raises InputError for an iterator, which can be read only once, and for word counts, which have
    no documents. Hazard: without held_out, the largest sample is measured on its own text, which favours it.

    >>> import subwords
    >>> texts = [f"low lower lowest {k % 7} wide wider" for k in range(200)]
    >>> found = subwords.study.stability(texts, vocab_size=270, shares=[0.25, 0.5, 1])
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


# ---------------------------------------------------------------------------------------------------------------------
# allocation: how many tokens of a vocabulary each language, or any group of texts, gets (V11).


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
