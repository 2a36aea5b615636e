"""Ids to text, for every tokenizer: whole, in a stream, with spans; and the bytes of one id."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from subwords.components.vocab import Vocab
from subwords.engine.decode.decode_ids import as_ids, decode_bytes
from subwords.errors import InputError
from subwords.support.checks import check_flag

if TYPE_CHECKING:
    from subwords.engine.added_tokens import AddedTokens
    from subwords.engine.decode.joined import Joined
    from subwords.engine.decode.source import Source
    from subwords.engine.decode.stream import DecodeStream
    from subwords.engine.decode.token_bytes import TokenBytes
    from subwords.spec import TokenizerSpec

__all__ = ["ERRORS", "MOST_AS_LIST", "IdDecoder", "Ids"]

Ids: TypeAlias = Iterable[int] | NDArray[np.integer[Any]]

ERRORS = ("replace", "strict", "ignore", "backslashreplace", "surrogateescape")
MOST_AS_LIST = 1 << 9  # ids of an array: with more, a list of them costs more than the call of two kernels


def _no_fast_path(ids: object) -> None:
    """Always return None: the general path decodes."""


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
        """The fast decoder of a list of ids, errors replaced; it returns None for lists that it does not decode."""
        return _no_fast_path if self._joined is None else self._joined.fast_path

    def text(self, ids: Ids, errors: str, skip_special_tokens: bool) -> str:
        """Return the text of ids; see `Tokenizer.decode`."""
        check_flag("skip_special_tokens", skip_special_tokens)
        if not isinstance(errors, str) or errors not in ERRORS:
            raise InputError(f"expected errors to be one of {', '.join(map(repr, ERRORS))}, not {errors!r:.60}")
        if self._decoder is not None:
            from subwords.components.decoder import replaces_bytes

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
        found = self._texts_of_ids[place]  # refuses an id that does not exist
        return found if self._decoder is None else self._bytes_of_ids.of(place)

    def stream(self, prompt: Ids, skip_special_tokens: bool) -> DecodeStream:
        """Return an incremental decoder; see `Tokenizer.stream`."""
        from subwords.engine.decode.stream import DecodeStream

        skipped = self._skipped(skip_special_tokens)
        if isinstance(prompt, tuple) and not prompt:
            return DecodeStream(self._source(), skipped)
        before = as_ids(prompt)
        return DecodeStream(self._source(), skipped, before, self.text(before, "replace", skip_special_tokens))

    def with_spans(self, ids: Ids, skip_special_tokens: bool) -> tuple[str, NDArray[np.int64]]:
        """Return the text of ids and the characters of each; see `Tokenizer.decode_with_spans`."""
        from subwords.engine.decode.stream import text_and_spans

        return text_and_spans(self._source(), as_ids(ids), self._skipped(skip_special_tokens))

    def _streamed(self, ids: NDArray[np.int64], skip_special_tokens: bool) -> str:
        from subwords.engine.decode.stream import text_of

        return text_of(self._source(), ids, self._skipped(skip_special_tokens))

    def _skipped(self, skip_special_tokens: bool) -> frozenset[int]:
        check_flag("skip_special_tokens", skip_special_tokens)
        return self._added.special_ids if skip_special_tokens else frozenset()

    def _source(self) -> Source:
        if self._decoder is None:
            from subwords.engine.decode.source import ByteSource

            return ByteSource(self._texts_of_ids)
        from subwords.engine.decode.token_source import TokenSource

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
    def _bytes_of_ids(self) -> TokenBytes:
        from subwords.engine.decode.token_bytes import TokenBytes

        assert self._decoder is not None
        return TokenBytes(self._decoder, self._tokens)

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
