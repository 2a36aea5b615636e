"""The layouts of encodings with positions, which `text/locate.py` fills; see `layout.py`."""

from __future__ import annotations

from typing import Any, NamedTuple

# One-dimensional contiguous arrays, by the type of their elements.
U8s = Any
U32s = Any
I32s = Any
I64s = Any


# Fields of `start`: the place before the first word; the numbers of the first text, the next id, and its word in the
# text; whether the last text ends with the words; how many entries of `unknown` are written.
WORD_BASE, FIRST_TEXT, NEXT_ID, NEXT_NUMBER, ENDS_TEXT, NEXT_UNKNOWN, PLACE_START = range(7)
LEADING, TRAILING, SIZE_MARKS = range(3)  # bytes of an id's size that only the first id of a word has, and the last not
WHOLE_WORD, UNSURE, UNKNOWN_RUN = -1, -2, -3  # in place of the size of an id
# By code point, for UNKNOWN_RUN: a character before which every unknown run ends, one that continues every run, and one
# that does either.
ENDS_RUN, CONTINUES_RUN, MAY_CONTINUE = range(3)
UNKNOWN_ID, UNKNOWN_BEGIN, UNKNOWN_END, UNKNOWN_ROW = range(4)
NO_WORD = -1
NO_PREFIX, FIRST_PREFIX, EMPTY_PREFIX = range(3)  # the prefix of a text, and its place: see `cover_text`
PIECE_FROM, PIECE_SIZE, PIECE_ID, PIECE_TYPE, PIECE_FLAGS, PIECE_NAME, PIECE_ROW = range(7)


class IdWords(NamedTuple):
    """The words of some texts, and how many ids the texts have."""

    ends: U32s
    begins: I64s  # empty if each word begins where the previous one ends
    word_ends: I64s  # by text: the number of words up to its end
    id_ends: I64s  # by text: the number of ids up to its end
    text: U8s  # that is split into words; may be empty if no id has the size UNKNOWN_RUN


class IdSizes(NamedTuple):
    """How many bytes of a word each id covers."""

    sizes: I32s
    marks: I64s
    kinds: U8s  # by code point, for UNKNOWN_RUN; if it is empty, such ids are UNSURE


class Origins(NamedTuple):
    """By byte: the range it comes from. First for the words, then for the normalized text; empty if unchanged."""

    word_begins: I64s
    word_ends: I64s
    text_begins: I64s
    text_ends: I64s


class Source(NamedTuple):
    """The given texts."""

    bounds: I64s
    chars: I32s  # for every byte and the end: how many characters begin before it; empty if all are ASCII


class Placed(NamedTuple):
    """The result, by id; `spans` may be empty if there are no `chars`."""

    byte_spans: I64s
    spans: I64s
    words: I32s
    odd: U8s  # by text
    unknown: I64s  # by UNKNOWN_RUN id: its number, and its bytes in the text of the words


class Trims(NamedTuple):
    """By id: the whitespace that its token begins and ends with, in characters; `keeps`: see `Template.trims`."""

    begun: I32s
    ended: I32s
    keeps: U8s


class Row(NamedTuple):
    """The entries of encodings; `spans` is empty if it equals `byte_spans`; of a source, some may be empty."""

    ids: U32s
    byte_spans: I64s
    spans: I64s
    words: I32s
    names: I32s  # of tokens that are not in the vocabulary; -1 for the others
    types: U32s
    special: U8s
    attention: U8s
