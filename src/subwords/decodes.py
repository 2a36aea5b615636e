"""Decodes: ids to text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subwords.components.byte_alphabet import tokens_to_text
from subwords.components.vocab import Vocab
from subwords.described import Described
from subwords.engine.decode.decode_ids import as_ids, decode_bytes
from subwords.errors import InputError
from subwords.results.token_batch import TokenBatch
from subwords.support.checks import as_list, check_flag

if TYPE_CHECKING:
    from subwords.engine.decode.decoding import TokenTexts
    from subwords.engine.decode.joined import Joined
    from subwords.engine.decode.source import Source
    from subwords.engine.decode.stream import DecodeStream
    from subwords.engine.decode.token_bytes import TokenBytes

__all__ = ["Decodes"]

REPLACE = "replace"
MOST_AS_LIST = 1 << 9  # ids of an array: with more, a list of them costs more than the call of two kernels
_DECODE_ERRORS = (REPLACE, "strict", "ignore", "backslashreplace", "surrogateescape")


def _never(ids: object) -> None:
    """Do nothing, so that the other way is taken."""


class Decodes(Described):
    """The base of `Tokenizer` that turns ids into text. Immutable."""

    def decode_bytes(self, ids: Iterable[int] | NDArray[np.integer[Any]]) -> bytes:
        """Return the bytes of the ids; InputError names an invalid id and its position.

        >>> import subwords
        >>> subwords.train(["ab ab"], vocab_size=257).decode_bytes([256, 0])
        b'ab!'
        """
        if self.decoder is not None:
            return self._texts.decode(as_ids(ids), skip_special_tokens=False).encode()
        return decode_bytes(self._texts_of_ids, ids)

    def decode(
        self,
        ids: Iterable[int] | NDArray[np.integer[Any]],
        *,
        errors: str = REPLACE,
        skip_special_tokens: bool = False,
    ) -> str:
        """Return the text of the ids.

        errors: how to handle bytes that are not UTF-8, as in `bytes.decode`; a decoder that handles bytes itself (byte
        fallback) accepts only "replace".
        Hazard: ids may end inside a character. The default then writes U+FFFD; errors="strict" raises InputError.
        """
        if errors is REPLACE and skip_special_tokens is False:
            few = ids.tolist() if type(ids) is np.ndarray and ids.size <= MOST_AS_LIST else ids
            if (quick := self._quick(few)) is not None:
                return quick
        check_flag("skip_special_tokens", skip_special_tokens)
        if not isinstance(errors, str) or errors not in _DECODE_ERRORS:
            raise InputError(f"expected errors to be one of {', '.join(map(repr, _DECODE_ERRORS))}, not {errors!r:.60}")
        if self.decoder is not None:
            from subwords.components.decoder import replaces_bytes

            if errors != "replace" and replaces_bytes(self.decoder):
                raise InputError(f"expected errors='replace', not {errors!r:.60}: this decoder handles bytes itself")
        joined = self._visible if skip_special_tokens else self._joined
        flat = as_ids(ids)
        found = None
        if joined is not None:
            found = joined.quick(flat.tolist()) if len(flat) <= MOST_AS_LIST else None
            found = joined.of_array(flat) if found is None else found
        if found is not None:
            return found
        if self.decoder is not None:
            return self._texts.decode(flat, skip_special_tokens=skip_special_tokens)
        if skip_special_tokens:
            flat = flat[~np.isin(flat, list(self.added_tokens.special_ids))]
        data = self.decode_bytes(flat)
        try:
            return data.decode("utf-8", errors)
        except UnicodeDecodeError as error:
            raise InputError(
                f"ids are not whole characters: byte {error.start} of the text is not UTF-8; errors='replace' "
                f"writes U+FFFD there"
            ) from None

    def decode_batch(
        self,
        batch: Iterable[Iterable[int] | NDArray[np.integer[Any]]] | TokenBatch,
        *,
        errors: str = "replace",
        skip_special_tokens: bool = False,
    ) -> list[str]:
        """Return the text of each list of ids, in order; see `decode`.

        >>> import subwords
        >>> tok = subwords.train(["ab ab"], vocab_size=257)
        >>> tok.decode_batch(tok.encode_batch(["ab", "b a"]))
        ['ab', 'b a']
        """
        quick = self._quick if errors == REPLACE and skip_special_tokens is False else _never
        return [
            self.decode(ids, errors=errors, skip_special_tokens=skip_special_tokens)
            if (found := quick(ids.tolist() if type(ids) is np.ndarray else ids)) is None
            else found
            for ids in as_list(batch, "lists of ids")
        ]

    def token_bytes(self, index: int) -> bytes:
        r"""Return the bytes that an id adds to a text, after other tokens: b" the", a part of a character, ...

        Defined in ALGORITHMS.md, D7.

        The bytes of each token of a text join to the text, but for what a decoder does at its ends, such as dropping
        the first space. b"" for an id without a token. Raises InputError if there is no such id. `id_to_token` gives
        the token as a tokenizer.json spells it, such as "▁the" or "<0x0A>".

        >>> import subwords
        >>> tok = subwords.train(["low lower"] * 9, algorithm="unigram", vocab_size=12)
        >>> tok.id_to_token(tok.encode("low")[0]), tok.token_bytes(tok.encode("low")[0])
        ('▁low', b' low')
        """
        if isinstance(index, bool) or not hasattr(index, "__index__"):
            raise InputError(f"expected an id as an int, not {type(index).__name__}")
        place = index.__index__()
        found = self._texts_of_ids[place]  # refuses an id that does not exist
        return found if self.decoder is None else self._bytes_of_ids.of(place)

    @cached_property
    def _bytes_of_ids(self) -> TokenBytes:
        from subwords.engine.decode.token_bytes import TokenBytes

        assert self.decoder is not None
        return TokenBytes(self.decoder, self._tokens)

    def stream(
        self, *, prompt: Iterable[int] | NDArray[np.integer[Any]] = (), skip_special_tokens: bool = False
    ) -> DecodeStream:
        """Return a new incremental decoder: ids in, text out as soon as no later id can change it; see `decode`.

        prompt: ids before those that the stream gets. Their text is not returned, but what follows is decoded as after
        it: " world" with its space. The pieces join to the text of all ids without its common beginning with that of
        the prompt (ALGORITHMS.md, D1).

        >>> import subwords
        >>> tok = subwords.train(["ab ab"], vocab_size=258)
        >>> stream = tok.stream()
        >>> stream.step(257) + stream.step([257, 0]) + stream.finish() == tok.decode([257, 257, 0])
        True
        """
        from subwords.engine.decode.stream import DecodeStream

        skipped = self._skipped(skip_special_tokens)
        if isinstance(prompt, tuple) and not prompt:
            return DecodeStream(self._source(), skipped)
        before = as_ids(prompt)
        shown = self.decode(before, skip_special_tokens=skip_special_tokens)
        return DecodeStream(self._source(), skipped, before, shown)

    def decode_with_spans(
        self, ids: Iterable[int] | NDArray[np.integer[Any]], *, skip_special_tokens: bool = False
    ) -> tuple[str, NDArray[np.int64]]:
        """Return the text of the ids and the range of its characters that each id gives, int64 of shape (n, 2).

        Ranges are in order and cover the text. Ids that share a character all span it. An id that gives no character
        has an empty range at its place. For byte-level BPE and valid UTF-8, the starts are those of tiktoken's
        `decode_with_offsets`. Raises InputError as `decode` does.

        >>> import subwords
        >>> tok = subwords.train(["é"], vocab_size=256)
        >>> text, spans = tok.decode_with_spans(tok.encode("aé"))
        >>> text, spans.tolist()
        ('aé', [[0, 1], [1, 2], [1, 2]])
        """
        from subwords.engine.decode.stream import text_and_spans

        return text_and_spans(self._source(), as_ids(ids), self._skipped(skip_special_tokens))

    def _skipped(self, skip_special_tokens: bool) -> frozenset[int]:
        check_flag("skip_special_tokens", skip_special_tokens)
        return self.added_tokens.special_ids if skip_special_tokens else frozenset()

    def _source(self) -> Source:
        if self.decoder is None:
            from subwords.engine.decode.source import ByteSource

            return ByteSource(self._texts_of_ids)
        from subwords.engine.decode.token_source import TokenSource

        return TokenSource(self.decoder, self._tokens)

    @cached_property
    def _quick(self) -> Callable[[Any], str | None]:
        """The function of most lists of ids to text; None: take the other way."""
        return _never if self._joined is None else self._joined.quick

    @cached_property
    def _joined(self) -> Joined | None:
        from subwords.engine.decode.joined import joined_of

        return joined_of(self.decoder, self._texts_of_ids if self.decoder is None else self._tokens)

    @cached_property
    def _visible(self) -> Joined | None:
        """The same, with special tokens left out."""
        return None if self._joined is None else self._joined.without(self.added_tokens.special_ids)

    @cached_property
    def _texts(self) -> TokenTexts:
        from subwords.engine.decode.decoding import TokenTexts

        assert self.decoder is not None
        return TokenTexts(self.decoder, self._tokens, self.added_tokens.special_ids)

    @cached_property
    def _tokens(self) -> list[str]:
        """The tokens that a decoder gets, by id: as a tokenizer.json spells them; added tokens as text has them."""
        if not getattr(self.model, "byte_level", False):
            return [token.decode("utf-8", "replace") for token in self._texts_of_ids]
        tokens = tokens_to_text(list(self.model.vocab))
        for index in getattr(self.model, "literal_ids", ()):
            tokens[index] = self.model.vocab[index].decode("utf-8", "replace")
        for token, text in self.added_tokens.written.items():
            tokens[token.id] = text
        return tokens

    @cached_property
    def _texts_of_ids(self) -> Vocab:
        """The vocabulary, with added tokens that match normalized text replaced by their normalized form."""
        written = {token.id: text for token, text in self.added_tokens.written.items() if text != token.content}
        if not written:
            return self.model.vocab
        return Vocab([written[i].encode() if i in written else token for i, token in enumerate(self.model.vocab)])
