"""A tokenizer with some of its tokens, at their ids or at other ones: model, template, roles and all other parts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from subwords.components.model import Model, new_ids
from subwords.components.padding import Padding
from subwords.components.template import Inserted, Template
from subwords.errors import InputError
from subwords.spec import TokenizerSpec

__all__ = ["kept_origins", "rearranged"]


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
        from subwords.formats.sentencepiece.revised import revised

        found = revised(spec, tokens, origins, scores)
        if found is not None:
            return found
    ids = new_ids(origins, len(old))
    return replace(
        spec,
        model=spec.model.rearranged(tokens, origins, scores or {}),
        template=None if spec.template is None else _template(spec.template, ids),
        added_tokens=tuple(replace(token, id=int(ids[token.id])) for token in spec.added_tokens),
        roles=tuple((role, int(ids[index])) for role, index in spec.roles),
        padding=_padding(spec.padding, ids),
        # In a tokenizer.json, all tokens stand in the model: HF counts on from the number of its tokens.
        foreign=replace(spec.foreign, model_size=None, sentencepiece=None),
    )


def _padding(found: Padding | None, ids: NDArray[np.int64]) -> Padding | None:
    if found is None or found.pad_id >= len(ids) or ids[found.pad_id] < 0:
        return found
    return replace(found, pad_id=int(ids[found.pad_id]))


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
