"""An encoding in the shape of HF's Encoding."""

from __future__ import annotations

from itertools import takewhile

from subwords.results.encoding import Encoding

__all__ = ["HFEncoding"]


class HFEncoding:
    """HF's `tokenizers.Encoding`: lists instead of arrays; immutable, so `pad`, `truncate` and `merge` are missing."""

    __slots__ = ("_found",)

    def __init__(self, found: Encoding) -> None:
        """Wrap an encoding."""
        self._found = found

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        names = "ids, type_ids, tokens, offsets, attention_mask, special_tokens_mask, overflowing"
        return f"Encoding(num_tokens={len(self)}, attributes=[{names}])"

    @property
    def ids(self) -> list[int]:
        """The ids."""
        found: list[int] = self._found.ids.tolist()
        return found

    @property
    def tokens(self) -> list[str]:
        """The tokens as tokenizer.json spells them."""
        return [*self._found.file_tokens]

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """The span of each token in characters."""
        return self._found.offsets

    @property
    def type_ids(self) -> list[int]:
        """The type id of each token."""
        found: list[int] = self._found.type_ids.tolist()
        return found

    @property
    def attention_mask(self) -> list[int]:
        """0 for padding, 1 for all other tokens."""
        found: list[int] = self._found.attention_mask.tolist()
        return found

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for tokens of the template and of padding."""
        found: list[int] = self._found.special_tokens_mask.tolist()
        return found

    @property
    def word_ids(self) -> list[int | None]:
        """The word of each token, None for tokens of the template and of padding."""
        return [*self._found.word_ids]

    @property
    def words(self) -> list[int | None]:
        """The same as `word_ids`."""
        return self.word_ids

    @property
    def sequence_ids(self) -> list[int | None]:
        """The text of each token, None for tokens of the template and of padding."""
        return [*self._found.sequence_ids]

    @property
    def n_sequences(self) -> int:
        """The number of texts."""
        return len(self._found.ranges)

    @property
    def overflowing(self) -> list[HFEncoding]:
        """The pieces that truncation cut off."""
        return [HFEncoding(part) for part in self._found.overflow]

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Return the token of a character of a text; None if no token covers it."""
        spans = self.offsets
        inside = (i for i in self._range(sequence_index) if spans[i][0] <= char_pos < spans[i][1])
        return next(inside, None)

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Return the word of a character of a text; None if no token covers it."""
        token = self.char_to_token(char_pos, sequence_index)
        return None if token is None else self._found.word_ids[token]

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """Return a word's first token and the one after its last; None if the word has no tokens."""
        words = self._found.word_ids
        before = takewhile(lambda i: (words[i] or 0) <= word_index, self._range(sequence_index))
        found = [i for i in before if words[i] == word_index]
        return (found[0], found[-1] + 1) if found else None

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """Return the span of a word; None if the word has no tokens."""
        found, spans = self.word_to_tokens(word_index, sequence_index), self.offsets
        return (spans[found[0]][0], spans[found[1] - 1][1]) if found else None

    def token_to_chars(self, token_index: int) -> tuple[int, int] | None:
        """Return the span of a token; None if it is of no text."""
        return self._found.token_to_chars(token_index)

    def token_to_word(self, token_index: int) -> int | None:
        """Return the word of a token; None if it is of no text."""
        return self._found.token_to_word(token_index)

    def token_to_sequence(self, token_index: int) -> int | None:
        """Return the text of a token; None if it is of no text."""
        return self._found.token_to_sequence(token_index)

    def _range(self, sequence: int) -> range:
        """Return the tokens of a text; all tokens if there is no such text, as in HF."""
        ranges = self._found.ranges
        return ranges[sequence] if 0 <= sequence < len(ranges) else range(len(self))
