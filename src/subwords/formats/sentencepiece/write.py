"""Write SentencePiece's .model files; FormatError for tokenizers that SentencePiece would read differently."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.formats.checks import not_made
from subwords.formats.sentencepiece.read import (
    Kind,
    PieceTable,
    PieceType,
    check_pieces,
    cut_rule,
    model_class,
    spec_of,
)
from subwords.models.bpe.model import BPE
from subwords.models.families import family_of
from subwords.models.unigram.model import Unigram
from subwords.spec.model import Model
from subwords.spec.normalizer import NAMED as NORMALIZERS
from subwords.spec.normalizer import SPACED, SentencePiece, Steps
from subwords.spec.splitter import NAMED, Rule, Split
from subwords.spec.tokenizer import TokenizerSpec
from subwords.split.splitter import Splitter
from subwords.support.errors import FormatError, InputError

# Rules that decide a cut between two characters from these two characters only.
_LOCAL: tuple[Rule, ...] = (
    NAMED["sentencepiece"],
    *((Split(f"{run}[^▁]*|[^▁]+"),) for run in ("▁", "▁+")),
    *((Split(f"[^▁]*{run}|[^▁]+"),) for run in ("▁", "▁+")),
    (),
)
_YIELDED = (PieceType.NORMAL, PieceType.USER_DEFINED)
MOST_PIECES = 1 << 24  # 32-bit floats represent all integers up to here, so ranks stay distinct


def write_model_file(spec: TokenizerSpec) -> bytes:
    """Return the .model file of a tokenizer; SentencePiece loads it and gives the same ids.

    Supports tokenizers read from such a file, and Unigram and character-level BPE models with SentencePiece's
    normalizer or none. Raises FormatError for everything that the file cannot hold.
    Hazards: SentencePiece adds scores in 32 bits, which may decide between two segmentations of nearly equal score. It
    also joins adjacent unknown characters, even where the tokenizer's splitter cuts between them.

    Source: SentencePiece 0.2.3.
    """
    table = PieceTable.of(spec.foreign.sentencepiece) if spec.foreign.sentencepiece else None
    if table is None or (message := rebuilt(spec, table)) is None:
        message = model_class()()
        table = _described(spec, message)
        add_pieces(message, list(spec.model.vocab), table)
    data: bytes = message.SerializeToString(deterministic=True)
    return data


def rebuilt(spec: TokenizerSpec, table: PieceTable) -> Any:
    """Return the message that the tokenizer was read from; None if it no longer matches the spec."""
    pieces = list(spec.model.vocab)
    if len(pieces) != len(table.types):
        return None
    messages = model_class().FromString(table.message), model_class().FromString(table.message)
    try:
        for message in messages:
            add_pieces(message, pieces, table)
        return messages[0] if spec_of(messages[1]) == spec else None
    except FormatError:
        return None


def add_pieces(message: Any, pieces: Sequence[bytes], table: PieceTable) -> None:
    """Add pieces to a message, with the types and scores of a table."""
    types = np.frombuffer(table.types, np.uint8).astype(np.int64)
    check_pieces(message, pieces, types, table.scores)
    for piece, score, kind in zip(pieces, table.scores.tolist(), types.tolist(), strict=True):
        message.pieces.add(piece=piece, score=score, **({} if kind == PieceType.NORMAL else {"type": kind}))


def _described(spec: TokenizerSpec, message: Any) -> PieceTable:
    """Fill a message, except pieces, from a tokenizer that was not read from a .model file; return its pieces."""
    model, pieces = spec.model, list(spec.model.vocab)
    if ordinary := [token for token in spec.added_tokens if not token.special]:
        content = ordinary[0].content
        raise FormatError(f".model files hold special added tokens only; {content!r:.60} is not special")
    kinds: dict[str, tuple[int, Any]] = {"unigram": (Kind.UNIGRAM, _piece_scores), "bpe": (Kind.BPE, merge_scores)}
    kind, scores_of = kinds.get(family_of(model).name, (Kind.BPE, None))
    if scores_of is None or model.byte_level or any(model.marks):
        held = "Unigram and character-level BPE models only, without prefix and suffix"
        raise FormatError(f".model files hold {held}; write a .json file")
    if holes := [i for i, piece in enumerate(pieces) if not piece]:
        raise FormatError(
            f"a .model file holds no ids without a token; {len(holes)} have none, such as {holes[0]}: prune with "
            "compact=True, or write a .json file"
        )
    scores: NDArray[np.float32] = scores_of(model)
    users = model.user_ids
    types = _types(model)
    _describe_normalizer(spec.normalizer, [pieces[i] for i in sorted(users)], message)
    trainer = message.trainer_spec
    trainer.model_type = kind
    trainer.vocab_size, trainer.byte_fallback = len(pieces), model.byte_fallback
    trainer.user_defined_symbols.extend(pieces[i] for i in sorted(users))
    control = {pieces[i]: i for i in np.flatnonzero(types == PieceType.CONTROL).tolist()}
    trainer.unk_id = -1 if model.unk_id is None else model.unk_id
    if model.unk_id is not None:
        trainer.unk_piece = pieces[model.unk_id]
    for field, piece in (("bos_id", b"<s>"), ("eos_id", b"</s>"), ("pad_id", b"<pad>")):
        setattr(trainer, field, control.get(piece, -1))
    table = PieceTable(b"", types.astype(np.uint8).tobytes(), scores)
    finest = cut_rule(pieces, types.tolist(), trainer.model_type, byte_fallback=model.byte_fallback)
    if kind != Kind.BPE or spec.splitter != model.space_rule:
        yielded = np.flatnonzero(np.isin(types, _YIELDED)).tolist()
        check_splitter(Splitter(spec.splitter), finest, [pieces[i] for i in yielded])
    return table


def _piece_scores(model: Unigram) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # infinite scores raise FormatError later, in check()
        return model.scores.astype(np.float32)


def _types(model: Model) -> NDArray[np.int64]:
    types = np.full(len(model.vocab), PieceType.NORMAL)
    types[sorted(model.special_ids)] = PieceType.CONTROL
    types[sorted(model.user_ids)] = PieceType.USER_DEFINED
    types[model.byte_ids[model.byte_ids >= 0]] = PieceType.BYTE
    if model.unk_id is not None:
        types[model.unk_id] = PieceType.UNKNOWN
    return types


def _describe_normalizer(steps: Steps, users: Sequence[bytes], message: Any) -> None:
    steps = NORMALIZERS["sentencepiece"] if steps == SPACED else steps
    if len(steps) > 1 or not all(isinstance(step, SentencePiece) for step in steps):
        raise FormatError(f"expected SentencePiece's normalizer or none in a .model file, not {steps!r:.200}")
    step = steps[0] if steps else SentencePiece(b"", False, False, False)
    assert isinstance(step, SentencePiece)
    if {*step.user_symbols} != {user.decode() for user in users} and steps:
        raise FormatError(
            "expected user_symbols of the normalizer to be the user-defined pieces in a .model file: they "
            f"are {step.user_symbols!r:.60}, the pieces {users!r:.60}"
        )
    spec = message.normalizer_spec
    spec.name = b"user_defined" if step.charsmap else b"identity"
    spec.precompiled_charsmap = step.charsmap
    spec.add_dummy_prefix = step.add_dummy_prefix
    spec.remove_extra_whitespaces = step.remove_extra_whitespaces
    spec.escape_whitespaces = step.escape_whitespaces
    message.trainer_spec.treat_whitespace_as_suffix = step.whitespace_suffix


def check_splitter(splitter: Splitter, finest: Rule, tokens: Sequence[bytes]) -> None:
    """Check that a splitter changes no id: it must not cut a token in two, in any context."""
    if splitter.rule == finest:
        return
    if splitter.rule not in _LOCAL:
        raise FormatError(
            "expected a splitter that SentencePiece can do without: one for U+2581 alone, such as "
            f"{Splitter(finest).shown}, not {splitter.shown}"
        )
    for token in tokens:
        if len(splitter.split(token.decode())) > 1:
            raise FormatError(
                f"expected a splitter that cuts no token: SentencePiece has none; {splitter.shown} cuts {token!r:.60}"
            )


def merge_scores(model: BPE) -> NDArray[np.float32]:
    """Return scores that give SentencePiece the model's merges: merges in rank order, then characters."""
    if model.whole_words or model.words_only or model.parts or model.unused_ids:
        raise FormatError("unsupported BPE model: a .model file holds only characters and merges")
    if model.unk_id is not None and not model.fuse_unk and not model.byte_fallback:
        raise FormatError("expected fuse_unk to be set: SentencePiece joins adjacent unknown characters to one unk")
    size = len(model.vocab)
    results = model.merges[:, 2]
    ranks = np.arange(len(results)) if model.ranks is None else model.ranks
    if len(np.unique(results)) != len(results):
        twice = int(np.flatnonzero(np.bincount(results) > 1)[0])
        raise FormatError(f"expected one merge per token; {model.vocab[twice]!r} has more")
    if size > MOST_PIECES:
        raise FormatError(f"expected at most {MOST_PIECES} pieces, not {size}")
    scores = np.zeros(size, np.float32)
    learned = np.ones(size, np.bool_)
    learned[sorted(model.special_ids)] = False
    learned[model.byte_ids[model.byte_ids >= 0]] = False
    scores[learned] = -(len(ranks) + np.arange(int(learned.sum())))
    scores[results] = -ranks
    _check_merges(model, learned)
    return scores


def _check_merges(model: BPE, learned: NDArray[np.bool_]) -> None:
    """Check that SentencePiece makes no other merges; it merges any two neighbours that join to a piece.

    This holds if every piece by itself is segmented to itself.
    """
    token = not_made(model, np.flatnonzero(learned).tolist())
    if token is not None:
        raise FormatError(
            f"expected merges that build every token from its characters, as SentencePiece does; they segment "
            f"{token!r} differently"
        )


# ---------------------------------------------------------------------------------------------------------------------
# A tokenizer that was read from a .model file, with fewer, more or other pieces.


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
    types = np.where(fresh, PieceType.NORMAL, old[origins]).astype(np.uint8)
    scores = table.scores[origins]
    merging = np.isin(old, (PieceType.NORMAL, PieceType.UNUSED))
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


def with_pieces(spec: TokenizerSpec, pieces: Sequence[bytes], scores: Sequence[float] | None = None) -> TokenizerSpec:
    """Return the spec with more pieces. Without scores, theirs are below all others: in BPE they merge last.

    InputError if the spec is no longer that of its file.
    """
    size = len(spec.model.vocab)
    origins = np.append(np.arange(size), np.full(len(pieces), -1))
    given = None if scores is None else dict(enumerate(scores, size))
    found = revised(spec, [*spec.model.vocab, *pieces], origins, given)
    if found is None:
        raise InputError("expected a tokenizer as it was read from its .model file, not a changed copy: extend first")
    return found
