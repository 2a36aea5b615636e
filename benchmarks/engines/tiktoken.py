"""tiktoken: ranks and pattern from the tokenizer.json the other engines load, or its own spelling of the GPT-2 rule."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.engines.bytelevel import text_to_bytes
from benchmarks.engines.protocol import Engine, serve


class Tiktoken(Engine):
    """Its `load` includes turning the file into ranks, which its own rank files would not need."""

    packages = ("tiktoken", "numpy", "regex")
    reads = (".tiktoken",)

    def load(self, path: str) -> Any:
        document = json.loads(Path(path).read_bytes())
        ranks = {}
        for token, index in document["model"]["vocab"].items():
            with contextlib.suppress(UnicodeEncodeError):
                ranks[text_to_bytes(token)] = index
        pattern = _pattern(document["pre_tokenizer"])
        return self.library.Encoding("benchmark", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})

    def load_ranks(self, path: str) -> Any:
        from tiktoken.load import load_tiktoken_bpe
        from tiktoken_ext import openai_public

        # Its own constructor fetches the file, and copies it to a cache: here the file is at hand.
        os.environ["TIKTOKEN_CACHE_DIR"] = ""
        openai_public.load_tiktoken_bpe = lambda url, expected_hash=None: load_tiktoken_bpe(path)
        return self.library.Encoding(**getattr(openai_public, Path(path).stem)())

    def encode(self, tokenizer: Any, data: bytes) -> Any:
        return tokenizer.encode_to_numpy(data.decode(), disallowed_special=())

    def encode_list(self, tokenizer: Any, text: str) -> list[int]:
        return tokenizer.encode_ordinary(text)  # type: ignore[no-any-return]

    def calls(self, tokenizer: Any, threads: int) -> dict[str, Callable[..., Any]]:
        def spans(text: str) -> tuple[list[int], list[int]]:
            ids = tokenizer.encode_ordinary(text)
            return ids, tokenizer.decode_with_offsets(ids)[1]

        return {
            "encode": tokenizer.encode_ordinary,
            "count": lambda text: len(tokenizer.encode_ordinary(text)),
            "text": lambda data: self.encode(tokenizer, data),
            "spans": spans,
            "lists": lambda texts: tokenizer.encode_ordinary_batch(texts, num_threads=threads),
            "decode": tokenizer.decode,
            "decode_array": lambda ids: tokenizer.decode(ids.tolist()),
            "decode_batch": lambda lists: tokenizer.decode_batch(lists, num_threads=threads),
        }


def _pattern(pre_tokenizer: dict[str, Any]) -> str:
    """The pattern before ByteLevel, or that of a ByteLevel alone."""
    if pre_tokenizer["type"] != "ByteLevel":
        return str(pre_tokenizer["pretokenizers"][0]["pattern"]["Regex"])
    from tiktoken_ext.openai_public import r50k_pat_str  # type: ignore[import-untyped]

    return str(r50k_pat_str)


if __name__ == "__main__":
    serve("tiktoken", Tiktoken)
