"""Write the pinned Unicode tables (categories, scripts, properties, case folds), read off tiktoken's regex engine.

Python's own `unicodedata` and the `regex` package follow other versions; tiktoken and HF tokenizers are both at 16.0,
and ids equal to theirs on every code point need the tables they use.

Usage: python tools/make_unicode.py 16.0
"""

import sys
from pathlib import Path

import numpy as np
import tiktoken
from numpy.typing import NDArray

from subwords.spec.unicode import BASES, CATEGORIES, PROPERTIES, SCRIPTS, first_names

BYTES = {bytes([byte]): byte for byte in range(256)}
SCALARS = "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000)


def members(pattern: str, text: str = SCALARS) -> list[int]:
    """The characters of the text that a pattern one character wide matches."""
    probe = tiktoken.Encoding(pattern, pat_str=pattern, mergeable_ranks=BYTES, special_tokens={})
    # A character outside the class is outside every piece, so it yields no ids.
    return [ord(c) for c in probe.decode(probe.encode_ordinary(text), errors="strict")]


def partition(patterns: list[str], rest: int) -> NDArray[np.uint8]:
    """The index of the one pattern that matches each code point; surrogates are `rest`."""
    indices = np.full(0x110000, 255, np.uint8)
    for index, pattern in enumerate(patterns):
        found = members(pattern)
        assert (indices[found] == 255).all(), f"{pattern} overlaps another"
        indices[found] = index
    indices[0xD800:0xE000] = rest
    assert (indices < 255).all(), f"in none of them: U+{np.argmax(indices == 255):04X}"
    return indices


def runs(indices: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Where each run of equal indices starts, and the index."""
    starts = np.flatnonzero(np.diff(indices, prepend=np.uint8(255)))
    return np.stack([starts, indices[starts]], axis=1).astype(np.int32)


def extras() -> NDArray[np.int32]:
    """For each property, where membership beyond its categories begins and ends."""
    rows = []
    names = first_names(PROPERTIES)
    for index, name in enumerate(names[: names.index("White_Space")]):
        inside = np.zeros(0x110000, np.int8)
        inside[members(rf"\p{{{name}}}")] = 1
        for category in BASES.get(name, ()):
            found = members(rf"\p{{{category}}}")
            assert inside[found].all(), f"{name} lacks some of {category}"
            inside[found] = 0
        rows += [(index, bound) for bound in np.flatnonzero(np.diff(inside, prepend=0, append=0))]
    return np.array(rows, np.int32)


def folds() -> NDArray[np.int32]:
    """Each character that has others of the same simple case folding, with the least of them."""
    cased = members(r"[\p{Cased}\p{Changes_When_Casemapped}\p{Changes_When_Casefolded}]")
    text = "".join(map(chr, cased))
    orbits = {code: members(rf"(?i:\x{{{code:x}}})", text) for code in cased}
    return np.array([(code, min(orbit)) for code, orbit in orbits.items() if len(orbit) > 1], np.int32)


def main(version: str) -> None:
    folder = Path(__file__).parents[1] / "src/subwords/spec"
    categories = partition([rf"\p{{{name}}}" for name in CATEGORIES], rest=CATEGORIES.index("Cs"))
    np.save(folder / f"unicode_{version}.npy", runs(categories))
    # The engine has no name for the characters without a script, the last entry.
    scripts = [rf"\p{{Script={name}}}" for name in first_names(SCRIPTS)[:-1]]
    others = "[^" + "".join(scripts) + "]"
    tables = {
        "scripts": runs(partition([*scripts, others], rest=len(scripts))),
        "extras": extras(),
        "folds": folds(),
    }
    np.savez_compressed(folder / f"unicode_{version}_properties.npz", **tables)
    print({name: len(table) for name, table in tables.items()})


if __name__ == "__main__":
    main(sys.argv[1])
