"""TokenizerSpec: a tokenizer as a value, apart from the tables that make it fast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from subwords.components import normalizer as normalizers
from subwords.components import splitter as splitters
from subwords.components.added_token import AddedToken, check_added_tokens
from subwords.components.decoder import Decoder
from subwords.components.template import Template
from subwords.errors import InputError
from subwords.families import FAMILIES, Model
from subwords.support.value import Value

__all__ = ["Foreign", "Padding", "TokenizerSpec", "Truncation"]

ROLES = ("bos", "eos", "unk", "pad", "cls", "sep", "mask")


@dataclass(frozen=True, slots=True)
class Padding:
    """How a file asks for batches to be padded. It is kept and written back; encoding does not pad yet.

    length: the number of tokens; None pads to the longest text. multiple_of: lengths are rounded up to it.

    Source: the `padding` of HF's tokenizer.json.
    """

    length: int | None = None
    direction: Literal["left", "right"] = "right"
    multiple_of: int | None = None
    pad_id: int = 0
    pad_type_id: int = 0
    pad_token: str = "[PAD]"


@dataclass(frozen=True, slots=True)
class Truncation:
    """How a file asks for texts to be truncated. It is kept and written back; encoding does not truncate yet.

    max_length: tokens, those of the template included. stride: tokens that two parts of one text share.

    Source: the `truncation` of HF's tokenizer.json.
    """

    max_length: int = 512
    strategy: Literal["longest_first", "only_first", "only_second"] = "longest_first"
    stride: int = 0
    direction: Literal["left", "right"] = "right"


@dataclass(frozen=True, slots=True)
class Foreign:
    """What a file held that has no meaning here: written back to the same format, never preferred to the spec.

    json: entries of a tokenizer.json by key, as JSON text: keys that are unknown, and the file's own spelling of
    components, which is used only while it still means what the spec says.
    model_size: how many ids the model of a tokenizer.json had without added tokens; None if it was not read from one.
    sentencepiece: the parts of a .model file that `formats/sentencepiece/pieces.py` names.
    """

    json: tuple[tuple[str, str], ...] = ()
    model_size: int | None = None
    sentencepiece: tuple[bytes, bytes, bytes] | None = field(default=None, repr=False)

    def entry(self, key: str) -> str | None:
        """Return the JSON text of a key, None where there is none."""
        return dict(self.json).get(key)


@dataclass(frozen=True, eq=False, kw_only=True)
class TokenizerSpec(Value):
    """All that defines a tokenizer, immutable: two specs are equal if they give the same ids, tokens and text.

    model: a BPE, WordPiece or Unigram model. normalizer, splitter: steps, in order; () changes nothing and leaves the
    text whole. template: what surrounds the ids of a text. decoder: None joins the bytes of tokens. added_tokens: ids
    below len(model.vocab). roles: the ids of bos, eos, unk, pad, cls, sep and mask tokens, where a file names them.
    `digest` is a SHA-256 of all of this but `foreign`, which does not count for equality either. InputError for parts
    that do not fit together.

    >>> import subwords
    >>> spec = subwords.train(["ab ab"], vocab_size=258).spec
    >>> spec == subwords.train(["ab ab"], vocab_size=258).spec, spec.splitter[0].behavior
    (True, 'isolated')
    """

    model: Model
    normalizer: normalizers.Steps = ()
    splitter: splitters.Rule = ()
    template: Template | None = None
    decoder: Decoder | None = None
    added_tokens: tuple[AddedToken, ...] = ()
    roles: tuple[tuple[str, int], ...] = ()
    padding: Padding | None = None
    truncation: Truncation | None = None
    foreign: Foreign = field(default=Foreign(), compare=False, repr=False)

    def __post_init__(self) -> None:
        if type(self.model).__name__ not in {family.model_class for family in FAMILIES.values()}:
            raise InputError(f"expected a BPE, WordPiece or Unigram model, not {type(self.model).__name__}")
        added = check_added_tokens(self.added_tokens)
        object.__setattr__(self, "added_tokens", added)
        for name, kinds in (("normalizer", normalizers.STEPS), ("splitter", splitters.STEPS)):
            steps = getattr(self, name)
            if not isinstance(steps, tuple) or not all(isinstance(step, kinds) for step in steps):
                raise InputError(f"expected {name} to be a tuple of steps, not {steps!r:.80}")
        size = len(self.model.vocab)
        for token in added:
            if token.id >= size:
                raise InputError(f"expected added tokens to have ids below {size}; {token.content!r} has {token.id}")
        for role, index in self.roles:
            if role not in ROLES or not 0 <= index < size:
                raise InputError(
                    f"expected roles ({', '.join(ROLES)}) with ids below {size}, not {role!r:.40}: {index!r}"
                )

    def with_(self, changes: Mapping[str, Any]) -> TokenizerSpec:
        """Return a spec with some fields changed; InputError for a name that is not a field."""
        known = list(self.__dataclass_fields__)
        if unknown := sorted(changes.keys() - known):
            raise InputError(f"expected fields of a tokenizer ({', '.join(known)}), not {unknown[0]!r:.60}")
        return replace(self, **changes)
