"""Assemble a trained model and the components that it is used with into one spec."""

from __future__ import annotations

from typing import TYPE_CHECKING

from subwords.components.added_token import AddedToken
from subwords.families import Family, Model
from subwords.spec import TokenizerSpec

if TYPE_CHECKING:
    from subwords.components.parts import Parts
    from subwords.training.count import WordRules
    from subwords.training.options import Settings

__all__ = ["spec_of"]


def spec_of(family: Family, model: Model, settings: Settings, rules: WordRules) -> TokenizerSpec:
    """Return the spec of a trained model; `rules` made its words."""
    steps = rules.normalizer.steps if rules.normalizer else ()
    parts: Parts = family.parts_of(model, settings, rules.splitter.rule, steps)
    added = tuple(AddedToken(content, i) for i, content in enumerate(settings.special_tokens))
    return TokenizerSpec(model=model, added_tokens=added, **parts._asdict())
