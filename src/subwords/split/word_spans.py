"""The words of a stretch of text as arrays, and the steps that change all of them at once.

Used for rules without a single machine: a step drops words, inserts or replaces text, or depends on word ends that the
previous step emits late.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from subwords.spec.vocab import tokens_to_text
from subwords.support.names import distinct

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WordSpans:
    """Consecutive words: word i is text[words[i]:words[i + 1]], text j is text[texts[j]:texts[j + 1]].

    `origin`, of shape (2, bytes of text): the range of source bytes that each byte comes from; shape (0, bytes of
    text) if not tracked. text[texts[j]:leads[j]] comes from the first character of the input; it is empty if text j
    does not start at the start of the input.
    """

    text: Bytes
    words: Offsets
    texts: Offsets
    origin: Offsets
    leads: Offsets

    def cut(self, words: Offsets) -> WordSpans:
        """Return the same text with other word borders."""
        return WordSpans(self.text, words, self.texts, self.origin, self.leads)

    def kept(self, keep: NDArray[np.bool_]) -> WordSpans:
        """Return the words where `keep` is true, without the bytes of the others."""
        if keep.all():
            return self
        lengths = np.diff(self.words)
        mask = np.repeat(keep, lengths)
        places = _sums(mask)
        origin = np.ascontiguousarray(self.origin[:, mask])
        return WordSpans(self.text[mask], _sums(lengths[keep]), places[self.texts], origin, places[self.leads])

    def resized(self, sizes: Offsets) -> tuple[WordSpans, Offsets]:
        """Return the words with byte i repeated sizes[i] times, and the new offset of every byte."""
        places = _sums(sizes)
        word_spans = WordSpans(
            np.repeat(self.text, sizes),
            places[self.words],
            places[self.texts],
            np.repeat(self.origin, sizes, axis=1),
            places[self.leads],
        )
        return word_spans.without_empty(), places

    def within(self, origin: Offsets) -> WordSpans:
        """Return the same words with `origin` mapped through the origin of their source text."""
        begins, ends = self.origin
        return WordSpans(
            self.text, self.words, self.texts, np.stack([origin[0, begins], origin[1, ends - 1]]), self.leads
        )

    def without_empty(self) -> WordSpans:
        """Return the words that are not empty."""
        return self.cut(distinct(self.words, in_order=True)) if (np.diff(self.words) == 0).any() else self


def whole_text(text: Bytes, bounds: Offsets, begins: NDArray[np.bool_], *, tracked: bool) -> WordSpans:
    """Return the texts text[bounds[i]:bounds[i + 1]] as words, without empty ones.

    begins: which texts start at the start of the input. tracked: whether to compute `origin`.
    """
    places = np.arange(len(text) + 1, dtype=np.int64)
    origin = np.stack([places[:-1], places[1:]]) if tracked else np.empty((0, len(text)), np.int64)
    leads = np.where(begins, _char_ends(text, bounds[:-1], bounds[1:]), bounds[:-1])
    return WordSpans(text, distinct(bounds, in_order=True), bounds, origin, leads)


def _char_ends(text: Bytes, at: Offsets, stops: Offsets) -> Offsets:
    """Return the ends, up to `stops`, of the characters at some offsets; an invalid byte is one character (S2)."""
    padded = np.append(text, np.zeros(4, np.uint8))
    lead, second = padded[at], padded[at + 1]
    lengths = 1 + (lead >= 0xC2).astype(np.int64) + (lead >= 0xE0) + (lead >= 0xF0)
    valid = (lead <= 0xF4) & (at + lengths <= stops)
    valid &= (second >= np.select([lead == 0xE0, lead == 0xF0], [0xA0, 0x90], 0x80)) & (second <= 0xBF)
    valid &= second <= np.select([lead == 0xED, lead == 0xF4], [0x9F, 0x8F], 0xBF)
    for k in (2, 3):
        valid &= (lengths <= k) | (padded[at + k] & 0xC0 == 0x80)
    return np.minimum(at + np.where(valid, lengths, 1), stops)


def add_prefix(word_spans: WordSpans, prefix: bytes, first_only: bool) -> WordSpans:
    """Add a prefix to the words that do not begin with it; with `first_only`, only at the start of the input."""
    starts = word_spans.words[:-1]
    has = np.diff(word_spans.words) >= len(prefix)
    for k, byte in enumerate(prefix):
        has &= np.append(word_spans.text, [0] * len(prefix))[starts + k] == byte
    wants = ~has
    if first_only:
        wants &= starts < word_spans.leads[np.searchsorted(word_spans.texts, starts, side="right") - 1]
    at = starts[wants]
    ends = _char_ends(
        word_spans.text, at, word_spans.words[1:][wants]
    )  # the prefix has the origin of the character after it
    sizes = np.ones(len(word_spans.text), np.int64)
    sizes[at] += len(prefix)
    wider, places = word_spans.resized(sizes)
    for k, byte in enumerate(prefix):
        wider.text[places[at] + k] = byte
        wider.origin[1:, places[at] + k] = word_spans.origin[1:, ends - 1]
    return wider


def replace_character(word_spans: WordSpans, old: bytes, new: bytes) -> WordSpans:
    """Replace one character by another."""
    found = np.ones(max(0, len(word_spans.text) - len(old) + 1), np.bool_)
    for k, byte in enumerate(old):
        found &= word_spans.text[k : k + len(found)] == byte
    at = np.flatnonzero(found)
    sizes = np.ones(len(word_spans.text), np.int64)
    for k in range(1, len(old)):
        sizes[at + k] = 0
    sizes[at] = len(new)
    other, places = word_spans.resized(sizes)
    for k, byte in enumerate(new):
        other.text[places[at] + k] = byte
        other.origin[1:, places[at] + k] = word_spans.origin[1:, at + len(old) - 1]
    return other


@cache
def _byte_chars() -> tuple[Bytes, Offsets]:
    """Return the UTF-8 form of every byte's character in GPT-2's table, shape (256, 2), and its length."""
    forms = [char.encode() for char in tokens_to_text([bytes([byte]) for byte in range(256)])]
    return np.array([list(form.ljust(2, b"\0")) for form in forms], np.uint8), np.array([*map(len, forms)], np.int64)


def write_byte_chars(word_spans: WordSpans) -> WordSpans:
    """Replace every byte by its character in GPT-2's table."""
    forms, lengths = _byte_chars()
    wider, places = word_spans.resized(lengths[word_spans.text])
    wider.text[places[:-1]] = forms[word_spans.text, 0]
    long = np.flatnonzero(lengths[word_spans.text] == 2)
    wider.text[places[long] + 1] = forms[word_spans.text[long], 1]
    return wider


def put_bytes_back(word_spans: WordSpans) -> WordSpans:
    """Replace every character of GPT-2's table by its byte: the inverse of `write_byte_chars`."""
    forms, _ = _byte_chars()
    byte_of = np.zeros((256, 256), np.uint8)
    byte_of[forms[:, 0], forms[:, 1]] = np.arange(256)
    heads = (word_spans.text & 0xC0) != 0x80
    tails = np.where(np.append(heads[1:], True), 0, np.append(word_spans.text[1:], 0))
    values = byte_of[word_spans.text[heads], tails[heads]]
    narrow, _ = word_spans.resized(heads.astype(np.int64))
    narrow.text[:] = values
    return narrow


def _sums(sizes: NDArray[np.generic]) -> Offsets:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


def character_spans(data: Bytes, spans: Offsets) -> Offsets:
    """Return character ranges for byte ranges of UTF-8, shape (n, 2); a character cut in two is in both ranges."""
    upto = np.concatenate([np.zeros(1, np.int64), np.cumsum((data & 0xC0) != 0x80)])
    starts = upto[np.minimum(spans[:, 0] + 1, len(data))] - (spans[:, 0] < len(data))
    return np.stack([starts, upto[spans[:, 1]]], axis=1) if len(spans) else spans
