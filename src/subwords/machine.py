"""What the machine offers to the rooms of the shop beyond the public names; the stub beside says what each is."""

from __future__ import annotations

from subwords.support.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
