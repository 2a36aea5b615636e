"""Kernels that build and read tries of strings."""
