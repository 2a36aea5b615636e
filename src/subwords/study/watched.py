"""What training did, step by step, as data, text and HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from subwords.render.page import chip, chips, panel
from subwords.render.report import Report, Table

__all__ = ["MergeStep", "PairScore", "PieceLoss", "PieceStep", "TrainingTrace", "WordSplit"]

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

    def lines(self) -> Iterator[str]:
        """Yield the words, and each step with the best candidates."""
        first = f"{len(self.alphabet)} first tokens"
        yield f"{self.algorithm}: {len(self.words)} words, {first}, {len(self.vocab)} at the end"
        for word in self.words:
            yield f"  {word.count} x {word.word!r}: {_named(word.tokens)}"
        before = self.words
        for step in self.steps:
            yield _title(step)
            if isinstance(step, MergeStep):
                for pair in _best(step)[1:MOST_SHOWN]:
                    yield f"    then {_named(pair.pair)}: {_score(self.algorithm, pair)}"
            else:
                yield from _losses(step)
            for old, word in zip(before, step.words, strict=True):
                if old.tokens != word.tokens:
                    yield f"  {word.count} x {word.word!r}: {_named(word.tokens)}"
            before = step.words

    def _repr_html_(self) -> str:
        """Return the words, and each step with its candidates, in the style of the local page."""
        title = escape(f"{self.algorithm}: {len(self.words)} words become {len(self.vocab)} tokens")
        named = f": {chips(self.alphabet)}" if len(self.alphabet) <= MOST_NAMED else ""
        about = f"<p class='soft'>{len(self.alphabet)} first tokens{named}</p>"
        parts = [panel(title, about + _words(self.words))]
        before = self.words
        for step in self.steps:
            changed = [new for old, new in zip(before, step.words, strict=True) if old.tokens != new.tokens]
            before = step.words
            rows: list[Sequence[str]]
            if isinstance(step, MergeStep):
                head = f"Step {step.number}: {chips(step.chosen.pair)} become {chip(step.token, 'fresh')}"
                rows = [
                    (chips(pair.pair), str(pair.count), f"{pair.score:.6g}", "chosen" if pair is step.chosen else "")
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
            parts.append(panel(head, said + _words(changed) + listed))
        return "".join(parts)


def _named(tokens: Sequence[str]) -> str:
    return " ".join(map(repr, tokens))


def _score(algorithm: str, pair: PairScore) -> str:
    return f"count {pair.count}" if algorithm == "bpe" else f"score {pair.score:.6g}, count {pair.count}"


def _best(step: MergeStep) -> list[PairScore]:
    """Return the pairs by falling score, the chosen one first."""
    rest = sorted((pair for pair in step.pairs if pair is not step.chosen), key=lambda pair: -pair.score)
    return [step.chosen, *rest]


def _title(step: MergeStep | PieceStep) -> str:
    if isinstance(step, PieceStep):
        return f"step {step.number}: {step.why}; {len(step.pieces)} pieces, loss {step.loss:.4f}"
    chosen = step.chosen
    score = _score("bpe" if chosen.score == chosen.count else "", chosen)
    tied = f"; {step.tied} pairs tied, and {step.tie}" if step.tied > 1 else ""
    return f"step {step.number}: merge {_named(chosen.pair)} to {step.token!r}: {score}{tied}"


def _losses(step: PieceStep) -> Iterator[str]:
    if step.removed:
        yield f"  removed {len(step.removed)}: {_named(step.removed)}"
    known = [piece for piece in step.pieces if piece.loss is not None]
    for piece in sorted(known, key=lambda piece: piece.loss or 0.0)[:MOST_SHOWN]:
        kept = "kept" if piece.kept else "removed"
        yield f"    {piece.piece!r}: score {piece.score:.4f}, loss if removed {piece.loss:.4f}, {kept}"


def _words(words: Sequence[WordSplit]) -> str:
    rows = [(escape(repr(word.word)), str(word.count), chips(word.tokens)) for word in words]
    return _table(("word", "count", "tokens"), rows) if rows else ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; the head is text, the cells are HTML."""
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'
