"""HF tokenizers: byte-level BPE, what it trains under the name of WordPiece, and encoding without offsets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.engines.protocol import Engine, RefusedError, serve


class Tokenizers(Engine):
    """It takes str, so decoding the bytes and copying the list of ids into an array are part of its time."""

    packages = ("tokenizers", "numpy")

    def load(self, path: str) -> Any:
        return self.library.Tokenizer.from_file(path)

    def encode(self, tokenizer: Any, data: bytes) -> Any:
        import numpy as np

        return np.array(self.encode_list(tokenizer, data.decode()), np.uint32)

    def encode_list(self, tokenizer: Any, text: str) -> list[int]:
        return tokenizer.encode_batch_fast([text], add_special_tokens=False)[0].ids  # type: ignore[no-any-return]

    def train(self, file: str, output: str, *, vocab_size: int, special_tokens: list[str], threads: int) -> None:
        from tokenizers import models, pre_tokenizers, trainers

        tokenizer = self.library.Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size,
            special_tokens=special_tokens,
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            show_progress=False,
        )
        tokenizer.train_from_iterator([Path(file).read_bytes().decode()], trainer)
        tokenizer.save(output)

    def train_wordpiece(
        self, file: str, output: str, *, vocab_size: int, special_tokens: list[str], threads: int, score: str
    ) -> None:
        from tokenizers import models, normalizers, pre_tokenizers, trainers

        if score != "count":
            raise RefusedError(f"does not train by {score}")
        tokenizer = self.library.Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer()
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=vocab_size, special_tokens=special_tokens, show_progress=False)
        tokenizer.train([file], trainer)
        tokenizer.save(output)


if __name__ == "__main__":
    serve("tokenizers", Tokenizers)
