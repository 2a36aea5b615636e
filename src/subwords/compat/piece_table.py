"""The pieces of a tokenizer as SentencePiece's processor reports them."""

from __future__ import annotations

from dataclasses import dataclass

from subwords.formats.sentencepiece import write
from subwords.formats.sentencepiece.proto import Piece, model_class
from subwords.formats.sentencepiece.read import spec_of
from subwords.spec import TokenizerSpec

__all__ = ["Pieces", "pieces_of"]

_RESERVED = (Piece.UNKNOWN, Piece.CONTROL, Piece.BYTE)


@dataclass(frozen=True)
class Pieces:
    """The pieces of a .model file by id: names, types and scores.

    data: the file. spec: the spec read from `data`. ids: by name. unk_id: the id of other names. roles: the ids
    of unk, bos, eos and pad, -1 for none.
    """

    data: bytes
    spec: TokenizerSpec
    names: list[str]
    types: list[int]
    scores: list[float]
    ids: dict[str, int]
    unk_id: int
    roles: dict[str, int]

    def name(self, index: int) -> str:
        """Return the piece of an id."""
        return self.names[index]

    def is_kind(self, index: int, kind: str) -> bool:
        """Whether an id has the type of this name."""
        return bool(self.types[index] == getattr(Piece, kind))


def pieces_of(spec: TokenizerSpec) -> Pieces:
    """Return the pieces of a tokenizer; FormatError if a .model file cannot hold it.

    Source: SentencePiece 0.2.3, model_interface.cc.
    """
    data = write.write(spec)
    message = model_class().FromString(data)
    names = [piece.piece.decode() for piece in message.pieces]
    types = [piece.type for piece in message.pieces]
    scores = [piece.score for piece in message.pieces]
    ids: dict[str, int] = {}
    for reserved in (False, True):  # a reserved piece wins over a normal one of the same name
        ids |= {
            name: i for i, (name, kind) in enumerate(zip(names, types, strict=True)) if (kind in _RESERVED) == reserved
        }
    unk_id = types.index(Piece.UNKNOWN) if Piece.UNKNOWN in types else 0
    trainer = message.trainer_spec
    wanted = {
        "unk": (trainer.unk_piece or b"<unk>", Piece.UNKNOWN),
        "bos": (trainer.bos_piece or b"<s>", Piece.CONTROL),
        "eos": (trainer.eos_piece or b"</s>", Piece.CONTROL),
        "pad": (trainer.pad_piece or b"<pad>", Piece.CONTROL),
    }
    found = {role: (ids.get(name.decode(), unk_id), kind) for role, (name, kind) in wanted.items()}
    roles = {role: index if types[index] == kind else -1 for role, (index, kind) in found.items()}
    return Pieces(data, spec_of(message), names, types, scores, ids, unk_id, roles)
