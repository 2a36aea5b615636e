"""The effect of normalization steps on single characters: as in HF tokenizers 0.23, with any version of Python.

HF's tables are of several Unicode versions: control characters and nonspacing marks of 8.0, normal forms and marks of
9.0, lower case of 17.0. Here they come from the pinned tables and from `unicodedata`, without newer characters: the
standard never changes the decomposition, the combining class or the lower case of an assigned character.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from subwords.kernels import layout
from subwords.kernels.stored import stored
from subwords.spec.unicode import WHITE_SPACE, categories, property_members

# ---------------------------------------------------------------------------------------------------------------------
# Characters and their replacements as arrays: 250,000 of them are prepared in milliseconds.

Codes = NDArray[np.int32]


class CharMap(Mapping[int, str]):
    """Code points and the replacement of each; other characters stay unchanged. Immutable.

    codes: ascending; codes[i] becomes the code points chars[bounds[i]:bounds[i + 1]]. All arrays are int32: with int64
    all took twice as long.
    """

    def __init__(self, codes: Codes, chars: Codes, bounds: Codes) -> None:
        self.codes, self.chars, self.bounds = codes, chars, bounds

    @classmethod
    def of(cls, texts: Mapping[int, str]) -> CharMap:
        """Return the CharMap of a mapping from code points to strings."""
        if isinstance(texts, CharMap):
            return texts
        codes = sorted(texts)
        chars = np.frombuffer("".join(map(texts.__getitem__, codes)).encode("utf-32-le"), np.uint32)
        lengths = np.fromiter((len(texts[code]) for code in codes), np.int32, len(codes))
        return cls(np.array(codes, np.int32), chars.astype(np.int32), _bounds(lengths))

    @classmethod
    def rows(cls, codes: Codes, chars: Codes) -> CharMap:
        """Return the CharMap of ascending codes with replacements of equal length; chars: (codes, characters)."""
        return cls(codes, chars.ravel(), np.arange(len(codes) + 1, dtype=np.int32) * chars.shape[1])

    @property
    def sizes(self) -> Codes:
        """The size of each replacement in bytes of UTF-8."""
        widths = np.ones(len(self.chars), np.int32)
        for least in (0x80, 0x800, 0x10000):
            widths += self.chars >= least
        return np.diff(_bounds(widths)[self.bounds])

    def encode(self) -> bytes:
        """Return all replacements concatenated, in UTF-8."""
        return self.chars.astype(np.uint32).tobytes().decode("utf-32-le").encode()

    def holding(self, members: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return for each code whether its replacement contains any of `members`."""
        return np.diff(_bounds(members[self.chars].astype(np.int32))[self.bounds]) > 0

    def __or__(self, other: CharMap) -> CharMap:
        """Return the union; for codes in both, the replacement of `other`."""
        kept = np.ones(layout.CODE_POINTS, np.bool_)
        kept[other.codes] = False
        first = np.flatnonzero(kept[self.codes])
        codes = np.concatenate([self.codes[first], other.codes])
        order = np.argsort(codes, kind="stable")
        starts = np.concatenate([self.bounds[first], other.bounds[:-1] + len(self.chars)])[order]
        lengths = np.concatenate([np.diff(self.bounds)[first], np.diff(other.bounds)])[order]
        chars = np.concatenate([self.chars, other.chars])
        return CharMap(codes[order], chars[_places(starts, lengths)], _bounds(lengths))

    def then(self, other: CharMap) -> CharMap:
        """Return one map equal to this one followed by `other`."""
        row = np.full(layout.CODE_POINTS, -1, np.int32)
        row[other.codes] = np.arange(len(other.codes), dtype=np.int32)
        rows = row[self.chars]
        lengths = np.where(rows < 0, 1, np.diff(other.bounds)[rows]) if len(other) else np.ones_like(rows)
        # Unchanged characters are stored after those of `other`.
        starts = np.where(
            rows < 0, np.arange(len(other.chars), len(other.chars) + len(rows), dtype=np.int32), other.bounds[rows]
        )
        chars = np.concatenate([other.chars, self.chars])[_places(starts, lengths)]
        return other | CharMap(self.codes, chars, _bounds(lengths)[self.bounds])

    @cached_property
    def _texts(self) -> dict[int, str]:
        text = self.chars.astype(np.uint32).tobytes().decode("utf-32-le")
        bounds = self.bounds.tolist()
        return {code: text[bounds[i] : bounds[i + 1]] for i, code in enumerate(self.codes.tolist())}

    def __getitem__(self, code: int) -> str:
        return self._texts[code]

    def __iter__(self) -> Iterator[int]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self.codes)


def _bounds(lengths: Codes) -> Codes:
    return np.concatenate([np.zeros(1, np.int32), np.cumsum(lengths, dtype=np.int32)])


def _places(starts: Codes, lengths: Codes) -> Codes:
    """Return start, start + 1, ... of every range, concatenated."""
    return np.repeat(starts - _bounds(lengths)[:-1], lengths) + np.arange(int(lengths.sum()), dtype=np.int32)


# A map, and a set of characters, as arrays that compress a hundred times better: distances, and 0 for itself.
PackedMap = tuple[Codes, Codes, Codes, Codes]


def packed_map(replaced: CharMap, members: NDArray[np.bool_]) -> PackedMap:
    """Return a map and some characters as `PackedMap`."""
    lengths = np.diff(replaced.bounds)
    own = np.repeat(replaced.codes, lengths)
    chars = np.where(replaced.chars == own, 0, replaced.chars + 1)
    found = np.flatnonzero(members).astype(np.int32)
    return np.diff(replaced.codes, prepend=np.int32(0)), lengths, chars, np.diff(found, prepend=np.int32(0))


def unpacked_map(packed: PackedMap) -> tuple[CharMap, NDArray[np.bool_]]:
    """Return what `packed_map` was given."""
    steps, lengths, chars, found = packed
    codes = np.cumsum(steps, dtype=np.int32)
    members = np.zeros(layout.CODE_POINTS, np.bool_)
    members[np.cumsum(found)] = True
    return CharMap(codes, np.where(chars == 0, np.repeat(codes, lengths), chars - 1), _bounds(lengths)), members


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
    spaces = np.array([code for code in WHITE_SPACE if code != ord(" ") and not members[code]], np.int32)
    return _dropped(members) | CharMap.rows(spaces, np.full((len(spaces), 1), ord(" ")))


def chinese() -> CharMap:
    """Put a space before and after every Chinese character."""
    codes = np.array(_ranges(CHINESE), np.int32)
    spaces = np.full_like(codes, ord(" "))
    return CharMap.rows(codes, np.stack([spaces, codes, spaces], axis=1))


def _kept(name: str, make: Callable[[], Mapping[int, str]]) -> CharMap:
    """Return a map that takes Python milliseconds to make: from the package, from disk, or made."""

    def made() -> tuple[NDArray[np.int32], ...]:
        found = CharMap.of(make())
        return found.codes, found.chars, found.bounds

    return CharMap(*stored("characters", name.encode(), made))


@cache
def lowercase() -> CharMap:
    """Replace every character by its lower case, without context."""
    return _kept("lowercase", _lowercase)


def _lowercase() -> dict[int, str]:
    cased = [*map(property_members, ("Lu", "Lt", "Nl", "So"))]  # the only categories with lower case
    codes = _codes(np.logical_or.reduce(cased))
    found = {code: lower for code in codes if (lower := chr(code).lower()) != chr(code)}
    newer = {code: chr(code + step) for text, step in NEW_CAPITALS.items() for code in _ranges(text)}
    return found | newer


def _dropped(members: Members) -> CharMap:
    codes = np.flatnonzero(members).astype(np.int32)
    return CharMap.rows(codes, np.empty((len(codes), 0), np.int32))


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


def decompositions(form: str) -> CharMap:
    """Return the full decompositions: canonical (NFD, NFC) or compatibility (NFKD, NFKC)."""
    return _decompositions("NFKD" if "K" in form else "NFD")


@cache
def _decompositions(kind: Literal["NFD", "NFKD"]) -> CharMap:
    return _kept(kind, lambda: _decomposed(kind))


def _decomposed(kind: Literal["NFD", "NFKD"]) -> dict[int, str]:
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
def compositions() -> Codes:
    """Return the pairs of code points that have a composition, ascending, and that: int64, shape (n, 3)."""
    return stored("characters", b"compositions", _composed)


def _composed() -> Codes:
    rows = []
    for code, text in decompositions("NFD").items():
        if unicodedata.normalize("NFC", text) == chr(code):
            rows.append((ord(unicodedata.normalize("NFC", text[:-1])), ord(text[-1]), code))
    return np.array(sorted(rows), np.int64)


def compose_pair(first: str, second: str) -> str | None:
    """Return the composition of two characters, or None.

    >>> compose_pair("e", "\\u0301")
    'é'
    """
    rows = compositions()
    found = rows[(rows[:, 0] == ord(first)) & (rows[:, 1] == ord(second)), 2].tolist()
    return chr(found[0]) if found else None


@cache
def whitespace() -> NDArray[np.uint8]:
    """Return 1 for whitespace, 0 for other code points; uint8 of shape (0x110001,), read-only."""
    members = np.zeros(layout.CODE_POINTS + 1, np.uint8)
    members[list(WHITE_SPACE)] = 1
    members.flags.writeable = False
    return members


# ---------------------------------------------------------------------------------------------------------------------
# Character classes of Unicode's rules for grapheme clusters (annex 29), as in HF tokenizers 0.23: Unicode 17.

# Additions to the general categories of the pinned version.
EXTEND = """
    9BE 9D7 B3E B57 BBE BD7 CC0 CC2 CC7-CC8 CCA-CCB CD5-CD6 D3E D57 DCF DDF 1715 1734 1ACF-1ADD 1AE0-1AEB 1B35 1B3B 1B3D
    1B43-1B44 1BAA 1BF2-1BF3 302E-302F A953 A9C0 FF9E-FF9F 10EFA-10EFB 111C0 11235 1133E 1134D 11357 113B8 113C2 113C5
    113C7-113C9 113CF 114B0 114BD 115AF 116B6 11930 1193D 11B60 11B62-11B64 11B66 11F41 16FF0-16FF1 1D165-1D166
    1D16D-1D172 1E6E3 1E6E6 1E6EE-1E6EF 1E6F5 1F3FB-1F3FF E0020-E007F
"""
SPACING = "E33 EB3 11B61 11B65 11B67"
NOT_SPACING = """
    102B-102C 1038 1062-1064 1067-106D 1083 1087-108C 108F 109A-109C 1A61 1A63-1A64 AA7B AA7D 11720-11721
"""
CONTROL = "2065 FFF0-FFF8 E0000 E0002-E001F E0080-E00FF E01F0-E0FFF"
PREPEND = """
    600-605 6DD 70F 890-891 8E2 D4E 110BD 110CD 111C2-111C3 113D1 1193F 11941 11A84-11A89 11D46 11F02
"""
HANGUL_L, HANGUL_V, HANGUL_T = "1100-115F A960-A97C", "1160-11A7 D7B0-D7C6 16D63 16D67-16D6A", "11A8-11FF D7CB-D7FB"
PICTOGRAPHIC = """
    A9 AE 203C 2049 2122 2139 2194-2199 21A9-21AA 231A-231B 2328 23CF 23E9-23F3 23F8-23FA 24C2 25AA-25AB 25B6 25C0
    25FB-25FE 2600-2604 260E 2611 2614-2615 2618 261D 2620 2622-2623 2626 262A 262E-262F 2638-263A 2640 2642 2648-2653
    265F-2660 2663 2665-2666 2668 267B 267E-267F 2692-2697 2699 269B-269C 26A0-26A1 26A7 26AA-26AB 26B0-26B1 26BD-26BE
    26C4-26C5 26C8 26CE-26CF 26D1 26D3-26D4 26E9-26EA 26F0-26F5 26F7-26FA 26FD 2702 2705 2708-270D 270F 2712 2714 2716
    271D 2721 2728 2733-2734 2744 2747 274C 274E 2753-2755 2757 2763-2764 2795-2797 27A1 27B0 27BF 2934-2935 2B05-2B07
    2B1B-2B1C 2B50 2B55 3030 303D 3297 3299 1F004 1F02C-1F02F 1F094-1F09F 1F0AF-1F0B0 1F0C0 1F0CF-1F0D0 1F0F6-1F0FF
    1F170-1F171 1F17E-1F17F 1F18E 1F191-1F19A 1F1AF-1F1E5 1F201-1F20F 1F21A 1F22F 1F232-1F23A 1F23C-1F23F 1F249-1F25F
    1F266-1F321 1F324-1F393 1F396-1F397 1F399-1F39B 1F39E-1F3F0 1F3F3-1F3F5 1F3F7-1F3FA 1F400-1F4FD 1F4FF-1F53D
    1F549-1F54E 1F550-1F567 1F56F-1F570 1F573-1F57A 1F587 1F58A-1F58D 1F590 1F595-1F596 1F5A4-1F5A5 1F5A8 1F5B1-1F5B2
    1F5BC 1F5C2-1F5C4 1F5D1-1F5D3 1F5DC-1F5DE 1F5E1 1F5E3 1F5E8 1F5EF 1F5F3 1F5FA-1F64F 1F680-1F6C5 1F6CB-1F6D2
    1F6D5-1F6E5 1F6E9 1F6EB-1F6F0 1F6F3-1F6FF 1F7DC-1F7F0 1F80C-1F80F 1F848-1F84F 1F85A-1F85F 1F888-1F88F 1F8AE-1F8AF
    1F8BC-1F8BF 1F8C2-1F8CF 1F8D9-1F8FF 1F90C-1F93A 1F93C-1F945 1F947-1F9FF 1FA58-1FA5F 1FA6E-1FAFF 1FC00-1FFFD
"""
LINKER = """
    94D 9CD ACD B4D C4D D4D 1039 17D2 1A60 1B44 1BAB A9C0 AAF6 10A3F 11133 113D0 1193E 11A47 11A99 11F42
"""
CONSONANT = """
    915-939 958-95F 978-97F 995-9A8 9AA-9B0 9B2 9B6-9B9 9DC-9DD 9DF 9F0-9F1 A95-AA8 AAA-AB0 AB2-AB3 AB5-AB9 AF9 B15-B28
    B2A-B30 B32-B33 B35-B39 B5C-B5D B5F B71 C15-C28 C2A-C39 C58-C5A D15-D3A 1000-102A 103F 1050-1055 105A-105D 1061
    1065-1066 106E-1070 1075-1081 108E 1780-17B3 1A20-1A54 1B0B-1B0C 1B13-1B33 1B45-1B4C 1B83-1BA0 1BAE-1BAF 1BBB-1BBD
    A989-A98B A98F-A9B2 A9E0-A9E4 A9E7-A9EF A9FA-A9FE AA60-AA6F AA71-AA73 AA7A AA7E-AA7F AAE0-AAEA ABC0-ABDA 10A00
    10A10-10A13 10A15-10A17 10A19-10A35 11103-11126 11144 11147 11380-11389 1138B 1138E 11390-113B5 11900-11906 11909
    1190C-11913 11915-11916 11918-1192F 11A00 11A0B-11A32 11A50 11A5C-11A83 11F04-11F10 11F12-11F33
"""


@cache
def grapheme_classes() -> NDArray[np.uint8]:
    """Return the class of every code point, named in kernels/layout.py: uint8 of shape (0x110001,), read-only.

    The last entry is for a byte that is not UTF-8: it is always one cluster.
    """
    classes = np.zeros(layout.CODE_POINTS + 1, np.uint8)
    for names, found in ((("Mn", "Me"), layout.GRAPHEME.extend), (("Mc",), layout.GRAPHEME.spacing)):
        classes[: layout.CODE_POINTS][np.logical_or.reduce([property_members(name) for name in names])] = found
    classes[_ranges(NOT_SPACING)] = layout.GRAPHEME.other
    controls = np.logical_or.reduce([property_members(name) for name in ("Cc", "Cf", "Zl", "Zp")])
    classes[: layout.CODE_POINTS][controls] = layout.GRAPHEME.control
    parts = {
        CONTROL: layout.GRAPHEME.control,
        EXTEND: layout.GRAPHEME.extend,
        SPACING: layout.GRAPHEME.spacing,
        PREPEND: layout.GRAPHEME.prepend,
        HANGUL_L: layout.GRAPHEME.hangul_l,
        HANGUL_V: layout.GRAPHEME.hangul_v,
        HANGUL_T: layout.GRAPHEME.hangul_t,
        PICTOGRAPHIC: layout.GRAPHEME.pictographic,
        LINKER: layout.GRAPHEME.linker,
        CONSONANT: layout.GRAPHEME.consonant,
        "200C": layout.GRAPHEME.zwnj,
        "200D": layout.GRAPHEME.zwj,
        "D": layout.GRAPHEME.cr,
        "A": layout.GRAPHEME.lf,
    }
    for ranges, found in parts.items():
        classes[_ranges(ranges)] = found
    classes[0xAC00:0xD7A4] = layout.GRAPHEME.hangul_lvt
    classes[0xAC00:0xD7A4:28] = layout.GRAPHEME.hangul_lv
    classes[layout.CODE_POINTS] = layout.GRAPHEME.control
    classes.flags.writeable = False
    return classes
