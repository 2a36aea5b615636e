"""Normalization: changes text before it is split."""
