"""A tokenizer in the shape of SentencePieceProcessor."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from subwords import Tokenizer, TokenizerSpec
from subwords.machine import PieceType, decode_tokens, family_of, model_class, spec_of, write_model_file
from subwords.support.checks import as_items
from subwords.support.errors import FailedError, InputError, OutOfRangeError, WrongTypeError

# ---------------------------------------------------------------------------------------------------------------------
# The pieces of a tokenizer as SentencePiece's processor reports them.

_RESERVED = (PieceType.UNKNOWN, PieceType.CONTROL, PieceType.BYTE)


@dataclass(frozen=True)
class ModelPieces:
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


def model_pieces(spec: TokenizerSpec) -> ModelPieces:
    """Return the pieces of a tokenizer; FormatError if a .model file cannot hold it.

    Source: SentencePiece 0.2.3, model_interface.cc.
    """
    data = write_model_file(spec)
    message = model_class().FromString(data)
    names = [piece.piece.decode() for piece in message.pieces]
    types = [piece.type for piece in message.pieces]
    scores = [piece.score for piece in message.pieces]
    ids: dict[str, int] = {}
    for reserved in (False, True):  # a reserved piece wins over a normal one of the same name
        ids |= {
            name: i for i, (name, kind) in enumerate(zip(names, types, strict=True)) if (kind in _RESERVED) == reserved
        }
    unk_id = types.index(PieceType.UNKNOWN) if PieceType.UNKNOWN in types else 0
    trainer = message.trainer_spec
    wanted = {
        "unk": (trainer.unk_piece or b"<unk>", PieceType.UNKNOWN),
        "bos": (trainer.bos_piece or b"<s>", PieceType.CONTROL),
        "eos": (trainer.eos_piece or b"</s>", PieceType.CONTROL),
        "pad": (trainer.pad_piece or b"<pad>", PieceType.CONTROL),
    }
    found = {role: (ids.get(name.decode(), unk_id), kind) for role, (name, kind) in wanted.items()}
    roles = {role: index if types[index] == kind else -1 for role, (index, kind) in found.items()}
    return ModelPieces(data, spec_of(message), names, types, scores, ids, unk_id, roles)


Text: TypeAlias = "str | bytes"
Texts: TypeAlias = "list[str] | list[bytes] | list[str | bytes]"
Index: TypeAlias = "int | np.integer[Any]"
Indexes: TypeAlias = "list[int] | tuple[int, ...] | NDArray[np.integer[Any]]"

R = TypeVar("R")  # of one text or id


class OfTexts(Protocol[R]):
    """A method with a result for a text, or a list of them for a list of texts. options: those of `encode`."""

    @overload
    def __call__(self, input: Text, **options: Any) -> R: ...
    @overload
    def __call__(self, input: Texts, **options: Any) -> list[R]: ...


class SampleOfTexts(Protocol[R]):
    """A method that draws a segmentation of a text, or of each of several texts, at random."""

    @overload
    def __call__(self, input: Text, nbest_size: int = -1, alpha: float = 0.1, **options: Any) -> R: ...
    @overload
    def __call__(self, input: Texts, nbest_size: int = -1, alpha: float = 0.1, **options: Any) -> list[R]: ...


class BestOfTexts(Protocol[R]):
    """A method that lists the best segmentations of a text, or of each of several texts."""

    @overload
    def __call__(self, input: Text, nbest_size: int = 1, **options: Any) -> list[R]: ...
    @overload
    def __call__(self, input: Texts, nbest_size: int = 1, **options: Any) -> list[list[R]]: ...


class OfIds(Protocol[R]):
    """A method with a result for an id, or a list of them for a list of ids."""

    @overload
    def __call__(self, id: Index) -> R: ...
    @overload
    def __call__(self, id: Indexes) -> list[R]: ...


def _encoding(kind: Any, more: str = "") -> Any:
    def method(self: SentencePieceShape, input: Text | Texts, **options: Any) -> Any:
        return self.encode(input, return_type=kind, **options)

    method.__doc__ = f"Return `encode` with out_type={getattr(kind, '__name__', repr(kind))}{more}."
    return method


def _sampling(kind: Any, what: str, more: str = "") -> Any:
    def method(
        self: SentencePieceShape, input: Text | Texts, nbest_size: int = -1, alpha: float = 0.1, **options: Any
    ) -> Any:
        options |= {"enable_sampling": True, "nbest_size": nbest_size, "alpha": alpha}
        return self.encode(input, return_type=kind, **options)

    method.__doc__ = f"Return the {what} of a segmentation drawn at random; Unigram only{more}."
    return method


def _listing(kind: Any, more: str = "") -> Any:
    def method(self: SentencePieceShape, input: Text | Texts, nbest_size: int = 1, **options: Any) -> Any:
        return self.nbest_encode(input, nbest_size=nbest_size, return_type=kind, **options)

    method.__doc__ = f"Return `nbest_encode` with out_type={getattr(kind, '__name__', repr(kind))}{more}."
    return method


def _by_id(found: Callable[[ModelPieces, int], Any], told: str) -> Any:
    def method(self: SentencePieceShape, id: Any) -> Any:
        checked, pieces = self._checked, self._pieces
        if isinstance(id, list | tuple | np.ndarray):
            return [found(pieces, checked(index)) for index in id]
        return found(pieces, checked(id))

    method.__doc__ = told
    return method


def _is_of(kind: str, told: str) -> Any:
    type_of = getattr(PieceType, kind)
    return _by_id(
        lambda pieces, index: pieces.types[index] == type_of,
        f"Whether an id, or each id of a list, is of the type {kind}.",
    )


_TYPES = (int, str, bytes, "numpy", "offset_mapping")


class SentencePieceShape:
    """`SentencePieceProcessor`, 0.2.3, run by a tokenizer of this package; made by `tok.as_sentencepiece()`.

    For tokenizers that a .model file can hold. Names, defaults, results and kinds of errors are SentencePiece's, in
    snake_case and CamelCase. Protocol buffers as results, BPE-dropout and `Load` are missing; samples are drawn by
    NumPy, so that seeds of SentencePiece do not repeat them. Texts as bytes must be UTF-8.

    >>> import subwords
    >>> tok = subwords.train(["hug hugs hugging"] * 9, algorithm="unigram", vocab_size=14)
    >>> sp = tok.as_sentencepiece()
    >>> sp.encode("hug", out_type=str), sp.decode(sp.encode("hug")), sp.unk_id()
    (['▁hug'], 'hug', 0)
    """

    def __init__(self, tok: Tokenizer) -> None:
        """Wrap a tokenizer; FormatError if a .model file cannot hold it."""
        self._pieces: ModelPieces = model_pieces(tok.spec)
        self._tok: Tokenizer = tok if tok.spec.foreign.sentencepiece else type(tok)(self._pieces.spec)
        self._rng = np.random.default_rng()

    # ------------------------------------------------------------------ text to ids

    def encode(
        self,
        input: Text | Texts,
        add_bos: bool = False,
        add_eos: bool = False,
        reverse: bool = False,
        emit_unk_piece: bool = False,
        enable_sampling: bool = False,
        nbest_size: int = -1,
        alpha: float = 0.1,
        num_threads: int = -1,
        *,
        return_type: Any = None,
        out_type: Any = None,
    ) -> Any:
        """Return the ids of a text, or of each text of a list.

        out_type (or return_type): int, str or bytes (pieces), "numpy" or "offset_mapping". reverse comes before
        add_bos and add_eos. emit_unk_piece: the unknown piece instead of the text of unknown characters.
        """
        kind = _output_type(return_type, out_type, int, _TYPES)
        if enable_sampling and nbest_size in (0, 1):
            raise InputError(f"expected nbest_size above 1, or negative for all segmentations, not {nbest_size}")
        texts = [*map(_text_argument, input)] if isinstance(input, list) else [_text_argument(input)]
        ends = self._ends(add_bos, add_eos) if texts else (-1, -1)

        def framed(row: list[Any], name: Callable[[int], Any]) -> list[Any]:
            before, after = ([name(end)] if end >= 0 else [] for end in ends)
            return [*before, *(row[::-1] if reverse else row), *after]

        if kind == "offset_mapping":
            if add_bos or add_eos or reverse or emit_unk_piece or enable_sampling:
                raise FailedError("out_type='offset_mapping' is for plain encoding, without other options")
            rows: list[Any] = [self._mapping(text) for text in texts]
        elif enable_sampling:
            sampled = [self._sampled(text, nbest_size, alpha) for text in texts]
            rows = [self._as(kind, framed(row, int), emit_unk_piece) for row in sampled]
        elif kind in (str, bytes) and not emit_unk_piece:
            rows = [_encoded(kind, framed(self._tok.tokenize(text), self._pieces.names.__getitem__)) for text in texts]
        else:
            _check_int("num_threads", num_threads)
            threads = num_threads if num_threads > 0 else None
            ids = (
                self._tok.encode_batch(texts, threads=threads).to_lists()
                if len(texts) > 1
                else [self._tok.encode(text) for text in texts]
            )
            rows = [self._as(kind, framed(row, int), True) for row in ids]
        return rows if isinstance(input, list) else rows[0]

    encode_as_ids: OfTexts[list[int]] = _encoding(int)
    encode_as_pieces: OfTexts[list[str]] = _encoding(str)
    encode_as_numpy: OfTexts[NDArray[np.int32]] = _encoding("numpy", ": int32 arrays, which are read-only")
    encode_as_offset_mapping: OfTexts[dict[str, Any]] = _encoding(
        "offset_mapping", ": ids, pieces and character offsets"
    )
    sample_encode_as_ids: SampleOfTexts[list[int]] = _sampling(int, "ids")
    sample_encode_as_pieces: SampleOfTexts[list[str]] = _sampling(
        str, "pieces", "; see `nbest_encode` for unknown ones"
    )
    sample_encode_as_numpy: SampleOfTexts[NDArray[np.int32]] = _sampling("numpy", "ids, read-only int32 arrays,")

    def nbest_encode(
        self,
        input: Text | Texts,
        add_bos: bool = False,
        add_eos: bool = False,
        reverse: bool = False,
        emit_unk_piece: bool = False,
        nbest_size: int = 1,
        *,
        return_type: Any = None,
        out_type: Any = None,
    ) -> Any:
        """Return the n best segmentations of a text, or of each text of a list; Unigram only.

        Hazard: pieces of a text with unknown characters need emit_unk_piece=True, which shows the unknown piece.
        """
        kind = _output_type(return_type, out_type, int, (int, str, bytes, "numpy"))
        if isinstance(input, list):
            rest = add_bos, add_eos, reverse, emit_unk_piece, nbest_size
            return [self.nbest_encode(text, *rest, return_type=kind) for text in input]
        text, (bos, eos) = _text_argument(input), self._ends(add_bos, add_eos)
        self._check_unigram("NBestEncode")
        before, after = ([end] if end >= 0 else [] for end in (bos, eos))
        _check_int("nbest_size", nbest_size)
        found = self._tok.nbest(text, max(1, nbest_size))
        rows = ([*before, *(row[::-1] if reverse else row), *after] for row, _ in found)
        return [self._as(kind, row, emit_unk_piece) for row in rows]

    nbest_encode_as_ids: BestOfTexts[list[int]] = _listing(int)
    nbest_encode_as_pieces: BestOfTexts[list[str]] = _listing(str)
    nbest_encode_as_numpy: BestOfTexts[NDArray[np.int32]] = _listing("numpy", ": read-only int32 arrays")

    @overload
    def normalize(self, input: Text) -> str: ...

    @overload
    def normalize(self, input: Texts) -> list[str]: ...

    def normalize(self, input: Text | Texts) -> Any:
        """Return the normalized text, or that of each text of a list."""
        if isinstance(input, list):
            return [self.normalize(text) for text in input]
        text = _text_argument(input)
        return self._tok.normalizer.normalize(text) if self._tok.normalizer else text

    def _sampled(self, text: str, nbest: int, alpha: float) -> list[int]:
        self._check_unigram("sampling")
        return self._tok.sample(text, temperature=1 / alpha if alpha else math.inf, nbest=nbest, seed=self._rng)

    def _mapping(self, text: str) -> dict[str, Any]:
        found = self._tok(text)
        offsets = [(start, stop) for start, stop in found.spans.tolist()]
        return {"ids": found.ids.tolist(), "pieces": self._tok.tokenize(text), "offsets": offsets}

    def _as(self, kind: Any, ids: list[int], emit_unk: bool) -> Any:
        if kind is int:
            return ids
        if kind in (str, bytes) and not emit_unk and self.unk_id() in ids:
            raise InputError("unknown characters in sampled or n-best pieces: emit_unk_piece=True shows them")
        return _read_only(ids) if kind == "numpy" else _encoded(kind, [self._pieces.names[index] for index in ids])

    def _ends(self, add_bos: bool, add_eos: bool) -> tuple[int, int]:
        """Return the ids to add, -1 for none; ValueError if the model lacks one."""
        for asked, index, name in ((add_bos, self.bos_id(), "BOS"), (add_eos, self.eos_id(), "EOS")):
            if asked and index < 0:
                raise InputError(f"{name} is not a control piece of this model")
        return self.bos_id() if add_bos else -1, self.eos_id() if add_eos else -1

    def _check_unigram(self, what: str) -> None:
        family = family_of(self._tok.model)
        if family.name != "unigram":
            raise FailedError(f"{what} needs a Unigram model; this is {family.model_class}")

    # ------------------------------------------------------------------ ids to text

    def decode(self, input: Any, return_type: Any = None, out_type: Any = None, num_threads: int = -1) -> Any:
        """Return the text of ids or pieces: of one, of a list, or of each list of a list.

        out_type: str or bytes. Raises IndexError for an id that does not exist. num_threads is not used.
        """
        kind = _output_type(return_type, out_type, str, (str, bytes))
        if isinstance(input, np.ndarray):
            input = input.tolist()
        if input is None or (isinstance(input, str | bytes) and not input):
            input = []
        items = input if isinstance(input, list | tuple) else [input]
        if any(issubclass(one, list | tuple | np.ndarray) for one in {*map(type, items)}):
            return [self._decoded(as_items(item, "lists of ids or pieces"), kind) for item in items]
        return self._decoded(items, kind)

    def decode_ids(self, input: Any, return_type: Any = None, **options: Any) -> Any:
        """Return `decode`."""
        return self.decode(input, return_type, **options)

    def decode_pieces(self, input: Any, return_type: Any = None, **options: Any) -> Any:
        """Return `decode`."""
        return self.decode(input, return_type, **options)

    def _decoded(self, items: Any, kind: type[str] | type[bytes]) -> Text:
        if len(items) and all(isinstance(item, str | bytes) for item in items):
            pieces = [item if isinstance(item, str) else item.decode("utf-8", "replace") for item in items]
            kind = bytes if isinstance(items[0], bytes) else kind
            text = self._joined(pieces)
        else:
            known = {*map(type, items)} == {int} and 0 <= min(items) <= max(items) < len(self._pieces.names)
            text = self._tok.decode([*items] if known else [self._checked(index) for index in items])
        return text if kind is str else text.encode()

    def _joined(self, pieces: list[str]) -> str:
        """Return the text of pieces; unknown pieces stay unchanged, with their U+2581."""
        assert self._tok.decoder is not None
        unknown = [piece not in self._pieces.ids for piece in pieces]
        count = sum(piece.count("▁") for piece, lacks in zip(pieces, unknown, strict=True) if lacks)
        for mark in map(chr, range(0xFDD0, 0xFDF0)) if count else "▁":
            sent = [piece.replace("▁", mark) if lacks else piece for piece, lacks in zip(pieces, unknown, strict=True)]
            text = decode_tokens(self._tok.decoder, sent)
            if not count or text.count(mark) == count:
                return text.replace(mark, "▁")
        raise InputError(
            "cannot decode unknown pieces with U+2581 beside all noncharacters from U+FDD0 to U+FDEF: leave one out"
        )

    # ------------------------------------------------------------------ pieces

    def get_piece_size(self) -> int:
        """Return the number of pieces."""
        return len(self._pieces.names)

    @overload
    def piece_to_id(self, piece: Text) -> int: ...

    @overload
    def piece_to_id(self, piece: Texts | tuple[Text, ...]) -> list[int]: ...

    def piece_to_id(self, piece: Any) -> Any:
        """Return the id of a piece, or of each piece of a list; that of the unknown piece for others."""
        if isinstance(piece, list | tuple):
            return [self.piece_to_id(each) for each in piece]
        if not isinstance(piece, str | bytes):
            raise WrongTypeError(f"expected a piece as str or bytes, not {type(piece).__name__}")
        text = piece if isinstance(piece, str) else piece.decode("utf-8", "replace")
        return self._pieces.ids.get(text, self._pieces.unk_id)

    id_to_piece: OfIds[str] = _by_id(
        lambda pieces, index: pieces.names[index],
        "Return the piece of an id, or of each id of a list; IndexError for an id that does not exist.",
    )
    get_score: OfIds[float] = _by_id(
        lambda pieces, index: pieces.scores[index], "Return the score of an id, or of each id of a list."
    )
    is_unknown: OfIds[bool] = _is_of("UNKNOWN", "the unknown piece")
    is_control: OfIds[bool] = _is_of("CONTROL", "a control piece")
    is_unused: OfIds[bool] = _is_of("UNUSED", "an unused piece")
    is_byte: OfIds[bool] = _is_of("BYTE", "a byte piece")

    def unk_id(self) -> int:
        """Return the id of the unknown piece, -1 if there is none."""
        return self._pieces.roles["unk"]

    def bos_id(self) -> int:
        """Return the id of the piece that begins a text, -1 if there is none."""
        return self._pieces.roles["bos"]

    def eos_id(self) -> int:
        """Return the id of the piece that ends a text, -1 if there is none."""
        return self._pieces.roles["eos"]

    def pad_id(self) -> int:
        """Return the id of the padding piece, -1 if there is none."""
        return self._pieces.roles["pad"]

    def serialized_model_proto(self) -> bytes:
        """Return the content of the .model file."""
        return self._pieces.data

    def __len__(self) -> int:
        return self.get_piece_size()

    @overload
    def __getitem__(self, piece: Text) -> int: ...

    @overload
    def __getitem__(self, piece: Texts | tuple[Text, ...]) -> list[int]: ...

    def __getitem__(self, piece: Any) -> Any:
        return self.piece_to_id(piece)

    def _checked(self, index: Any) -> int:
        if isinstance(index, str | bytes) or not hasattr(index, "__index__"):
            raise WrongTypeError(f"expected an id as an int, not {type(index).__name__}")
        if not 0 <= index.__index__() < len(self._pieces.names):
            raise OutOfRangeError(f"expected ids from 0 to {len(self._pieces.names) - 1}, not {index}")
        return int(index.__index__())

    # One a line: of several in a line, type checkers do not know the type.
    Encode = encode
    tokenize = encode
    Tokenize = encode
    EncodeAsIds = encode_as_ids
    EncodeAsPieces = encode_as_pieces
    EncodeAsNumpy = encode_as_numpy
    EncodeAsOffsetMapping = encode_as_offset_mapping
    SampleEncodeAsIds = sample_encode_as_ids
    SampleEncodeAsPieces = sample_encode_as_pieces
    SampleEncodeAsNumpy = sample_encode_as_numpy
    NBestEncode = nbest_encode
    NBestEncodeAsIds = nbest_encode_as_ids
    NBestEncodeAsPieces = nbest_encode_as_pieces
    NBestEncodeAsNumpy = nbest_encode_as_numpy
    Decode = decode
    detokenize = decode
    Detokenize = decode
    DecodeIds = decode_ids
    DecodePieces = decode_pieces
    Normalize = normalize
    GetPieceSize = get_piece_size
    piece_size = get_piece_size
    vocab_size = get_piece_size
    PieceToId = piece_to_id
    IdToPiece = id_to_piece
    GetScore = get_score
    IsUnknown = is_unknown
    IsControl = is_control
    IsUnused = is_unused
    IsByte = is_byte


for _name, _value in vars(SentencePieceShape).items():
    if getattr(_value, "__name__", "") == "method":  # pickles of bound methods name them
        _value.__name__, _value.__qualname__ = _name, f"{SentencePieceShape.__name__}.{_name}"


def _text_argument(text: object) -> str:
    if isinstance(text, bytes):
        try:
            return text.decode()
        except UnicodeDecodeError as error:
            raise InputError(f"expected text in UTF-8; byte {error.start} is not") from None
    if not isinstance(text, str):
        raise WrongTypeError(f"expected text as str or bytes, not {type(text).__name__}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise FailedError(f"expected text without lone surrogates; character {error.start} is one") from None
    return text


def _output_type(return_type: Any, out_type: Any, default: Any, known: tuple[Any, ...]) -> Any:
    if return_type is not None and out_type is not None:
        raise InputError("expected return_type or out_type, not both")
    kind = next((given for given in (return_type, out_type) if given is not None), default)
    if kind not in known:
        raise InputError(f"expected out_type to be one of {known!r}, not {kind!r:.60}")
    return kind


def _encoded(kind: Any, pieces: list[str]) -> list[Any]:
    return [piece.encode() for piece in pieces] if kind is bytes else pieces


def _read_only(ids: list[int]) -> NDArray[np.int32]:
    found = np.array(ids, np.int32)
    found.setflags(write=False)
    return found


def _check_int(name: str, value: object) -> None:
    if not isinstance(value, int):
        raise WrongTypeError(f"expected {name} as int, not {type(value).__name__}")
