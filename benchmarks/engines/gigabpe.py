"""gigabpe: the trainer alone; it writes a tokenizer.json."""

from __future__ import annotations

from benchmarks.engines.protocol import Engine, serve


class Gigabpe(Engine):
    """A document is a line, and its alphabet is the bytes that occur, where that of the others is all 256."""

    packages = ("gigabpe",)
    documents = ("line",)
    own_alphabet = True

    def train(self, file: str, output: str, *, vocab_size: int, special_tokens: list[str], threads: int) -> None:
        options = {"special_tokens": special_tokens, "threads": threads, "pretokenizer": "bytelevel"}
        self.library.train_tokenizer([file], vocab_size, output, **options)


if __name__ == "__main__":
    serve("gigabpe", Gigabpe)
