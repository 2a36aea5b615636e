"""The registry of model families, one row each. All code that depends on the family of a model uses it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from weakref import WeakValueDictionary

from subwords.support.checks import check_choice
from subwords.wordpiece.model import SPECIAL_TOKENS

if TYPE_CHECKING:
    from subwords.bpe.model import BPE
    from subwords.encode.encoder import Encoder
    from subwords.encode.segmenter import Segmenter, WordSource
    from subwords.unigram.model import Unigram
    from subwords.wordlevel.model import WordLevel
    from subwords.wordpiece.model import WordPiece

__all__ = ["ALGORITHMS", "FAMILIES", "Family", "Model", "encoder_of", "family_named", "family_of", "segmenter_of"]

Model: TypeAlias = "BPE | WordPiece | Unigram | WordLevel"


@dataclass(frozen=True)
class Family:
    """A family of models: its modules, imported on first use, and its training defaults.

    The package `subwords.<name>` contains `model.py` with `model_class`, `segmenter.py` with `<model_class>Segmenter`,
    `train.py` with `<model_class>Settings` and `train_<name>`, and `parts.py` with `parts_of` and `untrained`.
    package: that of another family, for an algorithm that trains its models. trainer: the module of its settings.
    """

    name: str
    model_class: str
    splitter: str
    normalizer: str | None = None
    special_tokens: tuple[str, ...] = ()
    unk_token: str | None = None
    min_frequency: int = 0
    unit: Literal["tokens", "steps"] = "tokens"
    package: str | None = None
    trainer: str | None = None

    @cached_property
    def segmenter(self) -> Any:
        """The segmenter class."""
        return self._of("segmenter", f"{self.model_class}Segmenter")

    @cached_property
    def settings(self) -> Any:
        """The class of the training settings, a frozen dataclass."""
        name = f"{self.model_class}Settings" if self.trainer is None else f"{self.name.capitalize()}Settings"
        return self._of("train", name, self.trainer)

    @cached_property
    def train(self) -> Any:
        """The trainer: `(counts, settings, *, threads, on_step) -> model`."""
        return self._of("train", f"train_{self.name}", self.trainer)

    @cached_property
    def parts_of(self) -> Any:
        """What a trained model is used with: `(model, settings, rule, steps) -> Parts`."""
        return self._of("parts", "parts_of")

    @cached_property
    def untrained(self) -> Any:
        """A model of the special tokens and one character: `(settings) -> model`."""
        return self._of("parts", "untrained")

    @cached_property
    def options(self) -> tuple[str, ...]:
        """The names of the training settings."""
        return tuple(field.name for field in fields(self.settings))

    def _of(self, module: str, name: str, place: str | None = None) -> Any:
        return getattr(import_module(place or f"subwords.{self.package or self.name}.{module}"), name)


FAMILIES = {
    family.name: family
    for family in (
        Family("bpe", "BPE", "gpt2"),
        Family(
            *("wordpiece", "WordPiece", "bert", "bert-uncased", SPECIAL_TOKENS),
            unk_token="[UNK]",
        ),
        Family(
            *("unigram", "Unigram", "sentencepiece", "sentencepiece", ("<unk>", "<s>", "</s>")),
            unk_token="<unk>",
            min_frequency=2,
            unit="steps",
        ),
        Family(
            *("wordlevel", "WordLevel", "whitespace", None, ("<unk>",)),
            unk_token="<unk>",
        ),
    )
}
# Other algorithms that train a model of one of these families.
ALGORITHMS = {
    **FAMILIES,
    "mingram": Family(
        *("mingram", "Unigram", "sentencepiece", "sentencepiece", ("<unk>", "<s>", "</s>")),
        unk_token="<unk>",
        package="unigram",
        trainer="subwords.adapt.mingram",
    ),
}
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


def segmenter_of(model: Model) -> Segmenter:
    """Return the segmenter of a model, which holds it in the layout of its kernel; all its encoders share it."""
    found = _SEGMENTERS.get(id(model))
    if found is None or found.model is not model:
        found = _SEGMENTERS[id(model)] = family_of(model).segmenter(model)
    return found


def encoder_of(model: Model, words: WordSource) -> Encoder:
    """Return an encoder of a model; `words` is a splitter, or a pipeline of a normalizer and a splitter."""
    from subwords.encode.encoder import Encoder

    return Encoder(segmenter_of(model), words)
