"""The named rules: the patterns that real tokenizers use, with their origin."""

from __future__ import annotations

RULES = {
    # OpenAI, gpt-2/src/encoder.py (2019); also RoBERTa, OPT, GPT-NeoX, Phi, and HF's ByteLevel pre-tokenizer.
    "gpt2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
}
