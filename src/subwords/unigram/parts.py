"""What a trained Unigram model is used with, and a model to try before training."""

from __future__ import annotations

import numpy as np

from subwords.components import decoder
from subwords.components.normalizer import Steps
from subwords.components.parts import Parts
from subwords.components.space_rule import SPACE, kept_whole, space_rule
from subwords.components.splitter import NAMED, Rule
from subwords.components.unescaped import unescaped, writes_prefix, writes_spaces
from subwords.components.vocab import Vocab
from subwords.unigram.model import Unigram
from subwords.unigram.train import UnigramSettings

__all__ = ["parts_of", "untrained"]


def parts_of(model: Unigram, settings: UnigramSettings, rule: Rule, steps: Steps) -> Parts:
    """Return the components of the tokenizer: a decoder, and a splitter that leaves user-defined pieces whole.

    The default splitter makes cuts that no learned piece crosses. So cutting only before spaces gives the same ids,
    and these are SentencePiece's ids, because SentencePiece makes no other cuts.
    """
    if writes_spaces(rule, steps) and not writes_prefix(rule, steps):
        made: decoder.Decoder | None = unescaped(rule, steps, _joining(model))
    else:
        made = _decoder(model, tuple(settings.special_tokens), writes_spaces(rule, steps))
    words, steps = kept_whole(settings.user_defined, rule, steps)
    if rule != NAMED["sentencepiece"]:
        return Parts(words, steps, made)
    tokens = [token for i, token in enumerate(model.vocab) if i not in model.special_ids]
    known = SPACE.encode() in tokens or model.byte_fallback
    return Parts(space_rule(tokens, unk_space=not known), steps, made)


def untrained(settings: UnigramSettings) -> Unigram:
    """Return a model of the reserved tokens and one character."""
    reserved, specials = settings.reserved, settings.specials
    tokens = [token.encode() for token in dict.fromkeys([*reserved, "▁", "▁a", "a"])]
    first_user = len(reserved) - len(settings.user_defined)
    return Unigram(
        Vocab(tokens),
        np.zeros(len(tokens)),
        unk_id=None if settings.unk_token is None else specials.index(settings.unk_token),
        byte_fallback=settings.byte_fallback,
        special_ids=frozenset(range(first_user)),
        user_ids=frozenset(range(first_user, len(reserved))),
    )


def _decoder(model: Unigram, special_tokens: tuple[str, ...], writes_spaces: bool) -> decoder.Decoder | None:
    if not writes_spaces:
        return decoder.DecoderSequence(_joining(model)) if model.byte_fallback else None
    unknown = {special_tokens[model.unk_id]} if model.unk_id is not None else set()
    control = frozenset(special_tokens) - unknown
    return decoder.SentencePieceDecoder(frozenset(unknown), control, byte_fallback=model.byte_fallback)


def _joining(model: Unigram) -> tuple[decoder.DecoderStep, ...]:
    return (decoder.ByteFallback(), decoder.Fuse()) if model.byte_fallback else (decoder.Fuse(),)
