"""The map between the 256 bytes and the printable characters of byte-level vocabularies."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np

from subwords.errors import InputError

__all__ = ["BYTES", "CHARACTERS", "tokens_from_text", "tokens_to_text"]

_PRINTABLE = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
_HIDDEN = sorted(set(range(256)) - set(_PRINTABLE))

# The bytes in the code-point order of their characters: printable bytes map to themselves, the others to 256 and up.
BYTES = bytes(_PRINTABLE + _HIDDEN)

# The characters that represent bytes.
CHARACTERS = frozenset(map(chr, [*_PRINTABLE, *range(256, 256 + len(_HIDDEN))]))

_CODES = np.zeros(256, "<u4")
_CODES[list(BYTES)] = [*_PRINTABLE, *range(256, 256 + len(_HIDDEN))]
_OUTSIDE = 256
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
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), "<u4")
    # The last entry of the table is for all larger code points.
    data = _BYTES[np.minimum(codes, len(_BYTES) - 1)]
    if (wrong := np.flatnonzero(data == _OUTSIDE)).size:
        raise _outside(texts, int(wrong[0]))
    joined = data.astype(np.uint8).tobytes()
    return [joined[a:b] for a, b in pairwise(accumulate(map(len, texts), initial=0))]


def _outside(texts: Sequence[str], at: int) -> InputError:
    character = "".join(texts)[at]
    token = next(text for text, end in zip(texts, accumulate(map(len, texts)), strict=True) if at < end)
    return InputError(
        f"invalid byte-level token {token!r}: {character!r} (U+{ord(character):04X}) is not one of the 256 characters "
        "that represent bytes"
    )
