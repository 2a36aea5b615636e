"""Read and write the pre_tokenizer of a tokenizer.json."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, get_args

from subwords.components.oniguruma import from_oniguruma, to_oniguruma
from subwords.components.splitter import (
    DIGIT,
    NAMED,
    PATTERNS,
    SIGN,
    Behavior,
    ByteChars,
    Prefix,
    Replace,
    Rule,
    Split,
    Step,
    escape,
)
from subwords.errors import FormatError
from subwords.formats.hf.unicode_scripts import unicode_scripts
from subwords.formats.json_node import Node

__all__ = ["from_pre_tokenizer", "to_pre_tokenizer"]

# HF's spelling: MergedWithNext.
BEHAVIORS: dict[str, Behavior] = {name.title().replace("_", ""): name for name in get_args(Behavior)}
SCHEMES = ("always", "first", "never")
DEEPEST = 100
LONGEST = 2**31 - 1  # characters; a longer fixed length leaves any text whole

_LITERAL = re.compile(r"(?:[^][\\.+*?(){}|^$]|\\[][\\.+*?(){}|^$])+")
_FIXED = re.compile(r"\[\\s\\S\]\{1,(\d+)\}")


def from_pre_tokenizer(node: Node) -> Rule:
    """Return the rule of a tokenizer.json's `pre_tokenizer`; () for null.

    Raises FormatError with the place for anything else. Patterns are translated but not compiled.

    >>> value = {"type": "Digits", "individual_digits": True}
    >>> from_pre_tokenizer(Node("a.json", "pre_tokenizer", value)) == NAMED["starcoder"][:1]
    True

    Source: HF tokenizers 0.23, including what it refuses.
    """
    return () if node.value is None else _steps(node)


def _steps(node: Node) -> Rule:
    return _READERS[node["type"].choice(tuple(_READERS))](node)


def _sequence(node: Node) -> Rule:
    if node.depth > DEEPEST:
        raise node.wrong(f"at most {DEEPEST} nested sequences")
    return tuple(step for item in node["pretokenizers"].items() for step in _steps(item))


def _byte_level(node: Node) -> Rule:
    prefix = (Prefix(" "),) if node["add_prefix_space"].boolean() else ()
    words = (Split(PATTERNS["gpt2"]),) if node.get("use_regex", True).boolean() else ()
    return (*prefix, *words, ByteChars())


def _split(node: Node) -> Rule:
    pattern = node["pattern"]
    if not isinstance(pattern.value, dict) or len(pattern.value) != 1 or not {"String", "Regex"} & set(pattern.value):
        raise pattern.wrong("an object with a String or a Regex")
    if "String" in pattern.value:
        text = escape(pattern["String"].string())
    else:
        text = from_oniguruma(pattern["Regex"].string())
    behavior = BEHAVIORS[node["behavior"].choice(tuple(BEHAVIORS))]
    return (Split(text, behavior, node["invert"].boolean()),)


def _metaspace(node: Node) -> Rule:
    character = node["replacement"].character()
    scheme = node.get("prepend_scheme", "always").choice(SCHEMES)
    legacy = node.get("add_prefix_space", None)
    if legacy.value is not None and not legacy.boolean() and scheme != "never":
        raise node["prepend_scheme"].wrong('"never" where add_prefix_space is false')
    split = node.get("split", None)
    prefix = {"always": (Prefix(character),), "first": (Prefix(character, "first"),), "never": ()}[scheme]
    whole = split.value is not None and not split.boolean()
    return (Replace(" ", character), *prefix, *(() if whole else (Split(escape(character), "merged_with_next"),)))


def _fixed_length(node: Node) -> Rule:
    length = node.get("length", 5)
    if type(length.value) is not int or not 0 < length.value < 2**64:
        raise length.wrong("an integer from 1 to 2^64 - 1")
    return (Split(rf"[\s\S]{{1,{length.value}}}"),) if length.value <= LONGEST else ()


def _digits(node: Node) -> Rule:
    return (Split(DIGIT, "isolated" if node["individual_digits"].boolean() else "contiguous"),)


def _punctuation(node: Node) -> Rule:
    return (Split(SIGN, BEHAVIORS[node.get("behavior", "Isolated").choice(tuple(BEHAVIORS))]),)


_READERS: dict[str, Callable[[Node], Rule]] = {
    "BertPreTokenizer": lambda _: NAMED["bert"],
    "ByteLevel": _byte_level,
    "CharDelimiterSplit": lambda node: (Split(escape(node["delimiter"].character()), "removed"),),
    "Digits": _digits,
    "FixedLength": _fixed_length,
    "Metaspace": _metaspace,
    "Punctuation": _punctuation,
    "Sequence": _sequence,
    "Split": _split,
    "UnicodeScripts": lambda _: unicode_scripts(),
    "Whitespace": lambda _: NAMED["whitespace"],
    "WhitespaceSplit": lambda _: NAMED["whitespace-split"],
}


def to_pre_tokenizer(rule: Rule) -> dict[str, Any] | None:
    """Return the `pre_tokenizer` of a tokenizer.json that is equivalent to a rule; FormatError if HF has none.

    >>> to_pre_tokenizer((Split("a"), ByteChars()))["pretokenizers"][0]
    {'type': 'Split', 'pattern': {'String': 'a'}, 'behavior': 'Isolated', 'invert': False}
    """
    nodes = []
    at = 0
    while at < len(rule):
        node, count = _first_node(rule[at:])
        nodes.append(node)
        at += count
    if len(nodes) == 1:
        return nodes[0]
    return {"type": "Sequence", "pretokenizers": nodes} if nodes else None


def _first_node(rule: Rule) -> tuple[dict[str, Any], int]:
    """Return the node that covers as many of the first steps as possible, and their number."""
    for steps, node in _known():
        if rule[: len(steps)] == steps:
            return node, len(steps)
    step = rule[0]
    if isinstance(step, Split):
        return _split_node(step), 1
    if isinstance(step, Replace) and step.old == " ":
        return _metaspace_node(step.new, rule[1:3])
    raise FormatError(f"tokenizer.json has no equivalent of {step} at this position")


def _split_node(step: Split) -> dict[str, Any]:
    if (fixed := _FIXED.fullmatch(step.pattern)) and (step.behavior, step.invert) == ("isolated", False):
        return {"type": "FixedLength", "length": int(fixed[1])}
    kind, text = "Regex", to_oniguruma(step.pattern)
    if _LITERAL.fullmatch(step.pattern):
        kind, text = "String", re.sub(r"\\(.)", r"\1", step.pattern, flags=re.DOTALL)
    behavior = step.behavior.title().replace("_", "")
    return {"type": "Split", "pattern": {kind: text}, "behavior": behavior, "invert": step.invert}


def _metaspace_node(character: str, rest: Rule) -> tuple[dict[str, Any], int]:
    prefix = next((step for step in rest[:1] if isinstance(step, Prefix) and step.text == character), None)
    after = rest[1 if prefix else 0 :][:1]
    split = after == (Split(escape(character), "merged_with_next"),)
    scheme = prefix.scheme if prefix else "never"
    node = {"type": "Metaspace", "replacement": character, "prepend_scheme": scheme, "split": split}
    return node, 1 + bool(prefix) + split


@cache
def _known() -> list[tuple[Rule, dict[str, Any]]]:
    """Return the steps of nodes without a pattern, longest first."""
    steps: list[tuple[tuple[Step, ...], dict[str, Any]]] = [
        (NAMED["bert"], {"type": "BertPreTokenizer"}),
        (NAMED["whitespace"], {"type": "Whitespace"}),
        (NAMED["whitespace-split"], {"type": "WhitespaceSplit"}),
        (unicode_scripts(), {"type": "UnicodeScripts"}),
        ((Split(DIGIT, "isolated"),), {"type": "Digits", "individual_digits": True}),
        ((Split(DIGIT, "contiguous"),), {"type": "Digits", "individual_digits": False}),
    ]
    steps += [((Split(SIGN, name),), {"type": "Punctuation", "behavior": key}) for key, name in BEHAVIORS.items()]
    for prefix in (True, False):
        for words in (True, False):
            node = {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": words}
            steps.append((_byte_level(Node("", "", node)), node))
    return sorted(steps, key=lambda entry: -len(entry[0]))
