"""The pre_tokenizer of a tokenizer.json, read as a rule and written from one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from subwords.errors import FormatError
from subwords.split.dialect import from_oniguruma, to_oniguruma
from subwords.split.rules import (
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
from subwords.split.scripts import unicode_scripts

__all__ = ["from_pre_tokenizer", "to_pre_tokenizer"]

# HF writes them so: MergedWithNext.
BEHAVIORS: dict[str, Behavior] = {name.title().replace("_", ""): name for name in get_args(Behavior)}
SCHEMES = ("always", "first", "never")
DEEPEST = 100
LONGEST = 2**31 - 1  # characters; a piece of a fixed length beyond that is the whole text

_ABSENT = object()
_LITERAL = re.compile(r"(?:[^][\\.+*?(){}|^$]|\\[][\\.+*?(){}|^$])+")
_FIXED = re.compile(r"\[\\s\\S\]\{1,(\d+)\}")


@dataclass(frozen=True, slots=True)
class _Node:
    """A value and where it stands."""

    path: str
    value: Any
    depth: int = 0

    def wrong(self, expected: str) -> FormatError:
        return FormatError(f"{self.path}: expected {expected}, not {_shown(self.value)}")

    def field(self, key: str, default: Any = _ABSENT) -> _Node:
        return _Node(f"{self.path}.{key}", self.value.get(key, default), self.depth)

    def boolean(self) -> bool:
        if not isinstance(self.value, bool):
            raise self.wrong("true or false")
        return self.value

    def string(self) -> str:
        if not isinstance(self.value, str) or any("\ud800" <= char < "\ue000" for char in self.value):
            raise self.wrong("a string without lone surrogates")
        return self.value

    def character(self) -> str:
        if len(self.string()) != 1:
            raise self.wrong("one character")
        return self.string()

    def choice(self, choices: tuple[str, ...]) -> str:
        if self.value not in choices:
            raise self.wrong(f"one of {', '.join(choices)}")
        return str(self.value)

    def items(self) -> list[_Node]:
        if not isinstance(self.value, list):
            raise self.wrong("an array")
        return [_Node(f"{self.path}[{i}]", value, self.depth + 1) for i, value in enumerate(self.value)]


def _shown(value: Any) -> str:
    if isinstance(value, str | bool | float) or (isinstance(value, int) and abs(value) < 2**64):
        return repr(value)[:60]
    kinds = {dict: "an object", list: "an array", int: "a huge number", type(None): "null", object: "nothing"}
    return kinds.get(type(value), f"a {type(value).__name__}")


def from_pre_tokenizer(value: Any, path: str = "pre_tokenizer") -> Rule:
    """Return the rule of a tokenizer.json's `pre_tokenizer`; null is the rule without steps.

    Whatever is not such a node is a FormatError with its `path`. Patterns are translated and not checked.

    >>> from_pre_tokenizer({"type": "Digits", "individual_digits": True}) == NAMED["starcoder"][:1]
    True

    Source: HF tokenizers 0.23; what it refuses is refused here.
    """
    return () if value is None else _steps(_Node(path, value))


def _steps(node: _Node) -> Rule:
    if not isinstance(node.value, dict):
        raise node.wrong("an object")
    kind = node.field("type")
    read = _READERS.get(kind.value) if isinstance(kind.value, str) else None
    if not read:
        raise kind.wrong(f"one of {', '.join(_READERS)}")
    return read(node)


def _sequence(node: _Node) -> Rule:
    if node.depth > DEEPEST:
        raise node.wrong(f"at most {DEEPEST} sequences within each other")
    return tuple(step for item in node.field("pretokenizers").items() for step in _steps(item))


def _byte_level(node: _Node) -> Rule:
    prefix = (Prefix(" "),) if node.field("add_prefix_space").boolean() else ()
    words = (Split(PATTERNS["gpt2"]),) if node.field("use_regex", True).boolean() else ()
    return (*prefix, *words, ByteChars())


def _split(node: _Node) -> Rule:
    pattern = node.field("pattern")
    if not isinstance(pattern.value, dict) or len(pattern.value) != 1 or not {"String", "Regex"} & set(pattern.value):
        raise pattern.wrong("an object with a String or a Regex")
    if "String" in pattern.value:
        text = escape(pattern.field("String").string())
    else:
        text = from_oniguruma(pattern.field("Regex").string())
    behavior = BEHAVIORS[node.field("behavior").choice(tuple(BEHAVIORS))]
    return (Split(text, behavior, node.field("invert").boolean()),)


def _metaspace(node: _Node) -> Rule:
    character = node.field("replacement").character()
    scheme = node.field("prepend_scheme", "always").choice(SCHEMES)
    legacy = node.field("add_prefix_space", None)
    if legacy.value is not None and not legacy.boolean() and scheme != "never":
        raise node.field("prepend_scheme").wrong('"never" where add_prefix_space is false')
    split = node.field("split", None)
    prefix = {"always": (Prefix(character),), "first": (Prefix(character, "first"),), "never": ()}[scheme]
    whole = split.value is not None and not split.boolean()
    return (Replace(" ", character), *prefix, *(() if whole else (Split(escape(character), "merged_with_next"),)))


def _fixed_length(node: _Node) -> Rule:
    length = node.field("length", 5)
    if type(length.value) is not int or not 0 < length.value < 2**64:
        raise length.wrong("an integer from 1 to 2^64 - 1")
    return (Split(rf"[\s\S]{{1,{length.value}}}"),) if length.value <= LONGEST else ()


def _digits(node: _Node) -> Rule:
    return (Split(DIGIT, "isolated" if node.field("individual_digits").boolean() else "contiguous"),)


def _punctuation(node: _Node) -> Rule:
    return (Split(SIGN, BEHAVIORS[node.field("behavior", "Isolated").choice(tuple(BEHAVIORS))]),)


_READERS: dict[str, Callable[[_Node], Rule]] = {
    "BertPreTokenizer": lambda _: NAMED["bert"],
    "ByteLevel": _byte_level,
    "CharDelimiterSplit": lambda node: (Split(escape(node.field("delimiter").character()), "removed"),),
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
    """Return a tokenizer.json's `pre_tokenizer` that does what a rule does; a FormatError if none does.

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
    """The node of as many steps as one can stand for, and their number."""
    for steps, node in _known():
        if rule[: len(steps)] == steps:
            return node, len(steps)
    step = rule[0]
    if isinstance(step, Split):
        return _split_node(step), 1
    if isinstance(step, Replace) and step.old == " ":
        return _metaspace_node(step.new, rule[1:3])
    raise FormatError(f"expected steps that tokenizer.json can hold; {step} is none where it stands")


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
    """Steps that a node without a pattern stands for, the longer before the shorter."""
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
            steps.append((_byte_level(_Node("", node)), node))
    return sorted(steps, key=lambda entry: -len(entry[0]))
