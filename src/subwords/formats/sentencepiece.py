"""SentencePiece's .model files: read, and written so that SentencePiece gives the same ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from subwords.decoder import SentencePieceDecoder
from subwords.errors import FormatError
from subwords.formats.sentencepiece_pieces import NUL, Source, check, cut_rule
from subwords.formats.sentencepiece_proto import Kind, Piece, model_class
from subwords.formats.sentencepiece_write import write
from subwords.normalize.normalizer import Normalizer
from subwords.normalize.steps import SentencePiece
from subwords.special import AddedToken
from subwords.split.scanner import Splitter
from subwords.tokenizer import Tokenizer
from subwords.vocab import Vocab

if TYPE_CHECKING:
    from subwords.bpe.model import BPE
    from subwords.unigram.model import Unigram

__all__ = ["read", "write"]


def read(data: bytes, name: str) -> Tokenizer:
    """Return the tokenizer of a .model file; `name` stands for the file in messages.

    Text yields what SentencePiece yields; control pieces and the unknown piece are special tokens. Anything that
    SentencePiece refuses is a FormatError that says what was expected, and so are strings that are not UTF-8.

    Source: SentencePiece 0.2.3.
    """
    kind = model_class()  # before the import: it says what to install
    from google.protobuf.message import DecodeError

    try:
        message = kind.FromString(data)
    except DecodeError:
        raise FormatError(
            f"{name}: expected a SentencePiece model; its {len(data)} bytes break off or are none"
        ) from None
    try:
        return _tokenizer(message)
    except FormatError as error:
        raise FormatError(f"{name}: {error}") from None


def _tokenizer(message: Any) -> Tokenizer:
    trainer, pieces = message.trainer_spec, [piece.piece for piece in message.pieces]
    types = np.array([piece.type for piece in message.pieces], np.int64)
    scores = np.array([piece.score for piece in message.pieces], np.float32)
    check(message, pieces, types, scores)
    del message.pieces[:]
    source = Source(message.SerializeToString(), types.astype(np.uint8).tobytes(), scores)
    users = sorted(source.ids_of(Piece.USER_DEFINED))
    step = SentencePiece(
        message.normalizer_spec.precompiled_charsmap,
        message.normalizer_spec.add_dummy_prefix,
        message.normalizer_spec.remove_extra_whitespaces,
        message.normalizer_spec.escape_whitespaces,
        trainer.treat_whitespace_as_suffix,
        tuple(pieces[i].decode() for i in users),
    )
    special = sorted(source.ids_of(Piece.CONTROL, Piece.UNKNOWN))
    return Tokenizer(
        _model(trainer, pieces, source),
        Splitter(cut_rule(pieces, source.types, trainer.model_type, byte_fallback=trainer.byte_fallback)),
        normalizer=Normalizer((step,)),
        decoder=_decoder(message, pieces, source),
        added_tokens=[AddedToken(pieces[i].decode(), i) for i in special],
        extras={"sentencepiece": source} | _ends(trainer, pieces, source),
    )


def _ends(trainer: Any, pieces: Sequence[bytes], source: Source) -> dict[str, int]:
    """The ids of the pieces that begin and end a text, where there are any."""
    control = {pieces[i]: i for i in source.ids_of(Piece.CONTROL)}
    named = {"bos_id": trainer.bos_piece or b"<s>", "eos_id": trainer.eos_piece or b"</s>"}
    return {key: control[piece] for key, piece in named.items() if piece in control}


def _model(trainer: Any, pieces: Sequence[bytes], source: Source) -> BPE | Unigram:
    unk_id = next(iter(source.ids_of(Piece.UNKNOWN)), None)
    users, unused = source.ids_of(Piece.USER_DEFINED), source.ids_of(Piece.UNUSED)
    lost = source.ids_of(Piece.UNKNOWN, Piece.CONTROL, Piece.BYTE) | {
        i for i, piece in enumerate(pieces) if piece == NUL
    }
    if trainer.model_type == Kind.UNIGRAM:
        from subwords.unigram.model import Unigram

        return Unigram(
            Vocab(pieces),
            source.scores.astype(np.float64),
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
        source.scores.tolist(),
        unk_id=unk_id,
        byte_fallback=trainer.byte_fallback,
        special_ids=lost if merged else lost | unused,
        user_ids=users,
        unused_ids=unused if merged else (),
        kind="bpe" if merged else "char" if trainer.model_type == Kind.CHAR else "word",
    )


def _decoder(message: Any, pieces: Sequence[bytes], source: Source) -> SentencePieceDecoder:
    trainer, normalizer, after = message.trainer_spec, message.normalizer_spec, message.denormalizer_spec
    unknown = source.ids_of(Piece.UNKNOWN)
    surface = trainer.unk_surface
    steps: tuple[SentencePiece, ...] = ()
    if message.HasField("denormalizer_spec") and after.precompiled_charsmap:
        flags = after.add_dummy_prefix, after.remove_extra_whitespaces, after.escape_whitespaces
        steps = (SentencePiece(after.precompiled_charsmap, *flags),)
    return SentencePieceDecoder(
        unknown=frozenset(pieces[i].decode() for i in unknown),
        control=frozenset(pieces[i].decode() for i in source.ids_of(Piece.CONTROL)),
        unk_surface=surface.decode("utf-8", "replace"),
        byte_fallback=trainer.byte_fallback,
        drops_first=normalizer.add_dummy_prefix,
        drops_leading=normalizer.remove_extra_whitespaces,
        steps=steps,
    )
