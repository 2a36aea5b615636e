"""Measured: characters, words and ids of the documents of a corpus, as sums for each document."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.groups import grouped_blocks
from subwords.corpus.read import read_blocks
from subwords.corpus.reading import Reading, Tally
from subwords.corpus.specials import CorpusPart
from subwords.engine.documents import PartEncoder, in_parts
from subwords.errors import InputError
from subwords.kernels import layout

if TYPE_CHECKING:
    from subwords.corpus.blocks import Block
    from subwords.corpus.parts import Cut
    from subwords.corpus.source import Source
    from subwords.tokenizer import Tokenizer

__all__ = ["BYTES", "CHARACTERS", "FIELDS", "SPACELESS_CHARACTERS", "WORDS", "Measured", "measured"]

BLOCK = 1 << 21  # bytes of text at once
BYTES, CHARACTERS, WORDS, SPACELESS_CHARACTERS, FIELDS = range(5)  # of a document
# Scripts whose words are not separated by spaces: their runs of letters do not count as words.
NO_SPACES = ("Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan", "Tai_Tham", "New_Tai_Lue")
WHITESPACE = tuple(b" \n\t\r")
NEAR = 64  # cuts that are tried


@dataclass
class Measured:
    """Sums for each document, in the order of the corpus.

    texts: int64, (FIELDS, documents). tokens: int64, (tokenizers, documents). groups: the number of each
    document's group in `names`. counts: how often each id occurs, for each tokenizer. seconds: of encoding, of all
    threads together. without_text: groups that have no text, which are not in `names`. incomplete: groups with
    documents that are empty or were left out.
    """

    names: list[str]
    groups: NDArray[np.int64]
    texts: NDArray[np.int64]
    tokens: NDArray[np.int64]
    counts: list[NDArray[np.int64]]
    seconds: list[float]
    tally: Tally = field(default_factory=Tally)
    without_text: tuple[str, ...] = ()
    incomplete: tuple[str, ...] = ()

    def sums(self, group: int | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the sums of the texts and of the tokens of all documents, or of a group."""
        chosen = slice(None) if group is None else self.groups == group
        return self.texts[:, chosen].sum(axis=1), self.tokens[:, chosen].sum(axis=1)


@cache
def word_classes() -> NDArray[np.uint8]:
    """Return IN_WORD and SPACELESS for every code point: letters, marks and digits are in words."""
    from subwords.unicode.tables import property_members

    spaceless = np.zeros(0x110000, np.bool_)
    for script in NO_SPACES:
        spaceless |= property_members(script)
    within = property_members("L") | property_members("M") | property_members("N")
    spaceless &= within
    return (within & ~spaceless) * np.uint8(layout.IN_WORD) + spaceless * np.uint8(layout.SPACELESS)


def measured(
    tokenizers: list[Tokenizer],
    corpus: Source | Mapping[str, Source],
    *,
    by: str | None,
    reading: Reading,
    threads: int | None,
    on_bytes: Callable[[int], object],
) -> Measured:
    """Return the sums of a corpus. by: see `grouped_blocks`; None for one group. A mapping gives the groups itself."""
    tally = Tally()
    streams = _streams(corpus, by, reading, on_bytes, tally)
    encoders = [PartEncoder(tok._engine) for tok in tokenizers]
    sizes = [len(tok.model.vocab) for tok in tokenizers]
    counts = [np.zeros(size, np.int64) for size in sizes]
    for encoder in encoders:  # what is compiled or built at the first call is not in the seconds
        with suppress(InputError):  # a model may not know this letter, which is not the caller's
            encoder.encode(CorpusPart(b"a", np.array([0, 1], np.int64), 0, begins=True, ends=True))
    sums, seconds = _Sums(len(tokenizers)), [0.0] * len(tokenizers)
    missing: dict[str, int] = {}  # documents without text, of each group
    for name, blocks in streams:
        before = tally.empty + tally.skipped
        cut = _cut(encoders)

        def run(part: CorpusPart) -> _Part:
            return _of_part(part, encoders, sizes)

        for found in in_parts(blocks, cut, run, threads):
            sums.add(name, found)
            for k, (ids, spent) in enumerate(found.ids):
                counts[k] += ids
                seconds[k] += spent
        missing[name] = missing.get(name, 0) + tally.empty + tally.skipped - before
    names, groups, texts, tokens = sums.arrays()
    without_text = tuple(name for name in missing if name not in names)
    incomplete = tuple(name for name, number in missing.items() if number)
    return Measured(names, groups, texts, tokens, counts, seconds, tally, without_text, incomplete)


def _streams(
    corpus: Any, by: str | None, reading: Reading, on_bytes: Callable[[int], object], tally: Tally
) -> Iterable[tuple[str, Iterable[Block]]]:
    how: Any = {"block_size": BLOCK, "on_bytes": on_bytes, "tally": tally}
    if isinstance(corpus, Mapping):
        if by is not None:
            raise InputError("by is for one corpus; a dict of corpora has its groups already")
        return ((str(name), read_blocks(source, reading, **how)) for name, source in corpus.items())
    if by is None:
        return [("all", read_blocks(corpus, reading, **how))]
    return grouped_blocks(corpus, by, reading, **how)


def _cut(encoders: list[PartEncoder]) -> Cut | None:
    """Return where documents may be cut: where no tokenizer's ids change, next to whitespace, which is in no word."""
    cuts = [encoder.cut for encoder in encoders]
    if not all(cuts):
        return None

    def cut(text: NDArray[np.uint8], at: int, *, begins: bool = True) -> int:
        for _ in range(NEAR):
            places = {one(text, at, begins=begins) for one in cuts if one is not None}
            at = min(places)
            if len(places) == 1 and (not at or int(text[at - 1]) in WHITESPACE or int(text[at]) in WHITESPACE):
                return at
            at -= len(places) == 1
            if at <= 0:
                return 0
        return 0

    return cut


@dataclass
class _Part:
    texts: NDArray[np.int64]
    tokens: NDArray[np.int64]
    ids: list[tuple[NDArray[np.int64], float]]
    begins: bool


def _of_part(part: CorpusPart, encoders: list[PartEncoder], sizes: list[int]) -> _Part:
    from subwords.kernels.named import count_ids, measure_texts

    texts = np.empty((FIELDS, len(part.bounds) - 1), np.int64)
    rows = np.empty((texts.shape[1], layout.MEASURED.width), np.int64)
    measure_texts(np.frombuffer(part.text, np.uint8), part.bounds, word_classes(), rows.ravel())
    texts[BYTES] = np.diff(part.bounds)
    texts[[CHARACTERS, WORDS, SPACELESS_CHARACTERS]] = rows.T[
        [layout.MEASURED.characters, layout.MEASURED.words, layout.MEASURED.spaceless]
    ]
    tokens, ids = [], []
    for encoder, size in zip(encoders, sizes, strict=True):
        start = time.thread_time()  # of this thread alone, whatever else runs
        batch = encoder.encode(part)
        spent = time.thread_time() - start
        tokens.append(np.diff(batch.offsets))
        times = np.zeros(size, np.int64)
        count_ids(batch.ids, times)
        ids.append((times, spent))
    return _Part(texts, np.array(tokens, np.int64).reshape(len(encoders), -1), ids, part.begins)


class _Sums:
    """Collects the sums of documents, of which some come in several parts."""

    def __init__(self, tokenizers: int) -> None:
        self._names: dict[str, int] = {}
        self._groups: list[NDArray[np.int64]] = []
        self._texts: list[NDArray[np.int64]] = [np.zeros((FIELDS, 0), np.int64)]
        self._tokens: list[NDArray[np.int64]] = [np.zeros((tokenizers, 0), np.int64)]

    def add(self, name: str, part: _Part) -> None:
        """Add a part of a group's documents."""
        group = self._names.setdefault(name, len(self._names))
        texts, tokens = part.texts, part.tokens
        if not part.begins and texts.size:
            self._texts[-1][:, -1] += texts[:, 0]
            self._tokens[-1][:, -1] += tokens[:, 0]
            texts, tokens = texts[:, 1:], tokens[:, 1:]
        if texts.size:
            self._texts.append(texts)
            self._tokens.append(tokens)
            self._groups.append(np.full(texts.shape[1], group, np.int64))

    def arrays(self) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return names, groups, texts and tokens."""
        groups = np.concatenate([np.zeros(0, np.int64), *self._groups])
        return [*self._names], groups, np.concatenate(self._texts, axis=1), np.concatenate(self._tokens, axis=1)
