"""Ctrl-C at any moment reaches the caller soon, leaves no thread running, and the tokenizer as it was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import subwords

SOURCE = Path(subwords.__file__).parents[1]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are a POSIX thing")

INTERRUPTS = r"""
import _thread, os, random, signal, sys, threading, time
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
    "train": lambda: subwords.train(lines, vocab_size=2000, threads=2),
    "train wordpiece": lambda: subwords.train(lines, vocab_size=2000, threads=2, algorithm="wordpiece"),
    "train unigram": lambda: subwords.train(lines[:40], vocab_size=300, threads=2, algorithm="unigram"),
    "warmup": subwords.warmup,
}
job, ids = jobs[name], tok.encode(text)
expected = ids[:2000]
job()
threads = _thread._count()
for _ in range(times):
    sent = []

    def send():
        time.sleep(random.uniform(0.02, 0.17))
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=send)
    try:
        sender.start()
        end = time.monotonic() + 20
        while time.monotonic() < end:
            job()
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
"""

USUAL = {"encode": 10, "encode_batch": 4, "train": 4}
OTHERS = ("encode a line", "decode", "count", "train wordpiece", "train unigram", "warmup")
CASES = [
    *USUAL.items(),
    *(pytest.param(job, 30, marks=pytest.mark.sweep) for job in (*USUAL, *OTHERS)),
]


@pytest.mark.parametrize(("job", "times"), CASES)
def test_interrupt_reaches_the_caller(job: str, times: int) -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", INTERRUPTS, job, str(times)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stderr) == (0, "")
