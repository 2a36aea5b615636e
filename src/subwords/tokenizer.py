"""Tokenizer: text to ids and back. It orchestrates; every loop over tokens is elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from subwords.bpe.decode import decode_bytes
from subwords.bpe.encode import Encoder
from subwords.bpe.model import BPE
from subwords.errors import InputError
from subwords.result import TokenBatch
from subwords.special import AddedToken, AddedTokens
from subwords.split.scanner import Splitter, encode_text

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["Tokenizer"]

Special = Literal["text", "error", "allow"] | set[str] | frozenset[str]


class Tokenizer:
    """A trained tokenizer, immutable: any number of threads may share it, and it survives fork and pickling (A4).

    >>> import subwords
    >>> tok = subwords.train(["low lower lowest"] * 9, vocab_size=265)
    >>> tok.tokenize("low lowest")
    ['low', ' lowest']
    >>> tok.decode(tok.encode("so low, é"))
    'so low, é'
    """

    def __init__(
        self,
        model: BPE,
        splitter: Splitter,
        *,
        added_tokens: Sequence[AddedToken] = (),
        extras: Mapping[str, Any] | None = None,
    ) -> None:
        """Join a model, a splitter and added tokens; `extras` are file entries kept for writing back."""
        self.model = model
        self.splitter = splitter
        self.added_tokens = AddedTokens(added_tokens)
        self.extras = dict(extras or {})
        for token in self.added_tokens:
            if token.id >= len(model.vocab):
                raise InputError(
                    f"expected added tokens to have ids below {len(model.vocab)}; {token.content!r} has {token.id}"
                )
        self._encoder = Encoder(model, splitter)

    # ------------------------------------------------------------------ text to ids

    def encode(self, text: str | bytes, *, special: Special = "text") -> list[int]:
        """Return the ids of a text, without any template.

        `bytes` need not be UTF-8 for a byte-level model. special="text": special tokens spelled out are ordinary text;
        "error": they raise; "allow": they become their ids, as do those named in a set. InputError for anything else.

        >>> import subwords
        >>> subwords.train(["ab ab"], vocab_size=258, special_tokens=["<s>"]).encode("<s>ab", special="allow")
        [0, 257]
        """
        ids: list[int] = self.encode_to_numpy(text, special=special).tolist()
        return ids

    def encode_to_numpy(self, text: str | bytes, *, special: Special = "text") -> NDArray[np.uint32]:
        """Return the ids of a text as a uint32 array; see `encode`."""
        if special == "text" and not self.added_tokens.ordinary:
            return self._encoder.encode(text if isinstance(text, bytes) else encode_text(text))
        parts = self.added_tokens.split(text, special)
        arrays = [
            np.array([part], np.uint32) if isinstance(part, int) else self._encoder.encode(_as_bytes(part))
            for part in parts
        ]
        return np.concatenate(arrays) if arrays else np.zeros(0, np.uint32)

    def encode_batch(
        self, texts: Iterable[str | bytes], *, special: Special = "text", threads: int | None = None
    ) -> TokenBatch:
        """Return the ids of many texts, in their order, using `threads` threads (None: one per processor).

        >>> import subwords
        >>> subwords.train(["ab ab"], vocab_size=257).encode_batch(["ab", "abab"]).to_lists()
        [[256], [256, 256]]
        """
        if isinstance(texts, (str, bytes)):
            raise InputError("expected many texts; for a single one use encode")
        if special == "text" and not self.added_tokens.ordinary:
            return self._encoder.encode_batch([_as_bytes(text, i) for i, text in enumerate(texts)], threads)
        arrays = [self.encode_to_numpy(text, special=special) for text in texts]
        offsets = np.cumsum([0, *map(len, arrays)], dtype=np.int64)
        return TokenBatch(np.concatenate([np.zeros(0, np.uint32), *arrays]), offsets)

    def tokenize(self, text: str | bytes, *, special: Special = "text") -> list[str]:
        """Return the tokens of a text; bytes that are no character by themselves show as U+FFFD."""
        return [self.model.vocab[index].decode("utf-8", "replace") for index in self.encode(text, special=special)]

    # ------------------------------------------------------------------ ids to text

    def decode_bytes(self, ids: Iterable[int] | NDArray[np.integer[Any]]) -> bytes:
        """Return the bytes the ids stand for; InputError names an id that is none, and its position.

        >>> import subwords
        >>> subwords.train(["ab ab"], vocab_size=257).decode_bytes([256, 0])
        b'ab!'
        """
        return decode_bytes(self.model.vocab, ids)

    def decode(self, ids: Iterable[int] | NDArray[np.integer[Any]], *, errors: str = "replace") -> str:
        """Return the text the ids stand for.

        Hazard: ids may end inside a character; errors="strict" then raises InputError, the default puts U+FFFD.
        """
        data = self.decode_bytes(ids)
        try:
            return data.decode("utf-8", errors)
        except UnicodeDecodeError as error:
            raise InputError(f"expected ids of whole characters; byte {error.start} of the text is no UTF-8") from None
        except LookupError:
            raise InputError(
                f'expected errors="replace", "strict" or another that Python knows, not {errors!r}'
            ) from None

    # ------------------------------------------------------------------ what it is

    @property
    def vocab_size(self) -> int:
        """One more than the largest id."""
        return len(self.model.vocab)

    @property
    def vocab(self) -> dict[bytes, int]:
        """The id of every token's bytes, as a fresh dict."""
        return dict(self.model.vocab.ids)

    @property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """The merges in order of rank, as pairs of token bytes."""
        tokens = list(self.model.vocab)
        return [(tokens[left], tokens[right]) for left, right, _ in self.model.merges.tolist()]

    @property
    def special_tokens(self) -> dict[str, int]:
        """The id of every special token."""
        return {token.content: token.id for token in self.added_tokens if token.special}

    @property
    def lossless(self) -> bool:
        """Whether decode(encode(text)) is the text, whatever the text (A1)."""
        return self.model.lossless and self.splitter.keeps_text

    def save(self, path: str | PathLike[str]) -> None:
        """Write a tokenizer.json that HF tokenizers and transformers load; nothing is left half written."""
        from subwords.formats import save

        save(self, Path(path))

    def __repr__(self) -> str:
        return (
            f"Tokenizer(bpe, {self.vocab_size} tokens, {len(self.model.merges)} merges, "
            f"{len(self.special_tokens)} special, {self.splitter!r})"
        )


def _as_bytes(text: str | bytes, index: int | None = None) -> bytes:
    if isinstance(text, bytes):
        return text
    try:
        return encode_text(text)
    except InputError as error:
        raise InputError(str(error) if index is None else f"text {index}: {error}") from None
