"""A text of which no token is left."""

from __future__ import annotations

import numpy as np

from engines import splitter
from subwords.models.bpe.model import BPE
from subwords.models.families import encoder_of
from subwords.spec.vocab import Vocab

dropping = encoder_of(BPE(Vocab([b"a"]), np.zeros((0, 3), np.int64), unknown="drop"), splitter("gpt2"))
assert dropping.encode(b"x aa y " + b"z" * 99).tolist() == [0, 0]
