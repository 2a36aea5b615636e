"""Sixteen threads make the first calls of one tokenizer at once; SUBWORDS_EXPECTED: a file of texts with their ids."""

from __future__ import annotations

import json
import os
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import subwords

THREADS = 16
expected = json.loads(Path(os.environ["SUBWORDS_EXPECTED"]).read_text("utf-8"))
tok, start = subwords.load("demo"), Barrier(THREADS)


def work(number: int) -> None:
    order, calls = random.Random(number).sample([*expected], len(expected)), [0, 1, 2, 3, 4, 5]
    start.wait()
    for call in (*calls[number % 6 :], *calls[: number % 6]) * 3:
        for text in order:
            ids = expected[text]
            if call == 0:
                assert tok.encode(text) == ids
            elif call == 1:
                assert tok.decode(ids) == text
            elif call == 2:
                assert tok.count_tokens(text) == len(ids)
            elif call == 3:
                assert tok(text).ids.tolist() == ids
            elif call == 4:
                assert tok.growing(text[:9]).append(text[9:]).ids.tolist() == ids
        if call == 5:
            assert tok.encode_batch(order).to_lists() == [expected[text] for text in order]
            assert tok.decode_batch([expected[text] for text in order]) == order


with ThreadPoolExecutor(THREADS) as pool:
    assert len([*pool.map(work, range(THREADS))]) == THREADS
