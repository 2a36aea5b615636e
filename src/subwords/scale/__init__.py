"""Corpora in shards: counted or encoded by any number of workers, with the same bytes as a result."""

from subwords.scale.job import Run, count_files, encode_files

__all__ = ["Run", "count_files", "encode_files"]
