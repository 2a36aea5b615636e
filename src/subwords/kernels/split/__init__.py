"""Kernels that split text into words."""
