"""Ids to text while the ids arrive, and the characters that each id gives."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords.engine.decode.decoding import (
    BYTE_TOKEN,
    Traced,
    bytes_of_letters,
    decode_bytes,
    decode_tokens,
    flat_steps,
)
from subwords.spec.decoder import ByteDecoder, ByteFallback, replaces_bytes
from subwords.spec.token_batch import MOST_AS_LIST, NO_IDS, TokenBatch, as_ids
from subwords.spec.vocab import Vocab
from subwords.support.checks import as_index, as_list, check_flag, check_integer, check_token, is_column
from subwords.support.errors import InputError

if TYPE_CHECKING:
    from subwords.engine.added_tokens import AddedTokens
    from subwords.engine.decode.joined import Joined, Joiner
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

_NOTHING: Callable[[Any], Any] = MappingProxyType[Any, Any]({}).get


@dataclass(frozen=True)
class StreamPlan:
    """What streams with the same options share.

    size: ids are below it. skipped: ids that give no text. stop_ids, stops: ids and texts that end a text. joiner makes
    what joins the text of a stream; with_spans decodes ids. texts: what ids give between others if nothing waits before
    or after; of those that came.
    """

    size: int
    skipped: AbstractSet[int]
    stop_ids: AbstractSet[int]
    stops: StopTexts | None
    joiner: Callable[[], Joiner]
    with_spans: Callable[[Ids], tuple[str, NDArray[np.int64]]]
    texts: dict[int, str] = field(default_factory=dict)


class DecodeStream:
    """Text of ids that arrive one by one; made by `Tokenizer.stream`, for one text and one thread.

    It cannot be copied or pickled (InputError): keep the ids, and `tok.stream(prompt=ids)` continues after them.

    The pieces that `step` and `finish` return join to `tok.decode(ids)`, up to a stop. A piece never ends inside a
    character and is never taken back: text waits while a later id could change it, or complete a stop. Time is linear
    in the number of ids. `stopped` is None, then the `Stop`; later ids give "".

    Hazard: some decoders, such as CTC or a regex after Fuse, return no text before the last id: `finish` returns it.

    >>> import subwords
    >>> tok = subwords.train(["é"], vocab_size=256)
    >>> stream = tok.stream()
    >>> [stream.step(index) for index in tok.encode("é!")], stream.finish()
    (['', 'é', '!'], '')
    """

    __slots__ = (
        *("_count", "_ids", "_is_finished", "_joiner", "_node", "_plan", "_prompt", "_ready", "_shown"),
        "stopped",
    )

    def __init__(self, plan: StreamPlan, prompt: Sequence[int] = (), shown: str = "") -> None:
        self._plan, self._joiner = plan, plan.joiner()
        self._count = 0  # of the ids
        # All ids, if a `Stop` may have to tell how many of them a character needs.
        self._ids = deque(prompt, None if self._may_stop else 0)
        self._prompt = len(prompt), shown
        self._is_finished = False
        self._node = 0  # the part of a stop at the end, which waits
        self.stopped: Stop | None = None
        size = sum(len(self._joiner.feed(index)) for index in prompt if index not in plan.skipped)
        self._shown = shown[size:]  # the rest of the prompt's text, which is not returned
        self._settle()

    @property
    def _may_stop(self) -> bool:
        return bool(self._plan.stops or self._plan.stop_ids)

    def _settle(self) -> None:
        """Let `_ready` give the text of an id if nothing waits; otherwise it gives None."""
        rests = self._joiner.rests and not (self._shown or self._node or self._is_finished or self.stopped)
        self._ready: Callable[[int], str | None] = self._plan.texts.get if rests else _NOTHING

    def step(self, ids: int | Iterable[int] | NDArray[np.integer[Any]]) -> str:
        """Take the next id, or several; return the text that is now final, "" if there is none yet.

        Raises InputError for an invalid id, with its position, and after `finish`. The stream then stays as it was.
        """
        if type(ids) is int:
            if (text := self._ready(ids)) is not None:
                self._count += 1
                self._ids.append(ids)
                return text
            if 0 <= ids < self._plan.size and not self._is_finished:
                return self._next(ids)
        if self._is_finished:
            raise InputError("expected no ids after finish(): tok.stream() returns a new stream")
        return "".join(map(self._next, self._checked(ids, self._count)))

    def _checked(self, ids: int | Iterable[int] | NDArray[np.integer[Any]], first: int) -> list[int]:
        if isinstance(ids, int | np.integer) and not isinstance(ids, bool):
            flat = [int(ids)]
        else:
            flat = as_ids(ids).tolist()  # type: ignore[arg-type]  # it refuses a bool
        size = self._plan.size
        for at, index in enumerate(flat, first):
            if not 0 <= index < size:
                raise InputError(f"expected ids from 0 to {size - 1}; ids[{at}] is {index}")
        return flat

    def _next(self, index: int) -> str:
        """Return the text of the next id, which is valid."""
        if self.stopped:
            return ""
        plan, rested = self._plan, self._ready is not _NOTHING
        text = self._ready(index)
        if text is None and index in plan.stop_ids:
            text = self._last()
            self.stopped = self.stopped or self._stop(index)
            self._settle()
            return text
        self._count += 1
        self._ids.append(index)
        if text is None:
            text = "" if index in plan.skipped else self._joiner.feed(index)
            if self._shown:
                text = self._new(text)
            if plan.stops and text:
                text = self._before_stop(plan.stops, text)
            self._settle()
            if rested and self._ready is not _NOTHING:
                plan.texts[index] = text
        return text

    def _new(self, text: str) -> str:
        """Return what follows the text of the prompt, or differs from it."""
        same = _same(self._shown, text)
        self._shown = self._shown[same:] if same == len(text) else ""
        return text[same:]

    def _before_stop(self, stops: StopTexts, text: str) -> str:
        """Take final text; return what no stop may include, up to the stop if there is one."""
        last = self._node
        self._node, end, stop = stops.read(last, text)
        held = stops.depths[last]
        size = held + end - (len(stop) or stops.depths[self._node])
        if stop:
            self.stopped = self._stop()
        return stops.start(last, size) + text[: max(0, size - held)]

    def _stop(self, index: int = -1) -> Stop:
        """Return what ended the text: a text, or this id if it contains none."""
        plan, (count, shown) = self._plan, self._prompt
        whole, spans = plan.with_spans(self._ids)
        same = _same(shown, whole)
        _, end, stop = plan.stops.read(0, whole[same:]) if plan.stops else (0, len(whole) - same, "")
        if not stop:
            return Stop(index, end, len(self._ids) - count)
        size = end - len(stop)
        needs = int(np.searchsorted(spans[:, 0], same + size - 1, "right")) if size else 0
        return Stop(stop, size, max(0, needs - count))

    def _last(self) -> str:
        """Return the text that waited, if the ids end here."""
        text, stops = self._new(self._joiner.finish()), self._plan.stops
        if stops is None:
            return text
        text = self._before_stop(stops, text)
        return text if self.stopped else text + stops.start(self._node, stops.depths[self._node])

    def finish(self) -> str:
        """Return the text that waited; an incomplete character is U+FFFD. "" if called again, and after a stop."""
        if self._is_finished:
            return ""
        text = "" if self.stopped else self._last()
        self._is_finished = True
        self._settle()
        return text

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
        self._may_stop = self._slots[0]._may_stop

    def __len__(self) -> int:
        """Return the number of slots."""
        return len(self._slots)

    @property
    def stopped(self) -> tuple[Stop | None, ...]:
        """For each slot, what ended its text; None if nothing did."""
        return tuple([slot.stopped for slot in self._slots])

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
        pairs = zip(self._slots, given, strict=True)
        found: list[Any] = [slot._ready(index) if type(index) is int else None for slot, index in pairs]
        new = {}
        if None in found:
            new = {slot: self._checked(slot, given[slot]) for slot, text in enumerate(found) if text is None}
            for slot, some in new.items():
                found[slot] = "".join(map(self._slots[slot]._next, some))
        if self._may_stop:  # only then, a slot has to know its ids
            for slot, stream in enumerate(self._slots):
                if slot not in new:
                    stream._ids.append(given[slot])
        return found

    def _checked(self, slot: int, ids: Any) -> Sequence[int]:
        """Return valid ids of a slot; InputError for others."""
        stream = self._slots[slot]
        if type(ids) is int and 0 <= ids < stream._plan.size and not stream._is_finished:
            return (ids,)
        try:
            flat = [] if ids is None else stream._checked(ids, 0)
        except InputError as error:
            raise InputError(f"slot {slot}: {error}") from None
        if flat and stream._is_finished:
            raise InputError(f"slot {slot}: expected no ids after finish({slot}): reset({slot}) begins a new text")
        return flat

    def reset(self, slot: int, *, prompt: Ids = (), stop: StopLike | None = None) -> None:
        """Begin a new text in a slot, after the ids of a prompt; stop: None is that of all slots, () is none.

        Raises InputError as `Tokenizer.stream` does.
        """
        check_integer("slot", slot, 0, len(self._slots) - 1)
        stream = self._slots[slot] = self._new(prompt, self._stop if stop is None else stop)
        self._may_stop = self._may_stop or stream._may_stop

    def finish(self, slot: int) -> str:
        """End the text of a slot; return the text that waited, as `DecodeStream.finish`."""
        check_integer("slot", slot, 0, len(self._slots) - 1)
        return self._slots[slot].finish()

    def __reduce__(self) -> NoReturn:
        raise InputError("DecodeStreams cannot be copied or pickled: keep the ids, and reset(slot, prompt=ids)")

    def __repr__(self) -> str:
        over = sum(slot._is_finished or slot.stopped is not None for slot in self._slots)
        return f"DecodeStreams({len(self._slots)} slots, {over} of them stopped or finished)"


def _same(one: str, other: str) -> int:
    """Return how many characters two texts have in common at the start."""
    if other.startswith(one):
        return len(one)
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(other))


# ---------------------------------------------------------------------------------------------------------------------
# The bytes that each token adds to a text.


class TokenBytes:
    """The bytes of ids under a decoder whose ids `Joined` does not know (D7): their range between two letters."""

    def __init__(self, decoder: IdDecoder, tokens: Sequence[str]) -> None:
        self._decoder, self._tokens = decoder, tokens
        steps = [*flat_steps(decoder.decoder)]
        self._has_bytes = any(isinstance(step, ByteFallback) for step in steps)
        self._has_letters = any(isinstance(step, ByteDecoder) and step.byte_level for step in steps)
        self._neighbours = [*islice(self._letters(), 2)]

    def of(self, index: int) -> bytes:
        """Return the bytes that an id adds to a text."""
        token = self._tokens[index]
        if self._has_bytes and BYTE_TOKEN.fullmatch(token):
            return bytes([int(token[3:5], 16)])
        if self._has_letters or not token:
            return bytes_of_letters(token)
        other = [id for id in self._neighbours if id != index][:1]
        text, spans = self._decoder.with_spans([*other, index, *other], False)
        start, stop = spans[len(other)].tolist()
        return text[start:stop].encode()

    def _letters(self) -> Iterator[int]:
        """Yield ids of tokens that alone are ASCII letters: tokens between two of them are not at a border."""
        for index, token in enumerate(self._tokens):
            if not token.isascii() or not any(map(str.isalpha, token)) or BYTE_TOKEN.fullmatch(token):
                continue
            if self._decoder.text([index], "replace", False).isalpha():
                yield index


# ---------------------------------------------------------------------------------------------------------------------
# Ids to text, for every tokenizer: whole, in a stream, with spans; and the bytes of one id.

MOST_PLANS = 64  # of streams, by their options
MOST_STREAMS = 1 << 20
ERRORS = ("replace", "strict", "ignore", "backslashreplace", "surrogateescape")


class IdDecoder:
    """Decodes the ids of a tokenizer; its tables are built on first use."""

    def __init__(self, spec: TokenizerSpec, added: AddedTokens) -> None:
        self._spec, self.decoder, self._added = spec, spec.decoder, added
        self._plans: dict[tuple[tuple[str, ...], frozenset[int], bool], StreamPlan] = {}

    @property
    def size(self) -> int:
        """The number of ids."""
        return len(self._texts_of_ids)

    def joined_bytes(self, ids: Ids) -> bytes:
        """Return the bytes of ids; InputError names an invalid id and its position."""
        if type(ids) is list and (found := self.fast_path(ids)) is not None and "\ufffd" not in found:
            return found.encode()
        if self.decoder is not None:
            return self.text(ids, "replace", False).encode()
        return decode_bytes(self._texts_of_ids, ids)

    @cached_property
    def fast_path(self) -> Callable[[Any], str | None]:
        """The decoder of a list of ids, errors replaced; it returns None for lists that it does not decode."""
        return (lambda ids: None) if self.joined is None else self.joined.fast_path

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
            joined = self._joined_for(skip_special_tokens)
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
        if errors != "replace" and self.decoder is not None and replaces_bytes(self.decoder):
            raise InputError(f"expected errors='replace', not {errors!r:.60}: this decoder handles bytes itself")
        joined = self._joined_for(skip_special_tokens)
        flat = as_ids(ids)
        found = None
        if joined is not None:
            found = joined.fast_path(flat.tolist()) if len(flat) <= MOST_AS_LIST else None
            if found is None and (errors == "replace" or self.decoder is not None):
                found = joined.of_array(flat)
        if found is not None:
            return found
        if self.decoder is not None:
            return str(self._general(flat, skip_special_tokens, traced=False))
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
        found = None if self.joined is None else self.joined.texts
        if found is not None:
            return found
        one = TokenBytes(self, self._tokens)
        return Vocab([one.of(index) for index in range(len(self._tokens))])

    def table(self, encode: Callable[[str], list[int]]) -> TokenTable:
        """Return the bytes of all ids; see `Tokenizer.token_table`."""
        from subwords.engine.decode.token_table import table_of

        return table_of(self._spec, self.texts_between, lambda ids: self.text(ids, "replace", False), encode)

    def stream(self, prompt: Ids, stop: StopLike | None, skip_special_tokens: bool) -> DecodeStream:
        """Return an incremental decoder; see `Tokenizer.stream`."""
        plan = self._plan(stop, skip_special_tokens)
        if isinstance(prompt, tuple) and not prompt:
            return DecodeStream(plan)
        before = as_ids(prompt)
        return DecodeStream(plan, before.tolist(), self.text(before, "replace", skip_special_tokens))

    def streams(self, size: int, stop: StopLike | None, skip_special_tokens: bool) -> DecodeStreams:
        """Return incremental decoders of many texts; see `Tokenizer.streams`."""
        check_integer("n", size, 1, MOST_STREAMS)
        texts, ids = check_stop(stop, self.size)
        return DecodeStreams(lambda prompt, stop: self.stream(prompt, stop, skip_special_tokens), size, (*texts, *ids))

    def _plan(self, stop: StopLike | None, skip_special_tokens: bool) -> StreamPlan:
        check_flag("skip_special_tokens", skip_special_tokens)
        texts, ids = check_stop(stop, self.size)
        if skip_special_tokens:
            self._check_visible(texts, ids)
        key = (texts, ids, skip_special_tokens)
        found = self._plans.get(key)
        if found is None:
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            skipped = self._added.special_ids if skip_special_tokens else frozenset[int]()
            found = self._plans[key] = StreamPlan(
                self.size,
                skipped,
                ids,
                StopTexts(texts) if texts else None,
                lambda: self._joiner(skip_special_tokens),
                lambda some: self.with_spans(some, skip_special_tokens),
            )
        return found

    def _joiner(self, skip_special_tokens: bool) -> Joiner:
        from subwords.engine.decode.joined import Joiner

        return Joiner(self.joined, lambda ids: self._general(as_ids(ids), skip_special_tokens, traced=False))

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
        check_flag("skip_special_tokens", skip_special_tokens)
        flat, joined = as_ids(ids), self._joined_for(skip_special_tokens)
        found: str | None = None if joined is None else joined.of_array(flat, traced=True)
        if found is None:
            found = self._general(flat, skip_special_tokens, traced=True)
        places = found.places if isinstance(found, Traced) else np.full((len(found), 2), (0, 1), np.int64)
        # Characters are in the order of their ids; a normalizer may report a neighbor's place.
        first, stop = np.maximum.accumulate(places, axis=0).T
        order = np.arange(len(flat))
        spans = np.stack([np.searchsorted(stop, order, "right"), np.searchsorted(first, order, "right")], 1)
        return str(found), spans

    def _general(self, ids: NDArray[np.int64], skip_special_tokens: bool, *, traced: bool) -> str:
        """Return the text of ids by running all steps of the decoder; `traced` returns a `Traced`."""
        outside = (ids < 0) | (ids >= self.size)
        if outside.any():
            at = int(outside.argmax())
            raise InputError(f"expected ids from 0 to {self.size - 1}; ids[{at}] is {ids[at]}")
        skipped = self._added.special_ids if skip_special_tokens else frozenset[int]()
        known = self._tokens
        some = [(at, known[index]) for at, index in enumerate(ids.tolist()) if index not in skipped and known[index]]
        assert self.decoder is not None, "without a decoder, bytes are joined"
        tokens = (Traced.of(token, (at, at + 1)) if traced else token for at, token in some)
        return decode_tokens(self.decoder, tokens)

    def _joined_for(self, skip_special_tokens: bool) -> Joined | None:
        return self._visible if skip_special_tokens else self.joined

    @cached_property
    def joined(self) -> Joined | None:
        """How to join the text of ids; None if the decoder does more."""
        from subwords.engine.decode.joined import joined_of

        return joined_of(self.decoder, self._texts_of_ids if self.decoder is None else self._tokens)

    @cached_property
    def _visible(self) -> Joined | None:
        """The same, with special tokens left out."""
        return None if self.joined is None else self.joined.without(self._added.special_ids)

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
