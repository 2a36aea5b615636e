"""The registry of model families, one row each. All code that depends on the family of a model uses it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload
from weakref import WeakValueDictionary

from subwords.spec.added_token import BERT_TOKENS
from subwords.support.checks import check_choice
from subwords.support.errors import InputError, SubwordsError

if TYPE_CHECKING:
    from subwords.engine.encoder import Encoder
    from subwords.models.bpe.model import BPE
    from subwords.models.bpe.segmenter import BPESegmenter
    from subwords.models.segmenter import Segmenter, WordSource
    from subwords.models.unigram.model import Unigram
    from subwords.models.unigram.segmenter import UnigramSegmenter
    from subwords.normalize.normalizer import Normalizer
    from subwords.spec.model import Model
    from subwords.spec.tokenizer import TokenizerSpec
    from subwords.split.splitter import Splitter


@dataclass(frozen=True)
class Family:
    """A family of models: its modules, imported on first use, its training defaults, and its tools.

    The package `models/<name>` contains `model.py` with `model_class`, `segmenter.py` with `<model_class>Segmenter`,
    and `train.py` with `train_<name>`, `assemble_<name>` and `untrained_<name>`.

    adds_unk: unk_token becomes the first special token if it is not among them. keeps_merges: in order, so that the
    first ones make a smaller vocabulary. tools: what functions of other rooms do for this family alone, by the name of
    the function; a family without an entry is refused there. package: that of another family, for an algorithm that
    trains its models. trainer: the module of its `train_<name>`.
    """

    name: str
    model_class: str
    splitter: str
    normalizer: str | None = None
    special_tokens: tuple[str, ...] = ()
    unk_token: str | None = None
    adds_unk: bool = False
    min_frequency: int = 0
    unit: Literal["tokens", "steps"] = "tokens"
    package: str | None = None
    trainer: str | None = None
    learns: str = "pair is left to merge"
    keeps_merges: bool = False
    tools: Mapping[str, str] = field(default_factory=dict, compare=False)

    @cached_property
    def segmenter(self) -> Any:
        """The segmenter class."""
        return self._own("segmenter", f"{self.model_class}Segmenter")

    @cached_property
    def settings(self) -> Any:
        """The class of the training settings, a frozen dataclass; made on first use, as only training needs it."""
        name = self.model_class if self.trainer is None else self.name.capitalize()
        return getattr(import_module("subwords.models.settings"), f"{name}Settings")

    @cached_property
    def train(self) -> Any:
        """The trainer: `(counts, settings, *, threads, on_step) -> model`."""
        return self._own("train", f"train_{self.name}", self.trainer)

    def assemble(self, model: Model, settings: Any, splitter: Splitter, normalizer: Normalizer | None) -> TokenizerSpec:
        """Return the spec of a trained model; splitter and normalizer are those that made its words."""
        made: TokenizerSpec = self._own("train", f"assemble_{self.package or self.name}")(
            model, settings, splitter.rule, normalizer.steps if normalizer else ()
        )
        return made

    def untrained(self, settings: Any) -> Model:
        """Return a model of the special tokens and one character, to try settings before training."""
        made: Model = self._own("train", f"untrained_{self.package or self.name}")(settings)
        return made

    @cached_property
    def options(self) -> tuple[str, ...]:
        """The names of the training settings."""
        return tuple(setting.name for setting in fields(self.settings))

    def tool(self, name: str, purpose: str = "") -> Any:
        """Return what does something for this family alone; InputError, which names the purpose, if nothing does."""
        if name not in self.tools:
            *some, last = (family.model_class for family in FAMILIES.values() if name in family.tools)
            others = f"{', '.join(some)} or {last}" if some else last
            raise InputError(f"{purpose or name} needs a {others} model; this is {self.model_class}")
        module, _, found = self.tools[name].rpartition(".")
        return getattr(import_module(f"subwords.{module}"), found)

    def _own(self, module: str, name: str, place: str | None = None) -> Any:
        return getattr(import_module(place or f"subwords.models.{self.package or self.name}.{module}"), name)


FAMILIES = {
    family.name: family
    for family in (
        Family(
            *("bpe", "BPE", "o200k"),
            keeps_merges=True,
            tools={
                "extend": "adapt.extending.extend_bpe",
                "prune": "adapt.pruning.BPERemoval",
                "merge": "adapt.merging.merge_bpe",
                "sample": "engine.engine.sample_bpe",
                "segmentations": "sampling.bpe_lattice",
                "explain": "study.segments.BPEWords",
                "explain_training": "study.training_steps.watch_bpe",
                "why_not": "study.obstacles.bpe_obstacle",
                "audit": "study.checks.bpe_unreached",
            },
        ),
        Family(
            *("wordpiece", "WordPiece", "bert", "bert-uncased", BERT_TOKENS),
            unk_token="[UNK]",
            tools={
                "extend": "adapt.extending.extend_wordpiece",
                "prune": "adapt.pruning.WordPieceRemoval",
                "merge": "adapt.merging.merge_wordpiece",
                "segmentations": "sampling.wordpiece_lattice",
                "explain": "study.segments.WordPieceWords",
                "explain_training": "study.training_steps.watch_wordpiece",
                "why_not": "study.obstacles.wordpiece_obstacle",
                "audit": "study.checks.wordpiece_unreached",
            },
        ),
        Family(
            *("unigram", "Unigram", "sentencepiece", "sentencepiece", ("<unk>", "<s>", "</s>")),
            unk_token="<unk>",
            adds_unk=True,
            min_frequency=2,
            unit="steps",
            tools={
                "extend": "adapt.extending.extend_unigram",
                "prune": "adapt.pruning.UnigramRemoval",
                "sample": "engine.engine.sample_unigram",
                "segmentations": "sampling.unigram_lattice",
                "explain": "study.segments.UnigramWords",
                "explain_training": "study.training_steps.watch_unigram",
                "why_not": "study.obstacles.unigram_obstacle",
                "audit": "study.checks.unigram_unreached",
            },
        ),
        Family(
            *("wordlevel", "WordLevel", "whitespace", None, ("<unk>",)),
            unk_token="<unk>",
            learns="word is left",
            tools={
                "explain": "study.segments.WordLevelWords",
                "why_not": "study.obstacles.wordlevel_obstacle",
                "audit": "study.checks.wordlevel_unreached",
            },
        ),
    )
}
# Other algorithms that train a model of one of these families.
ALGORITHMS = {
    **FAMILIES,
    "mingram": Family(
        *("mingram", "Unigram", "sentencepiece", "sentencepiece", ("<unk>", "<s>", "</s>")),
        unk_token="<unk>",
        adds_unk=True,
        package="unigram",
        trainer="subwords.training.mingram",
    ),
}
Kind = TypeVar("Kind", bound="Model")
_BY_CLASS = {family.model_class: family for family in FAMILIES.values()}
_SEGMENTERS: WeakValueDictionary[int, Segmenter] = WeakValueDictionary()  # by the id of the model, which they hold


def family_named(name: object) -> Family:
    """Return the row of an algorithm with this name, in any case; InputError for an unknown name."""
    known = name.lower() if isinstance(name, str) else name
    check_choice("algorithm", known if isinstance(known, str) and known in ALGORITHMS else name, ALGORITHMS)
    return ALGORITHMS[str(known)]


def family_of(model: Model) -> Family:
    """Return the family of a model.

    >>> import subwords
    >>> family_of(subwords.train(["ab ab"], vocab_size=257).model).name
    'bpe'
    """
    return _BY_CLASS[type(model).__name__]


def need(model: Model, kind: type[Kind], error: SubwordsError | str) -> Kind:
    """Return a model of the only family that can do something; raises the error for any other one.

    error: a str names what needs it, for an InputError.
    """
    if isinstance(model, kind):
        return model
    if isinstance(error, str):
        error = InputError(f"{error} needs a {kind.__name__} model; this is {type(model).__name__}")
    raise error


@overload
def segmenter_of(model: BPE) -> BPESegmenter: ...
@overload
def segmenter_of(model: Unigram) -> UnigramSegmenter: ...
@overload
def segmenter_of(model: Model) -> Segmenter: ...
def segmenter_of(model: Model) -> Segmenter:
    """Return the segmenter of a model, which holds it in the layout of its kernel; all its encoders share it."""
    found = _SEGMENTERS.get(id(model))
    if found is None or found.model is not model:
        found = _SEGMENTERS[id(model)] = family_of(model).segmenter(model)
    return found


def encoder_of(model: Model, words: WordSource) -> Encoder:
    """Return an encoder of a model; `words` is a splitter, or a pipeline of a normalizer and a splitter."""
    from subwords.engine.encoder import Encoder

    return Encoder(segmenter_of(model), words)
