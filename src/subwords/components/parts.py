"""Parts: the components of a tokenizer other than its model."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from subwords.components.decoder import Decoder
    from subwords.components.normalizer import Steps
    from subwords.components.splitter import Rule
    from subwords.components.template import Template

__all__ = ["Parts"]


class Parts(NamedTuple):
    """The components that a trained model is used with; the fields have the names of `TokenizerSpec`."""

    splitter: Rule
    normalizer: Steps
    decoder: Decoder | None = None
    template: Template | None = None
