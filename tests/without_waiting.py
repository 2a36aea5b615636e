"""Writes that nobody waits for, done at once: for tests of what is written."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from inside import kernels_stored as store


def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tables be written when they are made."""

    def write(_later: object, writing: Callable[[str | None], None]) -> None:
        with suppress(Exception):
            writing(store.cache_root())

    monkeypatch.setattr(type(store.later), "__call__", write)
