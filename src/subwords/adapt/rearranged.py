"""A tokenizer with some of its tokens, at their ids or at other ones: model, template, roles and all other parts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from subwords.bpe.model import BPE
from subwords.components.padding import Padding
from subwords.components.template import Inserted, Template
from subwords.components.vocab import Vocab
from subwords.errors import InputError
from subwords.families import Model
from subwords.spec import TokenizerSpec
from subwords.unigram.model import Unigram

__all__ = ["is_ranked", "kept_origins", "new_ids", "rearranged"]


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


def new_ids(origins: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return the new id of each of `size` old ids, -1 for those that are gone."""
    found = np.full(size, -1, np.int64)
    found[origins[origins >= 0]] = np.flatnonzero(origins >= 0)
    return found


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
        model=_model(spec.model, tokens, origins, ids, scores or {}),
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


def _model(
    model: Model,
    tokens: list[bytes],
    origins: NDArray[np.int64],
    ids: NDArray[np.int64],
    fresh_scores: Mapping[int, float],
) -> Model:
    special = _mapped(model.special_ids, ids)
    unk_id = None if model.unk_id is None else int(ids[model.unk_id])
    if isinstance(model, BPE):
        return _bpe(model, tokens, ids, unk_id)
    vocab = Vocab(tokens)
    if isinstance(model, Unigram):
        # The score of an unknown character depends on the smallest one.
        scores = np.where(origins >= 0, model.scores[origins], model.scores.max(initial=0.0))
        scores[[*fresh_scores]] = [*fresh_scores.values()]
        users = _mapped(model.user_ids, ids)
        return replace(model, vocab=vocab, scores=scores, unk_id=unk_id, special_ids=special, user_ids=users)
    return replace(model, vocab=vocab, unk_id=unk_id, special_ids=special)  # type: ignore[arg-type]


def _bpe(model: BPE, tokens: list[bytes], ids: NDArray[np.int64], unk_id: int | None) -> BPE:
    size = len(model.vocab)
    places = np.concatenate([ids, np.zeros(len(model.parts), np.int64)])  # parts stay as long as merges use them
    kept = (places[model.merges] >= 0).all(1)
    merges = model.merges[kept]
    used = np.unique(merges[merges >= size])
    places[used] = len(tokens) + np.arange(len(used))
    merges, ranks = places[merges], None if model.ranks is None else model.ranks[kept]
    if ranks is not None:
        ranks = merges[:, 2].copy() if is_ranked(model) else np.unique(ranks, return_inverse=True)[1].astype(np.int64)
    return replace(
        model,
        vocab=Vocab(tokens),
        merges=merges,
        ranks=ranks,
        unk_id=unk_id,
        parts=tuple(model.parts[i - size] for i in used.tolist()),
        special_ids=_mapped(model.special_ids, ids),
        user_ids=_mapped(model.user_ids, ids),
        unused_ids=_mapped(model.unused_ids, ids),
        literal_ids=_mapped(model.literal_ids, ids),
    )


def is_ranked(model: BPE) -> bool:
    """Whether a model is that of a rank file: tokens merge by their ids."""
    return model.byte_level and model.ranks is not None and bool((model.ranks == model.merges[:, 2]).all())


def _mapped(found: frozenset[int], ids: NDArray[np.int64]) -> frozenset[int]:
    return frozenset(i for i in ids[sorted(found)].tolist() if i >= 0)
