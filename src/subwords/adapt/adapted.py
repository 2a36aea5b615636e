"""Adapted: a changed tokenizer, and what became of every id."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords import Padding, Tokenizer, TokenizerSpec
from subwords.adapt.id_maps import IdMap, mapped_by, spelled
from subwords.adapt.words import unreachable_ids
from subwords.machine import Inserted, Model, Template, new_ids
from subwords.support.errors import InputError
from subwords.support.render import token_text
from subwords.support.report import Report, Table, plain
from subwords.support.value import read_only


@dataclass(frozen=True, eq=False, repr=False)
class Adapted(Report):
    """The result of `prune`, `replace` and `merge`.

    tokenizer: the new one. old: the one that was changed. removed: the ids of `old` that are gone, ascending. added:
    the ids of `tokenizer` with new tokens, ascending. left_out: tokens of the second tokenizer that `merge`
    did not take, because no text could produce them.

    >>> import subwords
    >>> tok = subwords.train(["low lower lowest"] * 9, vocab_size=263)
    >>> found = subwords.adapt.prune(tok, drop=[" lower"], compact=True)
    >>> found.removed, found.becomes, found.moved, found.id_map[261]
    ((261,), {261: (259, 81)}, {262: 261}, {262: 1.0})
    """

    tokenizer: Tokenizer
    old: Tokenizer
    removed: tuple[int, ...] = ()
    added: tuple[int, ...] = ()
    left_out: tuple[bytes, ...] = ()
    _origins: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_origins", read_only(self._origins))

    def __repr__(self) -> str:
        numbers = [f"{len(ids)} {name}" for name in ("removed", "added", "left_out") if (ids := getattr(self, name))]
        return f"Adapted({', '.join(numbers) or 'nothing changed'}, {self.tokenizer!r})".replace("left_out", "left out")

    __str__ = __repr__

    def tables(self) -> list[Table]:
        """Return the tokens that are gone, with the ids of their text now, and those that are new or left out."""
        old, new = self.old.model.vocab, self.tokenizer.model.vocab
        rows: list[tuple[object, ...]] = [
            ("removed", repr(token_text(old[index])), index, " ".join(map(str, ids)))
            for index, ids in self.becomes.items()
        ]
        rows += [("added", repr(token_text(new[index])), None, str(index)) for index in self.added]
        rows += [("left out", repr(token_text(token)), None, "") for token in self.left_out]
        return [Table(("change", "token", "old id", "new ids"), rows, "Changes of a vocabulary", "tab:adapted")]

    def notes(self) -> list[str]:
        """Return how many other tokens have a new id."""
        return [f"{len(self.moved)} tokens have another id."] if self.moved else []

    def to_dict(self) -> dict[str, Any]:
        """Return the digests of both tokenizers, and what became of the ids, for JSON."""
        names = ("removed", "added", "left_out", "becomes", "moved")
        digests = {"tokenizer": self.tokenizer.spec.digest, "old": self.old.spec.digest}
        return digests | {name: plain(getattr(self, name)) for name in names}

    @cached_property
    def id_map(self) -> IdMap:
        """Which old ids make up each new one, for the embeddings of a model (ALGORITHMS.md, C1)."""
        vocab = self.tokenizer.model.vocab
        parts = spelled(self.old, [vocab[index] for index in self.added]) if self.added else []
        return mapped_by(self.old, self.tokenizer, self._origins, dict(zip(self.added, parts, strict=True)))

    @cached_property
    def becomes(self) -> dict[int, tuple[int, ...]]:
        """The new ids of the text of each token that is gone, as one word, by its old id."""
        vocab = self.old.model.vocab
        rows = spelled(self.tokenizer, [vocab[index] for index in self.removed]) if self.removed else []
        return {index: tuple(row) for index, row in zip(self.removed, rows, strict=True)}

    @cached_property
    def moved(self) -> dict[int, int]:
        """The new id of each token that is not at its old id, by its old id; empty unless the ids were compacted."""
        ids = new_ids(self._origins, self.old.vocab_size)
        places = np.flatnonzero((ids >= 0) & (ids != np.arange(len(ids))))
        return dict(zip(places.tolist(), ids[places].tolist(), strict=True))

    @cached_property
    def unreachable(self) -> tuple[int, ...]:
        """The new ids that no text yields, of those that the model should make: usually those of the old tokenizer."""
        return tuple(unreachable_ids(self.tokenizer.spec).tolist())


# ---------------------------------------------------------------------------------------------------------------------
# A tokenizer with some of its tokens, at their ids or at other ones: model, template, roles and all other parts.


def kept_origins(model: Model, removed: Collection[int], *, compact: bool) -> NDArray[np.int64]:
    """Return the old id of each new id, -1 for ids without a token.

    compact: no id is without a token; otherwise all tokens keep their ids, and only ids after the last one are gone.
    """
    kept = np.diff(model.vocab.offsets) > 0
    kept[list(removed)] = False
    left = np.flatnonzero(kept)
    if compact:
        return left
    origins = np.full(int(left[-1]) + 1 if len(left) else 0, -1, np.int64)
    origins[left] = left
    return origins


def rearranged(
    spec: TokenizerSpec,
    origins: NDArray[np.int64],
    fresh: Mapping[int, bytes] | None = None,
    scores: Mapping[int, float] | None = None,
) -> TokenizerSpec:
    """Return a spec whose new id i has the token of the old id origins[i]; merges of tokens that are gone are left out.

    fresh: new tokens by new id, where origins has -1; they have no merges yet, and a SentencePiece file merges them
    last. scores: of new Unigram pieces.
    """
    fresh = fresh or {}
    old = list(spec.model.vocab)
    tokens = [old[origin] if origin >= 0 else fresh.get(i, b"") for i, origin in enumerate(origins.tolist())]
    if spec.foreign.sentencepiece is not None and all(tokens):
        from subwords.machine import revised

        found = revised(spec, tokens, origins, scores)
        if found is not None:
            return found
    ids = new_ids(origins, len(old))
    return replace(
        spec,
        model=spec.model.rearranged(tokens, origins, scores or {}),
        template=None if spec.template is None else _template(spec.template, ids),
        added_tokens=tuple(replace(one, id=int(ids[one.id])) for one in spec.added_tokens if ids[one.id] >= 0),
        roles=tuple((role, int(ids[index])) for role, index in spec.roles),
        padding=_padding(spec.padding, ids),
        # In a tokenizer.json, all tokens stand in the model: HF counts on from the number of its tokens.
        foreign=replace(spec.foreign, model_size=None, sentencepiece=None),
    )


def _padding(found: Padding | None, ids: NDArray[np.int64]) -> Padding | None:
    index = found.filler[0] if found is not None else len(ids)
    return replace(found, pad_id=int(ids[index])) if found and index < len(ids) and ids[index] >= 0 else found


def _template(template: Template, ids: NDArray[np.int64]) -> Template:
    for piece in (*template.single, *template.pair):
        if isinstance(piece, Inserted) and max(piece.ids, default=0) >= len(ids):
            raise InputError(
                f"template token {piece.name!r:.60} has the id {max(piece.ids)}, and the vocabulary has {len(ids)}: "
                "tok.with_(template=tok.template) gives it the id of its name"
            )
    single, pair = (
        tuple(
            replace(piece, ids=tuple(ids[list(piece.ids)].tolist())) if isinstance(piece, Inserted) else piece
            for piece in pieces
        )
        for pieces in (template.single, template.pair)
    )
    return replace(template, single=single, pair=pair)
