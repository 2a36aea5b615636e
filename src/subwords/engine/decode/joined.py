"""The bytes of each id in a text: first, between others, last. Whole texts and streams are made of them (D1)."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords.engine.decode.decoding import (
    Denormalized,
    Traced,
    begins_with_space,
    changed,
    decoded,
    decoded_size,
    flat_steps,
    is_byte_token,
    join_id_bytes,
    join_texts,
    piece_bytes,
    run_steps,
    stripped,
    traced_bytes,
)
from subwords.kernels import layout
from subwords.spec.decoder import (
    CTC,
    BPEDecoder,
    ByteDecoder,
    ByteFallback,
    Decoder,
    Fuse,
    Metaspace,
    Replace,
    ReplaceTokens,
    SentencePieceDecoder,
    SpaceDecoder,
    Strip,
    WordPieceDecoder,
)
from subwords.spec.vocab import CHARACTERS, Vocab, tokens_from_text

# What replaces the text that the first id, or the last, gives elsewhere: its number of characters and another text; and
# whether the next id is then the first one.
Edge: TypeAlias = tuple[int, str, bool]
NO_TEXT = (0, "", True)
UNCHANGED = (0, "", False)
UNSURE = (-1, "", False)  # it depends on other ids

_AT_START = Metaspace | SpaceDecoder | WordPieceDecoder
_ALONE = _AT_START | BPEDecoder | Replace | ReplaceTokens | Strip  # change one token, given whether it is at an end


@dataclass(frozen=True, eq=False)
class Joined:
    """Joins the bytes that ids give, then changes one end of the text, then the whole text.

    Not exact, so that its methods return None, for bytes that are not UTF-8 (but `of_array` decodes them if `errors`
    says how), and where an id with SPAN_BREAK, which gives no bytes, separates some with SPAN_BYTE, which are single
    bytes of a character.

    tokens, spans: the bytes of each id between others. edge: what changes for the first id, or for the last one if
    `at_end`. errors: see `decoded`. after: steps that change the whole text.
    """

    tokens: Vocab
    spans: NDArray[np.int64]
    edge: Callable[[int], Edge] | None = None
    at_end: bool = False
    errors: str | None = None
    after: tuple[Any, ...] = ()

    def without(self, hidden: AbstractSet[int]) -> Joined:
        """Return one that leaves out some ids."""
        spans, edge = self.spans.copy(), self.edge
        spans[sorted(hidden)] &= ~np.int64(layout.SPAN_SIZE | layout.SPAN_BYTE | layout.SPAN_BREAK)
        visible = None if edge is None else lambda index: NO_TEXT if index in hidden else edge(index)
        return replace(self, spans=spans, edge=visible)

    @cached_property
    def finish(self) -> Callable[[str], str] | None:
        """The change of the whole text; None if nothing changes."""
        steps = self.after
        if len(steps) == 1 and isinstance(steps[0], Strip):  # that of Llama; half the time of the general way
            return partial(stripped, steps[0])
        return (lambda text: join_texts(run_steps(steps, [text]))) if steps else None

    @cached_property
    def single_bytes(self) -> AbstractSet[int]:
        """The ids of byte tokens, if a run of these is text only as a whole."""
        return frozenset(np.flatnonzero(self.spans & layout.SPAN_BYTE).tolist() if self.errors is None else ())

    @cached_property
    def breaks(self) -> AbstractSet[int]:
        """The ids that end a run of byte tokens and give no bytes."""
        return frozenset(np.flatnonzero(self.spans & layout.SPAN_BREAK).tolist())

    @cached_property
    def texts(self) -> Vocab | None:
        """The bytes of each id in a finished text, between others (D7); None if they depend on these."""
        if not all(isinstance(step, Strip) or _is_plain(step) for step in self.after):
            return None
        if not (replaces := [step for step in self.after if isinstance(step, Replace)]):
            return self.tokens
        texts = run_steps(replaces, [token.decode("utf-8", "surrogateescape") for token in self.tokens])
        return Vocab([text.encode("utf-8", "surrogateescape") for text in texts])

    @cached_property
    def fast_path(self) -> Callable[[Any], str | None]:
        """The function of a list of ids to text; None for any other object, and where this is not available.

        Row: calls, "decode the ids of a line": 9 ids take 8.6 us by arrays, 0.2 by it.
        """
        decode, rest = self._decoders[0], self._rest
        return decode if rest is None else lambda ids: rest(decode(ids), ids)

    @cached_property
    def fast_paths(self) -> Callable[[Any], list[str | None] | None]:
        """The same for a list of lists: each text, or None; None for any other object.

        Row: calls_special, "GPT-2, decode 256 lists of 5 ids": 23 us one by one, 18 in one call.
        """
        decode, rest = self._decoders[1], self._rest
        if rest is None:
            return decode

        def decode_all(lists: Any) -> list[str | None] | None:
            found = decode(lists)
            return None if found is None else [*map(rest, found, lists)]

        return decode_all

    @cached_property
    def _decoders(self) -> tuple[Callable[[Any], str | None], Callable[[Any], list[str | None] | None]]:
        from subwords.kernels.entry import available

        if not available():
            return lambda ids: None, lambda lists: None
        from subwords.kernels.fastpath_decode import list_decoders

        return list_decoders(self.spans, self.tokens.data)

    @property
    def _rest(self) -> Callable[[str | None, Any], str | None] | None:
        """What changes the joined text of ids; None if nothing does."""
        finish, at_end = self.finish, self.at_end
        if self.edge is None:
            if finish is None:
                return None
            return lambda found, ids: None if found is None else finish(found)
        edges, ended = self._edges, self._ended

        def rest(found: str | None, ids: Any) -> str | None:
            if found is None or not ids:
                return found if found is None or finish is None else finish(found)
            size, text, goes_on = edges.get(ids[-1 if at_end else 0], NO_TEXT)
            if goes_on or size < 0 or at_end or finish is not None:
                return ended(found, ids)
            return text + found[size:] if text else found[size:]

        return rest

    def of_array(self, ids: NDArray[np.int64], *, traced: bool = False) -> str | None:
        """Return the text of ids, a `Traced` if asked for; InputError for an id out of range, with its position."""
        size = decoded_size(ids, self.spans)
        if size is None:
            return None
        data, errors = join_id_bytes(ids, size, self.spans, self.tokens.data), self.errors or "strict"
        try:
            if not traced:
                return self._ended(decoded(data.data, errors), ids)
            of_byte = np.repeat(np.arange(len(ids)), self.spans[ids] & layout.SPAN_SIZE)
            places = np.stack([of_byte, of_byte + 1], 1)
            return self._ended(traced_bytes(data.tobytes(), places, errors, (0, max(1, len(ids)))), ids)
        except UnicodeDecodeError:
            return None

    def _ended(self, found: str, ids: Sequence[int] | NDArray[np.int64]) -> str | None:
        if self.edge is not None:
            size, text = self._edge_of(ids[::-1] if self.at_end else ids)
            if size < 0:
                return None
            if size:
                found = found[: len(found) - size] if self.at_end else found[size:]
            if text and isinstance(found, Traced):
                row = ids[::-1] if self.at_end else ids
                at = next(at for at, index in enumerate(row) if not self.edge_at(index)[2])
                at = len(ids) - 1 - at if self.at_end else at
                text = Traced.of(text, (at, at + 1))
            if text:
                found = join_texts([found, text] if self.at_end else [text, found])
        return found if self.finish is None else self.finish(found)

    def _edge_of(self, ids: Sequence[int] | NDArray[np.int64]) -> tuple[int, str]:
        """Return what the ids at the edge change, as `Edge`."""
        size, edges = 0, self._edges
        for index in ids:
            more, text, goes_on = edges.get(index) or self.edge_at(index)  # always calling takes 0.1 of 0.9 us
            if not goes_on:
                return (size + more if more >= 0 else more), text
            size += more
        return size, ""

    def edge_at(self, index: int) -> Edge:
        """Return what changes if an id is at the edge."""
        edges = self._edges
        if index not in edges:
            if not 0 <= index < len(self.tokens):
                raise changed()
            assert self.edge is not None
            edges[int(index)] = self.edge(int(index))
        return edges[index]

    @cached_property
    def _edges(self) -> dict[int, Edge]:
        return {}


def joined_of(decoder: Decoder | None, tokens: Sequence[str] | Vocab) -> Joined | None:
    """Return how to join the text of ids, given the tokens that a decoder gets; None for decoders that do more.

    Without a decoder, `tokens` are the bytes of the ids.

    >>> joined_of(WordPieceDecoder(), ["play", "##ing", "well"]).of_array(np.array([0, 1, 2]))
    'playing well'
    """
    if decoder is None or isinstance(tokens, Vocab):
        assert isinstance(tokens, Vocab)
        return Joined(tokens, tokens.spans, errors="replace")
    try:
        return _of_pieces(decoder, tokens) if isinstance(decoder, SentencePieceDecoder) else _of_steps(decoder, tokens)
    except UnicodeEncodeError:  # a decoder of the caller with a lone surrogate
        return None


def _of_pieces(decoder: SentencePieceDecoder, tokens: Sequence[str]) -> Joined:
    texts = Vocab([piece_bytes(decoder, token) for token in tokens])
    spans = texts.spans.copy()
    if decoder.byte_fallback:
        _flag(
            spans,
            layout.SPAN_BYTE,
            [is_byte_token(token) and len(text) == 1 for token, text in zip(tokens, texts, strict=True)],
        )
        _flag(spans, layout.SPAN_BREAK, [token in decoder.control for token in tokens])

    def edge(index: int) -> Edge:
        token, data = tokens[index], texts[index]
        if not data:
            return NO_TEXT
        # After a lone space, the next one may be dropped too.
        return (1, "", len(data) == 1 and decoder.drops_leading) if begins_with_space(decoder, token) else UNCHANGED

    drops = decoder.drops_first or decoder.drops_leading
    after = (Denormalized(decoder.steps),) if decoder.steps else ()
    return Joined(texts, spans, edge if drops else None, errors="surrogateescape", after=after)


def _of_steps(decoder: Decoder, tokens: Sequence[str]) -> Joined | None:
    steps = [*flat_steps(decoder)]
    count = next((k for k, step in enumerate(steps) if not isinstance(step, _ALONE)), len(steps))
    alone, rest = steps[:count], steps[count:]
    is_fallback = bool(rest) and isinstance(rest[0], ByteFallback)
    join, *after = rest[is_fallback:] or [Fuse()]
    at_start = any(isinstance(step, _AT_START) for step in alone)
    at_end = any(isinstance(step, BPEDecoder) for step in alone)
    is_letters = isinstance(join, ByteDecoder) and join.byte_level
    if not isinstance(join, Fuse | ByteDecoder) or (at_start and at_end) or at_end + is_fallback + is_letters > 1:
        return None
    if not any(isinstance(step, CTC) for step in after):  # which may drop the only token
        after = [step for step in after if not isinstance(step, Fuse)]

    def bytes_of(texts: list[str]) -> list[bytes]:
        return _letters(texts) if is_letters else [text.encode() for text in texts]

    found = run_steps(alone, ["", *tokens, ""])[1:-1]
    texts = [text if token else "" for text, token in zip(found, tokens, strict=True)]
    is_byte = [is_fallback and len(text) == 6 and is_byte_token(text) for text in texts]
    data = bytes_of(texts)
    for k in np.flatnonzero(is_byte).tolist():
        data[k] = bytes([int(texts[k][3:5], 16)])
    vocab = Vocab(data)
    spans = vocab.spans.copy()
    _flag(spans, layout.SPAN_BYTE, is_byte)
    if is_fallback:
        _flag(spans, layout.SPAN_BREAK, [bool(token) and not text for text, token in zip(texts, tokens, strict=True)])

    def edge(index: int) -> Edge:
        if not tokens[index]:
            return NO_TEXT
        text = run_steps(alone, ["", tokens[index]])[1] if at_end else run_steps(alone, [tokens[index], ""])[0]
        if text == texts[index]:
            return UNCHANGED
        if is_byte[index] or (is_fallback and is_byte_token(text)):
            return UNSURE
        try:
            return len(vocab[index].decode()), bytes_of([text])[0].decode(), False
        except UnicodeDecodeError:
            return UNSURE

    if at_start or at_end:
        return Joined(vocab, spans, edge, at_end, after=tuple(after))
    return Joined(vocab, spans, errors="replace" if is_letters else None, after=tuple(after))


def _is_plain(step: Any) -> bool:
    return isinstance(step, Replace) and bool(step.pattern) and not step.regex


def _letters(texts: Sequence[str]) -> list[bytes]:
    """Return the bytes that the characters of each text represent; its UTF-8 if a character represents none."""
    spelled = tokens_from_text([text if CHARACTERS.issuperset(text) else "" for text in texts])
    return [data or text.encode() for data, text in zip(spelled, texts, strict=True)]


def _flag(spans: NDArray[np.int64], flag: int, chosen: Sequence[bool]) -> None:
    spans[np.flatnonzero(chosen)] |= np.int64(flag)


# ---------------------------------------------------------------------------------------------------------------------
# The same while ids arrive.


class HeldText:
    """Changes a text whose characters arrive in pieces, and holds all of it until the end."""

    is_over = False  # whether it passes on all that comes

    def __init__(self, *steps: Any) -> None:
        self._steps = steps
        self._waiting: list[str] = []

    def feed(self, text: str) -> str:
        """Take the next characters, at least one; return those that are final."""
        self._waiting.append(text)
        return ""

    def finish(self) -> str:
        """Return what remains after the last character."""
        return join_texts(run_steps(self._steps, ["".join(self._waiting)]))


class Replacer(HeldText):
    """Replaces a string, which is not empty; the start of an occurrence waits for its end."""

    def __init__(self, pattern: str, content: str) -> None:
        self._pattern, self._content, self._rest = pattern, content, ""

    def feed(self, text: str) -> str:
        """Return the characters with the string replaced."""
        *parts, rest = (self._rest + text).split(self._pattern)
        sizes = range(min(len(self._pattern) - 1, len(rest)), -1, -1)
        at = len(rest) - next(size for size in sizes if rest.endswith(self._pattern[:size]))
        self._rest = rest[at:]
        return self._content.join([*parts, rest[:at]])

    def finish(self) -> str:
        """Return the characters that waited."""
        return self._rest


class Stripper(HeldText):
    """Removes a character at the start, up to `start` times, and at the end, up to `stop` times."""

    def __init__(self, step: Strip) -> None:
        super().__init__(step)
        self._content, self._left, self._stop = step.content, step.start, step.stop

    @property
    def is_over(self) -> bool:  # type: ignore[override]
        """Whether it removes nothing from here on."""
        return not self._left and not self._stop

    def feed(self, text: str) -> str:
        """Return the characters before a run that may be the end."""
        if self._left:
            cut = min(len(text) - len(text.lstrip(self._content)), self._left)
            text = text[cut:]
            self._left = 0 if text else self._left - cut
        kept = len(text.rstrip(self._content)) if self._stop else len(text)
        if kept:
            text, self._waiting = "".join([*self._waiting, text[:kept]]), [text[kept:]]
            return text
        return super().feed(text)

    def finish(self) -> str:
        """Return what remains of the run at the end."""
        run = "".join(self._waiting)
        return run[: max(0, len(run) - self._stop)]


def _changes(after: Sequence[Any]) -> list[HeldText]:
    """Return the steps after joining; what is no Replacer or Stripper, and all that follows it, is held to the end."""
    found: list[HeldText] = []
    for at, step in enumerate(after):
        match step:
            case Strip():
                found.append(Stripper(step))
            case Metaspace(replacement, scheme):
                found.append(Replacer(replacement, " " if scheme == "never" else ""))
            case BPEDecoder(suffix) if suffix:
                found.append(Replacer(suffix, ""))
            case Replace(pattern, content, False) if 0 < len(pattern) >= len(content):  # it makes no text too long
                found.append(Replacer(pattern, content))
            case _:
                return [*found, HeldText(*after[at:])]
    return found


class Joiner:
    """Joins the text of one list of ids that arrive one by one. joined: None holds all ids, for `whole` to decode."""

    def __init__(self, joined: Joined | None, whole: Callable[[list[int]], str]) -> None:
        self._whole = whole
        self._held: list[int] | None = [] if joined is None else None
        self._joined = joined = joined or Joined(Vocab([]), np.zeros(0, np.int64))
        self._known, self._errors = joined.tokens.known, joined.errors or "replace"
        self._bytes, self._breaks = joined.single_bytes, joined.breaks
        self._is_first, self._at_end = joined.edge is not None and not joined.at_end, joined.at_end
        self._last = -1  # the id that gives another text if it is the last one
        self._run = bytearray()  # byte tokens in a row, which may not be UTF-8
        self._incomplete = b""  # the beginning of a character
        self._changes = _changes(joined.after)

    @property
    def rests(self) -> bool:
        """Whether nothing waits."""
        waits = self._run or self._incomplete or self._is_first or self._last >= 0 or self._changes
        return not waits and self._held is None

    def feed(self, index: int) -> str:
        """Take the next id; return the text that is final."""
        if self._is_first:
            size, text, self._is_first = self._joined.edge_at(index)
            if size < 0:
                self._held = []
            elif size or text:
                return self._changed(text + self._known[index].decode()[size:])
        if self._held is not None:
            self._held.append(index)
            return ""
        text = self._before_last(index) if self._at_end else self._text(index, self._known[index])
        return self._changed(text) if self._changes else text

    def _before_last(self, index: int) -> str:
        """Return the text of the id that waited, and of this one if it gives the same as the last id."""
        size, text, is_empty = self._joined.edge_at(index)
        if is_empty:
            return ""
        before = self._known[self._last].decode() if self._last >= 0 else ""
        self._last = index if size or text else -1
        return before if self._last >= 0 else before + self._known[index].decode()

    def _text(self, index: int, data: bytes) -> str:
        """Return the characters that are complete after the bytes of an id."""
        if index in self._bytes:
            self._run += data
            return ""
        before = self._ended() if (self._run and data) or index in self._breaks else ""
        if not self._incomplete and data.isascii():
            return before + data.decode()
        data = self._incomplete + data
        text, used = codecs.utf_8_decode(data, self._errors, False)
        self._incomplete = data[used:]
        return before + (text if self._errors == "replace" else decoded(data[:used], self._errors))

    def _ended(self) -> str:
        """Return the text of the bytes that wait, after which no other byte belongs to them."""
        data, self._incomplete = self._incomplete, b""
        if not self._run:
            return decoded(data, self._errors)
        run, self._run = self._run, bytearray()
        try:
            return run.decode()
        except UnicodeDecodeError:
            return "\ufffd" * len(run)

    def _changed(self, text: str) -> str:
        for change in self._changes:
            text = change.feed(text) if text else ""
        self._changes = [change for change in self._changes if not change.is_over]
        return text

    def finish(self) -> str:
        """Return what remains."""
        if self._held is not None:
            return self._whole(self._held)
        text = self._ended()
        if self._last >= 0:
            size, end, _ = self._joined.edge_at(self._last)
            whole = self._known[self._last].decode()
            text += whole[: len(whole) - size] + end
        for change in self._changes:
            text = (change.feed(text) if text else "") + change.finish()
        return text
