"""Write the pinned table of general categories: run lengths over all code points, read off tiktoken's regex engine.

Python's own `unicodedata` and the `regex` package follow other versions; tiktoken and HF tokenizers are both at 16.0,
and ids equal to theirs on every code point need the table they use.

Usage: python tools/make_unicode.py 16.0
"""

import sys
from pathlib import Path

import numpy as np
import tiktoken

from subwords.split.unicode import CATEGORIES

BYTES = {bytes([byte]): byte for byte in range(256)}


def main(version: str) -> None:
    categories = np.full(0x110000, CATEGORIES.index("Cs"), np.int32)
    scalars = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    for index, name in enumerate(CATEGORIES):
        # A character outside the class is outside every piece, so it yields no ids.
        probe = tiktoken.Encoding(name, pat_str=rf"\p{{{name}}}", mergeable_ranks=BYTES, special_tokens={})
        members = [c for c in scalars if probe.encode_ordinary(chr(c))]
        categories[members] = index
    starts = np.flatnonzero(np.diff(categories, prepend=-1)).astype(np.int32)
    path = Path(__file__).parents[1] / "src/subwords/split" / f"unicode_{version}.npy"
    np.save(path, np.stack([starts, categories[starts]], axis=1))
    print(f"{path.name}: {len(starts)} runs")


if __name__ == "__main__":
    main(sys.argv[1])
