"""Decoders that join bytes: most ids give the same bytes wherever they are, and their text is joined by a kernel."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords.engine.decode.decoding import (
    Alone,
    apply_step,
    begins_with_space,
    changed,
    check_lengthened,
    decoded_size,
    flat_steps,
    is_byte_token,
    join_id_bytes,
    piece_bytes,
    stripped,
)
from subwords.kernels import layout
from subwords.spec.decoder import (
    BPEDecoder,
    ByteDecoder,
    ByteFallback,
    Decoder,
    Fuse,
    Metaspace,
    Replace,
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
_STRAY = re.compile("[\udc80-\udcff]")  # what surrogateescape writes for a byte


@dataclass(frozen=True, eq=False)
class Joined:
    """Joins the bytes that ids give, then changes one end of the text, then the whole text.

    Not exact, so that its methods return None, for bytes that are not UTF-8 (but `of_array` decodes them if `errors`
    says how), and where an id with SPAN_BREAK, which gives no bytes, separates some with SPAN_BYTE, which are single
    bytes of a character.

    tokens, spans: the bytes of each id between others. edge: what changes for the first id, or for the last one if
    `at_end`. finish: the change of the whole text. None: nothing changes. errors: as in `bytes.decode`; a byte that
    "surrogateescape" leaves becomes U+FFFD.
    """

    tokens: Vocab
    spans: NDArray[np.int64]
    edge: Callable[[int], Edge] | None = None
    at_end: bool = False
    finish: Callable[[str], str] | None = None
    errors: str | None = None
    after: tuple[Any, ...] = ()  # the steps of `finish`

    def without(self, hidden: AbstractSet[int]) -> Joined:
        """Return one that leaves out some ids."""
        spans, edge = self.spans.copy(), self.edge
        spans[sorted(hidden)] &= ~np.int64(layout.SPAN_SIZE | layout.SPAN_BYTE | layout.SPAN_BREAK)
        visible = None if edge is None else lambda index: NO_TEXT if index in hidden else edge(index)
        return Joined(self.tokens, spans, visible, self.at_end, self.finish, self.errors, self.after)

    @cached_property
    def texts(self) -> Vocab | None:
        """The bytes of each id in a finished text, between others (D7); None if they depend on these."""
        if any(not isinstance(step, Replace | Strip) for step in self.after):
            return None
        if not (replaces := [step for step in self.after if isinstance(step, Replace)]):
            return self.tokens
        texts = [*self.tokens]
        size = sum(map(len, texts))
        for step in replaces:
            old, new = step.pattern.encode(), step.content.encode()
            check_lengthened(size, texts, old, new)
            texts = [text.replace(old, new) if old in text else text for text in texts]
        return Vocab(texts)

    @cached_property
    def fast_path(self) -> Callable[[Any], str | None]:
        """The function of a list of ids to text; None for any other object, and where this is not available."""
        decode, rest = self._decoders[0], self._rest
        return decode if rest is None else lambda ids: rest(decode(ids), ids)

    @cached_property
    def fast_paths(self) -> Callable[[Any], list[str | None] | None]:
        """The same for a list of lists: each text, or None; None for any other object."""
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

    def of_array(self, ids: NDArray[np.int64]) -> str | None:
        """Return the text of ids; InputError for an id out of range, with its position."""
        size = decoded_size(ids, self.spans)
        if size is None:
            return None
        data = join_id_bytes(ids, size, self.spans, self.tokens.data).data
        try:
            found = str(data, "utf-8")
        except UnicodeDecodeError:
            if self.errors is None:
                return None
            found = _STRAY.sub("\ufffd", str(data, "utf-8", self.errors))
        return self._ended(found, ids)

    def _ended(self, found: str, ids: Sequence[int] | NDArray[np.int64]) -> str | None:
        if self.edge is not None:
            size, text = self._edge_of(ids[::-1] if self.at_end else ids)
            if size < 0:
                return None
            if size or text:
                found = found[: len(found) - size] + text if self.at_end else text + found[size:]
        return found if self.finish is None else self.finish(found)

    def _edge_of(self, ids: Sequence[int] | NDArray[np.int64]) -> tuple[int, str]:
        edges, size = self._edges, 0
        for index in ids:
            if index not in edges:
                if not 0 <= index < len(self.tokens):
                    raise changed()
                assert self.edge is not None
                edges[int(index)] = self.edge(int(index))
            more, text, goes_on = edges[index]
            if not goes_on:
                return (size + more if more >= 0 else more), text
            size += more
        return size, ""

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
        return Joined(tokens, tokens.spans)
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
    options: Any = {"finish": _normalizer(decoder), "errors": "surrogateescape", "after": tuple(decoder.steps)}
    return Joined(texts, spans, edge if drops else None, **options)


def _normalizer(decoder: SentencePieceDecoder) -> Callable[[str], str] | None:
    if not decoder.steps:
        return None
    from subwords.normalize.normalizer import Normalizer

    return Normalizer(decoder.steps).normalize


def _of_steps(decoder: Decoder, tokens: Sequence[str]) -> Joined | None:
    steps = [*flat_steps(decoder)]
    count = next((k for k, step in enumerate(steps) if not _is_alone(step)), len(steps))
    alone, rest = steps[:count], steps[count:]
    is_fallback = bool(rest) and isinstance(rest[0], ByteFallback)
    join, *after = rest[is_fallback:] or [Fuse()]
    at_start = any(isinstance(step, Metaspace | SpaceDecoder | WordPieceDecoder) for step in alone)
    at_end = any(isinstance(step, BPEDecoder) for step in alone)
    is_letters = isinstance(join, ByteDecoder) and join.byte_level
    after = [step for step in after if not isinstance(step, Fuse)]
    if not isinstance(join, Fuse | ByteDecoder) or (at_start and at_end) or (is_fallback and is_letters):
        return None
    if not all(map(_is_alone, after)):
        return None

    def bytes_of(texts: list[str]) -> list[bytes]:
        return _letters(texts) if is_letters else [text.encode() for text in texts]

    found = _applied(alone, ["", *tokens, ""])[1:-1]
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
        text = _applied(alone, ["", tokens[index]])[1] if at_end else _applied(alone, [tokens[index], ""])[0]
        if text == texts[index]:
            return UNCHANGED
        if is_byte[index] or (is_fallback and is_byte_token(text)):
            return UNSURE
        try:
            return len(vocab[index].decode()), bytes_of([text])[0].decode(), False
        except UnicodeDecodeError:
            return UNSURE

    finish = _finisher(after)
    if at_start or at_end:
        return Joined(vocab, spans, edge, at_end, finish, after=tuple(after))
    return Joined(vocab, spans, finish=finish, errors="replace" if is_letters else None, after=tuple(after))


def _is_alone(step: Any) -> bool:
    return isinstance(step, Alone) and not (isinstance(step, Replace) and (step.regex or not step.pattern))


def _applied(steps: Sequence[Any], tokens: list[str]) -> list[str]:
    size = sum(map(len, tokens))
    for step in steps:
        if isinstance(step, Replace):
            check_lengthened(size, tokens, step.pattern, step.content)
        tokens = apply_step(step, tokens)
    return tokens


def _finisher(steps: Sequence[Any]) -> Callable[[str], str] | None:
    if len(steps) == 1 and isinstance(steps[0], Strip):  # that of Llama; half the time of the general way
        return partial(stripped, steps[0])
    return (lambda text: "".join(_applied(steps, [text]))) if steps else None


def _letters(texts: Sequence[str]) -> list[bytes]:
    """Return the bytes that the characters of each text represent; its UTF-8 if a character represents none."""
    spelled = tokens_from_text([text if CHARACTERS.issuperset(text) else "" for text in texts])
    return [data or text.encode() for data, text in zip(spelled, texts, strict=True)]


def _flag(spans: NDArray[np.int64], flag: int, chosen: Sequence[bool]) -> None:
    spans[np.flatnonzero(chosen)] |= np.int64(flag)
