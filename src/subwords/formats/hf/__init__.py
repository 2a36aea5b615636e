"""Hugging Face's files."""
