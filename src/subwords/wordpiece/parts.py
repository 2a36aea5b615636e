"""What a trained WordPiece model is used with, and a model to try before training."""

from __future__ import annotations

from subwords.components.decoder import Fuse, Replace, WordPieceDecoder
from subwords.components.normalizer import Steps
from subwords.components.parts import Parts
from subwords.components.splitter import Rule
from subwords.components.template import bert
from subwords.components.unescaped import unescaped, writes_spaces
from subwords.components.vocab import Vocab
from subwords.wordpiece.model import MAX_CHARS, WordPiece
from subwords.wordpiece.train import WordPieceSettings

__all__ = ["parts_of", "untrained"]


def parts_of(model: WordPiece, settings: WordPieceSettings, rule: Rule, steps: Steps) -> Parts:
    """Return the components of the tokenizer, with BERT's template if [CLS] and [SEP] are special tokens."""
    tokens = list(settings.special_tokens)
    framed = {"[CLS]", "[SEP]"} <= {*tokens}
    template = bert(tokens.index("[CLS]"), tokens.index("[SEP]")) if framed else None
    if not writes_spaces(rule, steps):
        return Parts(rule, steps, WordPieceDecoder(model.prefix), template)
    # All spaces are then those between two words.
    joining = WordPieceDecoder(model.prefix, cleanup=False), Fuse(), Replace(" ", "")
    return Parts(rule, steps, unescaped(rule, steps, joining), template)


def untrained(settings: WordPieceSettings) -> WordPiece:
    """Return a model of the special tokens and one character."""
    specials = list(settings.special_tokens)
    tokens = dict.fromkeys([*specials, "a", f"{settings.prefix}a"])
    return WordPiece(
        Vocab([token.encode() for token in tokens]),
        specials.index(settings.unk_token),
        prefix=settings.prefix,
        max_chars=MAX_CHARS if settings.max_chars is None else settings.max_chars,
        special_ids=frozenset(range(len(specials))),
    )
