"""Tokenizer files: read into a TokenizerSpec and written; no encoder is built here."""
