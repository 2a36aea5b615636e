"""User-defined pieces of BPE as words: tokenizer.json has no such pieces, but it takes a word that is a token whole."""

from __future__ import annotations

from dataclasses import replace

from subwords.bpe.model import BPE
from subwords.components.normalizer import SentencePiece
from subwords.components.space_rule import SPACE
from subwords.components.splitter import Split
from subwords.errors import FormatError
from subwords.families import family_of, need
from subwords.formats.makes_all import makes_all
from subwords.spec import TokenizerSpec

__all__ = ["as_words"]

# Keeps text like `<0x41>` from being a word, which would be the token of a byte.
_BYTE_CUT = Split("<(?=0)", "merged_with_previous")


def as_words(spec: TokenizerSpec) -> TokenizerSpec:
    """Return a tokenizer with the same ids whose user-defined pieces are words; others are returned unchanged.

    The splitter of a .model file isolates these pieces already. Taking them whole then takes every word whole that is a
    token; so merges must make all other tokens. Raises FormatError if ids could change.
    """
    if not spec.model.user_ids or not family_of(spec.model).keeps_merges:
        return spec
    model = need(spec.model, BPE, "tokenizer.json")
    users = [model.vocab[i].decode() for i in sorted(model.user_ids)]
    kept = f"user-defined pieces, such as {users[0]!r:.40}: write a .model file"
    steps = []
    for step in spec.normalizer:
        # The charsmap would change the pieces, and so would spaces.
        if not isinstance(step, SentencePiece) or step.charsmap or any(" " in user or SPACE in user for user in users):
            raise FormatError(f"tokenizer.json has no normalizer that keeps {kept}")
        steps.append(replace(step, user_symbols=()))
    lost = frozenset(model.byte_ids[model.byte_ids >= 0].tolist())
    others = replace(model, user_ids=frozenset(), special_ids=model.special_ids | model.user_ids | lost)
    cut_is_safe = not any("<0" in text for text in _learned(others))
    if model.unused_ids or model.parts or not cut_is_safe or not makes_all(others):
        raise FormatError(
            f"tokenizer.json would segment words that are themselves tokens differently; it has no {kept}"
        )
    return replace(
        spec,
        model=replace(model, user_ids=frozenset(), whole_words=True),
        normalizer=tuple(steps),
        splitter=(*spec.splitter, _BYTE_CUT),
    )


def _learned(model: BPE) -> list[str]:
    return [text.decode() for i, text in enumerate(model.vocab) if i not in model.special_ids]
