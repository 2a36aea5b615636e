"""Rich results: the encodings of texts and pairs, with template, truncation and padding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from subwords.components.padding import Padding, Truncation, padding_of, truncation_of
from subwords.components.roles import roles_by_name
from subwords.components.template import Inserted, Slot, Template
from subwords.components.trusted import Input, Special, Text
from subwords.encode.unknown import TextError
from subwords.engine.engine import Engine
from subwords.engine.framed import framed, padded
from subwords.engine.framed_rows import RowFrame
from subwords.engine.spans import Located
from subwords.errors import InputError
from subwords.kernels import layout
from subwords.results.encoding import Encoding
from subwords.results.encoding_batch import EncodingBatch
from subwords.spec import TokenizerSpec
from subwords.support.checks import as_list, check_flag, is_column
from subwords.support.threads import thread_count

__all__ = ["Framing", "encoding_of", "encodings_of", "framing_of", "is_one_text"]

_TEXT = frozenset({str})


@dataclass(frozen=True)
class Framing:
    """What is done with the ids of texts: a template around them, truncation, padding; None does nothing."""

    template: Template
    truncation: Truncation | None
    padding: Padding | None

    @cached_property
    def only_adds(self) -> bool:
        """Whether only the ids of the template are put around those of a text."""
        return self.truncation is None and self.padding is None

    @cached_property
    def around(self) -> tuple[int, int] | None:
        """How many ids come before and after those of a single text; None if its spans are changed too."""
        pieces = self.template.pieces(False)
        at = [place for place, piece in enumerate(pieces) if isinstance(piece, Slot)]
        if self.template.trims or len(at) != 1:
            return None
        sizes = [len(piece.ids) if isinstance(piece, Inserted) else 0 for piece in pieces]
        return sum(sizes[: at[0]]), sum(sizes[at[0] :])

    @cached_property
    def single(self) -> RowFrame:
        """The same for single texts in bulk."""
        return RowFrame(self.template, self.truncation, self.padding, pair=False)

    @cached_property
    def pair(self) -> RowFrame:
        """The same for pairs in bulk."""
        return RowFrame(self.template, self.truncation, self.padding, pair=True)


def framing_of(
    spec: TokenizerSpec, template: bool, truncation: Truncation | int | None, padding: Padding | int | None
) -> Framing:
    """Return what the options of `Tokenizer.__call__` mean for a tokenizer; InputError for invalid ones."""
    check_flag("template", template)
    own = spec.template or Template()
    pad = dict(spec.roles or roles_by_name(spec.added_tokens)).get("pad") if padding is not None else None
    filler = None if pad is None else (pad, spec.spellings[pad])
    cut, filled = truncation_of(truncation, spec.truncation), padding_of(padding, spec.padding, filler)
    return Framing(own if template else own.bare, cut, filled)


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
    from subwords.encode.arrow import arrow_places, texts_of

    with arrow_places(texts) as places:
        return [text.decode() for text in texts_of(places)]


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
            make = partial(_whole, engine, framing, text, None, special)
            return Encoding.of_ids(framing.template.apply(ids), make, _Quick(engine, framing, text))
    return _whole(engine, framing, text, pair, special)


def _quick_ids(engine: Engine, text: str) -> list[int] | None:
    """Return the ids of a short text; None if they cost as much as the places do, or if the text is invalid."""
    fast = engine.fast_path
    ids = fast.encode(text)
    if ids is None and fast.works and len(text) <= layout.SHORT_TEXT:
        with suppress(InputError):
            ids = engine.encode(text, "text").tolist()  # makes room for the words that the fast path refuses
    return ids


class _Quick:
    """Fields of the encoding of a short text that follow from its ids, without splitting and encoding it again."""

    __slots__ = ("_engine", "_framing", "_places", "_text")

    def __init__(self, engine: Engine, framing: Framing, text: str) -> None:
        self._engine, self._framing, self._text = engine, framing, text
        self._places: dict[str, Any] | None = None

    def __call__(self, name: str, ids: NDArray[np.uint32]) -> dict[str, Any] | None:
        """Return fields by their names, the one asked for among them; None if `_whole` must find it."""
        if self._places is None:
            self._places = self._found(ids)
        if not self._places or name in self._places:
            return self._places or None
        if self._framing.around != (0, 0):
            return None
        tokens, file_tokens = self._engine.spelled_ids(ids)
        return {"tokens": tuple(tokens), "file_tokens": tuple(file_tokens)}

    def _found(self, ids: NDArray[np.uint32]) -> dict[str, Any]:
        """Return the places of the ids; nothing if they do not cover the text."""
        cover, around = self._engine.cover, self._framing.around
        if cover is None or around is None or not self._engine.is_whole(self._text, "text"):
            return {}
        places = cover.places(self._text, around, ids)
        return {} if places is None else {"byte_spans": places[0], "spans": places[1]}


def _whole(
    engine: Engine, framing: Framing, text: Input, pair: Input | None, special: str | AbstractSet[str]
) -> Encoding:
    """Return the encoding of a text or pair, with its places."""
    if isinstance(text, str) and (pair is None or isinstance(pair, str)):
        with suppress(InputError):  # the long way below says more
            rows = (
                engine.rich.rows(framing.single, (text,), special, 1)
                if pair is None
                else engine.rich.rows(framing.pair, (text, pair), special, 1)
            )
            if rows is not None:
                return Encoding.of_row(rows, 0)
    encoding = _unpadded(engine, framing, [text] if pair is None else [text, pair], special)
    return next(padded([encoding], framing.padding)) if framing.padding else encoding


def encodings_of(
    engine: Engine, framing: Framing, texts: Any, pairs: Any, special: str | AbstractSet[str], threads: int | None
) -> EncodingBatch:
    """Return the encodings of many texts, or of the pairs of two lists; an error names the number of its text."""
    firsts, seconds = _list_of(texts), None
    thread_count(threads)
    if pairs is not None:
        if is_one_text(pairs):
            raise InputError(f"expected a list of {len(firsts)} second texts, not {type(pairs).__name__}")
        seconds = _list_of(pairs)
        if len(seconds) != len(firsts):
            raise InputError(f"expected as many second texts as first texts, not {len(firsts)} and {len(seconds)}")
    every = [*firsts, *(seconds or ())]
    if every and _TEXT.issuperset(map(type, every)):
        with suppress(InputError):  # the long way below says which text
            frame = framing.single if seconds is None else framing.pair
            made = engine.rich.rows(frame, every, special, threads)
            if made is not None:
                return EncodingBatch.of_rows(made, len(firsts))
    rows: list[Any] = [[text] for text in firsts] if seconds is None else [*zip(firsts, seconds, strict=True)]
    found = []
    for number, row in enumerate(rows):
        try:
            found.append(_unpadded(engine, framing, row, special))
        except InputError as error:
            raise TextError(number, str(error)) from None
    filled = padded(found, framing.padding) if framing.padding else found
    return EncodingBatch(tuple(filled), tuple(range(len(rows))))


def _unpadded(engine: Engine, framing: Framing, texts: Sequence[Any], special: str | AbstractSet[str]) -> Encoding:
    return framed(framing.template, [_located(engine, text, special) for text in texts], framing.truncation)


def _located(engine: Engine, text: Any, special: str | AbstractSet[str]) -> Located:
    if not isinstance(text, str | list | tuple):
        hint = "; encode also accepts bytes" if isinstance(text, bytes) else ""
        raise InputError(f"expected text (str), not {type(text).__name__}{hint}")
    return engine.locate(text, special)
