"""Encoding and decoding: what a tokenizer builds on first use."""
