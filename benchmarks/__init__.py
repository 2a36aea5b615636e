"""Benchmarks of subwords and its peers: `python -m benchmarks run`. Method and bias: BENCHMARKS.md."""
