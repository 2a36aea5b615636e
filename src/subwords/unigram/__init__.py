"""Unigram: the model, its encoding and its training."""
