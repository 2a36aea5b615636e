"""Interrupt a job (the first argument) so many times (the second) at a random moment."""

from __future__ import annotations

import _thread
import os
import random
import signal
import sys
import threading
import time

import subwords

name, times = sys.argv[1], int(sys.argv[2])
words = ["low", "lower", "lowest", "naïve", "文字", "it's", "2024", "hugging", "unhappiness", "\n"]
rng = random.Random(11)
text = " ".join(rng.choice(words) + str(rng.randrange(5000)) for _ in range(150_000))
lines = [text[at : at + 5000] for at in range(0, len(text), 5000)]
tok = subwords.train(lines[:50], vocab_size=500)
jobs = {
    "encode": lambda: tok.encode(text),
    "encode a line": lambda: tok.encode(lines[0]),
    "encode_batch": lambda: tok.encode_batch(lines * 4, threads=2),
    "decode": lambda: tok.decode(ids),
    "count": lambda: subwords.count(lines, threads=2),
    "train": lambda: subwords.train(lines, vocab_size=1200, threads=2),
    "train wordpiece": lambda: subwords.train(lines, vocab_size=2000, threads=2, algorithm="wordpiece"),
    "train unigram": lambda: subwords.train(lines[:40], vocab_size=300, threads=2, algorithm="unigram"),
    "warmup": subwords.warmup,
}
job, ids = jobs[name], tok.encode(text)
expected = ids[:2000]
job()
threads = _thread._count()


def repeat(job):
    # A function: in `try`, Python 3.12 and 3.13 miss an interrupt at the jump of a `while` with a condition.
    end = time.monotonic() + 20
    while time.monotonic() < end:
        job()


for _ in range(times):
    sent = []

    def send():
        time.sleep(random.uniform(0.02, 0.17))
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=send)
    try:
        sender.start()
        repeat(job)
        raise AssertionError("an interrupt is lost")
    except KeyboardInterrupt:
        waited = time.monotonic() - sent[0]
    sender.join()
    assert waited < 10, waited
    end = time.monotonic() + 10
    while _thread._count() > threads and time.monotonic() < end:
        time.sleep(0.001)
    assert _thread._count() == threads, "a thread is left running"
    assert tok.encode(text)[:2000] == expected
