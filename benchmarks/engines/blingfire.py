"""BlingFire: its own model of BERT uncased, whatever file the other engines load."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.engines.protocol import Engine, RefusedError, serve

MODEL = "bert_base_tok.bin"
UNKNOWN = 100  # the id of [UNK]


class Blingfire(Engine):
    """It takes str and wants to be told how many ids there may be."""

    packages = ("blingfire", "numpy")

    def load(self, path: str) -> Any:
        if "bert-base-uncased" not in path:
            raise RefusedError(f"has no model for {path}")
        return self.library.load_model(str(Path(self.library.__file__).with_name(MODEL)))

    def encode(self, tokenizer: Any, data: bytes) -> Any:
        return self.library.text_to_ids(tokenizer, data.decode(), len(data) + 1, unk=UNKNOWN, no_padding=True)

    def encode_list(self, tokenizer: Any, text: str) -> list[int]:
        return self.encode(tokenizer, text.encode()).tolist()  # type: ignore[no-any-return]


if __name__ == "__main__":
    serve("blingfire", Blingfire)
