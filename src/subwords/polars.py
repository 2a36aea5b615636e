"""Columns of Polars: `import subwords.polars` adds `pl.col("text").tok` with encode, count and decode."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import polars

from subwords import Tokenizer
from subwords.machine import tokenizer_of

if TYPE_CHECKING:
    from subwords import TokenBatch
    from subwords.machine import SpecialPolicy, TokenizerLike

__all__ = ["TokenColumn"]


class TokenColumn:
    """The namespace `tok` of expressions; null stays null. It runs in lazy frames and in the streaming engine too.

    tokenizer: a Tokenizer, a path or a name. Other options are those of `Tokenizer.encode_batch`.
    """

    def __init__(self, expr: Any) -> None:
        self._expr = expr

    def encode(
        self,
        tokenizer: TokenizerLike,
        *,
        special: SpecialPolicy = "text",
        template: bool = False,
        threads: int | None = None,
    ) -> Any:
        """Return the ids of each text, List(UInt32)."""
        tok = tokenizer_of(tokenizer)

        def encoded(texts: Any) -> Any:
            return polars.Series(_Lists(_ids(tok, texts, special, template, threads)))

        return self._mapped(encoded, polars.List(polars.UInt32))

    def count(
        self,
        tokenizer: TokenizerLike,
        *,
        special: SpecialPolicy = "text",
        template: bool = False,
        threads: int | None = None,
    ) -> Any:
        """Return the number of ids of each text, UInt32."""
        tok = tokenizer_of(tokenizer)

        def counted(texts: Any) -> Any:
            return polars.Series(np.diff(_ids(tok, texts, special, template, threads).offsets).astype(np.uint32))

        return self._mapped(counted, polars.UInt32)

    def decode(self, tokenizer: TokenizerLike, *, skip_special_tokens: bool = False) -> Any:
        """Return the text of each list of ids, String."""
        tok = tokenizer_of(tokenizer)

        def decoded(lists: Any) -> Any:
            return polars.Series(tok.decode_batch(lists, skip_special_tokens=skip_special_tokens), dtype=polars.String)

        return self._mapped(decoded, polars.String)

    def _mapped(self, run: Callable[[Any], Any], kind: Any) -> Any:
        """Return the expression with a function of columns without nulls, in whose places are nulls afterwards."""

        def filled(column: Any) -> Any:
            if not column.null_count():
                return run(column).alias(column.name)
            valid = column.is_not_null()
            number = polars.select(polars.when(valid).then(valid.cum_sum() - 1).cast(polars.UInt32)).to_series()
            return run(column.drop_nulls()).gather(number).alias(column.name)

        return self._expr.map_batches(filled, return_dtype=kind, is_elementwise=True)


class _Lists:
    """A batch with Arrow's interface only: of a sequence of arrays of one length, Polars makes the type Array."""

    def __init__(self, batch: TokenBatch) -> None:
        self.__arrow_c_array__ = batch.__arrow_c_array__


def _ids(tok: Tokenizer, texts: Any, special: SpecialPolicy, template: bool, threads: int | None) -> TokenBatch:
    return tok.encode_batch(texts, special=special, template=template, threads=threads)


polars.api.register_expr_namespace("tok")(TokenColumn)
