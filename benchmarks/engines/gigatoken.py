"""gigatoken: its own trainer and its own `Tokenizer`, which takes bytes and returns a NumPy array."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.engines.bytelevel import bytes_to_text
from benchmarks.engines.protocol import Engine, RefusedError, serve


class Gigatoken(Engine):
    """The number of threads of its trainer is set by RAYON_NUM_THREADS, which the runner sets for every engine."""

    packages = ("gigatoken", "numpy", "awkward")
    reads = (".json", ".model", ".tiktoken")

    def load(self, path: str) -> Any:
        kind, name = self.library.Tokenizer, Path(path).name
        return kind.from_sentencepiece(path) if ".model" in name or name.endswith(".spm") else kind(path)

    def load_ranks(self, path: str) -> Any:
        return self.library.Tokenizer.from_tiktoken(path)

    def encode(self, tokenizer: Any, data: bytes) -> Any:
        return tokenizer.encode(data)

    def encode_list(self, tokenizer: Any, text: str) -> list[int]:
        return tokenizer.encode(text).tolist()  # type: ignore[no-any-return]

    def calls(self, tokenizer: Any, threads: int) -> dict[str, Callable[..., Any]]:
        parallel = threads > 1
        return {
            "encode": lambda text: tokenizer.encode(text).tolist(),
            "count": lambda text: len(tokenizer.encode(text)),
            "text": tokenizer.encode,
            "array": tokenizer.encode,
            # Added tokens are always taken.
            "allow": lambda text: tokenizer.encode(text).tolist(),
            "allow_array": tokenizer.encode,
            "allow_text": tokenizer.encode,
            "arrays": lambda texts: tokenizer.encode_batch(texts, parallel=parallel),
            "lists": lambda texts: tokenizer.encode_batch_list(texts, parallel=parallel),
            "decode": lambda ids: tokenizer.decode(ids).decode("utf-8", "replace"),
            "decode_array": lambda ids: tokenizer.decode(ids).decode("utf-8", "replace"),
        }

    def plain(self, call: str, found: Any) -> Any:
        return found.to_list() if call == "arrays" else found

    def splitter(self, rule: dict[str, Any]) -> Any:
        if rule.get("name") != "gpt2":
            raise RefusedError("splits by the rule of GPT-2 only, where it does nothing else")
        return self.library.pretokenizer

    def count_words(self, splitter: Any, data: bytes) -> int:
        return sum(1 for _ in splitter(data))

    def word_ends(self, splitter: Any, data: bytes) -> Any:
        import numpy as np

        return np.cumsum(np.fromiter(map(len, splitter(data)), np.int64))

    def train(self, file: str, output: str, *, vocab_size: int, special_tokens: list[str], threads: int) -> None:
        source = self.library.TextFileSource([file])
        vocab, merges = self.library.train_bpe(source, vocab_size, special_tokens)
        # It has no writer of its own; without this part its work would be less than that of the others.
        known = {text.encode(): text for text in special_tokens}
        specials = {index: known[token] for index, token in vocab.items() if token in known}
        document = {
            "version": "1.0",
            "added_tokens": [{"id": index, "content": text, "special": True} for index, text in specials.items()],
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
            "decoder": {"type": "ByteLevel"},
            "model": {
                "type": "BPE",
                "vocab": {specials.get(index) or bytes_to_text(token): index for index, token in vocab.items()},
                "merges": [[bytes_to_text(left), bytes_to_text(right)] for left, right in merges],
            },
        }
        Path(output).write_text(json.dumps(document, ensure_ascii=False), "utf-8")


if __name__ == "__main__":
    serve("gigatoken", Gigatoken)
