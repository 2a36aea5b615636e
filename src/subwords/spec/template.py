"""Template: the special tokens that a tokenizer adds to the ids of a text or of a pair."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from subwords.spec.token_batch import TokenBatch, batch_of
from subwords.spec.unicode import WHITESPACE
from subwords.support.checks import check_string
from subwords.support.errors import InputError

MOST_ADDED = 1 << 16  # tokens around a text
MOST_TEMPLATE_IDS = 2**32 - 1  # maximum of ids and of type ids
_SPACES = WHITESPACE + "Ġ"  # Ġ is a space in a byte-level file

_Item = TypeVar("_Item")
_Ids: TypeAlias = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of a text in a template: of the first text, "A", or of the second, "B"."""

    text: Literal["A", "B"]
    type_id: int = 0


@dataclass(frozen=True, slots=True)
class Inserted:
    """Special tokens, and their name in the file's template."""

    name: str
    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    type_id: int = 0


Piece: TypeAlias = Slot | Inserted


@dataclass(frozen=True, slots=True)
class Template:
    """The templates of a single text and of a pair, immutable; the default inserts no tokens.

    trims: one entry for each time that whitespace is removed from the spans: whether a space inserted before the text
    stays in its span. InputError if `single` has a slot for a second text or if one name has different tokens.

    Source: the `post_processor` of HF's tokenizer.json.

    >>> from subwords.spec.template import bert
    >>> bert(101, 102).apply([7, 8], [9])
    [101, 7, 8, 102, 9, 102]
    """

    single: tuple[Piece, ...] = (Slot("A"),)
    pair: tuple[Piece, ...] = (Slot("A"), Slot("B", 1))
    trims: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        if any(isinstance(piece, Slot) and piece.text == "B" for piece in self.single):
            raise InputError("invalid template of a single text: it has a slot for a second text (B)")
        if max(self.added(), self.added(pair=True)) > MOST_ADDED:
            raise InputError(f"template too long: expected at most {MOST_ADDED} inserted tokens")
        named: dict[str, Inserted] = {}
        for piece in (*self.single, *self.pair):
            if isinstance(piece, Inserted):
                other = named.setdefault(piece.name, piece)
                if (other.ids, other.tokens) != (piece.ids, piece.tokens):
                    raise InputError(
                        f"ambiguous template token {piece.name!r}: expected the same ids and tokens each time"
                    )

    def pieces(self, pair: bool) -> tuple[Piece, ...]:
        """Return the items of the template of a single text or of a pair."""
        return self.pair if pair else self.single

    @property
    def bare(self) -> Template:
        """The template without the tokens that it inserts; types and trimming stay."""
        single, pair = ([piece for piece in each if isinstance(piece, Slot)] for each in (self.single, self.pair))
        return Template(tuple(single), tuple(pair), self.trims)

    @property
    def around(self) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """The ids before and after those of a single text; None if it has not exactly one place."""
        at = [place for place, piece in enumerate(self.single) if isinstance(piece, Slot)]
        if len(at) != 1:
            return None
        parts = self.single[: at[0]], self.single[at[0] :]
        before, after = (
            tuple([index for piece in part if isinstance(piece, Inserted) for index in piece.ids]) for part in parts
        )
        return before, after

    def renamed(self, names: Mapping[str, str]) -> Template:
        """Return the template with other names of tokens, by their old ones."""

        def name(piece: Piece) -> Piece:
            if isinstance(piece, Slot):
                return piece
            tokens = tuple(names.get(token, token) for token in piece.tokens)
            return replace(piece, name=names.get(piece.name, piece.name), tokens=tokens)

        return replace(self, single=tuple(map(name, self.single)), pair=tuple(map(name, self.pair)))

    def resolved(self, index_of: Callable[[str], int | None]) -> Template:
        """Return the template with the ids that its tokens have in a tokenizer; InputError for a missing token.

        >>> from subwords.spec.template import bert
        >>> bert(101, 102).resolved({"[CLS]": 2, "[SEP]": 3}.get) == bert(2, 3)
        True
        """

        def index(token: str) -> int:
            found = index_of(token)
            if found is None:
                raise InputError(
                    f"missing token {token!r:.60} of the template: expected tokens of this tokenizer, because ids are "
                    f"those of the names; add it first, with special_tokens=[...] or with_tokens([...])"
                )
            return found

        single, pair = (
            tuple(
                replace(piece, ids=tuple(map(index, piece.tokens))) if isinstance(piece, Inserted) else piece
                for piece in pieces
            )
            for pieces in (self.single, self.pair)
        )
        return Template(single, pair, self.trims)

    def added(self, pair: bool = False) -> int:
        """Return the number of ids added to a single text or to a pair."""
        return sum(len(piece.ids) for piece in self.pieces(pair) if isinstance(piece, Inserted))

    @overload
    def apply(self, ids_a: list[int], ids_b: list[int] | None = None) -> list[int]: ...
    @overload
    def apply(self, ids_a: _Ids, ids_b: _Ids | None = None) -> _Ids: ...
    def apply(self, ids_a: list[int] | _Ids, ids_b: list[int] | _Ids | None = None) -> list[int] | _Ids:
        """Return the ids of a text or of a pair, with special tokens."""
        if isinstance(ids_a, list):
            return self.fill(ids_a, None if ids_b is None else list(ids_b), inserted=lambda piece: piece.ids)
        parts = (
            np.array(piece.ids, np.uint32) if isinstance(piece, Inserted) else ids_a if piece.text == "A" else ids_b
            for piece in self.pieces(ids_b is not None)
        )
        return np.concatenate([np.zeros(0, np.uint32), *parts])

    def apply_batch(self, texts: TokenBatch) -> TokenBatch:
        """Return the ids of many single texts, each with special tokens."""
        lengths = np.diff(texts.offsets)
        times = sum(isinstance(piece, Slot) for piece in self.single)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths * times + self.added())])
        ids = np.empty(int(offsets[-1]), np.uint32)
        at = offsets[:-1].copy()
        for piece in self.single:
            if isinstance(piece, Slot):
                ids[np.repeat(at - texts.offsets[:-1], lengths) + np.arange(len(texts.ids))] = texts.ids
                at += lengths
            else:
                for index in piece.ids:
                    ids[at] = index
                    at += 1
        return batch_of(ids, offsets)

    def fill(
        self, a: Sequence[_Item], b: Sequence[_Item] | None = None, *, inserted: Callable[[Inserted], Iterable[_Item]]
    ) -> list[_Item]:
        """Return a list with an item per token: those of `a` and `b`, and `inserted(piece)` for special tokens.

        >>> from subwords.spec.template import bert
        >>> bert(101, 102).fill(["a"], ["b", "##c"], inserted=lambda piece: piece.tokens)
        ['[CLS]', 'a', '[SEP]', 'b', '##c', '[SEP]']
        """
        filled: list[_Item] = []
        for piece in self.pieces(b is not None):
            filled += inserted(piece) if isinstance(piece, Inserted) else a if piece.text == "A" else b or ()
        return filled

    def trimmed(self, spans: NDArray[np.int64], tokens: Sequence[str]) -> NDArray[np.int64]:
        """Return the spans of one text's tokens without the tokens' leading and trailing whitespace.

        tokens: in the byte-level alphabet, with Ġ for a space.
        """
        if not self.trims or not len(spans):
            return spans
        begun, ended = np.array([whitespace_around(token) for token in tokens]).T
        start, stop = spans[:, 0].copy(), spans[:, 1].copy()
        for keeps_prefix in self.trims:
            first = start == 0
            first[0] = True
            start = np.minimum(start + np.where(first & (begun == 1) & keeps_prefix, 0, begun), stop)
            stop = np.where(stop >= ended, np.maximum(stop - ended, start), stop)
        return np.stack([start, stop], 1)


def whitespace_around(token: str) -> tuple[int, int]:
    """Return how many characters of whitespace a token begins and ends with; Ġ is a space."""
    return len(token) - len(token.lstrip(_SPACES)), len(token) - len(token.rstrip(_SPACES))


def bert(cls_id: int, sep_id: int, cls_token: str = "[CLS]", sep_token: str = "[SEP]") -> Template:
    """Return BERT's template: [CLS] A [SEP] and [CLS] A [SEP] B [SEP]; B and its [SEP] have type 1.

    >>> from subwords.spec.template import bert
    >>> [piece.type_id for piece in bert(101, 102).pair or ()]
    [0, 0, 0, 1, 1]
    """
    cls = Inserted(cls_token, (cls_id,), (cls_token,))
    first, second = (Inserted(sep_token, (sep_id,), (sep_token,), type_id) for type_id in (0, 1))
    return Template((cls, Slot("A"), first), (cls, Slot("A"), first, Slot("B", 1), second))


# ---------------------------------------------------------------------------------------------------------------------
# Templates as users write them: "[CLS] $A [SEP]".

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
    return tuple(_slot(word) or _item_of_token(word, index_of) for word in text.split())


def _slot(word: str) -> Slot | None:
    found = _SLOT.fullmatch(word)
    if found is None:
        return None
    if found["number"] and (found["text"] or found["type"]):
        raise InputError(f'expected a text of a template such as "$A", "$B:1" or "$1", not {word!r:.60}')
    return Slot("B" if found["text"] in ("B", "b") else "A", _type_id(found["number"] or found["type"], word))


def _item_of_token(word: str, index_of: Callable[[str], int | None]) -> Inserted:
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
    value = int(text) if text and len(text) <= len(str(MOST_TEMPLATE_IDS)) else MOST_TEMPLATE_IDS + 1 if text else 0
    if value > MOST_TEMPLATE_IDS:
        raise InputError(f"expected type ids up to {MOST_TEMPLATE_IDS} in a template, not {word!r:.60}")
    return value
