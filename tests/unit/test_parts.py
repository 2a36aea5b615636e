"""Added tokens in normalized and in original text."""

from __future__ import annotations

import pytest

from engines import normalizer
from inside import AddedTokens, NormalizerEngine, TextParts
from subwords import AddedToken, InputError


def parts_of(*tokens: AddedToken, before: NormalizerEngine | None = None, normalizes: bool = False) -> TextParts:
    added = AddedTokens(tokens, normalize=before.normalize if before else None)
    return TextParts(added, before, normalizes=normalizes)


def found(parts: TextParts, text: str | bytes, special: str = "allow") -> list[tuple[bytes, int | None, bool]]:
    return [(part.data, part.id, part.at_start) for part in parts.cut(text, special)]


def spans(parts: TextParts, text: str) -> list[tuple[int, int]]:
    return [part.span() for part in parts.cut(text, "allow")]


FOO = AddedToken("Foo", 7, normalized=True)
END = AddedToken("<e>", 8)


def test_tokens_of_normalized_text_are_found_however_they_are_written() -> None:
    parts = parts_of(FOO, END, before=normalizer("lowercase"))
    assert found(parts, "É FOO<E><e>foo") == [
        ("é ".encode(), None, True),
        (b"foo", 7, False),
        (b"<e>", None, False),
        (b"<e>", 8, False),
        (b"foo", 7, False),
    ]
    assert spans(parts, "É FOO<E><e>foo") == [(0, 2), (2, 5), (5, 8), (8, 11), (11, 14)]


def test_every_part_is_normalized_by_itself() -> None:
    parts = parts_of(FOO, END, before=normalizer({"type": "Prepend", "prepend": "_"}))
    assert found(parts, "xFoo") == [(b"_xFoo", None, True)]
    assert found(parts, "Foo<e>Foo x") == [
        (b"_Foo", 7, True),
        (b"<e>", 8, False),
        (b"_Foo", 7, False),
        (b" x", None, False),
    ]


def test_a_token_that_is_not_normalized_is_sought_as_it_stands() -> None:
    parts = parts_of(END, before=normalizer("lowercase"))
    assert found(parts, "A<E>") == [(b"A<E>", None, True)]
    assert found(parts, "A<e>B") == [(b"A", None, True), (b"<e>", 8, False), (b"B", None, False)]


def test_only_what_the_input_begins_with_is_at_its_start() -> None:
    parts = parts_of(END, before=normalizer("strip"), normalizes=True)
    assert found(parts, "a<e>b") == [(b"a", None, True), (b"<e>", 8, False), (b"b", None, False)]
    assert found(parts, " a") == [(b"a", None, False)]
    assert found(parts, "") == []


def test_a_token_that_normalizes_to_nothing_is_never_found() -> None:
    assert found(parts_of(AddedToken(" ", 1, normalized=True), before=normalizer("strip")), "a b") == [
        (b"a b", None, True)
    ]


def test_of_two_tokens_that_normalize_alike_the_first_is_found() -> None:
    parts = parts_of(FOO, AddedToken("FOO", 9, normalized=True), before=normalizer("lowercase"))
    assert [part.id for part in parts.cut("foo Foo FOO", "allow")] == [7, None, 7, None, 7]


def test_bytes_that_are_no_utf8_stay() -> None:
    parts = parts_of(FOO, before=normalizer("lowercase"))
    assert found(parts, b"\xffFOO\xc3") == [(b"\xff", None, True), (b"foo", 7, False), (b"\xc3", None, False)]


def test_a_refused_token_is_named_with_its_place_in_the_input() -> None:
    parts = parts_of(AddedToken("Foo", 7, normalized=True), before=normalizer("nfkc"))
    with pytest.raises(InputError, match=r"special token 'Foo' at character 2"):
        found(parts, "ﬁ Foo", "error")


def test_a_lone_surrogate_is_named_with_its_place_in_the_input() -> None:
    with pytest.raises(InputError, match=r"character 4 is the lone surrogate U\+D800"):
        found(parts_of(END), "<e>a\ud800")
