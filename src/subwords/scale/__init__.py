"""Corpora in shards: counted or encoded by any number of workers, with the same bytes as a result.

>>> import subwords, tempfile
>>> from pathlib import Path
>>> with tempfile.TemporaryDirectory() as folder:
...     for name, text in (("a.txt", "so so"), ("b.txt", "so it")):
...         _ = Path(folder, name).write_text(text)
...     run = subwords.scale.Run(shard_bytes=5)
...     dict(subwords.scale.count_files(f"{folder}/*.txt", f"{folder}/counts", run=run))
{b'so': 2, b' so': 1, b' it': 1}
"""

from subwords.scale.job import Run, count_files, encode_files

__all__ = ["Run", "count_files", "encode_files"]


def __dir__() -> list[str]:
    return [*__all__]
