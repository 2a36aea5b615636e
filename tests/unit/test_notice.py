"""The line on standard error while kernels are compiled."""

from __future__ import annotations

import io
import sys

import pytest
from test_progress import shown_on_a_terminal

from inside import kernels_modes as modes
from subwords.machine import progress

LINE = "subwords: compiling the kernels of this call, kept for later ..."


def test_terminal_gets_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    notices = modes.Notices()

    def run() -> None:
        for _ in range(2):
            with notices.compile():
                pass

    assert shown_on_a_terminal(run, monkeypatch).splitlines() == [LINE]
    assert notices.compiling


def test_line_goes_above_a_progress_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> None:
        with progress(10, "reading") as bar:
            bar.advance(5)
            with modes.Notices().compile():
                pass
            bar.advance(5)

    lines = [line.strip() for line in shown_on_a_terminal(run, monkeypatch).replace("\r", "\n").splitlines()]
    assert lines.count(LINE) == 1
    assert "10/10 bytes" in [line for line in lines if line][-1]


class Closed(io.StringIO):
    def write(self, text: str) -> int:
        raise ValueError("I/O operation on closed file")


def test_the_line_is_written_to_files_and_notebooks_too(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    notices = modes.Notices()
    for _ in range(2):
        with notices.compile():
            pass
    assert stream.getvalue() == f"{LINE}\n"


@pytest.mark.parametrize("stream", [None, Closed()], ids=["none", "closed"])
def test_a_missing_stream_is_no_error(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO | None) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    with modes.Notices().compile():
        pass


def test_nothing_is_said_beside_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    notices = modes.Notices()
    notices.shown = True

    def run() -> None:
        with notices.compile():
            pass

    assert shown_on_a_terminal(run, monkeypatch) == ""


def test_kernels_are_counted_in_a_line_that_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    notices = modes.Notices()

    def run() -> None:
        monkeypatch.setattr(sys, "__stderr__", sys.stderr)
        for _ in range(3):
            with notices.compile():
                pass

    shown = shown_on_a_terminal(run, monkeypatch).replace("\r\n", "\n")
    assert shown == f"{LINE}\nkernel 1, 0 s\rkernel 2, 0 s\rkernel 3, 0 s\r"
