"""The same call on an original and on our shape of it: equal results, or errors of the same kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from inside import PROBES
from subwords import SubwordsError

__all__ = ["TEXTS", "check_same"]

TEXTS = [text for _, text in PROBES]


def check_same(call: Callable[[Any], Any], original: Any, shape: Any) -> None:
    """An error of the shape is one of this package, and also of the kind that the original raises."""
    try:
        ref = plain(call(original))
    except Exception as error:
        try:
            got = call(shape)
        except Exception as ours:
            assert isinstance(ours, type(error)), (type(error), ours)
            builtin = UnicodeError, LookupError
            assert isinstance(ours, SubwordsError) or isinstance(error, builtin), ours
            return
        raise AssertionError(f"expected {error!r}, got {got!r:.200}") from None
    got = plain(call(shape))
    if got != ref:  # pytest would compare long lists for minutes
        raise AssertionError(f"expected {ref!r:.200}, got {got!r:.200}")


def plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
