"""What a trained WordLevel model is used with, and a model to try before training."""

from __future__ import annotations

from subwords.components.decoder import Fuse, SpaceDecoder
from subwords.components.normalizer import Steps
from subwords.components.parts import Parts
from subwords.components.splitter import Rule
from subwords.components.unescaped import unescaped, writes_spaces
from subwords.components.vocab import Vocab
from subwords.wordlevel.model import WordLevel
from subwords.wordlevel.train import WordLevelSettings

__all__ = ["parts_of", "untrained"]


def parts_of(_model: WordLevel, _settings: WordLevelSettings, rule: Rule, steps: Steps) -> Parts:
    """Return the components of the tokenizer; decoding puts a space between words, unless words have spaces."""
    return Parts(rule, steps, unescaped(rule, steps, [Fuse()]) if writes_spaces(rule, steps) else SpaceDecoder())


def untrained(settings: WordLevelSettings) -> WordLevel:
    """Return a model of the special tokens and one word."""
    specials = list(settings.special_tokens)
    tokens = dict.fromkeys([*specials, "a"])
    unk_id = specials.index(settings.unk_token)
    return WordLevel(Vocab([token.encode() for token in tokens]), unk_id, frozenset(range(len(specials))))
