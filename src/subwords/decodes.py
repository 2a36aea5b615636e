"""Decodes: ids to text."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subwords.components.vocab import Vocab
from subwords.described import Described
from subwords.engine.decode_ids import as_ids, decode_bytes
from subwords.errors import InputError
from subwords.results.token_batch import TokenBatch
from subwords.support.checks import as_list, check_flag

if TYPE_CHECKING:
    from subwords.engine.decoding import TokenTexts

__all__ = ["Decodes"]

_DECODE_ERRORS = ("replace", "strict", "ignore", "backslashreplace", "surrogateescape")


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
        errors: str = "replace",
        skip_special_tokens: bool = False,
    ) -> str:
        """Return the text of the ids.

        errors: how to handle bytes that are not UTF-8, as in `bytes.decode`; a decoder that handles bytes itself (byte
        fallback) accepts only "replace".
        Hazard: ids may end inside a character. The default then writes U+FFFD; errors="strict" raises InputError.
        """
        check_flag("skip_special_tokens", skip_special_tokens)
        if not isinstance(errors, str) or errors not in _DECODE_ERRORS:
            raise InputError(f"expected errors to be one of {', '.join(map(repr, _DECODE_ERRORS))}, not {errors!r}")
        if self.decoder is not None:
            from subwords.components.decoder import replaces_bytes

            if errors != "replace" and replaces_bytes(self.decoder):
                raise InputError(f"expected errors='replace', not {errors!r}: this decoder handles bytes itself")
            return self._texts.decode(as_ids(ids), skip_special_tokens=skip_special_tokens)
        if skip_special_tokens:
            flat = as_ids(ids)
            ids = flat[~np.isin(flat, list(self.added_tokens.special_ids))]
        data = self.decode_bytes(ids)
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
        lists = as_list(batch, "lists of ids")
        return [self.decode(ids, errors=errors, skip_special_tokens=skip_special_tokens) for ids in lists]

    @cached_property
    def _texts(self) -> TokenTexts:
        from subwords.engine.decoding import TokenTexts

        assert self.decoder is not None
        tokens = [token.decode("utf-8", "replace") for token in self._texts_of_ids]
        return TokenTexts(self.decoder, tokens, self.added_tokens.special_ids)

    @cached_property
    def _texts_of_ids(self) -> Vocab:
        """The vocabulary, with added tokens that match normalized text replaced by their normalized form."""
        written = {token.id: text for token, text in self.added_tokens.written.items() if text != token.content}
        if not written:
            return self.model.vocab
        return Vocab([written[i].encode() if i in written else token for i, token in enumerate(self.model.vocab)])
