"""The effect of normalization steps on single characters: as in HF tokenizers 0.23, with any version of Python.

HF's tables are of several Unicode versions: control characters and nonspacing marks of 8.0, normal forms and marks of
9.0, lower case of 17.0. Here they come from the pinned tables and from `unicodedata`, without newer characters: the
standard never changes the decomposition, the combining class or the lower case of an assigned character.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.normalize.char_table import CharMap
from subwords.unicode.tables import WHITE_SPACE, categories, property_members

__all__ = [
    "UNICODE_VERSION",
    "chinese",
    "clean",
    "combining_classes",
    "composed",
    "compositions",
    "decompositions",
    "lowercase",
    "marks",
    "nmt",
    "nonspacing_marks",
    "whitespace",
]

UNICODE_VERSION = "9.0"  # of the normal forms

Members = NDArray[np.bool_]

SURROGATES = range(0xD800, 0xE000)
# Above LAST_LETTER, only the characters in COMPATIBILITY have decompositions.
LAST_LETTER, COMPATIBILITY = 0x1FFFF, range(0x2F800, 0x2FA20)


def _ranges(text: str) -> list[int]:
    """Return the code points of a text like `1F00-1F15 1F18`."""
    bounds = [part.partition("-") for part in text.split()]
    return [code for first, _, last in bounds for code in range(int(first, 16), int(last or first, 16) + 1)]


# As in BERT, but without the block 2B820-2B91F, which HF lacks and BERT's own code has.
CHINESE = "3400-4DBF 4E00-9FFF F900-FAFF 20000-2A6DF 2A700-2B81F 2B920-2CEAF 2F800-2FA1F"

# Characters in these ranges that are marks in Unicode 16.0 were not marks in 9.0. OLD_MARKS: the reverse.
NEW_MARKS = """
    7FD 897-8D3 9FE AFA-AFF B55 C04-C3C CF3-D00 D3B-D3C D81 EBA ECE 1715 180F 1ABF-1ACE 1CF7 1DF6-1DFA A82C A8FF
    10D24-10F85 11070-11074 110C2 11145-11146 111C9 111CE-111CF 11241 1133B 113B8-113E2 1145E 1182C-11A99 11D31-1612F
    16F4F 16F7F-16F87 16FE4-16FF1 1CF00-1CF46 1E08F-1E5EF
"""
OLD_MARKS = "1CF2-1CF3"
# The same for nonspacing marks of 8.0, in addition to NEW_MARKS. OLD_NONSPACING: the reverse.
NEW_NONSPACING = "8D4-8E1 1885-1886 1DFB A8C5 A9BD 1123E 11438-11446 11C30-11CB6 1E000-1E02A 1E944-1E94A"
OLD_NONSPACING = "1734 1171E"
# Format characters newer than 8.0.
NEW_FORMAT = "890-891 8E2 110CD 13430-1343F"
# Characters that decompose now and did not in 9.0.
NEW_DECOMPOSITIONS = """
    32FF A7F1-A7F4 AB69 105C9-105E4 10781-107BA 11383-113C8 11938 16121-16128 16D68-16D6A 1CCD6-1CCF9 1E030-1E06D
    1F16C 1FBF0-1FBF9
"""
# Capital letters newer than Python 3.11's Unicode 14.0, and the distance to their lower case.
NEW_CAPITALS = {
    "1C89 A7CC A7CE A7D2 A7D4 A7DA": 1,
    "A7CB": 0x264 - 0xA7CB,
    "A7DC": 0x19B - 0xA7DC,
    "10D50-10D65": 0x20,
    "16EA0-16EB8": 0x1B,
}


# HF's Nmt: characters that it removes, and those that become a space.
NMT_REMOVED = "1-8 B E-1F 7F 8F 9F"
NMT_SPACES = "9 A C D 1680 200B-200F 2028 2029 2581 FEFF FFFD"


def nmt() -> CharMap:
    """Remove control characters; other characters become a space, as in HF's Nmt."""
    removed = dict.fromkeys(_ranges(NMT_REMOVED), "")
    return CharMap.of(removed | dict.fromkeys(_ranges(NMT_SPACES), " "))


def _codes(members: Members) -> list[int]:
    codes: list[int] = np.flatnonzero(members).tolist()
    return codes


def clean() -> CharMap:
    """Remove control characters, NUL and U+FFFD; whitespace becomes a space."""
    members = property_members("Cc") | property_members("Cf") | property_members("Co")
    members[[*_ranges(NEW_FORMAT), *b"\t\n\r"]] = False
    members[0xFFFD] = True
    spaces = np.array([code for code in WHITE_SPACE if code != ord(" ") and not members[code]], np.int64)
    return _dropped(members) | CharMap.rows(spaces, np.full((len(spaces), 1), ord(" ")))


def chinese() -> CharMap:
    """Put a space before and after every Chinese character."""
    codes = np.array(_ranges(CHINESE), np.int64)
    spaces = np.full_like(codes, ord(" "))
    return CharMap.rows(codes, np.stack([spaces, codes, spaces], axis=1))


@cache
def lowercase() -> CharMap:
    """Replace every character by its lower case, without context."""
    cased = [*map(property_members, ("Lu", "Lt", "Nl", "So"))]  # the only categories with lower case
    codes = _codes(np.logical_or.reduce(cased))
    found = {code: lower for code in codes if (lower := chr(code).lower()) != chr(code)}
    newer = {code: chr(code + step) for text, step in NEW_CAPITALS.items() for code in _ranges(text)}
    return CharMap.of(found | newer)


def _dropped(members: Members) -> CharMap:
    codes = np.flatnonzero(members)
    return CharMap.rows(codes, np.empty((len(codes), 0), np.int64))


@cache
def marks() -> CharMap:
    """Remove combining marks."""
    return _dropped(_marks())


def _marks() -> Members:
    members = property_members("M").copy()
    members[_ranges(NEW_MARKS)] = False
    members[_ranges(OLD_MARKS)] = True
    return members


@cache
def nonspacing_marks() -> CharMap:
    """Remove nonspacing marks."""
    members = property_members("Mn").copy()
    members[_ranges(NEW_MARKS + NEW_NONSPACING)] = False
    members[_ranges(OLD_NONSPACING)] = True
    return _dropped(members)


@cache
def decompositions(form: str) -> Mapping[int, str]:
    """Return the full decompositions: canonical (NFD, NFC) or compatibility (NFKD, NFKC)."""
    kind: Literal["NFD", "NFKD"] = "NFKD" if "K" in form else "NFD"
    new = {*_ranges(NEW_DECOMPOSITIONS)}
    assigned = categories()[: LAST_LETTER + 1] != categories()[0xFFFF]
    assigned[SURROGATES.start : SURROGATES.stop] = False
    codes = (*_codes(assigned), *COMPATIBILITY)
    return {
        code: text
        for code in codes
        if (text := unicodedata.normalize(kind, chr(code))) != chr(code) and code not in new
    }


@cache
def combining_classes() -> NDArray[np.uint8]:
    """Return the canonical combining class of every code point, uint8, read-only."""
    classes = np.zeros(layout.CODE_POINTS, np.uint8)
    members = _marks()
    members[LAST_LETTER + 1 :] = False
    for code in _codes(members):
        classes[code] = unicodedata.combining(chr(code))
    classes.flags.writeable = False
    return classes


@cache
def compositions() -> Mapping[tuple[int, int], int]:
    """Return the composition of each pair of code points that has one."""
    pairs = {}
    for code, text in decompositions("NFD").items():
        if unicodedata.normalize("NFC", text) == chr(code):
            first, second = unicodedata.normalize("NFC", text[:-1]), text[-1]
            pairs[ord(first), ord(second)] = code
    return pairs


def composed(first: str, second: str) -> str | None:
    """Return the composition of two characters, or None.

    >>> composed("e", "\\u0301")
    'é'
    """
    code = compositions().get((ord(first), ord(second)))
    return None if code is None else chr(code)


@cache
def whitespace() -> NDArray[np.uint8]:
    """Return 1 for whitespace, 0 for other code points; uint8 of shape (0x110001,), read-only."""
    members = np.zeros(layout.CODE_POINTS + 1, np.uint8)
    members[list(WHITE_SPACE)] = 1
    members.flags.writeable = False
    return members
