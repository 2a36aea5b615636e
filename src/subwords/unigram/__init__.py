"""Unigram: model, encoding and training."""
