"""Ids to text while the ids arrive, and the characters that each id gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from subwords.engine.decode.decode_ids import as_ids
from subwords.engine.decode.source import Source
from subwords.engine.decode.traced import joined
from subwords.errors import InputError

__all__ = ["DecodeStream", "text_and_spans", "text_of"]

_NO_IDS = np.zeros(0, np.int64)


class DecodeStream:
    """Text of ids that arrive one by one; made by `Tokenizer.stream`, for one text and one thread.

    It cannot be copied or pickled (InputError): keep the ids, and `tok.stream(prompt=ids)` continues after them.

    The pieces that `step` and `finish` return join to `tok.decode(ids)`. A piece never ends inside a character and is
    never taken back: text waits while a later id could change it. Time is linear in the number of ids.

    Hazard: some decoders, such as a regex after Fuse, return no text before the last id: `finish` returns it.

    >>> import subwords
    >>> tok = subwords.train(["é"], vocab_size=256)
    >>> stream = tok.stream()
    >>> [stream.step(index) for index in tok.encode("é!")], stream.finish()
    (['', 'é', '!'], '')
    """

    __slots__ = ("_count", "_is_finished", "_quick", "_shown", "_skipped", "_source")

    def __init__(
        self,
        source: Source,
        skipped: AbstractSet[int] = frozenset(),
        prompt: NDArray[np.int64] = _NO_IDS,
        shown: str = "",
    ) -> None:
        self._source = source
        self._skipped = skipped
        self._count = 0
        self._is_finished = False
        self._shown = shown  # the rest of the prompt's text, which is not returned
        self._quick = 0 if shown else source.size  # ids below it need nothing but their text
        for index in prompt.tolist():
            if index not in skipped:
                self._new(source.text(index))

    def step(self, ids: int | Iterable[int] | NDArray[np.integer[Any]]) -> str:
        """Take the next id, or several; return the text that is now final, "" if there is none yet.

        Raises InputError for an invalid id, with its position, and after `finish`. The stream then stays as it was.
        """
        if type(ids) is int and 0 <= ids < self._quick:
            self._count += 1
            return "" if ids in self._skipped else self._source.text(ids)
        if self._is_finished:
            raise InputError("expected no ids after finish(): tok.stream() returns a new stream")
        text = joined([self._source.feed(index, (at, at + 1)) for at, index in self._checked(ids)]).text
        return self._new(text) if self._shown else text

    def _new(self, text: str) -> str:
        """Return what follows the text of the prompt, or differs from it."""
        shown, same = self._shown, 0
        most = min(len(shown), len(text))
        while same < most and shown[same] == text[same]:
            same += 1
        self._shown = shown[same:] if same == len(text) else ""
        self._quick = 0 if self._shown else self._source.size
        return text[same:]

    def _checked(self, ids: int | Iterable[int] | NDArray[np.integer[Any]]) -> list[tuple[int, int]]:
        first = self._count
        if isinstance(ids, int | np.integer) and not isinstance(ids, bool):
            flat = [int(ids)]
        else:
            flat = as_ids(ids).tolist()  # type: ignore[arg-type]  # it refuses a bool
        for at, index in enumerate(flat, first):
            if not 0 <= index < self._source.size:
                raise InputError(f"expected ids from 0 to {self._source.size - 1}; ids[{at}] is {index}")
        self._count += len(flat)
        return [(at, index) for at, index in enumerate(flat, first) if index not in self._skipped]

    def finish(self) -> str:
        """Return the text that waited; an incomplete character is U+FFFD. "" if called again."""
        if self._is_finished:
            return ""
        self._is_finished = True
        text = self._source.finish().text
        text = self._new(text) if self._shown else text
        self._quick = 0
        return text

    def __reduce__(self) -> NoReturn:
        raise InputError(
            "a DecodeStream cannot be copied or pickled: keep the ids, and tok.stream(prompt=ids) continues after them"
        )

    def __repr__(self) -> str:
        return f"DecodeStream({self._count} ids{', finished' if self._is_finished else ''})"

    def feed(self, ids: Iterable[int]) -> Iterator[str]:
        """Yield the text of ids as they arrive, without empty pieces, and finish.

        >>> import subwords
        >>> tok = subwords.train(["ab ab"], vocab_size=258)
        >>> list(tok.stream().feed(tok.encode("ab ab")))
        ['ab', ' ab']
        """
        if not isinstance(ids, Iterable) or isinstance(ids, str | bytes | bytearray | AbstractSet | Mapping):
            raise InputError(f"expected ids one by one, not {type(ids).__name__}")
        for index in ids:
            if text := self.step(index):
                yield text
        if text := self.finish():
            yield text


def text_of(source: Source, ids: NDArray[np.int64], skipped: AbstractSet[int] = frozenset()) -> str:
    """Return the text of ids; InputError for an id out of range, with its position."""
    outside = (ids < 0) | (ids >= source.size)
    if outside.any():
        at = int(outside.argmax())
        raise InputError(f"expected ids from 0 to {source.size - 1}; ids[{at}] is {ids[at]}")
    parts = [source.text(index) for index in ids.tolist() if index not in skipped]
    return "".join([*parts, source.finish().text])


def text_and_spans(
    source: Source, ids: NDArray[np.int64], skipped: AbstractSet[int] = frozenset()
) -> tuple[str, NDArray[np.int64]]:
    """Return the text of ids and the range of its characters that each id gives; see `Tokenizer.decode_with_spans`."""
    parts = []
    for at, index in enumerate(ids.tolist()):
        if not 0 <= index < source.size:
            raise InputError(f"expected ids from 0 to {source.size - 1}; ids[{at}] is {index}")
        if index not in skipped:
            parts.append(source.feed(index, (at, at + 1)))
    whole = joined([*parts, source.finish()])
    # Characters are in the order of their ids; a normalizer may report a neighbor's place.
    first, stop = np.maximum.accumulate(np.array(whole.places, np.int64).reshape(-1, 2), axis=0).T
    order = np.arange(len(ids))
    return whole.text, np.stack([np.searchsorted(stop, order, "right"), np.searchsorted(first, order, "right")], 1)
