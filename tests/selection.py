"""Which cases run: a sample of the rotating ones and a tenth of the sweeps, by the seed, and within a time limit.

Two marks:

`sweep`            too slow for every run: runs with `-m sweep` only.
`rotating(n)`      one case in n runs by default, chosen by the seed; all of them belong to the sweeps too.
                   `rotating(n, always=("gpt2",))`: cases whose id contains one of these parts run every time.

A sweep takes a tenth of its cases, so that ten consecutive seeds (ten days) take all, and skips what it has not started
after a time limit, in another order for each seed. Environment variables:

`SUBWORDS_SEED`          the seed: a number, or "day" for the number of the day; default: one number for every change.
`SUBWORDS_SWEEP`         "all": every case of both kinds, no time limit; "full": these, on larger inputs too.
`SUBWORDS_SWEEP_BUDGET`  the time limit of a sweep in seconds, 900 by default.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from typing import Any

import pytest

from seeds import seed_of_run

__all__ = ["Selection"]

TURNS = 10  # runs until every case of a sweep has had its turn
BUDGET = 900
EVERYTHING = os.environ.get("SUBWORDS_SWEEP") in ("all", "full")
DEADLINE = "SUBWORDS_SWEEP_DEADLINE"  # set by the process that starts the workers, for the workers
LATE = "sweep: no time left"


def number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


class Selection:
    """A plugin of pytest: it selects, watches the time, and reports what it did."""

    def __init__(self, config: pytest.Config) -> None:
        self.seed = seed_of_run()
        # Workers inherit the seed: at midnight they would otherwise collect different tests.
        os.environ["SUBWORDS_SEED"] = str(self.seed)
        self.sweeping = bool(re.search(r"(?<!not )\bsweep\b", config.option.markexpr))
        self.late = 0
        if self.sweeping and DEADLINE not in os.environ:
            budget = float(os.environ.get("SUBWORDS_SWEEP_BUDGET", BUDGET))
            os.environ[DEADLINE] = str(time.time() + (1e9 if EVERYTHING else budget))

    def turns(self, item: pytest.Item) -> int:
        """How many runs it takes until each case of this test has run: 1 if all of them run each time, 0 for never."""
        rotating = item.get_closest_marker("rotating")
        if self.sweeping:
            if rotating and "sweep" not in item.keywords:
                item.add_marker("sweep")
            return TURNS if "sweep" in item.keywords and not EVERYTHING else 1
        if "sweep" in item.keywords:
            return 0
        if rotating is None or EVERYTHING:
            return 1
        always = rotating.kwargs.get("always", ())
        case = item.nodeid[item.nodeid.find("[") :]
        return 1 if any(part in case for part in always) else int(rotating.args[0])

    def wanted(self, items: list[pytest.Item]) -> set[str]:
        """The node ids of the cases whose turn it is.

        The cases of a test, in an order that their names decide, take turns; each test begins at a place of its own.
        """
        found = set()
        tests: dict[tuple[str, int], list[str]] = {}
        for item in items:
            tests.setdefault((item.nodeid.partition("[")[0], self.turns(item)), []).append(item.nodeid)
        for (test, turns), cases in tests.items():
            # A test of few cases has one in each default run; a sweep leaves it out on some days.
            period = turns if self.sweeping else min(turns, len(cases))
            for place, case in enumerate(sorted(cases, key=number)):
                if period and (place + number(test) + self.seed) % period == 0:
                    found.add(case)
        return found

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out what is not wanted; nothing that was asked for by its name."""
        if not self.sweeping and any("::" in argument for argument in config.args):
            return
        today = self.wanted(items)
        wanted = [item for item in items if item.nodeid in today]
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in today])
        if self.sweeping:  # what comes last may find no time left: another file for each seed
            wanted.sort(key=lambda item: number(f"{self.seed} {item.path.name}"))
        items[:] = wanted

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if self.sweeping and time.time() > float(os.environ[DEADLINE]):
            pytest.skip(f"{LATE} (SUBWORDS_SWEEP_BUDGET)")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.late += report.skipped and LATE in str(report.longrepr)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        say = terminalreporter.write_line
        share = "all cases" if EVERYTHING else f"one case in {TURNS}" if self.sweeping else "a sample of rotating cases"
        say(f"seed {self.seed}: SUBWORDS_SEED={self.seed} repeats this selection ({share})")
        if self.sweeping:
            say(f"sweep cases skipped for lack of time: {self.late}")
