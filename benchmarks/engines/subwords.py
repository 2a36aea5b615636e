"""subwords, through its public functions."""

from __future__ import annotations

from typing import Any

from benchmarks.engines.protocol import Engine, serve


class Subwords(Engine):
    """Its import is lazy: NumPy, Numba and the kernels are loaded, and counted, in the first call that needs them."""

    packages = ("subwords", "numpy", "numba")

    def prepare(self) -> None:
        self.library.warmup()

    def load(self, path: str) -> Any:
        return self.library.load(path)

    def encode(self, tokenizer: Any, data: bytes) -> Any:
        return tokenizer.encode_to_numpy(data)

    def encode_list(self, tokenizer: Any, text: str) -> list[int]:
        return tokenizer.encode(text)  # type: ignore[no-any-return]

    def train(self, file: str, output: str, *, vocab_size: int, special_tokens: list[str], threads: int) -> None:
        tokenizer = self.library.train(
            file, vocab_size=vocab_size, special_tokens=special_tokens, threads=threads, progress=False
        )
        tokenizer.save(output)


if __name__ == "__main__":
    serve("subwords", Subwords)
