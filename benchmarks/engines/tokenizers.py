"""HF tokenizers: byte-level BPE, what it trains under the name of WordPiece, and encoding without offsets."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.engines.protocol import Engine, RefusedError, model_arrays, serve


class Tokenizers(Engine):
    """It takes str, so decoding the bytes and copying the list of ids into an array are part of its time."""

    packages = ("tokenizers", "numpy")
    reads = (".json",)
    documents = ("file", "line")

    def __init__(self, library: Any) -> None:
        super().__init__(library)
        if not getattr(library, "__version__", "0.").startswith("0."):
            raise ModuleNotFoundError(f"tokenizers {library.__version__} is another engine here", name="tokenizers")

    def load(self, path: str) -> Any:
        return self.library.Tokenizer.from_file(path)

    def encode(self, tokenizer: Any, data: bytes) -> Any:
        import numpy as np

        return np.array(self.encode_list(tokenizer, data.decode()), np.uint32)

    def encode_list(self, tokenizer: Any, text: str) -> list[int]:
        return tokenizer.encode_batch_fast([text], add_special_tokens=False)[0].ids  # type: ignore[no-any-return]

    def calls(self, tokenizer: Any, threads: int) -> dict[str, Callable[..., Any]]:
        def all_of(texts: list[str]) -> list[Any]:
            return tokenizer.encode_batch(texts, add_special_tokens=False)  # type: ignore[no-any-return]

        def ids_of(texts: list[str]) -> list[Any]:
            return tokenizer.encode_batch_fast(texts, add_special_tokens=False)  # type: ignore[no-any-return]

        def allow_array(text: str) -> Any:
            import numpy as np

            return np.array(ids_of([text])[0].ids, np.uint32)

        def padded(texts: list[str]) -> dict[str, Any]:
            import numpy as np

            tokenizer.enable_padding()
            tokenizer.enable_truncation(256)
            rows = tokenizer.encode_batch_fast(texts)
            columns = {
                "input_ids": [row.ids for row in rows],
                "token_type_ids": [row.type_ids for row in rows],
                "attention_mask": [row.attention_mask for row in rows],
            }
            return {name: np.array(column, np.int64) for name, column in columns.items()}

        cutting = cache(lambda: tokenizer.enable_truncation(128) or tokenizer)
        return {
            "cut": lambda text: cutting().encode(text).ids,
            "tokens": lambda text: tokenizer.encode(text, add_special_tokens=False).tokens,
            "template": lambda text: tokenizer.encode_batch_fast([text])[0].ids,
            "allow": lambda text: ids_of([text])[0].ids,
            "allow_array": allow_array,
            "allow_text": lambda data: self.encode(tokenizer, data),
            "hf": lambda text: tokenizer.encode(text).ids,
            "padded": padded,
            "encode": lambda text: ids_of([text])[0].ids,
            "count": lambda text: len(ids_of([text])[0]),
            "text": lambda data: self.encode(tokenizer, data),
            "spans": lambda text: _spans(tokenizer.encode(text, add_special_tokens=False)),
            "spans_batch": lambda texts: [*map(_spans, all_of(texts))],
            "lists": lambda texts: [one.ids for one in ids_of(texts)],
            "decode": lambda ids: tokenizer.decode(ids, skip_special_tokens=False),
            "decode_array": lambda ids: tokenizer.decode(ids.tolist(), skip_special_tokens=False),
            "decode_batch": lambda lists: tokenizer.decode_batch(lists, skip_special_tokens=False),
        }

    def plain(self, call: str, found: Any) -> Any:
        if call == "padded":
            return model_arrays(found)
        if call == "spans":
            return found[0], [start for start, _ in found[1]]
        return [self.plain("spans", one) for one in found] if call == "spans_batch" else found

    def train(
        self,
        file: str,
        output: str,
        *,
        vocab_size: int,
        special_tokens: list[str],
        threads: int,
        documents: str = "file",
    ) -> None:
        from tokenizers import models, pre_tokenizers, trainers

        tokenizer = self.library.Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size,
            special_tokens=special_tokens,
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            show_progress=False,
        )
        if documents == "line":
            tokenizer.train([file], trainer)
        else:
            tokenizer.train_from_iterator([Path(file).read_bytes().decode()], trainer)
        tokenizer.save(output)

    def train_wordpiece(
        self, file: str, output: str, *, vocab_size: int, special_tokens: list[str], threads: int, score: str
    ) -> None:
        from tokenizers import models, normalizers, pre_tokenizers, trainers

        if score != "count":
            raise RefusedError(f"does not train by {score}")
        tokenizer = self.library.Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer()
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=vocab_size, special_tokens=special_tokens, show_progress=False)
        tokenizer.train([file], trainer)
        tokenizer.save(output)


def _spans(encoding: Any) -> tuple[Any, Any]:
    return encoding.ids, encoding.offsets


if __name__ == "__main__":
    serve("tokenizers", Tokenizers)
