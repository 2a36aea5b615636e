"""Read SentencePiece's .model files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from subwords.components.added_token import AddedToken
from subwords.components.decoder import SentencePieceDecoder
from subwords.components.normalizer import SentencePiece
from subwords.components.roles import checked_roles, roles_by_name
from subwords.components.vocab import Vocab
from subwords.errors import FormatError
from subwords.formats.sentencepiece.pieces import NUL, PieceTable, check, cut_rule
from subwords.formats.sentencepiece.proto import Kind, Piece, model_class
from subwords.spec import Foreign, TokenizerSpec

if TYPE_CHECKING:
    from subwords.bpe.model import BPE
    from subwords.unigram.model import Unigram

__all__ = ["read", "spec_of"]


def read(data: bytes, name: str) -> TokenizerSpec:
    """Return the spec of a .model file; `name` is the file's name in messages.

    Text gets the same ids as in SentencePiece; control pieces and the unknown piece are special tokens. Raises
    FormatError for files that SentencePiece refuses, and for strings that are not UTF-8.

    Source: SentencePiece 0.2.3.
    """
    kind = model_class()  # first: its error says what to install
    from google.protobuf.message import DecodeError

    try:
        message = kind.FromString(data)
    except DecodeError:
        raise FormatError(f"{name}: truncated, or not a SentencePiece file ({len(data)} bytes)") from None
    try:
        return spec_of(message)
    except FormatError as error:
        raise FormatError(f"{name}: {error}") from None


def spec_of(message: Any) -> TokenizerSpec:
    """Return the spec of a parsed .model file; removes the pieces from the message."""
    trainer, pieces = message.trainer_spec, [piece.piece for piece in message.pieces]
    types = np.array([piece.type for piece in message.pieces], np.int64)
    scores = np.array([piece.score for piece in message.pieces], np.float32)
    check(message, pieces, types, scores)
    del message.pieces[:]
    table = PieceTable(message.SerializeToString(), types.astype(np.uint8).tobytes(), scores)
    users = sorted(table.ids_of(Piece.USER_DEFINED))
    step = SentencePiece(
        message.normalizer_spec.precompiled_charsmap,
        message.normalizer_spec.add_dummy_prefix,
        message.normalizer_spec.remove_extra_whitespaces,
        message.normalizer_spec.escape_whitespaces,
        trainer.treat_whitespace_as_suffix,
        tuple(pieces[i].decode() for i in users),
    )
    special = sorted(table.ids_of(Piece.CONTROL, Piece.UNKNOWN))
    return TokenizerSpec(
        model=_model(trainer, pieces, table),
        splitter=cut_rule(pieces, table.types, trainer.model_type, byte_fallback=trainer.byte_fallback),
        normalizer=(step,),
        decoder=_decoder(message, pieces, table),
        added_tokens=tuple(AddedToken(pieces[i].decode(), i) for i in special),
        roles=_roles(trainer, pieces, table),
        foreign=Foreign(sentencepiece=table.kept()),
    )


def _roles(trainer: Any, pieces: Sequence[bytes], table: PieceTable) -> tuple[tuple[str, int], ...]:
    """Return the ids of the bos, eos, unk and pad pieces, if they exist, and of others with the usual names."""
    control = {pieces[i]: i for i in table.ids_of(Piece.CONTROL)}
    named = {
        "bos": trainer.bos_piece or b"<s>",
        "eos": trainer.eos_piece or b"</s>",
        "pad": trainer.pad_piece or b"<pad>",
    }
    found = {role: control[piece] for role, piece in named.items() if piece in control}
    if unknown := table.ids_of(Piece.UNKNOWN):
        found["unk"] = min(unknown)
    by_name = roles_by_name(AddedToken(piece.decode(), i) for piece, i in control.items())
    found = {role: i for role, i in by_name if role not in ("bos", "eos")} | found
    return checked_roles(tuple(found.items()), len(pieces))


def _model(trainer: Any, pieces: Sequence[bytes], table: PieceTable) -> BPE | Unigram:
    unk_id = next(iter(table.ids_of(Piece.UNKNOWN)), None)
    users, unused = table.ids_of(Piece.USER_DEFINED), table.ids_of(Piece.UNUSED)
    lost = table.ids_of(Piece.UNKNOWN, Piece.CONTROL, Piece.BYTE) | {
        i for i, piece in enumerate(pieces) if piece == NUL
    }
    if trainer.model_type == Kind.UNIGRAM:
        from subwords.unigram.model import Unigram

        return Unigram(
            Vocab(pieces),
            table.scores.astype(np.float64),
            unk_id,
            byte_fallback=trainer.byte_fallback,
            special_ids=lost | unused,
            user_ids=users,
            running=True,
        )
    from subwords.bpe.model import BPE

    merged = trainer.model_type == Kind.BPE
    return BPE.from_scores(
        pieces,
        table.scores.tolist(),
        unk_id=unk_id,
        byte_fallback=trainer.byte_fallback,
        special_ids=lost if merged else lost | unused,
        user_ids=users,
        unused_ids=unused if merged else (),
        kind="bpe" if merged else "char" if trainer.model_type == Kind.CHAR else "word",
    )


def _decoder(message: Any, pieces: Sequence[bytes], table: PieceTable) -> SentencePieceDecoder:
    trainer, normalizer, after = message.trainer_spec, message.normalizer_spec, message.denormalizer_spec
    unknown = table.ids_of(Piece.UNKNOWN)
    surface = trainer.unk_surface
    steps: tuple[SentencePiece, ...] = ()
    if message.HasField("denormalizer_spec") and after.precompiled_charsmap:
        flags = after.add_dummy_prefix, after.remove_extra_whitespaces, after.escape_whitespaces
        steps = (SentencePiece(after.precompiled_charsmap, *flags),)
    return SentencePieceDecoder(
        unknown=frozenset(pieces[i].decode() for i in unknown),
        control=frozenset(pieces[i].decode() for i in table.ids_of(Piece.CONTROL)),
        unk_surface=surface.decode("utf-8", "replace"),
        byte_fallback=trainer.byte_fallback,
        drops_first=normalizer.add_dummy_prefix,
        drops_leading=normalizer.remove_extra_whitespaces,
        steps=steps,
    )
