"""Read and write the pre_tokenizer of a tokenizer.json.

Source: HF tokenizers 0.23, including what it refuses.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import product
from typing import Any, get_args

from subwords.formats.hf.component import (
    CHARACTER,
    FLAG,
    PATTERN,
    SCHEMES,
    Component,
    Field,
    Types,
    as_sequence,
    byte_level,
    pattern_node,
)
from subwords.formats.json_node import Node
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
    escape,
    members,
)
from subwords.spec.unicode import SCRIPTS, first_names
from subwords.support.errors import FormatError

LONGEST_FIXED = 2**31 - 1  # characters; a longer fixed length leaves any text whole
# HF's spelling: MergedWithNext.
BEHAVIORS: dict[str, Behavior] = {name.title().replace("_", ""): name for name in get_args(Behavior)}
BEHAVIOR = Field(lambda node: BEHAVIORS[node.choice(tuple(BEHAVIORS))])


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


# ---------------------------------------------------------------------------------------------------------------------
# The table of types.


_LITERAL = re.compile(r"(?:[^][\\.+*?(){}|^$]|\\[][\\.+*?(){}|^$])+")
_FIXED = re.compile(r"\[\\s\\S\]\{1,(\d+)\}")


def _bytes(prefix: bool, words: bool) -> Rule:
    return (*((Prefix(" "),) if prefix else ()), *((Split(PATTERNS["gpt2"]),) if words else ()), ByteChars())


def _split(pattern: tuple[str, bool], behavior: Behavior, invert: bool) -> Rule:
    from subwords.spec.oniguruma import from_oniguruma

    text, regex = pattern
    return (Split(from_oniguruma(text) if regex else escape(text), behavior, invert),)


def _spaced(character: str, scheme: Any, split: bool) -> Rule:
    prefix = () if scheme == "never" else (Prefix(character, scheme),)
    return (Replace(" ", character), *prefix, *((Split(escape(character), "merged_with_next"),) if split else ()))


def _metaspace(node: Node) -> Rule:
    from subwords.formats.hf.decoders import read_metaspace

    step = read_metaspace(node)
    return _spaced(step.replacement, step.prepend_scheme, step.split)


def _length(node: Node) -> int:
    if type(node.value) is not int or not 0 < node.value < 2**64:
        raise node.wrong("an integer from 1 to 2^64 - 1")
    return node.value


def _of(rule: Rule) -> Component:
    return Component(lambda: rule)


_PRE_TOKENIZERS: Types = {
    "BertPreTokenizer": _of(NAMED["bert"]),
    "ByteLevel": Component(_bytes, {"add_prefix_space": FLAG, "use_regex": Field(Node.boolean, True)}),
    "CharDelimiterSplit": Component(lambda text: (Split(escape(text), "removed"),), {"delimiter": CHARACTER}),
    "Digits": Component(
        lambda each: (Split(DIGIT, "isolated" if each else "contiguous"),), {"individual_digits": FLAG}
    ),
    "FixedLength": Component(
        lambda length: (Split(rf"[\s\S]{{1,{length}}}"),) if length <= LONGEST_FIXED else (),
        {"length": Field(_length, 5)},
    ),
    "Metaspace": _metaspace,
    "Punctuation": Component(
        lambda behavior: (Split(SIGN, behavior),), {"behavior": BEHAVIOR._replace(default="Isolated")}
    ),
    "Sequence": lambda node: tuple(step for part in node.sequence("pretokenizers") for step in _pre_tokenizer(part)),
    "Split": Component(_split, {"pattern": PATTERN, "behavior": BEHAVIOR, "invert": FLAG}),
    "UnicodeScripts": Component(unicode_scripts),
    "Whitespace": _of(NAMED["whitespace"]),
    "WhitespaceSplit": _of(NAMED["whitespace-split"]),
}


def from_pre_tokenizer(node: Node) -> Rule:
    """Return the rule of a tokenizer.json's `pre_tokenizer`; () for null.

    Raises FormatError with the place for anything else. Patterns are translated but not compiled.

    >>> value = {"type": "Digits", "individual_digits": True}
    >>> from_pre_tokenizer(Node("a.json", "pre_tokenizer", value)) == NAMED["starcoder"][:1]
    True
    """
    return () if node.value is None else _pre_tokenizer(node)


def _pre_tokenizer(node: Node) -> Rule:
    rule: Rule = _PRE_TOKENIZERS[node["type"].choice(tuple(_PRE_TOKENIZERS))](node)
    return rule


def to_pre_tokenizer(rule: Rule) -> dict[str, Any] | None:
    """Return the `pre_tokenizer` of a tokenizer.json that is equivalent to a rule; FormatError if HF has none.

    >>> to_pre_tokenizer((Split("a"), ByteChars()))["pretokenizers"][0]
    {'type': 'Split', 'pattern': {'String': 'a'}, 'behavior': 'Isolated', 'invert': False}
    """
    nodes, at = [], 0
    while at < len(rule):
        step = rule[at]
        spaces = _spaces(step.new) if isinstance(step, Replace) and len(step.new) == 1 else []
        found = ((steps, node) for steps, node in (*_known(), *spaces) if rule[at : at + len(steps)] == steps)
        # The node that covers as many of the steps as possible.
        steps, node = max(found, key=lambda entry: len(entry[0]), default=((step,), None))
        nodes.append(_split_node(step) if node is None else node)
        at += len(steps)
    return as_sequence(nodes, "pretokenizers")


def _split_node(step: Any) -> dict[str, Any]:
    if not isinstance(step, Split):
        raise FormatError(f"tokenizer.json has no equivalent of {step} at this position")
    if (fixed := _FIXED.fullmatch(step.pattern)) and (step.behavior, step.invert) == ("isolated", False):
        return {"type": "FixedLength", "length": int(fixed[1])}
    literal = _LITERAL.fullmatch(step.pattern)
    text = re.sub(r"\\(.)", r"\1", step.pattern, flags=re.DOTALL) if literal else step.pattern
    behavior = step.behavior.title().replace("_", "")
    return {"type": "Split", "pattern": pattern_node(text, not literal), "behavior": behavior, "invert": step.invert}


def _spaces(character: str) -> list[tuple[Rule, dict[str, Any]]]:
    return [
        (
            _spaced(character, scheme, split),
            {"type": "Metaspace", "replacement": character, "prepend_scheme": scheme, "split": split},
        )
        for scheme, split in product(SCHEMES, (True, False))
    ]


@cache
def _known() -> list[tuple[Rule, dict[str, Any]]]:
    """Return the steps of every node without a pattern or a character."""
    nodes: list[dict[str, Any]] = [
        *({"type": kind} for kind in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit", "UnicodeScripts")),
        *({"type": "Digits", "individual_digits": each} for each in (True, False)),
        *({"type": "Punctuation", "behavior": each} for each in BEHAVIORS),
        *(byte_level(add_prefix_space=a, use_regex=b) for a, b in product((True, False), repeat=2)),
    ]
    return [(_pre_tokenizer(Node("", "", node)), node) for node in nodes]
