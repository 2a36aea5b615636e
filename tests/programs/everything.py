"""Count, train, encode and decode, and compare all of it with the textbook."""

from __future__ import annotations

import subwords
from subwords.reference import bpe as reference

special = ["<s>"]
texts = ["low lower lowest, it's 2024's naïve 文字 \n\n\t x<s>y  😀\u3000", "a" * 70 + " " + "ab" * 40 + "'ll'"]
counts = subwords.count(texts, splitter="gpt2", special_tokens=special, threads=2)
counts = counts + counts
ref = reference.count_words(texts * 2, reference.GPT2_PATTERN, special)
assert list(counts) == list(ref.items())
for tie_break in ("ids", "first", "bytes"):
    tok = subwords.train(counts, vocab_size=300, splitter="gpt2", special_tokens=special, tie_break=tie_break)
    vocab, merges = reference.train(ref, 300, special_tokens=special, tie_break=tie_break)
    assert list(tok.model.vocab) == vocab
    assert [*tok.merges] == merges
for text in (*texts, b"low\xff\xc3 it's", "lowest" * 30):
    data = text if isinstance(text, bytes) else text.encode()
    assert tok.encode(text) == reference.encode(text, vocab, merges)
    assert tok.decode_bytes(tok.encode(text)) == data
assert tok.encode_batch(texts, threads=2).to_lists() == [tok.encode(text) for text in texts]
letters = subwords.train(
    texts, vocab_size=60, splitter="gpt2", byte_level=False, special_tokens=["[?]"], unk_token="[?]"
)
assert letters.encode("lowüé") == reference.encode(
    "lowüé", [*letters.model.vocab], letters.merges, byte_level=False, unk="[?]"
)
