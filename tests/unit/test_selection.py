"""Which cases run: all of a sweep in ten consecutive runs, all that rotate in as many as they say, and some in each."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import selection
from selection import TURNS, Selection


def items(*, sweep: bool = False, rotating: pytest.Mark | None = None, count: int = 30) -> list[Any]:
    found = []
    for test in ("a.py::test_one", "b.py::test_two"):
        for case in range(count):
            keywords = {"sweep"} if sweep else set()
            found.append(
                SimpleNamespace(
                    nodeid=f"{test}[case {case}]",
                    keywords=keywords,
                    add_marker=keywords.add,
                    get_closest_marker=lambda name: rotating if name == "rotating" else None,
                )
            )
    return found


def selected(monkeypatch: pytest.MonkeyPatch, expression: str, seed: int, found: list[Any]) -> set[str]:
    monkeypatch.setenv("SUBWORDS_SEED", str(seed))
    monkeypatch.setattr(selection, "EVERYTHING", False)
    config: Any = SimpleNamespace(option=SimpleNamespace(markexpr=expression))
    return Selection(config).wanted(found)


def rotating(turns: int, **options: Any) -> pytest.Mark:
    return pytest.mark.rotating(turns, **options).mark


@pytest.mark.parametrize("first", [0, 7, 20_779])
@pytest.mark.parametrize("count", [1, 3, 10, 47])
def test_consecutive_seeds_take_everything(monkeypatch: pytest.MonkeyPatch, first: int, count: int) -> None:
    for expression, turns, options in (
        ("sweep", TURNS, {"sweep": True}),
        ("sweep", TURNS, {"rotating": rotating(4)}),
        ("", 4, {"rotating": rotating(4)}),
    ):
        every = {item.nodeid for item in items(count=count)}
        days = [
            selected(monkeypatch, expression, seed, items(count=count, **options))
            for seed in range(first, first + turns)
        ]
        assert set().union(*days) == every
        assert max(map(len, days)) <= 2 * -(-count // min(turns, count if not expression else turns))
        if not expression:
            assert all(any(name.startswith(test) for name in day) for day in days for test in ("a.py", "b.py"))


def test_what_runs_always_and_what_never(monkeypatch: pytest.MonkeyPatch) -> None:
    assert selected(monkeypatch, "", 3, items(sweep=True)) == set()
    assert len(selected(monkeypatch, "", 3, items())) == 60
    always = items(rotating=rotating(30, always=("[case 5]",)))
    for seed in range(9):
        assert {f"{test}[case 5]" for test in ("a.py::test_one", "b.py::test_two")} <= selected(
            monkeypatch, "", seed, always
        )
