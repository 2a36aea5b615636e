"""Kernels over bytes and ids: UTF-8, search, decoding."""
