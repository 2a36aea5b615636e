"""Normalization: what happens to a text before it is split."""
