"""Whether merges make every token from its symbols, as formats without merges or without whole words need it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from subwords.bpe.model import BPE
from subwords.families import encoder_of
from subwords.split.splitter import Splitter

__all__ = ["makes_all", "not_made"]


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
    tokens = {i: token for i in ids if (token := model.vocab[i])}  # thousands of empty words would be slow
    words = np.concatenate([np.zeros(1, np.int64), np.cumsum([*map(len, tokens.values())], dtype=np.int64)])
    text = np.frombuffer(b"".join(tokens.values()), np.uint8)
    batch = encoder_of(model, Splitter(())).encode_words(text, words)
    expected = np.array([*tokens], np.int64)
    whole = np.diff(batch.offsets) == 1
    whole[whole] = batch.ids[batch.offsets[:-1][whole]] == expected[whole]
    wrong = np.flatnonzero(~whole)
    return tokens[int(expected[wrong[0]])] if len(wrong) else None
