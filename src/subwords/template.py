"""Template: what a tokenizer file puts around the ids of a text, or of two."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from subwords.errors import InputError
from subwords.result import TokenBatch
from subwords.special import BLANKS

if TYPE_CHECKING:
    from subwords.formats.document import Node

__all__ = ["Inserted", "Piece", "Slot", "Template", "bert", "from_post_processor", "to_post_processor"]

DEEPEST = 100
LARGEST = 2**32 - 1  # of ids and of type ids
_BLANK_TOKENS = BLANKS + "Ġ"  # a byte-level file writes a blank so

_Item = TypeVar("_Item")
_Ids: TypeAlias = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of a text: of the first one, "A", or of the second, "B"."""

    text: Literal["A", "B"]
    type_id: int = 0


@dataclass(frozen=True, slots=True)
class Inserted:
    """Special tokens and the name that they have in a file's template."""

    name: str
    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    type_id: int = 0


Piece: TypeAlias = Slot | Inserted


@dataclass(frozen=True, slots=True)
class Template:
    """The pieces around a single text and around a pair, immutable; the default one inserts nothing.

    trims: for every time that blanks are taken off the spans, whether a blank that was put before the text stays.
    A `single` with a place for a second text is an InputError, as is one name for different tokens.

    Source: the `post_processor` of HF's tokenizer.json.

    >>> from subwords.template import bert
    >>> bert(101, 102).apply([7, 8], [9])
    [101, 7, 8, 102, 9, 102]
    """

    single: tuple[Piece, ...] = (Slot("A"),)
    pair: tuple[Piece, ...] = (Slot("A"), Slot("B", 1))
    trims: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        if any(isinstance(piece, Slot) and piece.text == "B" for piece in self.single):
            raise InputError("expected the template of a single text to have no place for a second one")
        named: dict[str, Inserted] = {}
        for piece in (*self.single, *self.pair):
            if isinstance(piece, Inserted):
                other = named.setdefault(piece.name, piece)
                if (other.ids, other.tokens) != (piece.ids, piece.tokens):
                    raise InputError(f"expected a name for the same tokens everywhere; {piece.name!r} has two meanings")

    def pieces(self, pair: bool) -> tuple[Piece, ...]:
        """Return the pieces of a single text or of a pair."""
        return self.pair if pair else self.single

    def added(self, pair: bool = False) -> int:
        """Return how many ids are put around a single text or a pair."""
        return sum(len(piece.ids) for piece in self.pieces(pair) if isinstance(piece, Inserted))

    @overload
    def apply(self, ids_a: list[int], ids_b: list[int] | None = None) -> list[int]: ...
    @overload
    def apply(self, ids_a: _Ids, ids_b: _Ids | None = None) -> _Ids: ...
    def apply(self, ids_a: list[int] | _Ids, ids_b: list[int] | _Ids | None = None) -> list[int] | _Ids:
        """Return the ids of a text, or of two, with what is put around them."""
        if isinstance(ids_a, list):
            return self.fill(ids_a, None if ids_b is None else list(ids_b), inserted=lambda piece: piece.ids)
        parts = (
            np.array(piece.ids, np.uint32) if isinstance(piece, Inserted) else ids_a if piece.text == "A" else ids_b
            for piece in self.pieces(ids_b is not None)
        )
        return np.concatenate([np.zeros(0, np.uint32), *parts])

    def apply_batch(self, texts: TokenBatch) -> TokenBatch:
        """Return the ids of many single texts, each with what is put around it."""
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
        return TokenBatch(ids, offsets)

    def fill(
        self, a: Sequence[_Item], b: Sequence[_Item] | None = None, *, inserted: Callable[[Inserted], Iterable[_Item]]
    ) -> list[_Item]:
        """Return a list of what the tokens of a text, or of two, have, and of what `inserted` gives for the others.

        >>> from subwords.template import bert
        >>> bert(101, 102).fill(["a"], ["b", "##c"], inserted=lambda piece: piece.tokens)
        ['[CLS]', 'a', '[SEP]', 'b', '##c', '[SEP]']
        """
        filled: list[_Item] = []
        for piece in self.pieces(b is not None):
            filled += inserted(piece) if isinstance(piece, Inserted) else a if piece.text == "A" else b or ()
        return filled

    def type_ids(self, length_a: int, length_b: int | None = None) -> _Ids:
        """Return the type ids (uint32) of a text of so many ids, or of two."""
        pieces = self.pieces(length_b is not None)
        counts = self._lengths(length_a, length_b)
        return np.repeat(np.array([piece.type_id for piece in pieces], np.uint32), counts)

    def special_mask(self, length_a: int, length_b: int | None = None) -> NDArray[np.uint8]:
        """Return 1 for every id that is put in and 0 for those of the texts (uint8)."""
        pieces = self.pieces(length_b is not None)
        counts = self._lengths(length_a, length_b)
        return np.repeat(np.array([isinstance(piece, Inserted) for piece in pieces], np.uint8), counts)

    def ranges(self, length_a: int, length_b: int | None = None) -> tuple[range, ...]:
        """Return where each text's ids stand; the last place counts where a text has several, as in HF."""
        found = {"A": range(0), "B": range(0)}
        at = 0
        pieces = self.pieces(length_b is not None)
        for piece, length in zip(pieces, self._lengths(length_a, length_b), strict=True):
            if isinstance(piece, Slot):
                found[piece.text] = range(at, at + length)
            at += length
        return tuple(found.values()) if length_b is not None else (found["A"],)

    def _lengths(self, length_a: int, length_b: int | None) -> list[int]:
        lengths = {"A": length_a, "B": length_b or 0}
        pieces = self.pieces(length_b is not None)
        return [len(piece.ids) if isinstance(piece, Inserted) else lengths[piece.text] for piece in pieces]

    def trimmed(self, spans: NDArray[np.int64], tokens: Sequence[str]) -> NDArray[np.int64]:
        """Return the spans of one text's tokens without the blanks that the tokens begin and end with.

        tokens: as a byte-level file writes them, with Ġ for a blank.
        """
        if not self.trims or not len(spans):
            return spans
        begun = np.array([len(token) - len(token.lstrip(_BLANK_TOKENS)) for token in tokens])
        ended = np.array([len(token) - len(token.rstrip(_BLANK_TOKENS)) for token in tokens])
        start, stop = spans[:, 0].copy(), spans[:, 1].copy()
        for keeps_prefix in self.trims:
            first = start == 0
            first[0] = True
            start = np.minimum(start + np.where(first & (begun == 1) & keeps_prefix, 0, begun), stop)
            stop = np.where(stop >= ended, np.maximum(stop - ended, start), stop)
        return np.stack([start, stop], 1)


def bert(cls_id: int, sep_id: int, cls_token: str = "[CLS]", sep_token: str = "[SEP]") -> Template:
    """Return BERT's template: [CLS] A [SEP] and [CLS] A [SEP] B [SEP], the second text and its [SEP] of type 1.

    >>> from subwords.template import bert
    >>> bert(101, 102).type_ids(2, 1).tolist()
    [0, 0, 0, 0, 1, 1]
    """
    cls = Inserted(cls_token, (cls_id,), (cls_token,))
    first, second = (Inserted(sep_token, (sep_id,), (sep_token,), type_id) for type_id in (0, 1))
    return Template((cls, Slot("A"), first), (cls, Slot("A"), first, Slot("B", 1), second))


def from_post_processor(node: Node) -> Template | None:
    """Return the template of a tokenizer.json's `post_processor`, None where it changes nothing.

    Whatever is not such a node is a FormatError that names its place.

    Source: HF tokenizers 0.23; a template whose use would fail there is refused here.

    >>> from subwords.formats.document import Node
    >>> from subwords.template import bert, from_post_processor
    >>> value = {"type": "BertProcessing", "sep": ["[SEP]", 102], "cls": ["[CLS]", 101]}
    >>> from_post_processor(Node("a.json", "post_processor", value)) == bert(101, 102)
    True
    """
    steps = [(step, _read(step)) for step in _steps(node)] if node.value is not None else []
    plain = Template()
    framing = [(step, got) for step, got in steps if (got.single, got.pair) != (plain.single, plain.pair)]
    if len(framing) > 1:
        raise framing[1][0].unsupported("a single template")
    frame = framing[0][1] if framing else plain
    template = Template(frame.single, frame.pair, tuple(keeps for _, got in steps for keeps in got.trims))
    return None if template == plain else template


def _steps(node: Node, depth: int = 0) -> Iterator[Node]:
    if node["type"].value != "Sequence":
        yield node
        return
    if depth == DEEPEST:
        raise node.wrong(f"at most {DEEPEST} sequences within each other", "one more")
    for item in node["processors"].items():
        yield from _steps(item, depth + 1)


def _read(node: Node) -> Template:
    kind = node["type"].value
    read = _READERS.get(kind) if isinstance(kind, str) else None
    if read is None:
        raise node.unsupported(" or ".join(_READERS))
    return read(node)


def _bert(node: Node) -> Template:
    # HF tells BertProcessing and RobertaProcessing by the fields, whatever the type says.
    (cls, cls_id), (sep, sep_id) = _token(node["cls"]), _token(node["sep"])
    if node["trim_offsets"].value is None or node["add_prefix_space"].value is None:
        return bert(cls_id, sep_id, cls, sep)
    start, stop = Inserted(cls, (cls_id,), (cls,)), Inserted(sep, (sep_id,), (sep,))
    single = (start, Slot("A"), stop)
    return Template(single, (*single, stop, Slot("B"), stop), _trims(node))


def _trims(node: Node) -> tuple[bool, ...]:
    keeps_prefix = node["add_prefix_space"].boolean()
    return (keeps_prefix,) if node["trim_offsets"].boolean() else ()


def _token(node: Node) -> tuple[str, int]:
    if len(node.array()) != 2:
        raise node.wrong("a token and its id")
    token, index = node.items()
    return token.string(), index.integer(LARGEST)


def _processing(node: Node) -> Template:
    named = {key: _special(node["special_tokens"][key]) for key in node["special_tokens"].distinct()}
    single, pair = (tuple(_piece(item, named) for item in node[key].items()) for key in ("single", "pair"))
    try:
        return Template(single, pair)
    except InputError as error:
        raise node.wrong("a template that can be applied", f"this one: {error}") from None


def _special(node: Node) -> tuple[tuple[int, ...], tuple[str, ...]]:
    ids = tuple(item.integer(LARGEST) for item in node["ids"].items())
    tokens = tuple(item.string() for item in node["tokens"].items())
    if len(ids) != len(tokens):
        raise node.wrong("as many ids as tokens", f"{len(ids)} and {len(tokens)}")
    return ids, tokens


def _piece(node: Node, named: dict[str, tuple[tuple[int, ...], tuple[str, ...]]]) -> Piece:
    if len(node.object()) != 1:
        raise node.wrong("a Sequence or a SpecialToken")
    (kind,) = node.object()
    name, type_id = node[kind]["id"].string(), node[kind]["type_id"].integer(LARGEST)
    if kind == "Sequence" and name in ("A", "B"):
        return Slot("A" if name == "A" else "B", type_id)
    if kind != "SpecialToken":
        raise node.wrong("a Sequence, A or B, or a SpecialToken", f"{kind} {name}")
    if name not in named:
        raise node[kind]["id"].wrong("one of the special_tokens")
    return Inserted(name, *named[name], type_id)


_READERS: dict[str, Callable[[Node], Template]] = {
    "BertProcessing": _bert,
    "ByteLevel": lambda node: Template(trims=_trims(node)),
    "RobertaProcessing": _bert,
    "TemplateProcessing": _processing,
}


def to_post_processor(template: Template | None) -> dict[str, Any] | None:
    """Return a tokenizer.json's `post_processor` that does what a template does; null for none.

    >>> from subwords.template import bert, to_post_processor
    >>> to_post_processor(bert(101, 102))["single"][1]
    {'Sequence': {'id': 'A', 'type_id': 0}}
    """
    if template is None:
        return None
    nodes: list[dict[str, Any]] = [
        {"type": "ByteLevel", "add_prefix_space": keeps_prefix, "trim_offsets": True, "use_regex": True}
        for keeps_prefix in template.trims
    ]
    if (template.single, template.pair) != (Template().single, Template().pair):
        named = {piece.name: piece for piece in (*template.single, *template.pair) if isinstance(piece, Inserted)}
        tokens = {
            name: {"id": name, "ids": list(piece.ids), "tokens": list(piece.tokens)}
            for name, piece in sorted(named.items())
        }
        single, pair = ([_node(piece) for piece in pieces] for pieces in (template.single, template.pair))
        nodes.append({"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": tokens})
    if len(nodes) == 1:
        return nodes[0]
    return {"type": "Sequence", "processors": nodes} if nodes else None


def _node(piece: Piece) -> dict[str, Any]:
    if isinstance(piece, Slot):
        return {"Sequence": {"id": piece.text, "type_id": piece.type_id}}
    return {"SpecialToken": {"id": piece.name, "type_id": piece.type_id}}
