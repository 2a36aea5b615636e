"""Ids to text while the ids arrive, and the characters that each id gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords.engine.decode.decoding import (
    BYTE_TOKEN,
    as_ids,
    bytes_of_letters,
    decode_bytes,
    flat_steps,
    join_texts,
)
from subwords.engine.decode.stages import IdSource, TokenSource
from subwords.spec.decoder import ByteDecoder, ByteFallback, Decoder
from subwords.spec.token_batch import MOST_AS_LIST, TokenBatch
from subwords.spec.vocab import Vocab
from subwords.support.checks import as_list, check_flag
from subwords.support.errors import InputError

if TYPE_CHECKING:
    from subwords.engine.added_tokens import AddedTokens
    from subwords.engine.decode.joined import Joined
    from subwords.engine.decode.token_table import TokenTable
    from subwords.spec.tokenizer import TokenizerSpec


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
        source: IdSource,
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
        text = join_texts([self._source.feed(index, (at, at + 1)) for at, index in self._checked(ids)]).text
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

Ids: TypeAlias = Iterable[int] | NDArray[np.integer[Any]]

ERRORS = ("replace", "strict", "ignore", "backslashreplace", "surrogateescape")


class IdDecoder:
    """Decodes the ids of a tokenizer; its tables are built on first use."""

    def __init__(self, spec: TokenizerSpec, added: AddedTokens) -> None:
        self._spec, self._decoder, self._added = spec, spec.decoder, added

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
        if isinstance(index, bool) or not hasattr(index, "__index__"):
            raise InputError(f"expected an id as an int, not {type(index).__name__}")
        place = index.__index__()
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

    def stream(self, prompt: Ids, skip_special_tokens: bool) -> DecodeStream:
        """Return an incremental decoder; see `Tokenizer.stream`."""

        skipped = self._skipped(skip_special_tokens)
        if isinstance(prompt, tuple) and not prompt:
            return DecodeStream(self._source(), skipped)
        before = as_ids(prompt)
        return DecodeStream(self._source(), skipped, before, self.text(before, "replace", skip_special_tokens))

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
