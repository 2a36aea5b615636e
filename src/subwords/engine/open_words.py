"""Words that text may still continue: which of their ids stay, and where long ones are encoded on."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subwords.kernels.layout import INVALID, REACH
from subwords.split.splitter import SplitterEngine

if TYPE_CHECKING:
    from subwords.engine.encoder import Encoder
    from subwords.engine.engine import Engine
    from subwords.spec.vocab import Vocab
    from subwords.split.transducer import Machine

LEAD = 16  # characters after which the transducer is in the same state as after the whole text, or is not
TRIED = 8  # borders of tokens


class OpenWords:
    """The words at the end of a text, for byte-level BPE whose splitter is one transducer (ALGORITHMS.md, G3)."""

    def __init__(self, encoder: Encoder, vocab: Vocab, machine: Machine) -> None:
        self._encoder, self._vocab, self._machine = encoder, vocab, machine
        self._longest = int(np.diff(vocab.offsets).max())
        self._future, self._uses = late_borders(machine)

    @classmethod
    def of(cls, engine: Engine) -> OpenWords | None:
        """Return it for an engine; None for others."""
        splitter = engine.encoder.splitter
        if engine.normalizer or not engine.segmenter.goes_on:
            return None
        machine = splitter.machine if isinstance(splitter, SplitterEngine) else None
        return None if machine is None else cls(engine.encoder, engine.model.vocab, machine)

    def final(self, lead: str, text: str) -> int:
        """Return a number of ids at the beginning of a text that stay whatever follows it.

        lead: what `restart` gave for the place where the text begins.
        """
        first, text = len(lead), lead + text
        borders, state, saved = self._read(text)
        size = len(text)
        places = {size, *(size - back for back in range(REACH + 1) if self._future[state] >> back & 1)}
        if self._uses[state] and saved is not None:
            places.add(saved)
        known = sorted({first, *(border for border in borders if first < border <= min(places))})
        begin = known[-1]
        done = self._encode(text[a:b].encode() for a, b in pairwise(known))
        word = text[begin:].encode()
        nodes = {len(text[begin:place].encode()) for place in places if place > begin}
        nodes |= {at for at in range(max(0, len(word) - self._longest), len(word)) if self._begins_token(word[at:])}
        if not word or 0 in nodes:
            return sum(map(len, done))
        paths = self._encode(word[:node] for node in sorted(nodes))
        same = (len({*column}) == 1 for column in zip(*paths, strict=False))
        return sum(map(len, done)) + next((k for k, is_same in enumerate(same) if not is_same), min(map(len, paths)))

    def restart(self, lead: str, text: str) -> tuple[int, str] | None:
        """Return a place of a long text where its last word is encoded on whatever follows, and the lead to there.

        After the lead, the splitter puts the same borders behind the place. None if there is no such place.
        """
        tail = 3 * self._longest
        if len(text) < 2 * tail:
            return None
        first, text = len(lead), lead + text
        borders, state, _ = self._read(text)
        begin = max([first, *(border for border in borders if border < len(text))])
        data = text[begin:].encode()
        if self._uses[state] or self._future[state] >> 1 or len(data) < 2 * tail:
            return None
        (ids,) = self._encode([data])
        ends = np.cumsum([len(self._vocab[index]) for index in ids])
        for place in np.flatnonzero(ends <= len(data) - self._longest)[::-1][:TRIED].tolist():
            end = int(ends[place])
            if data[end] >> 6 != 2 and self._stays(ids[place], data, end):
                at = begin + len(data[:end].decode())
                near = text[max(0, at - LEAD) : at]
                if self._read(near)[1] == self._read(text[:at])[1]:
                    return at - first, near
        return None

    def _stays(self, last: int, data: bytes, end: int) -> bool:
        """Whether a border at `end`, after the token `last`, stays in every longer word."""
        stops = range(max(end, len(data) - self._longest) + 1, len(data) + 1)
        firsts = {ids[0] for ids in self._encode(data[end:stop] for stop in stops)}
        pairs = self._encode(self._vocab[last] + self._vocab[first] for first in firsts)
        return all(pair == [last, first] for pair, first in zip(pairs, firsts, strict=True))

    def after(self, lead: str, text: str) -> NDArray[np.uint32]:
        """Return the ids of text that goes on where `restart` said, after the text before that place."""
        skip, data = len(lead.encode()), (lead + text).encode()
        spans = self._encoder.words.word_spans(np.frombuffer(data, np.uint8))
        bounds = np.concatenate([np.array([skip]), spans.words[spans.words > skip]])
        return self._encoder.encode_words(np.frombuffer(data, np.uint8), bounds).ids

    def _encode(self, words: Iterable[bytes]) -> list[list[int]]:
        """Return the ids of words."""
        parts = [*words]
        if not parts:
            return []
        bounds = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        return self._encoder.encode_words(np.frombuffer(b"".join(parts), np.uint8), bounds).to_lists()

    def _read(self, text: str) -> tuple[list[int], int, int | None]:
        return read_borders(self._machine, text)

    @cached_property
    def _tokens(self) -> list[bytes]:
        return sorted(self._vocab)

    def _begins_token(self, data: bytes) -> bool:
        """Whether a token begins with these bytes and goes on."""
        place = bisect_right(self._tokens, data)
        return place < len(self._tokens) and self._tokens[place].startswith(data)


def late_borders(machine: Machine) -> tuple[list[int], list[bool]]:
    """Return by state the distances back at which borders may still come, as bits, and whether the saved place may."""
    future = np.bitwise_or.reduce(machine.borders, axis=1)
    while True:
        more = future | np.bitwise_or.reduce(future[machine.moves[:, :-1]] >> np.uint32(1), axis=1)
        if np.array_equal(more, future):
            return future.tolist(), machine.uses_saved().tolist()
        future = more


def read_borders(machine: Machine, text: str) -> tuple[list[int], int, int | None]:
    """Return the borders that a transducer emits in a text, its state, and the saved place."""
    state, saved, borders = 0, None, list[int]()
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    for at, kind in enumerate(machine.classes[np.minimum(codes, INVALID)].tolist()):
        if machine.emits[state, kind]:
            assert saved is not None, "only a saved place is emitted"
            borders.append(saved)
        bits = int(machine.borders[state, kind])
        if bits:
            borders += [at - back for back in range(bits.bit_length() - 1, -1, -1) if bits >> back & 1]
        if machine.saves[state, kind]:
            saved = at - REACH
        state = int(machine.moves[state, kind])
    return borders, state, saved
