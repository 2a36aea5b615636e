"""sweep: how compression grows with the size of the vocabulary, from one training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from subwords.bpe.model import BPE
from subwords.corpus.counts import WordCounts
from subwords.errors import InputError
from subwords.families import family_of
from subwords.study import tables
from subwords.support.checks import check_flag, check_integer
from subwords.tokenizer import Tokenizer
from subwords.training.count import count
from subwords.training.train import train

if TYPE_CHECKING:
    from subwords.corpus.source import Source

__all__ = ["Sweep", "Sweeped", "first_tokens", "sweep"]


@dataclass(frozen=True)
class Sweeped:
    """One size of the vocabulary. tokens_per_word: words are those of the splitter.

    embedding_parameters, flops_per_byte: what it costs a model of the given width and layer_parameters (V12), or None.
    """

    vocab_size: int
    tokens: int
    bytes_per_token: float
    tokens_per_word: float
    used: float
    embedding_parameters: int | None = None
    flops_per_byte: float | None = None


@dataclass(frozen=True)
class Sweep(tables.Table):
    """What `sweep` measured, by ascending size."""

    sizes: tuple[Sweeped, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns; the costs only if a model was given."""
        names = ("vocabulary", "tokens", "bytes per token", "tokens per word", "used")
        has_costs = any(one.embedding_parameters is not None for one in self.sizes)
        return (*names, "embedding parameters", "FLOPs per byte") if has_costs else names

    def rows(self) -> list[tuple[object, ...]]:
        """Return the values of each size, in the order of `columns`."""
        return [tuple(asdict(one).values())[: len(self.columns)] for one in self.sizes]

    @property
    def cheapest(self) -> Sweeped | None:
        """The size of the fewest FLOPs per byte; None if no model was given."""
        costs = [(one.flops_per_byte, one) for one in self.sizes if one.flops_per_byte is not None]
        return min(costs, key=lambda cost: cost[0])[1] if costs else None

    def plot(self) -> Any:
        """Return a matplotlib figure: bytes per token over the size of the vocabulary."""
        from subwords.study.plots import plot_sweep

        return plot_sweep([(one.vocab_size, one.bytes_per_token) for one in self.sizes])


def sweep(
    source: Source | WordCounts,
    *,
    vocab_sizes: Sequence[int],
    on: Source | WordCounts | None = None,
    width: int | None = None,
    layer_parameters: int | None = None,
    tied: bool = False,
    algorithm: str = "bpe",
    threads: int | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Sweep:
    """Train tokenizers of several sizes on one corpus, or on word counts, and measure each on the words of another.

    on: what to measure on; None for the words of training themselves. width, layer_parameters: of a model, for what
    each size costs it: the numbers of a token's vector, and of parameters outside the embeddings. tied: input and
    output share one matrix. options: as in `train`. BPE is trained once, at the largest size: its first merges are the
    merges of a smaller vocabulary. Raises InputError for sizes that are not positive integers.
    Hazard: on the words of training, a larger vocabulary always looks better.

    >>> import subwords
    >>> found = subwords.sweep(["low lower lowest"] * 9, vocab_sizes=[256, 258, 262])
    >>> [one.tokens for one in found.sizes]
    [144, 90, 36]
    """
    if not len(vocab_sizes):
        raise InputError("expected one or more sizes, such as vocab_sizes=[8000, 16000, 32000]")
    sizes = sorted({*vocab_sizes})
    for size in sizes:
        check_integer("a size of vocab_sizes", size, 1, 2**31)
    model = _model(width, layer_parameters, tied)
    whole = train(source, algorithm=algorithm, vocab_size=sizes[-1], threads=threads, progress=progress, **options)  # type: ignore[call-overload]
    held = source if on is None else on
    if isinstance(held, WordCounts):
        counts = held
    else:
        special = [token.content for token in whole.spec.added_tokens]
        rules: Any = {"splitter": whole.splitter, "normalizer": whole.normalizer, "special_tokens": special}
        counts = count(held, threads=threads, progress=progress, **rules)
    found = []
    for size in sizes:
        if isinstance(whole.model, BPE):
            tok = first_tokens(whole, size)
        elif size == sizes[-1]:
            tok = whole
        else:
            tok = train(source, algorithm=algorithm, vocab_size=size, threads=threads, progress=progress, **options)  # type: ignore[call-overload]
        found.append(model(_measured(tok, counts, threads)))
    return Sweep(tuple(found))


def _model(width: int | None, layer_parameters: int | None, tied: bool) -> Callable[[Sweeped], Sweeped]:
    """Return what adds the costs of a model to a size; nothing if there is none."""
    check_flag("tied", tied)
    if width is None and layer_parameters is None:
        if tied:
            raise InputError("tied is for the cost of a model: pass width and layer_parameters, too, or leave it out")
        return lambda one: one
    if width is None or layer_parameters is None:
        raise InputError("expected width and layer_parameters together: both are needed for the cost of a model")
    check_integer("width", width, 1, 2**31)
    check_integer("layer_parameters", layer_parameters, 1, 2**60)

    def with_costs(one: Sweeped) -> Sweeped:
        matrix = one.vocab_size * width
        flops = 2 * (layer_parameters + matrix) / one.bytes_per_token if one.tokens else None
        return replace(one, embedding_parameters=matrix * (1 if tied else 2), flops_per_byte=flops)

    return with_costs


def first_tokens(tokenizer: Tokenizer, size: int) -> Tokenizer:
    """Return a trained BPE tokenizer with its first `size` tokens: what training to that size gives (B3, B4).

    InputError if the alphabet alone is larger.
    """
    model = tokenizer.model
    if not isinstance(model, BPE):
        raise InputError(f"expected a BPE tokenizer, not {family_of(model).name}")
    if size >= len(model.vocab):
        return tokenizer
    kept = model.merges[: int(np.argmax(model.merges[:, 2] >= size))]
    least = int(model.merges[model.merges[:, 2] >= size][:, 2].min()) if len(kept) < len(model.merges) else size
    if least != size:
        raise InputError(f"expected a size of at least {least}, the alphabet and special tokens, not {size}")
    return tokenizer.with_(model=replace(model, vocab=type(model.vocab)([*model.vocab][:size]), merges=kept))


def _measured(tokenizer: Tokenizer, counts: WordCounts, threads: int | None) -> Sweeped:
    from subwords.adapt.words import word_ids

    ids = word_ids(tokenizer.model, counts, threads)
    lengths = np.diff(ids.offsets)
    tokens = int((lengths * counts.counts.astype(np.int64)).sum())
    size = int((np.diff(counts.offsets) * counts.counts.astype(np.int64)).sum())
    used = len(np.unique(ids.ids)) / max(1, len(tokenizer.model.vocab))
    return Sweeped(len(tokenizer.model.vocab), tokens, size / max(1, tokens), tokens / max(1, counts.total), used)
