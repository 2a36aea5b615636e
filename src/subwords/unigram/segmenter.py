"""Unigram encoding: the model in the layout of its kernel."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subwords.components.space_rule import SPACE
from subwords.components.splitter import Rule, Split
from subwords.components.vocab import Vocab
from subwords.encode.segmenter import NO_KINDS, Segmenter
from subwords.encode.trie import units_of
from subwords.kernels import layout
from subwords.kernels.layout import IdSizes, UnigramModel, UnigramScratch, UnigramWorkspace, WordTable
from subwords.split.word_spans import WordSpans
from subwords.support.light import is_among
from subwords.unigram.model import BYTE_PIECES, Unigram

if TYPE_CHECKING:
    from subwords.kernels.jit import Kernel

__all__ = ["UnigramSegmenter"]

_SPACED: dict[str, Rule] = {run: (Split(f"▁{run}[^▁]*|[^▁]+"),) for run in ("", "+")}  # as `space_rule` makes them


class UnigramSegmenter(Segmenter):
    """Segments words by the greatest sum of scores (U5)."""

    shows_unknown = True

    def __init__(self, model: Unigram) -> None:
        self.model = model
        self.unk_id = model.unk_id

    @property
    def apart(self) -> bool:  # type: ignore[override]
        """Whether no sum of scores runs across words, or rounding does not matter."""
        return self.model.exact or not self.model.running

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        from subwords.kernels.named import encode_unigram

        return encode_unigram

    @cached_property
    def arrays(self) -> UnigramModel:
        """The model in the layout of the kernel."""
        model = self.model
        settings = np.zeros(layout.UNIGRAM.width, np.int64)
        settings[layout.MODEL.unk] = layout.MISSING if model.unk_id is None else model.unk_id
        settings[layout.UNIGRAM.running] = model.running and not model.exact
        scores = np.append(model.path_scores, model.unk_score)
        ids = np.flatnonzero(np.diff(model.vocab.offsets) > 0)
        ids = ids[~is_among(ids, model.special_ids)]
        units, links, records = units_of(model.vocab, ids)
        return UnigramModel(units, links, records, scores, model.byte_ids, settings)

    def finer(self, rule: Rule) -> Rule:
        """Also cut around characters that no piece contains: every path has a boundary there.

        Only characters that are pieces themselves, because adjacent unknown ones become one unk and must stay together.

        Only if sums run across words or are exact; otherwise restarting the sum could round differently.
        """
        run = next((run for run, spaced in _SPACED.items() if rule == spaced), None)
        if run is None or not (self.model.running or self.model.exact):
            return rule
        special = self.model.special_ids
        if self.model.unk_id is not None and self.model.unk_id not in special:  # its text joins with unknown neighbours
            return rule
        vocab, sizes = self.model.vocab, np.diff(self.model.vocab.offsets)
        usable = np.ones(len(vocab), np.bool_)
        usable[list(special)] = False
        leads = vocab.data[vocab.offsets[:-1]]
        single = sizes == 1 + (leads >= 0xC0).astype(np.int64) + (leads >= 0xE0) + (leads >= 0xF0)
        known, alone = _characters(vocab, usable), _characters(vocab, usable & single)
        others = known[known != ord(SPACE)]
        if not 0 < len(others) < len(known) or not is_among(known, alone).all():
            return rule
        inside = "".join(map(ranged, runs_of(others.tolist())))
        return (Split(f"▁{run}[{inside}]*|[{inside}]+|[^▁{inside}]+"),)

    def scratch(self, length: int, before: UnigramScratch | None) -> UnigramScratch:
        """Return buffers for the keys, for each position of a word, and for the sums of a text."""
        places = length + 1
        return UnigramScratch(
            keys=np.empty(layout.KEYS, np.uint64) if before is None else before.keys,
            best=np.empty(layout.PLACE_SUMS * places),
            steps=np.empty(layout.PLACE_STEPS * places, np.int32),
            sums=np.zeros(layout.SUM.width) if before is None else before.sums,
        )

    def workspace(self, table: WordTable, scratch: UnigramScratch, counters: NDArray[np.int64]) -> UnigramWorkspace:
        """Return everything that the kernel works on."""
        return UnigramWorkspace(table, self.arrays, scratch, counters)

    def token_ends(
        self, ids: NDArray[np.uint32], offsets: NDArray[np.int64], word_spans: WordSpans
    ) -> NDArray[np.int64]:
        """Return the end of each id's bytes; the ids of a run of unknown characters all end with the run."""
        from subwords.kernels.named import path_ends

        scratch = self.scratch(int(np.diff(word_spans.words).max(initial=layout.SHORT_WORD)), None)
        ends = np.empty(len(ids), np.int64)
        count = path_ends(np.ascontiguousarray(word_spans.text), word_spans.words, self.arrays, scratch, ends)
        assert count == len(ids)
        return ends

    def token_ranges(
        self, ids: NDArray[np.uint32], offsets: NDArray[np.int64], word_spans: WordSpans
    ) -> NDArray[np.int64]:
        """Return the byte range of each id; as in HF, byte pieces of a run all get the range of the run.

        In SentencePiece's own files each byte piece gets its own range.
        """
        ranges = super().token_ranges(ids, offsets, word_spans)
        if self.model.running or not self.model.byte_fallback:
            return ranges
        # Text that spells a byte piece, <0x41>, is longer than any character.
        of_byte = np.isin(ids, self.model.byte_ids) & (ranges[1] - ranges[0] < len(BYTE_PIECES[0]))
        joined = of_byte[1:] & of_byte[:-1]
        joined[offsets[1:-1][(offsets[1:-1] > 0) & (offsets[1:-1] < len(ids))] - 1] = False
        run = np.cumsum(np.append(True, ~joined))[: len(ids)] - 1
        first = np.flatnonzero(np.append(True, ~joined)[: len(ids)])
        last = np.append(first[1:] - 1, len(ids) - 1)[: len(first)]
        return np.stack([ranges[0, first[run]], ranges[1, last[run]]])

    @cached_property
    def id_sizes(self) -> IdSizes:  # type: ignore[override]
        """The bytes that each id covers; those of unk depend on the text, those of byte pieces may share a range."""
        model, sizes = self.model, np.diff(self.model.vocab.offsets).astype(np.int32)
        sizes[model.byte_ids[model.byte_ids >= 0]] = 1 if model.running else layout.UNSURE
        marks = np.zeros(layout.SIZE_MARK.width, np.int64)
        if model.unk_id is None:
            return IdSizes(sizes, marks, NO_KINDS)
        if model.unk_id not in model.special_ids:  # its text joins with unknown neighbours
            sizes[model.unk_id] = layout.UNSURE
            return IdSizes(sizes, marks, NO_KINDS)
        sizes[model.unk_id] = layout.UNKNOWN_RUN
        return IdSizes(sizes, marks, self._kinds())

    def _kinds(self) -> NDArray[np.uint8]:
        """Return for every character how it continues a run of unknown ones.

        No best path goes to a character alone as an unknown one if it is a piece, nor on from one that begins no piece
        by anything else. If longer pieces begin with it, the sums decide.
        """
        usable = np.ones(len(self.model.vocab), np.bool_)
        usable[list(self.model.special_ids)] = False
        codes, single = _first_characters(self.model.vocab, usable)
        kinds = np.full(layout.INVALID + 1, layout.CONTINUES_RUN, np.uint8)
        kinds[codes] = layout.MAY_CONTINUE
        kinds[codes[single]] = layout.ENDS_RUN
        kinds[layout.INVALID] = layout.MAY_CONTINUE
        return kinds


def _first_characters(vocab: Vocab, chosen: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the code points with which some tokens begin, and which of them are all of their token."""
    starts, sizes = vocab.offsets[:-1], np.diff(vocab.offsets)
    starts, sizes = starts[chosen & (sizes > 0)], sizes[chosen & (sizes > 0)]
    data = np.append(vocab.data, np.zeros(4, np.uint8))
    bytes_of = [data[starts + k].astype(np.int64) for k in range(4)]
    lead, rest = bytes_of[0], [byte & 0x3F for byte in bytes_of[1:]]
    widths = 1 + (lead >= 0xC0).astype(np.int64) + (lead >= 0xE0) + (lead >= 0xF0)
    two, three = (lead & 31) << 6 | rest[0], (lead & 15) << 12 | rest[0] << 6 | rest[1]
    four = (lead & 7) << 18 | rest[0] << 12 | rest[1] << 6 | rest[2]
    return np.choose(widths - 1, [lead, two, three, four]), widths == sizes


def _characters(vocab: Vocab, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the code points in some tokens, in order."""
    data = vocab.data[: vocab.offsets[-1]]
    text = data[np.repeat(chosen, np.diff(vocab.offsets))].tobytes().decode()
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    seen = np.zeros(int(codes.max(initial=0)) + 1, np.bool_)
    seen[codes] = True
    return np.flatnonzero(seen)


def runs_of(codes: list[int]) -> list[tuple[int, int]]:
    """Return the first and last number of each run of consecutive numbers."""
    breaks = np.flatnonzero(np.diff(codes) > 1)
    firsts, lasts = [codes[0], *(codes[k + 1] for k in breaks)], [*(codes[k] for k in breaks), codes[-1]]
    return list(zip(firsts, lasts, strict=True))


def ranged(run: tuple[int, int]) -> str:
    """Return a run of code points as a range of a character class."""
    first, last = (f"\\x{{{code:X}}}" for code in run)
    return first if run[0] == run[1] else f"{first}-{last}"
