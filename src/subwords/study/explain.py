"""explain: why a text has its ids. Runs the pipeline in plain Python and records every step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subwords.components.model import Model
from subwords.components.trusted import source_of
from subwords.corpus.counts import WordCounts
from subwords.errors import InputError
from subwords.families import family_of, segmenter_of
from subwords.split.splitter import SplitterEngine
from subwords.split.word_spans import WordSpans
from subwords.study.cuts import alternative_at, alternatives_of, cut_steps, described
from subwords.study.segment_bpe import BPEWords
from subwords.study.segment_unigram import UnigramWords
from subwords.study.segment_wordpiece import WordLevelWords, WordPieceWords
from subwords.study.steps import Added, Change, Segmentation, Stretch, Word
from subwords.study.trace import Trace
from subwords.support.checks import check_instance
from subwords.tokenizer import tokenizer_of

if TYPE_CHECKING:
    from subwords.components.trusted import Input
    from subwords.engine.text_parts import Part
    from subwords.results.encoding import Encoding
    from subwords.tokenizer import Tokenizer, TokenizerLike

__all__ = ["Words", "explain", "explain_word", "words_of"]

MOST_BYTES = 1 << 20  # of a text


def explain(
    tokenizer: TokenizerLike,
    text: Input,
    *,
    special: str | AbstractSet[str] = "text",
    counts: WordCounts | None = None,
) -> Trace:
    """Return why a text has its ids: what was normalized, what cut each word, and each merge, match or path.

    special: as in `Tokenizer.encode`. counts: word counts; for a BPE tokenizer, each merge then says how often its pair
    occurred when it was learned. Raises InputError for more than 1 MB of text.
    Hazard: this is plain Python, some 10,000 times slower than encoding.

    >>> import subwords
    >>> tok = subwords.train(["low lower"] * 9, vocab_size=259)
    >>> print(subwords.explain(tok, "lower"))
    bpe, 2 ids: 257 258
    0-5 word 'lower' (alternative 7): 'low' 'er'
        'l' 'o' 'w' 'e' 'r'
        rank 0: 'l' + 'o': 'lo' 'w' 'e' 'r'
        rank 1: 'lo' + 'w': 'low' 'e' 'r'
        rank 2: 'e' + 'r': 'low' 'er'
    splitter, step 0: ...
      alternative 7: ...
    """
    tokenizer = tokenizer_of(tokenizer)
    source = source_of(text)
    if len(source) > MOST_BYTES:
        raise InputError(
            f"expected at most {MOST_BYTES} bytes of text to explain, not {len(source)}: pass a part of it"
        )
    if counts is not None:
        check_instance("counts", counts, WordCounts)
    words = words_of(tokenizer.model, counts)
    parts = [_part(tokenizer, part, words) for part in tokenizer._engine.parts.cut(text, special)]
    return _trace(tokenizer, source.decode("utf-8", "replace"), parts)


def explain_word(
    tokenizer: Tokenizer, text: str, encoding: Encoding, place: int, words: Words, *, special: str, most: int
) -> tuple[Trace, int]:
    """Return the trace of one word of a text, that of a token, and the place of the word's first token.

    encoding: of the text. place: of a token that has a word. words: from `words_of`. Merges never cross the words of a
    model's `space_rule`, so these are explained one by one. Raises InputError for a word of more than `most` bytes.
    """
    number, first = encoding.word_ids[place], encoding.word_ids.index(encoding.word_ids[place])
    assert number is not None
    for part in tokenizer._engine.parts.cut(text, special):
        spans = None if part.id is not None else part.word_spans(tokenizer._engine.encoder_of(part).words)
        size = 1 if spans is None else len(spans.words) - 1
        if number >= size:
            number -= size
            continue
        if spans is None:
            return _trace(tokenizer, text, [_part(tokenizer, part, words)]), first
        start, stop = spans.words[number : number + 2].tolist()
        inner, sizes = _inner(tokenizer.model, spans.text[start:stop], start), dict[bytes, int]()
        for start, stop in inner:
            word = spans.text[start:stop].tobytes()
            if len(inner) > 1 and word not in sizes:
                sizes[word] = len(words.segmented(word, [0.0]).replayed())
            if len(inner) == 1 or first + sizes[word] > place:
                break
            first += sizes[word]
        if stop - start > most:
            raise InputError(f"expected a word of at most {most} bytes to explain, not {stop - start}")
        return _trace(tokenizer, text, [_part(tokenizer, part, words, (number, start, stop))]), first
    raise AssertionError(f"token {place} has word {encoding.word_ids[place]}, which the text lacks")


def _inner(model: Model, text: NDArray[np.uint8], start: int) -> list[tuple[int, int]]:
    """Return the ranges of the words of a model's `space_rule` in a word that begins at `start`."""
    rule = model.space_rule
    bounds = SplitterEngine(rule).word_spans(text).words if rule else np.array([0, len(text)])
    return [*pairwise((bounds + start).tolist())]


def _trace(tokenizer: Tokenizer, text: str, parts: Sequence[Added | Stretch]) -> Trace:
    rule, model = tokenizer.splitter.rule, tokenizer.model
    trace = Trace(text, tuple(parts), family_of(model).name, tuple(map(described, rule)), alternatives_of(rule), {})
    trace.tokens.update({index: _shown(model, index) for index in sorted(trace.mentioned())})
    return trace


Words = BPEWords | WordPieceWords | WordLevelWords | UnigramWords


def words_of(model: Model, counts: WordCounts | None = None) -> Words:
    """Return what segments words by a model and notes how."""
    family = family_of(model)
    if counts is not None and not family.keeps_merges:
        raise InputError("counts need a BPE tokenizer: other families learn no merges in order")
    make = family.tool("explain")
    found: Words = make(model) if counts is None else make(model, counts)
    return found


def _part(tokenizer: Tokenizer, part: Part, words: Words, only: tuple[int, int, int] | None = None) -> Added | Stretch:
    """Return what happened to a part. only: the number of one word, and the range to explain of it."""
    if part.id is not None:
        return Added(part.id, part.data.decode("utf-8", "replace"), part.span())
    engine, source = tokenizer._engine, np.frombuffer(part.source, np.uint8)
    spans = part.word_spans(engine.encoder_of(part).words)
    normalized, origin = np.frombuffer(part.data, np.uint8), part.origin
    if origin is None and engine.normalizer is not None:
        normalized, origin = engine.normalizer.aligned(source)
    splitter = engine.splitter if part.at_start else engine.splitter.inside
    own = splitter.word_spans(normalized)  # the same words, with their places in the normalized text
    whole, window = (0, len(source)), slice(0, len(normalized))
    if only is not None:
        window = _widened(_place(own, only[0]) if splitter.rule else slice(*only[1:]), origin)
        whole = window.start, window.stop
    if origin is not None and (only is not None or part.origin is not None):
        whole = int(origin[0, window.start]), int(origin[1, window].max())
    upto = np.append(0, np.cumsum((source & 0xC0) != 0x80))  # characters

    def place(start: int, stop: int) -> tuple[int, int]:
        begun = start < len(source) and source[start] & 0xC0 == 0x80  # a character cut in two is in both ranges
        return part.first + int(upto[start] - begun), part.first + int(upto[stop])

    lone = segmenter_of(tokenizer.model).unk_id if segmenter_of(tokenizer.model).joins else None
    return Stretch(
        part.source[slice(*whole)].decode("utf-8", "replace"),
        place(*whole),
        normalized[window].tobytes().decode("utf-8", "replace"),
        tuple(_changes(part.source, normalized[window], None if origin is None else origin[:, window], whole, place)),
        tuple(_segmented(splitter, normalized, spans, own, words, place, only)),
        lone,
    )


def _place(own: WordSpans, number: int) -> slice:
    """Return the range of a word in the text that was split."""
    return slice(int(own.origin[0, own.words[number]]), int(own.origin[1, own.words[number + 1] - 1]))


def _widened(window: slice, origin: NDArray[np.int64] | None) -> slice:
    """Return a range of a text with the neighbours that come from the same characters of the source."""
    if origin is None:
        return window
    start, stop = window.start, window.stop
    first, last = int(origin[0, start]), int(origin[1, window].max())
    while start > 0 and origin[1, start - 1] > first:
        start -= 1
    while stop < origin.shape[1] and origin[0, stop] < last:
        stop += 1
    return slice(start, stop)


def _changes(
    source: bytes,
    text: NDArray[np.uint8],
    origin: NDArray[np.int64] | None,
    whole: tuple[int, int],
    place: Callable[[int, int], tuple[int, int]],
) -> list[Change]:
    """Return the ranges of the source that the text does not contain unchanged, each as short as the origins allow."""
    if origin is None:
        return []
    data, found, done = text.tobytes(), list[Change](), whole[0]

    def add(start: int, stop: int, after: bytes) -> None:
        if source[start:stop] != after:
            shown = (part.decode("utf-8", "replace") for part in (source[start:stop], after))
            found.append(Change(place(start, stop), *shown))

    at = 0
    while at < len(data):
        stop, first, last = at + 1, int(origin[0, at]), int(origin[1, at])
        # The bytes of one character, or of characters whose origins overlap.
        while stop < len(data) and (data[stop] & 0xC0 == 0x80 or origin[0, stop] < last):
            last = max(last, int(origin[1, stop]))
            stop += 1
        if first > done:
            add(done, first, b"")
        add(min(first, done) if last <= done else max(first, done), max(last, done), data[at:stop])
        at, done = stop, max(done, last)
    add(done, whole[1], b"")
    return found


def _segmented(
    splitter: SplitterEngine,
    normalized: NDArray[np.uint8],
    spans: WordSpans,
    own: WordSpans,
    words: Words,
    place: Callable[[int, int], tuple[int, int]],
    only: tuple[int, int, int] | None,
) -> list[Word]:
    steps, carried = cut_steps(splitter.rule, normalized), [0.0]  # the sum of scores before a word
    text, data, found = spans.text.tobytes(), normalized.tobytes(), list[Word]()
    alternative: int | None = None
    for number, (start, stop) in enumerate(pairwise(spans.words.tolist())):
        if only is not None:
            if number < only[0] and isinstance(words, UnigramWords) and words.carries:
                words.carry(text[start:stop], carried)
            if number != only[0]:
                continue
            start, stop = only[1:]
        span = place(int(spans.origin[0, start]), int(spans.origin[1, stop - 1]))
        cut = _place(own, number)
        alternative = alternative_at(splitter.rule, data, cut.start, cut.stop, alternative)
        segmentation: Segmentation = words.segmented(text[start:stop], carried)
        shown = text[start:stop].decode("utf-8", "replace")
        found.append(Word(shown, span, steps.get(cut.start), alternative, segmentation))
    return found


def _shown(model: Model, index: int) -> str:
    return model.symbols[index].decode("utf-8", "backslashreplace")
