"""Kernels of WordPiece: matching, and training."""
