"""A worker process of the local runner: shards come on standard input, and what is done goes to standard output."""

from __future__ import annotations

import os
import pickle
import sys
from typing import BinaryIO

from subwords.scale.runners import SIZE
from subwords.scale.work import run_shard


def main() -> None:
    """Work until standard input ends."""
    answers = os.dup(1)
    os.dup2(2, 1)  # prints of libraries do not mix with the answers
    work, folder, means = pickle.loads(_received(sys.stdin.buffer))
    while data := _received(sys.stdin.buffer):
        try:
            done: object = run_shard(work, pickle.loads(data), folder, means)
        except Exception as error:
            done = error
        reply = pickle.dumps(done)
        reply = len(reply).to_bytes(SIZE, "little") + reply
        while reply:
            reply = reply[os.write(answers, reply) :]


def _received(stream: BinaryIO) -> bytes:
    head = stream.read(SIZE)
    return stream.read(int.from_bytes(head, "little")) if len(head) == SIZE else b""


if __name__ == "__main__":
    main()
