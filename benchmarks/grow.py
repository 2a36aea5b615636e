"""Grows a corpus of any size from a text, so that the number of distinct words grows as in real text.

    python -m benchmarks.grow SOURCE OUTPUT --bytes 10GB [--seed 1] [--jsonl]

The source's paragraphs come again and again, each time in another order. Each time some of the words that are rare in
the source are replaced by new ones, made of the first half of one rare word and the second half of another: as many as
Heaps' law says, V(n) = K n^b, with K and b of the source itself. Documents are runs of paragraphs of about 4,000 bytes,
with SEPARATOR between them, or rows of JSON Lines.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from subwords.support.checks import bytes_of

SEPARATOR = "<|endoftext|>"
DOCUMENT = 4000  # characters
RARE = 3  # occurrences of a rare word, at the most
WORD = re.compile(r"[^\W\d_]{4,}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--bytes", default="1GB")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jsonl", action="store_true")
    options = parser.parse_args()
    most, written = bytes_of(options.bytes), 0
    with options.output.open("wb") as stream:
        for document in documents(options.source.read_text("utf-8"), random.Random(options.seed)):
            row = json.dumps({"text": document}) + "\n" if options.jsonl else document + SEPARATOR
            written += stream.write(row.encode())
            if written >= most:
                break


def documents(text: str, rng: random.Random) -> Iterator[str]:
    """Yield documents without end."""
    # Every second piece is a word that may be replaced.
    pieces = WORD.split(text)
    words = WORD.findall(text)
    times = Counter(words)
    rare = [place for place, word in enumerate(words) if times[word] <= RARE]
    half = len(set(words[: len(words) // 2]))
    growth = math.log2(len(times) / half)
    turn = 0
    while True:
        wanted = len(times) * ((turn + 1) ** growth - turn**growth) if turn else 0
        now = words.copy()
        for place in rng.sample(rare, min(len(rare), round(wanted))):
            left, right = words[rng.choice(rare)], words[rng.choice(rare)]
            now[place] = left[: len(left) // 2] + right[len(right) // 2 :].lower()
        both = [part for pair in zip(pieces, now, strict=False) for part in pair]
        paragraphs = "".join([*both, pieces[-1]]).split("\n\n")
        if turn:
            rng.shuffle(paragraphs)
        yield from _joined(paragraphs)
        turn += 1


def _joined(paragraphs: list[str]) -> Iterator[str]:
    held, size = list[str](), 0
    for paragraph in paragraphs:
        held.append(paragraph)
        size += len(paragraph)
        if size >= DOCUMENT:
            yield "\n\n".join(held)
            held, size = [], 0
    if held:
        yield "\n\n".join(held)


if __name__ == "__main__":
    main()
