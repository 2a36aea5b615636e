"""More pieces for a tokenizer that was read from a .model file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from subwords.errors import InputError
from subwords.formats.sentencepiece.pieces import PieceTable
from subwords.formats.sentencepiece.proto import Piece, model_class
from subwords.formats.sentencepiece.read import spec_of
from subwords.formats.sentencepiece.revised import lower_scores
from subwords.formats.sentencepiece.write import add_pieces, rebuilt
from subwords.spec import TokenizerSpec

__all__ = ["with_pieces"]


def with_pieces(spec: TokenizerSpec, pieces: Sequence[bytes], scores: Sequence[float] | None = None) -> TokenizerSpec:
    """Return the spec with more pieces. Without scores, theirs are below all others: in BPE they merge last.

    InputError if the spec is no longer that of its file.
    """
    assert spec.foreign.sentencepiece is not None
    table = PieceTable.of(spec.foreign.sentencepiece)
    if rebuilt(spec, table) is None:
        raise InputError("expected a tokenizer as it was read from its .model file, not a changed copy: extend first")
    message = model_class()()
    message.ParseFromString(table.message)
    add_pieces(message, list(spec.model.vocab), table)
    types = np.frombuffer(table.types, np.uint8)
    merging = np.isin(types, (Piece.NORMAL, Piece.UNUSED))
    lower = lower_scores(float(table.scores[merging].min(initial=0)), len(pieces)) if scores is None else scores
    for piece, score in zip(pieces, lower, strict=True):
        message.pieces.add(piece=piece, score=score)
    return spec_of(message)
