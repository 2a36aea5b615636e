"""Many texts to ids with their places, by kernels.

Texts are joined, normalized, split and encoded together; then a kernel finds the places of all ids. A text whose ids do
not add up to its words is located alone, by `spans.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.encode.batch import PART
from subwords.encode.encoder import Encoder
from subwords.encode.segmenter import NO_KINDS
from subwords.encode.traced import Words, encode_traced, words_of
from subwords.engine.spelling import Spelling
from subwords.errors import InputError
from subwords.kernels import layout
from subwords.kernels.layout import IdSizes, IdWords, Origins, Placed, Row, Source
from subwords.kernels.named import count_characters, gather_pieces, place_ids
from subwords.normalize.normalizer import NormalizerEngine
from subwords.normalize.stages import Origin
from subwords.split.routes import NO_OFFSETS
from subwords.split.splitter import SplitterEngine
from subwords.support.threads import in_threads, thread_count

if TYPE_CHECKING:
    from subwords.engine.added_tokens import Pass
    from subwords.engine.spans import Located
    from subwords.engine.trimmed import Trimmer

__all__ = ["NO_ROW", "Placement", "Placer", "Unknown", "begins", "gathered", "merged", "named_unknown"]

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]

NO_CHARS = np.zeros(0, np.int32)
NO_ENTRIES = np.zeros(0, np.int64)
NOWHERE = Origin(NO_OFFSETS, NO_OFFSETS)
_KINDS = (np.uint32, np.int64, np.int64, np.int32, np.int32, np.uint32, np.uint8, np.uint8)
NO_ROW = Row(*(np.zeros(0, kind) for kind in _KINDS))


class Placement(NamedTuple):
    """The ids of many texts and their places: text i has the entries offsets[i] to offsets[i + 1].

    byte_spans, spans: ranges, flat; `spans` is empty if all texts are ASCII. words: by id, the word in the text. names:
    by id, the index in `tokens` of a token outside the vocabulary, or -1; empty if all tokens are in it.
    """

    ids: NDArray[np.uint32]
    offsets: Offsets
    byte_spans: Offsets
    spans: Offsets
    words: NDArray[np.int32]
    names: NDArray[np.int32]
    tokens: list[str]


class _Part(NamedTuple):
    """Some of the texts, encoded."""

    source: Bytes
    bounds: Offsets
    data: Bytes  # the normalized texts
    ids: NDArray[np.uint32]
    offsets: Offsets
    words: list[Words]
    origin: Origin


class Unknown(NamedTuple):
    """Entries of unknown ids, see `Placed`, and the text that they are in."""

    entries: Offsets
    text: Bytes


class Placer:
    """Encodes texts without added tokens, with places.

    encoder: splits text by `finer`, which yields the same ids as `splitter`. sizes, spelling: of the encoder's ids.
    sees_start: whether words depend on where the input begins, beyond its normalized text.
    """

    sees_start = False

    def __init__(
        self,
        encoder: Encoder,
        splitter: SplitterEngine,
        finer: SplitterEngine,
        normalizer: NormalizerEngine | None,
        sizes: IdSizes,
        spelling: Spelling,
    ) -> None:
        self.encoder = encoder
        self.splitter = splitter
        self.finer = finer
        self.normalizer = normalizer
        self.sizes = sizes
        self._spelling = spelling
        self._unknown = np.flatnonzero(sizes.sizes == layout.UNKNOWN_RUN) if len(sizes.kinds) else NO_ENTRIES

    def place(
        self,
        texts: Sequence[str],
        alone: Callable[[str], Located],
        added: Pass,
        trimmer: Trimmer | None,
        threads: int | None,
    ) -> Placement | None:
        """Return the ids of texts with their places; None if `added` occurs in their normalized text, or see `begins`.

        alone: locates one text the long way, and trims its spans. trimmer: trims those of all others.
        """
        sizes = [*map(len, texts)] if len(texts) > 1 else [0]
        groups = [texts] if sum(sizes) <= PART else [*_groups(texts, sizes)]
        count = min(len(groups), thread_count(threads))
        made = [self._encoded(texts, added)] if count == 1 == len(groups) else []
        made = made or in_threads(lambda group: self._encoded(group, added), groups, count)
        parts = [part for part in made if part is not None]
        if len(parts) < len(groups):
            return None
        ids, offsets = _joined(parts)
        wide = any(not _is_ascii(part.source) for part in parts)
        byte_spans, words = np.empty(2 * len(ids), np.int64), np.empty(len(ids), np.int32)
        spans = np.empty(2 * len(ids), np.int64) if wide else NO_OFFSETS
        found = Placement(ids, offsets, byte_spans, spans, words, NO_CHARS, [])
        odd = np.zeros(len(texts), np.uint8)
        jobs = [(part, out, trimmer) for part, out in _jobs(parts, found, odd)]
        results = [self._placed(jobs[0])] if len(jobs) == 1 else in_threads(self._placed, jobs, count)
        found = self._with_unknown(found, parts, [unknown for _, unknown in results])
        return self._with_alone(found, texts, odd, alone) if any(strange for strange, _ in results) else found

    def _encoded(self, texts: Sequence[str], added: Pass) -> _Part | None:
        source, bounds = _bytes_of(texts)
        data, stops, origin = source, bounds, NOWHERE
        if self.normalizer is not None:
            data, stops, origin = self.normalizer.traced(source, bounds)
            if self.sees_start and not begins(stops, origin, bounds):
                return None
        if added and added.occurs(data.tobytes().decode("utf-8", "surrogateescape")):
            return None
        ids, offsets, words = encode_traced(self.encoder, self.finer, data, stops)
        if self.finer is not self.splitter:
            words = words_of(self.splitter, data, stops)
        return _Part(source, bounds, data, ids, offsets, words, origin)

    def _placed(self, job: tuple[_Part, Placed, Trimmer | None]) -> tuple[int, list[Unknown]]:
        """Write the places of the ids of a part: the number of texts whose places are not written; unknown ids."""
        part, out, trimmer = job
        sizes, unknown = self.sizes, []
        if len(self._unknown) and trimmer is None:
            count = int(np.count_nonzero(part.ids == self._unknown[0]))
            out = out._replace(unknown=np.empty(layout.UNKNOWNS.width * count, np.int64))
        elif trimmer is not None:  # it does not have their text
            sizes = sizes._replace(kinds=NO_KINDS)
        size = len(part.source)
        chars = NO_CHARS
        if len(out.spans):
            chars = np.empty(size + 1, np.int32)
            count_characters.by_size(size)(part.source, chars)
        source, start, kernel = (
            Source(part.bounds, chars),
            np.zeros(layout.START.width, np.int64),
            place_ids.by_size(size),
        )
        odd, first = 0, 0
        for words in part.words:
            texts = len(words.word_ends)
            start[layout.START.word_base], start[layout.START.first_text], start[layout.START.ends_text] = (
                words.base,
                first,
                words.complete,
            )
            text, before = (
                part.data if words.text is None else words.text,
                layout.UNKNOWNS.width * int(start[layout.START.next_unknown]),
            )
            id_ends = part.offsets[first + 1 : first + 1 + texts]
            id_words = IdWords(words.ends, words.begins, words.word_ends, id_ends, text)
            firsts, lasts = (NO_OFFSETS, NO_OFFSETS) if words.origin is None else words.origin
            origins = Origins(firsts, lasts, part.origin.begins, part.origin.ends)
            odd += kernel(part.ids, id_words, sizes, origins, source, out, start)
            if before < (upto := layout.UNKNOWNS.width * int(start[layout.START.next_unknown])):
                unknown.append(Unknown(out.unknown[before:upto], text))
            first += texts if words.complete else texts - 1
        if trimmer is not None:
            odd += trimmer.trim(part.ids, part.offsets, part.source, part.bounds, out)
        return odd, unknown

    def _with_unknown(self, found: Placement, parts: Sequence[_Part], unknown: list[list[Unknown]]) -> Placement:
        """Return the placement with the tokens of unknown ids: their text."""
        if not any(unknown):
            return found
        names, tokens, first = np.full(len(found.ids), -1, np.int32), [*found.tokens], 0
        for part, groups in zip(parts, unknown, strict=True):
            named_unknown(groups, names[first : first + len(part.ids)], tokens)
            first += len(part.ids)
        return found._replace(names=names, tokens=tokens)

    def _with_alone(
        self, found: Placement, texts: Sequence[str], odd: NDArray[np.uint8], alone: Callable[[str], Located]
    ) -> Placement:
        """Return the placement with the places of the odd texts."""
        names, tokens = found.names, [*found.tokens]
        if not len(names):
            names = np.full(len(found.ids), -1, np.int32)
        for number in np.flatnonzero(odd).tolist():
            start, stop = found.offsets[number : number + 2].tolist()
            one = alone(texts[number])
            assert np.array_equal(one.ids, found.ids[start:stop]), "a text has the same ids alone"
            found.byte_spans[2 * start : 2 * stop] = one.byte_spans.ravel()
            if len(found.spans):
                found.spans[2 * start : 2 * stop] = one.spans.ravel()
            found.words[start:stop], names[start:stop] = one.words, -1
            self._spelling.name(one, names[start:stop], tokens)
        return found._replace(names=names, tokens=tokens) if tokens else found


def named_unknown(groups: Sequence[Unknown], names: NDArray[np.int32], tokens: list[str]) -> None:
    """Append the text of unknown ids to `tokens`, each once, and write their numbers to `names`."""
    numbers: dict[bytes, int] = {}
    first = len(tokens)
    for entries, text in groups:
        data, rows = text.data, entries.reshape(-1, layout.UNKNOWNS.width)
        given = (data[begin:end].tobytes() for begin, end in rows[:, layout.UNKNOWNS.begin :].tolist())
        names[rows[:, layout.UNKNOWNS.id]] = [numbers.setdefault(each, first + len(numbers)) for each in given]
    tokens += [each.decode("utf-8", "replace") for each in numbers]


def merged(found: Placement, others: dict[int, Located], spelling: Spelling) -> Placement:
    """Return the places of all texts, in order: of those in `found`, and of the others, by their numbers."""
    located, first = [*others.values()], len(found.ids)
    sizes = np.array([len(one.ids) for one in located], np.int64)
    starts = first + np.cumsum(sizes) - sizes
    names, tokens = np.full(int(sizes.sum()), -1, np.int32), [*found.tokens]
    for one, start, size in zip(located, starts.tolist(), sizes.tolist(), strict=True):
        spelling.name(one, names[start - first : start - first + size], tokens)
    spans = found.spans if len(found.spans) else found.byte_spans
    known = found.names if len(found.names) else np.full(first, -1, np.int32)
    both = Placement(
        np.concatenate([found.ids, *(one.ids for one in located)]),
        found.offsets,
        np.concatenate([found.byte_spans, *(one.byte_spans.ravel() for one in located)]),
        np.concatenate([spans, *(one.spans.ravel() for one in located)]),
        np.concatenate([found.words, *(one.words.astype(np.int32) for one in located)]),
        np.concatenate([known, names]),
        tokens,
    )
    count = len(found.offsets) - 1 + len(others)
    plain = np.ones(count, np.bool_)
    plain[[*others]] = False
    pieces = np.zeros((count, layout.PIECE.width), np.int64)
    pieces[plain, layout.PIECE.start], pieces[plain, layout.PIECE.size] = found.offsets[:-1], np.diff(found.offsets)
    pieces[~plain, layout.PIECE.start], pieces[~plain, layout.PIECE.size] = starts, sizes
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(pieces[:, layout.PIECE.size])])
    row = gathered(both, pieces.ravel(), int(offsets[-1]))
    return Placement(row.ids, offsets, row.byte_spans, row.spans, row.words, row.names, tokens)


def gathered(found: Placement, pieces: Offsets, size: int) -> Row:
    """Return the entries of rows of pieces."""
    out = Row(
        np.empty(size, np.uint32),
        np.empty(2 * size, np.int64),
        np.empty(2 * size if len(found.spans) else 0, np.int64),
        np.empty(size, np.int32),
        np.empty(size, np.int32),
        np.empty(size, np.uint32),
        np.empty(size, np.uint8),
        np.empty(size, np.uint8),
    )
    row = Row(found.ids, found.byte_spans, found.spans, found.words, found.names, *NO_ROW[5:])
    gather_pieces.by_size(size)(pieces, row, out)
    for array in out:
        array.flags.writeable = False
    return out


def begins(stops: Offsets, origin: Origin, bounds: Offsets) -> bool:
    """Whether each normalized text begins with the text that it comes from: `stops` are the bounds of the former."""
    filled = stops[:-1] < stops[1:]
    return bool((origin.begins[stops[:-1][filled]] == bounds[:-1][filled]).all())


def _groups(texts: Sequence[str], sizes: list[int]) -> Iterator[Sequence[str]]:
    """Yield the texts in groups of about PART characters."""
    first, size = 0, 0
    for k, length in enumerate(sizes):
        if size >= PART:
            yield texts[first:k]
            first, size = k, 0
        size += length
    yield texts[first:]


def _bytes_of(texts: Sequence[str]) -> tuple[Bytes, Offsets]:
    """Return the joined UTF-8 of texts, and its bounds; InputError for lone surrogates and for too much text."""
    string = texts[0] if len(texts) == 1 else "".join(texts)
    try:
        data = string.encode()
    except UnicodeEncodeError:
        raise InputError("expected text without lone surrogates") from None
    if len(data) > layout.MOST_BYTES:
        raise InputError(f"expected at most {layout.MOST_BYTES} bytes of text")
    bounds = np.zeros(len(texts) + 1, np.int64)
    if len(texts) == 1:
        bounds[1] = len(data)
    else:
        sizes = map(len, texts) if len(data) == len(string) else (len(text.encode()) for text in texts)
        np.cumsum(np.fromiter(sizes, np.int64, len(texts)), out=bounds[1:])
    return np.frombuffer(data, np.uint8), bounds


def _is_ascii(data: Bytes) -> bool:
    return data.tobytes().isascii()


def _joined(parts: Sequence[_Part]) -> tuple[NDArray[np.uint32], Offsets]:
    if len(parts) == 1:
        return parts[0].ids, parts[0].offsets
    shifts = np.cumsum([0, *(len(part.ids) for part in parts)])
    offsets = [part.offsets[1:] + shift for part, shift in zip(parts, shifts, strict=False)]
    return np.concatenate([part.ids for part in parts]), np.concatenate([np.zeros(1, np.int64), *offsets])


def _jobs(parts: Sequence[_Part], found: Placement, odd: NDArray[np.uint8]) -> Iterator[tuple[_Part, Placed]]:
    """Yield each part with its share of the result."""
    start = first = 0
    for part in parts:
        stop, last = start + len(part.ids), first + len(part.bounds) - 1
        two = slice(2 * start, 2 * stop)
        yield (
            part,
            Placed(found.byte_spans[two], found.spans[two], found.words[start:stop], odd[first:last], NO_ENTRIES),
        )
        start, first = stop, last
