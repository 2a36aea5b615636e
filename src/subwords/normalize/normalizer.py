"""Normalizers: steps and their exact tables."""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from typing import Any
from unicodedata import is_normalized

import numpy as np
from numpy.typing import NDArray

from subwords.components.identity import to_text
from subwords.components.normalizer import NAMED, SPACED, Form, Prepend, Replace, Step, Steps
from subwords.errors import InputError
from subwords.kernels.named import last_safe
from subwords.normalize.characters import UNICODE_VERSION
from subwords.normalize.plan import aligned, applied, safe, stages_of
from subwords.normalize.stages import WHOLE, Origin, Position, Stage
from subwords.split.routes import StageCall
from subwords.support.checks import encode_text

__all__ = ["Normalizer", "NormalizerEngine"]

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]
LONGEST_SHOWN = 400  # characters
FORMS = ("NFC", "NFD", "NFKC", "NFKD")


class Normalizer:
    """The normalization of a text before it is split; immutable; made by `subwords.normalizer`.

    Attributes: `steps`, a tuple; `name`, the name of the normalizer or None.
    """

    steps: Steps
    name: str | None

    def __init__(self, steps: Steps) -> None:
        for step in steps:
            _check(step)
        known = NAMED["sentencepiece"] if steps == SPACED else steps
        name = next((name for name, found in NAMED.items() if found == known), None)
        self.__dict__.update(steps=steps, name=name)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.steps,)

    def __eq__(self, other: object) -> bool:
        return self.steps == other.steps if isinstance(other, Normalizer) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.steps)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"Normalizer is immutable: {name!r} cannot be set; make another one with subwords.normalizer"
        )

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Normalizer is immutable: {name!r} cannot be deleted")

    @cached_property
    def identity(self) -> str:
        """The steps as text that `subwords.normalizer` accepts; identifies them in word counts."""
        return self.name or to_text(self.steps)

    @property
    def unicode_version(self) -> str:
        """The Unicode version of its normal forms."""
        return UNICODE_VERSION

    def normalize(self, text: str) -> str:
        """Return the normalized text.

        >>> import subwords
        >>> subwords.normalizer("bert-uncased").normalize("Ça va?")
        'ca va?'
        """
        data = np.frombuffer(encode_text(text), np.uint8)
        return text if self._keeps(text) else self._applied(data, np.array([0, len(data)]))[0].tobytes().decode()

    def _keeps(self, text: str) -> bool:
        """Whether a quick check shows that a text stays as it is; only normal forms have one.

        Python's Unicode is newer than that of the forms, which may be all that differs: a text in the newer form is in
        the older one. No assigned character changes, and for the older form an unassigned mark blocks compositions.
        """
        return self._forms and (text.isascii() or all(is_normalized(step.form, text) for step in self.steps))  # type: ignore[union-attr]

    @cached_property
    def _forms(self) -> bool:
        return all(isinstance(step, Form) for step in self.steps)

    def _applied(self, text: Bytes, bounds: Offsets, part: Position = WHOLE) -> tuple[Bytes, Offsets]:
        """Return the normalized texts text[bounds[i]:bounds[i + 1]], concatenated, and their bounds, int64.

        A byte that is not UTF-8 is a character of no class and stays unchanged (ALGORITHMS.md, S2). `part`: for one
        stretch of a longer text, whether it begins and ends that text.
        """
        text = np.ascontiguousarray(text)
        found = applied(self._fused, text, bounds, part) or applied(self._stages, text, bounds, part)
        assert found is not None, "only fused stages return None"
        return found

    @cached_property
    def _fused(self) -> tuple[Stage, ...]:
        return stages_of(self.steps, fused=True)

    @cached_property
    def _stages(self) -> tuple[Stage, ...]:
        return stages_of(self.steps, fused=False)

    @property
    def shown(self) -> str:
        """The rule for messages: its name, else the names of its steps."""
        return repr(self.name) if self.name else ", ".join(type(step).__name__ for step in self.steps)

    def __repr__(self) -> str:
        if self.name:
            return f"Normalizer({self.name!r})"
        # A charsmap may be long.
        shown = self.identity if len(self.identity) <= LONGEST_SHOWN else repr(self.steps)
        return f"Normalizer({shown if len(shown) <= LONGEST_SHOWN else shown[:LONGEST_SHOWN] + '...'})"


class NormalizerEngine(Normalizer):
    """A normalizer with the methods that encoding and counting use."""

    @classmethod
    def of(cls, normalizer: Normalizer) -> NormalizerEngine:
        """Return the engine of a normalizer, which it may be already."""
        return normalizer if isinstance(normalizer, cls) else cls(normalizer.steps)

    apply = Normalizer._applied
    keeps = Normalizer._keeps

    @cached_property
    def growth(self) -> int:
        """The maximum output length as a multiple of the input length."""
        return math.prod(stage.growth for stage in self._stages)

    @cached_property
    def sees_ends(self) -> bool:
        """Whether a step depends on where a text begins or ends; `apply` then needs the right `part`."""
        return any(stage.sees_ends for stage in self._stages)

    def escaped(self, text: str) -> str:
        """Return the normalized text; both have surrogates for bytes that are not UTF-8, as of surrogateescape."""
        if self.keeps(text):
            return text
        data = np.frombuffer(text.encode("utf-8", "surrogateescape"), np.uint8)
        return self.apply(data, np.array([0, len(data)]))[0].tobytes().decode("utf-8", "surrogateescape")

    def aligned(self, text: Bytes, part: Position = WHOLE) -> tuple[Bytes, Offsets]:
        """Return the normalized text and its origin, int64 of shape (2, n).

        The origin of a byte is the byte range in `text` of the character that it comes from. Inserted bytes have the
        origin of a neighbor, or (0, 0) at the start if there is none.

        >>> import subwords
        >>> text, origin = subwords.normalizer("bert-uncased").aligned(np.frombuffer("É!".encode(), np.uint8))
        >>> text.tobytes(), origin.tolist()
        (b'e!', [[0, 2], [2, 3]])
        """
        data, _, origin = self.traced(text, np.array([0, len(text)]), part)
        return data, np.stack([origin.begins, origin.ends])

    def traced(self, text: Bytes, bounds: Offsets, part: Position = WHOLE) -> tuple[Bytes, Offsets, Origin]:
        """Return the normalized texts text[bounds[i]:bounds[i + 1]], their bounds, and their origin in `text`.

        bounds: from 0 to len(text). The origin is where the range of each byte begins, and where it ends, both int64;
        see `aligned`. Bytes without an origin have the empty range where their text starts.
        """
        text = np.ascontiguousarray(text)
        found = aligned(self._fused, text, bounds, part) or aligned(self._stages, text, bounds, part)
        assert found is not None, "only fused stages return None"
        return found

    def cut(self, text: Bytes, at: int) -> int:
        """Return the last known position in text[:at] where a cut changes nothing, whatever follows, or 0.

        The text before and after the cut can then be normalized separately, as parts of a text. Always 0 if a step
        reads the whole text: a Replace with a regex.
        """
        return last_safe(text, at, self._safe)

    def fast_path(self) -> tuple[StageCall, ...] | None:
        """Return the stages as calls of kernels; None if one of them does more."""
        stages = tuple(filter(None, (stage.fast_path() for stage in self._fused)))
        return stages if len(stages) == len(self._fused) else None

    @cached_property
    def _safe(self) -> Bytes:
        return _safe_in(self.steps)


@lru_cache(maxsize=16)
def _safe_in(steps: Steps) -> Bytes:
    # A mark that a fused table drops may first be sorted to either side of a cut: it is dropped in both cases.
    return safe(stages_of(steps, fused=True))


def _check(step: Step) -> None:
    match step:
        case Form(form) if form not in FORMS:
            raise InputError(f"expected form to be one of {', '.join(FORMS)}, not {form!r:.80}")
        case Replace(pattern, content, regex):
            encode_text(content)
            encode_text(pattern)
            if regex:
                from subwords.split.fallback import compiled

                compiled(pattern)
        case Prepend(text):
            encode_text(text)
