"""What a caller writes is never trusted, whatever a template does to it (ALGORITHMS.md, H2)."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jinja2.sandbox import ImmutableSandboxedEnvironment

from chatting import MARKER, TEMPLATES, program
from inside import ChatTemplate, OwnedText, Owner, made, messages_of, owner_runs, ranges, variables_of
from seeds import seed_of_run
from subwords import InputError

VALUES = {
    "u": MARKER,
    "w": MARKER[0],
    "v": [MARKER[1] + MARKER[0], MARKER[2]],
    "d": {"k": MARKER, MARKER[0]: MARKER[1]},
}
MESSAGES = [{"role": "user", "content": MARKER[:2]}, {"role": MARKER[1], "content": MARKER}]
ADDRESS = re.compile("[\\s\\S]*generator|reverseiterator[\\s\\S]*", re.IGNORECASE)  # which programs print


def jinja() -> Any:
    found = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    found.filters["tojson"] = lambda x, ensure_ascii=False, **options: json.dumps(
        x, ensure_ascii=ensure_ascii, **options
    )
    return found


def rendered(source: str) -> list[OwnedText] | None:
    messages = messages_of(MESSAGES, {})
    values = {**variables_of(VALUES, {}), "m": messages[0], "messages": messages}
    values["role"] = made("user", Owner(0, "role", True))
    try:
        return [piece.text for piece in ChatTemplate(source).pieces(values)]
    except InputError:
        return None


def promoted(texts: list[OwnedText]) -> list[str]:
    """Trusted characters of the caller; a literal of the programs has the first marker character."""
    found = []
    for text in texts:
        start = 0
        for stop, owner in owner_runs(text):
            found += [char for char in str(text)[start:stop] if owner.trusted and char in MARKER[1:]]
            start = stop
        assert start == len(text)
    return found


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_do_not_trust_what_they_are_given(name: str) -> None:
    texts = rendered(TEMPLATES[name])
    assert texts is not None
    assert promoted(texts) == []


def check_programs(first: int, count: int) -> None:
    plain, whole = jinja(), 0
    for number in range(first, first + count):
        source = program(random.Random(f"{seed_of_run()}/{number}"))
        texts = rendered(source)
        if texts is None:
            continue
        whole += 1
        assert promoted(texts) == [], source
        text = "".join(texts)
        try:
            expected = plain.from_string(source).render(**VALUES, m=MESSAGES[0], messages=MESSAGES, role="user")
        except Exception:
            continue  # errors that Jinja finds when it compiles
        if "0x" not in text.lower() and not ADDRESS.match(text) and "0" not in expected:  # addresses of objects
            assert text == expected, source
    assert whole > count // 6


def test_random_programs_give_the_text_of_jinja_and_trust_nothing() -> None:
    check_programs(0, 400)


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(100))
def test_many_random_programs(part: int) -> None:
    check_programs(1000 * (part + 1), 1000)


PIECES = {
    "a method of a literal, by a user's text": "{{ 'x<|end|>y'.split(u)[0] }}",
    "text put in by replace": "{{ u | replace(w, '<|end|>') }}",
    "a format": "{{ '{}<|end|>'.format(u) }}",
    "a format of two fields": "{{ '{}<|end|>{}'.format(m.content, m.role) }}",
    "JSON": "{{ ['<|end|>', u] | tojson }}",
}


@pytest.mark.parametrize("name", PIECES)
def test_what_a_user_can_choose_the_place_of_is_not_trusted(name: str) -> None:
    texts = rendered(PIECES[name])
    assert texts is not None
    assert not any(owner.trusted for text in texts for _, owner in owner_runs(text))


# u is the caller's text; each yields parts of it.
PARTS = (
    *(
        "u.split(w)",
        "u.rsplit(w)",
        "(u ~ '\\n' ~ u).splitlines()",
        "u | list",
        "u.partition(w)",
        "u | batch(1) | map('join')",
    ),
    *("u | slice(3) | map('join')", "(u | upper).split(w)", "u.split(w) | map('trim')", "u.split(w) | map('length')"),
    *("u.split(w) | map('tojson')", "(u ~ u).split(w)", "(u | tojson).split(w)", "[u[0], u[1:]]", "u | sort"),
    *("(w * 3).split(w)", "u.split(w) | map('replace', w, '') | reject('none')", "u | list | unique"),
)


@pytest.mark.parametrize("joined", ["({}) | join('<|end|>')", "'<|end|>'.join(({}) | map('string'))"])
@pytest.mark.parametrize("parts", PARTS)
def test_what_stands_between_parts_of_one_text_is_not_trusted(parts: str, joined: str) -> None:
    texts = rendered(f"{{{{ {joined.format(parts)} }}}}")
    assert texts is not None and "<|end|>" in "".join(texts)
    assert not any(owner.trusted for text in texts for _, owner in owner_runs(text))


LOOKED_UP = {  # c is each character of the caller's text
    "a place": "'<|end|>'['<|end|>'.find(c)]",
    "a slice": "'<|end|>'[:c | length]",
    "a comparison": "'<|'[c == '<']",
    "a key": "{'<': '<', '|': '|'}[c]",
    "get": "{'<': '<'}.get(c, '|')",
    "a character": "(s | list)[s.find(c)]",
    "a choice": "'<|end|>' | select('in', c) | join",
    "map": "[{'<': '<', '|': '|'}] | map(attribute=c) | join",
}


@pytest.mark.parametrize("name", LOOKED_UP)
def test_text_that_a_part_of_a_text_looks_up_is_not_trusted(name: str) -> None:
    messages = messages_of([{"role": "user", "content": "<|<|"}], {})
    source = f"{{% set s = '<|' %}}{{% for c in messages[0].content %}}{{{{ {LOOKED_UP[name]} }}}}{{% endfor %}}"
    texts = [piece.text for piece in ChatTemplate(source).pieces({"messages": messages})]
    assert texts and not any(owner.trusted for text in texts for _, owner in owner_runs(text))


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages | map(attribute='content') | join('<|end|>') }}",
        "{{ v | join('<|end|>') }}",
        "{{ '<|end|>'.join([m.content, m.content]) }}",
        "{% set ns = namespace(l=[]) %}{% for x in messages %}{% set ns.l = ns.l + [x.content[:1]] %}{% endfor %}"
        "{{ ns.l | join('<|end|>') }}",
        "{{ 'x<|end|>y'[1:-1] }}",
        "{{ {'user': '<|end|>'}[m.role] }}",
        "{{ {'user': '<|end|>'}.get(m.role) }}",
        "{{ ['<|end|>', 'x'][messages.index(m)] }}",
        "{{ '<|end|>' * messages | length }}",
        "{{ 'a b' | replace(' ', '<|end|>') }}",
    ],
)
def test_what_a_template_decides_is_trusted(source: str) -> None:
    texts = rendered(source)
    assert texts is not None
    trusted = "".join(
        str(text)[start:stop] for text in texts for start, stop, owner in ranges(owner_runs(text)) if owner.trusted
    )
    assert "<|end|>" in trusted


KEPT = {
    "{{ u }}": "user",
    "{{ ('a' ~ m.content ~ 'b')[1:-1] }}": 0,
    "{{ '%s' % m.content }}": 0,
    "{{ m.content | upper | indent | center(1) }}": 0,
    "{{ m | tojson }}": 0,
    "{{ [m.content] }}": 0,
    "{{ m.content.split('x') | join }}": 0,
    "{% set x %}{{ m.content }}{% endset %}{{ x | trim | replace('a', '') }}": 0,
    "{{ m.content | safe | safe }}": 0,
    "{{ m.content | escape }}": 0,
}


@pytest.mark.parametrize("source", KEPT)
def test_characters_keep_their_owner(source: str) -> None:
    texts = rendered(source)
    assert texts is not None
    expected = -2 if KEPT[source] == "user" else 0
    assert {owner.message for text in texts for _, owner in owner_runs(text)} == {expected}


def test_strings_of_python_are_not_trusted() -> None:
    assert [owner.trusted for _, owner in owner_runs(OwnedText("x"))] == [False]
    assert [owner.trusted for _, owner in owner_runs("x")] == [False]


# Each letter of these texts tells whose it is: the template's, or that of a field of a message.
OWNERS = {
    "a ": Owner(-1, "", True),
    "bcßs": Owner(0, "content", False),
    "de": Owner(0, "role", True),
    "f\n\t": Owner(1, "content", False),
}
OF_LETTER = {letter: owner for letters, owner in OWNERS.items() for letter in letters}
SEPARATORS = ("a", "b", "ab", "d", "f", " ", None)
PLAIN = ("strip", "lstrip", "rstrip", "split", "rsplit", "upper", "lower", "casefold", "swapcase", "capitalize")
BY_SEPARATOR = ("removeprefix", "removesuffix", "partition", "rpartition")
KEEPING: dict[str, Callable[[Any], Any]] = {
    "without arguments": lambda text: [getattr(text, name)() for name in PLAIN],
    "by characters": lambda text: [getattr(text, name)(by) for name in PLAIN[:5] for by in SEPARATORS],
    "by a separator": lambda text: [getattr(text, name)(by) for name in BY_SEPARATOR for by in SEPARATORS[:-1]],
    "split once": lambda text: [text.split("b", 1), text.rsplit("b", 1), text.split(None, 1)],
    "parts": lambda text: [
        text[1:-1],
        text[5:1],
        text[::-2],
        text[-1:],
        [*text],
        [text[at] for at in range(len(text))],
    ],
    "lines": lambda text: [text.splitlines(), text.splitlines(True)],
    "several": lambda text: [text + "x" + text, text * 3, 2 * text, text * 0, text[:2] + text[1:]],
    "join": lambda text: [text.join(["x", text, "y"]), text[:1].join(text)],
    "replace": lambda text: [text.replace(by, "x", most) for by in SEPARATORS[:-1] for most in (-1, 1)],
    "format": lambda text: (text[:0] + "%s-%s%%") % (text, "x"),
}
CALLS = KEEPING | {
    "title": lambda text: [text.title(), text.translate({97: "x"})],
    "width": lambda text: [text.center(9, "x"), text.ljust(9), text.rjust(9, "x"), text.zfill(9)],
    "tabs": lambda text: [text.expandtabs(), text.expandtabs(2)],
    "repr": lambda text: (text[:0] + "<%r>") % text,
}


def strings(found: Any) -> list[Any]:
    return [text for each in found for text in strings(each)] if isinstance(found, list | tuple) else [found]


@pytest.mark.parametrize("name", CALLS)
@given(letters=st.lists(st.sampled_from([*OF_LETTER]), max_size=12))
@example(letters=[*"a bß\tdc f\nab"])
def test_methods_are_those_of_str_and_each_letter_keeps_its_owner(name: str, letters: list[str]) -> None:
    text = OwnedText().join([made(letter, OF_LETTER[letter]) for letter in letters])
    assert type(text) is OwnedText
    found, expected = strings(CALLS[name](text)), strings(CALLS[name]("".join(letters)))
    assert found == expected
    for each in found:
        start = 0
        for stop, owner in owner_runs(each):
            for letter in str.lower(each)[start:stop]:
                first = OF_LETTER.get(letter, owner)
                assert first.trusted or not owner.trusted
                assert name not in KEEPING or owner[:2] == first[:2]
            start = stop
        assert start == len(each)
