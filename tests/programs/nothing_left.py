"""A text of which no token is left."""

from __future__ import annotations

import numpy as np

from engines import splitter
from subwords.bpe.model import BPE
from subwords.components.vocab import Vocab
from subwords.families import encoder_of

dropping = encoder_of(BPE(Vocab([b"a"]), np.zeros((0, 3), np.int64), unknown="drop"), splitter("gpt2"))
assert dropping.encode(b"x aa y " + b"z" * 99).tolist() == [0, 0]
