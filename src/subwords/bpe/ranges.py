"""The byte ranges of the tokens of a word that contains unknown characters."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from subwords.bpe.model import BPE
from subwords.bpe.plain import Pairs, first_symbols, merge, width_of
from subwords.encode.encoder import Encoder

__all__ = ["Unfused", "symbol_ranges"]


def symbol_ranges(model: BPE, ids: list[int], word: NDArray[np.uint8], pairs: Pairs | None) -> list[tuple[int, int]]:
    """Return the byte range of each id of a word; for models without parts and unused tokens.

    The length of a token in the vocabulary determines how many symbols it covers. That is not so in a model with a
    prefix or suffix: there the word is merged again, with `pairs`.

    Source: HF tokenizers 0.23, BPE::merge_word.

    >>> import numpy as np
    >>> from subwords.bpe.model import BPE
    >>> from subwords.components.vocab import Vocab
    >>> model = BPE(Vocab([b"<unk>", b"a"]), np.zeros((0, 3), np.int64), byte_level=False, unk_id=0, fuse_unk=True)
    >>> symbol_ranges(model, [0, 1], np.frombuffer(b"xxa", np.uint8), None)
    [(0, 2), (2, 3)]
    """
    vocab, data = model.vocab, word.tobytes()
    if model.whole_words and len(ids) == 1 and vocab[ids[0]] == data:
        return [(0, len(data))]
    symbols = list(first_symbols(model, data))
    if pairs is not None:
        ends = [0, *accumulate(symbol.size for symbol in merge(pairs, symbols))]
    else:
        spelled = list(accumulate(len(vocab[symbol.id]) for symbol in symbols))
        taken = [0, *accumulate(symbol.size for symbol in symbols)]
        ends = [0, *(taken[bisect_left(spelled, end) + 1] for end in accumulate(len(vocab[index]) for index in ids))]
    # The byte of the word for each position in the file's characters.
    at = [place for place, byte in enumerate(data) for _ in range(width_of(byte) if model.byte_level else 1)]
    return [(at[begin], at[end - 1] + 1) for begin, end in pairwise(ends)]


class Unfused:
    """Byte ranges for a model with parts or unused tokens, which are split after merging.

    The word is segmented again with one unk per unknown character, so that each id covers a known number of bytes.
    encoder: for the model with fuse_unk=False. lengths: that number of bytes by id.
    """

    def __init__(self, model: BPE, encoder: Encoder, lengths: NDArray[np.int64]) -> None:
        self._encoder = encoder
        self._fuses = model.fuse_unk
        self._unk_id = model.unk_id
        self._lengths = lengths

    def ranges(self, word: NDArray[np.uint8]) -> list[tuple[int, int]]:
        """Return the byte range of each id of a word."""
        ids = self._encoder.encode_words(word, np.array([0, len(word)], np.int64)).ids.tolist()
        data, at, ends = word.tobytes(), 0, [0]
        for index, following in zip(ids, [*ids[1:], None], strict=True):
            unknown = index == self._unk_id
            at += _character_size(data, at) if unknown else int(self._lengths[index])
            if not (unknown and self._fuses and following == index):
                ends.append(at)
        return list(pairwise(ends))


def _character_size(word: bytes, at: int) -> int:
    """Return the length of the character at a position; 1 for an invalid byte."""
    return len(word[at : at + 4].decode("utf-8", "surrogateescape")[:1].encode("utf-8", "surrogateescape")) or 1
