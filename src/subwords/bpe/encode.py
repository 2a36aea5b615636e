"""BPE encoding: a model as the kernel reads it."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subwords.bpe.model import BPE, MISSING
from subwords.encoder import KEYS, SHORT, Segmenter
from subwords.errors import InputError
from subwords.split.pieces import Pieces

__all__ = ["BPESegmenter"]

_Arrays = tuple[NDArray[Any], ...]
NONE = np.iinfo(np.uint64).max


class BPESegmenter(Segmenter):
    """Segments words by merges."""

    def __init__(self, model: BPE) -> None:
        self.model = model
        self._settings = np.array(
            [
                MISSING if model.unk_id is None else model.unk_id,
                model.fuse_unk,
                model.unknown == "drop",
                secrets.randbits(62),
                model.byte_level and model.alphabet.min() >= 0,
            ],
            np.int64,
        )

    @property
    def kernel(self) -> Callable[..., int]:
        """The kernel."""
        from subwords.kernels.bpe_encode import encode_words

        return encode_words.ready()

    @cached_property
    def arrays(self) -> _Arrays:
        """The model as the kernel reads it: alphabet, pairs, results, settings, firsts, spans."""
        from subwords.kernels.merge import fill_pairs

        model = self.model
        # A merge that spells a special token is left out: no text yields one by itself (A3).
        kept = ~np.isin(model.merges[:, 2], list(model.special_ids))
        merges, ranks = model.merges[kept], self._ranks[kept]
        pairs = np.full(2 << max(4, len(merges).bit_length()), NONE, np.uint64)
        left, right = np.ascontiguousarray(merges[:, 0]), np.ascontiguousarray(merges[:, 1])
        fill_pairs(left, right, ranks, int(self._settings[3]), pairs)
        results = np.zeros(len(self._ranks) + 1, np.int32)
        results[ranks] = merges[:, 2]
        spans = np.diff(model.vocab.offsets).astype(np.int32)
        firsts = np.full(1 << 16 if model.byte_level else 1, 2**32 - 1, np.uint32)
        if model.byte_level:
            of_bytes = (spans[left] == 1) & (spans[right] == 1)
            data, offsets = model.vocab.data.astype(np.int64), model.vocab.offsets
            firsts[data[offsets[left[of_bytes]]] << 8 | data[offsets[right[of_bytes]]]] = ranks[of_bytes]
        return model.alphabet, pairs, results, self._settings, firsts, spans

    @cached_property
    def _ranks(self) -> NDArray[np.int64]:
        """The rank of every merge, below their number: equal ranks have one result, so one number will do for them."""
        ranks = self.model.ranks
        return np.arange(len(self.model.merges)) if ranks is None else np.searchsorted(ranks, ranks)

    @cached_property
    def whole_words(self) -> _Arrays | None:  # type: ignore[override]
        """Joined bytes, ends and ids of the tokens that a word may be."""
        if not self.model.whole_words:
            return None
        offsets = self.model.vocab.offsets
        kept = np.diff(offsets) > 0
        kept[list(self.model.special_ids)] = False
        ids = np.flatnonzero(kept)
        lengths = np.diff(offsets)
        data = self.model.vocab.data[: offsets[-1]][np.repeat(kept, lengths)]
        return data, np.cumsum(lengths[ids]), ids.astype(np.int32)

    def scratch(self, length: int, before: _Arrays) -> _Arrays:
        """Return wide, narrow and chains, which only words longer than SHORT need."""
        chains = before[2] if before else np.zeros(0, np.int32)
        if length > SHORT and not len(chains):
            chains = np.full(4 * (len(self._ranks) + 1), -1, np.int32)
        return np.empty(KEYS + length, np.uint64), np.empty(12 * length, np.int32), chains

    def token_ends(self, ids: NDArray[np.uint32], offsets: NDArray[np.int64], pieces: Pieces) -> NDArray[np.int64]:
        """Return where the bytes of each id end; what is unknown and has no id lies between others."""
        lengths = np.diff(self.model.vocab.offsets)[ids]
        ends = np.repeat(pieces.words[:-1], np.diff(offsets)) + _running(lengths, offsets)
        sizes = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        odd = sizes[offsets[1:]] - sizes[offsets[:-1]] != np.diff(pieces.words)
        odd[np.searchsorted(offsets, np.flatnonzero(ids == self.model.unk_id), side="right") - 1] = True
        for word in np.flatnonzero(odd).tolist():
            a, b = offsets[word : word + 2]
            begin, stop = pieces.words[word : word + 2].tolist()
            ends[a:b] = begin + np.array(self._ends(ids[a:b].tolist(), pieces.text[begin:stop].tobytes()), np.int64)
        return ends

    def _ends(self, ids: list[int], word: bytes) -> list[int]:
        """The same for one word with unknown characters."""
        chars = [char.encode("utf-8", "surrogateescape") for char in word.decode("utf-8", "surrogateescape")]
        known = [len(char) > 0 and self._knows(char) for char in chars]
        at, k, ends = 0, 0, []
        for index in ids:
            unknown = index == self.model.unk_id
            while k < len(chars) and not known[k] and not unknown:  # dropped
                at, k = at + len(chars[k]), k + 1
            stop = at + (1 if unknown else len(self.model.vocab[index]))
            while k < len(chars) and at < stop:
                at, k = at + len(chars[k]), k + 1
            while unknown and self.model.fuse_unk and k < len(chars) and not known[k]:
                at, k = at + len(chars[k]), k + 1
            ends.append(at)
        return ends

    def _knows(self, char: bytes) -> bool:
        if self.model.byte_level:
            return bool((self.model.alphabet[list(char)] >= 0).all())
        text = char.decode("utf-8", "replace")
        return text != "\ufffd" and bool(self.model.alphabet[ord(text)] >= 0)

    def unknown(self, text: NDArray[np.uint8], at: int) -> InputError:
        """Return the error for a symbol that is none of the alphabet."""
        symbol = text[at : at + 4].tobytes()
        shown = f"byte 0x{symbol[0]:02X}" if self.model.byte_level else repr(symbol.decode("utf-8", "replace")[0])
        return InputError(
            f"expected only symbols of the alphabet; {shown} at byte {at} is none, and there is no unk token"
        )


def _running(lengths: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sums that begin anew with every word."""
    total = np.cumsum(lengths)
    before = np.concatenate([np.zeros(1, np.int64), total])[offsets[:-1]]
    running: NDArray[np.int64] = total - np.repeat(before, np.diff(offsets))
    return running
