"""explain: why a text has its ids. Runs the pipeline in plain Python and records every step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subwords import WordCounts
from subwords.machine import (
    ByteChars,
    Model,
    Prefix,
    Replace,
    Rule,
    SpelledBytes,
    Split,
    SplitterEngine,
    WordSpans,
    engine_of,
    family_of,
    input_bytes,
    pattern_tokens,
    segmenter_of,
    tokenizer_of,
)
from subwords.study.segments import (
    Added,
    BPEWords,
    Change,
    Known,
    Lattice,
    Matching,
    Merging,
    Segmentation,
    Stretch,
    UnigramWords,
    Unknown,
    Word,
    WordLevelWords,
    WordPieceWords,
)
from subwords.support.checks import check_instance
from subwords.support.errors import InputError
from subwords.support.render import Written, as_written, token_text
from subwords.support.report import Report, Table, plain

if TYPE_CHECKING:
    from subwords import Encoding, Tokenizer
    from subwords.machine import Input, TextSegment, TokenizerLike


# ---------------------------------------------------------------------------------------------------------------------
# Trace: why a text has its ids, as data: what each part of the pipeline did, in order. Replaying it gives the ids.


@dataclass(frozen=True)
class Trace(Report):
    """Why a text has its ids; made by `explain`. Immutable.

    parts: added tokens and the text between them. steps: the steps of the splitter as text. alternatives: of its
    pattern, if it has only one. tokens: the text of every id that occurs.

    >>> import subwords
    >>> trace = subwords.study.explain(subwords.train(["low lower"] * 9, vocab_size=259), "lower")
    >>> [(merge.rank, trace.tokens[merge.result]) for merge in trace.words[0].segmentation.merges]
    [(0, 'lo'), (1, 'low'), (2, 'er')]
    >>> trace.ids
    [257, 258]
    """

    text: str
    parts: tuple[Added | Stretch, ...]
    family: str
    steps: tuple[str, ...]
    alternatives: tuple[str, ...]
    tokens: dict[int, str]

    @property
    def ids(self) -> list[int]:
        """The ids, by doing the steps of the trace again."""
        return [index for part in self.parts for index in part.replayed()]

    @property
    def words(self) -> list[Word]:
        """The words of all parts."""
        return [word for part in self.parts if isinstance(part, Stretch) for word in part.words]

    def mentioned(self) -> set[int]:
        """Return every id that occurs in a step."""
        found, todo = {*self.ids}, [word.segmentation for word in self.words]
        for step in todo:
            match step:
                case Known(merging=Merging() as merging):
                    todo.append(merging)
                case Merging(symbols, merges):
                    found.update(symbols, *((merge.left, merge.right, merge.result) for merge in merges))
                case Matching(matches) | Unknown(matches=matches):
                    found |= {match.id for match in matches}
                case Lattice(pieces):
                    found |= {piece.id for piece in pieces if piece.id is not None}
            found |= {*step.replayed()}
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the trace as dicts, lists, strings and numbers, for JSON; each dict says its kind."""
        found: dict[str, Any] = plain(self, kinds=True)
        found["tokens"] = {str(index): text for index, text in self.tokens.items()}
        return found | {"ids": self.ids}

    def tables(self) -> list[Table]:
        """Return the words: their range in the text, in characters, and their ids."""
        rows = []
        for word in self.words:
            ids = word.segmentation.replayed()
            shown = " ".join(repr(self.tokens[index]) for index in ids)
            rows.append((repr(word.text), *word.span, " ".join(map(str, ids)), shown))
        return [Table(("word", "start", "stop", "ids", "tokens"), rows, "Words and their ids", "tab:trace")]

    def lines(self, written: Written = as_written) -> Iterator[str]:
        """Yield every step, in order. written: how a token is written."""
        yield f"{self.family}, {len(self.ids)} ids: {' '.join(map(str, self.ids))}"
        for part in self.parts:
            if isinstance(part, Added):
                yield f"{part.span[0]}-{part.span[1]} added token {written(part.text)} = {part.id}"
                continue
            for change in part.changes:
                yield f"{change.span[0]}-{change.span[1]} normalized: {change.before!r} to {change.after!r}"
            for word in part.words:
                yield from self._word(word, written)
        for number, step in enumerate(self.steps):
            yield f"splitter, step {number}: {step}"
        used = {word.alternative for word in self.words}
        for number, alternative in enumerate(self.alternatives if len(self.alternatives) > 1 else ()):
            if number in used:
                yield f"  alternative {number}: {alternative}"

    def _word(self, word: Word, written: Written) -> Iterator[str]:
        def row_of(ids: Iterable[int]) -> str:
            return " ".join(written(self.tokens[index]) for index in ids) or "nothing"

        how = "" if word.alternative is None else f" (alternative {word.alternative})"
        yield f"{word.span[0]}-{word.span[1]} word {word.text!r}{how}: {row_of(word.ids)}"
        found = word.segmentation
        if isinstance(found, Known | Unknown):
            yield f"    {found.why}"
        elif isinstance(found, Merging):
            row = [*found.symbols]
            yield f"    {row_of(row)}"
            for merge in found.merges:
                row[merge.place : merge.place + 2] = [merge.result]
                count = "" if merge.count is None else f", count {merge.count}"
                pair = f"{written(self.tokens[merge.left])} + {written(self.tokens[merge.right])}"
                yield f"    rank {merge.rank}{count}: {pair}: {row_of(row)}"
        elif isinstance(found, Matching):
            for match in found.matches:
                longer = f"; {match.tried} longer candidates are not in the vocabulary" if match.tried else ""
                yield f"    at {match.start}: {written(self.tokens[match.id])}, the longest{longer}"
        else:
            yield from _lattice(word, found, written)


MOST_PIECES = 40  # of a lattice, in text


def _lattice(word: Word, found: Lattice, written: Written) -> Iterator[str]:
    def text(place: int) -> str:
        return written(word.text[found.pieces[place].start : found.pieces[place].stop])

    yield f"    best {found.score:.4f}: {' '.join(map(text, found.best))}"
    if found.runner_up is not None:
        yield f"    runner-up, {found.gap:.4f} less: {' '.join(map(text, found.runner_up))}"
    for place, piece in enumerate(found.pieces[:MOST_PIECES]):
        name = "unknown" if piece.id is None else str(piece.id)
        yield f"      {piece.start}-{piece.stop} {text(place)} {name} {piece.score:.4f}"
    if len(found.pieces) > MOST_PIECES:
        yield f"      and {len(found.pieces) - MOST_PIECES} more pieces"


# ---------------------------------------------------------------------------------------------------------------------
# Cuts: which step of a splitter cut a text where, and which alternative of a pattern matched.

AFTER = 64  # bytes after a word that a pattern may look at


def described(step: Split | Prefix | Replace | ByteChars | SpelledBytes) -> str:
    """Return a step in words."""
    if isinstance(step, Split):
        matches = "the gaps between matches of" if step.invert else "pattern"
        return f"{matches} {step.pattern} {step.behavior.replace('_', ' ')}"
    if isinstance(step, Prefix):
        return f"prefix {step.text!r} {step.scheme}"
    return f"{step.old!r} to {step.new!r}" if isinstance(step, Replace) else "bytes to characters"


def alternatives_of(rule: Rule) -> tuple[str, ...]:
    """Return the alternatives of the pattern of a rule with one pattern; () for other rules.

    >>> alternatives_of((Split(r"a|[b|c]+|(?:d|e)"),))
    ('a', '[b|c]+', '(?:d|e)')
    """
    steps = [step for step in rule if not isinstance(step, ByteChars)]
    if len(steps) != 1 or not isinstance(steps[0], Split):
        return ()
    return _alternatives(steps[0].pattern)


@lru_cache(16)
def _alternatives(pattern: str) -> tuple[str, ...]:
    found, depth = [""], 0
    for token, inside in pattern_tokens(pattern):
        if not inside:
            depth += (token[0] == "(" and token[-1] != ")") - (token == ")")
        if token == "|" and not depth and not inside:
            found.append("")
        else:
            found[-1] += token
    return tuple(found)


@lru_cache(256)
def _matcher(pattern: str) -> SplitterEngine:
    return SplitterEngine((Split(pattern, "removed", invert=True),))


def alternative_at(rule: Rule, text: bytes, start: int, stop: int, guess: int | None = None) -> int | None:
    """Return the number of the alternative that matches text[start:stop]; None for text between matches.

    guess: tried first, such as that of the word before.
    """
    alternatives = alternatives_of(rule)
    near = np.frombuffer(text[start : stop + AFTER], np.uint8)

    def reach(number: int) -> int:
        """How far the first `number` alternatives match; 0 if none of them does."""
        if not number:
            return 0
        found = _matcher("|".join(alternatives[:number])).word_spans(near)
        matched = len(found.words) > 1 and found.origin[0, 0] == 0
        return int(found.origin[1, found.words[1] - 1]) if matched else 0

    low, high = 0, len(alternatives)  # the first `low` do not match, the first `high` do
    if guess is not None and reach(guess + 1) and not reach(guess):
        low, high = guess, guess + 1
    elif not high or not reach(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reach(middle) else (middle, high)
    return low if reach(high) == stop - start else None


def cut_steps(rule: Rule, text: NDArray[np.uint8]) -> dict[int, int]:
    """Return the first step that cut at each byte where a word begins; the start of the text is not a cut."""
    found: dict[int, int] = {}
    for number in range(len(rule)):
        if isinstance(rule[number], ByteChars | SpelledBytes | Replace):
            continue
        spans = SplitterEngine(rule[: number + 1]).word_spans(text)
        for place in spans.words[:-1].tolist():
            begin = int(spans.origin[0, place])
            if begin:
                found.setdefault(begin, number)
    return found


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
    >>> print(subwords.study.explain(tok, "lower"))
    bpe, 2 ids: 257 258
    0-5 word 'lower' (alternative 0): 'low' 'er'
        'l' 'o' 'w' 'e' 'r'
        rank 0: 'l' + 'o': 'lo' 'w' 'e' 'r'
        rank 1: 'lo' + 'w': 'low' 'e' 'r'
        rank 2: 'e' + 'r': 'low' 'er'
    splitter, step 0: ...
      alternative 0: ...
    """
    tokenizer = tokenizer_of(tokenizer)
    source = input_bytes(text)
    if len(source) > MOST_BYTES:
        raise InputError(
            f"expected at most {MOST_BYTES} bytes of text to explain, not {len(source)}: pass a part of it"
        )
    if counts is not None:
        check_instance("counts", counts, WordCounts)
    words = word_explainer(tokenizer.model, counts)
    parts = [_part(tokenizer, part, words) for part in engine_of(tokenizer).parts.cut(text, special)]
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
    engine = engine_of(tokenizer)
    for part in engine.parts.cut(text, special):
        spans = None if part.id is not None else part.word_spans(engine.encoder_of(part).words)
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
    trace.tokens.update({index: token_text(model.symbols[index]) for index in sorted(trace.mentioned())})
    return trace


Words = BPEWords | WordPieceWords | WordLevelWords | UnigramWords


def word_explainer(model: Model, counts: WordCounts | None = None) -> Words:
    """Return what segments words by a model and notes how."""
    family = family_of(model)
    if counts is not None and not family.keeps_merges:
        raise InputError("counts need a BPE tokenizer: other families learn no merges in order")
    make = family.tool("explain")
    found: Words = make(model) if counts is None else make(model, counts)
    return found


def ids_of_word(model: Model, word: bytes) -> tuple[int, ...]:
    """Return the ids of a word by itself."""
    return word_explainer(model).segmented(word, [0.0]).replayed()


def _part(
    tokenizer: Tokenizer, part: TextSegment, words: Words, only: tuple[int, int, int] | None = None
) -> Added | Stretch:
    """Return what happened to a part. only: the number of one word, and the range to explain of it."""
    if part.id is not None:
        return Added(part.id, part.data.decode("utf-8", "replace"), part.span())
    engine, source = engine_of(tokenizer), np.frombuffer(part.source, np.uint8)
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
