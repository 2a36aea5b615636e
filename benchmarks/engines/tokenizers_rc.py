"""HF tokenizers 1.0 and its pre-releases: another library under the same name, in an environment of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.engines.protocol import Engine, serve


class TokenizersRc(Engine):
    """It takes str, so decoding the bytes is part of its time; its ids come as an array. It computes no offsets."""

    packages = ("tokenizers", "numpy")
    reads = (".json",)

    def __init__(self, library: Any) -> None:
        super().__init__(library)
        if library.__version__.startswith("0."):
            raise ModuleNotFoundError(f"tokenizers {library.__version__} is another engine here", name="tokenizers")

    def load(self, path: str) -> Any:
        return self.library.Tokenizer.from_file(path)

    def encode(self, tokenizer: Any, data: bytes) -> Any:
        return tokenizer.encode(data.decode(), add_special_tokens=False).ids_array

    def encode_list(self, tokenizer: Any, text: str) -> list[int]:
        return tokenizer.encode(text, add_special_tokens=False).ids  # type: ignore[no-any-return]

    def calls(self, tokenizer: Any, threads: int) -> dict[str, Callable[..., Any]]:
        def all_of(texts: list[str]) -> list[Any]:
            return tokenizer.encode_batch(texts, add_special_tokens=False)  # type: ignore[no-any-return]

        return {
            "encode": lambda text: tokenizer.encode(text, add_special_tokens=False).ids,
            "array": lambda text: tokenizer.encode(text, add_special_tokens=False).ids_array,
            # Added tokens are always taken.
            "allow": lambda text: tokenizer.encode(text, add_special_tokens=False).ids,
            "count": lambda text: len(tokenizer.encode(text, add_special_tokens=False)),
            "text": lambda data: self.encode(tokenizer, data),
            "arrays": lambda texts: [one.ids_array for one in all_of(texts)],
            "lists": lambda texts: [one.ids for one in all_of(texts)],
            "decode": lambda ids: tokenizer.decode(ids, skip_special_tokens=False),
            "decode_array": lambda ids: tokenizer.decode(ids, skip_special_tokens=False),
        }


if __name__ == "__main__":
    serve("tokenizers", TokenizersRc)
