"""`tok(...)`: the encodings of texts and pairs, with template, truncation and padding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from subwords.engine.encoding import Encoding, EncodingBatch, Rows
from subwords.engine.engine import Engine
from subwords.engine.fast_path import FastPaths
from subwords.engine.rows import Framing, IdRows, framing_of
from subwords.kernels import layout
from subwords.models.segmenter import TextError
from subwords.spec.added_token import Input, Special, Text
from subwords.spec.padding import Padding, Truncation
from subwords.spec.tokenizer import TokenizerSpec
from subwords.support.checks import as_list, exact, is_column
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
    if type(texts) is list:
        return texts[:]
    if not is_column(texts):
        return as_list(texts, "texts")
    from subwords.engine.batch import arrow_places, arrow_texts

    with arrow_places(texts) as places:
        return [text.decode() for text in arrow_texts(places)]


class QuickCalls(dict[str, Callable[[object], "Encoding | None"]]):
    """By the way to treat special tokens: the encoding of a short text; None: use the general path, `encoding_of`.

    Row: calls_special, "BERT, tok(line, truncation=128).ids": 53 us without it, 2 with it.
    """

    def __init__(self, engine: Engine, framing: Framing, paths: FastPaths) -> None:
        super().__init__()
        self.engine, self.framing, self._paths = engine, framing, paths

    def __missing__(self, special: str) -> Callable[[object], Encoding | None]:
        engine, framing, array = self.engine, self.framing, self._paths[special].array
        kept = framing.kept

        def call(text: object) -> Encoding | None:
            ids = array(text) if type(text) is str else None
            return None if ids is None or len(ids) > kept else _encoding(engine, framing, text, special, ids)  # type: ignore[arg-type]

        if kept < 0 or not self._paths[special].works:
            return lambda text: None
        self[special] = call
        return call


class Calls:
    """The calls of a tokenizer by their options. paths: those without a template, and those with its own."""

    def __init__(self, engine: Engine, spec: TokenizerSpec, paths: tuple[FastPaths, FastPaths]) -> None:
        self._engine, self._spec, self._paths = engine, spec, paths
        self._made = lru_cache(32, typed=True)(self._make)  # made for each call: 3 us

    @cached_property
    def usual(self) -> QuickCalls:
        """The calls without options."""
        return self._make(True, None, None)

    def _make(self, template: bool, truncation: Any, padding: Any) -> QuickCalls:
        framing = framing_of(self._spec, template, truncation, padding)
        return QuickCalls(self._engine, framing, self._paths[template])

    def of(self, template: bool, truncation: Truncation | int | None, padding: Padding | int | None) -> QuickCalls:
        """Return the calls with these options; InputError for invalid ones."""
        try:
            return self._made(template, truncation, padding)
        except TypeError:  # a value without a hash, which is of a wrong type
            return self._make(template, truncation, padding)

    def run(
        self, quick: QuickCalls, text: Any, pair: Any, special: str | AbstractSet[str], threads: int | None
    ) -> Encoding | EncodingBatch:
        """Return the encoding of a text or a pair, or those of many."""
        if is_one_text(text):
            return encoding_of(quick.engine, quick.framing, text, pair, special, threads)
        return encodings_of(quick.engine, quick.framing, text, pair, special, threads)


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
    texts = [exact(text)] if pair is None else [exact(text), exact(pair)]
    if pair is None and type(texts[0]) is str and framing.only_adds and isinstance(special, str):
        ids = _ids_of(engine, texts[0], special)
        if ids is not None:
            return _encoding(engine, framing, texts[0], special, framing.template.apply(ids))
    try:
        return Encoding(_found(engine, framing, texts, special, 1, pair=pair is not None), 0)
    except TextError as error:
        raise InputError(error.message) from None


def _encoding(engine: Engine, framing: Framing, text: str, special: str, ids: NDArray[np.uint32]) -> Encoding:
    """Return the encoding of a valid text whose ids are known: nothing else can fail, so it waits for its use."""
    ids.setflags(write=False)
    found = Encoding(_OneRow(engine, framing, text, special, ids), 0)
    found.__dict__["ids"] = ids
    return found


def _ids_of(engine: Engine, text: str, special: str) -> NDArray[np.uint32] | None:
    """Return the ids of a short text that the fast path refused; None if they cost as much as the spans do."""
    if engine.fast_paths[special].works and len(text) <= layout.LONG_TEXT:
        with suppress(InputError):
            return engine.encode(text, special)  # makes room for the words that the fast path refuses
    return None


class _OneRow:
    """The row of a short text whose ids are known: what they tell is not made by splitting and encoding it again.

    ids: with those of the template.
    """

    __slots__ = ("_engine", "_framing", "_ids", "_quick", "_row", "_special", "_text")

    def __init__(self, engine: Engine, framing: Framing, text: str, special: str, ids: NDArray[np.uint32]) -> None:
        self._engine, self._framing, self._text, self._special, self._ids = engine, framing, text, special, ids
        self._quick: dict[str, Any] = {}
        self._row: Rows | None = None

    def field(self, name: str, index: int) -> Any:
        """Return a field of the encoding."""
        if name == "ids":
            return self._ids
        if self._row is None:
            if name not in self._quick and name in _TOLD:
                self._quick.update(_TOLD[name](self))
            if name in self._quick:
                return self._quick[name]
            self._row = _one(self._engine, self._framing, (self._text,), self._special)
        return self._row.field(name, index)

    def first_tokens(self, index: int, most: int) -> tuple[str, ...]:
        """Return the first tokens."""
        return self.field("tokens", index)[:most]  # type: ignore[no-any-return]

    def _spelled(self) -> dict[str, Any]:
        """Return the tokens; nothing if one may be shown as another text than that of the vocabulary."""
        if self._framing.tokens is None:
            return {}
        before, after = self._framing.tokens
        ids = self._ids.tolist()[len(before) : len(self._ids) - len(after)]
        if not self._engine.shown_otherwise.isdisjoint(ids):
            return {}
        tokens, file_tokens, _ = self._engine.spelling
        return {
            "tokens": (*before, *[tokens[index] for index in ids], *after),
            "file_tokens": (*before, *[file_tokens[index] for index in ids], *after),
        }

    def _spans(self) -> dict[str, Any]:
        """Return the spans; nothing if the ids do not cover the text."""
        engine, around = self._engine, self._framing.around
        cover = engine.cover
        if (
            cover is None
            or around is None
            or not cover.may_cover(self._text)
            or not engine.is_whole(self._text, self._special)
        ):
            return {}
        found = cover.places(self._text, around, self._ids)
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
    firsts, names = _list_of(texts), framing.names
    count = len(firsts)
    if threads is not None:
        thread_count(threads)
    if pairs is None:
        return EncodingBatch(_found(engine, framing, firsts, special, threads, pair=False), range(count), names=names)
    if is_one_text(pairs):
        raise InputError(f"expected a list of {count} second texts, not {type(pairs).__name__}")
    seconds = _list_of(pairs)
    if len(seconds) != count:
        raise InputError(f"expected as many second texts as first texts, not {count} and {len(seconds)}")
    try:
        return EncodingBatch(
            _found(engine, framing, [*firsts, *seconds], special, threads, pair=True), range(count), names=names
        )
    except TextError as error:
        raise TextError(error.number % max(1, count), error.message) from None


def _found(
    engine: Engine,
    framing: Framing,
    texts: list[Any],
    special: str | AbstractSet[str],
    threads: int | None,
    *,
    pair: bool,
) -> Rows | IdRows:
    """Return the rows of texts: their ids, and the rest when it is asked for; all at once if that might fail."""
    frame = framing.pair if pair else framing.single

    def whole() -> Rows:
        return _rows(engine, framing, [*map(exact, texts)], special, threads, pair=pair)

    quick = engine.fast_paths[special].rows(texts) if isinstance(special, str) else None
    if quick is None and {*map(type, texts)} == {str}:
        with suppress(InputError):  # the general path raises it again
            batch = engine.encode_batch(texts, special, threads)
            quick = [batch.ids, batch.offsets]
    found = None if quick is None else frame.rows_of_ids(quick[0], quick[1], whole)
    return whole() if found is None else found
