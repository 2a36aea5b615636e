"""rustbpe: the trainer alone, with the GPT-2 rule; its ties are broken by other ids, so its merges differ."""

from __future__ import annotations

import base64
from pathlib import Path

from benchmarks.engines.protocol import Engine, serve

GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


class Rustbpe(Engine):
    """It knows no special tokens: their number is taken from the vocabulary, which leaves the same number of merges."""

    packages = ("rustbpe",)

    def train(self, file: str, output: str, *, vocab_size: int, special_tokens: list[str], threads: int) -> None:
        tokenizer = self.library.Tokenizer()
        text = Path(file).read_bytes().decode()
        tokenizer.train_from_iterator([text], vocab_size - len(special_tokens), pattern=GPT2)
        ranks = tokenizer.get_mergeable_ranks()
        lines = [base64.b64encode(bytes(token)) + b" %d\n" % rank for token, rank in ranks]
        Path(output).write_bytes(b"".join(lines))


if __name__ == "__main__":
    serve("rustbpe", Rustbpe)
