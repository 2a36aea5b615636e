"""Kernels of BPE: segmentation of words, and training."""
