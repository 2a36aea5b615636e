"""Padding and truncation of encoded texts, as plain data; `engine/rows.py` applies them."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal

from subwords.spec.token_batch import padded_length
from subwords.support.checks import as_index, check_choice, check_integer, check_string
from subwords.support.errors import InputError

LARGEST = 2**32 - 1  # largest id
LONGEST = 2**63 - 1  # tokens
SIDES = ("left", "right")
STRATEGIES = ("longest_first", "only_first", "only_second")


@dataclass(frozen=True, slots=True)
class Padding:
    """How texts are filled up to one length.

    length: in tokens; None fills up to the longest text of a batch. direction: the side that is filled. multiple_of:
    lengths are rounded up to a multiple of it. Texts that are longer than `length` stay as they are. InputError for
    values of a wrong type or out of range.

    Source: the `padding` of HF's tokenizer.json.
    """

    length: int | None = None
    direction: Literal["left", "right"] = "right"
    _: KW_ONLY
    multiple_of: int | None = None
    pad_id: int = 0
    pad_type_id: int = 0
    pad_token: str = "[PAD]"

    def __post_init__(self) -> None:
        for name in ("length", "multiple_of"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), 0, LONGEST)
        check_choice("direction", self.direction, SIDES)
        check_integer("pad_id", self.pad_id, 0, LARGEST)
        check_integer("pad_type_id", self.pad_type_id, 0, LARGEST)
        check_string("pad_token", self.pad_token)

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
        check_integer("max_length", self.max_length, 0, LONGEST)
        check_choice("strategy", self.strategy, STRATEGIES)
        check_integer("stride", self.stride, 0, LONGEST)
        check_choice("direction", self.direction, SIDES)


def truncation_of(given: Truncation | int | bool | None, own: Truncation | None) -> Truncation | None:
    """Return the truncation of a call: None and True return `own`; False returns None; a number
    replaces its max_length, and one that no text reaches means no truncation.

    >>> truncation_of(8, Truncation(512, direction="left"))
    Truncation(max_length=8, strategy='longest_first', stride=0, direction='left')
    """
    if given is None or given is False:
        return own if given is None else None
    if given is True:
        if own is None:
            raise InputError("truncation=True needs a length, and this tokenizer has none: truncation=512")
        return own
    if isinstance(given, Truncation):
        return given
    if isinstance(given, int) and given > LONGEST:  # transformers has 1e30 for models without a longest input
        return None
    return replace(own or Truncation(), max_length=_length("truncation", given, "a Truncation"))


def padding_of(given: Padding | int | bool | None, own: Padding | None, pad: tuple[int, str] | None) -> Padding | None:
    """Return the padding of a call: None and True return `own`; False returns None; a number
    replaces its length.

    pad: id and token of the role "pad", for tokenizers whose file has no padding; InputError if that is needed and
    None.

    >>> padding_of(True, None, (3, "<pad>"))
    Padding(length=None, direction='right', multiple_of=None, pad_id=3, pad_type_id=0, pad_token='<pad>')
    """
    if given is None or given is False:
        return own if given is None else None
    if isinstance(given, Padding):
        return given
    length = None if given is True else _length("padding", given, "a Padding")
    if own is None:
        if pad is None:
            raise InputError(
                'padding needs a pad token, and this tokenizer has none: tok.with_(roles={"pad": token}), or '
                "padding=Padding(pad_id=..., pad_token=...)"
            )
        own = Padding(pad_id=pad[0], pad_token=pad[1])
    return own if length is None else replace(own, length=length)


def _length(name: str, given: object, kind: str) -> int:
    what = f"{name} as True, False, None, a number of tokens or {kind}"
    if 0 <= (length := as_index(given, what)) <= LONGEST:
        return length
    raise InputError(f"expected {what}, not {given!r:.60}")
