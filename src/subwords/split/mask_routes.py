"""Routes that split by boundary algebra on bit masks: the rules that most tokenizers of language models have."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subwords.components.splitter import NAMED, Rule
from subwords.split.routes import MachineRoute, Scanner, SplitBuffers, SplitCall, much_is_odd, sampled
from subwords.support.value import digest_of
from subwords.unicode.tables import cased_classes, gpt2_classes

if TYPE_CHECKING:
    from subwords.kernels.jit import Kernel
    from subwords.split.transducer import Machine

__all__ = ["MaskRoute", "by_masks"]

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]

# For the rules of kernels/split/cl100k.py: how many numbers make a word, and whether `\s++$` comes first.
SETTINGS: dict[Rule, tuple[int, int]] = {
    NAMED["cl100k"]: (3, 1),
    NAMED["llama3"]: (3, 0),
    NAMED["qwen2"]: (1, 0),
}

# For those of kernels/split/o200k.py: how many numbers make a word, and whether there are contractions.
CASED: dict[Rule, tuple[int, int]] = {NAMED["o200k"]: (3, 1), NAMED["tekken"]: (1, 0)}
WORTH = 1 << 14  # bytes that masks must split in one call; otherwise the machine splits some hundred thousand


def by_masks(rule: Rule, machine: Callable[[], Machine]) -> MaskRoute | None:
    """Return the route of a rule by masks; None if there is none. `machine` makes the rule's machine."""
    if rule == NAMED["gpt2"]:
        return MaskRoute(rule, machine)
    if rule in CASED:
        return CasedRoute(rule, machine)
    return GapsRoute(rule, machine) if rule in SETTINGS else None


class MaskRoute(Scanner):
    """Splits by GPT-2's rule, with boundary algebra on bit masks."""

    name = "compiled masks"

    def __init__(self, rule: Rule, machine: Callable[[], Machine]) -> None:
        self._rule, self._machine = rule, machine
        self._classes = gpt2_classes()

    @cached_property
    def _split(self) -> Kernel:
        from subwords.kernels.named import split_gpt2

        return split_gpt2

    @cached_property
    def _split_many(self) -> Kernel:
        from subwords.kernels.named import split_gpt2_many

        return split_gpt2_many

    def _one(self, text: Bytes, start: int, stop: int, buffers: SplitBuffers) -> int:
        if much_is_odd(sampled(text, start, stop), buffers):
            return self._by_machine._one(text, start, stop, buffers)
        return self._split.by_size(stop - start)(text, start, stop, self._classes, buffers.tail, buffers.ends)

    def fast_path(self, buffers: SplitBuffers, *, cuts: bool = False) -> SplitCall | None:
        """Return the call of the masks, or that of the machine for cuts."""
        if cuts:
            return self._by_machine.fast_path(buffers, cuts=True)
        return SplitCall(self._split_many, (self._classes, buffers.tail))

    def _many(self, text: Bytes, bounds: Offsets, first: int, buffers: SplitBuffers) -> int:
        if much_is_odd(sampled(text, int(bounds[first]), int(bounds[-1])), buffers):
            return self._by_machine._many(text, bounds, first, buffers)
        return self._split_many(text, bounds, first, self._classes, buffers.tail, buffers.ends, buffers.text_ends)

    def cut(self, text: Bytes, at: int) -> int:
        """Cut before ASCII whitespace that follows another ASCII character: a run of whitespace starts a word."""
        for width in (256, 65536):
            window = text[max(0, at - width) : at]
            space = (window == 32) | ((window >= 9) & (window <= 13))
            begins = space[1:] & self._begins(window[1:])
            cuts = np.flatnonzero(begins & ~space[:-1] & (window[:-1] < 128))
            if len(cuts):
                return int(at - len(window) + cuts[-1] + 1)
        return self._by_machine.cut(text, at)

    @cached_property
    def _by_machine(self) -> MachineRoute:
        return MachineRoute.kept(digest_of(self._rule), self._machine)

    def _begins(self, data: Bytes) -> NDArray[np.bool_]:
        """Return which bytes of whitespace always start a word if they start a run."""
        return np.ones(len(data), np.bool_)


class GapsRoute(MaskRoute):
    """Splits by the rule of GPT-4, Llama 3 or Qwen."""

    def __init__(self, rule: Rule, machine: Callable[[], Machine]) -> None:
        super().__init__(rule, machine)
        self._classes = np.concatenate([self._classes, np.array(SETTINGS[rule], np.uint8)])

    @cached_property
    def _split(self) -> Kernel:
        from subwords.kernels.named import split_cl100k

        return split_cl100k

    @cached_property
    def _split_many(self) -> Kernel:
        from subwords.kernels.named import split_cl100k_many

        return split_cl100k_many

    def _begins(self, data: Bytes) -> NDArray[np.bool_]:
        # Newlines may belong to the word before them.
        begins: NDArray[np.bool_] = (data != ord("\n")) & (data != ord("\r"))
        return begins


class CasedRoute(MaskRoute):
    """Splits by the rule of GPT-4o or Tekken: large texts by masks, if they are ASCII mostly, others by the machine."""

    def __init__(self, rule: Rule, machine: Callable[[], Machine]) -> None:
        self._rule, self._machine = rule, machine

    @cached_property
    def _table(self) -> Bytes:
        return np.concatenate([cased_classes(), np.array(CASED[self._rule], np.uint8)])

    @cached_property
    def _split(self) -> Kernel:
        from subwords.kernels.named import split_o200k

        return split_o200k

    def _one(self, text: Bytes, start: int, stop: int, buffers: SplitBuffers) -> int:
        sample = sampled(text, start, stop)
        if len(sample) and np.count_nonzero(sample > 127) <= len(sample) // 8:  # a quarter: Vietnamese 10 % slower
            count = self._split.by_size(stop - start)(text, start, stop, self._table, buffers.tail, buffers.ends)
            done = int(buffers.ends[count - 1]) if count else 0
            if done >= WORTH or start + done == stop:
                return count
        return self._by_machine._one(text, start, stop, buffers)

    def fast_path(self, buffers: SplitBuffers, *, cuts: bool = False) -> SplitCall | None:
        """Return the call of the machine."""
        return self._by_machine.fast_path(buffers, cuts=cuts)

    def _many(self, text: Bytes, bounds: Offsets, first: int, buffers: SplitBuffers) -> int:
        if bounds[first + 1] - bounds[first] >= len(buffers.ends):  # the machine says so too, but must be loaded
            return first
        return self._by_machine._many(text, bounds, first, buffers)

    def cut(self, text: Bytes, at: int) -> int:
        """Cut where the machine proves it safe."""
        return self._by_machine.cut(text, at)
