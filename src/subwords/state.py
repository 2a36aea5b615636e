"""What pickles and copies carry: what defines an object, and nothing that was computed from it since."""

from __future__ import annotations

from functools import cached_property
from typing import Any

__all__ = ["Defined"]


class Defined:
    """Leaves cached properties out of pickles and copies: a pickle is the same before and after use."""

    def __getstate__(self) -> dict[str, Any]:
        cached = {name for kind in type(self).__mro__ for name, at in vars(kind).items() if _is_cached(at)}
        return {name: value for name, value in vars(self).items() if name not in cached}


def _is_cached(attribute: object) -> bool:
    return isinstance(attribute, cached_property)
