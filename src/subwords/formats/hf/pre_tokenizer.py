"""Read and write the pre_tokenizer of a tokenizer.json."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, get_args

from subwords.formats.json_node import Node
from subwords.spec.oniguruma import from_oniguruma, to_oniguruma
from subwords.spec.splitter import (
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
    members,
)
from subwords.spec.unicode import SCRIPTS, first_names
from subwords.support.errors import FormatError

# ---------------------------------------------------------------------------------------------------------------------
# HF's UnicodeScripts: split where the script changes, by the scripts of Unicode 9.

# Characters that got a script only after Unicode 9, with unassigned code points between them. Like the space, they
# belong to any script.
_LATER = (
    "560 588 5EF 61D 7FD-7FF 860-89F 8B5 8BE-8D3 9FC-9FE A76 AFA-AFF B55 C04 C3C C5D C77 C84 CDD CF3-D00 D04 D3B-D3C "
    "D81 E86 E89 E8C E8E-E93 E98 EA0 EA8-EA9 EAC EBA ECE 170D 1715-171F 180F 1878 1ABF-1ACE 1B4C-1B4F 1B7D-1B7F "
    "1C89-1CBF 1CF7 1CFA 1DF6-1DFA 20BF-20C0 23FF 2427-2429 2B97 2BBA-2BBC 2BC9 2BD2-2BEB 2BF0-2BFF 2C2F 2C5F "
    "2E45-2E5D 2FFC-2FFF 312E-312F 31BB-31BF 31E4-31EF 32FF 4DB6-4DBF 9FD6-9FFF A7AF A7B8-A7F6 A82C A8FE-A8FF "
    "AB66-AB6B FBC2 FD40-FD4F FDCF FDFE-FDFF 1019C 1032D-1032F 10570-105F3 10780-107BA 10A34-10A35 10A48 10D00-10D8F "
    "10E80-10FF6 11070-11075 110C2-110CD 11144-11147 111CE-111CF 1123F-11241 1133B 11380-113E2 1145A 1145E-11461 "
    "116B8-116B9 116D0-116E3 1171A 11740-1183B 11900-11ABF 11B00-11BF9 11D00-11FFF 12F90-12FF2 1342F-143FA "
    "16100-16139 16A70-16AC9 16D40-16E9A 16F45-16F4F 16F7F-16F87 16FE1-16FF1 187ED-187F7 18AF3-1AFFE 1B002-1B2FB "
    "1CC00-1CFC3 1D1E9-1D1EA 1D2C0-1D2F3 1D372-1D378 1DF00-1DF2A 1E030-1E7FE 1E94B 1EC71-1ED3D 1F10D-1F10F 1F12F "
    "1F16C-1F16F 1F1AD 1F260-1F265 1F6D3-1F6DF 1F6F7-1F6FC 1F774-1F77F 1F7D5-1F7F0 1F8B0-1F90F 1F91F 1F928-1F92F "
    "1F931-1F932 1F93F 1F94C-1F94F 1F95F-1F97F 1F992-1F9BF 1F9C1-1FBF9 2A6D7-2A6DF 2B735-2B739 2CEB0-2EE5D 30000-323AF"
)
_ANY = rf" \p{{Cn}}\p{{Co}}{members(_LATER)}"

# Five characters have changed their script since Unicode 9; kana count as Han.
_MOVED = {"Armenian": "589", "Arabic": "61C", "Inherited": "953-954", "Common": "30FC"}
_JOINED = {"Common": members("589 61C"), "Devanagari": members("953-954"), "Han": r"\p{Hiragana}\p{Katakana}ー"}


# Scripts are grouped because an automaton has too few classes for all scripts.
GROUPS = 13


@cache
def unicode_scripts() -> Rule:
    """Return the rule; it drops text before the first character that has a script.

    The first step splits where the group of scripts changes, the second where the script changes within a group.
    """
    names = [name for name in first_names(SCRIPTS) if name not in ("Hiragana", "Katakana", "Unknown")]
    columns = [names[k::GROUPS] for k in range(GROUPS)]
    rows = [names[k : k + GROUPS] for k in range(0, len(names), GROUPS)]
    steps = (
        Split("|".join(f"[{''.join(map(_script, group))}{_ANY}]+" for group in groups)) for groups in (columns, rows)
    )
    return (Split(rf"[^{_ANY}][\s\S]*", "removed", invert=True), *steps)


def _script(name: str) -> str:
    kept = rf"[\p{{{name}}}&&[^{members(_MOVED[name])}]]" if name in _MOVED else rf"\p{{{name}}}"
    return kept + _JOINED.get(name, "")


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
    return () if node.value is None else _splitter_steps(node)


def _splitter_steps(node: Node) -> Rule:
    return _READERS[node["type"].choice(tuple(_READERS))](node)


def _sequence(node: Node) -> Rule:
    if node.depth > DEEPEST:
        raise node.wrong(f"at most {DEEPEST} nested sequences")
    return tuple(step for item in node["pretokenizers"].items() for step in _splitter_steps(item))


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
