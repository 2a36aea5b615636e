"""Train, run, explain and audit subword tokenizers.

>>> import subwords
>>> tok = subwords.train(["low lower lowest"] * 9, vocab_size=263)
>>> tok.encode("low lowest")
[257, 262]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from subwords.errors import CorpusError as CorpusError
from subwords.errors import FormatError as FormatError
from subwords.errors import InputError as InputError
from subwords.errors import SubwordsError as SubwordsError
from subwords.errors import SubwordsWarning as SubwordsWarning
from subwords.errors import TrainingError as TrainingError

if TYPE_CHECKING:
    from subwords.corpus.counts import WordCounts as WordCounts
    from subwords.encoding import Encoding as Encoding
    from subwords.formats import load as load
    from subwords.normalize.normalizer import Normalizer as Normalizer
    from subwords.normalize.normalizer import normalizer as normalizer
    from subwords.result import TokenBatch as TokenBatch
    from subwords.special import AddedToken as AddedToken
    from subwords.split.scanner import Splitter as Splitter
    from subwords.split.scanner import splitter as splitter
    from subwords.tokenizer import Tokenizer as Tokenizer
    from subwords.training import count as count
    from subwords.training import train as train
    from subwords.training import warmup as warmup

__version__ = "0.1.0"

# Where each name lives; a module is imported when one of its names is first used: `import subwords` costs little.
_HOMES = {
    "AddedToken": "subwords.special",
    "Encoding": "subwords.encoding",
    "Normalizer": "subwords.normalize.normalizer",
    "Splitter": "subwords.split.scanner",
    "TokenBatch": "subwords.result",
    "Tokenizer": "subwords.tokenizer",
    "WordCounts": "subwords.corpus.counts",
    "count": "subwords.training",
    "load": "subwords.formats",
    "normalizer": "subwords.normalize.normalizer",
    "splitter": "subwords.split.scanner",
    "train": "subwords.training",
    "warmup": "subwords.training",
}

__all__ = [
    "AddedToken",
    "CorpusError",
    "Encoding",
    "FormatError",
    "InputError",
    "Normalizer",
    "Splitter",
    "SubwordsError",
    "SubwordsWarning",
    "TokenBatch",
    "Tokenizer",
    "TrainingError",
    "WordCounts",
    "count",
    "load",
    "normalizer",
    "splitter",
    "train",
    "warmup",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'subwords' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__]
