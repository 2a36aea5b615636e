"""The ids that a model gives to the text of a token of another vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from subwords.adapt.words import ids_of_words
from subwords.bpe.model import BPE
from subwords.tokenizer import Tokenizer
from subwords.wordpiece.model import WordPiece

__all__ = ["longest_match", "spelled"]


def spelled(tokenizer: Tokenizer, tokens: Sequence[bytes], threads: int | None = None) -> list[list[int]]:
    """Return the ids of the text of each token, as one word; for WordPiece from the place in a word where it stands.

    A token of unknown text has the id of the unknown token, or none.
    """
    model = tokenizer.model
    if isinstance(model, WordPiece):
        pieces = {token: i for i, token in enumerate(model.vocab) if token and i not in model.special_ids}
        prefix = model.prefix.encode()
        return [longest_match(pieces, prefix, token) or [model.unk_id] for token in tokens]
    words = list(tokens)
    if isinstance(model, BPE) and model.marked:
        words = [token.removeprefix(model.prefix).removesuffix(model.suffix) for token in tokens]
    rows = ids_of_words(model, words, threads).to_lists()
    size = len(model.vocab)
    return [[index for index in row if index < size] for row in rows]


def longest_match(pieces: Mapping[bytes, int], prefix: bytes, token: bytes, left_out: int = -1) -> list[int]:
    """Return the longest matches of WordPiece from the left, without the piece `left_out`; [] if there are none.

    A token that begins with the prefix is matched as the end of a word.

    >>> longest_match({b"a": 0, b"##b": 1, b"##bc": 2}, b"##", b"abc"), longest_match({b"##b": 1}, b"##", b"##bb")
    ([0, 2], [1, 1])
    """
    inside = bool(prefix) and token.startswith(prefix) and len(token) > len(prefix)
    rest, found = token.removeprefix(prefix) if inside else token, list[int]()
    while rest:
        before = prefix if inside or found else b""
        for end in range(len(rest), 0, -1):
            index = pieces.get(before + rest[:end], left_out)
            if index != left_out:
                break
        else:
            return []
        found.append(index)
        rest = rest[end:]
    return found
