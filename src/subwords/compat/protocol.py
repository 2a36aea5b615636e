"""Tok: the methods of Tokenizer that the shapes call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from subwords.components.decoder import Decoder
    from subwords.components.template import Template
    from subwords.engine.added_tokens import AddedTokens
    from subwords.families import Model
    from subwords.normalize.normalizer import Normalizer
    from subwords.results.token_batch import TokenBatch
    from subwords.spec import TokenizerSpec

__all__ = ["Tok"]


class Tok(Protocol):
    """A `Tokenizer`, which is in a higher room."""

    spec: TokenizerSpec

    @property
    def model(self) -> Model:
        """See `Tokenizer`."""

    @property
    def template(self) -> Template | None:
        """See `Tokenizer`."""

    @property
    def decoder(self) -> Decoder | None:
        """See `Tokenizer`."""

    @property
    def normalizer(self) -> Normalizer | None:
        """See `Tokenizer`."""

    @property
    def added_tokens(self) -> AddedTokens:
        """See `Tokenizer`."""

    @property
    def vocab_size(self) -> int:
        """See `Tokenizer`."""

    @property
    def special_tokens(self) -> dict[str, int]:
        """See `Tokenizer`."""

    @property
    def roles(self) -> dict[str, int]:
        """See `Tokenizer`."""

    def __call__(
        self,
        text: Any,
        pair: Any = None,
        *,
        special: Any = "text",
        template: bool = True,
        truncation: Any = None,
        padding: Any = None,
    ) -> Any:
        """See `Tokenizer`."""

    def encode(self, text: str | bytes, *, special: Any = "text", template: bool = False) -> list[int]:
        """See `Tokenizer`."""

    def encode_to_numpy(self, text: str | bytes, *, special: Any = "text") -> NDArray[np.uint32]:
        """See `Tokenizer`."""

    def encode_batch(
        self, texts: Iterable[str | bytes], *, special: Any = "text", threads: int | None = None
    ) -> TokenBatch:
        """See `Tokenizer`."""

    def tokenize(self, text: str | bytes, *, special: Any = "text") -> list[str]:
        """See `Tokenizer`."""

    def nbest(self, text: str, n: int = 10) -> list[tuple[list[int], float]]:
        """See `Tokenizer`."""

    def sample(self, text: str, *, alpha: float = 0.1, nbest: int = -1, seed: Any = None) -> list[int]:
        """See `Tokenizer`."""

    def decode(
        self, ids: Iterable[int] | NDArray[np.integer[Any]], *, errors: str = ..., skip_special_tokens: bool = ...
    ) -> str:
        """See `Tokenizer`."""

    def get_vocab(self) -> dict[str, int]:
        """See `Tokenizer`."""

    def token_to_id(self, token: str | bytes) -> int | None:
        """See `Tokenizer`."""

    def id_to_token(self, index: int) -> str | None:
        """See `Tokenizer`."""

    def with_(self, **changes: Any) -> Any:
        """See `Tokenizer`."""

    def with_tokens(self, tokens: Iterable[str], **flags: bool) -> Any:
        """See `Tokenizer`."""
