"""Train and run subword tokenizers.

>>> import subwords
>>> tok = subwords.train(["low lower lowest"] * 9, vocab_size=263)
>>> tok.encode("low lowest")
[257, 262]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from subwords.support.errors import CorpusError, FormatError, InputError, SubwordsError, SubwordsWarning, TrainingError

if TYPE_CHECKING:
    from subwords import scale, tokens
    from subwords.adapt.adapted import Adapted
    from subwords.adapt.extending import extend
    from subwords.adapt.id_maps import IdMap, id_map
    from subwords.adapt.merging import merge_tokenizers
    from subwords.adapt.pruning import prune
    from subwords.adapt.replacing import replace
    from subwords.adapt.sampling import distribution, encode_with, segmentations
    from subwords.corpus.counts import WordCounts
    from subwords.corpus.mix import mix, segmented
    from subwords.corpus.reading import Reading
    from subwords.engine.decode.stream import DecodeStream
    from subwords.engine.encoding import Encoding, EncodingBatch
    from subwords.engine.engine import warmup
    from subwords.interop.convert import convert
    from subwords.interop.verify import verify
    from subwords.normalize.normalizer import Normalizer
    from subwords.normalize.resolve import normalizer, splitter
    from subwords.research import train_parity
    from subwords.spec.added_token import AddedToken, Special, Text
    from subwords.spec.padding import Padding, Truncation
    from subwords.spec.token_batch import TokenBatch
    from subwords.spec.tokenizer import TokenizerSpec
    from subwords.split.splitter import Splitter
    from subwords.study.auditing import audit
    from subwords.study.canonical import boundary_difference, canonicalize, is_canonical
    from subwords.study.comparison import compare
    from subwords.study.evaluation import evaluate
    from subwords.study.explanation import explain
    from subwords.study.groups import allocation
    from subwords.study.growth import stability, sweep
    from subwords.study.obstacles import why_not
    from subwords.study.training_steps import explain_training
    from subwords.study.verification import verify_training
    from subwords.tokenizer import Tokenizer, load
    from subwords.training.count import count
    from subwords.training.train import train


__version__ = "0.1.0"

# Where each name lives; a module is imported when one of its names is first used: `import subwords` costs little.
_HOMES = {
    "Text": "subwords.spec.added_token",
    "Special": "subwords.spec.added_token",
    "Truncation": "subwords.spec.padding",
    "Padding": "subwords.spec.padding",
    "EncodingBatch": "subwords.engine.encoding",
    "Adapted": "subwords.adapt.adapted",
    "AddedToken": "subwords.spec.added_token",
    "DecodeStream": "subwords.engine.decode.stream",
    "Encoding": "subwords.engine.encoding",
    "IdMap": "subwords.adapt.id_maps",
    "Reading": "subwords.corpus.reading",
    "Normalizer": "subwords.normalize.normalizer",
    "Splitter": "subwords.split.splitter",
    "TokenBatch": "subwords.spec.token_batch",
    "Tokenizer": "subwords.tokenizer",
    "TokenizerSpec": "subwords.spec.tokenizer",
    "WordCounts": "subwords.corpus.counts",
    "allocation": "subwords.study.groups",
    "audit": "subwords.study.auditing",
    "boundary_difference": "subwords.study.canonical",
    "canonicalize": "subwords.study.canonical",
    "compare": "subwords.study.comparison",
    "convert": "subwords.interop.convert",
    "count": "subwords.training.count",
    "distribution": "subwords.adapt.sampling",
    "encode_with": "subwords.adapt.sampling",
    "evaluate": "subwords.study.evaluation",
    "explain": "subwords.study.explanation",
    "explain_training": "subwords.study.training_steps",
    "extend": "subwords.adapt.extending",
    "id_map": "subwords.adapt.id_maps",
    "is_canonical": "subwords.study.canonical",
    "load": "subwords.tokenizer",
    "merge_tokenizers": "subwords.adapt.merging",
    "mix": "subwords.corpus.mix",
    "normalizer": "subwords.normalize.resolve",
    "prune": "subwords.adapt.pruning",
    "replace": "subwords.adapt.replacing",
    "segmentations": "subwords.adapt.sampling",
    "segmented": "subwords.corpus.mix",
    "splitter": "subwords.normalize.resolve",
    "stability": "subwords.study.growth",
    "sweep": "subwords.study.growth",
    "train": "subwords.training.train",
    "train_parity": "subwords.research",
    "verify": "subwords.interop.verify",
    "verify_training": "subwords.study.verification",
    "warmup": "subwords.engine.engine",
    "why_not": "subwords.study.obstacles",
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
    from subwords.support.names import OF_MODULE, hint, nearest

    if name in OF_MODULE:
        return hint("subwords", name, OF_MODULE[name])
    return AttributeError(f"module 'subwords' has no attribute {name!r}{nearest(name, __all__)}")


def __dir__() -> list[str]:
    return [*__all__]
