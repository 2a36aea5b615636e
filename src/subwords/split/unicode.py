"""Character classes of one pinned Unicode version, as arrays over all code points."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

UNICODE_VERSION = "16.0"

# Ordered by how many code points carry them, so that the tool that writes the table asks few questions.
CATEGORIES = (
    *("Cn", "Co", "Lo", "So", "Cs", "Mn", "Ll", "Lu", "Sm", "No", "Nd", "Po", "Mc", "Lm", "Nl", "Cf"),
    *("Ps", "Pe", "Cc", "Sc", "Lt", "Sk", "Pd", "Zs", "Me", "Pi", "Pf", "Pc", "Zl", "Zp"),
)

# The property White_Space, which \s means in every engine that tokenizers use.
WHITE_SPACE = (
    *(*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680),
    *(*range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000),
)

OTHER, LETTER, NUMBER, SPACE = range(4)


@cache
def categories() -> NDArray[np.uint8]:
    """The index in `CATEGORIES` of every code point, shape (0x110000,)."""
    runs = np.load(Path(__file__).with_name(f"unicode_{UNICODE_VERSION}.npy"))
    lengths = np.diff(runs[:, 0], append=0x110000)
    return np.repeat(runs[:, 1].astype(np.uint8), lengths)


@cache
def gpt2_classes() -> NDArray[np.uint8]:
    r"""OTHER, LETTER (\p{L}), NUMBER (\p{N}) or SPACE (\s) for every code point, shape (0x110000,)."""
    of_category = np.array([{"L": LETTER, "N": NUMBER}.get(name[0], OTHER) for name in CATEGORIES], np.uint8)
    classes = of_category[categories()]
    classes[list(WHITE_SPACE)] = SPACE
    classes.flags.writeable = False
    return classes
