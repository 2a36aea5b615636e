"""Hugging Face's file formats."""
