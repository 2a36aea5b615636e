"""train_parity: one BPE vocabulary for several languages, which makes all of them about equally expensive (B11)."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from subwords.adapt.parity_merges import length_of, parity_merges
from subwords.bpe.train import BPESettings, model_of
from subwords.corpus.counts import MOST, WordCounts
from subwords.corpus.progress import progress as progress_line
from subwords.errors import CorpusError, InputError, SubwordsWarning, TrainingError
from subwords.families import family_named
from subwords.kernels import layout
from subwords.learning.parity import Choice
from subwords.render.report import Report, Table
from subwords.support.checks import check_choice, check_integer
from subwords.tokenizer import Tokenizer
from subwords.training.count import counts_of
from subwords.training.options import settings_of
from subwords.training.train import rules_of

if TYPE_CHECKING:
    from subwords.corpus.reading import Reading
    from subwords.corpus.source import Source
    from subwords.resolve import NormalizerLike, SplitterLike

__all__ = ["LanguageCost", "Parity", "train_parity"]


@dataclass(frozen=True)
class LanguageCost:
    """A language in parity-aware training.

    merges: how many it chose. before, after: the number of ids of its measured words, as single symbols and in the end,
    divided by its bytes (`per_byte`) or as it is.
    """

    name: str
    merges: int
    before: float
    after: float


@dataclass(frozen=True)
class Parity(Report):
    """What `train_parity` returns: the tokenizer, and how its merges were chosen.

    chosen: the language of each merge, in order of rank; None for those of all languages together. per_byte: whether
    costs are ids per byte; otherwise they are numbers of ids.
    """

    tokenizer: Tokenizer
    languages: tuple[LanguageCost, ...]
    chosen: tuple[str | None, ...]
    per_byte: bool

    def tables(self) -> list[Table]:
        """Return the languages; costs before and after, in the unit of `per_byte`."""
        rows = [tuple(vars(language).values()) for language in self.languages]
        return [Table(("language", "merges", "before", "after"), rows, "Costs of languages", "tab:parity")]

    def to_dict(self) -> dict[str, Any]:
        """Return the costs, for JSON."""
        return {
            "tokens": self.tokenizer.vocab_size,
            "unit": "ids per byte" if self.per_byte else "ids",
            "languages": [vars(language) for language in self.languages],
            "all": sum(name is None for name in self.chosen),
        }


def train_parity(
    languages: Mapping[str, Source | WordCounts],
    *,
    vocab_size: int,
    development: Mapping[str, Source | WordCounts] | None = None,
    ratios: Mapping[str, float] | None = None,
    pooled: int = 0,
    window: int = 0,
    window_share: float = 2.0,
    splitter: SplitterLike = "gpt2",
    normalizer: NormalizerLike = "none",
    special_tokens: Sequence[str] = (),
    byte_level: bool = True,
    alphabet: Literal["full", "corpus"] = "full",
    tie_break: Literal["ids", "bytes"] = "ids",
    min_frequency: int = 0,
    max_token_length: int | None = None,
    whole_characters: bool = False,
    reading: Reading | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Parity:
    """Train BPE on several languages so that they cost about the same.

    Each merge is the best pair of the language with the highest cost so far.

    Defined in ALGORITHMS.md, B11.

    languages: a corpus (see `count`), or word counts of one splitter and normalizer, by language. development: parallel
    text by language; the cost of a language is then the number of its ids. Without it, the cost is ids per byte of the
    training text. ratios: a language may cost this many times as much as the others (1). pooled: this many of the first
    merges are the best of all languages together ("hybrid"). window: a language is passed over while it has chosen
    window_share / (number of languages) of the last `window` merges; 0 for no window. The others: as in `train`.

    Warns (SubwordsWarning) if there are fewer than vocab_size tokens. Raises InputError for options that do not fit,
    CorpusError or TrainingError for a language without words. Hazard: counts decide only within a language, so corpora
    of different sizes need no weights, and a tiny one gets merges that occur once unless min_frequency says otherwise.

    >>> import subwords
    >>> texts = {"en": ["the weather of the other"] * 9, "de": ["das Wetter der anderen"]}
    >>> found = subwords.train_parity(texts, vocab_size=264, splitter="gpt2")
    >>> [(language.name, language.merges, round(language.after, 2)) for language in found.languages]
    [('en', 3, 0.58), ('de', 5, 0.64)]

    Source: N. Foroutan, C. Meister et al., arXiv 2508.04796.
    """
    names = _names(languages)
    check_choice("tie_break", tie_break, ("ids", "bytes"))
    options: dict[str, Any] = {"byte_level": byte_level, "tie_break": tie_break, "min_frequency": min_frequency}
    options |= {"max_token_length": max_token_length, "whole_characters": whole_characters}
    options |= {"alphabet": alphabet} if byte_level else {}
    options |= {"vocab_size": vocab_size, "special_tokens": special_tokens}
    settings: BPESettings = settings_of("bpe", options)
    scales = _scales(names, ratios)
    limits = _window(window, window_share, len(names))
    check_integer("pooled", pooled, 0, MOST)
    rules = rules_of("bpe", settings, splitter, normalizer)

    def counted(name: str, source: Source | WordCounts) -> WordCounts:
        how = None if isinstance(source, WordCounts) else reading
        try:
            return counts_of(source, rules, reading=how, threads=threads, progress=progress)
        except CorpusError as error:
            raise CorpusError(f"{name}: {error}") from error

    counts = {name: counted(name, languages[name]) for name in names}
    _refuse_empty(counts, "")
    measured = None
    if development is not None:
        if not isinstance(development, Mapping):
            raise InputError(f"expected development as a dict of corpora by language, not {development!r:.60}")
        if {*development} != {*names}:
            raise InputError(f"expected development text of the languages {names!r:.200}, not {[*development]!r:.200}")
        measured = {name: counted(name, development[name]) for name in names}
        _refuse_empty(measured, "development ")
    shown = counts if measured is None else measured
    costs = [1.0 if measured else 1.0 / length_of(part) for part in shown.values()]
    choice = Choice(scales * np.array(costs), *limits)
    held = None if measured is None else [*measured.values()]
    with progress_line(None, "indexing", unit="tokens", enabled=progress) as bar:
        found = parity_merges(
            [*counts.values()], held, settings, choice, pooled=pooled, threads=threads, on_step=bar.phase
        )
    model = model_of(found.vocab, found.merges, settings)
    if len(model.vocab) < vocab_size:
        warnings.warn(
            f"fewer tokens than asked for: {len(model.vocab)} instead of {vocab_size}; no language has a pair left to "
            "merge. Use more text, or lower vocab_size or min_frequency",
            SubwordsWarning,
            stacklevel=2,
        )
    chosen = Counter(found.picks.tolist())
    rows = tuple(
        LanguageCost(name, chosen[k], found.before[k] * costs[k], found.after[k] * costs[k])
        for k, name in enumerate(names)
    )
    order = tuple(None if pick == layout.NO_LANGUAGE else names[pick] for pick in found.picks.tolist())
    return Parity(Tokenizer(family_named("bpe").assemble(model, settings, *rules[:2])), rows, order, not measured)


def _names(languages: object) -> list[str]:
    if not isinstance(languages, Mapping) or not languages:
        raise InputError(f"expected a dict of corpora by language, not {languages!r:.60}")
    if wrong := [name for name in languages if not isinstance(name, str)]:
        raise InputError(f"expected the names of languages as texts, not {wrong[0]!r:.60}")
    return [*languages]


def _refuse_empty(counts: dict[str, WordCounts], what: str) -> None:
    if empty := [name for name, part in counts.items() if not len(part)]:
        raise TrainingError(f"no words to learn from: the {what}text of {', '.join(empty):.200} is empty")


def _scales(names: list[str], ratios: Mapping[str, float] | None) -> NDArray[np.float64]:
    if not isinstance(ratios, Mapping | None):
        raise InputError(f"expected ratios as a dict of numbers by language, not {ratios!r:.60}")
    given = dict(ratios or {})
    if unknown := [name for name in given if name not in names]:
        raise InputError(f"expected ratios of the languages {names!r:.200}, not of {unknown[0]!r:.60}")
    for name, ratio in given.items():
        if isinstance(ratio, bool) or not isinstance(ratio, int | float) or not 0 < ratio < math.inf:
            raise InputError(f"expected the ratio of {name!r} to be a positive number, not {ratio!r:.60}")
    return 1.0 / np.array([float(given.get(name, 1.0)) for name in names])


def _window(window: int, window_share: float, languages: int) -> tuple[int, int]:
    """Return the window, and how many of its merges a language may choose."""
    check_integer("window", window, 0, MOST)
    if isinstance(window_share, bool) or not isinstance(window_share, int | float) or not 1 <= window_share < math.inf:
        raise InputError(f"expected window_share to be a number of at least 1, not {window_share!r:.60}")
    if window and window < languages:
        raise InputError(f"expected a window of at least {languages} merges, one for each language, not {window}")
    return window, max(1, int(window_share * window / languages))
