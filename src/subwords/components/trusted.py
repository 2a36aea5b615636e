"""Text and Special: the parts of an input that mixes untrusted text and special tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from subwords.errors import InputError
from subwords.support.checks import check_token, encode_text

__all__ = ["Input", "Special", "Text", "input_parts", "source_of"]


@dataclass(frozen=True, slots=True)
class Text:
    """Text from anywhere: a special token spelled in it is ordinary text.

    >>> import subwords
    >>> from subwords import Special, Text
    >>> tok = subwords.train(["ab ab"], vocab_size=258, special_tokens=["<|end|>"])
    >>> tok.encode([Text("ab"), Special("<|end|>")])
    [257, 0]
    """

    text: str | bytes

    def __post_init__(self) -> None:
        if not isinstance(self.text, str | bytes):
            raise InputError(f"expected Text of str or bytes, not {type(self.text).__name__}")


@dataclass(frozen=True, slots=True)
class Special:
    """One added token by its content; see `Text`.

    >>> Special("<|end|>")
    Special(token='<|end|>')
    """

    token: str

    def __post_init__(self) -> None:
        check_token("Special", self.token)


Input: TypeAlias = str | bytes | Sequence[Text | Special]


def input_parts(value: object) -> tuple[Text | Special, ...]:
    """Return the parts of an input that is a list or tuple of Text and Special; InputError for anything else."""
    if isinstance(value, list | tuple):
        for part in value:
            if not isinstance(part, Text | Special):
                raise InputError(
                    f"expected a list of Text and Special as one text, not of {type(part).__name__}; encode_batch "
                    "takes many texts"
                )
        return tuple(value)
    raise InputError(f"expected text (str or bytes) or a list of Text and Special, not {type(value).__name__}")


def source_of(value: Input) -> bytes:
    """Return the bytes of a text, or of the joined parts of one."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return encode_text(value)
    return b"".join(source_of(part.token if isinstance(part, Special) else part.text) for part in input_parts(value))
