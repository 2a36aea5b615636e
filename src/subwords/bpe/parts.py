"""What a trained BPE model is used with, and a model to try before training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from subwords.bpe.model import BPE
from subwords.components import decoder
from subwords.components.normalizer import SentencePiece
from subwords.components.parts import Parts
from subwords.components.splitter import NAMED
from subwords.components.unescaped import unescaped, writes_spaces
from subwords.components.vocab import Vocab

if TYPE_CHECKING:
    from subwords.bpe.train import BPESettings
    from subwords.components.normalizer import Steps
    from subwords.components.splitter import Rule

__all__ = ["parts_of", "untrained"]


def parts_of(model: BPE, settings: BPESettings, rule: Rule, steps: Steps) -> Parts:
    """Return the components of the tokenizer: the splitter and the normalizer that made the words, and a decoder.

    With fuse_unk or byte_fallback, the splitter "sentencepiece" is replaced by one without its cuts between scripts. No
    merge crosses those: ids are the same, except that runs of unknown characters stay whole, as in SentencePiece.
    """
    spaces = writes_spaces(rule, steps)
    if settings.byte_level:
        return Parts(rule, steps, unescaped(rule, steps, [decoder.ByteDecoder()]) if spaces else None)
    if not (settings.fuse_unk or settings.byte_fallback):
        return Parts(rule, steps, unescaped(rule, steps, [decoder.Fuse()]) if spaces else None)
    if rule == NAMED["sentencepiece"]:
        rule = model.space_rule
    if not any(isinstance(step, SentencePiece) for step in steps):
        fallback: list[decoder.DecoderStep] = [decoder.ByteFallback()] if settings.byte_fallback else []
        joining = (*fallback, decoder.Fuse())
        if spaces:
            return Parts(rule, steps, unescaped(rule, steps, joining))
        return Parts(rule, steps, decoder.DecoderSequence(joining) if fallback else None)
    unknown = frozenset() if settings.unk_token is None else frozenset([settings.unk_token])
    control = frozenset(settings.special_tokens) - unknown
    return Parts(rule, steps, decoder.SentencePieceDecoder(unknown, control, byte_fallback=settings.byte_fallback))


def untrained(settings: BPESettings) -> BPE:
    """Return a model of the special tokens and one character, or of all bytes."""
    special_tokens = list(settings.reserved)
    specials = [token.encode() for token in special_tokens]
    symbols = [bytes([byte]) for byte in range(256)] if settings.byte_level else [b"a"]
    return BPE(
        Vocab([*dict.fromkeys([*specials, *symbols])]),
        np.zeros((0, 3), np.int64),
        byte_level=settings.byte_level,
        unk_id=None if settings.unk_token is None else special_tokens.index(settings.unk_token),
        fuse_unk=settings.fuse_unk,
        special_ids=frozenset(range(len(specials))),
        byte_fallback=settings.byte_fallback,
    )
