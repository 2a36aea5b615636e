"""A progress line on standard error, if it is a terminal; in a log, a line every half minute."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from subwords.support.checks import check_choice, check_flag

if TYPE_CHECKING:
    from rich.progress import ProgressColumn, Task


@dataclass(frozen=True, slots=True)
class Progress:
    """Receives progress; may be called from any thread. `phase` takes a name, the steps done and their total."""

    advance: Callable[[int], None]
    shown: bool
    phase: Callable[[str, int, int], None] = lambda name, done, total: None


EVERY_SECONDS = 30.0  # seconds between two lines of a log


class _Log:
    """Writes how far a long run is to standard error that is no terminal. Lines may be late, never wrong."""

    def __init__(self, label: str, total: int | None, unit: str, done: int) -> None:
        self._unit, self._told = unit, time.monotonic()
        self._begin(label, total, done)

    def _begin(self, label: str, total: int | None, done: int) -> None:
        self._label, self._total, self._done, self._first, self._began = label, total, done, done, time.monotonic()

    def advance(self, amount: int) -> None:
        self._done += amount
        self._tell()

    def phase(self, name: str, done: int, total: int) -> None:
        if name != self._label or done < self._done:
            self._begin(name, total, done)
        self._done, self._total = done, total
        self._tell()

    def _tell(self) -> None:
        now = time.monotonic()
        if now - self._told < EVERY_SECONDS or sys.stderr is None:
            return
        self._told = now
        rate = (self._done - self._first) / max(now - self._began, 1e-9)
        parts = [self._amount(self._done) + (f" of {self._amount(self._total)}" if self._total else "")]
        parts += [f"{self._amount(int(rate))}/s"] if rate >= 1 else []
        if self._total and rate > 0 and self._total > self._done:
            left = int((self._total - self._done) / rate)
            parts.append(f"{left // 3600}:{left // 60 % 60:02}:{left % 60:02} left")
        with suppress(OSError, ValueError):  # a stream that is closed
            sys.stderr.write(f"subwords: {self._label}: {', '.join(parts)}\n")
            sys.stderr.flush()

    def _amount(self, number: int) -> str:
        return f"{number / 10**6:,.1f} MB" if self._unit == "bytes" else f"{number:,} {self._unit}"


@contextmanager
def progress(
    total: int | None,
    label: str,
    *,
    unit: Literal["bytes", "tokens", "steps"] = "bytes",
    done: int = 0,
    enabled: bool | None = None,
) -> Iterator[Progress]:
    """Show the progress towards `total` (None: unknown), the speed and the time left on standard error.

    done: what was done before, by an earlier run; the speed does not count it. enabled=None: if standard error is a
    terminal; else a run of more than 30 seconds writes a line every 30 seconds. Rich is imported only to show a bar.
    When the block ends without an error, the bar is set to 100 %.

    >>> with progress(1_000, "reading") as bar:
    ...     bar.advance(1_000)
    """
    check_choice("unit", unit, ("bytes", "tokens", "steps"))
    if enabled is not None:
        check_flag("progress", enabled)
    if enabled is None and not _watched():
        log = _Log(label, total, unit, done)
        yield Progress(log.advance, False, log.phase)
        return
    if enabled is False:
        yield Progress(lambda amount: None, shown=False)
        return
    import rich.console
    import rich.progress

    # Standard output is for results: Rich must not redirect it.
    console = rich.console.Console(file=sys.stderr)
    with rich.progress.Progress(*_columns(unit), console=console, redirect_stdout=False) as bar:
        task = bar.add_task(label, total=total, completed=done)

        def phase(name: str, done: int, total: int) -> None:
            bar.update(task, description=name, completed=done, total=total)

        yield Progress(lambda amount: bar.advance(task, amount), True, phase)
        bar.update(task, total=bar.tasks[0].completed)


def _watched() -> bool:
    # sys.stderr is None in a windowed Python.
    return sys.stderr is not None and sys.stderr.isatty()


def _columns(unit: str) -> list[ProgressColumn]:
    from rich import filesize
    from rich import progress as show
    from rich.text import Text

    from subwords.kernels.modes import NOTICES

    class Label(show.TextColumn):
        """What is being done; compiling stands still for seconds, whatever the bar was about."""

        def render(self, task: Task) -> Text:
            return Text("compiling kernels, once") if NOTICES.busy else super().render(task)

    class Size(show.DownloadColumn):
        """Bytes read of the total; only bytes if the total is unknown."""

        def render(self, task: Task) -> Text:
            return super().render(task) if task.total is not None else Text(filesize.decimal(int(task.completed)))

    class Speed(show.TransferSpeedColumn):
        """Bytes per second; nothing before something was read."""

        def render(self, task: Task) -> Text:
            return super().render(task) if task.finished_speed or task.speed else Text("")

    class Number(show.MofNCompleteColumn):
        """Steps of how many; nothing before their number is known."""

        def render(self, task: Task) -> Text:
            return Text("") if task.total is None else super().render(task).append(f" {unit}")

    class Time(show.TimeRemainingColumn):
        """The time left; the time taken if the total is unknown."""

        def render(self, task: Task) -> Text:
            return elapsed.render(task) if task.total is None or NOTICES.busy else super().render(task)

    elapsed = show.TimeElapsedColumn()
    amount: list[ProgressColumn] = [Size(), Speed()] if unit == "bytes" else [Number()]
    return [Label("{task.description}", markup=False), show.BarColumn(), *amount, Time()]
