"""Read SentencePiece's .model files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subwords.formats.checks import makes_all
from subwords.kernels.entry import entry_kernel
from subwords.models.bpe.model import BPE
from subwords.models.families import family_of, need
from subwords.models.unigram.model import BYTE_PIECES
from subwords.spec.added_token import AddedToken, checked_roles, roles_by_name
from subwords.spec.decoder import SentencePieceDecoder
from subwords.spec.normalizer import SentencePiece, read_charsmap
from subwords.spec.splitter import SPACE, Rule, Split, space_rule
from subwords.spec.tokenizer import Foreign, TokenizerSpec
from subwords.spec.vocab import Vocab
from subwords.support.errors import FormatError
from subwords.support.names import distinct, install_hint

if TYPE_CHECKING:
    from subwords.models.unigram.model import Unigram


# ---------------------------------------------------------------------------------------------------------------------
# The protobuf messages of SentencePiece's .model files, built from a table on first use.
#
# Only fields that are used are named; protobuf preserves all others and writes them back.

PACKAGE = "subwords.sentencepiece"


class Kind:
    """Model types."""

    UNIGRAM, BPE, WORD, CHAR = range(1, 5)


class PieceType:
    """Piece types."""

    NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


# Name, number, type, default. Strings are declared as bytes, which every parser accepts, enumerations as integers.
_MESSAGES: dict[str, tuple[tuple[str, int, str, str], ...]] = {
    "SentencePiece": (("piece", 1, "bytes", ""), ("score", 2, "float", ""), ("type", 3, "int32", "1")),
    "TrainerSpec": (
        ("model_type", 3, "int32", "1"),
        ("vocab_size", 4, "int32", "8000"),
        ("treat_whitespace_as_suffix", 24, "bool", "false"),
        ("user_defined_symbols", 31, "repeated bytes", ""),
        ("byte_fallback", 35, "bool", "false"),
        ("unk_id", 40, "int32", "0"),
        ("bos_id", 41, "int32", "1"),
        ("eos_id", 42, "int32", "2"),
        ("pad_id", 43, "int32", "-1"),
        ("unk_surface", 44, "bytes", r" \342\201\207 "),
        ("unk_piece", 45, "bytes", "<unk>"),
        ("bos_piece", 46, "bytes", "<s>"),
        ("eos_piece", 47, "bytes", "</s>"),
        ("pad_piece", 48, "bytes", "<pad>"),
    ),
    "NormalizerSpec": (
        ("name", 1, "bytes", ""),
        ("precompiled_charsmap", 2, "bytes", ""),
        ("add_dummy_prefix", 3, "bool", "true"),
        ("remove_extra_whitespaces", 4, "bool", "true"),
        ("escape_whitespaces", 5, "bool", "true"),
    ),
    "ModelProto": (
        ("pieces", 1, "repeated SentencePiece", ""),
        ("trainer_spec", 2, "TrainerSpec", ""),
        ("normalizer_spec", 3, "NormalizerSpec", ""),
        ("denormalizer_spec", 5, "NormalizerSpec", ""),
    ),
}


@cache
def model_class() -> Any:
    """Return the class of a ModelProto; FormatError if protobuf is not installed."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError:
        raise FormatError(
            f"reading and writing .model files needs the protobuf package: {install_hint('files')}"
        ) from None
    file = descriptor_pb2.FileDescriptorProto(name="subwords/sentencepiece.proto", package=PACKAGE, syntax="proto2")
    for message, fields in _MESSAGES.items():
        entry = file.message_type.add(name=message)
        for name, number, kind, default in fields:
            _add_field(entry, name, number, kind, default)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.ModelProto"))


def _add_field(entry: Any, name: str, number: int, kind: str, default: str) -> None:
    repeated, _, base = kind.rpartition(" ")
    field = entry.field.add(name=name, number=number)
    field.label = field.LABEL_REPEATED if repeated else field.LABEL_OPTIONAL
    if base in _MESSAGES:
        field.type, field.type_name = field.TYPE_MESSAGE, f".{PACKAGE}.{base}"
    else:
        field.type = getattr(field, f"TYPE_{base.upper()}")
    if default:
        field.default_value = default


# ---------------------------------------------------------------------------------------------------------------------
# Pieces of SentencePiece's .model files: validity, and where text can be cut without changing ids.

LONGEST_PIECE = 8000  # bytes; pieces must be shorter
SPACE_BYTES, NUL = "▁".encode(), b"\0"
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
    vocab, kinds = Vocab.of(pieces), np.frombuffer(bytes(types), np.uint8)
    users = [pieces[i] for i in np.flatnonzero(kinds == PieceType.USER_DEFINED).tolist()]
    known = vocab.joined(kinds == PieceType.NORMAL)
    knows_space = b"\xff%s\xff" % SPACE_BYTES in b"\xff" + known
    if model_type == Kind.UNIGRAM:
        return space_rule([known, *users], unk_space=not (knows_space or SPACE_BYTES in users or byte_fallback))
    # Adjacent unknown characters become one unk, unless byte fallback replaces them by bytes.
    unused = vocab.joined(kinds == PieceType.UNUSED)
    return space_rule([known, unused], users, unk_space=not (knows_space or byte_fallback))


def check_pieces(message: Any, pieces: Sequence[bytes], types: NDArray[np.int64], scores: NDArray[np.float32]) -> None:
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
    if outside := np.flatnonzero((types < PieceType.NORMAL) | (types > PieceType.BYTE)).tolist():
        raise FormatError(f"expected piece types from 1 to 6; piece {outside[0]} has {types[outside[0]]}")
    if (
        trainer.model_type == Kind.UNIGRAM
        and not np.isin(types, [PieceType.NORMAL, PieceType.USER_DEFINED, PieceType.UNUSED]).any()
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
    vocab = Vocab.of(pieces)
    lengths, joined = np.diff(vocab.offsets), vocab.data[: vocab.offsets[-1]]
    if ((lengths > 0) & (lengths < LONGEST_PIECE)).all():
        nul = np.searchsorted(np.cumsum(lengths), np.flatnonzero(joined == 0), side="right")
        odd = distinct(nul).tolist()
    else:
        odd = [*range(len(pieces))]
    for i in odd:
        piece = pieces[i]
        if not 0 < len(piece) < LONGEST_PIECE:
            raise FormatError(f"expected pieces of 1 to {LONGEST_PIECE - 1} bytes; piece {i} has {len(piece)}")
        if NUL in piece:
            if piece == NUL and byte_fallback:  # some converters write it in addition to <0x00>
                types[i] = PieceType.UNUSED
            if piece != NUL or types[i] != PieceType.UNUSED:
                raise FormatError(f"expected pieces without NUL; piece {i} is {piece!r:.60}")
    try:
        joined.tobytes().decode()
        if (joined[np.cumsum(lengths) - lengths] & 0xC0 == 0x80).any():  # a character across two pieces
            [piece.decode() for piece in pieces]
    except UnicodeDecodeError:
        wrong = next(i for i, piece in enumerate(pieces) if piece != piece.decode("utf-8", "replace").encode())
        raise FormatError(f"expected pieces in UTF-8; piece {wrong} is {pieces[wrong]!r:.60}") from None


def _nul_ids(pieces: Vocab) -> list[int]:
    found: list[int] = np.flatnonzero((np.diff(pieces.offsets) == 1) & (pieces.data[pieces.offsets[:-1]] == 0)).tolist()
    return found


def _check_distinct(pieces: Sequence[bytes], types: NDArray[np.int64], model_type: int) -> None:
    # Exception: in BPE, a control piece may have the same string as a normal one.
    apart = (
        np.isin(types, [PieceType.NORMAL, PieceType.USER_DEFINED, PieceType.UNUSED])
        if model_type != Kind.BPE
        else types > 0
    )
    if entry_kernel("index_texts").is_at_hand:  # 5 ms less; compiling it would take longer
        vocab, counted = Vocab.of(pieces), np.ones(len(pieces), np.bool_)
        counted[_nul_ids(vocab)] = False
        if not (vocab.text_index(counted & apart)[1] or vocab.text_index(counted & ~apart)[1]):
            return
    seen: dict[tuple[bytes, bool], int] = {}
    for i, key in enumerate(zip(pieces, apart.tolist(), strict=True)):
        if pieces[i] != NUL and seen.setdefault(key, i) != i:
            raise FormatError(f"expected distinct pieces; {pieces[i]!r:.60} is piece {seen[key]} and {i}")


def _check_unknown(types: NDArray[np.int64], *, byte_fallback: bool) -> None:
    found = np.flatnonzero(types == PieceType.UNKNOWN).tolist()
    if len(found) > 1:
        raise FormatError(f"expected one unknown piece, not two: {found[0]} and {found[1]}")
    if not found and not byte_fallback:
        raise FormatError("unknown piece missing: a model without byte_fallback needs one")


def _check_bytes(pieces: Sequence[bytes], types: NDArray[np.int64], *, byte_fallback: bool) -> None:
    found = {pieces[i]: i for i in np.flatnonzero(types == PieceType.BYTE).tolist()}
    if found and not byte_fallback:
        piece = next(iter(found))
        raise FormatError(f"expected byte pieces only with byte_fallback; piece {found[piece]} is {piece!r:.60}")
    if byte_fallback and (missing := [piece for piece in BYTE_PIECES if piece not in found]):
        raise FormatError(f"byte_fallback needs 256 byte pieces; {missing[0].decode()} is missing")
    if wrong := next((piece for piece in found if piece not in BYTE_PIECES), None):
        raise FormatError(f"expected byte pieces to be <0x00> to <0xFF>; piece {found[wrong]} is {wrong!r:.60}")


def read_model_file(data: bytes, name: str) -> TokenizerSpec:
    """Return the spec of a .model file; `name` is the file's name in messages.

    Text gets the same ids as in SentencePiece; control pieces and the unknown piece are special tokens. Raises
    FormatError for files that SentencePiece refuses, and for strings that are not UTF-8.

    Source: SentencePiece 0.2.3.
    """
    message = parse_model(data, name)
    try:
        return spec_of(message)
    except FormatError as error:
        raise FormatError(f"{name}: {error}") from None


def parse_model(data: bytes, name: str) -> Any:
    """Return the message of a .model file; FormatError if it is none."""
    kind = model_class()  # first: its error says what to install
    from google.protobuf.message import DecodeError

    try:
        return kind.FromString(data)
    except DecodeError:
        raise FormatError(f"{name}: truncated, or not a SentencePiece file ({len(data)} bytes)") from None


def spec_of(message: Any) -> TokenizerSpec:
    """Return the spec of a parsed .model file; removes the pieces from the message."""
    trainer, pieces = message.trainer_spec, Vocab([piece.piece for piece in message.pieces])
    types = np.array([piece.type for piece in message.pieces], np.int64)
    scores = np.array([piece.score for piece in message.pieces], np.float32)
    check_pieces(message, pieces, types, scores)
    del message.pieces[:]
    table = PieceTable(message.SerializeToString(), types.astype(np.uint8).tobytes(), scores)
    users = sorted(table.ids_of(PieceType.USER_DEFINED))
    step = SentencePiece(
        message.normalizer_spec.precompiled_charsmap,
        message.normalizer_spec.add_dummy_prefix,
        message.normalizer_spec.remove_extra_whitespaces,
        message.normalizer_spec.escape_whitespaces,
        trainer.treat_whitespace_as_suffix,
        tuple(pieces[i].decode() for i in users),
    )
    special = sorted(table.ids_of(PieceType.CONTROL, PieceType.UNKNOWN))
    return TokenizerSpec(
        model=_model_of_pieces(trainer, pieces, table),
        splitter=cut_rule(pieces, table.types, trainer.model_type, byte_fallback=trainer.byte_fallback),
        normalizer=(step,),
        decoder=_decoder(message, pieces, table),
        added_tokens=tuple(AddedToken(pieces[i].decode(), i) for i in special),
        roles=_roles(trainer, pieces, table),
        foreign=Foreign(sentencepiece=table.kept()),
    )


# ------------------------------------------------------------------ Marian: pieces in one file, ids in another


def read_marian(data: bytes, name: str, listed: Mapping[str, int], roles: Mapping[str, str]) -> TokenizerSpec:
    """Return the tokenizer of Marian's source language.

    data: source.spm. listed: the ids of vocab.json. Pieces without one get the ids after the others; transformers reads
    them as the unk token. roles: the special tokens by role, eos and unk among them.
    """
    from subwords.models.unigram.model import Unigram
    from subwords.spec.template import Inserted, Slot, Template

    source = spec_of(parse_model(data, name))
    pieces = need(source.model, Unigram, FormatError(f"{name}: expected a Unigram model, as Marian's are"))
    old = [piece.decode() for piece in pieces.vocab]
    lost = {i for i in pieces.special_ids if i != pieces.unk_id}
    size = max(listed.values(), default=-1) + 1
    rest = [piece for i, piece in enumerate(old) if piece not in listed and i not in lost]
    ids = {**listed, **{piece: size + i for i, piece in enumerate(rest)}}
    tokens, scores = [b""] * (size + len(rest)), np.zeros(size + len(rest))
    for text, i in ids.items():
        tokens[i] = text.encode()
    yielded = [i for i, piece in enumerate(old) if piece in ids and i not in pieces.special_ids]
    at = [ids[old[i]] for i in yielded]
    scores[at] = pieces.scores[yielded]
    model = Unigram(
        Vocab(tokens),
        scores,
        ids[roles["unk"]],
        special_ids=frozenset(range(len(tokens))) - frozenset(at),
        user_ids=frozenset(ids[old[i]] for i in pieces.user_ids if old[i] in ids),
        running=True,
    )
    said = f"{name}: target.spm is not read: text that only it has pieces for is {roles['unk']!r} here"
    if rest:
        said += f"; {len(rest)} pieces of source.spm have no id in vocab.json: here they get the ids from {size} on, "
        said += "in transformers the id of the unk token"
    codes = (text for text in listed if text.startswith(">>") and text.endswith("<<"))
    special = dict.fromkeys([*roles.values(), *codes])
    end = Inserted(roles["eos"], (ids[roles["eos"]],), (roles["eos"],), 0)
    return TokenizerSpec(
        model=model,
        normalizer=source.normalizer,
        splitter=source.splitter,
        template=Template((Slot("A"), end), (Slot("A"), Slot("B"), end)),
        decoder=source.decoder,
        added_tokens=tuple(sorted((AddedToken(text, ids[text]) for text in special), key=lambda token: token.id)),
        foreign=Foreign(warned=said),
    )


# ------------------------------------------------------------------ the parts of a spec


def _roles(trainer: Any, pieces: Sequence[bytes], table: PieceTable) -> tuple[tuple[str, int], ...]:
    """Return the ids of the bos, eos, unk and pad pieces, if they exist, and of others with the usual names."""
    control = {pieces[i]: i for i in table.ids_of(PieceType.CONTROL)}
    named = {
        "bos": trainer.bos_piece or b"<s>",
        "eos": trainer.eos_piece or b"</s>",
        "pad": trainer.pad_piece or b"<pad>",
    }
    found = {role: control[piece] for role, piece in named.items() if piece in control}
    if unknown := table.ids_of(PieceType.UNKNOWN):
        found["unk"] = min(unknown)
    by_name = roles_by_name(AddedToken(piece.decode(), i) for piece, i in control.items())
    found = {role: i for role, i in by_name if role not in ("bos", "eos")} | found
    return checked_roles(tuple(found.items()), len(pieces))


def _model_of_pieces(trainer: Any, pieces: Vocab, table: PieceTable) -> BPE | Unigram:
    unk_id = next(iter(table.ids_of(PieceType.UNKNOWN)), None)
    users, unused = table.ids_of(PieceType.USER_DEFINED), table.ids_of(PieceType.UNUSED)
    lost = table.ids_of(PieceType.UNKNOWN, PieceType.CONTROL, PieceType.BYTE) | {*_nul_ids(pieces)}
    if trainer.model_type == Kind.UNIGRAM:
        from subwords.models.unigram.model import Unigram

        return Unigram(
            pieces,
            table.scores.astype(np.float64),
            unk_id,
            byte_fallback=trainer.byte_fallback,
            special_ids=lost | unused,
            user_ids=users,
            running=True,
        )
    from subwords.models.bpe.model import BPE

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
    unknown = table.ids_of(PieceType.UNKNOWN)
    surface = trainer.unk_surface
    steps: tuple[SentencePiece, ...] = ()
    if message.HasField("denormalizer_spec") and after.precompiled_charsmap:
        flags = after.add_dummy_prefix, after.remove_extra_whitespaces, after.escape_whitespaces
        steps = (SentencePiece(after.precompiled_charsmap, *flags),)
    return SentencePieceDecoder(
        unknown=frozenset(pieces[i].decode() for i in unknown),
        control=frozenset(pieces[i].decode() for i in table.ids_of(PieceType.CONTROL)),
        unk_surface=surface.decode("utf-8", "replace"),
        byte_fallback=trainer.byte_fallback,
        drops_first=normalizer.add_dummy_prefix,
        drops_leading=normalizer.remove_extra_whitespaces,
        steps=steps,
    )


# ---------------------------------------------------------------------------------------------------------------------
# User-defined pieces of BPE as words: tokenizer.json has no such pieces, but it takes a word that is a token whole.

# Keeps text like `<0x41>` from being a word, which would be the token of a byte.
_BYTE_CUT = Split("<(?=0)", "merged_with_previous")


def split_user_pieces(spec: TokenizerSpec) -> TokenizerSpec:
    """Return a tokenizer with the same ids whose user-defined pieces are words; others are returned unchanged.

    The splitter of a .model file isolates these pieces already. Taking them whole then takes every word whole that is a
    token; so merges must make all other tokens. Raises FormatError if ids could change.
    """
    if not spec.model.user_ids or not family_of(spec.model).keeps_merges:
        return spec
    model = need(spec.model, BPE, "tokenizer.json")
    users = [model.vocab[i].decode() for i in sorted(model.user_ids)]
    kept = f"user-defined pieces, such as {users[0]!r:.40}: write a .model file"
    steps = []
    for step in spec.normalizer:
        # The charsmap would change the pieces, and so would spaces.
        if not isinstance(step, SentencePiece) or step.charsmap or any(" " in user or SPACE in user for user in users):
            raise FormatError(f"tokenizer.json has no normalizer that keeps {kept}")
        steps.append(replace(step, user_symbols=()))
    lost = frozenset(model.byte_ids[model.byte_ids >= 0].tolist())
    others = replace(model, user_ids=frozenset(), special_ids=model.special_ids | model.user_ids | lost)
    cut_is_safe = not any("<0" in text for text in _learned(others))
    if model.unused_ids or model.parts or not cut_is_safe or not makes_all(others):
        raise FormatError(
            f"tokenizer.json would segment words that are themselves tokens differently; it has no {kept}"
        )
    return replace(
        spec,
        model=replace(model, user_ids=frozenset(), whole_words=True),
        normalizer=tuple(steps),
        splitter=(*spec.splitter, _BYTE_CUT),
    )


def _learned(model: BPE) -> list[str]:
    return [text.decode() for i, text in enumerate(model.vocab) if i not in model.special_ids]
