"""Textbook normalization: each step processes the characters that the previous step produced.

A step is any object whose class is named Bert, ByteLevel, Form, Lowercase, Nmt, StripAccents, Replace, Strip, Prepend,
Precompiled or SentencePiece, with its settings as attributes; see the functions of these names. Each character records
the character of the text that it maps to. Bytes that are not UTF-8 become lone surrogates in `str`, one per byte,
which every step except SentencePiece leaves unchanged.

`characters` provides the properties of single characters; by default those of Python's Unicode version.

>>> from types import SimpleNamespace
>>> Lowercase = type("Lowercase", (SimpleNamespace,), {})
>>> normalize("Ab", [Lowercase()])
('ab', [0, 1])
"""

from __future__ import annotations

import unicodedata
from array import array
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import regex

from subwords.reference.pattern import find

# A character, and the index of the character of the text it maps to; -1 for none.
Char = tuple[str, int]
# A character during normalization to a form, and the number of characters of the text that it consumes.
Weighted = tuple[str, int]

CHINESE = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF))
CHINESE_TOO = ((0x2A700, 0x2B81F), (0x2B920, 0x2CEAF), (0x2F800, 0x2FA1F))


class Characters:
    """Properties of single characters."""

    def control(self, char: str) -> bool:
        """Whether it is a control character, which BERT drops."""
        return unicodedata.category(char) in ("Cc", "Cf", "Co") and char not in "\t\n\r"

    def nonspacing(self, char: str) -> bool:
        """Whether it is a nonspacing mark."""
        return unicodedata.category(char) == "Mn"

    def mark(self, char: str) -> bool:
        """Whether it is a mark of any kind."""
        return unicodedata.category(char).startswith("M")

    def blank(self, char: str) -> bool:
        """Whether it has the property White_Space."""
        return char.isspace() and char not in "\x1c\x1d\x1e\x1f"

    def lower(self, char: str) -> str:
        """Return its lower case."""
        return char.lower()

    def combining(self, char: str) -> int:
        """Return its canonical combining class."""
        return unicodedata.combining(char)

    def decomposed(self, char: str, compatible: bool) -> str:
        """Return its full decomposition."""
        return unicodedata.normalize("NFKD" if compatible else "NFD", char)

    def graphemes(self, text: str) -> list[str]:
        """Return the grapheme clusters of a text."""
        clusters: list[str] = regex.findall(r"\X", text)
        return clusters

    def composed(self, first: str, second: str) -> str | None:
        """Return the composition of two characters, or None."""
        both = unicodedata.normalize("NFC", first + second)
        return both if len(both) == 1 else None


def normalize(
    text: str | bytes,
    steps: Iterable[Any],
    characters: Characters = Characters(),  # noqa: B008
) -> tuple[str, list[int]]:
    """Return the normalized text, and for each character the index of the one it maps to; -1 for none."""
    string = text.decode("utf-8", "surrogateescape") if isinstance(text, bytes) else text
    chars = [(char, at) for at, char in enumerate(string)]
    for step in steps:
        chars = _applied(chars, step, characters)
    return _text(chars), [at for _, at in chars]


def _text(chars: list[Char]) -> str:
    return "".join(char for char, _ in chars)


def _applied(chars: list[Char], step: Any, characters: Characters) -> list[Char]:
    match type(step).__name__:
        case "Bert":
            return bert(chars, step, characters)
        case "ByteLevel":
            return [(letter, at) for char, at in chars for letter in byte_letters(char)]
        case "Form":
            return form(chars, step.form, characters)
        case "Lowercase":
            return [(lower, at) for char, at in chars for lower in characters.lower(char)]
        case "Nmt":
            return nmt(chars)
        case "StripAccents":
            return [(char, at) for char, at in chars if not characters.mark(char)]
        case "Replace":
            return replace(chars, step.pattern, step.content, step.regex)
        case "Strip":
            return strip(chars, step.left, step.right, characters)
        case "Prepend":
            if not step.text:  # in HF the first character then maps to none
                return [(char, -1) for char, _ in chars[:1]] + chars[1:]
            return [(char, chars[0][1]) for char in step.text] + chars if chars else []
        case "Precompiled":
            return precompiled(chars, step.charsmap, characters)
        case "SentencePiece":
            return sentencepiece(chars, step)[0]
        case name:
            raise ValueError(f"expected a step of normalization, not a {name}")


def byte_letters(char: str) -> str:
    """Return what GPT-2 writes for the bytes of a character: printable ones of Latin-1, others from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in printable]
    return "".join(
        chr(byte if byte in printable else 256 + hidden.index(byte)) for byte in char.encode("utf-8", "surrogateescape")
    )


def nmt(chars: list[Char]) -> list[Char]:
    """Remove the characters of one list, and turn those of another into spaces."""
    removed = {*range(0x01, 0x09), 0x0B, *range(0x0E, 0x20), 0x7F, 0x8F, 0x9F}
    blank = {0x09, 0x0A, 0x0C, 0x0D, 0x1680, *range(0x200B, 0x2010), 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD}
    return [(" " if ord(char) in blank else char, at) for char, at in chars if ord(char) not in removed]


def bert(chars: list[Char], step: Any, characters: Characters) -> list[Char]:
    """Run the enabled parts in this order: clean, put spaces around Chinese characters, strip accents, lower."""
    if step.clean_text:
        chars = [(char, at) for char, at in chars if char not in "\0\ufffd" and not characters.control(char)]
        chars = [(" " if characters.blank(char) else char, at) for char, at in chars]
    if step.handle_chinese_chars:
        chars = [(part, at) for char, at in chars for part in (f" {char} " if _is_chinese(char) else char)]
    if step.lowercase if step.strip_accents is None else step.strip_accents:
        chars = [(char, at) for char, at in form(chars, "NFD", characters) if not characters.nonspacing(char)]
    if step.lowercase:
        chars = [(lower, at) for char, at in chars for lower in characters.lower(char)]
    return chars


def _is_chinese(char: str) -> bool:
    return any(first <= ord(char) <= last for first, last in (*CHINESE, *CHINESE_TOO))


def form(chars: list[Char], name: str, characters: Characters) -> list[Char]:
    """Normalize to NFC, NFD, NFKC or NFKD.

    As in HF, a character consumes as many characters of the text as it is composed of, in text order, regardless of how
    marks were sorted; the rest of a decomposition maps to the previous character.
    """
    weighted: list[Weighted] = []
    for char, _ in chars:
        whole = characters.decomposed(char, "K" in name)
        weighted += [(part, int(index == 0)) for index, part in enumerate(whole)]
    weighted = _sorted(weighted, characters)
    if "C" in name:
        weighted = _composed(weighted, characters)
    out: list[Char] = []
    taken = 0
    for char, weight in weighted:
        out.append((char, chars[taken if weight else taken - 1][1]))
        taken += weight
    return out


def _sorted(weighted: list[Weighted], characters: Characters) -> list[Weighted]:
    """Sort each run of marks by combining class."""
    out: list[Weighted] = []
    marks: list[Weighted] = []
    for item in [*weighted, ("a", 0)]:
        if characters.combining(item[0]):
            marks.append(item)
            continue
        out += [*sorted(marks, key=lambda mark: characters.combining(mark[0])), item]
        marks = []
    return out[:-1]


def _composed(weighted: list[Weighted], characters: Characters) -> list[Weighted]:
    """Compose each character with the last starter unless a mark of the same or a higher class lies between them."""
    out: list[Weighted] = []
    starter, last = -1, -1
    for char, weight in weighted:
        mark = characters.combining(char)
        both = characters.composed(out[starter][0], char) if starter >= 0 and last < mark else None
        if both:
            out[starter] = (both, out[starter][1] + weight)
            continue
        if mark == 0:
            starter, last = len(out), -1
        elif starter >= 0:
            last = mark
        out.append((char, weight))
    return out


def replace(chars: list[Char], pattern: str, content: str, is_regex: bool) -> list[Char]:
    """Replace each match by the content, which maps to the last character of the match, or the one before it."""
    if len(chars) == 0:
        return []
    escaped = pattern if is_regex else "".join(f"\\U{ord(char):08x}" for char in pattern)
    out: list[Char] = []
    for start, end, matches in find(escaped, _text(chars)):
        before = chars[end - 1][1] if end else -1
        out += [(char, before) for char in content] if matches else chars[start:end]
    return out


def strip(chars: list[Char], left: bool, right: bool, characters: Characters) -> list[Char]:
    """Drop whitespace at the ends."""
    start, stop = 0, len(chars)
    while left and start < stop and characters.blank(chars[start][0]):
        start += 1
    while right and start < stop and characters.blank(chars[stop - 1][0]):
        stop -= 1
    return chars[start:stop]


# ------------------------------------------------------------------ SentencePiece


@lru_cache(maxsize=4)
def _parsed(charsmap: bytes) -> tuple[array[int], bytes]:
    """Return the units of a precompiled map's double array, and its replacements."""
    size = int.from_bytes(charsmap[:4], "little")
    units = (int.from_bytes(charsmap[at : at + 4], "little") for at in range(4, 4 + size, 4))
    return array("L", units), charsmap[4 + size :]


def matches(charsmap: bytes, data: bytes | memoryview) -> Iterator[tuple[int, bytes]]:
    """Yield the keys of a precompiled map that are prefixes of some bytes, shortest first: length and replacement."""
    if not charsmap:
        return
    units, text = _parsed(charsmap)
    node, unit = 0, units[0]
    for length, byte in enumerate(data, 1):
        # The unit's upper bits are the offset of its children's units; bit 9 multiplies it by 256.
        node ^= (unit >> 10) << (8 if unit >> 9 & 1 else 0) ^ byte
        unit = units[node]
        if byte == 0 or unit & (1 << 31 | 0xFF) != byte:
            return
        if unit >> 8 & 1:  # a key ends here; the child of byte 0 holds the offset of its replacement
            at = units[node ^ (unit >> 10) << (8 if unit >> 9 & 1 else 0)] & (1 << 31) - 1
            yield length, text[at : text.index(0, at)]


def sentencepiece(chars: list[Char], step: Any) -> tuple[list[Char], int]:
    """Apply SentencePiece's normalization; return the characters, and the position where the text ends.

    A replacement maps to the first character of its key. Its end is the start of the next one.
    """
    units = [(" " if data == b" " else data.decode(), at) for data, at in _units(chars, step)]
    end = chars[-1][1] + 1 if chars else 0
    if step.remove_extra_whitespaces:
        while units and units[0][0] == " ":
            units.pop(0)
    if not units:
        return [], 0
    space = "▁" if step.escape_whitespaces else " "
    out: list[Char] = []
    if step.add_dummy_prefix and not step.whitespace_suffix:
        out.append((space, units[0][1]))
    spaced = step.remove_extra_whitespaces
    for text, at in units:
        kept = text.lstrip(" ") if spaced else text
        out += [(space if char == " " else char, at) for char in kept]
        if kept:
            spaced = kept.endswith(" ") and step.remove_extra_whitespaces
    while step.remove_extra_whitespaces and out and out[-1][0] == space:
        end = out.pop()[1]
    if step.add_dummy_prefix and step.whitespace_suffix:
        out.append((space, end))
    return out, end


def _units(chars: list[Char], step: Any) -> Iterator[tuple[bytes, int]]:
    """Yield each unit that is replaced at once, as its result, and the position of its first character."""
    users = sorted({user.encode() for user in step.user_symbols}, key=len, reverse=True)
    parts = [char.encode("utf-8", "surrogateescape") for char, _ in chars]
    data = b"".join(parts)
    at, taken = 0, 0  # in bytes, in characters
    while at < len(data):
        char = parts[taken]
        size, text = len(char), "\ufffd".encode() if "\udc80" <= chars[taken][0] <= "\udcff" else char
        for size, text in matches(step.charsmap, memoryview(data)[at:]):  # noqa: B007, the longest is the last
            pass
        for user in users:
            if data.startswith(user, at):
                size, text = len(user), user
                break
        yield text, chars[taken][1]
        at += size
        while size > 0:
            size -= len(parts[taken])
            taken += 1


def precompiled(chars: list[Char], charsmap: bytes, characters: Characters) -> list[Char]:
    """Replace as HF does: a grapheme of at most 5 bytes becomes the replacement of its shortest prefix in the map.

    If it is longer or has no such prefix, its characters are replaced one by one. In a replacement of several
    characters, each maps to one character and the last to the rest; extra characters map to the last one.
    """
    weighted: list[Weighted] = []
    for grapheme in characters.graphemes(_text(chars)):
        for old in [grapheme] if _replaced(charsmap, grapheme) is not None else grapheme:
            new = _replaced(charsmap, old)
            new = old if new is None else new
            more = len(new) - len(old)
            weighted += [(char, int(k < len(old))) for k, char in enumerate(new)]
            if more < 0 and weighted:
                weighted[-1] = weighted[-1][0], weighted[-1][1] - more
    out: list[Char] = []
    taken = 0
    for char, weight in weighted:
        out.append((char, chars[taken if weight else taken - 1][1] if weight or taken else -1))
        taken += weight
    return out


def _replaced(charsmap: bytes, text: str) -> str | None:
    """Return the replacement of a grapheme or character, None if it has none."""
    data = text.encode("utf-8", "surrogateescape")
    if len(data) > 5:
        return None
    return next((replacement.decode() for _, replacement in matches(charsmap, data)), None)
