"""Settings of a folder that change ids in transformers, and that are not used here."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from subwords.components.normalizer import Bert, Prepend
from subwords.components.splitter import Prefix
from subwords.spec import TokenizerSpec

__all__ = ["unused"]

_PLAIN = {"", "PreTrainedTokenizer", "PreTrainedTokenizerBase", "TokenizersBackend"}  # they build no pipeline
# Classes whose pipeline is the one with which a vocab.txt, and vocab.json with merges.txt, are read here.
_BERT = {"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MobileBertTokenizer"}
_SAME = {"WordPiece": _BERT, "BPE": {"GPT2Tokenizer", "CLIPTokenizer", "OpenAIGPTTokenizer"}}
# The value that changes nothing; any other value changes ids with some class.
_NEUTRAL: dict[str, Any] = {
    "add_bos_token": False,
    "add_eos_token": False,
    "do_basic_tokenize": True,
    "extra_ids": 0,
    "keep_accents": False,
    "legacy": True,
    "never_split": [],
    "remove_space": True,
    "sp_model_kwargs": {},
    "split_special_tokens": False,
    "src_lang": None,
    "tgt_lang": None,
}
_BERT_S = {
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "handle_chinese_chars",
}


def unused(spec: TokenizerSpec, config: Mapping[str, Any], added: Mapping[str, Any], *, complete: bool) -> list[str]:
    """Return the settings of tokenizer_config.json and the tokens of added_tokens.json that a spec does not have.

    complete: whether the spec is that of a tokenizer.json, which says all the rest itself.

    Source: transformers 5.24, by comparison.
    """
    found = [f"{key}={json.dumps(value)}" for key, value in _settings(spec, config, complete=complete)]
    missing = [f"{content} {index}" for content, index in added.items() if spec.index_of(content) != index]
    return [*found, *([f"added_tokens.json ({', '.join(missing[:5])})"] if missing else [])]


def _settings(spec: TokenizerSpec, config: Mapping[str, Any], *, complete: bool) -> Iterator[tuple[str, Any]]:
    name = str(config.get("tokenizer_class") or "").removesuffix("Fast")
    byte_level = spec.model.byte_level
    if complete:
        if config.get("split_special_tokens"):
            yield "split_special_tokens", True
        if config.get("add_prefix_space") and byte_level and name not in _PLAIN and not _has_prefix(spec):
            yield "add_prefix_space", True
        return
    if name not in _PLAIN | _SAME.get(type(spec.model).__name__, set()):
        yield "tokenizer_class", config["tokenizer_class"]
    for key, neutral in _NEUTRAL.items():
        if config.get(key, neutral) not in (neutral, None):
            yield key, config[key]
    if config.get("add_prefix_space", _has_prefix(spec)) != _has_prefix(spec):
        yield "add_prefix_space", config["add_prefix_space"]
    yield from _of_bert(spec, config, name)


def _of_bert(spec: TokenizerSpec, config: Mapping[str, Any], name: str) -> Iterator[tuple[str, Any]]:
    step = next((step for step in spec.normalizer if isinstance(step, Bert)), None)
    if step is None:
        if config.get("do_lower_case"):
            yield "do_lower_case", True
        return
    given = ({"do_lower_case": True} if name in _BERT else {}) | {key: config[key] for key in _BERT_S if key in config}
    for key, value in given.items():
        if value is not None and value != getattr(step, _BERT_S[key]):
            yield key, value


def _has_prefix(spec: TokenizerSpec) -> bool:
    """Whether a space is inserted before a text."""
    prepends = any(isinstance(step, Prepend) or getattr(step, "add_dummy_prefix", False) for step in spec.normalizer)
    return prepends or any(isinstance(step, Prefix) for step in spec.splitter)
