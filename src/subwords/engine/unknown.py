"""Where a symbol without an id is in the text that the caller gave: an error path, which encodes the text again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from subwords.models.families import family_of
from subwords.models.segmenter import UnknownSymbolError, character_at, quote_text
from subwords.spec.added_token import Input, Special, input_bytes
from subwords.split.word_spans import WordSpans
from subwords.support.errors import InputError
from subwords.support.render import Chip, chips, facts, printable

if TYPE_CHECKING:
    from subwords.engine.encoder import Encoder
    from subwords.engine.engine import Engine
    from subwords.engine.text_parts import TextSegment
    from subwords.normalize.normalizer import Normalizer
    from subwords.spec.model import Model
    from subwords.split.splitter import Splitter


STRETCH = 1 << 20  # bytes of a long text that are searched at once: places take 50 times as much memory
ESCAPES = "surrogateescape"


class Spot(NamedTuple):
    """A symbol without an id, and the part of the given text that it comes from: `source`, empty if it was inserted.

    character, byte: where `source` begins; character is None if the text is bytes. part: the number of the Text of a
    list.
    """

    symbol: UnknownSymbolError
    source: bytes
    character: int | None
    byte: int
    part: int | None = None

    def told(self) -> str:
        """Return the message."""
        byte = f"byte {self.byte}"
        place = f" at {byte}" if self.character is None else f" at character {self.character} ({byte})"
        source = self.source.decode("utf-8", "replace")
        if not source:
            place = f", inserted{place},"
        elif source != self.symbol.text:
            place = f", from {quote_text(source)}{place},"
        return ("" if self.part is None else f"part {self.part}: ") + self.symbol.told(place)


def unknown_in(engine: Engine, text: Input, special: str | AbstractSet[str], error: UnknownSymbolError) -> InputError:
    """Return the error for a text in which the encoder met an unknown symbol, with its place."""
    spot = spot_of(engine, text, special)
    return InputError(str(error) if spot is None else spot.told())


def spot_of(engine: Engine, text: Input, special: str | AbstractSet[str]) -> Spot | None:
    """Return the first unknown symbol of a text; None if all symbols have ids."""
    for part in engine.parts.cut(text, special):
        found = _found(engine.encoder_of(part), part) if part.id is None else None
        if found is None:
            continue
        spot = spot_in(part.source, *found)
        character, byte = part.first + (spot.character or 0), part.at + spot.byte
        if isinstance(text, str):
            return spot._replace(character=character, byte=byte)
        if isinstance(text, bytes):
            return spot._replace(character=None, byte=byte)
        return _in_list(spot._replace(character=character, byte=byte), text)
    return None


def spot_in(source: bytes, spans: WordSpans, symbol: UnknownSymbolError) -> Spot:
    """Return the place of a symbol of `spans.text` in the source of these words."""
    begin, stop = int(spans.origin[0, symbol.begin]), int(spans.origin[1, symbol.stop - 1])
    first = begin
    while first > max(0, begin - 3) and source[first] & 0xC0 == 0x80:
        first -= 1
    whole = character_at(source, first).encode() if first < len(source) else b""
    if begin < first + len(whole):  # a byte of a character: the whole of it
        begin, stop = first, max(stop, first + len(whole))
    return Spot(symbol, source[begin:stop], len(source[:begin].decode("utf-8", ESCAPES)), begin)


def _in_list(spot: Spot, parts: Sequence[object]) -> Spot:
    """Return a place in the joined text of a list of Text and Special as a place in one of them."""
    byte, character = spot.byte, spot.character or 0
    for number, part in enumerate(parts):
        data = input_bytes([part])  # type: ignore[list-item]
        if byte < len(data) or number == len(parts) - 1:
            by_bytes = not isinstance(part, Special) and isinstance(part.text, bytes)  # type: ignore[attr-defined]
            return spot._replace(character=None if by_bytes else character, byte=byte, part=number)
        byte, character = byte - len(data), character - len(data.decode("utf-8", ESCAPES))
    return spot


def _found(encoder: Encoder, part: TextSegment) -> tuple[WordSpans, UnknownSymbolError] | None:
    """Return the first unknown symbol of a part, with the words of a stretch around it."""
    context, first, stop = _stretch(encoder, part.data)
    origin = None if part.origin is None else part.origin[:, context:stop]
    spans = part._replace(data=part.data[context:stop], origin=None).word_spans(encoder.words)
    begins = spans.origin[0, spans.words[:-1]]
    words = spans.words[int(np.searchsorted(begins, first - context)) :]
    try:
        encoder.encode_words(spans.text, words)
    except UnknownSymbolError as symbol:
        if origin is not None:
            return spans.within(origin), symbol
        return WordSpans(spans.text, spans.words, spans.texts, spans.origin + context, spans.leads), symbol
    return None


def _stretch(encoder: Encoder, data: bytes) -> tuple[int, int, int]:
    """Return a stretch of a long text: where its context begins, where it begins itself, and where it ends.

    The first unknown symbol is in it. Without the context, a prefix would be put before its first word.
    """
    context = first = 0
    if len(data) <= STRETCH or not encoder.segmenter.apart or encoder.segmenter.joins:
        return 0, 0, len(data)
    text = np.frombuffer(data, np.uint8)
    while first < len(data):
        stop, size = 0, STRETCH
        while stop <= first:
            stop = encoder.splitter.cut(text, first + size) if first + size < len(data) else len(data)
            size *= 2
        try:
            bounds = np.array([0, stop - first], np.int64)
            encoder.encode_part(data[first:stop], bounds, begins=first == 0, ends=stop == len(data))
        except UnknownSymbolError:
            return context, first, stop
        context, first = first, stop
    return 0, 0, len(data)


# ---------------------------------------------------------------------------------------------------------------------
# A tokenizer in one line, and as a table in a notebook.

_MOST_SHOWN = 40  # tokens


def one_line(model: Model, splitter: Splitter, normalizer: Normalizer | None, special: Mapping[str, int]) -> str:
    """Return family, sizes and rules; `special` has the ids of the special tokens."""
    rules = [] if normalizer is None else [f"normalizer {normalizer.shown}"]
    rules.append(f"splitter {splitter.shown}")
    return f"Tokenizer({', '.join([family_of(model).name, *_size_lines(model, special), *rules])})"


def table(model: Model, splitter: Splitter, normalizer: Normalizer | None, special: Mapping[str, int]) -> str:
    """Return the same as HTML, with special tokens and a sample of the others."""
    first = sorted(special.items(), key=lambda entry: entry[1])[:_MOST_SHOWN]
    some = {index: token for index in _some_ids(len(model.vocab), {*special.values()}) if (token := model.vocab[index])}
    rows = [
        ("model", _escaped_text(type(model).__name__)),
        ("vocabulary", _escaped_text(", ".join(_size_lines(model, special)))),
        ("splitter", _escaped_text(splitter.name or splitter.identity)),
        ("normalizer", _escaped_text("none" if normalizer is None else normalizer.name or normalizer.shown)),
        ("special tokens", _chips({index: text.encode() for text, index in first}, len(special))),
        ("some tokens", _chips(some, len(some))),
    ]
    return facts(rows, caption=f"Tokenizer: {family_of(model).name}")


def _size_lines(model: Model, special: Mapping[str, int]) -> list[str]:
    """Return how many tokens, ids without a token, merges and special tokens there are."""
    tokens = int(np.count_nonzero(np.diff(model.vocab.offsets)))
    sizes = [f"{tokens} tokens"]
    if tokens < len(model.vocab):
        sizes.append(f"{len(model.vocab) - tokens} unused ids")
    # A model that ranks tokens merges any two that make one: such a list of pairs is longer than its vocabulary.
    if model.merge_count is not None and model.merge_count <= tokens:
        sizes.append(f"{model.merge_count} merges")
    return [*sizes, f"{len(special)} special"]


def _some_ids(size: int, special: set[int]) -> list[int]:
    """Return ids from the whole vocabulary, evenly spaced, without special tokens."""
    step = max(1, size // _MOST_SHOWN)
    return [index for index in range(step // 2, size, step) if index not in special][:_MOST_SHOWN]


def _escaped_text(value: str) -> str:
    return escape(printable(value if len(value) <= 300 else f"{value[:300]}… ({len(value) - 300} more)"))


def _chips(tokens: Mapping[int, bytes], total: int) -> str:
    found = [Chip(token.decode("utf-8", "surrogateescape"), f"id {index}") for index, token in tokens.items()]
    return chips(found, left_out=total - len(found)) if found else "none"
