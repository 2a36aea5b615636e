"""Corpora in shards: counted or encoded by any number of workers, with the same bytes as a result.

>>> import subwords, tempfile
>>> from pathlib import Path
>>> with tempfile.TemporaryDirectory() as folder:
...     for name, text in (("a.txt", "so so"), ("b.txt", "so it")):
...         _ = Path(folder, name).write_text(text)
...     dict(subwords.count(f"{folder}/*.txt", run=subwords.scale.Run(shard_bytes=5)))
{b'so': 2, b' so': 1, b' it': 1}
"""

from __future__ import annotations

from subwords.support.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
