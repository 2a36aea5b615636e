"""A folder as transformers reads it: tokenizer.json, and beside it the roles of special tokens and a chat template.

transformers chooses a class by `tokenizer_class`. Most classes build a pipeline of their own and drop the one of the
tokenizer.json. `PreTrainedTokenizerFast` keeps it, in versions 4 and 5.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from subwords.components.roles import ROLES, roles_by_name
from subwords.errors import FormatError
from subwords.formats.json_node import Node, is_unicode, parse, shown
from subwords.formats.recognize import BESIDE
from subwords.spec import Foreign, TokenizerSpec

__all__ = ["read", "write"]

CONFIG, MAP, TEMPLATE = BESIDE

_KEY = {role: f"{role}_token" for role in ROLES}
_OTHERS = ("additional_special_tokens", "extra_special_tokens")
# What this package decides when it writes; everything else in a tokenizer_config.json is kept.
_OURS = (*_KEY.values(), *_OTHERS, "tokenizer_class", "backend", "added_tokens_decoder", "chat_template")
_NO_LIMIT = int(1e30)  # what transformers writes for a model without a longest input


def read(spec: TokenizerSpec, files: Mapping[str, bytes], folder: str) -> TokenizerSpec:
    """Return a spec with the roles and the chat template of a folder's other files; absent files say nothing.

    `folder` is named in messages. tokenizer_config.json wins over special_tokens_map.json, and chat_template.jinja over
    the template inside tokenizer_config.json. Raises FormatError, with the place, for damaged files.

    Source: what transformers 5.23 reads.
    """
    config, other = (_parsed(files, name, folder) for name in (CONFIG, MAP))
    ids = {token.content: token.id for token in spec.added_tokens}
    roles = []
    for role, key in _KEY.items():
        content = _content(config[key]) or _content(other[key])
        index = ids.get(content, spec.model.vocab.ids.get(content.encode())) if content else None
        if index is not None:  # transformers would add a token that is missing; no text has it
            roles.append((role, index))
    kept = tuple((key, config[key].verbatim()) for key in config.object() if key not in _OURS)
    return spec.with_(
        {
            "roles": () if tuple(roles) == roles_by_name(spec.added_tokens) else tuple(roles),
            "chat_template": _template(files, config, folder),
            "foreign": Foreign(**{**_fields(spec.foreign), "config": kept}),
        }
    )


def _fields(foreign: Foreign) -> dict[str, Any]:
    return {name: getattr(foreign, name) for name in foreign.__dataclass_fields__}


def _parsed(files: Mapping[str, bytes], name: str, folder: str) -> Node:
    return parse(files[name], f"{folder}/{name}") if name in files else Node(f"{folder}/{name}", "", {})


def _content(node: Node) -> str | None:
    """Return the text of a token: a string, or the `content` of an object."""
    value = node["content"].value if isinstance(node.value, dict) else node.value
    if value is not None and not (isinstance(value, str) and is_unicode(value)):
        raise node.wrong("a token: a string, an object with `content`, or null")
    return value or None


def _template(files: Mapping[str, bytes], config: Node, folder: str) -> str | None:
    if TEMPLATE in files:
        try:
            return files[TEMPLATE].decode()
        except UnicodeDecodeError as error:
            raise FormatError(f"{folder}/{TEMPLATE}: expected UTF-8; byte {error.start} is not UTF-8") from None
    value = config["chat_template"].value
    if isinstance(value, list):  # several templates with names: the default one is used
        entries = config["chat_template"].items()
        value = next((entry["template"].value for entry in entries if entry["name"].value == "default"), None)
    if value is not None and not (isinstance(value, str) and is_unicode(value)):
        raise config["chat_template"].wrong("a template as a string")
    return value


def write(spec: TokenizerSpec) -> dict[str, bytes]:
    """Return the files beside tokenizer.json, by name.

    Raises FormatError if the token of a role is not a special token: transformers would make it one, and text that
    contains it would get other ids.
    """
    special = {token.id: token.content for token in spec.added_tokens if token.special}
    roles = dict(spec.roles or roles_by_name(spec.added_tokens))
    for role, index in roles.items():
        if index not in special:
            raise FormatError(
                f"the {role} token, id {index} ({shown(spec.model.vocab[index].decode('utf-8', 'replace'))}), is not a "
                f"special token, and transformers would make it one; use with_tokens([...]) first"
            )
    named: dict[str, Any] = {key: special[roles[role]] for role, key in _KEY.items() if role in roles}
    named["additional_special_tokens"] = [text for i, text in special.items() if i not in roles.values()]
    longest = spec.truncation.max_length if spec.truncation else _NO_LIMIT
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **named,
        "clean_up_tokenization_spaces": False,
        "model_max_length": longest,
        **{key: json.loads(text) for key, text in spec.foreign.config},
    }
    files = {}
    if spec.chat_template is not None:
        config["chat_template"] = spec.chat_template
        files[TEMPLATE] = spec.chat_template.encode()
    return {CONFIG: _json(config), MAP: _json(named), **files}


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()
