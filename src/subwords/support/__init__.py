"""Shared helpers: argument checks, names, memory, threads, atomic writes, values."""
