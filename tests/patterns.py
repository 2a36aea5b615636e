"""Patterns that no tokenizer has, and texts for them."""

from __future__ import annotations

import random

from hypothesis import strategies as st

# Small patterns of every construct; some have no automaton.
PARSED = (
    *("", "a|", "|a", "(?:)", "a(?:|b)c", "(a|ab)(c|bcd)$", "(?:a|ab)(?:c|bcd)?", "(a|b)*abb", "(?:ab|a)*b", "x*"),
    *("(?:ab){2,3}", "(?:ab){2,3}+", "(?:a|ab){2}c", "a{,2}b", "a{2,}b", "a{,}b", "a{0}b", "a{b", "{}a"),
    *("a{1,b}", "a{ 1}", "(?>a|ab)c", "(?>a+)a", "(?>ab|a)b?", "(?>[ab])b", "(?:a?b?)++a", "a?+a", "a*+a", "a++b"),
    *("(?=[ab])[bc]?", "a(?!b|c)", "a(?=b|$)", "a(?!b|$)", "a(?=$)", r"a\z", r"a\Z", "(?!a|[b-d])[a-f]", r"\s+(?=\S)"),
    *("(?i:strasse|[k-m]+)", "(?i)abc", "(?i:a(?-i:b)c)", "(?s).+", "(?s:.)(?-s:.)", ".+", r"\x61\u0062\U00000063"),
    *(
        r"[\x61-\x63]+",
        r"\.\*\(\)\[\]\{\}\|\+\?\\\^\$\-\/\'\ ",
        r"[\n\r\t\f\v\a]+",
        "[-a]+",
        "[a-]+",
        "[]a]+",
        "[^]a]+",
    ),
    *(r"[\w-]+", r"[\d.,]+\d", r"[^\W\d_]+", r"\D+\d", r"(?P<word>\w+)\s", r"(?<word>\w+)\s", "[&|~]+", "]a}", "é+è?"),
    *("a(?i)b|c", "(?:a(?i)b|c)d", "(?x: a b # c\n) d", "a(?#b)+", "(?i-s:a.)(?-i)b", "(" * 99 + "a" + ")" * 99),
    *("(?i:я|σ)+", r"[\p{L}--\p{Lu}]+", "[a-z--[aeiou]]+", "[[a-c][x-z]]+", r"[\w&&[^\d_]]+", r"\pL\PL"),
)

INVENTED = {
    "numbers with separators": r"[+-]?\d+(?:[.,]\d+)*|\p{L}+|[^\s\p{L}\d]|\s+",
    "numbers with few groups": r"\d{1,3}(?:[ ']\d{3}){0,2}|\w+|\W",
    "addresses": r"https?://[^\s<>]+|\w+|[^\w\s]+|\s",
    "camel case": r"\p{Lu}?\p{Ll}+|\p{Lu}+(?!\p{Ll})|\p{N}+|[^\p{L}\p{N}]",
    "identifiers": r"0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?|[A-Za-z_]\w*|[ \t]+|\r?\n|.",
    "look-aheads": r"a{1,4}(?=b)|b(?!\S)|\w(?=\s|$)|[ab]",
    "negative look-ahead": r"\s+(?!\S)|(?!a)\w+|a",
    "gaps": r"\p{L}{2,}|\d{2}",
    "gaps and ends": r"[a-z]{3}$|\d$|,",
    "far end": r"\s*[\r\n]|\S+|\s+",
    "far end of many": r"\s*[\r\n]+|\s+(?!\S)|\s+| ?\S+",
    "far end in words": r"a(?:-*>)?|-+|[^a-]+",
    "two far ends": r"\s*\n|\s+|[.!]*\?|[^\s.!?]+|[.!?]+",
    "quotations": r'"[^"\n]{0,10}"|\w+|\s+|.',
    "dates": r"\d{4}-\d{2}-\d{2}|\d+|\p{L}+|[^\d\p{L}]",
    "any case": r"(?i:straße|k+|'s)|\p{L}|[^\p{L}]+",
    "possessive": r"\p{L}{2,4}+|\d++|\s?+\S|\s",
    "sets within sets": r"[\p{L}&&[^\p{Han}]]+|\p{Han}{1,2}|[^\p{L}]",
    "any three": r"(?s:.{1,3})",
    "lines": r".+|\n",
    "the shorter first": r"a|ab|abc|b{1,3}c|\s",
    "nested repetitions": r"(?:a{2}b?){1,3}|(?:\d\d)+|.",
    "end of text": r"a{1,4}$|a+|b$|\s++$|\s+(?!\S)|\s|[^a\s]",
}


# ------------------------------------------------------------------ small patterns

_SETS = (
    "a",
    "b",
    "c",
    " ",
    r"\n",
    "[ab]",
    "[^a]",
    r"[^ \n]",
    r"\s",
    r"\S",
    r"\w",
    r"\d",
    r"\p{L}",
    r"[\r\n]",
    ".",
    "(?i:k)",
)
_LOOKS = ("(?:$|a)", r"(?!\S)", "(?=a)", "(?!b)", r"(?=\s|$)", r"(?!\n)")


def _quantified(signs: list[str]) -> st.SearchStrategy[str]:
    return st.builds(str.__add__, st.sampled_from(_SETS), st.sampled_from(signs))


def _groups(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    row = st.lists(parts, min_size=1, max_size=3).map("".join)
    group = st.builds("(?:{}|{}){}".format, row, row, st.sampled_from(["", "?", "*", "+", "{2}", "{1,2}"]))
    return st.one_of(row, group)


def small_patterns() -> st.SearchStrategy[str]:
    """Patterns over few characters; hardly any matches nothing."""
    atoms = _quantified(["", "", "?", "*", "+", "{2}", "{1,3}", "{2,}", "?+", "*+", "++", "{1,3}+"])
    part = st.recursive(st.one_of(atoms, atoms, atoms, st.sampled_from(_LOOKS)), _groups, max_leaves=6)
    rest = st.lists(part, max_size=2).map("".join)
    head = _quantified(["", "", "+", "{2}", "{1,3}", "++", "{2,}"])
    before = st.sampled_from(["", "", "", r"(?=\w)", r"(?!\S)"])
    branch = st.one_of(st.builds("{}{}{}".format, before, head, rest), st.builds("{}{}".format, rest, head))
    return st.lists(branch, min_size=1, max_size=4).map("|".join)


def string(rng: random.Random, chars: list[list[str]]) -> str:
    """A short string of a few of the classes, often with a run longer than a machine's reach."""
    some = rng.sample(chars, min(len(chars), rng.randint(1, 5)))
    runs = (1, 1, 1, 1, 2, rng.choice([1, 3, 25, 26, 27, 28, 40]))
    return "".join(rng.choice(rng.choice(some)) * rng.choice(runs) for _ in range(rng.choice([1, 2, 4, 8, 20])))
