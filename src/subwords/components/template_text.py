"""Templates as users write them: "[CLS] $A [SEP]"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from subwords.components.template import LARGEST, Inserted, Piece, Slot, Template
from subwords.errors import InputError
from subwords.support.checks import check_string

__all__ = ["TemplateLike", "template_of"]

TemplateLike: TypeAlias = Template | str | Sequence[str] | None

_SLOT = re.compile(r"\$(?P<text>[AaBb]?)(?P<number>[0-9]*)(?::(?P<type>[0-9]+))?")
_TYPED = re.compile(r"(?P<token>.+?)(?::(?P<type>[0-9]+))?", re.DOTALL)


def template_of(value: TemplateLike, index_of: Callable[[str], int | None]) -> Template | None:
    """Return the template of a text such as "<s> $A </s>", of two: for a single text and for a pair, or of a template.

    `$A` and `$B` are the texts, other words are tokens, `:1` after one of them is its type id. Without a template for
    pairs, each text of a pair gets the tokens of a single text; the second has type id 1. index_of: the id of a token,
    or None. A `Template` gets the ids that its tokens have here. InputError for tokens that do not exist.

    Source: the strings of HF's TemplateProcessing.

    >>> template_of(["[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1"], {"[CLS]": 0, "[SEP]": 1}.get).apply([7], [8])
    [0, 7, 1, 8, 1]
    """
    if value is None:
        return None
    if isinstance(value, Template):  # of another tokenizer, it has that one's ids
        return value.resolved(index_of)
    texts = [value] if isinstance(value, str) else [*value] if isinstance(value, list | tuple) else []
    if len(texts) not in (1, 2) or not all(isinstance(text, str) for text in texts):
        raise InputError(f'expected a template such as "<s> $A </s>", or two for text and pair, not {value!r:.80}')
    for text in texts:
        check_string("template", text)
    single = _pieces(texts[0], index_of)
    if not any(isinstance(piece, Slot) for piece in single):
        raise InputError(f"expected a template with $A, the place of the text, not {texts[0]!r:.80}")
    if len(texts) == 1:
        return Template(single, (*single, *map(_second, single)))
    pair = _pieces(texts[1], index_of)
    if {piece.text for piece in pair if isinstance(piece, Slot)} != {"A", "B"}:
        raise InputError(f"expected a template of a pair with $A and $B, not {texts[1]!r:.80}")
    return Template(single, pair)


def _second(piece: Piece) -> Piece:
    """Return an item of a single text's template for the second text of a pair."""
    if isinstance(piece, Slot):
        return Slot("B", 1)
    return Inserted(piece.name, piece.ids, piece.tokens, 1)


def _pieces(text: str, index_of: Callable[[str], int | None]) -> tuple[Piece, ...]:
    return tuple(_slot(word) or _inserted(word, index_of) for word in text.split())


def _slot(word: str) -> Slot | None:
    found = _SLOT.fullmatch(word)
    if found is None:
        return None
    if found["number"] and (found["text"] or found["type"]):
        raise InputError(f'expected a text of a template such as "$A", "$B:1" or "$1", not {word!r:.60}')
    return Slot("B" if found["text"] in ("B", "b") else "A", _type_id(found["number"] or found["type"], word))


def _inserted(word: str, index_of: Callable[[str], int | None]) -> Inserted:
    found = _TYPED.fullmatch(word)
    assert found is not None
    token, type_id = found["token"], _type_id(found["type"], word)
    index = index_of(word)
    if index is not None:  # a token that ends like a type id
        token, type_id = word, 0
    else:
        index = index_of(token)
    if index is None:
        raise InputError(f"expected a template of tokens that exist, not {token!r:.60}")
    return Inserted(token, (index,), (token,), type_id)


def _type_id(text: str | None, word: str) -> int:
    value = int(text) if text and len(text) <= len(str(LARGEST)) else LARGEST + 1 if text else 0
    if value > LARGEST:
        raise InputError(f"expected type ids up to {LARGEST} in a template, not {word!r:.60}")
    return value
