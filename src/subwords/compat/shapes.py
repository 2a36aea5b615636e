"""Shapes: the base of `Tokenizer` that gives it the methods of other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from subwords.support.checks import check_string
from subwords.writes import Writes

if TYPE_CHECKING:
    from subwords.compat.hf import HFShape
    from subwords.compat.protocol import Tok
    from subwords.compat.sentencepiece import SentencePieceShape
    from subwords.compat.tiktoken import TiktokenShape

__all__ = ["Shapes"]


class Shapes(Writes):
    """Returns a tokenizer in the shape of another library, for code written against that library."""

    def as_tiktoken(self, name: str = "subwords") -> TiktokenShape:
        """Return the tokenizer with the methods of `tiktoken.Encoding`; byte-level BPE only.

        Raises InputError for other models, and for normalizers and added tokens that are not special.

        >>> import subwords
        >>> subwords.train(["ab ab"], vocab_size=257).as_tiktoken().encode_ordinary("abab")
        [256, 256]
        """
        from subwords.compat.tiktoken import TiktokenShape

        check_string("name", name)
        return TiktokenShape(cast("Tok", self), name)

    def as_sentencepiece(self) -> SentencePieceShape:
        """Return the tokenizer with the methods of `sentencepiece.SentencePieceProcessor`.

        Raises FormatError for a tokenizer that a .model file cannot hold.
        """
        from subwords.compat.sentencepiece import SentencePieceShape

        return SentencePieceShape(cast("Tok", self))

    def as_hf(self) -> HFShape:
        """Return the tokenizer with the methods of `tokenizers.Tokenizer`.

        >>> import subwords
        >>> subwords.train(["ab ab"], vocab_size=257).as_hf().encode("abab").tokens
        ['ab', 'ab']
        """
        from subwords.compat.hf import HFShape

        return HFShape(cast("Tok", self))

    def to_transformers(self, **options: Any) -> Any:
        """Return a `transformers.PreTrainedTokenizerFast` with this tokenizer's ids, roles and chat template.

        options: those of the class, such as padding_side and model_max_length; they win. Raises InputError if
        transformers is not installed, FormatError for a tokenizer that tokenizer.json cannot hold.
        """
        from subwords.compat.transformers import to_transformers

        return to_transformers(cast("Tok", self), options)
