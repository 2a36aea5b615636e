"""Whether merges make every token: formats of merges alone can then hold a model that takes whole words at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from subwords.bpe.model import BPE
from subwords.families import encoder_of
from subwords.split.splitter import Splitter

__all__ = ["makes_all"]


def makes_all(model: BPE) -> bool:
    """Whether merges alone make every token, so that `whole_words` changes no id.

    >>> import subwords
    >>> makes_all(subwords.train(["ab ab"], vocab_size=257).model)
    True
    """
    ids = [i for i, text in enumerate(model.vocab) if text and i not in model.special_ids]
    tokens = [model.vocab[i] for i in ids]
    words = np.concatenate([np.zeros(1, np.int64), np.cumsum([*map(len, tokens)], dtype=np.int64)])
    alone = encoder_of(replace(model, whole_words=False), Splitter(()))
    found: list[int] = alone.encode_words(np.frombuffer(b"".join(tokens), np.uint8), words).ids.tolist()
    return found == ids
