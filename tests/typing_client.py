"""Code as users write it; type checkers must accept it in their strict modes, and refuse the lines marked so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import subwords


def shapes(tok: subwords.Tokenizer) -> list[int]:
    """The shapes of other libraries."""
    ids = tok.as_tiktoken().encode_ordinary("a text")
    ids += tok.as_hf().encode("a text").ids
    ids += tok.as_sentencepiece().EncodeAsIds("a text")
    fast = tok.to_transformers(padding_side="left")
    fast.save_pretrained("folder")
    return ids


def encoding(tok: subwords.Tokenizer) -> NDArray[np.uint32]:
    """Text to ids and back."""
    one: subwords.Encoding = tok("a text", truncation=8)
    many: subwords.EncodingBatch = tok(["a text", "another"], padding=True)
    assert len(one.tokens) and len(many) and tok.count_tokens("a text") > 0
    counts: NDArray[np.int64] = tok.count_tokens(["a text", "another"])
    stream = tok.stream(prompt=counts)
    assert tok.token_bytes(7)
    text = "".join(stream.feed(tok.encode("a text"))) + tok.decode(np.array([1, 2]))
    return tok.encode_to_numpy(text)


def studies(tok: subwords.Tokenizer) -> list[str]:
    """Tokenizers by path and by name, and what an explanation holds."""
    assert subwords.study.evaluate("tok.json", ["a text"]).tokens
    assert subwords.study.compare(["gpt2", Path("tok.json"), tok], ["a text"]).relative
    subwords.study.audit(Path("tok.json"))
    trace = subwords.study.explain("gpt2", "a text")
    segmentations: list[Any] = [word.segmentation for word in trace.words]
    return [trace.tokens[m.result] for one in segmentations if type(one).__name__ == "Merging" for m in one.merges]


def files() -> int:
    """Token files, one document and several."""
    opened = subwords.files.open("ids.npy")
    some: subwords.files.TokenFile = opened[1:3]
    return int(opened[0][0]) + len(some)


if TYPE_CHECKING:  # refused: there are no such names
    subwords.tran("x")  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    subwords.study.explain(7, "x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
