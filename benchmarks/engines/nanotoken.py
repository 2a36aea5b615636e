"""nanotoken: WordPiece alone; it takes bytes or str, and returns arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.engines.protocol import Engine, model_arrays, serve


class Nanotoken(Engine):
    """By default it adds the template; where the others do not, neither does it."""

    packages = ("nanotoken", "numpy")
    reads = (".json",)

    def load(self, path: str) -> Any:
        return self.library.Tokenizer(path)

    def encode(self, tokenizer: Any, data: bytes) -> Any:
        return tokenizer.encode(data, add_special_tokens=False)

    def encode_list(self, tokenizer: Any, text: str) -> list[int]:
        return tokenizer.encode(text, add_special_tokens=False).tolist()  # type: ignore[no-any-return]

    def calls(self, tokenizer: Any, threads: int) -> dict[str, Callable[..., Any]]:
        plain = {"add_special_tokens": False, "parallel": threads > 1}
        return {
            "encode": lambda text: self.encode_list(tokenizer, text),
            "count": lambda text: len(tokenizer.encode(text, add_special_tokens=False)),
            "text": lambda data: self.encode(tokenizer, data),
            "array": lambda text: tokenizer.encode(text, add_special_tokens=False),
            "template": lambda text: tokenizer.encode(text).tolist(),
            "padded": lambda texts: tokenizer.encode_batch_padded(texts, max_length=256, parallel=threads > 1),
            "arrays": lambda texts: tokenizer.encode_batch(texts, **plain),
            "lists": lambda texts: tokenizer.encode_batch_list(texts, **plain),
            "decode": tokenizer.decode,
            "decode_array": tokenizer.decode,
            "decode_batch": tokenizer.decode_batch,
        }

    def plain(self, call: str, found: Any) -> Any:
        if call == "padded":
            return model_arrays(found)
        return found.to_list() if call == "arrays" else found


if __name__ == "__main__":
    serve("nanotoken", Nanotoken)
