"""Texts to ids with their spans: in bytes, in characters, and by word.

Texts are joined, normalized, split and encoded together; then a kernel finds the spans from the sizes of the ids.
Texts with added tokens are cut into parts, which are encoded as texts are. If the sizes of a text's ids do not add up
to its words, its words are segmented again, one by one, by code that knows the bytes of each id.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subwords.engine.batch import PART
from subwords.engine.encoder import POOL, Encoder, EncoderState, TracedWords, encode_traced, trace_words
from subwords.kernels import layout
from subwords.kernels.layout import IdWords, Origins, Placed, Source
from subwords.kernels.named import count_characters, cover_text, place_ids
from subwords.models.segmenter import TextError, UnknownSymbolError
from subwords.normalize.stages import Origin
from subwords.spec.added_token import Input
from subwords.spec.normalizer import Form, SentencePiece
from subwords.spec.splitter import SPACE, Split
from subwords.spec.token_batch import batch_of, in_order
from subwords.spec.vocab import Vocab, tokens_to_text
from subwords.split.routes import NO_OFFSETS, SplitBuffers
from subwords.split.splitter import SplitterEngine
from subwords.split.word_spans import character_spans
from subwords.support.errors import InputError
from subwords.support.threads import in_threads, thread_count

if TYPE_CHECKING:
    from subwords.engine.added_tokens import AddedTokenFinder
    from subwords.engine.engine import Engine
    from subwords.engine.text_parts import TextSegment


Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]
_Named = list[tuple[int, bytes]]  # entries, and the text that is their token

NO_CHARS = np.zeros(0, np.int32)
# In rows, which make their arrays read-only; kernels take NO_OFFSETS and NO_CHARS as arrays that they could write to.
_NO_SPANS, _NO_NAMES = np.zeros(0, np.int64), np.zeros(0, np.int32)
UNCHANGED = Origin(NO_OFFSETS, NO_OFFSETS)
_TEXT = frozenset({str})


class Entries(NamedTuple):
    """The ids of many texts and their spans: text i has the entries offsets[i] to offsets[i + 1].

    byte_spans, spans: ranges, flat; `spans` is empty if all texts are ASCII. words: by id, the word in the text. names:
    by id, the index in `tokens` of a token that is not the one of its id, or -1; empty if there is none.
    """

    ids: NDArray[np.uint32]
    offsets: Offsets
    byte_spans: Offsets
    spans: Offsets
    words: NDArray[np.int32]
    names: NDArray[np.int32]
    tokens: list[str]


class _Words(NamedTuple):
    """A splitter, an encoder of its words, and the splitter of this encoder, whose finer words have the same ids."""

    encoder: Encoder
    splitter: SplitterEngine
    finer: SplitterEngine
    buffers: deque[SplitBuffers]


class _Batch(NamedTuple):
    """Texts, or parts of texts, that are encoded together; `data` is what they are normalized to."""

    words: _Words
    source: Bytes
    bounds: Offsets
    data: Bytes
    stops: Offsets
    origin: Origin
    wide: bool  # whether the source is not ASCII


class _Encoded(NamedTuple):
    batch: _Batch
    ids: NDArray[np.uint32]
    offsets: Offsets
    words: list[TracedWords]
    held: tuple[EncoderState, SplitBuffers | None] | None  # what the words belong to; see `encode_traced`


class SpanFinder:
    """Encodes texts with spans."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._sizes = sizes = engine.segmenter.id_sizes
        self._unknown = sizes is not None and len(sizes.kinds) > 0
        self._words = _words_of(engine.encoder, engine.splitter)

    @cached_property
    def _inside(self) -> _Words:
        """The words of a part that is not at the start of its text."""
        inside = self._engine.splitter.inside
        return self._words if inside is self._engine.splitter else _words_of(self._engine.inside_encoder, inside)

    def find(self, texts: Sequence[Input], special: str | AbstractSet[str], threads: int | None = 1) -> Entries:
        """Return the ids of texts with their spans. An error is a TextError if it is one of a text."""
        finder = self._engine.added.finder(special)
        try:
            whole = None
            if _TEXT.issuperset(map(type, texts)):
                whole = self._of_whole(texts, finder, threads)  # type: ignore[arg-type]
            return self._of_parts(texts, special, threads) if whole is None else whole
        except UnknownSymbolError as error:
            raise self._engine.unknown_among(texts, special, error) from None

    def _of_whole(self, texts: Sequence[str], finder: AddedTokenFinder, threads: int | None) -> Entries | None:
        """Return the entries of texts without added tokens; None if there are any, or for an error of one text."""
        one = len(texts) == 1
        if finder.literal and finder.literal.occurs(texts[0] if one else "\n".join(texts)):
            return None
        sizes = [0] if one else [*map(len, texts)]
        if sum(sizes) <= PART:
            made = [self._joined(texts, finder)]
        else:
            groups = [*_groups(texts, sizes)]
            count = min(len(groups), thread_count(threads))
            made = in_threads(lambda group: self._joined(group, finder), groups, count)
        found = [each for each in made if each is not None]
        return self._found(found, threads) if len(found) == len(made) else None

    def _joined(self, texts: Sequence[str], finder: AddedTokenFinder) -> _Encoded | None:
        """Return texts, encoded; None if one has a normalized added token, does not see its start, or is invalid."""
        engine, string = self._engine, texts[0] if len(texts) == 1 else "".join(texts)
        try:
            text = string.encode()
        except UnicodeEncodeError:
            return None
        bounds = np.zeros(len(texts) + 1, np.int64)
        if len(texts) == 1:
            bounds[1] = len(text)
        else:
            sizes = map(len, texts) if len(text) == len(string) else (len(each.encode()) for each in texts)
            np.cumsum(np.fromiter(sizes, np.int64, len(texts)), out=bounds[1:])
        batch = self._normalized(self._words, text, bounds)
        if engine.sees_start and not _begins(batch):
            return None
        added = finder.normalized
        if added and added.occurs(batch.data.tobytes().decode("utf-8", "surrogateescape")):
            return None
        return _encoded(batch, held=len(texts) == 1)

    def _normalized(self, words: _Words, text: bytes, bounds: Offsets) -> _Batch:
        """Return a batch of texts that are not normalized yet."""
        source, normalizer, wide = _array(text), self._engine.normalizer, not text.isascii()
        if normalizer is None:
            return _Batch(words, source, bounds, source, bounds, UNCHANGED, wide)
        return _Batch(words, source, bounds, *normalizer.traced(source, bounds), wide)

    # ------------------------------------------------------------------ spans of encoded texts

    def _found(self, made: Sequence[_Encoded], threads: int | None) -> Entries:
        """Return the entries of encoded texts, in order."""
        one = len(made) == 1
        ids, offsets = (made[0].ids, made[0].offsets) if one else _concatenated(made)
        wide = made[0].batch.wide if one else any(each.batch.wide for each in made)
        byte_spans, words = np.empty(2 * len(ids), np.int64), np.empty(len(ids), np.int32)
        spans = np.empty(2 * len(ids), np.int64) if wide else NO_OFFSETS
        found = Entries(ids, offsets, byte_spans, spans if wide else _NO_SPANS, words, _NO_NAMES, [])
        if one:
            return _with_names(found, [self._place((made[0], 0, byte_spans, spans, words))])
        jobs, start = [], 0
        for each in made:
            stop = start + len(each.ids)
            two = slice(2 * start, 2 * stop)
            jobs.append((each, start, byte_spans[two], spans[two], words[start:stop]))
            start = stop
        named = in_threads(self._place, jobs, min(len(jobs), thread_count(threads)))
        return _with_names(found, named)

    def _place(self, job: tuple[_Encoded, int, Offsets, Offsets, NDArray[np.int32]]) -> _Named:
        """Write the spans of encoded texts; return the entries from `start` on whose token is another text."""
        made, start, byte_spans, spans, numbers = job
        batch, ids, offsets, all_words, held = made
        named: _Named = []
        odd, size, sizes, chars = len(offsets) - 1, len(batch.source), self._sizes, NO_CHARS
        if len(spans):
            chars = np.empty(size + 1, np.int32)
            count_characters.by_size(size)(batch.source, chars)
        # Room for an entry of each id: what is not written takes no memory, and counting unknown ids took 2 us.
        unknown = np.empty(layout.UNKNOWNS.width * len(ids), np.int64) if self._unknown else NO_OFFSETS
        out = Placed(byte_spans, spans, numbers, np.zeros(odd, np.uint8), unknown)
        if sizes is None:
            out.odd[:] = 1
        else:
            source, at = Source(batch.bounds, chars), np.zeros(layout.START.width, np.int64)
            odd, first, before, kernel = 0, 0, 0, place_ids.by_size(size)
            for words in all_words:
                texts = len(words.word_ends)
                at[layout.START.word_base], at[layout.START.first_text] = words.base, first
                at[layout.START.ends_text] = words.complete
                text = batch.data if words.text is None else words.text
                id_ends = offsets[first + 1 : first + 1 + texts]
                id_words = IdWords(words.ends, words.begins, words.word_ends, id_ends, text)
                firsts, lasts = (NO_OFFSETS, NO_OFFSETS) if words.origin is None else words.origin
                origins = Origins(firsts, lasts, batch.origin.begins, batch.origin.ends)
                odd += kernel(ids, id_words, sizes, origins, source, out, at)
                if self._unknown and before < (upto := layout.UNKNOWNS.width * int(at[layout.START.next_unknown])):
                    named += _unknown_texts(unknown[before:upto], text, start)
                    before = upto
                first += texts if words.complete else texts - 1
        if held is not None:  # after the last use of the words: another thread may take it at once
            batch.words.encoder.give(held[0])
            if held[1] is not None:
                batch.words.buffers.append(held[1])
        if odd:
            of = np.searchsorted(offsets, [k - start for k, _ in named], side="right") - 1
            named = [each for each, again in zip(named, out.odd[of].tolist(), strict=True) if not again]
            for number in np.flatnonzero(out.odd).tolist():
                named += self._searched(made, number, start, out)
        return named

    def _searched(self, made: _Encoded, number: int, start: int, out: Placed) -> _Named:
        """Write the spans of one text: segment its words again; return the entries of unknown symbols."""
        batch, segmenter = made.batch, self._engine.segmenter
        first, stop = batch.stops[number : number + 2].tolist()
        begin, end = batch.bounds[number : number + 2].tolist()
        at, upto = made.offsets[number : number + 2].tolist()
        spans = batch.words.splitter.word_spans(batch.data[first:stop])
        if len(batch.origin.begins):
            spans = spans.within(np.stack([batch.origin.begins[first:stop], batch.origin.ends[first:stop]]) - begin)
        found = batch.words.encoder.encode_words(spans.text, spans.words)
        assert np.array_equal(found.ids, made.ids[at:upto]), "a text has the same ids word by word"
        if at == upto:
            return []
        begins, ends = segmenter.token_ranges(found.ids, found.offsets, spans)
        ranges = np.stack([spans.origin[0, begins], spans.origin[1, ends - 1]], axis=1)
        out.byte_spans[2 * at : 2 * upto] = ranges.ravel()
        if len(out.spans):
            out.spans[2 * at : 2 * upto] = character_spans(batch.source[begin:end], ranges).ravel()
        out.words[at:upto] = np.repeat(np.arange(len(spans.words) - 1), np.diff(found.offsets))
        if not segmenter.shows_unknown:
            return []
        unknown = np.flatnonzero(found.ids == segmenter.unk_id).tolist()
        return [(start + at + k, spans.text[begins[k] : ends[k]].tobytes()) for k in unknown]

    # ------------------------------------------------------------------ texts with added tokens

    def _of_parts(self, texts: Sequence[Any], special: str | AbstractSet[str], threads: int | None) -> Entries:
        """Return the entries of any texts, cut at their added tokens."""
        parts: list[TextSegment] = []
        counts = np.zeros(len(texts) + 1, np.int64)
        for number, text in enumerate(texts):
            try:
                parts += self._engine.parts.cut(_checked(text), special)
            except InputError as error:
                raise TextError(number, str(error)) from None
            counts[number + 1] = len(parts)
        added = [k for k, part in enumerate(parts) if part.id is not None]
        groups = [*_groups_of_parts(parts, apart=self._inside is not self._words)]
        count = min(max(1, len(groups)), thread_count(threads))
        made = in_threads(lambda group: _encoded(self._batch([parts[k] for k in group]), held=False), groups, count)
        found = self._found(made, threads) if made else _NOTHING
        order = np.array([*(k for group in groups for k in group), *added], np.int64)
        word_counts = np.concatenate([*map(_word_counts, made), np.ones(len(added), np.int64)])
        return _assembled(found, parts, order, word_counts, counts)

    def _batch(self, parts: Sequence[TextSegment]) -> _Batch:
        """Return a batch of parts that are all normalized or all not, and all at the start of their text or inside."""
        words = self._words if parts[0].at_start else self._inside  # the same, unless it matters
        text, bounds = _joined_bytes([part.source for part in parts])
        if parts[0].origin is None:
            return self._normalized(words, text, bounds)
        data, stops = _joined_bytes([part.data for part in parts])
        shifts = np.repeat(bounds[:-1], np.diff(stops))
        begins, ends = np.concatenate([part.origin for part in parts if part.origin is not None], axis=1) + shifts
        return _Batch(words, _array(text), bounds, _array(data), stops, Origin(begins, ends), not text.isascii())


def _words_of(encoder: Encoder, splitter: SplitterEngine) -> _Words:
    source: Any = encoder.splitter  # a splitter, or a normalizer with one
    finer: SplitterEngine = getattr(source, "splitter", source)
    return _Words(encoder, splitter, splitter if finer == splitter else finer, deque(maxlen=POOL))


def _encoded(batch: _Batch, *, held: bool) -> _Encoded:
    if len(batch.source) > layout.MOST_BYTES or len(batch.data) > layout.MOST_BYTES:
        raise InputError(
            f"expected at most {layout.MOST_BYTES} bytes of text in one text with spans; encode takes more"
        )
    encoder, splitter, finer, pool = batch.words
    ids, offsets, words, state = encode_traced(encoder, finer, batch.data, batch.stops, held=held)
    buffers = None
    if finer is not splitter:
        try:
            buffers = pool.pop()
        except IndexError:
            buffers = SplitBuffers()
        words = trace_words(splitter, batch.data, batch.stops, buffers, held=state is not None)
        if state is None:
            pool.append(buffers)
    if encoder.segmenter.joins:
        joined = encoder.segmenter.joined(batch_of(ids, offsets))
        ids, offsets = joined.ids, joined.offsets
    return _Encoded(batch, ids, offsets, words, None if state is None else (state, buffers))


def _begins(batch: _Batch) -> bool:
    """Whether each normalized text begins with the start of the text that it comes from."""
    filled = batch.stops[:-1] < batch.stops[1:]
    return bool((batch.origin.begins[batch.stops[:-1][filled]] == batch.bounds[:-1][filled]).all())


def _checked(text: Any) -> Input:
    if isinstance(text, str | list | tuple):
        return text
    hint = "; encode also accepts bytes" if isinstance(text, bytes) else ""
    raise InputError(f"expected text (str), not {type(text).__name__}{hint}")


def _groups(texts: Sequence[str], sizes: list[int]) -> Iterator[Sequence[str]]:
    """Yield the texts in groups of about PART characters."""
    first, size = 0, 0
    for k, length in enumerate(sizes):
        if size >= PART:
            yield texts[first:k]
            first, size = k, 0
        size += length
    yield texts[first:]


def _groups_of_parts(parts: Sequence[TextSegment], *, apart: bool) -> Iterator[list[int]]:
    """Yield the numbers of parts that are text, in groups of about PART bytes that can be encoded together.

    apart: whether parts at the start of their text have other words.
    """
    groups: dict[tuple[bool, bool], tuple[list[int], int]] = {}
    for k, part in enumerate(parts):
        if part.id is None:
            key = not apart or part.at_start, part.origin is None
            numbers, size = groups.get(key, ([], 0))
            if size >= PART:
                yield numbers
                numbers, size = [], 0
            numbers.append(k)
            groups[key] = numbers, size + len(part.data)
    for numbers, _ in groups.values():
        yield numbers


def _array(data: bytes) -> Bytes:
    return np.frombuffer(data, np.uint8)


def _joined_bytes(texts: Sequence[bytes]) -> tuple[bytes, Offsets]:
    return b"".join(texts), _sums(np.fromiter(map(len, texts), np.int64, len(texts)))


def _sums(sizes: Offsets) -> Offsets:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])


def _concatenated(made: Sequence[_Encoded]) -> tuple[NDArray[np.uint32], Offsets]:
    ids = np.concatenate([each.ids for each in made])
    return ids, _sums(np.concatenate([np.diff(each.offsets) for each in made]))


def _word_counts(made: _Encoded) -> Offsets:
    """Return the number of words of each text."""
    counts, first = np.zeros(len(made.offsets) - 1, np.int64), 0
    for words in made.words:
        texts = len(words.word_ends)
        counts[first : first + texts] += np.diff(words.word_ends, prepend=0)
        first += texts if words.complete else texts - 1
    return counts


def _unknown_texts(entries: Offsets, text: Bytes, start: int) -> Iterable[tuple[int, bytes]]:
    data, rows = text.data, entries.reshape(-1, layout.UNKNOWNS.width).tolist()
    return [(start + row[layout.UNKNOWNS.id], data[slice(*row[layout.UNKNOWNS.begin :])].tobytes()) for row in rows]


def _with_names(found: Entries, named: Iterable[_Named]) -> Entries:
    """Return the entries with tokens that are not those of their ids, each once."""
    every = [each for some in named for each in some]
    if not every:
        return found
    numbers: dict[bytes, int] = {}
    names = np.full(len(found.ids), -1, np.int32)
    names[[k for k, _ in every]] = [numbers.setdefault(text, len(numbers)) for _, text in every]
    return found._replace(names=names, tokens=[text.decode("utf-8", "replace") for text in numbers])


_NOTHING = Entries(np.zeros(0, np.uint32), np.zeros(1, np.int64), _NO_SPANS, _NO_SPANS, _NO_NAMES, _NO_NAMES, [])


def _assembled(
    found: Entries, parts: Sequence[TextSegment], order: Offsets, word_counts: Offsets, counts: Offsets
) -> Entries:
    """Return the entries of texts, given those of their parts that are text.

    order: the numbers of these parts, in the order of their entries; then of the parts that are added tokens.
    word_counts: how many words each has, in this order. counts: the number of parts up to the end of each text.
    """
    texts = len(found.offsets) - 1
    added = [parts[k] for k in order[texts:].tolist()]
    sizes = np.concatenate([np.diff(found.offsets), np.ones(len(added), np.int64)])
    taken, ends = in_order(order.tolist(), sizes)
    words = _sums(word_counts[np.argsort(order)])
    chars, at = np.array([(part.first, part.at) for part in parts], np.int64).reshape(-1, 2).T
    wide = len(found.spans) > 0 or not np.array_equal(chars, at) or not all(part.source.isascii() for part in added)

    def joined(entries: NDArray[Any], others: Sequence[Any]) -> NDArray[Any]:
        last = np.array(others, entries.dtype).reshape(len(others), *entries.shape[1:])
        found: NDArray[Any] = np.concatenate([entries, last])[taken]
        return found

    def moved(spans: Offsets, by: Offsets, others: Sequence[tuple[int, int]]) -> Offsets:
        shifts = np.repeat(by[order[:texts]], np.diff(found.offsets))
        return joined(spans.reshape(-1, 2) + shifts[:, None], others).ravel()

    spans = found.spans if len(found.spans) else found.byte_spans
    names = found.names if len(found.names) else np.full(len(found.ids), -1, np.int32)
    shown = [part.data.decode("utf-8", "replace") for part in added]
    number = {token: len(found.tokens) + k for k, token in enumerate(dict.fromkeys(shown))}
    first_words = np.repeat(words[:-1] - words[np.repeat(counts[:-1], np.diff(counts))], np.diff(ends))
    return Entries(
        joined(found.ids, [part.id for part in added]),
        ends[counts],
        moved(found.byte_spans, at, [part.byte_span() for part in added]),
        moved(spans, chars, [part.span() for part in added]) if wide else _NO_SPANS,
        (joined(found.words, [0] * len(added)) + first_words).astype(np.int32),
        joined(names, [number[token] for token in shown]),
        [*found.tokens, *number],
    )


# ---------------------------------------------------------------------------------------------------------------------
# The places of ids that cover a whole text, one after the other: without splitting it again.

Places = tuple[NDArray[np.int64], NDArray[np.int64]]


class SpanSizes(NamedTuple):
    """sizes: the bytes of a text that each id covers. prefix: what they cover before it, see `cover_text`.

    Row: calls, "ids and spans of a line": 23 us without it, 9 with it when it was made.
    """

    sizes: NDArray[np.int32]
    prefix: int
    ascii_only: bool

    def may_cover(self, text: str) -> bool:
        """Whether the ids of a text may cover it."""
        ascii_ = not self.ascii_only or text.isascii()
        return bool(text) and ascii_ and (self.prefix == layout.NO_PREFIX or SPACE not in text)

    def places(self, text: str, around: tuple[int, int], ids: NDArray[np.uint32]) -> Places | None:
        """Return the ranges of ids in bytes and in characters; None if their sizes do not add up.

        text: one that they may cover, without added tokens. around: how many ids come before and after those of it.
        """
        data = np.frombuffer(text.encode(), np.uint8)
        before, stop = around[0], len(ids) - around[1]
        byte_spans = np.zeros(2 * len(ids), np.int64)
        wide = len(data) != len(text)
        spans = np.zeros(2 * len(ids), np.int64) if wide else NO_OFFSETS
        inside, chars = byte_spans, spans
        if before or around[1]:
            ids, inside, chars = ids[before:stop], inside[2 * before : 2 * stop], chars[2 * before : 2 * stop]
        if not cover_text.with_gil()(ids, self.sizes, data, self.prefix, inside, chars):
            return None
        byte_spans.setflags(write=False)
        both = byte_spans.reshape(-1, 2)
        if not wide:
            return both, both
        spans.setflags(write=False)
        return both, spans.reshape(-1, 2)


def cover_of(engine: Engine) -> SpanSizes | None:
    """Return the sizes from which spans follow; None if the ids may not cover the text.

    They do if no splitter drops or inserts text, and no normalizer changes any, but for the spaces of SentencePiece.
    A normal form leaves ASCII as it is. Then ids that leave something out have sizes with a smaller sum.
    """
    if not all(isinstance(step, Split) and step.behavior != "removed" for step in engine.splitter.rule):
        return None
    segmenter, prefix, steps = engine.segmenter, layout.NO_PREFIX, engine.normalizer.steps if engine.normalizer else ()
    forms = all(isinstance(step, Form) for step in steps)  # do not change ASCII
    if not forms:
        plain = engine.plain
        if plain is None or not plain.prefixed:
            return None
        segmenter = plain.segmenter
        prefix = layout.EMPTY_PREFIX if isinstance(steps[0], SentencePiece) else layout.FIRST_PREFIX
    sizes = segmenter.id_sizes
    if sizes is None or np.any(sizes.marks):
        return None
    return SpanSizes(sizes.sizes, prefix, forms and bool(steps))


# ---------------------------------------------------------------------------------------------------------------------
# The tokens of ids as text, decoded when they are first asked for.


class Spelled(dict[int, str]):
    """The token of each id that was asked for."""

    def __init__(self, spell: Callable[[int], str]) -> None:
        super().__init__()
        self._spell = spell

    def __missing__(self, index: int) -> str:
        token = self[index] = self._spell(index)
        return token


class Spelling(NamedTuple):
    """The tokens of a vocabulary of `size` ids, as text and as files spell them."""

    tokens: Mapping[int, str]
    file_tokens: Mapping[int, str]
    size: int


def spelling_of(vocab: Vocab, *, byte_level: bool) -> Spelling:
    """Return the tokens of a vocabulary; bytes that are not a complete character show as U+FFFD.

    >>> tokens, file_tokens, _ = spelling_of(Vocab([b" a"]), byte_level=True)
    >>> tokens[0], file_tokens[0]
    (' a', 'Ġa')
    """
    tokens = Spelled(lambda index: vocab[index].decode("utf-8", "replace"))
    in_files = Spelled(lambda index: tokens_to_text([vocab[index]])[0]) if byte_level else tokens
    return Spelling(tokens, in_files, len(vocab))
