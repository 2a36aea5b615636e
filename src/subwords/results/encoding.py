"""Encoding: ids, tokens, spans and masks of one encoded text or pair of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from subwords.errors import InputError
from subwords.support.value import Value, read_only

__all__ = ["Encoding"]

_MOST_SHOWN = 1000  # tokens
_COLOURS = ("#cfe8ff", "#d9f2d0", "#ffe3c2", "#f3d6f5", "#fff3b0")
_SPECIAL_COLOUR = "#dddddd"


@dataclass(frozen=True, eq=False, repr=False)
class Encoding(Value):
    """One text, or a pair of texts, with one entry per token; immutable.

    ids: uint32. tokens: strings. spans: int64, shape (n, 2), character offsets in the text. type_ids: uint32.
    special_mask: uint8, 1 for tokens that a template added. word_ids: number of the token's word in its text.
    ranges: positions of the tokens of each text. Tokens of a template have the span (0, 0) and word id None.
    """

    ids: NDArray[np.uint32]
    tokens: tuple[str, ...]
    spans: NDArray[np.int64]
    word_ids: tuple[int | None, ...]
    type_ids: NDArray[np.uint32]
    special_mask: NDArray[np.uint8]
    ranges: tuple[range, ...]

    @classmethod
    def of_text(
        cls, ids: NDArray[np.uint32], tokens: Sequence[str], spans: NDArray[np.int64], word_ids: Sequence[int | None]
    ) -> Encoding:
        """Return the encoding of one text without a template.

        >>> import numpy as np
        >>> from subwords.results.encoding import Encoding
        >>> Encoding.of_text(np.array([5, 6]), ["so", "##n"], np.array([[0, 2], [2, 3]]), [0, 0]).char_to_token(2)
        1
        """
        n = len(ids)
        if not n == len(tokens) == len(spans) == len(word_ids):
            sizes = f"{n} ids, {len(tokens)} tokens, {len(spans)} spans, {len(word_ids)} word ids"
            raise InputError(f"expected one entry per token in each, not {sizes}")
        flags = np.zeros(n, np.uint32), np.zeros(n, np.uint8)
        flat = np.asarray(spans, np.int64).reshape(n, 2)
        return cls(np.asarray(ids, np.uint32), tuple(tokens), flat, tuple(word_ids), *flags, (range(n),))

    def __post_init__(self) -> None:
        for name in ("ids", "spans", "type_ids", "special_mask"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def attention_mask(self) -> NDArray[np.uint8]:
        """1 for every token, because there is no padding (uint8)."""
        return np.ones(len(self), np.uint8)

    @property
    def sequence_ids(self) -> tuple[int | None, ...]:
        """The text that each token belongs to, 0 or 1; None for tokens of a template."""
        found: list[int | None] = [None] * len(self)
        for number, places in enumerate(self.ranges):
            found[places.start : places.stop] = [number] * len(places)
        return tuple(found)

    def char_to_token(self, char: int, sequence: int = 0) -> int | None:
        """Return the first token whose span contains a character of text 0 or 1; None if no token does."""
        _check_place("char", char)
        places = self._range(sequence)
        spans = self.spans[places.start : places.stop]
        found = np.flatnonzero((spans[:, 0] <= char) & (char < spans[:, 1]))
        return places.start + int(found[0]) if found.size else None

    def token_to_chars(self, token: int) -> tuple[int, int] | None:
        """Return the span of a token; None for tokens of a template and for invalid positions."""
        _check_place("token", token)
        if not any(token in places for places in self.ranges):
            return None
        start, stop = self.spans[token].tolist()
        return start, stop

    def word_to_tokens(self, word: int, sequence: int = 0) -> tuple[int, int] | None:
        """Return a word's first token and the position after its last token; None if the word has no tokens."""
        _check_place("word", word)
        places = self._range(sequence)
        found = [place for place in places if self.word_ids[place] == word]
        return (found[0], found[-1] + 1) if found else None

    def _range(self, sequence: int) -> range:
        _check_place("sequence", sequence)
        if not 0 <= sequence < len(self.ranges):
            raise InputError(f"expected a text number from 0 to {len(self.ranges) - 1}, not {sequence!r}")
        return self.ranges[sequence]

    def __repr__(self) -> str:
        shown = " ".join(map(repr, self.tokens[:8]))
        return f"Encoding({len(self)} tokens: {shown}{' ...' if len(self) > 8 else ''})"

    def _repr_html_(self) -> str:
        entries = zip(self.tokens, self.ids.tolist(), self.spans.tolist(), self.special_mask.tolist(), strict=True)
        marks = []
        for place, (token, index, (start, stop), special) in enumerate(entries):
            if place == _MOST_SHOWN:
                marks.append(f"<span>and {len(self) - place} more</span>")
                break
            colour = _SPECIAL_COLOUR if special else _COLOURS[place % len(_COLOURS)]
            title = f"id {index}" if special else f"id {index}, characters {start} to {stop}"
            style = f"background:{colour};color:#000;white-space:pre;padding:1px 2px;border-radius:3px"
            marks.append(f'<span title="{title}" style="{style}">{escape(token)}</span>')
        return f'<div style="font-family:monospace;line-height:1.8">{" ".join(marks)}</div>'


def _check_place(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InputError(f"expected {name} to be an integer, not {value!r:.60}")
