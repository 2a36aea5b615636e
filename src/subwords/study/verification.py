"""Proofs: that each merge of a tokenizer was the best one on given counts; that ids are those of their text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from subwords import Special, Text, WordCounts
from subwords.adapt.extending import MergeLimits
from subwords.adapt.words import apart_ids, symbol_words_of_ids
from subwords.machine import (
    BPE,
    TIES,
    CountLoop,
    MergeOf,
    MergeRules,
    Pairs,
    Vocab,
    as_ids,
    counts_of,
    merge_plainly,
    need,
    rules_like,
    segmenter_of,
    tokenizer_of,
    word_ids,
    word_symbols,
)
from subwords.support.checks import check_choice, check_integer
from subwords.support.errors import InputError
from subwords.support.render import token_text
from subwords.support.report import Report, Table

if TYPE_CHECKING:
    from subwords import Reading
    from subwords.machine import Source, TokenizerLike


# ---------------------------------------------------------------------------------------------------------------------
# How often the pair of each merge occurred at its turn, and whether another one was better (B1, B2).

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class CheckedMerge:
    """A merge with its count at its turn, and the best pair at that time if it was another, with its count.

    pair, best: ids of the model. best is None if the merge itself was the best pair.
    """

    rank: int
    pair: Pair
    count: int
    best: Pair | None = None
    best_count: int = 0


def one_merge_each(model: BPE) -> BPE:
    """Return the model with the one merge of each token that training made, in order of rank.

    Rank files and .model files do not say which two tokens were merged: any two that join to a token do. Training made
    it of the two that are left when its own text is merged without it. Tokens that are not left with two are lost.
    """
    if model.ranks is None:
        return model
    every = segmenter_of(model).pairs
    made = list[tuple[int, int, int]]()
    for result in dict.fromkeys(model.merges[:, 2].tolist()):
        row = merge_plainly(_without(every, result), word_symbols(model, model.vocab[result]))
        if len(row) == 2:
            made.append((row[0].id, row[1].id, result))
    merges = np.array(made, np.int64).reshape(-1, 3)
    return replace(model, merges=merges, ranks=None, whole_words=False)


def _without(pairs: Pairs, result: int) -> MergeOf:
    """Return the merges of pairs without those that make one token."""
    return lambda pair: found if (found := pairs.get(pair)) and found[1] != result else None


def learned_merges(
    model: BPE, counts: WordCounts, tie_break: str = "ids", threads: int | None = None
) -> Iterator[CheckedMerge]:
    """Yield every merge of a model with its count, in order of rank.

    The loop of training runs; where it merges another pair than the model did, it starts again after the model's merge.
    So this takes as many runs as there are differences. A better pair whose token no merge of the model makes is told
    once, and left out of later runs: the trainer refused it, or the merge is missing. tie_break: ids are those of the
    alphabet, then of the merges in order. InputError for a model that is not made of merges alone.
    """
    if model.words_only or model.parts or model.unused_ids or model.marked or model.ranks is not None:
        raise InputError("expected a BPE model of merges in order, without prefix, suffix and unused tokens")
    if model.special_ids & {*model.merges[:, 2].tolist()}:
        raise InputError("expected a BPE model without merges that make a special token")
    model, done, refused = replace(model, whole_words=False), 0, list[bytes]()
    made = {model.vocab[index] for index in model.merges[:, 2].tolist()}
    while done < len(model.merges):
        begun = _Begun(model, done, counts, threads)
        pairs, found = begun.merged(tie_break, refused)
        own = model.merges[done:, :2]
        same = np.all(pairs == own[: len(pairs)], axis=1)
        number = len(same) if same.all() else int(np.argmin(same))
        for k in range(number):
            yield CheckedMerge(done + k, _pair(own[k]), int(found[k]))
        done += number
        if done == len(model.merges):
            return
        count = _Begun(model, done, counts, threads).count_of(_pair(own[number]))
        if number < len(pairs):
            best = _pair(pairs[number])
            yield CheckedMerge(done, _pair(own[number]), count, best, int(found[number]))
            if (joint := model.vocab[best[0]] + model.vocab[best[1]]) not in made:
                refused.append(joint)
        else:  # no pair is left, but the model has a merge
            yield CheckedMerge(done, _pair(own[number]), count, None if count else _pair(own[number]))
        done += 1


class _Begun:
    """Words after the first merges of a model, in ids of the alphabet, then of the merges in order."""

    def __init__(self, model: BPE, done: int, counts: WordCounts, threads: int | None) -> None:
        size, results = len(model.vocab), model.merges[:, 2]
        base = np.setdiff1d(np.arange(size), results)
        self.order = np.concatenate([base, results])  # the model's id of each id here
        new = np.full(size, -1, np.int64)
        new[self.order] = np.arange(len(self.order))
        self.new, self.size, self.whole = new, len(base) + done, len(self.order)
        tokens = [*model.vocab]
        self.base = [tokens[index] for index in self.order[: self.size].tolist()]
        special = frozenset(new[list(model.special_ids)].tolist()) if model.special_ids else frozenset[int]()
        self.model = replace(
            model,
            vocab=Vocab(self.base),
            merges=new[model.merges[:done]],
            special_ids=special,
            literal_ids=frozenset(new[list(model.literal_ids)].tolist()) if model.literal_ids else frozenset(),
            user_ids=frozenset(new[list(model.user_ids)].tolist()) if model.user_ids else frozenset(),
            unk_id=None if model.unk_id is None else int(new[model.unk_id]),
        )
        self.counts, self.ids = counts, word_ids(self.model, counts, threads)

    @property
    def apart(self) -> NDArray[np.bool_]:
        """The ids that split a word."""
        return apart_ids(self.model)

    def merged(self, tie_break: str, refused: Sequence[bytes] = ()) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the pairs that training merges from here on, in ids of the model, and their counts.

        refused: strings that no merge may make.
        """
        words = symbol_words_of_ids(self.ids, self.counts.counts, self.apart, in_order=tie_break == "first")
        base, limits = [*self.base, *refused], MergeLimits(self.whole + len(refused), tie_break)
        lengths, classes = np.ones(len(base), np.int32), np.zeros(len(base), np.uint8)
        taken = np.arange(self.size, len(base), dtype=np.int32)
        rules = MergeRules(lengths, classes, np.zeros(1, np.uint8), taken) if refused else None
        loop = CountLoop(words, self.counts.total // (16 * self.whole), base, limits, 0, rules)
        loop.run(lambda phase, done, total: None)
        merges, found = loop.learned
        order = np.insert(self.order, self.size, [-1] * len(refused))  # the refused ones are in no word
        return order[merges[:, :2]], found

    def count_of(self, pair: Pair) -> int:
        """Return the count of a pair, in ids of the model."""
        left, right = (int(self.new[index]) for index in pair)
        ids, starts = self.ids.ids, np.zeros(len(self.ids.ids) + 1, np.bool_)
        starts[self.ids.offsets] = True
        at = np.flatnonzero((ids[:-1] == left) & (ids[1:] == right) & ~starts[1:-1])
        words = np.searchsorted(self.ids.offsets, at, side="right") - 1
        return int(self.counts.counts[words].sum(dtype=np.uint64))


def _pair(row: NDArray[np.int64]) -> Pair:
    return int(row[0]), int(row[1])


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
    alphabet, then of the merges in order. limit: stop after so many deviations; each takes a run of training.
    reading: of a corpus; HF's trainer reads lines, Reading(documents="line"). Raises InputError for a tokenizer that is
    not made of merges alone, and for counts of another splitter or normalizer.
    Hazard: a pair that training refused (max_token_length, whole_characters, SentencePiece's rules of scripts and
    digits) is reported once as a better one.

    >>> import subwords
    >>> counts = subwords.count(["low lower lowest"] * 9)
    >>> print(subwords.study.verify_training(subwords.train(counts, vocab_size=262), counts))
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
            pairs = (learned.pair, learned.best)
            merge, best = ((token_text(model.vocab[left]), token_text(model.vocab[right])) for left, right in pairs)
            deviations.append(Deviation(learned.rank, merge, learned.count, best, learned.best_count))
            if len(deviations) == limit:
                break
    return Replay(tie_break, len(single.merges), len(found), tuple(deviations), tuple(found), missing)


# ---------------------------------------------------------------------------------------------------------------------
# Canonical ids, and the effect of joining two texts on their ids.


def canonicalize(tokenizer: TokenizerLike, ids: Iterable[int] | NDArray[np.integer[Any]]) -> list[int]:
    """Return the ids that the text of some ids gets; added tokens stay as they are.

    Raises InputError for ids that the tokenizer does not have.
    Hazard: a lossy tokenizer decodes ids to another text, so the result may stand for another text too: ids of unknown
    text are never canonical.

    >>> import subwords
    >>> tok = subwords.train(["low lower"] * 9, vocab_size=259)
    >>> subwords.study.canonicalize(tok, tok.encode("l") + tok.encode("ow")) == tok.encode("low")
    True
    """
    tokenizer = tokenizer_of(tokenizer)
    added = {token.id: token.content for token in tokenizer.spec.added_tokens}
    parts: list[Text | Special] = []
    for is_added, run in groupby(as_ids(ids).tolist(), added.__contains__):
        if is_added:
            parts += [Special(added[index]) for index in run]
        elif tokenizer.lossless:
            parts.append(Text(tokenizer.decode_bytes(list(run))))
        else:
            parts.append(Text(tokenizer.decode(list(run))))
    return tokenizer.encode(parts) if parts else []


def is_canonical(tokenizer: TokenizerLike, ids: Iterable[int] | NDArray[np.integer[Any]]) -> bool:
    """Return whether ids are those that encoding gives for their text; see `canonicalize`.

    >>> import subwords
    >>> tok = subwords.train(["low lower"] * 9, vocab_size=259)
    >>> [subwords.study.is_canonical(tok, ids) for ids in (tok.encode("low"), tok.encode("l") + tok.encode("ow"))]
    [True, False]
    """
    found: list[int] = as_ids(ids).tolist()
    return canonicalize(tokenizer, found) == found


@dataclass(frozen=True)
class BoundaryDifference(Report):
    """What differs where two texts meet: the ids of both, of the whole, and the first and last place that differ.

    start: the number of equal ids at the start; stop: the number of equal ids at the end.
    """

    apart: tuple[int, ...]
    whole: tuple[int, ...]
    start: int
    stop: int

    def tables(self) -> list[Table]:
        """Return the ids of both, one after the other, and those of the whole."""
        rows = [("apart", " ".join(map(str, self.apart))), ("whole", " ".join(map(str, self.whole)))]
        rows += [("equal at the start", str(self.start)), ("equal at the end", str(self.stop))]
        return [Table(("text", "ids"), rows, "Ids where two texts meet", "tab:boundary")]


def boundary_difference(tokenizer: TokenizerLike, text: str, pair: str) -> BoundaryDifference | None:
    """Return where the ids of two texts, one after the other, differ from those of the joined text; None if nowhere.

    Prompts and their answers, and documents that are joined as ids, meet at such places.

    >>> import subwords
    >>> tok = subwords.train(["low lower"] * 9, vocab_size=259)
    >>> found = subwords.study.boundary_difference(tok, "l", "ow")
    >>> len(found.apart), len(found.whole)
    (3, 1)
    """
    tokenizer = tokenizer_of(tokenizer)
    if not isinstance(text, str) or not isinstance(pair, str):
        raise InputError(f"expected two texts as str, not {type(text).__name__} and {type(pair).__name__}")
    apart, whole = [*tokenizer.encode(text), *tokenizer.encode(pair)], tokenizer.encode(text + pair)
    if apart == whole:
        return None
    most = min(len(apart), len(whole))
    start = next((k for k in range(most) if apart[k] != whole[k]), most)
    stop = next((k for k in range(most - start) if apart[-1 - k] != whole[-1 - k]), most - start)
    return BoundaryDifference(tuple(apart), tuple(whole), start, stop)
