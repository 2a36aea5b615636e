"""Measured: the documents of a corpus as rows of integers, with the ids of one or several tokenizers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.groups import grouped_blocks
from subwords.corpus.read import read_blocks
from subwords.corpus.reading import Reading, Tally
from subwords.corpus.source import Source, source_size
from subwords.corpus.specials import Part
from subwords.engine.documents import PartEncoder, in_parts
from subwords.errors import InputError
from subwords.kernels.layout import CHARACTERS_OF, IN_WORD, MEASURED_ROW, SPACELESS, SPACELESS_OF, WORDS_OF
from subwords.results.token_batch import TokenBatch
from subwords.support.checks import check_string

if TYPE_CHECKING:
    from subwords.corpus.blocks import Block

__all__ = [
    "ALL",
    "BYTES",
    "CHARACTERS",
    "COLUMNS",
    "FIRST_TOKENS",
    "SPACELESS_CHARACTERS",
    "WORDS",
    "Corpus",
    "Documents",
    "MeasuredPart",
    "groups_of",
    "measured_parts",
    "size_of_corpus",
    "word_classes",
]

Corpus: TypeAlias = Source | Mapping[str, Source]

BLOCK = 1 << 21  # bytes of text that are encoded at once
ALL = "all"  # the name of the only group
# The columns of a document; those of each tokenizer follow.
BYTES, CHARACTERS, WORDS, SPACELESS_CHARACTERS, FIRST_TOKENS = range(5)
COLUMNS = 2  # of a tokenizer: its ids, and those of them that are unknown

# Scripts that are written without spaces between words.
_SPACELESS_SCRIPTS = (
    *("Han", "Hiragana", "Katakana", "Bopomofo", "Yi", "Tangut", "Nushu", "Thai", "Lao", "Khmer", "Myanmar"),
    *("Tibetan", "Javanese", "Balinese", "Tai_Tham", "New_Tai_Lue", "Tai_Viet"),
)


class MeasuredPart(NamedTuple):
    """Some documents; the first may continue that of the previous part, and the last may go on in the next.

    rows: int64, one for each text of the part. batches: the ids by tokenizer. counts: how often each id occurs, by
    tokenizer. seconds: that a thread took to encode, by tokenizer.
    """

    part: Part
    rows: NDArray[np.int64]
    batches: tuple[TokenBatch, ...]
    counts: tuple[NDArray[np.int64], ...]
    seconds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A tokenizer that measures a corpus: its encoder, the id of its unk token, and its number of ids."""

    encoder: PartEncoder
    unk_id: int | None
    size: int


@cache
def word_classes() -> NDArray[np.uint8]:
    r"""Return IN_WORD (\w) and SPACELESS for every code point, uint8 of shape (0x110000,)."""
    from subwords.unicode.tables import property_members

    classes = property_members("Word").astype(np.uint8) * np.uint8(IN_WORD)
    for script in _SPACELESS_SCRIPTS:
        classes |= property_members(script).astype(np.uint8) * np.uint8(SPACELESS)
    classes.flags.writeable = False
    return classes


def groups_of(
    corpus: Corpus, by: str | None, reading: Reading, *, on_bytes: Callable[[int], object], tally: Tally, threads: int
) -> Iterator[tuple[str, Iterable[Block]]]:
    """Yield groups and blocks of their next documents; a group may come several times. See `evaluate`."""
    if by is not None:
        check_string("by", by)
    if isinstance(corpus, Mapping):
        if by is not None:
            raise InputError("by is for one corpus; this is a dict, whose keys name the groups: leave by out")
        if not corpus:
            raise InputError("expected corpora by group, got an empty dict")
        for name, source in corpus.items():
            check_string("the name of a group", name)
            yield name, read_blocks(
                source, reading, block_size=BLOCK, on_bytes=on_bytes, tally=tally, threads=threads
            )
    elif by is not None:
        yield from grouped_blocks(corpus, by, reading, block_size=BLOCK, on_bytes=on_bytes, tally=tally)
    else:
        blocks = read_blocks(corpus, reading, block_size=BLOCK, on_bytes=on_bytes, tally=tally, threads=threads)
        yield ALL, blocks


def size_of_corpus(corpus: Corpus) -> int | None:
    """Return the size of a corpus in bytes, None if it is unknown; see `source_size`."""
    if not isinstance(corpus, Mapping):
        return source_size(corpus)
    sizes = [source_size(source) for source in corpus.values()]
    return None if None in sizes else sum(size or 0 for size in sizes)


def measured_parts(
    encoders: tuple[Encoded, ...],
    blocks: Iterable[Block],
    threads: int,
    each: Callable[[Part], object] = lambda part: None,
) -> Generator[MeasuredPart, None, None]:
    """Yield the parts of blocks in order. With several tokenizers a document is in memory as a whole.

    each: is called with every part, on the thread that measures it.
    """
    classes = word_classes()

    def run(part: Part) -> MeasuredPart:
        rows = np.zeros((len(part.bounds) - 1, FIRST_TOKENS + COLUMNS * len(encoders)), np.int64)
        rows[:, BYTES] = np.diff(part.bounds)
        _measure(part, classes, rows)
        batches, counts, seconds = list[TokenBatch](), list[NDArray[np.int64]](), list[float]()
        for number, encoded in enumerate(encoders):
            started = perf_counter()
            batch = encoded.encoder.encode(part)
            seconds.append(perf_counter() - started)
            column = FIRST_TOKENS + COLUMNS * number
            rows[:, column] = np.diff(batch.offsets)
            if encoded.unk_id is not None:
                unknown = np.flatnonzero(batch.ids == encoded.unk_id)
                rows[:, column + 1] = np.diff(np.searchsorted(unknown, batch.offsets))
            batches.append(batch)
            counts.append(np.bincount(batch.ids, minlength=encoded.size))
        each(part)
        return MeasuredPart(part, rows, tuple(batches), tuple(counts), tuple(seconds))

    cut = encoders[0].encoder.cut if len(encoders) == 1 else None
    return in_parts(blocks, cut, run, threads)


def _measure(part: Part, classes: NDArray[np.uint8], rows: NDArray[np.int64]) -> None:
    from subwords.kernels.text.measure import measure_texts

    found = np.empty((len(rows), MEASURED_ROW), np.int64)
    measure_texts(np.frombuffer(part.text, np.uint8), part.bounds, classes, found.reshape(-1))
    rows[:, CHARACTERS], rows[:, WORDS] = found[:, CHARACTERS_OF], found[:, WORDS_OF]
    rows[:, SPACELESS_CHARACTERS] = found[:, SPACELESS_OF]


class Documents:
    """Joins the rows of documents that are cut into parts."""

    def __init__(self) -> None:
        self._open: NDArray[np.int64] | None = None
        self._in_word = False

    def whole(self, found: MeasuredPart) -> NDArray[np.int64]:
        """Return the rows of the documents that end in this part."""
        rows, part = found.rows, found.part
        if self._open is not None:
            rows[0] += self._open
            # A word that was cut has been counted on both sides.
            rows[0, WORDS] -= self._in_word and _is_in_word(part.text[:4], 0)
            self._open = None
        if part.ends:
            return rows
        self._open, self._in_word = rows[-1].copy(), _is_in_word(part.text[-4:], -1)
        return rows[:-1]


def _is_in_word(data: bytes, at: int) -> bool:
    """Whether the first or last character of a text is part of a word."""
    text = data.decode("utf-8", "ignore")
    return bool(text) and bool(word_classes()[ord(text[at])] & IN_WORD)
