"""Train and run subword tokenizers.

>>> import subwords
>>> tok = subwords.train(["low lower lowest"] * 9, vocab_size=263)
>>> tok.encode("low lowest")
[257, 262]
"""

from __future__ import annotations

from subwords.support.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
__version__ = "0.3.0"
