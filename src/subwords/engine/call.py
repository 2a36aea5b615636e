"""`tok(...)`: the encodings of texts and pairs, with template, truncation and padding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from subwords.engine.encoding import Encoding, EncodingBatch, Rows
from subwords.engine.engine import Engine
from subwords.engine.rows import Framing
from subwords.kernels import layout
from subwords.models.segmenter import TextError
from subwords.spec.added_token import Input, Special, Text
from subwords.support.checks import as_list, is_column
from subwords.support.errors import InputError
from subwords.support.threads import thread_count


def is_one_text(text: object) -> TypeGuard[Input]:
    """Whether an argument is one text, not several: also a list of Text and Special."""
    if isinstance(text, str):
        return True
    if isinstance(text, list | tuple):
        return bool(text) and isinstance(text[0], Text | Special)
    if is_column(text):
        return False
    return not isinstance(text, Iterable) or isinstance(text, str | bytes)


def _list_of(texts: Any) -> list[Any]:
    if not is_column(texts):
        return as_list(texts, "texts")
    from subwords.engine.batch import arrow_places, arrow_texts

    with arrow_places(texts) as places:
        return [text.decode() for text in arrow_texts(places)]


def encoding_of(
    engine: Engine,
    framing: Framing,
    text: Input,
    pair: Input | None,
    special: str | AbstractSet[str],
    threads: int | None = None,
) -> Encoding:
    """Return the encoding of a text or pair; InputError if a number of threads is given."""
    if threads is not None:
        raise InputError("threads is an option for a list of texts; this is one text")
    if pair is None and type(text) is str and framing.only_adds and isinstance(special, str) and special == "text":
        ids = _quick_ids(engine, text)
        if ids is not None:  # the text is valid, and nothing below can fail: it may wait until it is asked for
            return Encoding(_OneRow(engine, framing, text, ids), 0)
    return Encoding(_one(engine, framing, (text,) if pair is None else (text, pair), special), 0)


def _quick_ids(engine: Engine, text: str) -> list[int] | None:
    """Return the ids of a short text; None if they cost as much as the spans do, or if the text is invalid."""
    fast = engine.fast_path
    ids = fast.encode(text)
    if ids is None and fast.works and len(text) <= layout.SHORT_TEXT:
        with suppress(InputError):
            ids = engine.encode(text, "text").tolist()  # makes room for the words that the fast path refuses
    return ids


class _OneRow:
    """The row of a short text whose ids are known: what they tell is not made by splitting and encoding it again."""

    __slots__ = ("_array", "_engine", "_framing", "_ids", "_quick", "_row", "_text")

    def __init__(self, engine: Engine, framing: Framing, text: str, ids: list[int]) -> None:
        self._engine, self._framing, self._text, self._ids = engine, framing, text, ids
        self._array: NDArray[np.uint32] | None = None
        self._quick: dict[str, Any] = {}
        self._row: Rows | None = None

    def field(self, name: str, index: int) -> Any:
        """Return a field of the encoding."""
        if name == "ids":
            return self._all_ids()
        if self._row is None:
            if name not in self._quick and name in _TOLD:
                self._quick.update(_TOLD[name](self))
            if name in self._quick:
                return self._quick[name]
            self._row = _one(self._engine, self._framing, (self._text,), "text")
        return self._row.field(name, index)

    def first_tokens(self, index: int, most: int) -> tuple[str, ...]:
        """Return the first tokens."""
        return self.field("tokens", index)[:most]  # type: ignore[no-any-return]

    def _all_ids(self) -> NDArray[np.uint32]:
        if self._array is None:
            framing, ids = self._framing, self._ids
            self._array = found = np.array(ids if framing.around == (0, 0) else framing.template.apply(ids), np.uint32)
            found.setflags(write=False)
        return self._array

    def _spelled(self) -> dict[str, Any]:
        """Return the tokens; nothing if the template adds some, or if they may not be those of the vocabulary."""
        if self._framing.around != (0, 0):
            return {}
        if "spans" not in self._quick:
            self._quick.update(self._spans())
        if "spans" not in self._quick:
            return {}
        tokens, file_tokens, _ = self._engine.spelling
        return {
            "tokens": tuple([tokens[index] for index in self._ids]),
            "file_tokens": tuple([file_tokens[index] for index in self._ids]),
        }

    def _spans(self) -> dict[str, Any]:
        """Return the spans; nothing if the ids do not cover the text."""
        engine, around = self._engine, self._framing.around
        cover = engine.cover
        if (
            cover is None
            or around is None
            or not cover.may_cover(self._text)
            or not engine.is_whole(self._text, "text")
        ):
            return {}
        found = cover.places(self._text, around, self._all_ids())
        return {} if found is None else {"byte_spans": found[0], "spans": found[1]}


_TOLD: dict[str, Callable[[_OneRow], dict[str, Any]]] = {
    "tokens": _OneRow._spelled,
    "file_tokens": _OneRow._spelled,
    "spans": _OneRow._spans,
    "byte_spans": _OneRow._spans,
}


def _one(engine: Engine, framing: Framing, texts: Sequence[Input], special: str | AbstractSet[str]) -> Rows:
    """Return the row of a text or pair."""
    try:
        return _rows(engine, framing, texts, special, 1, pair=len(texts) > 1)
    except TextError as error:
        raise InputError(error.message) from None


def _rows(
    engine: Engine,
    framing: Framing,
    texts: Sequence[Any],
    special: str | AbstractSet[str],
    threads: int | None,
    *,
    pair: bool,
) -> Rows:
    """Return the rows of texts, or of pairs: first all first texts, then all second ones."""
    frame = framing.pair if pair else framing.single
    return frame.rows(engine.spans.find(texts, special, threads), texts, engine.spelling)


def encodings_of(
    engine: Engine, framing: Framing, texts: Any, pairs: Any, special: str | AbstractSet[str], threads: int | None
) -> EncodingBatch:
    """Return the encodings of many texts, or of the pairs of two lists; an error names the number of its text."""
    firsts = _list_of(texts)
    count = len(firsts)
    thread_count(threads)
    if pairs is None:
        return EncodingBatch(_rows(engine, framing, firsts, special, threads, pair=False), range(count))
    if is_one_text(pairs):
        raise InputError(f"expected a list of {count} second texts, not {type(pairs).__name__}")
    seconds = _list_of(pairs)
    if len(seconds) != count:
        raise InputError(f"expected as many second texts as first texts, not {count} and {len(seconds)}")
    try:
        return EncodingBatch(_rows(engine, framing, [*firsts, *seconds], special, threads, pair=True), range(count))
    except TextError as error:
        raise TextError(error.number % max(1, count), error.message) from None
