"""Checks that several formats share: special tokens given by the caller, and whether merges make all tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized
from dataclasses import replace

import numpy as np

from subwords.engine.encoder import lost_words
from subwords.models.bpe.model import BPE, LARGEST_ID
from subwords.models.families import segmenter_of
from subwords.spec.added_token import AddedToken, check_added_tokens
from subwords.spec.vocab import has_gaps
from subwords.support.errors import FormatError, InputError


def check_gaps(largest: int, tokens: Sized, name: str, what: str) -> None:
    """Raise FormatError if ids have large gaps."""
    if has_gaps(largest, len(tokens)):
        raise FormatError(f"{name}: expected {what} without large gaps, not {largest} among {len(tokens)} tokens")


def given_tokens(
    special_tokens: Mapping[str, int] | None, holders: Mapping[int, bytes], name: str
) -> tuple[AddedToken, ...]:
    """Return added tokens for ids by token; `holders` are the tokens of the file `name` by id.

    Raises InputError unless it is a dict of token to id, or if a token is a single byte (text needs it); FormatError
    for an id that another token has, or that is far from the others.
    """
    if special_tokens is not None and not isinstance(special_tokens, Mapping):
        raise InputError(f"expected special_ids as a dict of ids by token, not {type(special_tokens).__name__}")
    added = check_added_tokens(AddedToken(content, i) for content, i in (special_tokens or {}).items())
    check_gaps(max((token.id for token in added), default=0), holders, name, "special_tokens")
    from subwords.formats.json_node import show_json

    ids = {text: i for i, text in holders.items()}
    for token in added:
        text = token.content.encode()
        if len(text) == 1:
            raise InputError(f"expected special_ids of more than one byte: text needs the token {token.content!r}")
        if token.id > LARGEST_ID:
            raise FormatError(f"{name}: expected ids up to {LARGEST_ID}, not {token.id} for {show_json(token.content)}")
        if holders.get(token.id, text) != text:
            came = f"{token.id}, the id of {holders[token.id]!r}"
            raise FormatError(
                f"{name}: expected a free id for the special token {show_json(token.content)}, not {came}"
            )
        if ids.get(text, token.id) != token.id:
            came = f"{token.id} for {show_json(token.content)}"
            raise FormatError(f"{name}: expected its id {ids[text]}, not {came}")
    return added


# ---------------------------------------------------------------------------------------------------------------------
# Whether merges make every token from its symbols, as formats without merges or without whole words need it.


def makes_all(model: BPE) -> bool:
    """Whether merges alone make every token, so that `whole_words` changes no id.

    >>> import subwords
    >>> makes_all(subwords.train(["ab ab"], vocab_size=257).model)
    True
    """
    ids = [i for i in range(len(model.vocab)) if i not in model.special_ids]
    return not_made(replace(model, whole_words=False), ids) is None


def not_made(model: BPE, ids: Iterable[int]) -> bytes | None:
    """Return the first of some tokens that, as a word, is not segmented to itself; None if there is none.

    >>> import subwords
    >>> not_made(subwords.train(["ab ab"], vocab_size=257).model, range(257))
    """
    wanted = np.array(sorted(i for i in ids if model.vocab[i]), np.int64)  # thousands of empty words would be slow
    lost = lost_words(segmenter_of(model), model.vocab, wanted)
    return model.vocab[int(lost[0])] if len(lost) else None
