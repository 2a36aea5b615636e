"""What a tokenizer does with a text, how good it is, and what is wrong with it. All results are a `Report`."""

from __future__ import annotations

from subwords.support.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
