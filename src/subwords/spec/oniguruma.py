r"""Translates patterns from and to Oniguruma, the engine of HF tokenizers, where its syntax has another meaning.

| | Oniguruma | tiktoken and this package |
|---|---|---|
| `$`, `^` | end and start of a line | end and start of the text |
| `{1,3}+` | one to three, repeated | possessive |
| `{3}?` | three or none | three |
| `{,3}` | at most three | (some engines: literal) |
| `\w` | without the joiners U+200C and U+200D; outside brackets with ²³¹¼½¾ | with the joiners, without ² |
| `\h` | a hexadecimal digit | (some engines: horizontal whitespace) |
| `\<`, `\>` | `<`, `>` | start and end of a word |
| `[:alpha:]` | Unicode | ASCII |
| `(?m)` | `.` matches line feeds | `^` and `$` match at lines; `(?s)` is for the dot |

Not translated: without case, Oniguruma matches ß with ss.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_ESCAPE = r"\\(?:[xu]\{[^}]*\}|[pP]\{[^}]*\}|.)"
_OPENING = r"\(\?[a-z-]+[:)]|\(\?<?[=!:>]|\[\^?\]?"
_OUTSIDE = re.compile(rf"{_ESCAPE}|{_OPENING}|\{{(?=\d|,\d)\d*,?\d*\}}[+?]?|[*+?][+?]?|.", re.DOTALL)
_INSIDE = re.compile(rf"{_ESCAPE}|\[:\^?\w+:\]|\[\^?\]?|.", re.DOTALL)
_INTERVAL = re.compile(r"\{(\d*)(,?)(\d*)\}([+?]?)")
_FLAGS = re.compile(r"\(\?[imxs-]+[:)]")
_CODE = re.compile(r"\\x\{0*((?:10)?[0-9A-Fa-f]{1,4}|[0-9A-Fa-f]{5})\}")

_JOINERS, _FRACTIONS = "\u200c\u200d", "²³¹¼-¾"


@dataclass(frozen=True)
class _Translation:
    """Replacements of tokens outside and inside brackets, of `{..}+` and `{n}?`, and of the dot's flag."""

    outside: Mapping[str, str]
    inside: Mapping[str, str]
    intervals: Mapping[str, str]
    dot_all: tuple[str, str]


def _word_classes(word: str) -> dict[str, str]:
    r"""Return replacements of `\w`, `\W`, `\b` and `\B`; `word`: the inside of a bracket expression."""
    yes, no = f"[{word}]", f"[^{word}]"
    border = f"(?:(?<={yes})(?!{yes})|(?<!{yes})(?={yes}))"
    no_border = f"(?:(?<={yes})(?={yes})|(?<!{yes})(?!{yes}))"
    return {r"\w": yes, r"\W": no, r"\b": border, r"\B": no_border}


# POSIX classes as the inside of a set: in Oniguruma (measured on all code points) and in tiktoken.
_GRAPH = r"[^\s\p{Cc}\p{Cn}\p{Cs}]"
_POSIX_UNICODE = {
    "alnum": r"\p{Alphabetic}\p{Nd}",
    "alpha": r"\p{Alphabetic}",
    "ascii": r"\x00-\x7f",
    "blank": r"\p{Zs}\t",
    "cntrl": r"\p{Cc}",
    "digit": r"\p{Nd}",
    "graph": _GRAPH,
    "print": rf"{_GRAPH}\p{{Zs}}",
    "punct": r"\p{P}\p{S}",
    "lower": r"\p{Lowercase}",
    "upper": r"\p{Uppercase}",
    "space": r"\s",
    "xdigit": "0-9A-Fa-f",
    "word": r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}",
}
_POSIX_ASCII = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t\x20",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": r"\x21-\x7e",
    "print": r"\x20-\x7e",
    "punct": r"\x21-/:-@\x5b-`\x7b-\x7e",
    "lower": "a-z",
    "upper": "A-Z",
    "space": r"\x09-\x0d\x20",
    "xdigit": "0-9A-Fa-f",
    "word": "0-9A-Za-z_",
}


def _posix(sets: Mapping[str, str]) -> dict[str, str]:
    return {f"[:{sign}{name}:]": f"[{sign}{inside}]" for name, inside in sets.items() for sign in ("", "^")}


_HEX = {r"\h": "[0-9A-Fa-f]", r"\H": "[^0-9A-Fa-f]"}
_FROM = _word_classes(rf"\w{_FRACTIONS}&&[^{_JOINERS}]") | _HEX | {r"\<": "<", r"\>": ">"}
_TO = _word_classes(rf"\w{_JOINERS}&&[^{_FRACTIONS}]")

_FROM_ONIGURUMA = _Translation(
    outside=_FROM | {"$": r"(?![^\n])", "^": r"(?<![^\n])", r"\z": "$", r"\Z": r"(?=\n?$)"},
    inside={r"\w": rf"[\w&&[^{_JOINERS}]]", r"\W": rf"\W{_JOINERS}"} | _HEX | _posix(_POSIX_UNICODE),
    intervals={"+": "(?:{}{})+", "?": "(?:{}{})?"},
    dot_all=("m", "s"),
)
_TO_ONIGURUMA = _Translation(
    outside=_TO | {"$": r"\z", r"\Z": r"\z", "^": r"\A"},
    inside={r"\w": rf"\w{_JOINERS}", r"\W": rf"[\W&&[^{_JOINERS}]]"} | _posix(_POSIX_ASCII),
    intervals={"+": "(?>{}{})", "?": "{}{}"},
    dot_all=("s", "m"),
)


def from_oniguruma(pattern: str) -> str:
    r"""Return the pattern with the meaning that `pattern` has in Oniguruma; most stay unchanged.

    >>> from_oniguruma(r"\d{1,3}+|\s+$")
    '(?:\\d{1,3})+|\\s+(?![^\\n])'
    """
    return _rewritten(pattern, _FROM_ONIGURUMA)


def to_oniguruma(pattern: str) -> str:
    r"""Return the Oniguruma pattern with the meaning that `pattern` has here.

    >>> to_oniguruma(r"\d{1,3}+|\s+$")
    '(?>\\d{1,3})|\\s+\\z'
    """
    return _rewritten(pattern, _TO_ONIGURUMA)


def _rewritten(pattern: str, translation: _Translation) -> str:
    out: list[str] = []
    groups: list[int] = []
    item = 0  # start in `out` of the item that a quantifier would repeat
    for token, inside in pattern_tokens(pattern):
        if code := _CODE.fullmatch(token):
            token = _escaped(chr(int(code[1], 16)))
        if inside:
            out.append(translation.inside.get(token, token))
        elif token[0] in "*+?":
            out.append(token)
        elif interval := _INTERVAL.fullmatch(token):
            low, comma, high, sign = interval.groups()
            bounds = f"{{{low or 0}{comma}{high}}}"
            if sign == "+" or (sign == "?" and not comma):
                out[item:] = [translation.intervals[sign].format("".join(out[item:]), bounds)]
            else:
                out.append(bounds + sign)
        elif token == ")":
            item = groups.pop() if groups else len(out)
            out.append(token)
        else:
            item = len(out)
            if _FLAGS.fullmatch(token):
                token = token.replace(*translation.dot_all)
            if token[0] == "(" and token[-1] != ")":
                groups.append(item)
            out.append(translation.outside.get(token, token))
    return "".join(out)


def pattern_tokens(pattern: str) -> Iterator[tuple[str, bool]]:
    """Yield the tokens of a pattern, each with whether it is inside a bracket expression (the opening [ is not)."""
    at = depth = 0
    while match := (_INSIDE if depth else _OUTSIDE).match(pattern, at):
        token, at = match[0], match.end()
        yield token, depth > 0
        if depth and token == "]":
            depth -= 1
        elif token.startswith("[") and not token.startswith("[:"):
            depth += 1


def escape_literal(text: str) -> str:
    """Return a pattern that matches only a literal text, in all dialects."""
    return "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    return "\\" + character if character in r"\.+*?()|[]{}^$#&-~" else character
