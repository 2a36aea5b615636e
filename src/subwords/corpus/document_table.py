"""A table of words that also counts the documents of each word (W6)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from subwords.corpus.word_table import WordTable
from subwords.kernels import layout
from subwords.split.routes import WordChunk
from subwords.support.memory import zeros
from subwords.support.threads import check_stopped

__all__ = ["DocumentTable"]


class DocumentTable(WordTable):
    """Distinct words with their counts, and the number of documents that have them."""

    def __init__(self) -> None:
        super().__init__()
        self._marks, self._documents = self._marks_of(self.slots), 0

    def count_documents(self, chunks: Iterable[WordChunk], place: int, documents: NDArray[np.int64]) -> None:
        """Count the words of chunks of texts. documents: the number of the document that each text is of, ascending."""
        from subwords.kernels.named import mark_words

        documents, at = documents + self._documents, 0
        for chunk in chunks:
            place += self.count_chunk(chunk, place)
            of = documents[at : at + len(chunk.text_ends)]
            mark_words(chunk.text, chunk.base, chunk.ends, chunk.text_ends, of, self.arrays, self._marks)
            at += len(of) - (not chunk.complete)
            check_stopped()
        self._documents = int(documents[-1]) + 1 if len(documents) else self._documents

    def as_counts(self) -> WordTable:
        """Return a table of the same words with the number of documents of each as its count."""
        table = WordTable()
        table.slots, table.arena, table.counters = self.slots.copy(), self.arena.copy(), self.counters.copy()
        table.slots[layout.SLOT.value_low :: layout.SLOT.width] = self._marks[
            layout.MARK.documents :: layout.MARK.width
        ]
        return table

    def _grow(self, status: int, length: int) -> None:
        from subwords.kernels.named import move_marks

        before = self.slots
        super()._grow(status, length)
        if self.slots is not before:
            marks = self._marks_of(self.slots)
            move_marks(before, self._marks, self.slots, marks, self.seeds)
            self._marks = marks

    @staticmethod
    def _marks_of(slots: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return zeros(len(slots) // layout.SLOT.width * layout.MARK.width, np.uint64, random=True)
