"""Vocabularies in GGUF files, llama.cpp's format."""
