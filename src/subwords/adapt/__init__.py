"""Changes of a vocabulary that keep its ids: extend, prune, replace, merge; and maps between ids of tokenizers."""

from __future__ import annotations

from subwords.support.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
