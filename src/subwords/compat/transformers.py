"""A tokenizer as transformers' own class: its code runs, so only the ids are ours."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from subwords.compat.originals import needed
from subwords.errors import InputError
from subwords.formats import json_of
from subwords.formats.hf import folder
from subwords.tokenizer import Tokenizer

__all__ = ["to_transformers"]


def to_transformers(tok: Tokenizer, options: Mapping[str, Any]) -> Any:
    """Return a `PreTrainedTokenizerFast`; see `Tokenizer.to_transformers`.

    It is what `AutoTokenizer.from_pretrained` returns for a folder that this tokenizer is saved to.
    """
    transformers, tokenizers = (needed(name, "to_transformers") for name in ("transformers", "tokenizers"))
    files = folder.write(tok.spec)
    named: dict[str, Any] = json.loads(files[folder.CONFIG])
    if folder.TEMPLATE in files:
        named["chat_template"] = files[folder.TEMPLATE].decode()
    if tok.spec.foreign.chat_templates:
        default = {"default": named["chat_template"]} if "chat_template" in named else {}
        named["chat_template"] = default | dict(tok.spec.foreign.chat_templates)
    for key in ("tokenizer_class", "backend", "auto_map", "added_tokens_decoder"):
        named.pop(key, None)
    inner = tokenizers.Tokenizer.from_str(json_of(tok.spec).decode())
    try:
        return transformers.PreTrainedTokenizerFast(tokenizer_object=inner, **{**named, **options})
    except (TypeError, ValueError) as error:
        raise InputError(f"transformers refuses these options: {error}") from None
