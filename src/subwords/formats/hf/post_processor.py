"""Read and write the post_processor of a tokenizer.json as a template."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from subwords.formats.json_node import Node, show_json
from subwords.spec.template import MOST_TEMPLATE_IDS, Inserted, Piece, Slot, Template, bert
from subwords.support.errors import InputError

DEEPEST = 100


def from_post_processor(node: Node) -> Template | None:
    """Return the template of a tokenizer.json's `post_processor`, None if it changes nothing.

    Raises FormatError with the place for anything else.

    Source: HF tokenizers 0.23; templates that fail there on use raise FormatError here.

    >>> value = {"type": "BertProcessing", "sep": ["[SEP]", 102], "cls": ["[CLS]", 101]}
    >>> from_post_processor(Node("a.json", "post_processor", value)) == bert(101, 102)
    True
    """
    steps = [(step, _read_template(step)) for step in _processor_steps(node)] if node.value is not None else []
    plain = Template()
    framing = [(step, got) for step, got in steps if (got.single, got.pair) != (plain.single, plain.pair)]
    if len(framing) > 1:
        raise framing[1][0].unsupported("a single template")
    frame = framing[0][1] if framing else plain
    template = Template(frame.single, frame.pair, tuple(keeps for _, got in steps for keeps in got.trims))
    return None if template == plain else template


def _processor_steps(node: Node, depth: int = 0) -> Iterator[Node]:
    if node["type"].value != "Sequence":
        yield node
        return
    if depth == DEEPEST:
        raise node.wrong(f"at most {DEEPEST} nested sequences", "one more")
    for item in node["processors"].items():
        yield from _processor_steps(item, depth + 1)


def _read_template(node: Node) -> Template:
    kind = node["type"].value
    read = _READERS.get(kind) if isinstance(kind, str) else None
    if read is None:
        # As in HF, where the fields alone determine most types.
        read = next((read for fields, read in _SHAPES if all(field in node.object() for field in fields)), None)
    if read is None:
        raise node.unsupported(" or ".join(_READERS))
    return read(node)


def _bert_template(node: Node) -> Template:
    # HF distinguishes BertProcessing and RobertaProcessing by their fields, not by `type`.
    (cls, cls_id), (sep, sep_id) = _template_token(node["cls"]), _template_token(node["sep"])
    if node["trim_offsets"].value is None or node["add_prefix_space"].value is None:
        return bert(cls_id, sep_id, cls, sep)
    start, stop = Inserted(cls, (cls_id,), (cls,)), Inserted(sep, (sep_id,), (sep,))
    single = (start, Slot("A"), stop)
    return Template(single, (*single, stop, Slot("B"), stop), _trims(node))


def _trims(node: Node) -> tuple[bool, ...]:
    keeps_prefix = node["add_prefix_space"].boolean()
    return (keeps_prefix,) if node["trim_offsets"].boolean() else ()


def _byte_level(node: Node) -> Template:
    if "use_regex" in node.object():
        node["use_regex"].boolean()  # of no use here, but HF refuses other types
    return Template(trims=_trims(node))


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


def _piece(node: Node, named: dict[str, tuple[tuple[int, ...], tuple[str, ...]]]) -> Piece:
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


_READERS: dict[str, Callable[[Node], Template]] = {
    "BertProcessing": _bert_template,
    "ByteLevel": _byte_level,
    "RobertaProcessing": _bert_template,
    "TemplateProcessing": _processing,
}


_SHAPES = ((("sep", "cls"), _bert_template), (("single", "pair", "special_tokens"), _processing))


def to_post_processor(template: Template | None) -> dict[str, Any] | None:
    """Return the `post_processor` of a tokenizer.json that is equivalent to a template; None for no template.

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
