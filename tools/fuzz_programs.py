"""A target of tools/fuzz.py: templates that grow values and then work on them; none may take the process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from tools.fuzz_inputs import Given, tokenizer

LARGEST = ("9", "40", "99999")  # passes of a loop
VALUES = (
    *("[1]", "(1,)", "{'a': 1}", "'ab'", "'\\n'", "'a b-c '", "9", "2.5", "-1", "none", "messages", "messages[0]"),
    *("messages[0].content", "tools", "range(99999)", "range(99999)|map('string')", "nothing", "'a' * 9999999", "true"),
    *("['ab'] * 999999", "[[1]] * 9999", "'%99999d' * 9999", "'{0:>99999}' * 9999", "'{0}' * 999999", "'%s' * 99999"),
    *("('f' * 9999999)|int(base=16)", "10 ** 1200", "'<a>' * 99999", "'http://a.b/ ' * 9999", "('a&' * 9999)|safe"),
    *("'{:>\uff19\uff19\uff19\uff19\uff19\uff19\uff19\uff19\uff19}'", "'a' * 3000000 ~ 'b'", "'b' ~ 'a' * 3000000"),
)
GROW = (
    *("[x, x]", "(x, x)", "{'a': x, 'b': x}", "{x: x}", "x + x", "x ~ x", "x * 99", "[x] * 99", "x + 1", "x + [y]"),
    *("x|string", "x|upper", "x|list", "x|replace('a', 'aa')", "x|map('string')", "x|map('list')|list", "cycler(x, y)"),
    *("namespace(a=x, b=x)", "dict(a=x).items()", "dict(a=x, b=y).keys()", "x|batch(3)|list", "[x.strip, x.join]", "x"),
    *("x|tojson", "x|list|sum(start=[])", "[x, y]|map('center', 99999)", "dict(a=x, b=x)|items", "x[1:] + x", "-x"),
)
USE = (
    *(
        f"x {sign} y"
        for sign in ("==", "!=", "<", "<=", ">=", "in", "not in", "+", "-", "*", "/", "//", "%", "**", "~")
    ),
    *(f"x is {name}(y)" for name in ("eq", "lt", "in", "sameas", "divisibleby")),
    *(f"x is {name}" for name in ("upper", "lower", "odd", "filter", "test", "iterable", "sequence", "string")),
    *(
        f"(x|{name})|string|length"
        for name in ("sort", "unique|list", "min", "max", "list", "dictsort", "tojson", "items")
    ),
    *(f"(x|{name})|string|length" for name in ("abs", "int", "int(base=16)", "float", "round(99999)", "sum", "random")),
    *(f"(x|{name})|string|length" for name in ("pprint", "e", "xmlattr", "urlencode", "title", "capitalize", "lower")),
    *(
        f"(x|{name})|string|length"
        for name in ("wordwrap(1)", "urlize", "striptags", "wordcount", "trim(y)", "attr(y)")
    ),
    *(
        f"(x|{name})|string|length"
        for name in ("center(99999)", "indent(99999, true, true)", "indent(y)", "truncate(9)")
    ),
    *(
        f"(x|{name})|string|length"
        for name in ("join(y)", "replace('a', y)", "replace(y, x)", "format(y)", "sort(attribute=y)")
    ),
    *(
        f"(x|{name})|string|length"
        for name in ("tojson(indent=99999)", "tojson(separators=(y, y))", "tojson(indent=y)")
    ),
    *(f"(x|{name})|list|length" for name in ("batch(9, y)", "slice(9999)", "map('center', 99999)", "select('in', y)")),
    *(
        f"(x|{name})|list|length"
        for name in ("map(attribute='a')", "selectattr('a', 'eq', y)", "groupby('a')", "reject('eq', y)")
    ),
    *(
        f"(x|{name})|list|length"
        for name in ("sort(attribute='current')", "unique(attribute='a')", "map('sort')", "reverse")
    ),
    *(
        f"x.{call}|string|length"
        for call in ("split()", "split(y)", "splitlines()", "rsplit(y)", "rfind(y)", "strip(y)")
    ),
    *(f"x.{call}|string|length" for call in ("count(y)", "index(y)", "get(y)", "format(y)", "join(y)", "ljust(99999)")),
    *(
        f"x.{call}|string|length"
        for call in ("translate({97: y})", "expandtabs(99999)", "from_bytes(y, 'big')", "find(y)")
    ),
    *(
        "{x: y}",
        "{x: y}[y]",
        "[x, y]|sort",
        "[x, y]|unique|list|length",
        "[x, y]|max",
        "dict([(x, y)])",
        "[y, x]|join|length",
    ),
    *(
        "strftime_now(x)|length",
        "x",
        "x|string",
        "x()",
        "x[y]",
        "x[::2]|length",
        "raise_exception(x)",
        "namespace(x)",
        "y > x",
    ),
    *("[cycler(x), cycler(y)]|sort(attribute='current')", "dict(a=x).items() - dict(a=y).items()", "x|default(y) == x"),
)
SHAPES = (
    "{% for i in range(N) %}{% set z = USE %}{% endfor %}",
    "{{ USE }}",
    "{% for x in ns.a %}{{ loop.length }}{{ loop.last }}{% set z = USE %}{% endfor %}",
    "{% macro f(x, y) %}{{ USE }}{% endmacro %}{{ f(ns.a, ns.b) }}",
    "{% autoescape true %}{{ USE }}{{ x ~ y }}{% endautoescape %}",
    "{% filter upper %}{{ USE }}{% endfilter %}",
    "{% for z in range(99999) if USE %}{% endfor %}",
)


def program(data: bytes) -> str:
    """Return the program of an input: two values, what they grow by, how often, and what is done with them."""
    given = Given(data)
    a, b = (VALUES[given.number(len(VALUES))] for _ in range(2))
    grown = [GROW[given.number(len(GROW))] for _ in range(2)]
    passes, shape, use = LARGEST[given.number(3)], SHAPES[given.number(len(SHAPES))], USE[given.number(len(USE))]
    steps = "".join(
        f"{{% set x = ns.{own} %}}{{% set y = ns.{other} %}}{{% set ns.{own} = {change} %}}"
        for (own, other), change in zip(("ab", "ba"), grown, strict=True)
    )
    start = f"{{% set ns = namespace(a={a}, b={b}) %}}{{% for i in range({passes}) %}}{steps}{{% endfor %}}"
    end = shape.replace("USE", use).replace("N", LARGEST[given.number(3)])
    return f"{start}{{% set x = ns.a %}}{{% set y = ns.b %}}{end}"


def programs(data: bytes) -> None:
    """A program of a stranger, as a chat template: it ends, within the time and memory of the process."""
    from subwords import SubwordsError

    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
    with suppress(SubwordsError):
        tokenizer(0).chat([{"role": "user", "content": "a b"}], tools=tools, template=program(data))


def program_seeds() -> Iterator[bytes]:
    """Yield each operation, on lists that share their parts and on long texts."""
    for use in range(len(USE)):
        for value, change in ((0, 0), (1, 1), (VALUES.index("'ab'"), GROW.index("x ~ x"))):
            yield bytes([value, value, change, change, 1, 1, use])
