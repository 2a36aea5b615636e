"""Trace: why a text has its ids, as data: what each part of the pipeline did, in order. Replaying it gives the ids."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from subwords.render.report import Report, Table, plain
from subwords.study.steps import Added, Known, Lattice, Matching, Merging, Stretch, Unknown, Word
from subwords.study.trace_text import lines_of

__all__ = ["Trace"]


@dataclass(frozen=True)
class Trace(Report):
    """Why a text has its ids; made by `explain`. Immutable.

    parts: added tokens and the text between them. steps: the steps of the splitter as text. alternatives: of its
    pattern, if it has only one. tokens: the text of every id that occurs.

    >>> import subwords
    >>> trace = subwords.explain(subwords.train(["low lower"] * 9, vocab_size=259), "lower")
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
                    found |= {
                        *symbols,
                        *(index for merge in merges for index in (merge.left, merge.right, merge.result)),
                    }
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

    def lines(self) -> Iterable[str]:
        """Return every step, in order."""
        return lines_of(self)
