"""iree-tokenizer: IREE's tokenizer in C, which also encodes streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.engines.growing import Again
from benchmarks.engines.protocol import Engine, serve


class Iree(Engine):
    """It takes str."""

    packages = ("iree-tokenizer", "numpy")
    reads = (".json",)

    def load(self, path: str) -> Any:
        return self.library.Tokenizer.from_file(path)

    def encode(self, tokenizer: Any, data: bytes) -> Any:
        return tokenizer.encode_to_array(data.decode())

    def encode_list(self, tokenizer: Any, text: str) -> list[int]:
        return tokenizer.encode(text)  # type: ignore[no-any-return]

    def grower(self, tokenizer: Any) -> Again:
        return Streaming(tokenizer)


class Streaming(Again):
    """Texts are encoded again, streams are its own."""

    def __init__(self, tokenizer: Any) -> None:
        super().__init__(tokenizer.encode_to_array)
        self.tokenizer = tokenizer

    def stream(self) -> tuple[Callable[[str], Any], Callable[[], Any]]:
        stream = self.tokenizer.encode_stream()
        return stream.feed, stream.finalize


if __name__ == "__main__":
    serve("iree.tokenizer", Iree)
