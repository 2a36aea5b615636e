"""A tokenizer that was read from a .model file, with fewer, more or other pieces."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from subwords.formats.sentencepiece.pieces import PieceTable
from subwords.formats.sentencepiece.proto import Piece, model_class
from subwords.formats.sentencepiece.read import spec_of
from subwords.formats.sentencepiece.write import add_pieces, rebuilt
from subwords.spec import TokenizerSpec

__all__ = ["lower_scores", "revised"]


def lower_scores(least: float, count: int) -> list[float]:
    """Return scores below `least`, each lower than the one before, that differ as 32-bit floats.

    >>> lower_scores(-2.5, 2), lower_scores(-1e9, 2)
    ([-4.0, -5.0], [-1000000064.0, -1000000128.0])
    """
    found, last = list[float](), np.float32(least)
    for _ in range(count):
        last = min(np.float32(math.floor(last) - 1), np.nextafter(last, np.float32(-np.inf)))
        found.append(float(last))
    return found


def revised(
    spec: TokenizerSpec,
    pieces: Sequence[bytes],
    origins: NDArray[np.int64],
    fresh_scores: Mapping[int, float] | None = None,
) -> TokenizerSpec | None:
    """Return the spec of a .model file with these pieces; None if the spec is no longer that of its file.

    origins: the old id of each piece, which keeps its type and score; -1 for new pieces, whose scores are
    `fresh_scores` by id, or else below all others in order of their ids.
    """
    assert spec.foreign.sentencepiece is not None
    table = PieceTable.of(spec.foreign.sentencepiece)
    if rebuilt(spec, table) is None:
        return None
    fresh = origins < 0
    old = np.frombuffer(table.types, np.uint8)
    types = np.where(fresh, Piece.NORMAL, old[origins]).astype(np.uint8)
    scores = table.scores[origins]
    merging = np.isin(old, (Piece.NORMAL, Piece.UNUSED))
    if fresh_scores is None:
        scores[fresh] = lower_scores(float(table.scores[merging].min(initial=0)), int(fresh.sum()))
    else:
        scores[[*fresh_scores]] = [*fresh_scores.values()]
    message = model_class()()
    message.ParseFromString(table.message)
    trainer, places = message.trainer_spec, {origin: i for i, origin in enumerate(origins.tolist()) if origin >= 0}
    for field in ("unk_id", "bos_id", "eos_id", "pad_id"):
        index = getattr(trainer, field)
        if index >= 0 and places.get(index, -1) != index:
            setattr(trainer, field, places.get(index, -1))
    if trainer.vocab_size != len(pieces):
        trainer.vocab_size = len(pieces)
    add_pieces(message, pieces, PieceTable(table.message, types.tobytes(), scores))
    return spec_of(message)
