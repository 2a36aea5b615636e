"""explain_training: the steps of training on a small corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from html import escape
from inspect import signature
from itertools import starmap
from typing import TYPE_CHECKING, Any, Generic, Literal

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.counts import WordCounts
from subwords.corpus.source import Source, source_size
from subwords.kernels import layout
from subwords.models.bpe.train import initial_tokens
from subwords.models.families import family_named
from subwords.models.learning import check_words
from subwords.models.settings import BPESettings, MergeSettings, UnigramSettings, WordPieceSettings
from subwords.models.unigram.train import SeedIndex, learned_from, losses_of, train_unigram
from subwords.models.wordpiece.train import first_tokens, known_words
from subwords.normalize.resolve import NormalizerLike, SplitterLike
from subwords.reference import bpe, unigram, wordpiece
from subwords.reference.bpe import Scores, Token, Words, joined, known_runs
from subwords.support.checks import check_choice, check_integer
from subwords.support.errors import TrainingError
from subwords.support.render import Written, as_written, chip, page_chips, panel, token_text
from subwords.support.report import Report, Table
from subwords.training.count import counts_of
from subwords.training.train import family_settings, splitting_rules

if TYPE_CHECKING:
    from subwords.corpus.reading import Reading


# ---------------------------------------------------------------------------------------------------------------------
# What training did, step by step, as data, text and HTML.

MOST_NAMED = 100  # first tokens, on a page
MOST_SHOWN = 8  # pairs or pieces of a step, in text


@dataclass(frozen=True)
class WordSplit:
    """A word, how often it occurs, and the tokens that it is split into."""

    word: str
    count: int
    tokens: tuple[str, ...]


@dataclass(frozen=True)
class PairScore:
    """Two neighbouring tokens: how often they occur, and the score by which training compares them.

    score: the count for BPE; for WordPiece that of its `score` (ALGORITHMS.md, P1); the likelihood gain is in nats.
    """

    pair: tuple[str, str]
    count: int
    score: float


@dataclass(frozen=True)
class MergeStep:
    """A merge: all pairs in order of first occurrence, the one that was chosen, and the words afterwards.

    tied: the number of pairs that have the best score. tie: why the chosen one won, if there are several.
    """

    number: int
    pairs: tuple[PairScore, ...]
    chosen: PairScore
    tied: int
    token: str
    words: tuple[WordSplit, ...]
    tie: str = ""


@dataclass(frozen=True)
class PieceLoss:
    """A piece of a Unigram model: its count and score, and the loss of the corpus if it were removed.

    count: how often the best paths use it, or, for "course", how often it occurs. loss: in nats; None for characters,
    which are always kept, and for pieces that no path needs.
    """

    piece: str
    count: int
    score: float
    loss: float | None
    kept: bool


@dataclass(frozen=True)
class PieceStep:
    """A round of Unigram training: all pieces with their scores and losses, and the best paths of the words.

    loss: of the corpus, the sum of the negative scores of the best paths, in nats, without words that have unknown
    characters. removed: the pieces that are dropped. why: the step of the round.
    """

    number: int
    why: str
    pieces: tuple[PieceLoss, ...]
    words: tuple[WordSplit, ...]
    loss: float
    removed: tuple[str, ...]


@dataclass(frozen=True)
class TrainingTrace(Report):
    """What training did with a small corpus, made by `explain_training`. Immutable.

    words: as training begins. alphabet: the first tokens. vocab, merges: the result; merges are () for Unigram. Tokens
    in text form spell bytes that are not a character as \\xc3.
    """

    algorithm: str
    words: tuple[WordSplit, ...]
    alphabet: tuple[str, ...]
    steps: tuple[MergeStep, ...] | tuple[PieceStep, ...]
    vocab: tuple[bytes, ...]
    merges: tuple[tuple[bytes, bytes], ...]

    def tables(self) -> list[Table]:
        """Return the steps: merges, or the rounds of Unigram training."""
        rows: list[tuple[object, ...]] = []
        for step in self.steps:
            if isinstance(step, MergeStep):
                rows.append((step.number, *map(repr, step.chosen.pair), repr(step.token), step.chosen.count, step.tied))
            else:
                rows.append((step.number, step.why, len(step.pieces), len(step.removed), step.loss))
        merged = any(isinstance(step, MergeStep) for step in self.steps)
        columns = ("left", "right", "token", "count", "tied") if merged else ("why", "pieces", "removed", "loss")
        return [Table(("step", *columns), rows, "Steps of training", "tab:training")]

    def lines(self, written: Written = as_written) -> Iterator[str]:
        """Yield the words, and each step with the best candidates. written: how a token is written."""
        first = f"{len(self.alphabet)} first tokens"
        yield f"{self.algorithm}: {len(self.words)} words, {first}, {len(self.vocab)} at the end"
        for word in self.words:
            yield f"  {word.count} x {word.word!r}: {_written_tokens(word.tokens, written)}"
        before = self.words
        for step in self.steps:
            yield _title(step, written)
            if isinstance(step, MergeStep):
                for pair in _best(step)[1:MOST_SHOWN]:
                    yield f"    then {_written_tokens(pair.pair, written)}: {_score(self.algorithm, pair)}"
            else:
                yield from _losses(step, written)
            for old, word in zip(before, step.words, strict=True):
                if old.tokens != word.tokens:
                    yield f"  {word.count} x {word.word!r}: {_written_tokens(word.tokens, written)}"
            before = step.words

    def _repr_html_(self) -> str:
        """Return the words, and each step with its candidates, in the style of the local page."""
        title = escape(f"{self.algorithm}: {len(self.words)} words become {len(self.vocab)} tokens")
        named = f": {page_chips(self.alphabet)}" if len(self.alphabet) <= MOST_NAMED else ""
        about = f"<p class='soft'>{len(self.alphabet)} first tokens{named}</p>"
        parts = [panel(title, about + _word_rows(self.words))]
        before = self.words
        for step in self.steps:
            changed = [new for old, new in zip(before, step.words, strict=True) if old.tokens != new.tokens]
            before = step.words
            rows: list[Sequence[str]]
            if isinstance(step, MergeStep):
                head = f"Step {step.number}: {page_chips(step.chosen.pair)} become {chip(step.token, 'fresh')}"
                rows = [
                    (
                        page_chips(pair.pair),
                        str(pair.count),
                        f"{pair.score:.6g}",
                        "chosen" if pair is step.chosen else "",
                    )
                    for pair in _best(step)
                ]
                table = _table(("pair", "count", "score", ""), rows)
            else:
                head = f"Step {step.number}: {escape(step.why)}"
                rows = [
                    (
                        *(chip(piece.piece), str(piece.count), f"{piece.score:.4f}"),
                        *("" if piece.loss is None else f"{piece.loss:.4f}", "kept" if piece.kept else "removed"),
                    )
                    for piece in step.pieces
                ]
                table = _table(("piece", "count", "score", "loss if removed", ""), rows)
            said = f"<p class='say'>{escape(_title(step).partition(': ')[2])}</p>"
            listed = f"<details><summary>{len(rows)} candidates</summary>{table}</details>"
            parts.append(panel(head, said + _word_rows(changed) + listed))
        return "".join(parts)


def _written_tokens(tokens: Sequence[str], written: Written) -> str:
    return " ".join(map(written, tokens))


def _score(algorithm: str, pair: PairScore) -> str:
    return f"count {pair.count}" if algorithm == "bpe" else f"score {pair.score:.6g}, count {pair.count}"


def _best(step: MergeStep) -> list[PairScore]:
    """Return the pairs by falling score, the chosen one first."""
    rest = sorted((pair for pair in step.pairs if pair is not step.chosen), key=lambda pair: -pair.score)
    return [step.chosen, *rest]


def _title(step: MergeStep | PieceStep, written: Written = as_written) -> str:
    if isinstance(step, PieceStep):
        return f"step {step.number}: {step.why}; {len(step.pieces)} pieces, loss {step.loss:.4f}"
    chosen = step.chosen
    score = _score("bpe" if chosen.score == chosen.count else "", chosen)
    tied = f"; {step.tied} pairs tied, and {step.tie}" if step.tied > 1 else ""
    return f"step {step.number}: merge {_written_tokens(chosen.pair, written)} to {written(step.token)}: {score}{tied}"


def _losses(step: PieceStep, written: Written) -> Iterator[str]:
    if step.removed:
        yield f"  removed {len(step.removed)}: {_written_tokens(step.removed, written)}"
    known = [piece for piece in step.pieces if piece.loss is not None]
    for piece in sorted(known, key=lambda piece: piece.loss or 0.0)[:MOST_SHOWN]:
        kept = "kept" if piece.kept else "removed"
        yield f"    {written(piece.piece)}: score {piece.score:.4f}, loss if removed {piece.loss:.4f}, {kept}"


def _word_rows(words: Sequence[WordSplit]) -> str:
    rows = [(escape(repr(word.word)), str(word.count), page_chips(word.tokens)) for word in words]
    return _table(("word", "count", "tokens"), rows) if rows else ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; the head is text, the cells are HTML."""
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


# ---------------------------------------------------------------------------------------------------------------------
# The steps of the textbook's trainers (BPE, WordPiece, Unigram of the courses) and of the Unigram trainer.


def watch_bpe(counts: WordCounts, settings: BPESettings, most_steps: int) -> TrainingTrace:
    """Return the steps of BPE training (B1-B8)."""
    check_words(counts)
    initial_tokens(counts, settings)  # refuses a vocab_size that is too small
    symbols = {token_text(word): bpe.symbols_of(word, settings.byte_level) for word, _ in counts}
    watch = _MergeWatch("bpe", settings, most_steps, symbols, bpe.count_pairs)
    return watch.trace(*bpe.train(dict(counts), watch=watch.note, **_options(settings, bpe.train)))


def watch_wordpiece(counts: WordCounts, settings: WordPieceSettings, most_steps: int) -> TrainingTrace:
    """Return the steps of WordPiece training (P1, P2)."""
    check_words(counts)
    counts, _ = known_words(counts, settings.max_chars)
    first_tokens(counts, settings)  # refuses a vocab_size that is too small
    words = {word.decode("utf-8", "surrogateescape"): count for word, count in counts}
    names = (token_text(word) for word, _ in counts)
    symbols = {name: wordpiece.symbols(word, settings.prefix) for name, word in zip(names, words, strict=True)}
    count_pairs = partial(wordpiece.count_pairs, overlapping=settings.score != "likelihood")
    watch = _MergeWatch("wordpiece", settings, most_steps, symbols, count_pairs)
    return watch.trace(*wordpiece.train(words, watch=watch.note, **_options(settings, wordpiece.train)))


def _options(settings: MergeSettings, train: Callable[..., object]) -> dict[str, Any]:
    """Return the settings that a textbook trainer has too; it has all that change the result."""
    names = (field.name for field in fields(settings) if field.name in signature(train).parameters)
    return {name: getattr(settings, name) for name in names} | {"special_tokens": settings.reserved}


def _text(token: bytes | str) -> str:
    return token if isinstance(token, str) else token_text(token)


class _MergeWatch(Generic[Token]):
    """Notes the merges of a textbook trainer. symbols: of each word. count_pairs: of words, as the trainer does."""

    def __init__(
        self,
        algorithm: str,
        settings: MergeSettings,
        most_steps: int,
        symbols: Mapping[str, list[Token]],
        count_pairs: Callable[[Words[Token]], Mapping[tuple[Token, Token], int]],
    ) -> None:
        self._algorithm, self._settings, self._most = algorithm, settings, most_steps
        self._symbols: Mapping[str, list[Token]] = symbols
        self._count_pairs: Callable[[Words[Token]], Mapping[tuple[Token, Token], int]] = count_pairs
        self._words: Words[Token] = []
        self._steps = list[MergeStep]()

    def note(
        self, words: Words[Token], vocab: list[Token], scores: Scores[Token], chosen: tuple[Token, Token] | None
    ) -> None:
        """Note a merge; or the words and first tokens, if no pair was chosen."""
        before, self._words = self._words, words
        if chosen is None:
            known = {token for tokens, _ in words for token in tokens}
            self._names = [word for word, symbols in self._symbols.items() for _ in known_runs(symbols, known)]
            self._first, self._start = (*map(_text, vocab),), self._splits()
            return
        if len(self._steps) == self._most:
            raise TrainingError(
                f"more than {self._most} steps to explain: lower vocab_size ({self._settings.vocab_size}), "
                f"or raise `limit`"
            )
        counts, best = self._count_pairs(before), max(scores.values())
        pairs = {
            pair: PairScore((_text(pair[0]), _text(pair[1])), counts[pair], float(score))
            for pair, score in scores.items()
        }
        self._steps.append(
            MergeStep(
                len(self._steps) + 1,
                tuple(pairs.values()),
                pairs[chosen],
                sum(score == best for score in scores.values()),
                _text(joined(chosen, len(getattr(self._settings, "prefix", "")))),
                self._splits(),
                self._why(*map(vocab.index, chosen)),
            )
        )

    def _splits(self) -> tuple[WordSplit, ...]:
        named = zip(self._names, self._words, strict=True)
        return tuple(WordSplit(name, count, tuple(map(_text, tokens))) for name, (tokens, count) in named)

    def _why(self, left: int, right: int) -> str:
        """Say why a pair wins among those of the best score."""
        rule = {
            "first": "this one occurs first",
            "bytes": "this one has the smallest bytes",
            "ids": f"this one has the smallest ids: {left} and {right}",
        }
        return rule[self._settings.tie_break]

    def trace(self, vocab: list[Token], merges: list[tuple[Token, Token]]) -> TrainingTrace:
        """Return what was noted, with the result."""

        def spelled(token: bytes | str) -> bytes:
            return token if isinstance(token, bytes) else token.encode()

        pairs = tuple((spelled(left), spelled(right)) for left, right in merges)
        result = tuple(map(spelled, vocab)), pairs
        return TrainingTrace(self._algorithm, self._start, self._first, tuple(self._steps), *result)


class _PieceWatch:
    """Notes the rounds of training a Unigram model."""

    def __init__(self, counts: WordCounts, settings: UnigramSettings, most_steps: int) -> None:
        self._most, self._size = most_steps, settings.vocab_size
        self.words = Counter[str]()
        for word, count in learned_from(counts, settings):
            self.words[word.decode("utf-8", "replace")] += count
        self.characters = {*"".join(self.words)}
        self._steps = list[PieceStep]()

    def note(self, why: str, pieces: Iterable[PieceLoss]) -> None:
        """Note a round: its pieces, and the best paths of the words."""
        if len(self._steps) == self._most:
            raise TrainingError(
                f"more than {self._most} steps to explain: raise vocab_size ({self._size}), or raise `limit`"
            )
        rows, splits, loss = tuple(pieces), list[WordSplit](), 0.0
        scores = {piece.piece: piece.score for piece in rows}
        for word, count in self.words.items():
            tokens, score = unigram.best_segmentation(word, scores)
            splits.append(WordSplit(word, count, tuple(tokens or word)))
            loss -= count * score if tokens else 0.0  # a word with unknown characters has no path
        removed = tuple(piece.piece for piece in rows if not piece.kept)
        self._steps.append(PieceStep(len(self._steps) + 1, why, rows, tuple(splits), loss, removed))

    def trace(self, algorithm: str, vocab: Iterable[bytes]) -> TrainingTrace:
        """Return what was noted, with the result."""
        start = tuple(WordSplit(word, count, tuple(word)) for word, count in self.words.items())
        return TrainingTrace(algorithm, start, (*sorted(self.characters),), tuple(self._steps), tuple(vocab), ())


def watch_unigram(counts: WordCounts, settings: UnigramSettings, most_steps: int) -> TrainingTrace:
    """Return the rounds of Unigram training (U1-U3)."""
    watch = _PieceWatch(counts, settings, most_steps)

    def note(why: str, lattice: SeedIndex, scores: NDArray[np.float64], kept: NDArray[np.bool_] | None) -> None:
        names = [*map(lattice.string, range(len(lattice)))]
        lost, used = losses_of(lattice, scores, 1)
        left = np.ones(len(lattice), np.bool_) if kept is None else kept
        losses = [None if loss in (layout.ALWAYS, layout.NEVER) else loss for loss in lost.tolist()]
        watch.note(why, map(PieceLoss, names, used.tolist(), scores.tolist(), losses, left.tolist()))

    model = train_unigram(counts, settings, threads=1, on_round=note)
    return watch.trace("unigram", model.vocab)


def watch_course(counts: WordCounts, settings: UnigramSettings, most_steps: int) -> TrainingTrace:
    """Return the rounds of Unigram training as courses teach it: see `reference.unigram.train_course`."""
    watch, size = _PieceWatch(counts, settings, most_steps), settings.vocab_size
    if len(watch.characters) > size:
        raise TrainingError(f"vocab_size {size} is too small: there are {len(watch.characters)} characters")

    def note(
        found: Mapping[str, int], scores: Mapping[str, float], losses: Mapping[str, float], removed: Collection[str]
    ) -> None:
        why = f"remove {len(removed)} of the smallest loss" if removed else "the pieces that are left"
        rows = ((piece, n, scores[piece], losses.get(piece), piece not in removed) for piece, n in found.items())
        watch.note(why, starmap(PieceLoss, rows))

    pieces = unigram.train_course(watch.words, size, note)
    return watch.trace("unigram-course", map(str.encode, pieces))


MOST_BYTES, MOST_WORDS, MOST_LETTERS = 1 << 20, 1000, 10_000
Algorithm = Literal["bpe", "wordpiece", "unigram", "unigram-course"]


def explain_training(
    source: Source | WordCounts,
    *,
    algorithm: Algorithm = "bpe",
    vocab_size: int,
    splitter: SplitterLike = "auto",
    normalizer: NormalizerLike = "auto",
    special_tokens: Sequence[str] | None = None,
    reading: Reading | None = None,
    limit: int = 1000,
    **options: Any,
) -> TrainingTrace:
    """Return the steps of training on a small corpus: words, splits, the score of every pair or piece, each choice.

    The result has the vocabulary and the merges of `subwords.train` with the same options. algorithm: also
    "unigram-course", Unigram as courses teach it; it starts from all substrings, scores them by their share of all
    counts, and removes those whose loss is smallest. other options: as in `subwords.train`. limit: more steps
    are an error. Raises TrainingError for more than 1,000 different words, 10,000 bytes in them or 1 MB of text.

    >>> import subwords
    >>> found = subwords.study.explain_training(["hugs hug pug"], vocab_size=7, alphabet="corpus")
    >>> print(found)
    bpe: 3 words, 6 first tokens, 7 at the end
      1 x 'hugs': 'h' 'u' 'g' 's'
      1 x ' hug': ' ' 'h' 'u' 'g'
      1 x ' pug': ' ' 'p' 'u' 'g'
    step 1: merge 'u' 'g' to 'ug': count 3
        then 'h' 'u': count 2
        then 'g' 's': count 1
        then ' ' 'h': count 1
        then ' ' 'p': count 1
        then 'p' 'u': count 1
      1 x 'hugs': 'h' 'ug' 's'
      1 x ' hug': ' ' 'h' 'ug'
      1 x ' pug': ' ' 'p' 'ug'
    >>> found.merges
    ((b'u', b'g'),)
    """
    check_choice("algorithm", algorithm, ("bpe", "wordpiece", "unigram", "unigram-course"))
    check_integer("limit", limit, 1, 1_000_000)
    family = family_named(algorithm.removesuffix("-course"))
    settings = family_settings(family.name, {**options, "vocab_size": vocab_size, "special_tokens": special_tokens})
    size = None if isinstance(source, WordCounts) else source_size(source)
    if size is not None and size > MOST_BYTES:
        raise TrainingError(f"expected at most {MOST_BYTES} bytes of text to explain training on, not {size}")
    rules = splitting_rules(family.name, settings, splitter, normalizer)
    counts = counts_of(source, rules, reading=reading, progress=False)
    if len(counts) > MOST_WORDS or len(counts.data) > MOST_LETTERS:
        raise TrainingError(
            f"expected at most {MOST_WORDS} different words of {MOST_LETTERS} bytes together to explain training on, "
            f"not {len(counts)} of {len(counts.data)}: pass a part of the corpus"
        )
    watch = watch_course if algorithm == "unigram-course" else family.tool("explain_training")
    found: TrainingTrace = watch(counts, settings, limit)
    return found
