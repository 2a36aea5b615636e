"""Vocab: the bytes of every token, as two flat arrays."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.support.errors import InputError
from subwords.support.names import random_bits
from subwords.support.value import Value, read_only

# The limit on unused ids below the largest id: an id takes memory, used or not.
_SPARSEST = 16
_FREE_HOLES = 1 << 20


class _Known(dict[int, bytes]):
    def __init__(self, vocab: Vocab) -> None:
        self._vocab = vocab

    def __missing__(self, index: int) -> bytes:
        self[index] = token = self._vocab[index]
        return token


class Vocab(Value, Sequence[bytes]):
    """Token bytes by id, immutable.

    data[offsets[i]:offsets[i + 1]] are the bytes of id i (uint8, padded by 64 bytes; int64); an id without a token has
    0 bytes.

    >>> from subwords.spec.vocab import Vocab
    >>> vocab = Vocab([b"a", b"b", b"ab"])
    >>> vocab[2], vocab.ids[b"ab"]
    (b'ab', 2)
    """

    __slots__ = ("data", "offsets")

    def __init__(self, tokens: Sequence[bytes] | bytes, offsets: NDArray[np.int64] | None = None) -> None:
        """Take the bytes of every token, or all bytes concatenated and the offsets of the tokens."""
        if offsets is None:
            lengths = np.fromiter(map(len, tokens), np.int64, len(tokens))  # type: ignore[arg-type]
            offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
            tokens = b"".join(tokens)  # type: ignore[arg-type]
        self.offsets: NDArray[np.int64] = read_only(offsets)
        self.data: NDArray[np.uint8] = np.frombuffer(bytes(tokens) + bytes(64), np.uint8)  # type: ignore[arg-type]

    @classmethod
    def of(cls, tokens: Sequence[bytes]) -> Vocab:
        """Return the tokens as a vocabulary, which they may be already."""
        return tokens if isinstance(tokens, Vocab) else cls(tokens)

    def __reduce__(self) -> tuple[type[Vocab], tuple[bytes, NDArray[np.int64]]]:
        return Vocab, (self.data[: self.offsets[-1]].tobytes(), self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> bytes:  # type: ignore[override]
        if not 0 <= index < len(self):
            raise InputError(f"expected an id from 0 to {len(self) - 1}, not {index}")
        return self.data[self.offsets[index] : self.offsets[index + 1]].tobytes()

    def __iter__(self) -> Iterator[bytes]:
        data, bounds = self.data.tobytes(), self.offsets.tolist()
        return (data[a:b] for a, b in pairwise(bounds))

    @cached_property
    def ids(self) -> dict[bytes, int]:
        """The id of every token; the smallest one if several ids have the same bytes."""
        found = dict(zip(self, range(len(self)), strict=True))
        if len(found) < len(self):
            found = {}
            for index, token in enumerate(self):
                found.setdefault(token, index)
        return found

    def text_index(self, kept: NDArray[np.bool_]) -> tuple[layout.TextIndex, int]:
        """Return an index of some tokens for kernels, and how many of them have the bytes of an earlier one."""
        from subwords.kernels.named import index_texts

        slots, seed = np.zeros(4 << len(kept).bit_length(), np.int32), np.array([random_bits(62) | 1])
        index = layout.TextIndex(self.data, self.offsets, slots, seed)
        return index, index_texts(index, kept.view(np.uint8))

    @cached_property
    def known(self) -> dict[int, bytes]:
        """The tokens by id, each made when it is first asked for."""
        return _Known(self)

    @cached_property
    def sizes(self) -> NDArray[np.int32]:
        """How many bytes every token has."""
        return read_only(np.subtract(self.offsets[1:], self.offsets[:-1], dtype=np.int32, casting="same_kind"))

    @cached_property
    def spans(self) -> NDArray[np.int64]:
        """The bytes of every token, as `kernels/text/utf8.py` reads them."""
        return self.offsets[:-1] << layout.SPAN_START | self.sizes

    def after(self, count: int) -> Vocab:
        """Return the tokens from id `count` on, as another vocabulary."""
        start = self.offsets[count]
        return Vocab(self.data[start : self.offsets[-1]].tobytes(), self.offsets[count:] - start)

    def with_more(self, tokens: Sequence[bytes]) -> Vocab:
        """Return a vocabulary with more tokens, which get the next ids."""
        more = Vocab.of(tokens)
        data = self.data[: self.offsets[-1]].tobytes() + more.data[: more.offsets[-1]].tobytes()
        return Vocab(data, np.concatenate([self.offsets, more.offsets[1:] + self.offsets[-1]]))

    def with_other(self, tokens: Mapping[int, bytes]) -> Vocab:
        """Return a vocabulary with other bytes for some ids."""
        data, bounds, lengths = self.data.tobytes(), self.offsets, np.diff(self.offsets)
        parts, end = [], 0
        for i in sorted(tokens):
            parts += [data[end : bounds[i]], tokens[i]]
            end, lengths[i] = int(bounds[i + 1]), len(tokens[i])
        parts.append(data[end : bounds[-1]])
        return Vocab(b"".join(parts), np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]))

    def joined(self, kept: NDArray[np.bool_]) -> bytes:
        """Return the bytes of some tokens, with 0xFF after each, which is in no character."""
        lengths = self.sizes
        own = self.data[: self.offsets[-1]][np.repeat(kept, lengths)]
        found = np.full(len(own) + np.count_nonzero(kept), 0xFF, np.uint8)
        found[np.arange(len(own)) + np.repeat(np.arange(np.count_nonzero(kept)), lengths[kept])] = own
        return found.tobytes()

    def with_spaces(self) -> Vocab:
        """Return a vocabulary with a space for each U+2581."""
        size, (first, second, third) = int(self.offsets[-1]), "▁".encode()
        at, after, last = (self.data[k : size + k] for k in range(3))
        places = np.flatnonzero((at == first) & (after == second) & (last == third))
        ends = self.offsets[np.searchsorted(self.offsets, places, "right")]
        places = places[places + 3 <= ends]  # not the first bytes of one token and the last ones of another
        data, kept = at.copy(), np.ones(size, np.bool_)
        data[places], kept[places + 1], kept[places + 2] = ord(" "), False, False
        return Vocab(data[kept].tobytes(), self.offsets - 2 * np.searchsorted(places, self.offsets))

    def find(self, tokens: Collection[bytes]) -> dict[bytes, int]:
        """Return the ids of those of some tokens that exist, as in `ids`, without making a dict of all tokens."""
        if "ids" in self.__dict__:
            return {token: self.ids[token] for token in tokens if token in self.ids}
        found: dict[bytes, int] = {}
        wanted = {token: int.from_bytes(token[:8].ljust(8, b"\0"), "little") for token in tokens}
        if not len(self):
            return found
        for length in {*map(len, wanted)}:
            ids = np.flatnonzero(self.sizes == length)
            heads = self.heads(ids, length)
            keys = np.sort(np.array([key for token, key in wanted.items() if len(token) == length], np.uint64))
            nearest = keys[np.searchsorted(keys, heads).clip(max=len(keys) - 1)]  # np.isin imports numpy.ma
            for index in ids[nearest == heads].tolist():
                if (token := self[index]) in wanted:
                    found.setdefault(token, index)
        return found

    def heads(self, ids: NDArray[np.int64], length: int) -> NDArray[np.uint64]:
        """Return the first 8 bytes of some tokens of one length, as little-endian integers; missing ones are 0."""
        found = np.zeros(len(ids), np.uint64)
        for k in range(min(length, 8)):
            found |= self.data[self.offsets[ids] + k].astype(np.uint64) << np.uint64(8 * k)
        return found


# ---------------------------------------------------------------------------------------------------------------------
# The map between the 256 bytes and the printable characters of byte-level vocabularies.

_PRINTABLE = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
_HIDDEN = sorted(set(range(256)) - set(_PRINTABLE))

# The bytes in the code-point order of their characters: printable bytes map to themselves, the others to 256 and up.
BYTES = bytes(_PRINTABLE + _HIDDEN)

# The characters that represent bytes.
CHARACTERS = frozenset(map(chr, [*_PRINTABLE, *range(256, 256 + len(_HIDDEN))]))

_CODES = np.zeros(256, "<u4")
_CODES[list(BYTES)] = [*_PRINTABLE, *range(256, 256 + len(_HIDDEN))]
_OUTSIDE = 256
# The byte of each character; _OUTSIDE for one that represents none, and for all from the last entry on.
_BYTES = np.full(int(_CODES.max()) + 2, _OUTSIDE, np.uint16)
_BYTES[_CODES] = np.arange(256)


def tokens_to_text(tokens: Sequence[bytes]) -> list[str]:
    """Return the characters that represent every token's bytes.

    Source: GPT-2's vocabulary files.

    >>> tokens_to_text([b" low", bytes([0xC3, 0xA9])])
    ['Ġlow', 'Ã©']
    """
    text = _CODES[np.frombuffer(b"".join(tokens), np.uint8)].tobytes().decode("utf-32-le")
    return [text[a:b] for a, b in pairwise(accumulate(map(len, tokens), initial=0))]


def tokens_from_text(texts: Sequence[str]) -> list[bytes]:
    """Return the bytes that every token's characters represent; InputError for a character outside the map.

    >>> tokens_from_text(["Ġlow", "Ã©"])
    [b' low', b'\\xc3\\xa9']
    """
    return list(vocab_from_text(Vocab([text.encode("utf-8", "surrogatepass") for text in texts])))


def vocab_from_text(texts: Vocab) -> Vocab:
    """Return the bytes that the characters of tokens in UTF-8 represent; see `tokens_from_text`."""
    text = texts.data[: texts.offsets[-1]]
    is_first = (text & 0xC0) != 0x80
    first, second = text[is_first], texts.data[1 : len(text) + 1][is_first]
    # Of two bytes for all characters of the map that are not ASCII; those of more bytes are beyond it.
    codes = np.where(first < 0x80, first, (first.astype(np.uint16) & 0x3F) << 6 | (second & 0x3F))
    data = _BYTES[np.minimum(codes, len(_BYTES) - 1)]
    if len(wrong := np.flatnonzero(data == _OUTSIDE)):
        raise _outside(texts, int(np.flatnonzero(is_first)[wrong[0]]))
    return Vocab(
        data.astype(np.uint8).tobytes(), np.concatenate([np.zeros(1, np.int64), np.cumsum(is_first)])[texts.offsets]
    )


def _outside(texts: Vocab, at: int) -> InputError:
    index = int(np.searchsorted(texts.offsets, at, "right")) - 1
    token = texts[index].decode("utf-8", "surrogatepass")
    before = texts[index][: at - int(texts.offsets[index])]
    character = token[len(before.decode("utf-8", "surrogatepass"))]
    return InputError(
        f"invalid byte-level token {token!r}: {character!r} (U+{ord(character):04X}) is not one of the 256 characters "
        "that represent bytes"
    )


def has_gaps(largest: int, count: int) -> bool:
    """Whether ids up to `largest` are too many for `count` tokens."""
    return largest > _SPARSEST * count + _FREE_HOLES
