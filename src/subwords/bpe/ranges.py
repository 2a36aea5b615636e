"""The byte ranges of the tokens of a word that contains unknown characters."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from subwords.bpe.model import BPE
from subwords.encode.encoder import Encoder

__all__ = ["Unfused", "symbol_ranges"]


def symbol_ranges(model: BPE, ids: list[int], word: NDArray[np.uint8]) -> list[tuple[int, int]]:
    """Return the byte range of each id of a word; for models without parts and unused tokens.

    The length of a token in the vocabulary determines how many symbols it covers.

    Source: HF tokenizers 0.23, BPE::merge_word.

    >>> import numpy as np
    >>> from subwords.bpe.model import BPE
    >>> from subwords.components.vocab import Vocab
    >>> model = BPE(Vocab([b"<unk>", b"a"]), np.zeros((0, 3), np.int64), byte_level=False, unk_id=0, fuse_unk=True)
    >>> symbol_ranges(model, [0, 1], np.frombuffer(b"xxa", np.uint8))
    [(0, 2), (2, 3)]
    """
    vocab, data = model.vocab, word.tobytes()
    if len(ids) == 1 and vocab[ids[0]] == data:
        return [(0, len(data))]
    symbols = list(_symbols(model, data))
    spelled = list(accumulate(size for size, _ in symbols))
    taken = [0, *accumulate(size for _, size in symbols)]
    ends = [0, *(taken[bisect_left(spelled, end) + 1] for end in accumulate(len(vocab[index]) for index in ids))]
    # The byte of the word for each position in the file's characters.
    at = [place for place, byte in enumerate(data) for _ in range(_width(byte) if model.byte_level else 1)]
    return [(at[begin], at[end - 1] + 1) for begin, end in pairwise(ends)]


def _width(byte: int) -> int:
    """Return the UTF-8 length of the character that represents a byte in a byte-level file."""
    return 1 if 0x21 <= byte <= 0x7E else 2


def _symbols(model: BPE, word: bytes) -> Iterator[tuple[int, int]]:
    """Yield for each symbol of a word the length of its token, and the length in the file's characters.

    As in HF, an unknown symbol comes after the byte tokens of the characters that follow it.
    """
    unk = 0 if model.unk_id is None else len(model.vocab[model.unk_id])
    waiting = 0
    for character in _characters(model, word):
        known = _is_known(model, character)
        size = _width(character[0]) if model.byte_level else len(character)
        if not known and model.byte_fallback and all(model.byte_ids[byte] >= 0 for byte in character):
            yield from [(len(model.vocab[int(model.byte_ids[byte])]), 1) for byte in character]
        elif known or not model.fuse_unk:
            if waiting:
                yield unk, waiting
            waiting = 0 if known else size
            if known:
                yield len(character), size
        else:
            waiting += size
        if model.unk_id is None:
            waiting = 0
    if waiting:
        yield unk, waiting


def _characters(model: BPE, word: bytes) -> list[bytes]:
    if model.byte_level:
        return [bytes([byte]) for byte in word]
    return [char.encode("utf-8", "surrogateescape") for char in word.decode("utf-8", "surrogateescape")]


def _is_known(model: BPE, character: bytes) -> bool:
    if model.byte_level:
        return bool(model.alphabet[character[0]] >= 0)
    text = character.decode("utf-8", "surrogateescape")
    return not "\udc80" <= text <= "\udcff" and bool(model.alphabet[ord(text)] >= 0)


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
