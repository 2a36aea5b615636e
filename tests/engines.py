"""Splitters and normalizers with the methods that encoding and counting use."""

from __future__ import annotations

from typing import Any

from inside import normalize_resolve as resolve
from subwords.machine import NormalizerEngine, SplitterEngine

__all__ = ["normalizer", "splitter"]


def splitter(rule: Any, **options: Any) -> SplitterEngine:
    return SplitterEngine.of(resolve.splitter(rule, **options))


def normalizer(rule: Any) -> NormalizerEngine:
    return NormalizerEngine.of(resolve.normalizer(rule))
