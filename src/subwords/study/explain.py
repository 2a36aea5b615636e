"""explain: why a text has its ids. Runs the pipeline in plain Python and records every step."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subwords.bpe.model import BPE
from subwords.components.trusted import source_of
from subwords.corpus.counts import WordCounts
from subwords.engine.spans import word_spans_of
from subwords.errors import InputError
from subwords.families import Model, family_of, segmenter_of
from subwords.split.splitter import Splitter
from subwords.split.word_spans import WordSpans, character_spans
from subwords.study.cuts import alternative_at, alternatives_of, cut_steps, described
from subwords.study.segment_bpe import BPEWords
from subwords.study.segment_unigram import UnigramWords
from subwords.study.segment_wordpiece import WordLevelWords, WordPieceWords
from subwords.study.steps import Added, Change, Segmentation, Stretch, Word
from subwords.study.trace import Trace
from subwords.support.checks import check_instance
from subwords.tokenizer import tokenizer_of
from subwords.unigram.model import Unigram
from subwords.wordlevel.model import WordLevel

if TYPE_CHECKING:
    from subwords.components.trusted import Input
    from subwords.engine.text_parts import Part
    from subwords.tokenizer import Tokenizer, TokenizerLike

__all__ = ["explain", "words_of"]

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
    engine, model, source = tokenizer._engine, tokenizer.model, source_of(text)
    if len(source) > MOST_BYTES:
        raise InputError(
            f"expected at most {MOST_BYTES} bytes of text to explain, not {len(source)}: pass a part of it"
        )
    if counts is not None:
        check_instance("counts", counts, WordCounts)
    words = words_of(model, counts)
    parts = [_part(tokenizer, part, words) for part in engine.parts.cut(text, special)]
    trace = Trace(
        source.decode("utf-8", "replace"),
        tuple(parts),
        family_of(model).name,
        tuple(map(described, tokenizer.splitter.rule)),
        alternatives_of(tokenizer.splitter.rule),
        {},
    )
    trace.tokens.update({index: _shown(model, index) for index in _mentioned(trace)})
    return trace


Words = BPEWords | WordPieceWords | WordLevelWords | UnigramWords


def words_of(model: Model, counts: WordCounts | None = None) -> Words:
    """Return what segments words by a model and notes how."""
    if isinstance(model, BPE):
        return BPEWords(model, counts)
    if counts is not None:
        raise InputError("counts need a BPE tokenizer: other families learn no merges in order")
    if isinstance(model, Unigram):
        return UnigramWords(model)
    return WordLevelWords(model) if isinstance(model, WordLevel) else WordPieceWords(model)


def _part(tokenizer: Tokenizer, part: Part, words: Words) -> Added | Stretch:
    if part.id is not None:
        return Added(part.id, part.data.decode("utf-8", "replace"), part.span())
    engine = tokenizer._engine
    source = np.frombuffer(part.source, np.uint8)
    whole = (0, len(part.source)) if part.origin is None else (int(part.origin[0, 0]), int(part.origin[1, -1]))
    spans = word_spans_of(engine.route_of(part).words, part)
    normalized, origin = np.frombuffer(part.data, np.uint8), part.origin
    if origin is None and tokenizer.normalizer is not None:
        normalized, origin = tokenizer.normalizer.aligned(source)
    splitter = tokenizer.splitter if part.at_start else tokenizer.splitter.inside

    def place(start: int, stop: int) -> tuple[int, int]:
        ((first, last),) = (character_spans(source, np.array([[start, stop]])) + part.first).tolist()
        return first, last

    lone = segmenter_of(tokenizer.model).unk_id if segmenter_of(tokenizer.model).joins else None
    return Stretch(
        part.source[slice(*whole)].decode("utf-8", "replace"),
        place(*whole),
        normalized.tobytes().decode("utf-8", "replace"),
        tuple(_changes(part.source, normalized, origin, whole, place)),
        tuple(_segmented(splitter, normalized, spans, words, place)),
        lone,
    )


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
    splitter: Splitter,
    normalized: NDArray[np.uint8],
    spans: WordSpans,
    words: Words,
    place: Callable[[int, int], tuple[int, int]],
) -> list[Word]:
    steps, carried = cut_steps(splitter.rule, normalized), [0.0]  # the sum of scores before a word
    text, data, found = spans.text.tobytes(), normalized.tobytes(), list[Word]()
    alternative: int | None = None
    own = Splitter(splitter.rule).word_spans(normalized)  # the same words, with their places in the normalized text
    for number, (start, stop) in enumerate(zip(spans.words[:-1].tolist(), spans.words[1:].tolist(), strict=True)):
        span = place(int(spans.origin[0, start]), int(spans.origin[1, stop - 1]))
        at, end = int(own.origin[0, own.words[number]]), int(own.origin[1, own.words[number + 1] - 1])
        alternative = alternative_at(splitter.rule, data, at, end, alternative)
        segmentation: Segmentation = words.segmented(text[start:stop], carried)
        shown = text[start:stop].decode("utf-8", "replace")
        found.append(Word(shown, span, steps.get(at), alternative, segmentation))
    return found


def _mentioned(trace: Trace) -> set[int]:
    found = {*trace.ids}
    for word in trace.words:
        segmentation = word.segmentation
        for merge in getattr(segmentation, "merges", ()):
            found |= {merge.left, merge.right, merge.result}
        found |= {*getattr(segmentation, "symbols", ()), *word.ids}
        found |= {piece.id for piece in getattr(segmentation, "pieces", ()) if piece.id is not None}
    return found


def _shown(model: Model, index: int) -> str:
    vocab = model.symbols if isinstance(model, BPE) else model.vocab
    return vocab[index].decode("utf-8", "backslashreplace")
