"""Fork by multiprocessing while other threads encode, count and train."""

from __future__ import annotations

import multiprocessing
import sys
import threading

import subwords

text = "low lower lowest, it's 2024's naïve words " * 20_000
lines = [text[at : at + 5_000] for at in range(0, len(text), 5_000)]
tok = subwords.train(lines, vocab_size=280)
expected = tok.encode_batch(lines[:9]).to_lists()
jobs = [
    lambda: tok.encode_batch(lines, threads=2),
    lambda: subwords.train(lines, vocab_size=280, threads=2),
    lambda: subwords.train(lines, vocab_size=40, threads=2, algorithm="unigram"),
]
ended = False


def busy(job):
    while not ended:
        job()


def child(result):
    result.send(tok.encode_batch(lines[:9], threads=2).to_lists() == expected and tok.encode(lines[0]) == expected[0])


threads = [threading.Thread(target=busy, args=(job,)) for job in jobs]
for thread in threads:
    thread.start()
fork = multiprocessing.get_context("fork")
for _ in range(int(sys.argv[1])):
    here, there = fork.Pipe()
    process = fork.Process(target=child, args=(there,))
    process.start()
    assert here.poll(60), "the child hangs"
    assert here.recv()
    process.join(60)
    assert process.exitcode == 0
ended = True
for thread in threads:
    thread.join()
