"""Unigram."""
