"""tokie: encoding and decoding for tokenizer.json files."""

from __future__ import annotations

from typing import Any

from benchmarks.engines.protocol import Engine, serve


class Tokie(Engine):
    """It takes str, so decoding the bytes is part of its time."""

    packages = ("tokie", "numpy")
    reads = (".json",)

    def load(self, path: str) -> Any:
        return self.library.Tokenizer.from_json(path)

    def encode(self, tokenizer: Any, data: bytes) -> Any:
        import numpy as np

        return np.array(self.encode_list(tokenizer, data.decode()), np.uint32)

    def encode_list(self, tokenizer: Any, text: str) -> list[int]:
        return tokenizer.encode(text, add_special_tokens=False).ids  # type: ignore[no-any-return]


if __name__ == "__main__":
    serve("tokie", Tokie)
