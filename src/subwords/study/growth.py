"""sweep: what the size of a vocabulary changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from subwords import Reading, Tokenizer, WordCounts, train
from subwords.machine import BPE, family_of, need
from subwords.study.evaluation import Group, counts_to_train, unknown_text, uses_of, without_sample
from subwords.study.statistics import Interval
from subwords.support.checks import check_flag, check_integer
from subwords.support.errors import InputError
from subwords.support.report import Report, Table

if TYPE_CHECKING:
    from subwords.machine import Source


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

        known = [one for one in self.sizes if one.bytes_per_token is not None]
        points = [(one.vocab_size, one.bytes_per_token or 0.0, one.interval) for one in known]
        groups = known[0].groups if known else ()
        lines = {group.name: [one.groups[k].bytes_per_token for one in known] for k, group in enumerate(groups)}
        return plot_sweep(points, lines, title, ax)


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
    rows = (SweepRow(len(tok.model.vocab), **vars(use)) for tok, use in zip(toks, uses, strict=True))
    return Sweep(tuple(map(model, rows)))


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
