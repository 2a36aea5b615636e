"""Rewrites a tokenizer.json of version 2.0 as one of version 1.0.

Source: what HF tokenizers 1.0.0rc3 writes. That version is not final: unclear cases are refused here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from subwords.components.roles import ROLES
from subwords.components.template import LARGEST
from subwords.formats.json_node import Node

__all__ = ["as_version_1", "roles_of"]

_CHILDREN = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers", "decoder": "decoders"}
_BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
_AT_DELIMITERS = {"type": "Split", "behavior": "MergedWithNext", "invert": False}
_DEEPEST = 100


def as_version_1(top: Node) -> Node:
    """Return the file as version 1.0 writes it; FormatError with the place for what 2.0 does not allow or leaves open.

    >>> from subwords.formats.json_node import Node
    >>> model = {"type": "BPE", "byte_level": True, "vocab": {}, "merges": []}
    >>> as_version_1(Node("a.json", "", {"version": "2.0", "model": model}))["pre_tokenizer"]["type"].value
    'ByteLevel'
    """
    model = top["model"]
    if model["type"].value is None:
        raise model["type"].wrong("the type of the model, which version 2.0 requires")
    for slot, children in _CHILDREN.items():
        _check_types(top[slot], children)
    normalizer, before = _normalizer(top)
    words = [*before, *([top["pre_tokenizer"].value] if top["pre_tokenizer"].value is not None else [])]
    if model["type"].value == "BPE":
        _check_bpe(model)
        words += [_BYTES] if model["byte_level"].boolean() else []
    changed = {
        "version": "1.0",
        "normalizer": normalizer,
        "pre_tokenizer": words[0]
        if len(words) == 1
        else {"type": "Sequence", "pretokenizers": words}
        if words
        else None,
        "post_processor": _post_processor(top),
    }
    kept = {key: value for key, value in top.object().items() if key != "role_to_token"}
    return Node(top.file, top.path, kept | changed)


def roles_of(node: Node, ids: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Return the roles of `role_to_token`; `ids` are those of all tokens."""
    if node.value is None:
        return ()
    found = []
    for key in node.object():
        role = key.removesuffix("_token")
        if role not in ROLES:
            raise node[key].unsupported(f"the roles {', '.join(ROLES)}")
        if node[key].string() not in ids:
            raise node[key].wrong("a token of the vocabulary")
        found.append((role, ids[node[key].string()]))
    return tuple(sorted(found))


def _check_types(node: Node, children: str, depth: int = 0) -> None:
    if node.value is None and not depth:
        return
    kind = node["type"].string()
    if kind in ("ByteLevel", "Metaspace") and children == "pretokenizers":
        raise node.unsupported("a Split, and byte_level or a MetaspaceNormalizer, in version 2.0")
    if kind == "Sequence":
        if depth == _DEEPEST:
            raise node.wrong(f"at most {_DEEPEST} nested sequences", "one more")
        for item in node[children].items():
            _check_types(item, children, depth + 1)


def _check_bpe(model: Node) -> None:
    if "dropout" in model.object():
        raise model["dropout"].unsupported("no dropout in version 2.0")
    model["byte_level"].boolean()
    if any(isinstance(entry, str) for entry in model["merges"].array()):
        raise model["merges"].wrong("pairs of tokens in version 2.0", "strings")


# ------------------------------------------------------------------ MetaspaceNormalizer


def _normalizer(top: Node) -> tuple[Any, list[Any]]:
    """Return the normalizer without its MetaspaceNormalizer, and what does the same before words are split."""
    node = top["normalizer"]
    steps = [] if node.value is None else _flat(node)
    delimiting = [step for step in steps if step["type"].value == "MetaspaceNormalizer"]
    if not delimiting:
        return node.value, []
    if len(delimiting) > 1 or delimiting[0] is not steps[-1]:
        raise delimiting[0].unsupported("it as the last normalizer")
    for token in top["added_tokens"].items() if top["added_tokens"].value is not None else ():
        if token["normalized"].boolean(False):
            raise token["normalized"].wrong("false beside a MetaspaceNormalizer")
    rest = [step.value for step in steps[:-1]]
    normalizer = rest[0] if len(rest) == 1 else {"type": "Sequence", "normalizers": rest} if rest else None
    return normalizer, _delimiting(steps[-1], top["pre_tokenizer"])


def _flat(node: Node) -> list[Node]:
    if node["type"].value != "Sequence":
        return [node]
    return [step for item in node["normalizers"].items() for step in _flat(item)]


def _delimiting(step: Node, following: Node) -> list[Any]:
    replacement = step["replacement"].character()
    scheme = step["prepend"].choice(("always", "first", "never"))
    metaspace = {"type": "Metaspace", "replacement": replacement, "prepend_scheme": scheme, "split": False}
    if not step["drop_whitespace"].boolean():
        return [metaspace]
    # Words without whitespace between them: only the delimiters separate them.
    if scheme != "always" or following.value != {"pattern": {"String": replacement}, **_AT_DELIMITERS}:
        raise step["drop_whitespace"].wrong('false, or prepend "always" and a Split at the delimiter')
    return [{"type": "WhitespaceSplit"}, metaspace]


# ------------------------------------------------------------------ TemplateProcessing


def _post_processor(top: Node) -> Any:
    node = top["post_processor"]
    if node.value is None:
        return None
    if node["type"].value != "TemplateProcessing":
        raise node.unsupported("null or TemplateProcessing in version 2.0")
    names = _names(top)
    tokens: dict[str, Any] = {}
    found = {key: [_piece(item, names, tokens) for item in node[key].items()] for key in ("single", "pair")}
    return {"type": "TemplateProcessing", **found, "special_tokens": tokens}


def _names(top: Node) -> dict[int, str]:
    """Return the token of every id; damaged vocabularies are refused later."""
    vocab = top["model"]["vocab"].value
    if isinstance(vocab, list):
        texts = [entry[0] if isinstance(entry, list) and entry else None for entry in vocab]
        found = {i: text for i, text in enumerate(texts) if isinstance(text, str)}
    else:
        found = {i: text for text, i in top["model"]["vocab"].object().items() if type(i) is int}
    for token in top["added_tokens"].items() if top["added_tokens"].value is not None else ():
        if type(token["id"].value) is int:
            found[token["id"].value] = token["content"].string()
    return found


def _piece(node: Node, names: Mapping[int, str], tokens: dict[str, Any]) -> Any:
    type_id = node.get("type_id", 0).integer(LARGEST)
    if node.object().keys() - {"seq", "ids", "type_id"} or ("seq" in node.object()) == ("ids" in node.object()):
        raise node.wrong("either seq or ids, and perhaps a type_id")
    if "seq" in node.object():
        return {"Sequence": {"id": node["seq"].choice(("A", "B")), "type_id": type_id}}
    ids = [item.integer(LARGEST) for item in node["ids"].items()]
    if not ids:
        raise node["ids"].wrong("at least one id")
    for item in node["ids"].items():
        if item.value not in names:
            raise item.wrong("the id of a token")
    texts = [names[i] for i in ids]
    name = "".join(texts)
    while tokens.get(name, {"ids": ids})["ids"] != ids:
        name += " "
    tokens[name] = {"id": name, "ids": ids, "tokens": texts}
    return {"SpecialToken": {"id": name, "type_id": type_id}}
