"""Files of tokenizers, converted, verified, locked and exported; files of ids, opened and checked."""

from __future__ import annotations

from subwords.support.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
