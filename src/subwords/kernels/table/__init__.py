"""Kernels over the table of words: keys, encoding, counting."""
