"""Ids to text while the ids arrive, and the characters that each id gives."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from operator import add, call
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords.engine.decode.decoding import (
    BYTE_TOKEN,
    Traced,
    bytes_of_letters,
    decode_bytes,
    flat_steps,
    join_texts,
)
from subwords.engine.decode.stages import AT_REST, IdSource, TokenSource
from subwords.spec.decoder import ByteDecoder, ByteFallback, Decoder
from subwords.spec.token_batch import MOST_AS_LIST, NO_IDS, TokenBatch, as_ids
from subwords.spec.vocab import Vocab
from subwords.support.checks import as_index, as_list, check_flag, check_integer, check_token, is_column
from subwords.support.errors import InputError

if TYPE_CHECKING:
    from subwords.engine.added_tokens import AddedTokens
    from subwords.engine.decode.joined import Joined
    from subwords.engine.decode.token_table import TokenTable
    from subwords.spec.tokenizer import TokenizerSpec


# ---------------------------------------------------------------------------------------------------------------------
# What ends a text (ALGORITHMS.md, D8).

Ids: TypeAlias = Iterable[int] | NDArray[np.integer[Any]]
StopLike: TypeAlias = str | int | Iterable[str | int]


@dataclass(frozen=True, slots=True)
class Stop:
    """What ended the text of a stream.

    stop: the text or the id. characters: how many of the stream's characters are before it. ids: how many of the
    stream's ids these need; all ids before it, if it is an id.
    """

    stop: str | int
    characters: int
    ids: int


class StopTexts:
    """Texts that end a text, as an automaton (Aho and Corasick, 1975): time is linear in the text that is read.

    A node is a beginning of one of them; node 0 is "". depths: the characters of each node.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._moves: list[dict[str, int]] = [{}]
        self._fails, self._found = [0], [""]  # the longest node that ends another; the longest text that ends it
        self._begins = [""]  # a text that begins with the node
        self.depths: list[int] = [0]
        for text in texts:
            node = 0
            for char in text:
                node = self._moves[node].get(char) or self._added(node, char, text)
            self._found[node] = text
        queue = deque(self._moves[0].values())
        while queue:
            node = queue.popleft()
            for char, child in self._moves[node].items():
                self._fails[child] = self._after(self._fails[node], char)
                self._found[child] = self._found[child] or self._found[self._fails[child]]
                queue.append(child)
        self._first = re.compile(f"[{re.escape(''.join(self._moves[0]))}]")

    def _added(self, node: int, char: str, text: str) -> int:
        child = self._moves[node][char] = len(self._moves)
        self._moves.append({})
        self._fails.append(0)
        self._found.append("")
        self._begins.append(text)
        self.depths.append(self.depths[node] + 1)
        return child

    def _after(self, node: int, char: str) -> int:
        while (after := self._moves[node].get(char)) is None and node:
            node = self._fails[node]
        return after or 0

    def read(self, node: int, text: str) -> tuple[int, int, str]:
        """Read a text from a node on: the last node, the end of the stop, and the stop; "" if there is none."""
        at, found, first = 0, self._found, self._first
        while at < len(text):
            if not node:
                match = first.search(text, at)
                if match is None:
                    break
                at = match.start()
            node = self._after(node, text[at])
            at += 1
            if found[node]:
                return node, at, found[node]
        return node, len(text), ""

    def start(self, node: int, stop: int) -> str:
        """Return the first characters of a node, at most `stop`."""
        return self._begins[node][: min(stop, self.depths[node])]


def check_stop(stop: StopLike | None, size: int) -> tuple[tuple[str, ...], frozenset[int]]:
    """Return the texts and the ids that end a text; ids are below `size`. InputError for others."""
    flat: Any = () if stop is None else [stop] if isinstance(stop, str | int | np.integer) else stop
    if isinstance(flat, bytes | Mapping) or not isinstance(flat, Iterable):
        raise InputError(f"expected stop to be texts or ids, not {type(stop).__name__} {stop!r:.60}")
    texts, ids = dict[str, None](), set[int]()
    for each in flat:
        if isinstance(each, str):
            check_token("stop", each)
            texts[each] = None
        elif isinstance(each, int | np.integer) and not isinstance(each, bool):
            check_integer("stop", int(each), 0, size - 1)
            ids.add(int(each))
        else:
            raise InputError(f"expected stop to be texts or ids, not {type(each).__name__} {each!r:.60}")
    return tuple(texts), frozenset(ids)


# ---------------------------------------------------------------------------------------------------------------------
# Streams.

MOST_ENTRIES = 1 << 17  # of a table, beside those of its first state
MOST_REPLAYED = 64  # ids
_START: tuple[int, int] = (0, 0)

_State: TypeAlias = tuple[tuple[bytes, ...], int]
_Ready: TypeAlias = Callable[[Any], Any]
_UNKNOWN: _Ready = MappingProxyType[Any, Any]({}).get


class Move(NamedTuple):
    """What an id gives in a state: a text, and the entries of the next state; `rests` if that is REST."""

    text: str
    ready: _Ready
    rests: bool


class StreamTable:
    """What streams with the same options share: what ids give in the states that came before.

    skipped, stop_ids: ids that give no text, and that end it. stops: texts that end it. A state is that of the source
    and the node of `stops`. rest: the entries of the state in which nothing waits: a text if the state stays, otherwise
    a `Move`. With `stops`, an id that leads there gives the last character.
    """

    def __init__(self, skipped: AbstractSet[int], stop_ids: AbstractSet[int], stops: StopTexts | None) -> None:
        self.skipped: AbstractSet[int] = skipped
        self.stop_ids: AbstractSet[int] = stop_ids
        self.stops: StopTexts | None = stops
        self.rest: dict[int, Any] = {}
        self._states: dict[_State, dict[int, Any]] = {REST: self.rest}
        self._left = MOST_ENTRIES

    def add(self, before: _State, index: int, text: str, after: _State) -> None:
        """Note what an id gives in a state."""
        if before == after == REST:
            self.rest[index] = text
        elif self._left > 0:
            self._left -= 1
            ready = self._states.setdefault(after, {}).get
            self._states.setdefault(before, {})[index] = Move(text, ready, after == REST)


REST: _State = (AT_REST, 0)


class DecodeStream:
    """Text of ids that arrive one by one; made by `Tokenizer.stream`, for one text and one thread.

    It cannot be copied or pickled (InputError): keep the ids, and `tok.stream(prompt=ids)` continues after them.

    The pieces that `step` and `finish` return join to `tok.decode(ids)`, up to a stop. A piece never ends inside a
    character and is never taken back: text waits while a later id could change it, or complete a stop. Time is linear
    in the number of ids. `stopped` is None, then the `Stop`; later ids give "".

    Hazard: some decoders, such as a regex after Fuse, return no text before the last id: `finish` returns it.

    >>> import subwords
    >>> tok = subwords.train(["é"], vocab_size=256)
    >>> stream = tok.stream()
    >>> [stream.step(index) for index in tok.encode("é!")], stream.finish()
    (['', 'é', '!'], '')
    """

    __slots__ = (
        *("_chars", "_count", "_is_finished", "_log", "_marks", "_node", "_ready", "_shown", "_source", "_table"),
        *("_unread", "stopped"),
    )

    def __init__(self, source: IdSource, table: StreamTable, prompt: Sequence[int] = (), shown: str = "") -> None:
        self._source, self._table = source, table
        self._count = self._chars = 0  # of the ids and of their final text, but for ...
        self._unread = 0  # characters that came from the table; the source is at rest then, but for ...
        self._log: list[int] = []  # ids that it has not read
        self._is_finished = False
        self._shown = ""  # the rest of the prompt's text, which is not returned
        self._node = 0  # the part of a stop at the end, which waits
        self._marks: deque[tuple[int, int]] = deque(
            [_START]
        )  # numbers of characters, and the ids that give them, from the last returned on
        self.stopped: Stop | None = None
        size = 0
        for index in prompt:
            if index not in table.skipped:
                size += len(source.feed(index, _START).text)
        self._shown = shown[size:]
        self._find_state()

    @property
    def _may_stop(self) -> bool:
        return bool(self._table.stops or self._table.stop_ids)

    def step(self, ids: int | Iterable[int] | NDArray[np.integer[Any]]) -> str:
        """Take the next id, or several; return the text that is now final, "" if there is none yet.

        Raises InputError for an invalid id, with its position, and after `finish`. The stream then stays as it was.
        """
        if type(ids) is int and type(text := self._ready(ids)) is str:
            self._count += 1
            self._unread += len(text)
            return text
        if self._is_finished:
            raise InputError("expected no ids after finish(): tok.stream() returns a new stream")
        return "".join([self._next(index, self._ready(index)) for index in self._checked(ids, self._count)])

    def _checked(self, ids: int | Iterable[int] | NDArray[np.integer[Any]], first: int) -> list[int]:
        if isinstance(ids, int | np.integer) and not isinstance(ids, bool):
            flat = [int(ids)]
        else:
            flat = as_ids(ids).tolist()  # type: ignore[arg-type]  # it refuses a bool
        for at, index in enumerate(flat, first):
            if not 0 <= index < self._source.size:
                raise InputError(f"expected ids from 0 to {self._source.size - 1}; ids[{at}] is {index}")
        return flat

    def _next(self, index: int, found: Any) -> str:
        """Return the text of the next id, which is valid; `found` is its entry in the table, or None."""
        if type(found) is str:
            self._count += 1
            self._unread += len(found)
            return found
        log = self._log
        if found is None or len(log) >= MOST_REPLAYED:
            return "" if self.stopped else self._learn(index)
        text: str
        text, self._ready, rests = found
        if not log:
            self._chars += self._unread
            self._unread = 0
        if rests:
            log.clear()
        else:
            log.append(index)
        self._count += 1
        self._unread += len(text)
        return text

    def _learn(self, index: int) -> str:
        """Return the text of the next id, and put it in the table."""
        self._replay()
        table = self._table
        if index in table.stop_ids:
            text = self._last()
            self.stopped = self.stopped or Stop(index, self._chars, self._count)
            return text
        before = self._state
        text = self._read(index)
        after = self._find_state()
        if before and after and not (table.stops and after == REST and self._marks[-1] != (self._chars, self._count)):
            table.add(before, index, text, after)
        return text

    def _replay(self) -> None:
        """Let the source read what came from the table."""
        log, self._log = self._log, []
        if not log:
            self._chars += self._unread
        self._unread = 0
        self._count -= len(log)
        if self._marks[-1][0] < self._chars:  # at rest, where the last id gave the last character
            self._marks = deque([(self._chars, self._count)])
        for index in log:
            self._read(index)
        self._ready = _UNKNOWN

    def _read(self, index: int) -> str:
        """Return the text of the next id, read by the source."""
        at, stops = self._count, self._table.stops
        self._count = at + 1
        if index in self._table.skipped:
            return ""
        if stops is not None:
            return self._before_stop(stops, self._new(self._source.feed(index, (at, at + 1))))
        text = self._new(Traced(self._source.text(index), [])).text
        self._chars += len(text)
        return text

    @property
    def _state(self) -> _State | None:
        if self._shown or self._is_finished or self.stopped is not None:
            return None
        state = self._source.state
        return None if state is None else (state, self._node)

    def _find_state(self) -> _State | None:
        """Return the state; use the table if it is REST."""
        state = self._state
        self._ready = self._table.rest.get if state == REST else _UNKNOWN  # finds an id in the table
        return state

    def _new(self, text: Traced) -> Traced:
        """Return what follows the text of the prompt, or differs from it."""
        shown, same = self._shown, 0
        if not shown:
            return text
        most = min(len(shown), len(text.text))
        while same < most and shown[same] == text.text[same]:
            same += 1
        self._shown = shown[same:] if same == len(text.text) else ""
        return text.part(same, len(text.text))

    def _before_stop(self, stops: StopTexts, text: Traced) -> str:
        """Take final text; return what no stop may include, up to the stop if there is one."""
        start, marks, last = self._chars, self._marks, self._node
        for at, (_, ids) in enumerate(text.places, start + 1):
            if ids > marks[-1][1]:
                marks.append((at, ids))
            else:
                marks[-1] = (at, marks[-1][1])
        self._node, end, stop = stops.read(last, text.text)
        self._chars = start + end - (len(stop) if stop else 0)
        held = stops.depths[last]
        size = held + end - (len(stop) if stop else stops.depths[self._node])
        released = self._chars if stop else self._chars - stops.depths[self._node]
        while len(marks) > 1 and marks[0][0] < released:
            marks.popleft()
        if stop:
            self.stopped = Stop(stop, released, marks[0][1] if released else 0)
        return stops.start(last, size) + text.text[: max(0, size - held)]

    def _last(self) -> str:
        """Return the text that waited, if the ids end here."""
        text, stops = self._new(self._source.finish()), self._table.stops
        if stops is None:
            self._chars += len(text.text)
            return text.text
        found = self._before_stop(stops, text)
        return found if self.stopped else found + stops.start(self._node, stops.depths[self._node])

    def finish(self) -> str:
        """Return the text that waited; an incomplete character is U+FFFD. "" if called again, and after a stop."""
        if self._is_finished:
            return ""
        self._is_finished = True
        if self.stopped:
            return ""
        self._replay()
        return self._last()

    def __reduce__(self) -> NoReturn:
        raise InputError(
            "a DecodeStream cannot be copied or pickled: keep the ids, and tok.stream(prompt=ids) continues after them"
        )

    def __repr__(self) -> str:
        state = f", stopped by {self.stopped.stop!r:.60}" if self.stopped else ""
        return f"DecodeStream({self._count} ids{state}{', finished' if self._is_finished else ''})"

    def feed(self, ids: Iterable[int]) -> Iterator[str]:
        """Yield the text of ids as they arrive, without empty pieces, and finish; take no more ids after a stop.

        >>> import subwords
        >>> tok = subwords.train(["ab ab"], vocab_size=258)
        >>> list(tok.stream().feed(tok.encode("ab ab")))
        ['ab', ' ab']
        """
        if not isinstance(ids, Iterable) or isinstance(ids, NO_IDS):
            raise InputError(f"expected ids one by one, not {type(ids).__name__}")
        for index in ids:
            if text := self.step(index):
                yield text
            if self.stopped:
                break
        if text := self.finish():
            yield text


class DecodeStreams:
    """Streams of many texts, one call a step; made by `Tokenizer.streams`, for one thread.

    Each slot gives what a `DecodeStream` of its own gives. `stopped` has None or the `Stop` of each slot.

    >>> import subwords
    >>> tok = subwords.load("demo")
    >>> streams = tok.streams(2, stop=".")
    >>> ids = tok.encode_batch(["Rays of light.", "are refracted"]).to_lists()
    >>> [streams.step(step) for step in zip(*ids)]
    [['Rays', 'are'], [' of', ' refracted']]
    """

    def __init__(self, new: Callable[[Ids, StopLike], DecodeStream], size: int, stop: StopLike) -> None:
        self._new, self._stop = new, stop
        self._slots = [new((), stop) for _ in range(size)]
        self._ready = [slot._ready for slot in self._slots]
        self._stopped: list[Stop | None] = [None] * size
        self._steps = 0
        self._known_steps = [0] * size  # those that the stream of a slot has counted
        self._counts = self._slots[0]._may_stop  # characters
        self._chars = [0] * size  # those that it has not counted

    def __len__(self) -> int:
        """Return the number of slots."""
        return len(self._slots)

    @property
    def stopped(self) -> tuple[Stop | None, ...]:
        """For each slot, what ended its text; None if nothing did."""
        return tuple(self._stopped)

    def step(self, ids: Iterable[int | Sequence[int] | None] | NDArray[np.integer[Any]]) -> list[str]:
        """Take the next id of each slot, a list of several, or None for no id; return the text that is final, by slot.

        Ids of a stopped slot give "". Raises InputError for another number of values than slots, for an invalid id and
        for ids of a finished slot; the streams then stay as they were.
        """
        given: list[Any]
        if isinstance(ids, np.ndarray):
            given = as_ids(ids).tolist()
        else:
            given = ids if type(ids) is list else as_list(ids, "ids, one for each slot")
        if len(given) != len(self._slots):
            raise InputError(f"expected {len(self._slots)} ids, one for each slot, not {len(given)}")
        found: list[Any]
        if _IDS.issuperset(map(type, given)):
            found = [*map(_call, self._ready, given)]  # a comprehension takes twice the time
        else:
            found = [ready(ids) if type(ids) is int else None for ready, ids in zip(self._ready, given, strict=True)]
        if not _TEXTS.issuperset(map(type, found)):
            self._move(given, found, [slot for slot, text in enumerate(found) if type(text) is not str])
        elif self._counts:
            self._chars = [*map(add, self._chars, map(len, found))]
        self._steps += 1
        return found

    def _move(self, given: list[Any], found: list[Any], slots: list[int]) -> None:
        """Put the text of some slots, which go to another state, in `found`."""
        new = {slot: self._ids(slot, given[slot]) for slot in slots if found[slot] is None}
        for slot in slots:
            stream = self._counted(slot)
            if slot in new:
                found[slot] = "".join([stream._next(index, stream._ready(index)) for index in new[slot]])
            else:
                found[slot] = stream._next(given[slot], found[slot])
            self._ready[slot], self._stopped[slot] = stream._ready, stream.stopped
        if self._counts:
            self._chars = [*map(add, self._chars, map(len, found))]
        for slot in slots:  # these have counted this step
            self._known_steps[slot], self._chars[slot] = self._steps + 1, 0

    def _ids(self, slot: int, ids: Any) -> list[int]:
        """Return valid ids of a slot; InputError for others."""
        stream = self._slots[slot]
        try:
            flat = [] if ids is None else stream._checked(ids, 0)
        except InputError as error:
            raise InputError(f"slot {slot}: {error}") from None
        if flat and stream._is_finished:
            raise InputError(f"slot {slot}: expected no ids after finish({slot}): reset({slot}) begins a new text")
        return flat

    def _counted(self, slot: int) -> DecodeStream:
        """Return the stream of a slot, which has counted all steps."""
        stream = self._slots[slot]
        stream._count += self._steps - self._known_steps[slot]
        stream._unread += self._chars[slot]
        self._known_steps[slot], self._chars[slot] = self._steps, 0
        return stream

    def reset(self, slot: int, *, prompt: Ids = (), stop: StopLike | None = None) -> None:
        """Begin a new text in a slot, after the ids of a prompt; stop: None is that of all slots, () is none.

        Raises InputError as `Tokenizer.stream` does.
        """
        check_integer("slot", slot, 0, len(self._slots) - 1)
        stream = self._new(prompt, self._stop if stop is None else stop)
        self._counts = self._counts or stream._may_stop
        self._slots[slot], self._ready[slot], self._stopped[slot] = stream, stream._ready, None
        self._known_steps[slot], self._chars[slot] = self._steps, 0

    def finish(self, slot: int) -> str:
        """End the text of a slot; return the text that waited, as `DecodeStream.finish`."""
        check_integer("slot", slot, 0, len(self._slots) - 1)
        stream = self._counted(slot)
        text = stream.finish()
        self._ready[slot], self._stopped[slot] = stream._ready, stream.stopped
        return text

    def __reduce__(self) -> NoReturn:
        raise InputError("DecodeStreams cannot be copied or pickled: keep the ids, and reset(slot, prompt=ids)")

    def __repr__(self) -> str:
        over = sum(slot._is_finished or slot.stopped is not None for slot in self._slots)
        return f"DecodeStreams({len(self._slots)} slots, {over} of them stopped or finished)"


_call: Any = call  # type checkers do not see that it fits `map`
_IDS, _TEXTS = frozenset({int, type(None)}), frozenset({str})


def text_of_ids(source: IdSource, ids: NDArray[np.int64], skipped: AbstractSet[int] = frozenset()) -> str:
    """Return the text of ids; InputError for an id out of range, with its position."""
    outside = (ids < 0) | (ids >= source.size)
    if outside.any():
        at = int(outside.argmax())
        raise InputError(f"expected ids from 0 to {source.size - 1}; ids[{at}] is {ids[at]}")
    parts = [source.text(index) for index in ids.tolist() if index not in skipped]
    return "".join([*parts, source.finish().text])


def text_and_spans(
    source: IdSource, ids: NDArray[np.int64], skipped: AbstractSet[int] = frozenset()
) -> tuple[str, NDArray[np.int64]]:
    """Return the text of ids and the range of its characters that each id gives; see `Tokenizer.decode_with_spans`."""
    parts = []
    for at, index in enumerate(ids.tolist()):
        if not 0 <= index < source.size:
            raise InputError(f"expected ids from 0 to {source.size - 1}; ids[{at}] is {index}")
        if index not in skipped:
            parts.append(source.feed(index, (at, at + 1)))
    whole = join_texts([*parts, source.finish()])
    # Characters are in the order of their ids; a normalizer may report a neighbor's place.
    first, stop = np.maximum.accumulate(np.array(whole.places, np.int64).reshape(-1, 2), axis=0).T
    order = np.arange(len(ids))
    return whole.text, np.stack([np.searchsorted(stop, order, "right"), np.searchsorted(first, order, "right")], 1)


# ---------------------------------------------------------------------------------------------------------------------
# The bytes that each token adds to a text.


class TokenBytes:
    """The bytes of ids under a decoder whose ids `Joined` does not know (D7): their range between two letters."""

    def __init__(self, decoder: Decoder, tokens: Sequence[str]) -> None:
        self._decoder, self._tokens = decoder, tokens
        self._steps = [*flat_steps(decoder)]
        self._neighbours = [*islice(self._letters(), 2)]

    def of(self, index: int) -> bytes:
        """Return the bytes that an id adds to a text."""
        token, decoder = self._tokens[index], self._decoder
        if not token:
            return b""
        if any(isinstance(step, ByteFallback) for step in self._steps) and BYTE_TOKEN.fullmatch(token):
            return bytes([int(token[3:5], 16)])
        if any(isinstance(step, ByteDecoder) and step.byte_level for step in self._steps):
            return bytes_of_letters(token)
        other = next((id for id in self._neighbours if id != index), None)
        around = [index] if other is None else [other, index, other]
        text, spans = text_and_spans(TokenSource(decoder, self._tokens), as_ids(around))
        start, stop = spans[len(around) // 2].tolist()
        return text[start:stop].encode()

    def _letters(self) -> Iterator[int]:
        """Yield ids of tokens that alone are ASCII letters: tokens between two of them are not at a border."""
        for index, token in enumerate(self._tokens):
            if token.isascii() and any(map(str.isalpha, token)) and not BYTE_TOKEN.fullmatch(token):
                text, _ = text_and_spans(TokenSource(self._decoder, self._tokens), as_ids([index]))
                if text.isalpha():
                    yield index


# ---------------------------------------------------------------------------------------------------------------------
# Ids to text, for every tokenizer: whole, in a stream, with spans; and the bytes of one id.

MOST_TABLES = 64  # of streams, by their options
MOST_STREAMS = 1 << 20
ERRORS = ("replace", "strict", "ignore", "backslashreplace", "surrogateescape")


class IdDecoder:
    """Decodes the ids of a tokenizer; its tables are built on first use."""

    def __init__(self, spec: TokenizerSpec, added: AddedTokens) -> None:
        self._spec, self._decoder, self._added = spec, spec.decoder, added
        self._tables: dict[tuple[tuple[str, ...], frozenset[int], bool], StreamTable] = {}

    def joined_bytes(self, ids: Ids) -> bytes:
        """Return the bytes of ids; InputError names an invalid id and its position."""
        if self._decoder is not None:
            return self._streamed(as_ids(ids), skip_special_tokens=False).encode()
        return decode_bytes(self._texts_of_ids, ids)

    @cached_property
    def fast_path(self) -> Callable[[Any], str | None]:
        """The decoder of a list of ids, errors replaced; it returns None for lists that it does not decode."""
        return (lambda ids: None) if self._joined is None else self._joined.fast_path

    @cached_property
    def visible_path(self) -> Callable[[Any], str | None]:
        """The same, with special tokens left out."""
        return (lambda ids: None) if self._visible is None else self._visible.fast_path

    def texts(self, batch: Iterable[Ids] | TokenBatch, errors: str, skip_special_tokens: bool) -> list[str]:
        """Return the text of each list of ids; see `Tokenizer.decode_batch`."""
        if not isinstance(batch, TokenBatch) and is_column(batch):
            batch = TokenBatch.from_arrow(batch)
        lists: list[Any] = batch.to_lists() if isinstance(batch, TokenBatch) else as_list(batch, "lists of ids")
        found: list[str | None] | None = None
        if errors == "replace" and isinstance(skip_special_tokens, bool):
            joined = self._visible if skip_special_tokens else self._joined
            found = None if joined is None else joined.fast_paths(lists)
        if found is None:
            found = [None] * len(lists)
        return [
            self.text(ids, errors, skip_special_tokens) if text is None else text
            for text, ids in zip(found, lists, strict=True)
        ]

    def text(self, ids: Ids, errors: str, skip_special_tokens: bool) -> str:
        """Return the text of ids; see `Tokenizer.decode`."""
        check_flag("skip_special_tokens", skip_special_tokens)
        if not isinstance(errors, str) or errors not in ERRORS:
            raise InputError(f"expected errors to be one of {', '.join(map(repr, ERRORS))}, not {errors!r:.60}")
        if self._decoder is not None:
            from subwords.spec.decoder import replaces_bytes

            if errors != "replace" and replaces_bytes(self._decoder):
                raise InputError(f"expected errors='replace', not {errors!r:.60}: this decoder handles bytes itself")
        joined = self._visible if skip_special_tokens else self._joined
        flat = as_ids(ids)
        found = None
        if joined is not None:
            found = joined.fast_path(flat.tolist()) if len(flat) <= MOST_AS_LIST else None
            found = joined.of_array(flat) if found is None else found
        if found is not None:
            return found
        if self._decoder is not None:
            return self._streamed(flat, skip_special_tokens)
        if skip_special_tokens:
            flat = flat[~np.isin(flat, list(self._added.special_ids))]
        data = self.joined_bytes(flat)
        try:
            return data.decode("utf-8", errors)
        except UnicodeDecodeError as error:
            raise InputError(
                f"ids are not whole characters: byte {error.start} of the text is not UTF-8; errors='replace' "
                f"writes U+FFFD there"
            ) from None

    def token_bytes(self, index: int) -> bytes:
        """Return the bytes that an id adds to a text; see `Tokenizer.token_bytes`."""
        place = as_index(index, "an id as an int")
        self._texts_of_ids[place]  # refuses an id that does not exist
        return self.texts_between[place]

    @cached_property
    def texts_between(self) -> Vocab:
        """The bytes that each id adds to a text, between others (D7)."""
        found = None if self._joined is None else self._joined.texts
        if found is not None:
            return found
        assert self._decoder is not None, "without a decoder, bytes are joined"
        one = TokenBytes(self._decoder, self._tokens)
        return Vocab([one.of(index) for index in range(len(self._tokens))])

    def table(self, encode: Callable[[str], list[int]]) -> TokenTable:
        """Return the bytes of all ids; see `Tokenizer.token_table`."""
        from subwords.engine.decode.token_table import table_of

        return table_of(self._spec, self.texts_between, lambda ids: self.text(ids, "replace", False), encode)

    def stream(self, prompt: Ids, stop: StopLike | None, skip_special_tokens: bool) -> DecodeStream:
        """Return an incremental decoder; see `Tokenizer.stream`."""
        table = self._table(stop, skip_special_tokens)
        if isinstance(prompt, tuple) and not prompt:
            return DecodeStream(self._source(), table)
        before = as_ids(prompt)
        shown = self.text(before, "replace", skip_special_tokens)
        return DecodeStream(self._source(), table, before.tolist(), shown)

    def streams(self, size: int, stop: StopLike | None, skip_special_tokens: bool) -> DecodeStreams:
        """Return incremental decoders of many texts; see `Tokenizer.streams`."""
        check_integer("n", size, 1, MOST_STREAMS)
        texts, ids = check_stop(stop, len(self._texts_of_ids))
        return DecodeStreams(lambda prompt, stop: self.stream(prompt, stop, skip_special_tokens), size, (*texts, *ids))

    def _table(self, stop: StopLike | None, skip_special_tokens: bool) -> StreamTable:
        skipped = self._skipped(skip_special_tokens)
        texts, ids = check_stop(stop, len(self._texts_of_ids))
        if skip_special_tokens:
            self._check_visible(texts, ids)
        key = (texts, ids, skip_special_tokens)
        found = self._tables.get(key)
        if found is None:
            if len(self._tables) >= MOST_TABLES:
                self._tables.clear()
            found = self._tables[key] = StreamTable(skipped, ids, StopTexts(texts) if texts else None)
        return found

    def _check_visible(self, texts: Iterable[str], ids: AbstractSet[int]) -> None:
        special = {token.content: token.id for token in self._spec.added_tokens if token.special}
        for text in texts:
            if text in special and special[text] not in ids:
                raise InputError(
                    f"stop {text!r:.60} is a special token, which skip_special_tokens=True leaves out of the text: "
                    f"add its id, {special[text]}, to stop"
                )

    def with_spans(self, ids: Ids, skip_special_tokens: bool) -> tuple[str, NDArray[np.int64]]:
        """Return the text of ids and the characters of each; see `Tokenizer.decode_with_spans`."""

        return text_and_spans(self._source(), as_ids(ids), self._skipped(skip_special_tokens))

    def _streamed(self, ids: NDArray[np.int64], skip_special_tokens: bool) -> str:

        return text_of_ids(self._source(), ids, self._skipped(skip_special_tokens))

    def _skipped(self, skip_special_tokens: bool) -> frozenset[int]:
        check_flag("skip_special_tokens", skip_special_tokens)
        return self._added.special_ids if skip_special_tokens else frozenset()

    def _source(self) -> IdSource:
        if self._decoder is None:
            from subwords.engine.decode.stages import ByteSource

            return ByteSource(self._texts_of_ids)
        from subwords.engine.decode.stages import TokenSource

        return TokenSource(self._decoder, self._tokens)

    @cached_property
    def _joined(self) -> Joined | None:
        from subwords.engine.decode.joined import joined_of

        return joined_of(self._decoder, self._texts_of_ids if self._decoder is None else self._tokens)

    @cached_property
    def _visible(self) -> Joined | None:
        """The same, with special tokens left out."""
        return None if self._joined is None else self._joined.without(self._added.special_ids)

    @cached_property
    def _tokens(self) -> list[str]:
        """The tokens that a decoder gets, by id: as a tokenizer.json spells them; added tokens as text has them."""
        tokens = [*self._spec.spellings]
        for token, text in self._added.written.items():
            tokens[token.id] = text
        return tokens

    @cached_property
    def _texts_of_ids(self) -> Vocab:
        """The vocabulary, with added tokens that match normalized text replaced by their normalized form."""
        written = {token.id: text for token, text in self._added.written.items() if text != token.content}
        if not written:
            return self._spec.model.vocab
        tokens = enumerate(self._spec.model.vocab)
        return Vocab([written[index].encode() if index in written else token for index, token in tokens])
