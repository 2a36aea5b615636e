"""Engine: text, split at added tokens, to ids; everything it needs is built on first use."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from subwords.engine.added_tokens import (
    AddedTokenFinder,
    AddedTokens,
    StringSearch,
    alternation,
    fit_regex,
    shortest_within,
    with_whitespace,
)
from subwords.engine.encoder import Encoder
from subwords.engine.fast_path import NOTHING_AROUND, Around, FastPath, FastPaths, between, changed_first
from subwords.models.families import family_of, need, segmenter_of
from subwords.models.segmenter import Segmenter, TextError, UnknownSymbolError, WordSource
from subwords.spec.added_token import Input, Text, input_parts
from subwords.spec.model import Model
from subwords.spec.splitter import SPACE, Rule, Split, parting
from subwords.spec.token_batch import TokenBatch, batch_of, in_order
from subwords.split.splitter import Splitter, SplitterEngine
from subwords.support.checks import encode_text, exact, refuse_given
from subwords.support.errors import InputError
from subwords.support.threads import thread_count

if TYPE_CHECKING:
    from subwords.engine.batch import Places
    from subwords.engine.encoder import IdsAndOffsets
    from subwords.engine.spans import SpanFinder, SpanSizes, Spelling
    from subwords.engine.text_parts import TextParts, TextSegment
    from subwords.models.bpe.model import BPE
    from subwords.models.unigram.model import Unigram
    from subwords.models.unigram.segmenter import Paths
    from subwords.normalize.normalizer import Normalizer, NormalizerEngine
    from subwords.spec.normalizer import Steps
    from subwords.split.word_spans import WordSpans


_PLAIN = {str, bytes}
LITTLE_TEXT = 1 << 15  # characters in all texts, which one search shows to have no tokens sooner than kernels find them


class Tokens(dict[int, str]):
    """The tokens of a model as strings, by id; each is made when it is first asked for."""

    def __init__(self, model: Model) -> None:
        self._vocab = model.vocab

    def __missing__(self, index: int) -> str:
        self[index] = token = self._vocab[index].decode("utf-8", "replace")
        return token


class Engine:
    """Encodes with one model, splitter and normalizer; any number of threads may share it (A4)."""

    def __init__(
        self, model: Model, splitter: Splitter, normalizer: Normalizer | None, added_tokens: AddedTokens
    ) -> None:
        self.model = model
        self.splitter = SplitterEngine.of(splitter)
        self.normalizer: NormalizerEngine | None = None
        if normalizer is not None:
            from subwords.normalize.normalizer import NormalizerEngine

            self.normalizer = NormalizerEngine.of(normalizer)
        self.added = added_tokens
        self.segmenter = segmenter_of(model)
        self.encoder = self._encoder(self.splitter, self.normalizer)  # of whole texts

    def _encoder(self, splitter: SplitterEngine, normalizer: NormalizerEngine | None) -> Encoder:
        finer = self.segmenter.finer(splitter.rule)
        words = _source(splitter, normalizer)
        encoded = words if finer == splitter.rule else _source(SplitterEngine(finer), normalizer)
        return Encoder(self.segmenter, encoded, words=words)

    @cached_property
    def normalized_encoder(self) -> Encoder:
        """The encoder of text that is already normalized."""
        return self.encoder if self.normalizer is None else self._encoder(self.splitter, None)

    @cached_property
    def inside_encoder(self) -> Encoder:
        """The encoder of normalized text that is not at the start of the input, if that makes a difference."""
        inside = self.splitter.inside
        return self.normalized_encoder if inside is self.splitter else self._encoder(inside, None)

    def encoder_of(self, part: TextSegment) -> Encoder:
        """Return the encoder of a part that is text."""
        if not part.at_start and self.splitter.inside is not self.splitter:
            return self.inside_encoder
        return self.encoder if part.origin is None else self.normalized_encoder

    @cached_property
    def parts(self) -> TextParts:
        """The object that splits texts at added tokens."""
        from subwords.engine.text_parts import TextParts

        return TextParts(self.added, self.normalizer, normalizes=self.sees_start)

    @cached_property
    def sees_start(self) -> bool:
        """Whether words depend on where the input begins, beyond its normalized text."""
        return self.normalizer is not None and self.splitter.inside is not self.splitter

    @cached_property
    def streams(self) -> bool:
        """Whether a long text can be encoded in parts: see `Encoder.encode_part`. Special tokens are read as text."""
        segmenter = self.encoder.segmenter
        return (
            self._reads_all(self.added.finder("text"))
            and self.plain is None
            and segmenter.apart
            and not segmenter.joins
        )

    # ------------------------------------------------------------------ encoding

    def encode(self, text: Input, special: str | AbstractSet[str], threads: int | None = None) -> NDArray[np.uint32]:
        """Return the ids of a text, uint32."""
        try:
            return self._encoded([text], special, thread_count(threads))[0]
        except TextError as error:
            raise InputError(error.message) from None
        except UnknownSymbolError as error:
            raise self._unknown(text, special, error) from None

    def _unknown(self, text: Input, special: str | AbstractSet[str], error: UnknownSymbolError) -> InputError:
        from subwords.engine.unknown import unknown_in

        return unknown_in(self, text, special, error)

    @property
    def quick(self) -> tuple[Encoder, list[str], str] | None:
        """The encoder of short texts whose special tokens are read as text, if its call plan alone encodes them.

        With it come strings, or a regex: a text that has one of them needs the general path.
        """
        finder, encoder = self.added.finder("text"), self.encoder if self.plain is None else self.plain.quick
        if self.sees_start or (finder.normalized and self.normalizer is not None) or not encoder.has_fast_path:
            return None
        strings = [*finder.literal.tokens, *finder.normalized.tokens, *(self.plain.symbols if self.plain else ())]
        if (shortest := shortest_within(strings)) or not strings:
            return encoder, shortest, ""
        return (encoder, [], alternation(strings)) if fit_regex(strings) else None

    @cached_property
    def fast_paths(self) -> FastPaths:
        """Functions for most short texts, by the way to treat special tokens."""
        return FastPaths(self.fast_path, NOTHING_AROUND)

    def fast_path(self, special: str | frozenset[str], around: Around) -> FastPath:
        """Return functions for most short texts; `around`: the ids around those of a text.

        Row: calls_special, "BERT, encode(line, template=True)": 12 times `encode(line)` without it, 1.2 times with it.
        """
        finder, normalizer = self.added.finder(special), self.normalizer
        if self.sees_start:
            return FastPath(None)
        # The encoder of the general path for these texts: it makes room for the words that the fast path refuses.
        changed = bool(finder.normalized) and normalizer is not None
        encoder, symbols = self.normalized_encoder if changed else self.encoder, list[str]()
        if not changed and self.plain is not None:
            encoder, symbols = self.plain.quick, self.plain.symbols
        slot, pieces = encoder.slot, None
        if slot and finder and not finder.refuses and self.splitter.inside is self.splitter:
            pieces = between(finder.normalized, FastPath(slot, symbols).encode)
            if changed and normalizer is not None:
                pieces = changed_first(normalizer.normalize, pieces)
            pieces = between(finder.literal, pieces)
        strings = [*finder.literal.tokens, *finder.normalized.tokens, *symbols]
        whole = not changed and fit_regex(strings)
        return FastPath(slot if whole else None, strings, around, pieces)

    @cached_property
    def plain(self) -> PlainSpaces | None:
        """The encoder that needs no normalizer, for models of SentencePiece whose normalizer only escapes spaces."""
        if self.normalizer is None:
            return None

        return plain_spaces(self.model, self.normalizer.steps, self.splitter.rule)

    def _cut_in_place(
        self, texts: Sequence[str | bytes], finder: AddedTokenFinder
    ) -> tuple[Encoder, Places, NDArray[np.int64]] | None:
        """Return texts, cut at added tokens where they are in memory, with their encoder, and the end of each text.

        None if the encoder has no fast path, if it matters where the parts are, or for an error.
        """
        from subwords.engine.batch import read_places

        if not self._parts_alone:
            return None
        if finder.normalized and self.normalizer is not None:
            encoder, marked = self.normalized_encoder, self.normalized_encoder.marked
        else:
            encoder, marked = self._chosen(texts)
        places = read_places(texts, marked=marked) if encoder.has_fast_path else None
        cut = None if places is None else self.parts.cut_in_place(places, finder)
        return None if cut is None else (encoder, *cut)

    @cached_property
    def _parts_alone(self) -> bool:
        """Whether the ids of a part of a text do not depend on where it is."""
        return self.splitter.inside is self.splitter

    def _chosen(self, texts: Sequence[str | bytes]) -> tuple[Encoder, bool]:
        """Return the encoder of whole texts, and whether some may be what its fast path refuses."""
        if self.plain is not None and all_plain(texts):
            return self.plain.encoder_of(texts), False
        return self.encoder, self.encoder.marked

    def is_whole(self, text: str, special: str | AbstractSet[str]) -> bool:
        """Whether one search shows that a text is a single part; most texts are."""
        return self._all_whole([text], self.added.finder(special))

    def encode_inside(self, text: str, special: str | AbstractSet[str]) -> NDArray[np.uint32]:
        """Return the ids of a text before which there is other text, cut off as by an added token."""
        if self._parts_alone:
            return self.encode(text, special)
        parts = [part._replace(at_start=False) for part in self.parts.cut(text, special)]
        return self._encoded_parts([parts], 1)[0]

    def encode_batch(self, texts: Sequence[Input], special: str | AbstractSet[str], threads: int | None) -> TokenBatch:
        """Return the ids of many texts; an error is a TextError if it is one of a text."""
        count = thread_count(threads)
        if (found := self.fast_paths.of(special).rows(texts)) is not None:
            return batch_of(*found)
        try:
            return batch_of(*self._encoded(texts, special, count))
        except UnknownSymbolError as error:
            raise self.unknown_among(texts, special, error) from None

    def unknown_among(
        self, texts: Iterable[Input], special: str | AbstractSet[str], error: UnknownSymbolError
    ) -> InputError:
        """Return the error for texts in one of which the encoder met an unknown symbol."""
        for i, text in enumerate(texts):
            try:
                self.encode(text, special, 1)
            except InputError as found:
                return TextError(i, str(found))
        return InputError(str(error))

    def _encoded(
        self,
        texts: Sequence[Input],
        special: str | AbstractSet[str],
        threads: int,
        as_text: frozenset[str] = frozenset(),
    ) -> IdsAndOffsets:
        """Return the ids of texts, and where those of each begin and end; as_text: as in `Text`, for all of them."""
        finder = self.added.finder(special, as_text)
        if not _PLAIN.issuperset(map(type, texts)):
            texts = [*map(exact, texts)]
        if all_plain_types(texts):
            whole = self._reads_all(finder) or (sum(map(len, texts)) <= LITTLE_TEXT and self._all_whole(texts, finder))
            if not whole and (cut := self._cut_in_place(texts, finder)) is not None:
                from subwords.engine.batch import encode_cut

                return encode_cut(*cut, threads)
            if whole or self._all_whole(texts, finder):
                encoder, marked = self._chosen(texts)
                return encoder.encoded(texts, threads, marked=marked)
        elif special == "text" and self._parts_alone:
            return self._encoded_lists(texts, threads)
        given: Sequence[Input] = texts
        if as_text:
            given = [[Text(text, as_text=as_text)] for text in texts if isinstance(text, str | bytes)]
        return self._encoded_parts([self._cut(text, i, special) for i, text in enumerate(given)], threads)

    def _encoded_lists(self, texts: Sequence[Input], threads: int) -> IdsAndOffsets:
        """Return the ids of texts; some are lists of Text and Special, whose parts are encoded alone."""
        rows = []
        for i, text in enumerate(texts):
            try:
                given = (Text(text),) if isinstance(text, str | bytes) else input_parts(text)
                rows.append(with_whitespace(given, self.added))
            except InputError as error:
                raise TextError(i, str(error)) from None
        parts = [part for row in rows for part in row]

        def encoded(as_text: frozenset[str], some: list[int]) -> IdsAndOffsets:
            return self._encoded([valid(parts[k][0]) for k in some], "text", threads, as_text)

        kinds = [as_text if token is None else token.id for _, token, as_text in parts]
        return together(kinds, encoded, [*map(len, rows)])

    def _encoded_parts(self, rows: list[list[TextSegment]], threads: int) -> IdsAndOffsets:
        """Return the ids of texts in parts, each encoded as where it is."""
        parts = [part for row in rows for part in row]

        def encoded(encoder: Encoder, some: list[int]) -> IdsAndOffsets:
            return encoder.encoded([parts[k].data for k in some], threads)

        kinds = [self.encoder_of(part) if part.id is None else part.id for part in parts]
        return together(kinds, encoded, [*map(len, rows)])

    def encode_arrow(self, texts: object, special: str | AbstractSet[str], threads: int | None) -> TokenBatch:
        """Return the ids of an Arrow array of strings."""
        from subwords.engine.batch import arrow_places, arrow_texts

        with arrow_places(texts) as places:
            try:
                batch = self.encode_places(places, special, threads)
            except UnknownSymbolError as error:
                raise self.unknown_among(arrow_texts(places), special, error) from None
            return self.encode_batch(arrow_texts(places), special, threads) if batch is None else batch

    def encode_places(self, places: Places, special: str | AbstractSet[str], threads: int | None) -> TokenBatch | None:
        """Return the ids of texts read where they are in memory; None if they need the general path."""
        from subwords.engine.batch import encode_cut, encode_places

        finder = self.added.finder(special)
        if self._reads_all(finder):
            fast = self.encoder.has_fast_path and not self.encoder.marked
            return batch_of(*encode_places(self.encoder, places, thread_count(threads))) if fast else None
        encoder = self.normalized_encoder if finder.normalized and self.normalizer is not None else self.encoder
        if not self._parts_alone or not encoder.has_fast_path or encoder.marked:
            return None
        cut = self.parts.cut_in_place(places, finder)
        return None if cut is None else batch_of(*encode_cut(encoder, *cut, thread_count(threads)))

    def _reads_all(self, finder: AddedTokenFinder) -> bool:
        """Whether every text is a single part, whatever is in it."""
        return not finder and not self.sees_start

    def _all_whole(self, texts: Sequence[Input], finder: AddedTokenFinder) -> bool:
        """Whether one search shows that every text is a single part."""
        if self.sees_start or (finder.normalized and self.normalizer):
            return False
        try:
            text = "\n".join(texts)  # type: ignore[arg-type]
        except TypeError:  # bytes
            return False
        return not finder.literal.occurs(text) and not finder.normalized.occurs(text)

    def _cut(self, text: Input, index: int, special: str | AbstractSet[str]) -> list[TextSegment]:
        try:
            return list(self.parts.cut(text, special))
        except InputError as error:
            raise TextError(index, str(error)) from None

    @cached_property
    def cover(self) -> SpanSizes | None:
        """Computes spans from ids alone; None if this tokenizer does not allow it."""
        from subwords.engine.spans import cover_of

        return cover_of(self)

    @cached_property
    def spans(self) -> SpanFinder:
        """What encodes texts with spans."""
        from subwords.engine.spans import SpanFinder

        return SpanFinder(self)

    def tokens(self, text: Input, special: str | AbstractSet[str]) -> list[str]:
        """Return the tokens of a text as strings; SentencePiece's models show the text of unknown tokens instead."""
        return self.spelled(text, self.encode(text, special).tolist(), special)

    def spelled(self, text: Input, ids: list[int], special: str | AbstractSet[str] = "text") -> list[str]:
        """Return the tokens of a text as strings, given its ids."""
        if self.segmenter.shows_unknown and self.segmenter.unk_id in ids:
            found = self.spans.find((text,), special)
            names = found.names.tolist() or [-1] * len(ids)
            return [self._tokens[i] if name < 0 else found.tokens[name] for i, name in zip(ids, names, strict=True)]
        return [*map(self._tokens.__getitem__, ids)]

    @cached_property
    def shown_otherwise(self) -> frozenset[int]:
        """The ids whose tokens in an encoding may differ from those of the vocabulary: they are parts of the text."""
        unknown = self.segmenter.unk_id if self.segmenter.shows_unknown else None
        return frozenset([*self.added.ids.values(), *([] if unknown is None else [unknown])])

    @cached_property
    def _tokens(self) -> Tokens:
        return Tokens(self.model)

    def words(self, text: str) -> WordSpans:
        """Return the words of a text without added tokens, with their positions in the text."""
        return self.encoder.words.word_spans(np.frombuffer(encode_text(text), np.uint8))

    @cached_property
    def spelling(self) -> Spelling:
        """The tokens of the vocabulary, as text and as files spell them."""
        from subwords.engine.spans import spelling_of

        return spelling_of(self.model.vocab, byte_level=self.model.byte_level)


def _source(splitter: SplitterEngine, normalizer: NormalizerEngine | None) -> WordSource:
    if normalizer is None:
        return splitter
    from subwords.normalize.normalizer import Pipeline

    return Pipeline(normalizer, splitter)


def all_plain_types(texts: Sequence[Input]) -> TypeGuard[Sequence[str | bytes]]:
    """Whether all texts are str or bytes."""
    return _PLAIN.issuperset(map(type, texts))


def valid(text: str) -> str | bytes:
    """Return a text, or its bytes if surrogates stand for some that are not UTF-8."""
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape")
    return text


def all_plain(texts: Sequence[Input]) -> TypeGuard[Sequence[str]]:
    """Whether all texts are strings without U+2581."""
    try:
        return SPACE not in "".join(texts)  # type: ignore[arg-type]
    except TypeError:
        return False


Kind = TypeVar("Kind", bound=Hashable)


def together(
    kinds: Sequence[Kind | int], encoded: Callable[[Kind, list[int]], IdsAndOffsets], counts: list[int]
) -> IdsAndOffsets:
    """Return the ids of texts in parts: `encoded` gives those of all parts of a kind; a part may be an id itself.

    counts: how many parts each text has.
    """
    groups: dict[Kind, list[int]] = {}
    added: list[int] = []
    for k, kind in enumerate(kinds):
        (added if isinstance(kind, int) else groups.setdefault(kind, [])).append(k)
    found = [encoded(kind, some) for kind, some in groups.items()]
    sizes = np.concatenate([*(np.diff(offsets) for _, offsets in found), np.ones(len(added), np.int64)])
    taken, ends = in_order([k for some in (*groups.values(), added) for k in some], sizes)
    ids = np.concatenate([*(ids for ids, _ in found), np.array([kinds[k] for k in added], np.uint32)])
    return ids[taken], ends[np.cumsum([0, *counts])]


# ---------------------------------------------------------------------------------------------------------------------
# Models that write spaces as U+2581, run on the text itself: their tokens with spaces, and no normalizer.

# Patterns without spaces, ranges, flags, and escapes of letters: such a pattern treats a space and U+2581 alike,
# except where it spells U+2581.
_LITERAL = re.compile(r"(?:[^\\ ?-]|\\[^\w ])*", re.DOTALL)


class PlainSpaces:
    """Encodes texts without U+2581: the same ids as with the normalizer, 2 to 3 times as fast.

    The normalizer only inserts a space before the text and writes spaces as U+2581. If no token has a space, the same
    tokens with spaces for U+2581 match the text before that step. Row: encode_sentencepiece, "Mistral v1, english".
    """

    def __init__(self, segmenter: Segmenter, rule: Rule, symbols: list[str], *, prefixed: bool) -> None:
        self.segmenter = segmenter
        self.prefixed = prefixed
        self._encoder = Encoder(segmenter, SplitterEngine(rule), prefixed=self.prefixed, marked=True)
        # Most texts have no user-defined piece: then the step that isolates these can be left out.
        self.symbols = symbols
        self._symbols = StringSearch(symbols) if symbols else None
        self.quick = self._encoder  # of texts without them
        if symbols:
            self.quick = Encoder(segmenter, SplitterEngine(rule[1:]), prefixed=self.prefixed, marked=True)

    def encoder_of(self, texts: Sequence[str]) -> Encoder:
        """Return the encoder of some texts."""
        return self._encoder if self._symbols is not None and self._symbols.occurs("\n".join(texts)) else self.quick


def plain_spaces(model: Model, steps: Steps, rule: Rule) -> PlainSpaces | None:
    """Return the encoder of a model without its normalizer; None if the ids might differ.

    steps, rule: the normalizer and the splitter of the tokenizer.
    """
    prefixed, finer = escaped_prefix(steps), rule or model.space_rule
    if prefixed is None or not all(map(_may_change, finer)) or b" " in model.vocab.data.tobytes():
        return None
    made = model.with_spaces() if model.vocab.find([SPACE.encode()]) else None
    if made is None:
        return None
    symbols = [model.vocab[index].decode() for index in sorted(model.user_ids)]
    known = fit_regex(symbols) and finer[:1] == parting(symbols)
    return PlainSpaces(segmenter_of(made), tuple(map(_with_spaces, finer)), symbols if known else [], prefixed=prefixed)


def escaped_prefix(steps: Steps) -> bool | None:
    """Return whether a space is put before a text, if besides that spaces only become U+2581; otherwise None."""
    from subwords.spec.normalizer import Prepend, Replace, SentencePiece

    match steps:
        case (SentencePiece(b"", prefix, False, True, False, symbols),):
            return None if any(" " in symbol or SPACE in symbol for symbol in symbols) else prefix
        case (Prepend(text), Replace(" ", "▁", False)) if text == SPACE:
            return True
        case (Replace(" ", "▁", False), Prepend(text)) if text == SPACE:
            return True
        case (Replace(" ", "▁", False),):
            return False
    return None


def _may_change(step: object) -> bool:
    """Whether a step splits text with spaces as it splits text with U+2581 if its pattern has spaces for U+2581."""
    return isinstance(step, Split) and _LITERAL.fullmatch(step.pattern) is not None


def _with_spaces(step: object) -> Split:
    assert isinstance(step, Split)
    return replace(step, pattern=step.pattern.replace(SPACE, " "))


# ---------------------------------------------------------------------------------------------------------------------
# Other segmentations of a text: at random, or the best of a Unigram model.

# A string: numpy.random is only imported by those who sample.
Seed: TypeAlias = "int | Sequence[int] | np.random.Generator | np.random.SeedSequence | np.random.BitGenerator | None"


def best_segmentations(engine: Engine, model: Model, text: str, n: int) -> list[tuple[list[int], float]]:
    """Return the ids and scores of the n best segmentations; see `Tokenizer.nbest`."""
    from subwords.models.unigram.model import Unigram

    with _paths_of(engine, need(model, Unigram, "nbest"), text) as found:
        paths = [(ids.tolist(), score) for ids, score in found.best(n)]
    # Equal sums may differ after rounding, which depends on the order of addition: see `Unigram.running`.
    return [(_ids_of(engine, text), paths[0][1])] if n == 1 else paths


def sample(
    engine: Engine,
    model: Model,
    text: str,
    *,
    temperature: float | None,
    nbest: int | None,
    dropout: float | None,
    seed: Seed,
) -> list[int]:
    """Return the ids of one segmentation, drawn at random; see `Tokenizer.sample`."""
    try:
        rng = np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise InputError(f"expected a seed for numpy.random.default_rng, not {seed!r:.60}: {error}") from None
    draw = family_of(model).tool("sample")
    ids: list[int] = draw(engine, model, text, rng, temperature=temperature, nbest=nbest, dropout=dropout)
    return ids


def sample_unigram(
    engine: Engine,
    model: Unigram,
    text: str,
    rng: np.random.Generator,
    *,
    temperature: float | None,
    nbest: int | None,
    dropout: float | None,
) -> list[int]:
    """Return the ids of one segmentation into pieces, drawn by their scores."""
    nbest = -1 if nbest is None else nbest
    with _paths_of(engine, model, text) as paths:
        refuse_given("sample for Unigram models", dropout=dropout)
        ids: list[int] = paths.draw(10.0 if temperature is None else temperature, nbest, rng).tolist()
    return _ids_of(engine, text) if nbest in (0, 1) else ids


def sample_bpe(
    engine: Engine,
    model: BPE,
    text: str,
    rng: np.random.Generator,
    *,
    temperature: float | None,
    nbest: int | None,
    dropout: float | None,
) -> list[int]:
    """Return the ids of one segmentation, in which merges are skipped at random."""
    from subwords.models.bpe.plain import checked_dropout, draw

    refuse_given("sample for BPE models", temperature=temperature, nbest=nbest)
    ids = _ids_of(engine, text)
    dropout = checked_dropout(model, dropout)
    if dropout == 0 or model.words_only:
        return ids
    drawn: list[int] = draw(segmenter_of(model), engine.words(text), dropout, rng).tolist()
    return drawn


def _ids_of(engine: Engine, text: str) -> list[int]:
    ids: list[int] = engine.encode(text, "text").tolist()
    return ids


@contextmanager
def _paths_of(engine: Engine, model: Unigram, text: str) -> Iterator[Paths]:
    """Give the segmentations of a text; InputError for an unknown symbol."""
    from subwords.models.unigram.segmenter import Paths

    words = engine.words(text)
    try:
        yield Paths(segmenter_of(model), words)
    except UnknownSymbolError as symbol:
        from subwords.engine.unknown import spot_in

        raise InputError(spot_in(encode_text(text), words, symbol).told()) from None
