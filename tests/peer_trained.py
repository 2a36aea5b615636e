"""Models that the peers train on the spot, for tests that shall run without the development data."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import Any

import sentencepiece
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

OPTICKS = Path(__file__).parents[1] / "examples" / "opticks.txt"
OTHERS = "naïve Straße, слово за слово. 文字かな 한글 ﬁ ½ 😀 e\u0301\n"
HF = ("BPE", "WordPiece", "Unigram")
RULES = ("nmt_nfkc", "nmt_nfkc_cf", "nfkc", "nfkc_cf", "identity")


@cache
def lines() -> list[str]:
    """A hundred kilobytes of English, and a little of other scripts."""
    return [*OPTICKS.read_text("utf-8")[:100_000].split("\n"), *OTHERS.split("\n") * 20]


@cache
def sentencepiece_model(
    kind: str, rule: str = "nmt_nfkc", byte_fallback: bool = False, documents: str | None = None, **options: Any
) -> bytes:
    """A .model file.

    kind: "unigram", "bpe", "char" or "word". rule: one of RULES. documents: lines instead of `lines()`. options: of the
    trainer, with tuples for lists.
    """
    written = io.BytesIO()
    options = {"user_defined_symbols": ("<mask>",), **options}
    settings: dict[str, Any] = {key: [*value] if isinstance(value, tuple) else value for key, value in options.items()}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines() if documents is None else documents.split("\n")),
        model_writer=written,
        model_type=kind,
        vocab_size=800,
        hard_vocab_limit=False,
        normalization_rule_name=rule,
        byte_fallback=byte_fallback,
        minloglevel=2,
        **settings,
    )
    return written.getvalue()


@cache
def hf_file(kind: str) -> bytes:
    """A tokenizer.json as GPT-2, BERT or T5 have it. kind: one of HF."""
    parts: dict[str, tuple[Any, Any]] = {
        "BPE": (models.BPE(), trainers.BpeTrainer),
        "WordPiece": (models.WordPiece(unk_token="[UNK]"), trainers.WordPieceTrainer),
        "Unigram": (models.Unigram(), trainers.UnigramTrainer),
    }
    model, trainer = parts[kind]
    tok = tokenizers.Tokenizer(model)
    options: dict[str, Any] = {"special_tokens": ["[UNK]", "[CLS]", "[SEP]"], "show_progress": False}
    if kind == "BPE":
        tok.pre_tokenizer, tok.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
        options["initial_alphabet"] = pre_tokenizers.ByteLevel.alphabet()
    elif kind == "WordPiece":
        tok.normalizer, tok.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
        tok.decoder = decoders.WordPiece()
    else:
        tok.normalizer, tok.pre_tokenizer = normalizers.NFKC(), pre_tokenizers.Metaspace()
        tok.decoder = decoders.Metaspace()
        options["unk_token"] = "[UNK]"
    tok.train_from_iterator(lines(), trainer(vocab_size=700, **options))
    if kind == "WordPiece":
        tok.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]",
            pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[(name, tok.token_to_id(name)) for name in ("[CLS]", "[SEP]")],
        )
    return tok.to_str().encode()
