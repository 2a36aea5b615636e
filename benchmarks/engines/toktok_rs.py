"""toktok-rs: counts of tokens by vocabularies that it brings along."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.engines.protocol import Engine, NoSuchCallError, serve

VOCABULARIES = ("cl100k_base", "o200k_base")  # those of its own that other engines have too


class ToktokRs(Engine):
    """A process has one object of each vocabulary, which no call replaces by a new one."""

    packages = ("toktok-rs",)

    def load(self, path: str) -> Any:
        name = Path(path).name.removesuffix(".tokenizer.json")
        if name not in VOCABULARIES:
            raise NoSuchCallError("loads no file")
        return name

    def calls(self, tokenizer: Any, threads: int) -> dict[str, Callable[..., Any]]:
        return {"count": lambda text: self.library.batch_count([text], tokenizer, threads)[0]}


if __name__ == "__main__":
    serve("toktok", ToktokRs)
