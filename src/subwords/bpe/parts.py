"""What a trained BPE model is used with, and a model to try before training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from subwords.bpe.model import BPE
from subwords.components.parts import Parts
from subwords.components.vocab import Vocab

if TYPE_CHECKING:
    from subwords.bpe.train import BPESettings
    from subwords.components.normalizer import Steps
    from subwords.components.splitter import Rule

__all__ = ["parts_of", "untrained"]


def parts_of(_model: BPE, _settings: BPESettings, rule: Rule, steps: Steps) -> Parts:
    """Return the components of the tokenizer: the splitter and the normalizer that made the words."""
    return Parts(rule, steps)


def untrained(settings: BPESettings) -> BPE:
    """Return a model of the special tokens and one character."""
    special_tokens = list(settings.special_tokens)
    specials = [token.encode() for token in special_tokens]
    return BPE(
        Vocab([*dict.fromkeys([*specials, b"a"])]),
        np.zeros((0, 3), np.int64),
        byte_level=settings.byte_level,
        unk_id=None if settings.unk_token is None else special_tokens.index(settings.unk_token),
        special_ids=frozenset(range(len(specials))),
    )
