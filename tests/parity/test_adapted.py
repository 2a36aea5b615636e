"""Tokenizers that were extended, pruned, merged or replaced give the same ids in the libraries of their files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tiktoken
import tokenizers
from tiktoken.load import load_tiktoken_bpe

import subwords
from small_data import file_of
from subwords import InputError, Tokenizer
from subwords.reference.bpe import GPT2_PATTERN

OLD = "low lower lowest new newer newest wide wider widest the then there"
NEW = "slow slower slowest prism prisms prismatic naïve refraktion ที่การ 光の屈折 ö"
TEXTS = (OLD, NEW, "plain words", "tokenize the words, x", "def f(x): return x\n", "Hello, world! prismslow")

CHANGES: dict[str, Callable[[Tokenizer, Tokenizer], Any]] = {
    "extended": lambda tok, _: subwords.adapt.extend(tok, [NEW] * 9, count=5),
    "pruned": lambda tok, _: subwords.adapt.prune(tok, source=[OLD], vocab_size=known(tok) - 4),
    "pruned, compact": lambda tok, _: subwords.adapt.prune(tok, source=[OLD], vocab_size=known(tok) - 4, compact=True),
    "replaced": lambda tok, _: subwords.adapt.replace(tok, [NEW] * 9, count=4),
    "merged": subwords.adapt.merge,
}
FILES = ("gpt2/tokenizer.json", "phi-3/tokenizer.json", "clip/tokenizer.json")


def known(tok: Tokenizer) -> int:
    return sum(1 for token in tok.model.vocab if token)


def changed(tok: Tokenizer, change: str, other: Tokenizer | None = None) -> Tokenizer:
    """The tokenizer after a change, which keeps the other tokens and gives other ids."""
    found = CHANGES[change](tok, other)  # type: ignore[arg-type]
    made: Tokenizer = getattr(found, "tokenizer", found)
    if change in ("extended", "merged"):
        assert [*made.model.vocab][: tok.vocab_size] == [*tok.model.vocab]
        assert len(made.encode(NEW)) < len(tok.encode(NEW))
    assert [made.decode(made.encode(text)) for text in TEXTS] == [tok.decode(tok.encode(text)) for text in TEXTS]
    return made


@pytest.mark.rotating(3, always=("gpt2",))
@pytest.mark.parametrize(
    ("name", "change"),  # what is merged needs one splitter and one normalizer
    [(name, change) for name in FILES for change in CHANGES if change != "merged" or "gpt2" in name],
)
def test_files_of_hf(data: Path, tmp_path: Path, name: str, change: str) -> None:
    other = subwords.train([NEW] * 9, vocab_size=300, splitter="gpt2")
    made = changed(subwords.load(file_of(data, name)), change, other)
    made.save(tmp_path / "tokenizer.json")
    theirs, again = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")), subwords.load(tmp_path)
    for text in TEXTS:
        assert made.encode(text) == again.encode(text) == theirs.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("change", ["extended", "pruned", "merged"])
def test_rank_files(data: Path, tmp_path: Path, change: str) -> None:
    tok = subwords.load(file_of(data, "tiktoken/r50k_base.tiktoken"), splitter="gpt2", special_ids={})
    made = changed(tok, change, subwords.train([NEW] * 9, vocab_size=300, splitter="gpt2"))
    made.save(tmp_path / "x.tiktoken")
    ranks = load_tiktoken_bpe(str(tmp_path / "x.tiktoken"))
    theirs = tiktoken.Encoding("x", pat_str=GPT2_PATTERN, mergeable_ranks=ranks, special_tokens={})
    assert [theirs.encode_ordinary(text) for text in TEXTS] == [made.encode(text) for text in TEXTS]


@pytest.mark.parametrize(
    ("kind", "change"), [*(("bpe", change) for change in CHANGES if change != "pruned"), ("unigram", "pruned, compact")]
)
def test_models_of_sentencepiece(tmp_path: Path, kind: str, change: str) -> None:
    def trained(name: str, text: str, size: int) -> Tokenizer:
        (tmp_path / "x.txt").write_text(f"{text}\n" * 50, "utf-8")
        sentencepiece.SentencePieceTrainer.train(
            input=str(tmp_path / "x.txt"), model_prefix=str(tmp_path / name), vocab_size=size, model_type=kind
        )
        return subwords.load(tmp_path / f"{name}.model")

    letters = " ".join([*"".join(TEXTS).split()])
    size = 110 if kind == "bpe" else 58
    tok = trained("one", f"{OLD} {OLD} {letters}", size)
    made = changed(tok, change, trained("two", NEW, 70) if change == "merged" else None)
    made.save(tmp_path / "made.model")
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "made.model"))
    assert [theirs.encode(text) for text in TEXTS] == [made.encode(text) for text in TEXTS]
    assert theirs.unk_id() == made.model.unk_id
    if change == "extended":
        with pytest.raises(InputError, match=r"as it was read from its \.model file"):
            subwords.adapt.extend(tok.with_(splitter="whitespace"), [NEW] * 9, count=5)
