"""JSON values that know their place in a file."""

from __future__ import annotations

import pytest

from inside import json_node_Node as Node
from inside import show_json
from subwords import FormatError
from subwords.machine import parse_json

DATA = b'{"a": {"b": [1, "x", true, null]}, "c": {"d": 1, "e": 2, "d": 3}}'


def test_value_knows_its_place() -> None:
    top = parse_json(DATA, "a.json")
    items = list(top["a"]["b"].items())
    assert [item.path for item in items] == ["a.b[0]", "a.b[1]", "a.b[2]", "a.b[3]"]
    assert items[0].integer(1) == 1
    assert items[1].string() == "x"
    assert items[2].boolean(False) is True
    assert items[3].boolean(True) is True
    assert top["none"].value is None


@pytest.mark.parametrize(
    ("kind", "place", "message"),
    [
        ("object", 0, r"a.b\[0\]: expected an object, not 1"),
        ("array", 1, r'a.b\[1\]: expected an array, not "x"'),
        ("string", 2, r"a.b\[2\]: expected a string, not true"),
        ("string", 3, r"a.b\[3\]: expected a string, not null"),
    ],
)
def test_wrong_kind_is_named_with_its_place(kind: str, place: int, message: str) -> None:
    node = list(parse_json(DATA, "a.json")["a"]["b"].items())[place]
    with pytest.raises(FormatError, match=f"^a.json: {message}$"):
        getattr(node, kind)()


@pytest.mark.parametrize("value", [True, 1.0, "1", None, -1, 8])
def test_integer_takes_nothing_else_and_nothing_beyond(value: object) -> None:
    with pytest.raises(FormatError, match="expected an integer from 0 to 7"):
        Node("a.json", "a", value).integer(7)


@pytest.mark.parametrize("value", [1, 0, "true", []])
def test_boolean_takes_nothing_else(value: object) -> None:
    with pytest.raises(FormatError, match="expected true or false"):
        Node("a.json", "a", value).boolean(False)


def test_key_twice_counts_only_where_it_is_asked() -> None:
    top = parse_json(DATA, "a.json")
    assert top["c"].object() == {"d": 3, "e": 2}
    assert list(top.distinct()) == ["a", "c"]
    with pytest.raises(FormatError, match='c: expected distinct keys, not "d" twice'):
        top["c"].distinct()


@pytest.mark.parametrize("text", ["NaN", "-Infinity", "1e999", '"\\ud800"', '["\\udfff"]'])
def test_value_that_could_not_be_written_back_is_refused(text: str) -> None:
    top = parse_json(b'{"a": %s, "b": ["\\ud83d\\ude00", 1.5, {}]}' % text.encode(), "a.json")
    with pytest.raises(FormatError, match=r"^a\.json: a: expected a value that JSON can represent"):
        top["a"].verbatim()
    assert top["b"].verbatim() == '["😀", 1.5, {}]'


def test_values_are_shown_short() -> None:
    assert show_json("é") == '"é"'
    assert show_json("\ud800") == r'"\ud800"'
    assert show_json([1, 2]) == "an array of 2"
    assert len(show_json("x" * 10_000)) < 100


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "line 1, column 1"),
        (DATA[:-1], r"line 1, column \d+ \(character \d+\)"),
        (DATA[:60], r"line 1, column \d+"),
        (DATA + b"x", "Extra data"),
        (b"\xef\xbb\xbf{}", "BOM"),
        (b'{"a": "\xff"}', "byte 7"),
        (b"[" * 10_000_000, "nested too deep"),
        (b'{"a":' * 1_000_000, "nested too deep"),
        (b"[]", "top level: expected an object, not an array of 0"),
        (b'"x"', 'top level: expected an object, not "x"'),
        (b'{"model": ' + b"9" * 5000 + b"}", "digits"),
    ],
)  # fmt: skip
def test_broken_json_says_where(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=rf"^a\.json: .*{message}"):
        parse_json(data, "a.json")
