"""Padding and truncation of encoded texts, and what a model takes, as plain data; `engine/rows.py` applies them."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal

from subwords.spec.token_batch import padded_length
from subwords.support.checks import as_index, check_choice, check_integer, check_string
from subwords.support.errors import InputError

LARGEST_ID = 2**32 - 1  # largest id
LONGEST_LENGTH = 2**63 - 1  # tokens
SIDES = ("left", "right")
STRATEGIES = ("longest_first", "only_first", "only_second")


@dataclass(frozen=True, slots=True)
class Padding:
    """How texts are filled up to one length.

    length: in tokens; None fills up to the longest text of a batch. direction: the side that is filled; None: that of
    the tokenizer's folder, or right. multiple_of: lengths are rounded up to a multiple of it. pad_id, pad_token: what
    fills; one tells the other, and without both it is the tokenizer's token with the role "pad". Texts that are longer
    than `length` stay as they are. InputError for values of a wrong type or out of range.

    Source: the `padding` of HF's tokenizer.json.
    """

    length: int | None = None
    direction: Literal["left", "right"] | None = None
    _: KW_ONLY
    multiple_of: int | None = None
    pad_id: int | None = None
    pad_type_id: int = 0
    pad_token: str | None = None

    def __post_init__(self) -> None:
        for name in ("length", "multiple_of"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), 0, LONGEST_LENGTH)
        if self.direction is not None:
            check_choice("direction", self.direction, SIDES)
        check_integer("pad_type_id", self.pad_type_id, 0, LARGEST_ID)
        if self.pad_id is not None:
            check_integer("pad_id", self.pad_id, 0, LARGEST_ID)
        if self.pad_token is not None:
            check_string("pad_token", self.pad_token)

    @property
    def filler(self) -> tuple[int, str]:
        """The id and the token that fill; InputError if they depend on a tokenizer."""
        if self.pad_id is None or self.pad_token is None:
            raise InputError(
                'padding needs a pad token, and this tokenizer has none: tok.with_(roles={"pad": token}), or '
                "padding=Padding(pad_id=...)"
            )
        return self.pad_id, self.pad_token

    def length_for(self, longest: int) -> int:
        """Return the length of a batch whose longest text has this many tokens.

        >>> Padding(multiple_of=8).length_for(11)
        16
        """
        return padded_length(longest, self.length, self.multiple_of)


@dataclass(frozen=True, slots=True)
class Truncation:
    """How long texts are cut.

    max_length: in tokens, template included. strategy: which text of a pair is cut. stride: the number of tokens that
    two consecutive pieces of one text share. direction: the side that is cut off. InputError for values of a wrong type
    or out of range.

    Source: the `truncation` of HF's tokenizer.json.

    >>> import subwords
    >>> tok = subwords.train(["ab ab"], vocab_size=257)
    >>> encoding = tok("abab", truncation=Truncation(3, stride=1, direction="left"))
    >>> encoding.ids.tolist(), encoding.overflow
    ([256, 256], ())
    """

    max_length: int = 512
    strategy: Literal["longest_first", "only_first", "only_second"] = "longest_first"
    _: KW_ONLY
    stride: int = 0
    direction: Literal["left", "right"] = "right"

    def __post_init__(self) -> None:
        check_integer("max_length", self.max_length, 0, LONGEST_LENGTH)
        check_choice("strategy", self.strategy, STRATEGIES)
        check_integer("stride", self.stride, 0, LONGEST_LENGTH)
        check_choice("direction", self.direction, SIDES)


@dataclass(frozen=True, slots=True)
class ModelInputs:
    """What a model takes, as the folder of its tokenizer says.

    max_length: the longest input in tokens, to which `truncation=True` cuts; None: that of the truncation.
    padding_side, truncation_side: of a call that does not say it; None: those of the file, or right. names: the arrays
    that `to_numpy` returns, under the names of transformers; () for those that the tokenizer's file implies.

    Source: `model_max_length`, `padding_side`, `truncation_side` and `model_input_names` of a tokenizer_config.json.
    """

    max_length: int | None = None
    _: KW_ONLY
    padding_side: Literal["left", "right"] | None = None
    truncation_side: Literal["left", "right"] | None = None
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.max_length is not None:
            check_integer("max_length", self.max_length, 0, LONGEST_LENGTH)
        for name in ("padding_side", "truncation_side"):
            if getattr(self, name) is not None:
                check_choice(name, getattr(self, name), SIDES)
        if not isinstance(self.names, tuple):
            raise InputError(f"expected names as a tuple of str, not {type(self.names).__name__}")
        for name in self.names:
            check_string("names", name)


NO_INPUTS = ModelInputs()


def truncation_of(
    given: Truncation | int | bool | None, own: Truncation | None, inputs: ModelInputs = NO_INPUTS
) -> Truncation | None:
    """Return the truncation of a call: None returns `own`; False returns None; True cuts to the length of `inputs`, or
    as `own` does; a number replaces max_length, and one that no text reaches means no truncation.

    >>> truncation_of(8, Truncation(512, direction="left"))
    Truncation(max_length=8, strategy='longest_first', stride=0, direction='left')
    """
    if given is None or given is False:
        return own if given is None else None
    if isinstance(given, Truncation):
        return given
    if given is True:
        if own is None and inputs.max_length is None:
            raise InputError("truncation=True needs a length, and this tokenizer has none: truncation=512")
        given = (own.max_length if own else 0) if inputs.max_length is None else inputs.max_length
    if isinstance(given, int) and given > LONGEST_LENGTH:  # transformers has 1e30 for models without a longest input
        return None
    own = own or Truncation()
    side = inputs.truncation_side or own.direction
    return replace(own, max_length=_length("truncation", given, "a Truncation"), direction=side)


def padding_of(
    given: Padding | int | bool | None, own: Padding | None, inputs: ModelInputs = NO_INPUTS
) -> Padding | None:
    """Return the padding of a call: None returns `own`; False returns None; True fills up to the longest text, a number
    to its length; in both, all else is as in `own`, with the side of `inputs`.

    >>> padding_of(True, Padding(8, pad_id=3, pad_token="<pad>"))
    Padding(length=None, direction=None, multiple_of=None, pad_id=3, pad_type_id=0, pad_token='<pad>')
    """
    if given is None or given is False:
        return own if given is None else None
    if isinstance(given, Padding):
        return given
    own, length = own or Padding(), None if given is True else _length("padding", given, "a Padding")
    return replace(own, length=length, direction=inputs.padding_side or own.direction)


def _length(name: str, given: object, kind: str) -> int:
    what = f"{name} as True, False, None, a number of tokens or {kind}"
    if 0 <= (length := as_index(given, what)) <= LONGEST_LENGTH:
        return length
    raise InputError(f"expected {what}, not {given!r:.60}")
