"""Kernels of Unigram: best paths, sampling, and training."""
