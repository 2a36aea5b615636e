"""The WordPiece model: a vocabulary, a prefix and an unk id, validated once, immutable."""

from __future__ import annotations

from dataclasses import dataclass

from subwords.spec.model import Model
from subwords.spec.vocab import Vocab
from subwords.support.errors import FormatError

MOST_IDS = 2**31 - 1
LARGEST_ID = MOST_IDS - 1
MAX_CHARS = 100  # BERT's
LONGEST_WORD = 2**63 - 1  # characters; longer than any text


@dataclass(frozen=True, eq=False)
class WordPiece(Model):
    """A WordPiece model (ALGORITHMS.md, P3).

    prefix: marks pieces that continue a word; may be empty.
    unk_id: the id of a word that is not a sequence of pieces, or is longer than `max_chars` characters; None if such
    words are an error.
    special_ids: ids that no text yields (ALGORITHMS.md, A3).
    """

    vocab: Vocab
    unk_id: int | None = None
    prefix: str = "##"
    max_chars: int = MAX_CHARS
    special_ids: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        size = len(self.vocab)
        if size > MOST_IDS:
            raise FormatError(f"expected at most {MOST_IDS} ids, not {size}")
        if self.unk_id is not None and not 0 <= self.unk_id < size:
            raise FormatError(f"expected unk_id, the id of unknown words, below {size}; it is {self.unk_id}")
        if self.max_chars < 0:
            raise FormatError(f"expected max_chars to be 0 or more, not {self.max_chars}")

    @property
    def input_names(self) -> tuple[str, ...]:
        """The arrays that BERT takes."""
        return "input_ids", "token_type_ids", "attention_mask"

    @property
    def marks(self) -> tuple[bytes, bytes]:
        """The prefix, and nothing after a word."""
        return self.prefix.encode(), b""

    @property
    def spelling(self) -> str:
        """How tokens spell text, for comparison and for messages."""
        return f"pieces of words; those that continue a word begin with {self.prefix!r}"

    def continues(self, token: bytes) -> bool:
        """Whether a piece continues a word: the prefix alone does not."""
        prefix = self.prefix.encode()
        return bool(prefix) and token.startswith(prefix) and len(token) > len(prefix)

    def without_marks(self, token: bytes) -> bytes:
        """Return the text of a piece, without the prefix."""
        return token.removeprefix(self.prefix.encode()) if self.continues(token) else token

    def facts(self) -> dict[str, object]:
        """Return what distinguishes this model from others of its family, for people."""
        pieces = [piece for index, piece in enumerate(self.vocab) if piece and index not in self.special_ids]
        prefix = self.prefix.encode()
        later = [piece.removeprefix(prefix) for piece in pieces if prefix and piece.startswith(prefix)]
        first = [piece for piece in pieces if not (prefix and piece.startswith(prefix))]
        lengths = [len(piece.decode("utf-8", "replace")) for piece in (*first, *later)]
        return {
            "prefix": self.prefix,
            "longest_word": self.max_chars,
            "begin_words": len(first),
            "continue_words": len(later),
            "single_characters": lengths.count(1),
            "mean_length": round(sum(lengths) / max(1, len(lengths)), 2),
        }
