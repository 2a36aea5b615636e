"""fastokens: encoding and decoding for tokenizer.json files, ids only."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from benchmarks.engines.protocol import Engine, serve


class Fastokens(Engine):
    """It takes str, so decoding the bytes is part of its time. Its flat batch is its fastest way to an array."""

    packages = ("fastokens", "numpy")
    reads = (".json", ".tiktoken")

    def load(self, path: str) -> Any:
        return self.library.Tokenizer.from_file(path)

    def load_ranks(self, path: str) -> Any:
        return self.library.Tokenizer.from_tiktoken(path, encoding=path.rsplit("/", 1)[-1].removesuffix(".tiktoken"))

    def encode(self, tokenizer: Any, data: bytes) -> Any:
        import numpy as np

        return np.frombuffer(tokenizer.encode_batch_flat([data.decode()])[0], np.uint32)

    def encode_list(self, tokenizer: Any, text: str) -> list[int]:
        return tokenizer.encode_ordinary(text).ids  # type: ignore[no-any-return]

    def calls(self, tokenizer: Any, threads: int) -> dict[str, Callable[..., Any]]:
        import numpy as np

        def arrays(texts: list[str]) -> tuple[Any, Any]:
            ids, offsets = tokenizer.encode_batch_flat(texts)
            return np.frombuffer(ids, np.uint32), np.frombuffer(offsets, np.uint64)

        return {
            "encode": lambda text: tokenizer.encode_ordinary(text).ids,
            "count": lambda text: len(tokenizer.encode_ordinary(text)),
            "array": lambda text: np.frombuffer(tokenizer.encode_batch_flat([text])[0], np.uint32),
            "text": lambda data: self.encode(tokenizer, data),
            "arrays": arrays,
            "lists": lambda texts: [one.ids for one in tokenizer.encode_batch(texts)],
            "decode": tokenizer.decode,
            "decode_array": lambda ids: tokenizer.decode(ids.tolist()),
            "decode_batch": tokenizer.decode_batch,
        }

    def plain(self, call: str, found: Any) -> Any:
        if call != "arrays":
            return found
        ids, offsets = found
        places = offsets.astype(int).tolist()
        return [ids[a:b].tolist() for a, b in pairwise(places)]


if __name__ == "__main__":
    serve("fastokens", Fastokens)
