"""Read and write the post_processor of a tokenizer.json, as a template.

Source: HF tokenizers 0.23, including what it refuses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from subwords.formats.hf.component import FLAG, Component, Field, Types, as_sequence, byte_level, type_of
from subwords.formats.json_node import Node, show_json
from subwords.spec.template import MOST_TEMPLATE_IDS, Inserted, Piece, Slot, Template, bert
from subwords.support.errors import InputError


def _bert_template(node: Node) -> Template:
    # HF distinguishes BertProcessing and RobertaProcessing by their fields, not by `type`.
    (cls, cls_id), (sep, sep_id) = _template_token(node["cls"]), _template_token(node["sep"])
    if node["trim_offsets"].value is None or node["add_prefix_space"].value is None:
        return bert(cls_id, sep_id, cls, sep)
    start, stop = Inserted(cls, (cls_id,), (cls,)), Inserted(sep, (sep_id,), (sep,))
    single = (start, Slot("A"), stop)
    return Template(single, (*single, stop, Slot("B"), stop), Component(_trims, _TRIMS)(node).trims)


def _template_token(node: Node) -> tuple[str, int]:
    if len(node.array()) != 2:
        raise node.wrong("a token and its id")
    token, index = node.items()
    return token.string(), index.integer(MOST_TEMPLATE_IDS)


def _processing(node: Node) -> Template:
    named = {key: _special(node["special_tokens"][key]) for key in node["special_tokens"].distinct()}
    single, pair = (tuple(_piece(item, named) for item in node[key].items()) for key in ("single", "pair"))
    try:
        return Template(single, pair)
    except InputError as error:
        raise node.wrong("a template that can be applied", f"this one: {error}") from None


def _special(node: Node) -> tuple[tuple[int, ...], tuple[str, ...]]:
    ids = tuple(item.integer(MOST_TEMPLATE_IDS) for item in node["ids"].items())
    tokens = tuple(item.string() for item in node["tokens"].items())
    node["id"].string()
    if len(ids) != len(tokens):
        raise node.wrong("as many ids as tokens", f"{len(ids)} and {len(tokens)}")
    return ids, tokens


def _piece(node: Node, named: Mapping[str, tuple[tuple[int, ...], tuple[str, ...]]]) -> Piece:
    if len(node.object()) != 1:
        raise node.wrong("a Sequence or a SpecialToken")
    (kind,) = node.object()
    name, type_id = node[kind]["id"].string(), node[kind]["type_id"].integer(MOST_TEMPLATE_IDS)
    if kind == "Sequence" and name in ("A", "B"):
        return Slot("A" if name == "A" else "B", type_id)
    if kind != "SpecialToken":
        raise node.wrong("a Sequence, A or B, or a SpecialToken", f"{show_json(kind)} {show_json(name)}")
    if name not in named:
        raise node[kind]["id"].wrong("one of the special_tokens")
    return Inserted(name, *named[name], type_id)


def _trims(keeps_prefix: bool, trims: bool, _use_regex: bool = True) -> Template:
    return Template(trims=(keeps_prefix,) if trims else ())


_TRIMS = {"add_prefix_space": FLAG, "trim_offsets": FLAG}
_PROCESSORS: Types = {
    "BertProcessing": _bert_template,
    "ByteLevel": Component(_trims, {**_TRIMS, "use_regex": Field(Node.boolean, True)}),
    "RobertaProcessing": _bert_template,
    "TemplateProcessing": _processing,
}
_UNTYPED_PROCESSORS = {"BertProcessing": "sep cls", "TemplateProcessing": "single pair special_tokens"}


def from_post_processor(node: Node) -> Template | None:
    """Return the template of a tokenizer.json's `post_processor`, None if it changes nothing.

    Raises FormatError with the place for anything else, also for templates that fail in HF on use.

    >>> value = {"type": "BertProcessing", "sep": ["[SEP]", 102], "cls": ["[CLS]", 101]}
    >>> from_post_processor(Node("a.json", "post_processor", value)) == bert(101, 102)
    True
    """
    steps = [(step, _template(step)) for step in node.flat("processors")] if node.value is not None else []
    plain = Template()
    framing = [(step, got) for step, got in steps if (got.single, got.pair) != (plain.single, plain.pair)]
    if len(framing) > 1:
        raise framing[1][0].unsupported("a single template")
    frame = framing[0][1] if framing else plain
    template = Template(frame.single, frame.pair, tuple(keeps for _, got in steps for keeps in got.trims))
    return None if template == plain else template


def _template(node: Node) -> Template:
    kind = type_of(node, _PROCESSORS, _UNTYPED_PROCESSORS)
    if kind is None:
        raise node.unsupported(" or ".join(_PROCESSORS))
    template: Template = _PROCESSORS[kind](node)
    return template


def to_post_processor(template: Template | None) -> dict[str, Any] | None:
    """Return the `post_processor` of a tokenizer.json that is equivalent to a template; None for no template.

    >>> to_post_processor(bert(101, 102))["single"][1]
    {'Sequence': {'id': 'A', 'type_id': 0}}
    """
    if template is None:
        return None
    nodes = [byte_level(add_prefix_space=keeps_prefix) for keeps_prefix in template.trims]
    if (template.single, template.pair) != (Template().single, Template().pair):
        named = {piece.name: piece for piece in (*template.single, *template.pair) if isinstance(piece, Inserted)}
        tokens = {
            name: {"id": name, "ids": list(piece.ids), "tokens": list(piece.tokens)}
            for name, piece in sorted(named.items())
        }
        single, pair = ([_piece_node(piece) for piece in pieces] for pieces in (template.single, template.pair))
        nodes.append({"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": tokens})
    return as_sequence(nodes, "processors")


def _piece_node(piece: Piece) -> dict[str, Any]:
    if isinstance(piece, Slot):
        return {"Sequence": {"id": piece.text, "type_id": piece.type_id}}
    return {"SpecialToken": {"id": piece.name, "type_id": piece.type_id}}
