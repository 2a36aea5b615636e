"""Train and run subword tokenizers.

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
    from subwords import scale as scale
    from subwords import tokens as tokens
    from subwords.adapt.adapted import Adapted as Adapted
    from subwords.adapt.encodings import distribution as distribution
    from subwords.adapt.encodings import encode_with as encode_with
    from subwords.adapt.encodings import segmentations as segmentations
    from subwords.adapt.extend import extend as extend
    from subwords.adapt.id_map import IdMap as IdMap
    from subwords.adapt.id_map import id_map as id_map
    from subwords.adapt.merge_tokenizers import merge_tokenizers as merge_tokenizers
    from subwords.adapt.parity import train_parity as train_parity
    from subwords.adapt.prune import prune as prune
    from subwords.adapt.replace import replace as replace
    from subwords.components.added_token import AddedToken as AddedToken
    from subwords.components.padding import Padding as Padding
    from subwords.components.padding import Truncation as Truncation
    from subwords.components.trusted import Special as Special
    from subwords.components.trusted import Text as Text
    from subwords.corpus.counts import WordCounts as WordCounts
    from subwords.corpus.mix import mix as mix
    from subwords.corpus.reading import Reading as Reading
    from subwords.corpus.segmented import segmented as segmented
    from subwords.engine.decode.stream import DecodeStream as DecodeStream
    from subwords.engine.warmup import warmup as warmup
    from subwords.exchange.convert import convert as convert
    from subwords.exchange.verify import verify as verify
    from subwords.normalize.normalizer import Normalizer as Normalizer
    from subwords.resolve import normalizer as normalizer
    from subwords.resolve import splitter as splitter
    from subwords.results.encoding import Encoding as Encoding
    from subwords.results.encoding_batch import EncodingBatch as EncodingBatch
    from subwords.results.token_batch import TokenBatch as TokenBatch
    from subwords.spec import TokenizerSpec as TokenizerSpec
    from subwords.split.splitter import Splitter as Splitter
    from subwords.study.allocation import allocation as allocation
    from subwords.study.audit import audit as audit
    from subwords.study.canonical import boundary_difference as boundary_difference
    from subwords.study.canonical import canonicalize as canonicalize
    from subwords.study.canonical import is_canonical as is_canonical
    from subwords.study.compare import compare as compare
    from subwords.study.evaluate import evaluate as evaluate
    from subwords.study.explain import explain as explain
    from subwords.study.stability import stability as stability
    from subwords.study.sweep import sweep as sweep
    from subwords.study.verify_training import verify_training as verify_training
    from subwords.study.watch import explain_training as explain_training
    from subwords.study.why_not import why_not as why_not
    from subwords.tokenizer import Tokenizer as Tokenizer
    from subwords.tokenizer import load as load
    from subwords.training.count import count as count
    from subwords.training.train import train as train

__version__ = "0.1.0"

# Where each name lives; a module is imported when one of its names is first used: `import subwords` costs little.
_HOMES = {
    "Text": "subwords.components.trusted",
    "Special": "subwords.components.trusted",
    "Truncation": "subwords.components.padding",
    "Padding": "subwords.components.padding",
    "EncodingBatch": "subwords.results.encoding_batch",
    "Adapted": "subwords.adapt.adapted",
    "AddedToken": "subwords.components.added_token",
    "DecodeStream": "subwords.engine.decode.stream",
    "Encoding": "subwords.results.encoding",
    "IdMap": "subwords.adapt.id_map",
    "Reading": "subwords.corpus.reading",
    "Normalizer": "subwords.normalize.normalizer",
    "Splitter": "subwords.split.splitter",
    "TokenBatch": "subwords.results.token_batch",
    "Tokenizer": "subwords.tokenizer",
    "TokenizerSpec": "subwords.spec",
    "WordCounts": "subwords.corpus.counts",
    "allocation": "subwords.study.allocation",
    "audit": "subwords.study.audit",
    "boundary_difference": "subwords.study.canonical",
    "canonicalize": "subwords.study.canonical",
    "compare": "subwords.study.compare",
    "convert": "subwords.exchange.convert",
    "count": "subwords.training.count",
    "distribution": "subwords.adapt.encodings",
    "encode_with": "subwords.adapt.encodings",
    "evaluate": "subwords.study.evaluate",
    "explain": "subwords.study.explain",
    "explain_training": "subwords.study.watch",
    "extend": "subwords.adapt.extend",
    "id_map": "subwords.adapt.id_map",
    "is_canonical": "subwords.study.canonical",
    "load": "subwords.tokenizer",
    "merge_tokenizers": "subwords.adapt.merge_tokenizers",
    "mix": "subwords.corpus.mix",
    "normalizer": "subwords.resolve",
    "prune": "subwords.adapt.prune",
    "replace": "subwords.adapt.replace",
    "segmentations": "subwords.adapt.encodings",
    "segmented": "subwords.corpus.segmented",
    "splitter": "subwords.resolve",
    "stability": "subwords.study.stability",
    "sweep": "subwords.study.sweep",
    "train": "subwords.training.train",
    "train_parity": "subwords.adapt.parity",
    "verify": "subwords.exchange.verify",
    "verify_training": "subwords.study.verify_training",
    "warmup": "subwords.engine.warmup",
    "why_not": "subwords.study.why_not",
}

_MODULES = ("scale", "tokens")

__all__ = [
    "Adapted",
    "AddedToken",
    "CorpusError",
    "DecodeStream",
    "Encoding",
    "EncodingBatch",
    "FormatError",
    "IdMap",
    "InputError",
    "Normalizer",
    "Padding",
    "Reading",
    "Special",
    "Splitter",
    "SubwordsError",
    "SubwordsWarning",
    "Text",
    "TokenBatch",
    "Tokenizer",
    "TokenizerSpec",
    "TrainingError",
    "Truncation",
    "WordCounts",
    "allocation",
    "audit",
    "boundary_difference",
    "canonicalize",
    "compare",
    "convert",
    "count",
    "distribution",
    "encode_with",
    "evaluate",
    "explain",
    "explain_training",
    "extend",
    "id_map",
    "is_canonical",
    "load",
    "merge_tokenizers",
    "mix",
    "normalizer",
    "prune",
    "replace",
    "scale",
    "segmentations",
    "segmented",
    "splitter",
    "stability",
    "sweep",
    "tokens",
    "train",
    "train_parity",
    "verify",
    "verify_training",
    "warmup",
    "why_not",
]


if not TYPE_CHECKING:  # so that a type checker finds the names

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return import_module(f"subwords.{name}")
        if name not in _HOMES:
            raise _missing(name)
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value


def _missing(name: str) -> AttributeError:
    from subwords.support.names import nearest
    from subwords.support.other_names import OF_MODULE, hint

    if name in OF_MODULE:
        return hint("subwords", name, OF_MODULE[name])
    return AttributeError(f"module 'subwords' has no attribute {name!r}{nearest(name, __all__)}")


def __dir__() -> list[str]:
    return [*__all__]
