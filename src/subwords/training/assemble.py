"""Assemble a trained model, its splitter, normalizer, decoder, template and special tokens into one spec."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from subwords.bpe.model import BPE
from subwords.components.added_token import AddedToken
from subwords.components.splitter import Rule, Split
from subwords.components.vocab import Vocab
from subwords.families import Model
from subwords.spec import TokenizerSpec
from subwords.split.splitter import Splitter

if TYPE_CHECKING:
    from subwords.components.decoder import Decoder
    from subwords.components.normalizer import Steps
    from subwords.components.template import Template
    from subwords.normalize.normalizer import Normalizer
    from subwords.training.options import Settings
    from subwords.unigram.model import Unigram

__all__ = ["spec_of", "untrained", "user_defined"]


def spec_of(model: Model, settings: Settings, splitter: Splitter, normalizer: Normalizer | None) -> TokenizerSpec:
    """Return the spec of a trained model; splitter and normalizer are those that made its words."""
    special_tokens = tuple(settings.special_tokens)
    rule, steps = splitter.rule, normalizer.steps if normalizer else ()
    users = user_defined(settings)
    writes_spaces = _writes_spaces(rule, steps)
    if not isinstance(model, BPE) and hasattr(model, "scores"):
        rule, steps = _for_encoding(model, users, splitter, steps)  # type: ignore[arg-type]
    return TokenizerSpec(
        model=model,
        splitter=rule,
        normalizer=steps,
        added_tokens=tuple(AddedToken(content, i) for i, content in enumerate(special_tokens)),
        decoder=_decoder(model, special_tokens, writes_spaces),
        template=_template(model, special_tokens),
    )


def user_defined(settings: Settings) -> tuple[str, ...]:
    """Return the user-defined pieces; only Unigram has any."""
    return tuple(getattr(settings, "user_defined", ()))


def untrained(settings: Settings) -> Model:
    """Return a model of the special tokens and one character, to check before training that it can be saved."""
    specials = [token.encode() for token in settings.special_tokens]
    special_ids = frozenset(range(len(specials)))
    unk = settings.unk_token
    unk_id = None if unk is None else list(settings.special_tokens).index(unk)
    if hasattr(settings, "byte_level"):
        tokens = [*specials, *([] if b"a" in specials else [b"a"])]
        none = np.zeros((0, 3), np.int64)
        return BPE(Vocab(tokens), none, byte_level=settings.byte_level, unk_id=unk_id, special_ids=special_ids)
    if hasattr(settings, "prefix"):
        from subwords.wordpiece.model import WordPiece

        assert unk_id is not None
        tokens = [*dict.fromkeys([*specials, b"a", f"{settings.prefix}a".encode()])]
        return WordPiece(Vocab(tokens), unk_id, prefix=settings.prefix, special_ids=special_ids)
    from subwords.unigram.model import Unigram

    reserved = settings.reserved
    tokens = [token.encode() for token in dict.fromkeys([*reserved, "▁", "▁a", "a"])]
    first_user = len(reserved) - len(settings.user_defined)
    return Unigram(
        Vocab(tokens),
        np.zeros(len(tokens)),
        unk_id=unk_id,
        byte_fallback=settings.byte_fallback,
        special_ids=frozenset(range(first_user)),
        user_ids=frozenset(range(first_user, len(reserved))),
    )


def _writes_spaces(rule: Rule, steps: Steps) -> bool:
    """Whether the normalizer or the splitter replaces spaces by U+2581."""
    changing: list[Any] = [*steps, *(step for step in rule if not isinstance(step, Split))]
    return any(type(step).__name__ == "SentencePiece" or "▁" in repr(step) for step in changing)


def _decoder(model: Model, special_tokens: tuple[str, ...], writes_spaces: bool) -> Decoder | None:
    if isinstance(model, BPE):
        return None
    from subwords.components import decoder
    from subwords.wordpiece.model import WordPiece

    if isinstance(model, WordPiece):
        return decoder.WordPieceDecoder(model.prefix)
    if not writes_spaces:
        steps = decoder.ByteFallback(), decoder.Fuse()
        return decoder.DecoderSequence(steps) if model.byte_fallback else None
    unknown = {special_tokens[model.unk_id]} if model.unk_id is not None else set()
    control = frozenset(special_tokens) - unknown
    return decoder.SentencePieceDecoder(frozenset(unknown), control, byte_fallback=model.byte_fallback)


def _template(model: Model, special_tokens: tuple[str, ...]) -> Template | None:
    """Return BERT's template for WordPiece if [CLS] and [SEP] exist, otherwise None."""
    if not hasattr(model, "prefix") or not {"[CLS]", "[SEP]"} <= {*special_tokens}:
        return None
    from subwords.components.template import bert

    return bert(special_tokens.index("[CLS]"), special_tokens.index("[SEP]"))


def _for_encoding(model: Unigram, users: tuple[str, ...], splitter: Splitter, steps: Steps) -> tuple[Rule, Steps]:
    """Return a rule and steps that leave user-defined pieces whole.

    The default rule makes cuts that no learned piece crosses. So cutting only before spaces gives the same ids, and
    these are SentencePiece's ids, because SentencePiece makes no other cuts.
    """
    from subwords.components.normalizer import SentencePiece
    from subwords.components.space_rule import SPACE, parting, space_rule

    if users:
        steps = tuple(replace(s, user_symbols=users) if isinstance(s, SentencePiece) else s for s in steps)
    if splitter.name != "sentencepiece":
        return (*parting(users), *splitter.rule), steps
    tokens = [token for i, token in enumerate(model.vocab) if i not in model.special_ids]
    known = SPACE.encode() in tokens or model.byte_fallback
    return space_rule(tokens, unk_space=not known), steps
