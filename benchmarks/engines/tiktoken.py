"""tiktoken: ranks from the tokenizer.json the other engines load, and its own spelling of the GPT-2 rule."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from benchmarks.engines.bytelevel import text_to_bytes
from benchmarks.engines.protocol import Engine, serve


class Tiktoken(Engine):
    """Its `load` includes turning the file into ranks, which its own rank files would not need."""

    packages = ("tiktoken", "numpy", "regex")

    def load(self, path: str) -> Any:
        from tiktoken_ext.openai_public import r50k_pat_str  # type: ignore[import-untyped]

        ranks = {}
        for token, index in json.loads(Path(path).read_bytes())["model"]["vocab"].items():
            with contextlib.suppress(UnicodeEncodeError):
                ranks[text_to_bytes(token)] = index
        return self.library.Encoding("benchmark", pat_str=r50k_pat_str, mergeable_ranks=ranks, special_tokens={})

    def encode(self, tokenizer: Any, data: bytes) -> Any:
        return tokenizer.encode_to_numpy(data.decode(), disallowed_special=())

    def encode_list(self, tokenizer: Any, text: str) -> list[int]:
        return tokenizer.encode_ordinary(text)  # type: ignore[no-any-return]


if __name__ == "__main__":
    serve("tiktoken", Tiktoken)
