"""Write vocab.json and merges.txt, the two files of a byte-level BPE model."""

from __future__ import annotations

from subwords.bpe.model import BPE
from subwords.components.added_token import AddedToken
from subwords.components.byte_alphabet import CHARACTERS
from subwords.components.splitter import NAMED
from subwords.errors import FormatError
from subwords.families import need
from subwords.formats.hf import bpe
from subwords.formats.hf.vocabulary import quoted
from subwords.formats.json_node import shown
from subwords.formats.makes_all import makes_all
from subwords.spec import TokenizerSpec

__all__ = ["write"]

_VERSION = "#version"


def write(spec: TokenizerSpec) -> tuple[bytes, bytes]:
    """Return the content of vocab.json and of merges.txt; HF's classes for GPT-2 give the same ids to ordinary text.

    Special tokens become tokens of the vocabulary; the files do not say that they are special. Raises FormatError for
    everything else that the files cannot hold.

    Source: HF tokenizers 0.23, BPE.save and ByteLevelBPETokenizer.

    >>> import subwords
    >>> write(subwords.train(["ab ab"], vocab_size=257).spec)[1]
    b'#version: 0.2\\na b\\n'
    """
    others = FormatError("vocab.json and merges.txt hold byte-level BPE only; write a tokenizer.json")
    model = need(spec.model, BPE, others)
    if model.marked:
        raise FormatError("vocab.json and merges.txt are not written for models with a prefix or suffix (CLIP, GPT-1)")
    if not model.byte_level:
        raise others
    _check_around(spec)
    if not model.lossless:
        raise FormatError("vocab.json and merges.txt need a token for each of 256 bytes; write a tokenizer.json")
    if model.whole_words and not makes_all(model):
        raise FormatError(
            "vocab.json and merges.txt are read as merges only, and this model takes words that are tokens at once, "
            "which its merges do not make; write a tokenizer.json"
        )
    texts = bpe.token_texts(model, spec.added_tokens)
    bpe.write_model(model, texts)  # raises FormatError for merges without a total order
    names = quoted(texts)
    vocab = ",".join(f"{names[i]}:{i}" for i, text in enumerate(texts) if text)
    pairs = [
        (texts[left], texts[right]) for left, right, made in model.merges.tolist() if made not in model.special_ids
    ]
    if any(left.startswith(_VERSION) for left, _ in pairs):
        raise FormatError(f"merges.txt cannot hold a merge of {_VERSION!r}: readers skip such lines")
    merges = "".join(f"{left} {right}\n" for left, right in pairs)
    return f"{{{vocab}}}".encode(), f"{_VERSION}: 0.2\n{merges}".encode()


def _check_around(spec: TokenizerSpec) -> None:
    """Raise FormatError for parts that the files do not hold and that change ids of ordinary text."""
    if spec.splitter != NAMED["gpt2"]:
        raise FormatError(
            "vocab.json and merges.txt hold no splitter, and readers use GPT-2's; this tokenizer has another: write a "
            "tokenizer.json"
        )
    if spec.normalizer:
        raise FormatError("vocab.json and merges.txt hold no normalizer; write a tokenizer.json")
    for token in spec.added_tokens:
        plain = AddedToken(token.content, token.id, normalized=token.normalized)  # nothing is normalized here
        if token != plain or not CHARACTERS.issuperset(token.content):
            raise FormatError(
                f"vocab.json holds special tokens without flags, in the letters of its alphabet; not "
                f"{shown(token.content)}: write a tokenizer.json"
            )
