"""The splitting rule that keeps user-defined pieces whole."""

from __future__ import annotations

import pytest

from engines import splitter
from inside import space_rule
from subwords.machine import Split

BEFORE = (Split("▁[^▁]*|[^▁]+"),)
BEFORE_RUN = (Split("▁+[^▁]*|[^▁]+"),)
BEHIND = (Split("[^▁]*▁|[^▁]+"),)
BEHIND_RUN = (Split("[^▁]*▁+|[^▁]+"),)


@pytest.mark.parametrize(
    ("tokens", "rule"),
    [
        ([], BEFORE),
        (["a", "▁", "▁a", "ab"], BEFORE),
        (["▁▁"], BEFORE_RUN),
        (["▁▁a", "▁b"], BEFORE_RUN),
        (["a▁", "▁"], BEHIND),
        (["a▁▁"], BEHIND_RUN),
        (["▁▁", "a▁"], BEHIND_RUN),
        (["a▁", "▁a"], ()),
        (["a▁b"], ()),
        (["▁a▁"], ()),
    ],
)
def test_rule_cuts_no_token(tokens: list[str], rule: tuple[Split, ...]) -> None:
    assert space_rule([token.encode() for token in tokens]) == rule
    for token in tokens:
        assert len(splitter(rule).split(token)) == 1


def test_line_feeds_are_words_where_no_token_joins_them() -> None:
    rule = space_rule([b"a", b"\n\n", "▁▁".encode()], lines=True)
    assert splitter(rule).split("▁▁a\n\n\nb▁c\n▁") == ["▁▁a", "\n\n\n", "b", "▁c", "\n", "▁"]
    assert splitter(space_rule(["a▁".encode()], lines=True)).split("a▁\nb▁") == ["a▁", "\n", "b▁"]
    assert space_rule([b"a\n"], lines=True) == space_rule([]) == BEFORE
    assert space_rule([b"a"], [b"<\n>"], lines=True)[1:] == BEFORE


def test_symbols_are_cut_out_longest_first() -> None:
    rule = space_rule([b"a"], ["▁▁".encode(), b"<s>", b"<s>>", b"."])
    assert rule == (Split(r"<s>>|<s>|▁▁|\."), *BEFORE_RUN)
    assert splitter(rule).split("▁a▁▁▁b.<s>>a<s>") == ["▁a", "▁▁", "▁b", ".", "<s>>", "a", "<s>"]


def test_symbols_that_hold_blanks_stay_whole() -> None:
    rule = space_rule([b"a"], ["a▁b".encode()])
    assert splitter(rule).split("▁xa▁b▁c") == ["▁x", "a▁b", "▁c"]


def test_unknown_blanks_are_no_place_to_cut() -> None:
    assert space_rule([b"a"], unk_space=True) == ()
    assert space_rule([b"a"], [b"<s>"], unk_space=True) == (Split("<s>"),)
