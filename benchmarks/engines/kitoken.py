"""kitoken: encoding and decoding for files of several formats."""

from __future__ import annotations

from typing import Any

from benchmarks.engines.protocol import Engine, serve


class Kitoken(Engine):
    """It takes str, so decoding the bytes is part of its time."""

    packages = ("kitoken", "numpy")
    reads = (".json", ".model", ".tiktoken")

    def load(self, path: str) -> Any:
        return self.library.Kitoken.from_file(path)

    def load_ranks(self, path: str) -> Any:
        return self.library.Kitoken.from_tiktoken_file(path)

    def encode(self, tokenizer: Any, data: bytes) -> Any:
        import numpy as np

        return np.array(self.encode_list(tokenizer, data.decode()), np.uint32)

    def encode_list(self, tokenizer: Any, text: str) -> list[int]:
        return tokenizer.encode(text, False)  # type: ignore[no-any-return]

    def calls(self, tokenizer: Any, threads: int) -> dict[str, Any]:
        import numpy as np

        return {"allow_text": lambda data: np.array(tokenizer.encode(data.decode(), True), np.uint32)}


if __name__ == "__main__":
    serve("kitoken", Kitoken)
