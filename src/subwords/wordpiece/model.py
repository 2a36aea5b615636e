"""The WordPiece model: a vocabulary, a prefix and an unk id, validated once, immutable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from subwords.components.vocab import Vocab
from subwords.errors import FormatError
from subwords.support.value import Value

__all__ = ["LARGEST_ID", "MAX_CHARS", "SPECIAL_TOKENS", "WordPiece"]

MOST_IDS = 2**31 - 1
LARGEST_ID = MOST_IDS - 1
MAX_CHARS = 100  # BERT's
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")  # BERT's


@dataclass(frozen=True, eq=False)
class WordPiece(Value):
    """A WordPiece model (ALGORITHMS.md, P3).

    prefix: marks pieces that continue a word; may be empty.
    unk_id: the id of a word that is not a sequence of pieces, or is longer than `max_chars` characters.
    special_ids: ids that no text yields (ALGORITHMS.md, A3).
    """

    vocab: Vocab
    unk_id: int
    prefix: str = "##"
    max_chars: int = MAX_CHARS
    special_ids: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        size = len(self.vocab)
        if size > MOST_IDS:
            raise FormatError(f"expected at most {MOST_IDS} ids, not {size}")
        if not 0 <= self.unk_id < size:
            raise FormatError(f"expected unk_id, the id of unknown words, below {size}; it is {self.unk_id}")
        if self.max_chars < 0:
            raise FormatError(f"expected max_chars to be 0 or more, not {self.max_chars}")

    def extended(self, tokens: Sequence[bytes]) -> WordPiece:
        """Return a model with more tokens, which get the next ids; no text yields them."""
        more = range(len(self.vocab), len(self.vocab) + len(tokens))
        return replace(self, vocab=self.vocab.with_more(tokens), special_ids=self.special_ids | frozenset(more))

    @property
    def lossless(self) -> bool:
        """Always False: unknown words are lost."""
        return False
