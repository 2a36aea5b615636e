"""Pieces of SentencePiece's .model files: validity, and where text can be cut without changing ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.components.precompiled_map import read_charsmap
from subwords.components.space_rule import space_rule
from subwords.components.splitter import Rule, Split
from subwords.errors import FormatError
from subwords.formats.sentencepiece.proto import Kind, Piece
from subwords.support.light import distinct
from subwords.unigram.model import BYTE_PIECES

__all__ = ["NUL", "PieceTable", "check", "cut_rule"]

LONGEST = 8000  # bytes; pieces must be shorter
SPACE, NUL = "▁".encode(), b"\0"
_WORDS: Rule = (Split("▁[^▁]*|[^▁]+"),)


@dataclass(frozen=True, eq=False)
class PieceTable:
    """The parts of a .model file.

    message: the serialized message without pieces. types: one byte per piece. scores: float32, per piece.
    """

    message: bytes
    types: bytes
    scores: NDArray[np.float32]

    @classmethod
    def of(cls, kept: tuple[bytes, bytes, bytes]) -> PieceTable:
        """Return the table from the parts that `kept` returned."""
        message, types, scores = kept
        return cls(message, types, np.frombuffer(scores, np.float32))

    def kept(self) -> tuple[bytes, bytes, bytes]:
        """Return the parts as bytes, for `Foreign`."""
        return self.message, self.types, self.scores.tobytes()

    def ids_of(self, *types: int) -> frozenset[int]:
        """Return the ids of pieces of the given types."""
        return frozenset(np.flatnonzero(np.isin(np.frombuffer(self.types, np.uint8), types)).tolist())


def cut_rule(
    pieces: Sequence[bytes], types: Sequence[int], model_type: int = Kind.UNIGRAM, *, byte_fallback: bool
) -> Rule:
    """Return the finest rule that is known to change no id: it cuts before U+2581 and around user-defined pieces.

    types: the type of each piece, as in the file.

    >>> rule = cut_rule(["▁".encode(), "▁a".encode(), b"a"], [1, 1, 1], byte_fallback=True)
    >>> [step.pattern for step in rule]
    ['▁[^▁]*|[^▁]+']
    """
    if model_type == Kind.WORD:
        return _WORDS
    users = [piece for piece, kind in zip(pieces, types, strict=True) if kind == Piece.USER_DEFINED]
    known = [piece for piece, kind in zip(pieces, types, strict=True) if kind == Piece.NORMAL]
    unused = [piece for piece, kind in zip(pieces, types, strict=True) if kind == Piece.UNUSED]
    if model_type == Kind.UNIGRAM:
        unknown = SPACE not in known and SPACE not in users and not byte_fallback
        return space_rule(known + users, unk_space=unknown)
    # Adjacent unknown characters become one unk, unless byte fallback replaces them by bytes.
    return space_rule(known + unused, users, unk_space=SPACE not in known and not byte_fallback)


def check(message: Any, pieces: Sequence[bytes], types: NDArray[np.int64], scores: NDArray[np.float32]) -> None:
    """Raise FormatError for a model that SentencePiece would not load, or not safely."""
    trainer = message.trainer_spec
    if not pieces:
        raise FormatError("no pieces: expected a SentencePiece model with at least one piece")
    if trainer.model_type not in range(Kind.UNIGRAM, Kind.CHAR + 1):
        raise FormatError(f"expected a model type from 1 to 4 (Unigram, BPE, word, char), not {trainer.model_type}")
    for field in ("unk_id", "bos_id", "eos_id", "pad_id"):
        if getattr(trainer, field) < -1:
            raise FormatError(f"expected {field} to be an id, or -1 for none, not {getattr(trainer, field)}")
    if not np.isfinite(scores).all():
        wrong = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise FormatError(f"expected finite scores; piece {wrong}, {pieces[wrong]!r:.60}, has {scores[wrong]}")
    if outside := np.flatnonzero((types < Piece.NORMAL) | (types > Piece.BYTE)).tolist():
        raise FormatError(f"expected piece types from 1 to 6; piece {outside[0]} has {types[outside[0]]}")
    if (
        trainer.model_type == Kind.UNIGRAM
        and not np.isin(types, [Piece.NORMAL, Piece.USER_DEFINED, Piece.UNUSED]).any()
    ):
        raise FormatError(f"no usable piece: none of {len(pieces)} pieces is normal or user-defined")
    _check_pieces(pieces, types, byte_fallback=trainer.byte_fallback)
    _check_distinct(pieces, types, trainer.model_type)
    _check_unknown(types, byte_fallback=trainer.byte_fallback)
    _check_bytes(pieces, types, byte_fallback=trainer.byte_fallback)
    for spec in (message.normalizer_spec, message.denormalizer_spec):
        if spec.precompiled_charsmap:
            read_charsmap(spec.precompiled_charsmap)


def _check_pieces(pieces: Sequence[bytes], types: NDArray[np.int64], *, byte_fallback: bool) -> None:
    lengths = np.fromiter(map(len, pieces), np.int64, len(pieces))
    joined = np.frombuffer(b"".join(pieces), np.uint8)
    if ((lengths > 0) & (lengths < LONGEST)).all():
        nul = np.searchsorted(np.cumsum(lengths), np.flatnonzero(joined == 0), side="right")
        odd = distinct(nul).tolist()
    else:
        odd = [*range(len(pieces))]
    for i in odd:
        piece = pieces[i]
        if not 0 < len(piece) < LONGEST:
            raise FormatError(f"expected pieces of 1 to {LONGEST - 1} bytes; piece {i} has {len(piece)}")
        if NUL in piece:
            if piece == NUL and byte_fallback:  # some converters write it in addition to <0x00>
                types[i] = Piece.UNUSED
            if piece != NUL or types[i] != Piece.UNUSED:
                raise FormatError(f"expected pieces without NUL; piece {i} is {piece!r:.60}")
    try:
        joined.tobytes().decode()
        if (joined[np.cumsum(lengths) - lengths] & 0xC0 == 0x80).any():  # a character across two pieces
            [piece.decode() for piece in pieces]
    except UnicodeDecodeError:
        wrong = next(i for i, piece in enumerate(pieces) if piece != piece.decode("utf-8", "replace").encode())
        raise FormatError(f"expected pieces in UTF-8; piece {wrong} is {pieces[wrong]!r:.60}") from None


def _check_distinct(pieces: Sequence[bytes], types: NDArray[np.int64], model_type: int) -> None:
    # Exception: in BPE, a control piece may have the same string as a normal one.
    apart = np.isin(types, [Piece.NORMAL, Piece.USER_DEFINED, Piece.UNUSED]) if model_type != Kind.BPE else types > 0
    seen: dict[tuple[bytes, bool], int] = {}
    for i, key in enumerate(zip(pieces, apart.tolist(), strict=True)):
        if pieces[i] != NUL and seen.setdefault(key, i) != i:
            raise FormatError(f"expected distinct pieces; {pieces[i]!r:.60} is piece {seen[key]} and {i}")


def _check_unknown(types: NDArray[np.int64], *, byte_fallback: bool) -> None:
    found = np.flatnonzero(types == Piece.UNKNOWN).tolist()
    if len(found) > 1:
        raise FormatError(f"expected one unknown piece, not two: {found[0]} and {found[1]}")
    if not found and not byte_fallback:
        raise FormatError("unknown piece missing: a model without byte_fallback needs one")


def _check_bytes(pieces: Sequence[bytes], types: NDArray[np.int64], *, byte_fallback: bool) -> None:
    found = {pieces[i]: i for i in np.flatnonzero(types == Piece.BYTE).tolist()}
    if found and not byte_fallback:
        piece = next(iter(found))
        raise FormatError(f"expected byte pieces only with byte_fallback; piece {found[piece]} is {piece!r:.60}")
    if byte_fallback and (missing := [piece for piece in BYTE_PIECES if piece not in found]):
        raise FormatError(f"byte_fallback needs 256 byte pieces; {missing[0].decode()} is missing")
    if wrong := next((piece for piece in found if piece not in BYTE_PIECES), None):
        raise FormatError(f"expected byte pieces to be <0x00> to <0xFF>; piece {found[wrong]} is {wrong!r:.60}")
