"""sentencepiece: encoders, and a BPE trainer that starts from characters, line by line, and so does other work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.engines.protocol import Engine, NoSuchCallError, serve


class Sentencepiece(Engine):
    """Lines of any length are taken, as by the other engines; by default it would leave out those over 4,192 bytes."""

    packages = ("sentencepiece", "numpy")
    reads = (".model",)

    def load(self, path: str) -> Any:
        if path.endswith(".json"):
            raise NoSuchCallError("reads .model files only")
        return self.library.SentencePieceProcessor(model_file=path)

    def encode(self, tokenizer: Any, data: bytes) -> Any:
        return tokenizer.encode(data, return_type="numpy")

    def encode_list(self, tokenizer: Any, text: str) -> list[int]:
        return tokenizer.encode(text)  # type: ignore[no-any-return]

    def calls(self, tokenizer: Any, threads: int) -> dict[str, Callable[..., Any]]:
        return {
            "encode": tokenizer.encode,
            "count": lambda text: len(tokenizer.encode(text)),
            "array": lambda text: tokenizer.encode(text, return_type="numpy"),
            "text": lambda data: self.encode(tokenizer, data),
            "lists": lambda texts: tokenizer.encode(texts, num_threads=threads),
            "decode": tokenizer.decode,
            "decode_array": lambda ids: tokenizer.decode(ids.tolist()),
            "decode_batch": lambda lists: tokenizer.decode(lists, num_threads=threads),
        }

    def train(self, file: str, output: str, *, vocab_size: int, special_tokens: list[str], threads: int) -> None:
        self.library.SentencePieceTrainer.train(
            input=file,
            model_prefix=output,
            model_type="bpe",
            vocab_size=vocab_size,
            user_defined_symbols=special_tokens,
            num_threads=threads,
            max_sentence_length=1 << 30,
            minloglevel=2,
        )
        Path(output + ".model").replace(output)

    def train_unigram(
        self, file: str, output: str, *, vocab_size: int, special_tokens: list[str], threads: int
    ) -> None:
        self.library.SentencePieceTrainer.train(
            input=file,
            model_prefix=output,
            vocab_size=vocab_size,
            num_threads=threads,
            max_sentence_length=1 << 30,
            minloglevel=2,
        )
        Path(output + ".model").replace(output)


if __name__ == "__main__":
    serve("sentencepiece", Sentencepiece)
